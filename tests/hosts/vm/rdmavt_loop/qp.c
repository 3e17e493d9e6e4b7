// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The functions that rdmavt calls to send, and the table of supported operations. */
#include <linux/slab.h>

#include "loop.h"

#define RC BIT(IB_QPT_RC)
#define UC BIT(IB_QPT_UC)
#define UD (BIT(IB_QPT_UD) | BIT(IB_QPT_GSI) | BIT(IB_QPT_SMI))

/* qib has no SEND_WITH_INV. */
static struct rvt_operation_params operations[RVT_OPERATION_MAX] = {
	[IB_WR_SEND] = { sizeof(struct ib_send_wr), RC | UC | UD },
	[IB_WR_SEND_WITH_IMM] = { sizeof(struct ib_send_wr), RC | UC | UD },
	[IB_WR_RDMA_WRITE] = { sizeof(struct ib_rdma_wr), RC | UC },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { sizeof(struct ib_rdma_wr), RC | UC },
	[IB_WR_RDMA_READ] = { sizeof(struct ib_rdma_wr), RC, RVT_OPERATION_ATOMIC },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { sizeof(struct ib_atomic_wr), RC,
				       RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { sizeof(struct ib_atomic_wr), RC,
					 RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE },
};

static const enum ib_wc_opcode completions[] = {
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
};

/* The data of a queue pair that rdmavt keeps for its driver. */
struct sender {
	struct rvt_qp *qp;
	struct work_struct work;
};

static void do_send(struct rvt_qp *qp)
{
	if (qp->ibqp.qp_type == IB_QPT_RC || qp->ibqp.qp_type == IB_QPT_UC)
		rvt_ruc_loopback(qp);
	else
		loop_send_datagrams(loop_of(qp->ibqp.device), qp);
}

static void sender_work(struct work_struct *work)
{
	do_send(container_of(work, struct sender, work)->qp);
}

static bool schedule_send(struct rvt_qp *qp)
{
	struct sender *sender = qp->priv;

	return queue_work(loop_of(qp->ibqp.device)->senders, &sender->work);
}

static void *qp_priv_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct sender *sender = kzalloc(sizeof(*sender), GFP_KERNEL);

	if (!sender)
		return ERR_PTR(-ENOMEM);
	sender->qp = qp;
	INIT_WORK(&sender->work, sender_work);
	return sender;
}

static void qp_priv_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	kfree(qp->priv);
	qp->priv = NULL;
}

static void stop_send_queue(struct rvt_qp *qp)
{
	struct sender *sender = qp->priv;

	cancel_work_sync(&sender->work);
}

static void ignore_qp(struct rvt_qp *qp)
{
}

static void ignore_restart(struct rvt_qp *qp, u32 psn, int wait)
{
}

static unsigned int count_no_qps(struct rvt_dev_info *rdi)
{
	return 0;
}

static int setup_wqe(struct rvt_qp *qp, struct rvt_swqe *wqe, bool *call_send)
{
	u32 limit = qp->ibqp.qp_type == IB_QPT_UD ? LOOP_MTU : 1u << 31;

	*call_send = false; /* do not send in the posting process */
	return wqe->length > limit ? -EINVAL : 0;
}

static int get_pmtu_from_attr(struct rvt_dev_info *rdi, struct rvt_qp *qp, struct ib_qp_attr *attr)
{
	return ib_mtu_enum_to_int(attr->path_mtu) < 0 ? -EINVAL : attr->path_mtu;
}

static u32 mtu_from_qp(struct rvt_dev_info *rdi, struct rvt_qp *qp, u32 mtu)
{
	return ib_mtu_enum_to_int(mtu);
}

static int mtu_to_path_mtu(u32 bytes)
{
	return ib_mtu_int_to_enum(bytes);
}

void loop_set_qp_functions(struct rvt_dev_info *rdi, bool invalidates)
{
	struct rvt_driver_provided *f = &rdi->driver_f;

	if (invalidates)
		operations[IB_WR_SEND_WITH_INV] =
			(struct rvt_operation_params){ sizeof(struct ib_send_wr), RC };
	rdi->post_parms = operations;
	rdi->wc_opcode = completions;
	f->setup_wqe = setup_wqe;
	f->do_send = do_send;
	f->schedule_send = schedule_send;
	f->schedule_send_no_lock = schedule_send;
	f->qp_priv_alloc = qp_priv_alloc;
	f->qp_priv_free = qp_priv_free;
	f->free_all_qps = count_no_qps;
	f->stop_send_queue = stop_send_queue;
	f->notify_qp_reset = ignore_qp;
	f->flush_qp_waiters = ignore_qp;
	f->quiesce_qp = ignore_qp;
	f->notify_error_qp = ignore_qp;
	f->notify_restart_rc = ignore_restart;
	f->get_pmtu_from_attr = get_pmtu_from_attr;
	f->mtu_from_qp = mtu_from_qp;
	f->mtu_to_path_mtu = mtu_to_path_mtu;
}
