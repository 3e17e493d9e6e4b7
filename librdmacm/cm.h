/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The door of librdmacm: its layers, errors and locks, and the log of identifiers. The nouns have
 * headers of their own: device.h, channel.h, id.h, event.h, mcast.h, and backend.h.
 *
 * An identifier belongs to one of two backends: ucma, the kernel's connection manager on
 * /dev/infiniband/rdma_cm, or ibcm, the connection manager of this library on QP1 of user-space
 * devices. The choice is made when a local address is known (addr.c). Until then an identifier has
 * no backend. The public functions (one file a noun) check their arguments and call the backend's
 * operation of the same name. They also do the common part: QP transitions, synchronous waiting,
 * counting events, explaining errors.
 *
 * Functions and operations return 0 or a negative errno. The public functions convert it.
 *
 * Locks, in the order they are taken. No lock of the core is held while an operation of a backend
 * runs, and no operation may call a public rdma_ function.
 *
 *   cm_devices.lock    list of devices, their contexts and default PDs (device.c)
 *   posted_lock        posted events of channels with two backends (posted.c)
 *   channels_lock      the identifiers of each channel (channel.c)
 *   a backend's locks  see the backend
 *   cm_id.lock         of one identifier: event counters, unacknowledged events, groups; ucma: its
 *                      creation. Leaf.
 */
#ifndef LIBRDMACM_CM_H
#define LIBRDMACM_CM_H

#include <errno.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_abi.h>

#include "util/log.h"
#include "util/util.h"

struct cm_id;

#define CM_EXPORT __attribute__((visibility("default")))

/*
 * Return @r if it is not negative, otherwise set errno to -@r and return -1. For public functions.
 */
static inline int ret_neg1(int r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -1;
}

/* Log one line about an identifier: "rdma_cm id 0x... (192.0.2.1:7471 to 192.0.2.2:7471): ..." */
#define cm_err(id, fmt, ...)   cm_log(LOG_LEVEL_ERR, id, fmt, ##__VA_ARGS__)
#define cm_warn(id, fmt, ...)  cm_log(LOG_LEVEL_WARN, id, fmt, ##__VA_ARGS__)
#define cm_info(id, fmt, ...)  cm_log(LOG_LEVEL_INFO, id, fmt, ##__VA_ARGS__)
#define cm_debug(id, fmt, ...) cm_log(LOG_LEVEL_DEBUG, id, fmt, ##__VA_ARGS__)
void cm_log(enum log_level level, const struct cm_id *id, const char *fmt, ...) _printf_(3, 4);

#endif
