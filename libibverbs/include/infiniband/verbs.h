/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The verbs API. Programs include this file. The declarations are in verbs/, in a header for each
 * object.
 *
 * What holds for every function unless its comment says otherwise:
 *
 *   Return: a function that returns a pointer returns NULL and sets errno when it fails; one that
 *   returns int returns 0 or a positive errno value. EOPNOTSUPP says that the device, or this
 *   library for it, does not do that.
 *   Ownership: what a create, alloc, open, reg or import function returns belongs to the caller
 *   until the function that undoes it succeeded. Attribute structs are only read and written
 *   during the call.
 *   Threads: any number of threads may call any function on any object at once, except that an
 *   object must not be used by others while it is being destroyed.
 *   Structs: a struct with a comp_mask may grow at its end. A function reads the members whose
 *   bits are set, and refuses bits that it does not know.
 */
#ifndef INFINIBAND_VERBS_H
#define INFINIBAND_VERBS_H

#include <infiniband/verbs/types.h>	  /* what the others include */
#include <infiniband/verbs/gid.h>	  /* GIDs and P_Keys */
#include <infiniband/verbs/device.h>	  /* devices */
#include <infiniband/verbs/context.h>	  /* contexts */
#include <infiniband/verbs/event.h>	  /* asynchronous events, completion channels */
#include <infiniband/verbs/device_attr.h> /* what a device can do */
#include <infiniband/verbs/port.h>	  /* ports */
#include <infiniband/verbs/pd.h>	  /* protection, thread and parent domains */
#include <infiniband/verbs/mr.h>	  /* memory regions */
#include <infiniband/verbs/dmah.h>	  /* DMA handles */
#include <infiniband/verbs/mr_ex.h>	  /* regions of any type of memory */
#include <infiniband/verbs/mw.h>	  /* memory windows */
#include <infiniband/verbs/dm.h>	  /* device memory */
#include <infiniband/verbs/wc.h>	  /* work completions */
#include <infiniband/verbs/cq.h>	  /* completion queues */
#include <infiniband/verbs/cq_ex.h>	  /* the same, read member by member */
#include <infiniband/verbs/ah.h>	  /* address handles */
#include <infiniband/verbs/wr.h>	  /* work requests */
#include <infiniband/verbs/srq.h>	  /* shared receive queues */
#include <infiniband/verbs/xrcd.h>	  /* XRC domains */
#include <infiniband/verbs/qp.h>	  /* queue pairs */
#include <infiniband/verbs/qp_ex.h>	  /* ibv_wr_*() builders */
#include <infiniband/verbs/mcast.h>	  /* multicast */
#include <infiniband/verbs/wq.h>	  /* work queues */
#include <infiniband/verbs/flow.h>	  /* flow steering */
#include <infiniband/verbs/counters.h>	  /* counters */
#include <infiniband/verbs/comp_cntr.h>	  /* completion counters */
#include <infiniband/verbs/fork.h>	  /* fork */
#include <infiniband/verbs/strings.h>	  /* names of values, rates */

/* Does a struct of which the other side knows only the first @sz bytes have this member? */
#define vext_field_avail(type, fld, sz) (offsetof(type, fld) < (sz))

#endif
