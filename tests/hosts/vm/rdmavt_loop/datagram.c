// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Datagrams, which rdmavt leaves to its drivers. */
#include <rdma/ib_mad.h>
#include <rdma/rdmavt_cq.h>

#include "loop.h"

enum {
	HEADER_BYTES = 12 + 8 + 4, /* of a datagram behind its GRH: BTH, DETH and ICRC */
};

/* A qkey with the top bit stands for the one of the sender. */
static u32 qkey_sent(struct rvt_qp *from, struct rvt_swqe *wqe)
{
	u32 qkey = rvt_get_swqe_remote_qkey(wqe);

	return qkey & BIT(31) ? from->qkey : qkey;
}

static void put_grh(struct loop *loop, struct rvt_qp *to, struct rdma_ah_attr *ah, u32 length)
{
	const struct ib_global_route *route = rdma_ah_read_grh(ah);
	struct ib_grh grh = {
		.version_tclass_flow =
			cpu_to_be32(6u << 28 | route->traffic_class << 20 | route->flow_label),
		.paylen = cpu_to_be16(length + HEADER_BYTES),
		.next_hdr = 0x1b,
		.hop_limit = route->hop_limit,
		.sgid.global.subnet_prefix = loop->port.gid_prefix,
		.sgid.global.interface_id = loop->guid,
		.dgid = route->dgid,
	};

	rvt_copy_sge(to, &to->r_sge, &grh, sizeof(grh), true, false);
}

static void put_data(struct rvt_qp *to, struct rvt_swqe *wqe)
{
	struct rvt_sge_state data = {
		.sge = wqe->sg_list[0],
		.sg_list = wqe->sg_list + 1,
		.num_sge = wqe->wr.num_sge,
		.total_len = wqe->length,
	};
	u32 left, part;

	for (left = wqe->length; left; left -= part) {
		part = rvt_get_sge_length(&data.sge, left);
		rvt_copy_sge(to, &to->r_sge, data.sge.vaddr, part, true, false);
		rvt_update_sge(&data, part, false);
	}
}

/* Take a receive with room for @length bytes. One that is too short stays for the next datagram. */
static bool take_receive(struct rvt_qp *to, u32 length)
{
	if (!(to->r_flags & RVT_R_REUSE_SGE)) {
		int got = rvt_get_rwqe(to, false);

		if (got < 0)
			rvt_rc_error(to, IB_WC_LOC_QP_OP_ERR);
		if (got <= 0)
			return false;
	}
	to->r_flags &= ~RVT_R_REUSE_SGE;
	if (length <= to->r_len)
		return true;
	to->r_flags |= RVT_R_REUSE_SGE;
	return false;
}

/* Call with the lock of the receiver held. */
static void deliver(struct loop *loop, struct rvt_qp *from, struct rvt_swqe *wqe, struct rvt_qp *to)
{
	struct rdma_ah_attr *ah = rvt_get_swqe_ah_attr(wqe);
	bool has_grh = rdma_ah_get_ah_flags(ah) & IB_AH_GRH;
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = sizeof(struct ib_grh) + wqe->length,
		.qp = &to->ibqp,
		.src_qp = from->ibqp.qp_num,
		.slid = LOOP_LID,
		.sl = rdma_ah_get_sl(ah),
		.port_num = 1,
		.wc_flags = has_grh ? IB_WC_GRH : 0,
	};

	if (!(ib_rvt_state_ops[to->state] & RVT_PROCESS_RECV_OK) || !take_receive(to, wc.byte_len))
		return;
	if (has_grh)
		put_grh(loop, to, ah, wqe->length);
	else
		rvt_skip_sge(&to->r_sge, sizeof(struct ib_grh), true);
	put_data(to, wqe);
	rvt_put_ss(&to->r_sge);
	if (!test_and_clear_bit(RVT_R_WRID_VALID, &to->r_aflags))
		return;
	if (wqe->wr.opcode == IB_WR_SEND_WITH_IMM) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = wqe->wr.ex.imm_data;
	}
	wc.wr_id = to->r_wr_id;
	rvt_recv_cq(to, &wc, wqe->wr.send_flags & IB_SEND_SOLICITED);
}

static void send_to(struct loop *loop, struct rvt_qp *from, struct rvt_swqe *wqe, struct rvt_qp *to)
{
	unsigned long flags;

	/* Drop datagrams for QP0 and QP1, because no program answers there. */
	if (!to || to->ibqp.qp_num <= 1 || to->ibqp.qp_type != IB_QPT_UD ||
	    to->qkey != qkey_sent(from, wqe))
		return;
	spin_lock_irqsave(&to->r_lock, flags);
	deliver(loop, from, wqe, to);
	spin_unlock_irqrestore(&to->r_lock, flags);
}

static void send_to_group(struct loop *loop, struct rvt_qp *from, struct rvt_swqe *wqe, u32 lid)
{
	union ib_gid gid = rdma_ah_read_grh(rvt_get_swqe_ah_attr(wqe))->dgid;
	struct rvt_mcast *group = rvt_mcast_find(&loop->port, &gid, lid);
	struct rvt_mcast_qp *member;

	if (!group)
		return;
	list_for_each_entry_rcu(member, &group->qp_list, list) send_to(loop, from, wqe, member->qp);
	if (atomic_dec_return(&group->refcount) <= 1)
		wake_up(&group->wait);
}

static void send_one(struct loop *loop, struct rvt_qp *from, struct rvt_swqe *wqe)
{
	u32 lid = rdma_ah_get_dlid(rvt_get_swqe_ah_attr(wqe));

	rcu_read_lock();
	if (lid >= be16_to_cpu(IB_MULTICAST_LID_BASE) && lid != be16_to_cpu(IB_LID_PERMISSIVE))
		send_to_group(loop, from, wqe, lid);
	else
		send_to(loop, from, wqe,
			rvt_lookup_qpn(&loop->rdi, &loop->port, rvt_get_swqe_remote_qpn(wqe)));
	rcu_read_unlock();
}

void loop_send_datagrams(struct loop *loop, struct rvt_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->s_lock, flags);
	qp->s_flags |= RVT_S_BUSY;
	while (qp->s_last != smp_load_acquire(&qp->s_head)) {
		struct rvt_swqe *wqe = rvt_get_swqe_ptr(qp, qp->s_last);
		enum ib_wc_status status = IB_WC_WR_FLUSH_ERR;

		if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_NEXT_SEND_OK) {
			if (qp->s_cur == qp->s_last)
				qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
			spin_unlock_irqrestore(&qp->s_lock, flags);
			send_one(loop, qp, wqe);
			spin_lock_irqsave(&qp->s_lock, flags);
			status = IB_WC_SUCCESS;
		} else if (!(ib_rvt_state_ops[qp->state] & RVT_FLUSH_SEND)) {
			break;
		}
		rvt_send_complete(qp, wqe, status);
	}
	qp->s_flags &= ~RVT_S_BUSY;
	spin_unlock_irqrestore(&qp->s_lock, flags);
}
