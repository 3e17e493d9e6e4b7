/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain: of one entry. Their loop makes no function call and
 * is compiled twice, for connections and for datagrams. post_rest() posts the first request of a
 * list that is not plain, and all requests after it. The device does not read a refused request,
 * because the tail is not moved behind it.
 */
#include "providers/vmw_pvrdma/pvrdma.h"

#define FLAT __attribute__((always_inline)) static inline

/* The device's opcode and the parts of a request for each opcode of verbs. */
enum {
	HAS_RADDR = 1 << 0,
	HAS_ATOMIC = 1 << 1,
	HAS_IMM = 1 << 2,
	HAS_INV = 1 << 3,
};

struct send_op {
	uint8_t opcode, has;
};

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { PVRDMA_WR_RDMA_WRITE, HAS_RADDR },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { PVRDMA_WR_RDMA_WRITE_WITH_IMM, HAS_RADDR | HAS_IMM },
	[IBV_WR_SEND] = { PVRDMA_WR_SEND, 0 },
	[IBV_WR_SEND_WITH_IMM] = { PVRDMA_WR_SEND_WITH_IMM, HAS_IMM },
	[IBV_WR_RDMA_READ] = { PVRDMA_WR_RDMA_READ, HAS_RADDR },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { PVRDMA_WR_ATOMIC_CMP_AND_SWP, HAS_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { PVRDMA_WR_ATOMIC_FETCH_AND_ADD, HAS_ATOMIC },
	[IBV_WR_LOCAL_INV] = { PVRDMA_WR_LOCAL_INV, HAS_INV },
	[IBV_WR_SEND_WITH_INV] = { PVRDMA_WR_SEND_WITH_INV, HAS_INV },
};

uint32_t pvrdma_send_ops(enum ibv_qp_type type)
{
	uint32_t ops = 1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM;

	if (type == IBV_QPT_RC)
		ops |= 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
		       1u << IBV_WR_RDMA_READ | 1u << IBV_WR_ATOMIC_CMP_AND_SWP |
		       1u << IBV_WR_ATOMIC_FETCH_AND_ADD | 1u << IBV_WR_LOCAL_INV |
		       1u << IBV_WR_SEND_WITH_INV;
	return ops;
}

static bool has_bytes(const struct ibv_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return true;
	return false;
}

FLAT enum kit_fault send_check(const struct pvrdma_sq *sq, const struct ibv_send_wr *wr,
			       uint32_t sge_limit, bool room, bool datagram)
{
	/* The limit is 0 in states that do not send, so this check also refuses requests in such a
	 * state. */
	if (unlikely((uint32_t)wr->num_sge >= sge_limit))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(!room))
		return KIT_FAULT_FULL;
	if (unlikely((unsigned int)wr->opcode >= 32 || !(sq->ops >> wr->opcode & 1)))
		return KIT_FAULT_OPCODE;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	/* Refuse inline data, because the device reads all data later. */
	if (unlikely(wr->send_flags & IBV_SEND_INLINE && has_bytes(wr)))
		return KIT_FAULT_INLINE;
	if (datagram)
		return likely(wr->wr.ud.ah) ? KIT_FAULT_NONE : KIT_FAULT_AH;
	if (unlikely(send_ops[wr->opcode].has & HAS_ATOMIC && wr->wr.atomic.remote_addr % 8))
		return KIT_FAULT_ATOMIC_ADDR;
	return KIT_FAULT_NONE;
}

FLAT void datagram_build(struct pvrdma_sq_wqe_hdr *wqe, const struct ibv_send_wr *wr)
{
	wqe->wr.ud.remote_qpn = wr->wr.ud.remote_qpn;
	wqe->wr.ud.remote_qkey = wr->wr.ud.remote_qkey;
	wqe->wr.ud.av = ((const struct pvrdma_ah *)wr->wr.ud.ah)->av;
}

FLAT void head_build(struct pvrdma_sq_wqe_hdr *wqe, const struct ibv_send_wr *wr, uint8_t has)
{
	if (has & HAS_IMM)
		wqe->ex.imm_data = wr->imm_data;
	if (has & HAS_INV)
		wqe->ex.invalidate_rkey = wr->invalidate_rkey;
	if (has & HAS_RADDR) {
		wqe->wr.rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->wr.rdma.rkey = wr->wr.rdma.rkey;
	}
	if (has & HAS_ATOMIC) {
		wqe->wr.atomic.remote_addr = wr->wr.atomic.remote_addr;
		wqe->wr.atomic.compare_add = wr->wr.atomic.compare_add;
		if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			wqe->wr.atomic.swap = wr->wr.atomic.swap;
		wqe->wr.atomic.rkey = wr->wr.atomic.rkey;
	}
}

FLAT void send_build(struct pvrdma_sq_wqe_hdr *wqe, const struct ibv_send_wr *wr, uint32_t count,
		     bool datagram)
{
	struct pvrdma_sge *sge = (struct pvrdma_sge *)(wqe + 1);
	const struct ibv_sge *from = wr->sg_list;
	struct send_op op = send_ops[wr->opcode];

	wqe->wr_id = wr->wr_id;
	wqe->num_sge = count;
	wqe->opcode = op.opcode;
	wqe->send_flags = wr->send_flags & ~IBV_SEND_INLINE;
	if (datagram)
		datagram_build(wqe, wr);
	if (op.has)
		head_build(wqe, wr, op.has);
	for (uint32_t i = 0; i < count; i++)
		pvrdma_sge_write(&sge[i], &from[i]);
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct pvrdma_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0,
		.atomics = true,
		.max_post = qp->sq.ring.entries,
		.max_sge = qp->sq.max_sge,
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Announce requests up to @index to the device and release the lock. */
FLAT int post_end(struct pvrdma_sq *sq, uint32_t index)
{
	if (likely(index != sq->ring.index)) {
		sq->ring.index = index;
		barrier_to_device();
		/* release: the requests are visible before the tail */
		atomic_store_explicit(&sq->ring.words->tail, index, memory_order_release);
		barrier_to_device();
		mmio_write_32(sq->reg, sq->doorbell);
	}
	spinlock_unlock(&sq->lock);
	return 0;
}

/* Not inline, so that the function that chooses between them saves no registers. */
#define SEPARATE __attribute__((noinline))

/* Post requests of any kind from @index on, with room for @room requests. The caller holds the
 * lock, and this function releases it. */
SEPARATE static int post_rest(struct pvrdma_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t index, uint32_t room)
{
	const bool datagram = qp->vqp.qp.qp_type == IBV_QPT_UD;
	struct pvrdma_sq *sq = &qp->sq;
	uint32_t sge_limit = (uint32_t)sq->max_sge + 1;
	enum kit_fault fault = KIT_FAULT_NONE;

	for (; wr; wr = wr->next) {
		fault = send_check(sq, wr, sge_limit, room, datagram);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		send_build(pvrdma_ring_slot(&sq->ring, index), wr, wr->num_sge, datagram);
		index = pvrdma_ring_next(&sq->ring, index);
		room--;
	}
	post_end(sq, index);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct pvrdma_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.ring.index, pvrdma_ring_room(&qp->sq.ring));
}

/* Operations of plain requests. */
#define PLAIN_OPS                                                                      \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV | \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_RDMA_READ)

FLAT bool is_plain(uint32_t ops, const struct ibv_send_wr *wr, bool datagram)
{
	if (unlikely(wr->num_sge != 1))
		return false;
	if (unlikely((unsigned int)wr->opcode >= 32))
		return false;
	if (unlikely(!(ops >> wr->opcode & 1)))
		return false;
	if (unlikely(wr->send_flags & IBV_SEND_INLINE))
		return false;
	return likely(wr->sg_list) && (!datagram || likely(wr->wr.ud.ah));
}

FLAT int post_plain(struct pvrdma_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		    bool datagram)
{
	struct pvrdma_sq *sq = &qp->sq;
	uint32_t index, room, ops;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	index = sq->ring.index;
	room = pvrdma_ring_room(&sq->ring);
	ops = likely(sq->max_sge > 0) ? sq->ops & PLAIN_OPS : 0;
	for (; wr; wr = wr->next) {
		if (unlikely(!room) || !is_plain(ops, wr, datagram))
			return post_rest(qp, wr, bad_wr, index, room);
		send_build(pvrdma_ring_slot(&sq->ring, index), wr, 1, datagram);
		index = pvrdma_ring_next(&sq->ring, index);
		room--;
	}
	return post_end(sq, index);
}

SEPARATE static int post_connected(struct pvrdma_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, false);
}

SEPARATE static int post_datagram(struct pvrdma_qp *qp, struct ibv_send_wr *wr,
				  struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, true);
}

int pvrdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return ibqp->qp_type == IBV_QPT_UD ? post_datagram(to_pqp(ibqp), wr, bad_wr)
					   : post_connected(to_pqp(ibqp), wr, bad_wr);
}
