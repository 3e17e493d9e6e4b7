/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(). Most requests are plain: a send or a write of one entry on a connection.
 * Their loop makes no function call. post_rest() posts the first request of a list that is not
 * plain, and all requests after it. A refused request does not change the ring.
 */
#include "providers/ionic/request.h"
#include "providers/kit/bytes.h"

/* ---- memory windows */

enum kit_fault ionic_bind_check(const struct ionic_sq *sq, const struct ibv_mw *mw,
				const struct ibv_mw_bind_info *info, enum ibv_mw_type type)
{
	bool empty = !info->length;

	if (sq->datagrams || !mw || mw->type != type || (!info->mr && !empty) ||
	    (type == IBV_MW_TYPE_1 && info->mw_access_flags & IBV_ACCESS_ZERO_BASED) ||
	    (empty && type == IBV_MW_TYPE_2))
		return KIT_FAULT_BIND_WR;
	return KIT_FAULT_NONE;
}

/* Write the binding of a window. The device uses the bits of enum ibv_access_flags. */
uint32_t ionic_bind_write(char *wqe, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	uint32_t rights =
		info->mw_access_flags &
		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED);
	uint32_t lkey = info->mr ? info->mr->lkey : 0;

	rights |= BIND_WINDOW | (mw->type == IBV_MW_TYPE_2 ? BIND_TYPE_2 : 0);
	word_write(wqe + AT_BODY, info->addr);
	word_write(wqe + AT_TARGET, info->length);
	word_write(wqe + AT_BIND_KEY, (uint64_t)lkey << 32 | rights << BIND_FLAGS_SHIFT);
	return AT_BIND_KEY + 8;
}

/* ---- requests of any kind */

uint32_t ionic_atomic_write(const struct ionic_sq *sq, char *wqe, const struct ibv_sge *sge,
			    uint32_t rkey, uint64_t operand, uint64_t compare)
{
	uint32_t lkey = sq->version > 1 ? sge->lkey : 0;

	word_write(wqe + AT_TARGET, (uint64_t)rkey << 32 | operand >> 32);
	word_write(wqe + AT_LIST, operand << 32 | compare >> 32);
	word_write(wqe + AT_ATOMIC_LKEY, compare << 32 | lkey);
	word_write(wqe + AT_ATOMIC_ADDRESS, sge->addr);
	if (sq->version > 1)
		return AT_ATOMIC_ADDRESS + 8;
	word_write(wqe + AT_ATOMIC_ADDRESS + 8, (uint64_t)sge->length << 32 | sge->lkey);
	return AT_ATOMIC_ADDRESS + SGE_BYTES;
}

static enum kit_fault list_check(const struct ionic_sq *sq, const struct ibv_send_wr *wr,
				 const struct send_op *op, uint32_t *ret_length)
{
	bool inlined = wr->send_flags & IBV_SEND_INLINE;

	if (!lengths_fit(wr->sg_list, wr->num_sge, inlined ? 0 : sq->spec, ret_length))
		return KIT_FAULT_LENGTH;
	if (op->kind == KIND_ATOMIC) {
		if (wr->num_sge != 1)
			return KIT_FAULT_ATOMIC_LIST;
		if (wr->wr.atomic.remote_addr % 8)
			return KIT_FAULT_ATOMIC_ADDR;
		return *ret_length == sizeof(uint64_t) ? KIT_FAULT_NONE : KIT_FAULT_ATOMIC_LENGTH;
	}
	return inlined && *ret_length > sq->max_inline ? KIT_FAULT_INLINE : KIT_FAULT_NONE;
}

static enum kit_fault send_check(const struct ionic_sq *sq, const struct ibv_send_wr *wr,
				 enum ibv_mw_type window, uint32_t *ret_length)
{
	const struct send_op *op = &send_ops[(unsigned int)wr->opcode & 15];

	if ((uint32_t)wr->num_sge >= (uint32_t)sq->max_sge + 1)
		return KIT_FAULT_NUM_SGE;
	if (wr->num_sge && !wr->sg_list)
		return KIT_FAULT_SG_LIST;
	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || op->kind == KIND_NONE ||
	    (sq->datagrams && wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM))
		return KIT_FAULT_OPCODE;
	if (wr->send_flags & ~15u || wr->send_flags & op->no_flags)
		return KIT_FAULT_SEND_FLAGS;
	if (sq->datagrams && !wr->wr.ud.ah)
		return KIT_FAULT_AH;
	if (op->kind == KIND_BIND)
		return ionic_bind_check(sq, wr->bind_mw.mw, &wr->bind_mw.bind_info, window);
	return op->kind == KIND_INVALIDATE ? KIT_FAULT_NONE : list_check(sq, wr, op, ret_length);
}

/* Write the data of a send, a write or a read. Return the bytes of the request. */
static uint32_t data_write(const struct ionic_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			   uint64_t *head)
{
	char *to = wqe + AT_LIST;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		*head |= (uint64_t)wr->num_sge << HEAD_COUNT_SHIFT |
			 list_write(wqe, wr->sg_list, wr->num_sge, sq->spec);
		return list_extent(wr->num_sge, sq->spec);
	}
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length)
			memcpy(to, (const void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
	}
	return to - wqe;
}

/* Write the target of a send, a write or a read, and its length. */
static void target_write(const struct ionic_sq *sq, char *wqe, const struct ibv_send_wr *wr,
			 const struct send_op *op, uint32_t length)
{
	uint32_t key = 0;

	if (sq->datagrams) {
		address_write(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn);
		key = wr->wr.ud.remote_qkey;
	} else if (op->kind == KIND_SEND) {
		word_write(wqe + AT_BODY, 0);
	} else {
		word_write(wqe + AT_BODY, wr->wr.rdma.remote_addr);
		key = wr->wr.rdma.rkey;
	}
	word_write(wqe + AT_TARGET, (uint64_t)key << 32 | length);
}

/* Return the immediate data or the key for the head word. */
static uint32_t low_of(const struct ibv_send_wr *wr, const struct send_op *op)
{
	if (op->immediate)
		return be32toh(wr->imm_data);
	if (op->kind == KIND_BIND)
		return wr->bind_mw.mw->rkey;
	return wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV
		       ? wr->invalidate_rkey
		       : 0;
}

/* Write a checked request. */
static void send_write(struct ionic_sq *sq, const struct ibv_send_wr *wr, uint32_t length)
{
	const struct send_op *op = &send_ops[wr->opcode];
	uint64_t head = head_of(sq, op, wr->send_flags, low_of(wr, op));
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	char *wqe = place_at(sq, sq->head);
	uint32_t extent = AT_BODY, position = sq->head & sq->mask;

	switch (op->kind) {
	case KIND_ATOMIC:
		word_write(wqe + AT_BODY, wr->wr.atomic.remote_addr);
		extent = ionic_atomic_write(sq, wqe, wr->sg_list, wr->wr.atomic.rkey,
					    swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add,
					    swaps ? wr->wr.atomic.compare_add : 0);
		head |= 1ull << HEAD_COUNT_SHIFT;
		break;
	case KIND_INVALIDATE:
		break;
	case KIND_BIND:
		extent = ionic_bind_write(wqe, wr->bind_mw.mw, &wr->bind_mw.bind_info);
		head |= (uint64_t)(wr->bind_mw.rkey & 0xff) << HEAD_COUNT_SHIFT;
		break;
	default:
		extent = data_write(sq, wqe, wr, &head);
		target_write(sq, wqe, wr, op, length);
		break;
	}
	place_clear(wqe, &sent_next(sq)->extent, extent);
	word_write(wqe + AT_HEAD, head);
	position_write(wqe, position);
	sent_note(sq, wr->wr_id, length, op, head);
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct ionic_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	const struct kit_sq_limits limits = {
		.closed = qp->sq.max_sge < 0,
		.atomics = true,
		.max_post = qp->vqp.cap.max_send_wr,
		.max_sge = qp->sq.max_sge,
		.max_inline = qp->sq.max_inline,
		.max_length = LENGTH_MAX,
		.no_flags = ~15u | send_ops[(unsigned int)wr->opcode & 15].no_flags,
	};

	return kit_post_refuse(&qp->vqp.qp, &qp->sq.said, wr, fault, &limits);
}

/* Announce the requests from @before on, and release the lock. */
FLAT int post_end(struct ionic_sq *sq, uint32_t before)
{
	if (likely(sq->head != before))
		requests_announce(sq, before);
	else
		spinlock_unlock(&sq->lock);
	return 0;
}

/* Post requests of any kind. The caller holds the lock, and this function releases it. @before: the
 * head that was last announced. @window: the only type of windows that this call binds */
SEPARATE static int post_rest(struct ionic_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t before, enum ibv_mw_type window)
{
	struct ionic_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t room = room_of(sq);

	for (; wr; wr = wr->next, room--) {
		uint32_t length = 0;

		fault = send_check(sq, wr, window, &length);
		if (!fault && !room)
			fault = KIT_FAULT_FULL;
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		send_write(sq, wr, length);
	}
	post_end(sq, before);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct ionic_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head, IBV_MW_TYPE_2);
}

/* Bind a window of type 1. A binding of length 0 does not change the key. */
int ionic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	const struct ibv_mw_bind_info *info = &bind->bind_info;
	struct ionic_qp *qp = to_ioqp(ibqp);
	struct ibv_send_wr *bad_wr;
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = { .mw = mw,
			     .rkey = info->length ? ibv_inc_rkey(mw->rkey) : mw->rkey,
			     .bind_info = *info },
	};
	int r;

	spinlock_lock(&qp->sq.lock);
	r = post_rest(qp, &wr, &bad_wr, qp->sq.head, IBV_MW_TYPE_1);
	if (!r)
		mw->rkey = wr.bind_mw.rkey;
	else
		errno = r;
	return r;
}

/* ---- plain requests */

FLAT bool is_plain(const struct ionic_sq *sq, const struct ibv_send_wr *wr, uint32_t room)
{
	return likely(wr->num_sge == 1) && likely(wr->sg_list) &&
	       likely((unsigned int)wr->opcode <= IBV_WR_SEND_WITH_IMM) &&
	       likely(!(wr->send_flags & ~15u)) &&
	       likely(!(wr->send_flags & send_ops[wr->opcode].no_flags)) && likely(room);
}

/* Write a plain request. Return: whether its data fit. */
FLAT bool plain_write(struct ionic_sq *sq, const struct ibv_send_wr *wr)
{
	const struct send_op *op = &send_ops[wr->opcode];
	uint32_t length = wr->sg_list->length, extent = AT_LIST + SGE_BYTES;
	uint32_t position = sq->head & sq->mask, key = 0;
	uint64_t head = head_of(sq, op, wr->send_flags, op->immediate ? be32toh(wr->imm_data) : 0);
	char *wqe = place_at(sq, position);

	if (wr->send_flags & IBV_SEND_INLINE) {
		if (unlikely(length > sq->max_inline) || unlikely(length >= 64))
			return false;
		kit_bytes_copy(wqe + AT_LIST, (const char *)(uintptr_t)wr->sg_list->addr, length);
		extent = AT_LIST + length;
	} else {
		if (unlikely(length > LENGTH_MAX))
			return false;
		sge_write(wqe + AT_LIST, wr->sg_list->addr, length, wr->sg_list->lkey);
		head |= 1ull << HEAD_COUNT_SHIFT;
	}
	if (op->kind == KIND_WRITE) {
		word_write(wqe + AT_BODY, wr->wr.rdma.remote_addr);
		key = wr->wr.rdma.rkey;
	} else {
		word_write(wqe + AT_BODY, 0);
	}
	word_write(wqe + AT_TARGET, (uint64_t)key << 32 | length);
	place_clear(wqe, &sent_next(sq)->extent, extent);
	word_write(wqe + AT_HEAD, head);
	position_write(wqe, position);
	sent_note(sq, wr->wr_id, length, op, head);
	return true;
}

int ionic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct ionic_qp *qp = to_ioqp(ibqp);
	struct ionic_sq *sq = &qp->sq;
	uint32_t before, room;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	before = sq->head;
	room = likely(sq->max_sge > 0) && likely(!sq->datagrams) ? room_of(sq) : 0;
	for (; wr; wr = wr->next, room--)
		if (!is_plain(sq, wr, room) || unlikely(!plain_write(sq, wr)))
			return post_rest(qp, wr, bad_wr, before, IBV_MW_TYPE_2);
	return post_end(sq, before);
}
