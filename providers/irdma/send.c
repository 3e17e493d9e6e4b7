/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain: a send or a write of one entry on a connection.
 * Their loop makes no function call. post_rest() posts the first request of a list that is not
 * plain, and all requests after it. A refused request leaves the ring as it is.
 */
#include "providers/irdma/request.h"
#include "providers/kit/mw.h"

/* ---- memory windows */

enum kit_fault irdma_bind_check(const struct irdma_sq *sq, const struct ibv_mw *mw,
				const struct ibv_mw_bind_info *info)
{
	const struct verbs_mr *mr = info->mr ? to_vmr(info->mr) : NULL;

	if (!sq->binds || !mw || !mr || mr->mr_type != VERBS_MR_PLAIN ||
	    mr->access & IBV_ACCESS_ZERO_BASED)
		return KIT_FAULT_BIND_WR;
	return KIT_FAULT_NONE;
}

uint64_t irdma_bind_write(const struct irdma_sq *sq, char *wqe, const struct ibv_mw *mw,
			  uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	bool based = info->mw_access_flags & IBV_ACCESS_ZERO_BASED;
	unsigned int access = info->mw_access_flags;
	uint32_t key = mw->type == IBV_MW_TYPE_1 ? rkey : (mw->rkey & ~0xffu) | (rkey & 0xff);
	uint32_t low = sq->old_format ? info->mr->rkey : key;
	uint32_t high = sq->old_format ? key : info->mr->rkey;

	word_write(wqe, based ? 0 : info->addr);
	word_write(wqe + AT_SECOND, (uint64_t)high << 32 | low);
	return (based ? 0 : HEADER_VIRTUAL) | (mw->type == IBV_MW_TYPE_1 ? HEADER_TYPE_1 : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? HEADER_READABLE : 0) |
	       (access & IBV_ACCESS_REMOTE_WRITE ? HEADER_WRITABLE : 0) |
	       (access & IBV_ACCESS_REMOTE_ATOMIC && sq->atomics ? HEADER_ATOMIC : 0);
}

int irdma_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mr *mr = bind->bind_info.mr;
	int r = 0;

	if (mr && to_vmr((struct ibv_mr *)mr)->mr_type != VERBS_MR_PLAIN)
		r = EOPNOTSUPP;
	else if (mw->type != IBV_MW_TYPE_1)
		r = EINVAL;
	if (!r)
		return kit_bind_mw(ibqp, mw, bind, irdma_post_send);
	verbs_err(ibqp->context, "mw 0x%x: ibv_bind_mw: %s", mw->rkey,
		  r == EINVAL ? "it is no window of type 1" : "the region is not an ordinary one");
	errno = r;
	return r;
}

/* ---- requests of any kind */

static enum kit_fault atomic_check(const struct irdma_sq *sq, const struct ibv_send_wr *wr,
				   uint64_t length)
{
	if (!sq->atomics)
		return KIT_FAULT_OPCODE;
	if (wr->num_sge != 1 || wr->send_flags & IBV_SEND_INLINE)
		return KIT_FAULT_ATOMIC_LIST;
	if (length != sizeof(uint64_t))
		return KIT_FAULT_ATOMIC_LENGTH;
	return wr->wr.atomic.remote_addr % 8 ? KIT_FAULT_ATOMIC_ADDR : KIT_FAULT_NONE;
}

static bool op_is_possible(const struct irdma_sq *sq, const struct send_op *op)
{
	if (sq->datagrams && (op->kind != KIND_SEND || op->op != OP_SEND))
		return false;
	return op->kind != KIND_NONE && !(op->cap & ~sq->caps);
}

static enum kit_fault send_check(const struct irdma_sq *sq, const struct ibv_send_wr *wr,
				 const struct send_op *op, uint64_t length)
{
	bool inlined = wr->send_flags & IBV_SEND_INLINE;
	uint32_t fragments = wr->num_sge + op->immediate;

	if (wr->send_flags & ~15u ||
	    (inlined && op->kind != KIND_SEND && op->kind != KIND_WRITE && op->kind != KIND_ATOMIC))
		return KIT_FAULT_SEND_FLAGS;
	if (sq->datagrams && !wr->wr.ud.ah)
		return KIT_FAULT_AH;
	switch (op->kind) {
	case KIND_ATOMIC:
		return atomic_check(sq, wr, length);
	case KIND_BIND:
		if (wr->num_sge)
			return KIT_FAULT_BIND_WR;
		return irdma_bind_check(sq, wr->bind_mw.mw, &wr->bind_mw.bind_info);
	case KIND_READ:
		if ((uint32_t)wr->num_sge > sq->max_read_sge)
			return KIT_FAULT_NUM_SGE;
		break;
	default:
		break;
	}
	if (inlined)
		return length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
	return fragments > FRAGMENTS_MAX ||
			       (sq->old_format && fragments_quanta(fragments) > sq->chunk)
		       ? KIT_FAULT_NUM_SGE
		       : KIT_FAULT_NONE;
}

static uint32_t quanta_of(const struct irdma_sq *sq, const struct ibv_send_wr *wr,
			  const struct send_op *op, uint32_t length)
{
	if (op->kind == KIND_ATOMIC)
		return 2;
	if (op->kind >= KIND_INVALIDATE)
		return 1;
	if (wr->send_flags & IBV_SEND_INLINE)
		return inline_quanta(sq, length);
	return fragments_quanta(wr->num_sge + op->immediate);
}

/* Write data of a send, a write or a read, and return their part of the header. */
static uint64_t data_write(const struct irdma_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			   const struct send_op *op, uint32_t length, uint64_t valid)
{
	uint32_t count = wr->num_sge + op->immediate;

	if (op->immediate) {
		word_write(wqe, be32toh(wr->imm_data));
		if (!(wr->send_flags & IBV_SEND_INLINE))
			word_write(wqe + AT_SECOND, 0);
	}
	if (wr->send_flags & IBV_SEND_INLINE) {
		struct inline_writer writer = inline_begin(sq, wqe, valid);

		for (int i = 0; i < wr->num_sge; i++)
			inline_copy(&writer, (const char *)(uintptr_t)wr->sg_list[i].addr,
				    wr->sg_list[i].length);
		return HEADER_INLINE | (uint64_t)length << HEADER_LENGTH_SHIFT;
	}
	if (!count) {
		word_write(wqe, 0);
		word_write(wqe + AT_SECOND, sq->old_format ? 0 : valid);
	}
	list_write(op->immediate ? wqe + IRDMA_QUANTUM : wqe,
		   op->immediate ? wqe + IRDMA_QUANTUM + FRAGMENT : wqe + IRDMA_QUANTUM,
		   wr->sg_list, wr->num_sge, count && !(count & 1), sq->old_format, valid);
	return count_field(count, sq->even_extra);
}

/* Write the target of a send, a write or a read, and return its part of the header. */
static uint64_t target_write(const struct irdma_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			     const struct send_op *op)
{
	if (sq->datagrams) {
		word_write(wqe + AT_THIRD, (uint64_t)(wr->wr.ud.remote_qpn & 0xffffff) << 32 |
						   wr->wr.ud.remote_qkey);
		return ((const struct irdma_ah *)wr->wr.ud.ah)->number;
	}
	word_write(wqe + AT_THIRD, op->kind == KIND_SEND ? 0 : wr->wr.rdma.remote_addr);
	if (op->kind != KIND_SEND)
		return wr->wr.rdma.rkey;
	return op->op == OP_SEND_INV ? wr->invalidate_rkey : 0;
}

/* Write all but the header, and return the rest of the header. */
static uint64_t body_write(const struct irdma_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			   const struct send_op *op, uint32_t length, uint64_t valid)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	switch (op->kind) {
	case KIND_ATOMIC:
		word_write(wqe + AT_THIRD, wr->wr.atomic.remote_addr);
		atomic_write(wqe, wr->sg_list,
			     swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add,
			     swaps ? wr->wr.atomic.compare_add : 0, valid);
		return 1ull << HEADER_COUNT_SHIFT | wr->wr.atomic.rkey;
	case KIND_INVALIDATE:
		word_write(wqe + AT_THIRD, 0);
		invalidate_write(wqe, wr->invalidate_rkey, sq->old_format);
		return 0;
	case KIND_BIND:
		word_write(wqe + AT_THIRD, wr->bind_mw.bind_info.length);
		return irdma_bind_write(sq, wqe, wr->bind_mw.mw, wr->bind_mw.rkey,
					&wr->bind_mw.bind_info);
	default:
		return data_write(sq, wqe, wr, op, length, valid) | target_write(sq, wqe, wr, op);
	}
}

/* Write a checked request, if it fits. */
static enum kit_fault send_write(struct irdma_sq *sq, int *room, const struct ibv_send_wr *wr,
				 const struct send_op *op, uint32_t length)
{
	uint32_t quanta = quanta_of(sq, wr, op, length);
	uint32_t padding = padding_of(sq, sq->head, quanta);
	uint64_t header = header_of(sq, op, wr->send_flags), valid;
	char *wqe;

	if (*room < (int)(quanta + padding))
		return KIT_FAULT_FULL;
	for (uint32_t i = 0; i < padding; i++, sq->head++) {
		padding_write(sq, sq->head);
		header_write(quantum_at(sq, sq->head),
			     (uint64_t)OP_NOP << HEADER_OP_SHIFT | valid_at(sq, sq->head));
	}
	wqe = quantum_at(sq, sq->head);
	valid = valid_at(sq, sq->head);
	if (op->kind != KIND_ATOMIC)
		ring_stamp(sq, sq->head);
	header |= body_write(sq, wqe, wr, op, length, valid);
	sent_note(sq, sq->head, wr->wr_id, length, op->opcode, quanta);
	header_write(wqe, header | valid);
	behind_write(sq, sq->head, quanta);
	sq->head += quanta;
	*room -= (int)(quanta + padding);
	return KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct irdma_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0 && qp->vqp.cap.max_send_wr,
		.atomics = qp->sq.atomics,
		.max_post = qp->vqp.cap.max_send_wr,
		.max_sge = wr->opcode == IBV_WR_RDMA_READ
				   ? min_of(qp->sq.max_read_sge, (uint32_t)qp->sq.max_sge)
				   : (uint32_t)qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.no_flags = wr->opcode <= IBV_WR_SEND_WITH_IMM ? ~15u : ~7u,
	};

	if (!qp->vqp.cap.max_send_wr)
		fault = KIT_FAULT_NO_QUEUE;
	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Announce the requests that were posted since @before, and release the lock. */
FLAT int post_end(struct irdma_qp *qp, uint32_t before)
{
	if (likely(qp->sq.head != before))
		requests_announce(qp, before);
	else
		spinlock_unlock(&qp->sq.lock);
	return 0;
}

static enum kit_fault rest_check(const struct irdma_sq *sq, const struct ibv_send_wr *wr,
				 const struct send_op **ret_op, uint64_t *ret_length)
{
	*ret_op = &send_ops[(unsigned int)wr->opcode & 15];
	*ret_length = 0;
	if ((uint32_t)wr->num_sge >= (uint32_t)sq->max_sge + 1)
		return KIT_FAULT_NUM_SGE;
	if (wr->num_sge && !wr->sg_list)
		return KIT_FAULT_SG_LIST;
	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || !op_is_possible(sq, *ret_op))
		return KIT_FAULT_OPCODE;
	if (!lengths_fit(wr->sg_list, wr->num_sge, ret_length))
		return KIT_FAULT_LENGTH;
	return send_check(sq, wr, *ret_op, *ret_length);
}

/* Post requests of any kind. The caller holds the lock, and this function releases it. @before: the
 * head that was announced. */
SEPARATE static int post_rest(struct irdma_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t before)
{
	struct irdma_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	int room = room_of(sq);

	for (; wr; wr = wr->next) {
		const struct send_op *op;
		uint64_t length;

		fault = rest_check(sq, wr, &op, &length);
		if (!fault)
			fault = send_write(sq, &room, wr, op, length);
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
	}
	post_end(qp, before);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct irdma_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head);
}

/* ---- plain requests */

FLAT bool is_plain(const struct ibv_send_wr *wr, int room)
{
	const uint32_t opcodes = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_SEND;

	return likely(wr->num_sge == 1) && likely(wr->sg_list) &&
	       likely((unsigned int)wr->opcode <= IBV_WR_SEND) &&
	       likely(opcodes >> wr->opcode & 1) && likely(!(wr->send_flags & ~15u)) &&
	       likely(room >= 2);
}

/* Write a plain request. Return: whether it has at most two quanta, which fit into the chunk. */
FLAT bool plain_write(struct irdma_sq *sq, int *room, const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t length = wr->sg_list->length, position = sq->head, quanta = 1;
	uint64_t header = header_of(sq, op, wr->send_flags), valid = valid_at(sq, position);
	char *wqe = quantum_at(sq, position);

	if (unlikely(!(position & (STAMP_QUANTA - 1))) || unlikely(length > FRAGMENT_MAX))
		return false;
	if (wr->send_flags & IBV_SEND_INLINE) {
		const char *from = (const char *)(uintptr_t)wr->sg_list->addr;

		quanta = length <= INLINE_FIRST ? 1 : 2;
		if (unlikely(length > sq->max_inline) ||
		    unlikely(length > INLINE_FIRST + INLINE_NEXT) ||
		    unlikely(padding_of(sq, position, quanta)))
			return false;
		if (quanta == 2) {
			memcpy(wqe + INLINE_FIRST, from, INLINE_FIRST);
			kit_bytes_copy(wqe + IRDMA_QUANTUM, from + INLINE_FIRST,
				       length - INLINE_FIRST);
			wqe[IRDMA_QUANTUM + INLINE_NEXT] = valid >> 56;
		} else {
			kit_bytes_copy(wqe + INLINE_FIRST, from, length);
		}
		header |= HEADER_INLINE | (uint64_t)length << HEADER_LENGTH_SHIFT;
	} else {
		fragment_write(wqe, wr->sg_list, valid);
	}
	if (op->kind == KIND_WRITE) {
		word_write(wqe + AT_THIRD, wr->wr.rdma.remote_addr);
		header |= wr->wr.rdma.rkey;
	} else {
		word_write(wqe + AT_THIRD, 0);
	}
	sent_note(sq, position, wr->wr_id, length, op->opcode, quanta);
	header_write(wqe, header | valid);
	sq->head = position + quanta;
	*room -= (int)quanta;
	return true;
}

int irdma_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct irdma_qp *qp = to_iqp(ibqp);
	struct irdma_sq *sq = &qp->sq;
	uint32_t before;
	int room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	before = sq->head;
	room = likely(sq->plain) && likely(sq->max_sge > 0) ? room_of(sq) : 0;
	for (; wr; wr = wr->next)
		if (!is_plain(wr, room) || unlikely(!plain_write(sq, &room, wr)))
			return post_rest(qp, wr, bad_wr, before);
	return post_end(qp, before);
}
