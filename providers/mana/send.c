/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting sends. The device does not read a refused request, because the head is not moved behind
 * it. The device has no inline data.
 */
#include "providers/mana/rc.h"

#define FLAT static inline __attribute__((always_inline))

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	MESSAGE_BYTES_MAX = 1u << 31,
};

enum send_kind {
	KIND_NONE,
	KIND_SEND,
	KIND_RDMA,
	KIND_READ,
};

static const struct send_op {
	uint64_t head;
	uint8_t type;
	uint8_t kind;
	uint8_t extra;	/* elements of the list with immediate data */
	uint8_t opcode; /* IBV_WC_ */
} send_ops[] = {
	[IBV_WR_SEND] = { HEAD_SEND | HEAD_CHECK_NUMBER, TYPE_SEND, KIND_SEND, 0, IBV_WC_SEND },
	[IBV_WR_SEND_WITH_IMM] = { HEAD_SEND | HEAD_CHECK_NUMBER, TYPE_SEND_IMM, KIND_SEND, 0,
				   IBV_WC_SEND },
	[IBV_WR_RDMA_WRITE] = { HEAD_SEND, TYPE_WRITE, KIND_RDMA, 0, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { HEAD_SEND_LARGE | HEAD_CHECK_NUMBER, TYPE_WRITE_IMM,
					 KIND_RDMA, 1, IBV_WC_RDMA_WRITE },
	[IBV_WR_RDMA_READ] = { HEAD_SEND, TYPE_READ, KIND_READ, 0, IBV_WC_RDMA_READ },
};

/* A request while it is checked and written. */
struct request {
	struct send_op op;
	uint32_t length;
	uint32_t packets;
	uint32_t units, read_units;
};

FLAT uint64_t length_of(const struct ibv_send_wr *wr)
{
	uint64_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	return length;
}

FLAT uint32_t reads_room(const struct mana_sq *sq)
{
	/* acquire: pairs with the release of the poll that freed the units */
	uint32_t tail = atomic_load_explicit(&sq->reads_tail, memory_order_acquire);

	return ((sq->reads.mask + 1) >> UNIT_SHIFT) - ((sq->reads.head - tail) & UNITS_MASK);
}

FLAT enum kit_fault list_check(const struct mana_sq *sq, const struct ibv_send_wr *wr)
{
	if (unlikely((uint32_t)wr->num_sge >= (uint32_t)sq->max_sge + 1))
		return KIT_FAULT_NUM_SGE;
	return unlikely(wr->num_sge && !wr->sg_list) ? KIT_FAULT_SG_LIST : KIT_FAULT_NONE;
}

FLAT enum kit_fault size_check(const struct mana_sq *sq, const struct ibv_send_wr *wr,
			       struct request *r)
{
	uint64_t length = length_of(wr);
	uint64_t packets = (length + (1u << sq->mtu_shift) - 1) >> sq->mtu_shift;

	if (unlikely(wr->send_flags & IBV_SEND_INLINE) && length)
		return KIT_FAULT_INLINE;
	/* Sequence numbers cannot count more packets that are under way. */
	if (unlikely(length > MESSAGE_BYTES_MAX) || unlikely(packets >= PSN_SIGN))
		return KIT_FAULT_LENGTH;
	r->length = length;
	r->packets = packets ? packets : 1;
	return KIT_FAULT_NONE;
}

FLAT enum kit_fault units_check(const struct mana_sq *sq, const struct ibv_send_wr *wr,
				struct request *r)
{
	uint32_t count = wr->num_sge ? (uint32_t)wr->num_sge : 1;

	r->read_units = 0;
	if (unlikely(r->op.kind == KIND_READ)) {
		r->read_units = mana_recv_units(count);
		if (r->read_units > RECV_UNITS_MAX)
			return KIT_FAULT_NUM_SGE;
		if (r->read_units > reads_room(sq))
			return KIT_FAULT_FULL;
		count = 1;
	}
	r->units = 1 + (count + r->op.extra + 1) / 2;
	return unlikely(r->units > SEND_UNITS_MAX) ? KIT_FAULT_NUM_SGE : KIT_FAULT_NONE;
}

FLAT enum kit_fault send_check(const struct mana_sq *sq, const struct ibv_send_wr *wr,
			       struct request *r)
{
	enum kit_fault fault = list_check(sq, wr);

	if (unlikely(fault))
		return fault;
	if (unlikely((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops)))
		return KIT_FAULT_OPCODE;
	r->op = send_ops[wr->opcode];
	if (unlikely(!r->op.kind))
		return KIT_FAULT_OPCODE;
	if (unlikely(wr->send_flags & ~(unsigned int)(SEND_FLAGS | IBV_SEND_INLINE)))
		return KIT_FAULT_SEND_FLAGS;
	fault = size_check(sq, wr, r);
	return unlikely(fault) ? fault : units_check(sq, wr, r);
}

/* Write where the data of a read go, and announce it. The device must know this before the read. */
__attribute__((noinline)) static void read_post(struct mana_rc *qp, const struct ibv_send_wr *wr)
{
	struct mana_ring *reads = &qp->sq.reads;
	uint32_t units = mana_recv_write(reads, wr->sg_list, wr->num_sge, qp->sq.psn);

	mana_recv_head_write(reads, wr->num_sge, HEAD_CHECK_NUMBER);
	mana_ring_move(reads, units);
	mana_announce(qp->doorbells, DB_RECV, reads, 1);
}

/* Write the list, and return the number of its elements. */
FLAT uint32_t list_write(const struct mana_ring *ring, const struct ibv_send_wr *wr,
			 const struct request *r)
{
	uint32_t at = AT_LIST, end = r->units << UNIT_SHIFT;

	if (unlikely(r->op.extra)) {
		mana_sge_write(mana_ring_at(ring, at), be32toh(wr->imm_data), 0, 0);
		at += SLOT;
	}
	if (unlikely(!wr->num_sge) || unlikely(r->op.kind == KIND_READ)) {
		mana_sge_write(mana_ring_at(ring, at), DUMMY_ADDRESS, 0, 0);
		at += SLOT;
	} else {
		for (int i = 0; i < wr->num_sge; i++, at += SLOT)
			mana_sge_write(mana_ring_at(ring, at), wr->sg_list[i].addr,
				       wr->sg_list[i].lkey, wr->sg_list[i].length);
	}
	if (at == end)
		return 0;
	mana_sge_write(mana_ring_at(ring, at), 0, 0, 0);
	return HEAD_PADDING;
}

FLAT void request_write(const struct mana_sq *sq, const struct ibv_send_wr *wr,
			const struct request *r, uint64_t request)
{
	uint64_t remote = 0, rdma = 0, padding = list_write(&sq->ring, wr, r);
	/* The first 32 bytes of an entry do not go round the end of the ring. */
	char *entry = mana_ring_at(&sq->ring, 0);

	if (r->op.kind == KIND_SEND) {
		if (wr->opcode == IBV_WR_SEND_WITH_IMM)
			remote = be32toh(wr->imm_data);
	} else {
		remote = wr->wr.rdma.remote_addr << 32 | wr->wr.rdma.remote_addr >> 32;
		rdma = (uint64_t)r->length << 32 | wr->wr.rdma.rkey;
	}
	mana_write_64(entry + AT_REMOTE, remote);
	mana_write_64(entry + AT_RDMA, rdma);
	mana_write_64(entry + AT_REQUEST, request);
	mana_write_64(entry, padding | HEAD_SGES(2 * (r->units - 1) - r->op.extra) | r->op.head |
				     HEAD_MTU(1u << sq->mtu_shift));
}

/* Write a checked request. */
FLAT void send_write(struct mana_rc *qp, const struct ibv_send_wr *wr, uint32_t posted,
		     const struct request *r)
{
	struct mana_sq *sq = &qp->sq;
	uint64_t request = (uint64_t)(wr->send_flags & SEND_FLAGS) << REQUEST_FLAGS_SHIFT |
			   r->op.type | sq->always | sq->psn << REQUEST_PSN_SHIFT |
			   (uint64_t)sq->ssn << REQUEST_SSN_SHIFT;

	if (unlikely(r->read_units))
		read_post(qp, wr);
	request_write(sq, wr, r, request);
	mana_ring_move(&sq->ring, r->units);
	sq->psn = (sq->psn + r->packets) & PSN_MASK;
	sq->ssn = (sq->ssn + 1) & PSN_MASK;
	sq->sent[posted & sq->mask] = (struct mana_sent){
		.wr_id = wr->wr_id,
		.psn = (sq->psn - 1) & PSN_MASK,
		.end = sq->ring.head,
		.length = r->length,
		.read_units = r->read_units,
		.opcode = r->op.opcode,
		.signaled = request & IBV_SEND_SIGNALED << REQUEST_FLAGS_SHIFT,
	};
}

static uint32_t max_message_bytes(const struct mana_sq *sq)
{
	return min_of((uint64_t)MESSAGE_BYTES_MAX, (uint64_t)(PSN_SIGN - 1) << sq->mtu_shift);
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct mana_rc *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	uint32_t most = wr->opcode == IBV_WR_RDMA_READ		   ? 2 * RECV_UNITS_MAX - 1
			: wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 2 * SEND_UNITS_MAX - 3
								   : 2 * SEND_UNITS_MAX - 2;
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0 && qp->sq.max_post,
		.max_post = qp->sq.max_post,
		.max_sge = min_of((uint32_t)qp->sq.max_sge, most),
		.max_length = max_message_bytes(&qp->sq),
		.no_flags = ~(unsigned int)SEND_FLAGS,
	};

	if (!qp->sq.max_post)
		fault = KIT_FAULT_NO_QUEUE;
	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

static int raw_refuse(struct ibv_qp *qp)
{
	verbs_err(qp->context, "qp 0x%x: ibv_post_send: the program writes requests by itself",
		  qp->qp_num);
	return EOPNOTSUPP;
}

/* Publish requests up to number @posted, of which the last begins at unit @last. */
FLAT void publish(struct mana_rc *qp, uint32_t posted, uint32_t last)
{
	/* release: a poll that finds the number also finds the requests */
	atomic_store_explicit(&qp->sq.posted, posted, memory_order_release);
	/* release: it includes only published sends */
	atomic_store_explicit(&qp->sq.rollback->right, htole32(last), memory_order_release);
	mana_announce(qp->doorbells, DB_SEND, &qp->sq.ring, 0);
}

int mana_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct mana_rc *qp = to_mrc(ibqp);
	struct mana_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t first, posted, room, last = 0;
	struct request request;

	if (unlikely(ibqp->qp_type != IBV_QPT_RC)) {
		*bad_wr = wr;
		return raw_refuse(ibqp);
	}
	spinlock_lock(&sq->lock);
	first = posted = atomic_load_explicit(&sq->posted, memory_order_relaxed);
	/* acquire: pairs with the release of the poll that freed the place */
	room = sq->max_post - (posted - atomic_load_explicit(&sq->completed, memory_order_acquire));
	for (; wr; wr = wr->next, room--) {
		fault = send_check(sq, wr, &request);
		if (unlikely(!room) && !fault)
			fault = KIT_FAULT_FULL;
		if (unlikely(fault))
			break;
		last = sq->ring.head;
		send_write(qp, wr, posted++, &request);
	}
	if (likely(posted != first))
		publish(qp, posted, last);
	spinlock_unlock(&sq->lock);
	if (likely(!fault))
		return 0;
	*bad_wr = wr;
	return send_refuse(qp, wr, fault);
}
