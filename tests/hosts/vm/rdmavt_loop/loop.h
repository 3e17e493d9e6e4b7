/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A kernel module: an RDMA device without an adapter, made of the kernel's own rdmavt. It stands
 * for an adapter of the driver hfi1 or qib, so that the providers of both run on a real kernel.
 * rdmavt has the queues, the commands and their checks, as with the adapters. A packet goes to a
 * queue pair of the same device.
 *
 *   insmod rdmavt_loop.ko as=hfi1|qib
 */
#ifndef RDMAVT_LOOP_H
#define RDMAVT_LOOP_H

#include <linux/workqueue.h>
#include <rdma/rdma_vt.h>
#include <rdma/rdmavt_qp.h>

enum {
	LOOP_LID = 1,
	LOOP_MTU = 4096,
};

struct loop {
	struct rvt_dev_info rdi; /* first: rdmavt allocates the whole struct */
	struct rvt_ibport port;
	u16 pkeys[1];
	__be64 guid;
	struct pci_dev *pci; /* rdmavt prints its name in messages */
	struct workqueue_struct *senders;
};

static inline struct loop *loop_of(struct ib_device *device)
{
	return container_of(ib_to_rvt(device), struct loop, rdi);
}

/* qp.c: fill in the driver's functions for queue pairs, and its tables of operations */
void loop_set_qp_functions(struct rvt_dev_info *rdi, bool invalidates);

/* datagram.c: execute the requests posted to a UD queue pair. rdmavt executes the requests of RC
 * and UC queue pairs. */
void loop_send_datagrams(struct loop *loop, struct rvt_qp *qp);

#endif
