/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(), which has only sends. The ibv_wr_*() functions post RDMA. Most requests are
 * plain: small, and of one buffer. They are written into the memory of the device without an
 * intermediate copy. The code for other requests is compiled once for each size of request.
 */
#include "providers/efa/wqe.h"

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct efa_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	struct efa_sq *sq = &qp->sq;
	const struct kit_sq_limits limits = {
		.closed = !efa_sq_is_open(sq),
		.max_post = sq->wq.max_post,
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.no_flags = ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE),
	};

	return kit_post_refuse(&qp->vqp.qp, &sq->wq.said, wr, fault, &limits);
}

/* The lowest bit distinguishes the two possible opcodes. */
_Static_assert(IBV_WR_SEND == 2 && IBV_WR_SEND_WITH_IMM == 3, "neighbours");

/* Check the part of a request that does not depend on its data. */
FLAT enum kit_fault send_check(const struct efa_sq *sq, const struct ibv_send_wr *wr)
{
	if (unlikely((wr->opcode & ~1u) != IBV_WR_SEND))
		return KIT_FAULT_OPCODE;
	if (!sq_takes_flags(sq, wr->send_flags))
		return KIT_FAULT_SEND_FLAGS;
	if (unlikely(sq->wq.used == sq->wq.max_post))
		return KIT_FAULT_FULL;
	if (unlikely(wr->num_sge && !wr->sg_list))
		return KIT_FAULT_SG_LIST;
	if (unlikely(!wr->wr.ud.ah))
		return KIT_FAULT_AH;
	return KIT_FAULT_NONE;
}

FLAT void word_write(char *wqe, unsigned int word, uint64_t value)
{
	mmio_write_64(wqe + word * sizeof(value), htole64(value));
}

FLAT void words_copy(char *wqe, unsigned int first, unsigned int count, const uint64_t *from)
{
#pragma GCC unroll 16
	for (unsigned int i = 0; i < count; i++)
		mmio_write_64(wqe + (first + i) * sizeof(*from), from[i]);
}

/* Write the four words of the header. @flags: flags of the first word */
FLAT void head_write(struct efa_sq *sq, const struct ibv_send_wr *wr, char *wqe, uint32_t flags,
		     uint32_t length)
{
	uint32_t imm = wr->opcode & 1;
	uint32_t id = wq_take_id(&sq->wq, wr->wr_id);

	word_write(wqe, WQE_HEAD,
		   (id | flags | WQE_OP_SEND | sq->control | imm * WQE_HAS_IMM) |
			   (uint64_t)(uint16_t)wr->wr.ud.remote_qpn << WQE_QPN_SHIFT |
			   (uint64_t)length << WQE_LENGTH_SHIFT);
	word_write(wqe, WQE_ADDRESS,
		   wqe_address(to_eah(wr->wr.ud.ah)->number, imm ? wr->imm_data : 0));
	word_write(wqe, WQE_QKEY, wr->wr.ud.remote_qkey);
	word_write(wqe, WQE_QKEY + 1, 0);
}

FLAT enum kit_fault write_list(struct efa_sq *sq, const struct ibv_send_wr *wr, char *wqe,
			       unsigned int words)
{
	uint32_t count = wr->num_sge;
	unsigned int at = WQE_DATA;

	if (unlikely(count > sq->max_sge))
		return KIT_FAULT_NUM_SGE;
	head_write(sq, wr, wqe, 0, count);
#pragma GCC unroll 2
	for (uint32_t i = 0; i < EFA_WQE_SGE_MAX; i++, at += 2) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		word_write(wqe, at, i < count ? sge_word(sge) : 0);
		word_write(wqe, at + 1, i < count ? sge->addr : 0);
	}
#pragma GCC unroll 8
	for (; at < words; at++)
		word_write(wqe, at, 0);
	return KIT_FAULT_NONE;
}

FLAT enum kit_fault write_inline(struct efa_sq *sq, const struct ibv_send_wr *wr, char *wqe,
				 unsigned int words)
{
	uint64_t data[WQE_WORDS_LARGE - WQE_DATA];
	uint32_t length = 0;

	memset(data, 0, (words - WQE_DATA) * sizeof(*data));
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (unlikely(sge->length > sq->max_inline - length))
			return KIT_FAULT_INLINE;
		memcpy((char *)data + length, (const void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	head_write(sq, wr, wqe, WQE_INLINE, length);
	words_copy(wqe, WQE_DATA, words - WQE_DATA, data);
	return KIT_FAULT_NONE;
}

FLAT char *ring_at(const struct efa_sq *sq, unsigned int shift)
{
	return sq->ring + ((size_t)(sq->counter & sq->mask) << shift);
}

FLAT enum kit_fault send_write(struct efa_sq *sq, const struct ibv_send_wr *wr, unsigned int shift)
{
	unsigned int words = shift == EFA_WQE_SMALL_SHIFT ? WQE_WORDS_SMALL : WQE_WORDS_LARGE;
	enum kit_fault fault = send_check(sq, wr);
	char *wqe;

	if (unlikely(fault)) /* also true if there is no ring */
		return fault;
	wqe = ring_at(sq, shift);
	fault = wr->send_flags & IBV_SEND_INLINE ? write_inline(sq, wr, wqe, words)
						 : write_list(sq, wr, wqe, words);
	if (likely(!fault))
		sq_advance(sq);
	return fault;
}

/* Count a written request. Ring the doorbell when the batch is as large as the device takes at
 * once. */
FLAT uint32_t batch_count(struct efa_sq *sq, uint32_t batch)
{
	if (likely(++batch != sq->max_batch))
		return batch;
	sq_ring(sq, sq->counter);
	barrier_wc_start();
	return 0;
}

FLAT int batch_end(struct efa_sq *sq, uint32_t batch)
{
	if (likely(batch))
		sq_ring(sq, sq->counter);
	spinlock_unlock(&sq->wq.lock);
	return 0;
}

/* Post the remaining requests, behind @batch requests without a doorbell. The caller holds the
 * lock, and this function releases it. */
FLAT int post_rest(struct efa_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   uint32_t batch, unsigned int shift)
{
	for (; wr; wr = wr->next) {
		enum kit_fault fault = send_write(&qp->sq, wr, shift);

		if (unlikely(fault)) {
			*bad_wr = wr;
			batch_end(&qp->sq, batch);
			return send_refuse(qp, wr, fault);
		}
		batch = batch_count(&qp->sq, batch);
	}
	return batch_end(&qp->sq, batch);
}

__attribute__((noinline)) static int post_mixed(struct efa_qp *qp, struct ibv_send_wr *wr,
						struct ibv_send_wr **bad_wr, uint32_t batch)
{
	return post_rest(qp, wr, bad_wr, batch, EFA_WQE_SMALL_SHIFT);
}

/* ---- small requests of one buffer */

FLAT bool is_plain(const struct efa_sq *sq, const struct ibv_send_wr *wr)
{
	return likely(wr->num_sge == 1) && likely(!send_check(sq, wr));
}

FLAT void plain_write(struct efa_sq *sq, const struct ibv_send_wr *wr)
{
	char *wqe = ring_at(sq, EFA_WQE_SMALL_SHIFT);

	head_write(sq, wr, wqe, 0, 1);
	word_write(wqe, WQE_DATA, sge_word(wr->sg_list));
	word_write(wqe, WQE_DATA + 1, wr->sg_list->addr);
	word_write(wqe, WQE_DATA + 2, 0);
	word_write(wqe, WQE_DATA + 3, 0);
	sq_advance(sq);
}

/* Write a plain request with inline data. */
FLAT void plain_write_inline(struct efa_sq *sq, const struct ibv_send_wr *wr)
{
	const char *from = (const char *)(uintptr_t)wr->sg_list->addr;
	uint32_t length = wr->sg_list->length, word, bytes;
	char *wqe = ring_at(sq, EFA_WQE_SMALL_SHIFT);

	head_write(sq, wr, wqe, WQE_INLINE, length);
#pragma GCC unroll 4
	for (word = WQE_DATA, bytes = 8; word < WQE_WORDS_SMALL; word++, bytes += 8) {
		if (length < bytes)
			break;
		word_write(wqe, word, kit_bytes_load_64(from + bytes - 8));
	}
	for (; word < WQE_WORDS_SMALL; word++, length = 0)
		word_write(wqe, word, kit_bytes_load(from + (length & ~7u), length & 7));
	sq_advance(sq);
}

/* Post plain requests with inline data, and the rest by post_mixed(). */
__attribute__((noinline)) static int post_inline(struct efa_qp *qp, struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad_wr, uint32_t batch)
{
	struct efa_sq *sq = &qp->sq;

	for (; wr; wr = wr->next) {
		if (unlikely(!(wr->send_flags & IBV_SEND_INLINE)) || !is_plain(sq, wr) ||
		    unlikely(wr->sg_list->length > sq->max_inline))
			return post_mixed(qp, wr, bad_wr, batch);
		plain_write_inline(sq, wr);
		batch = batch_count(sq, batch);
	}
	return batch_end(sq, batch);
}

/* ---- all requests */

/* Post to a queue that has no plain requests. */
__attribute__((noinline)) static int post_others(struct efa_qp *qp, struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad_wr)
{
	barrier_wc_lock(&qp->sq.wq.lock);
	if (qp->sq.shift == EFA_WQE_SMALL_SHIFT)
		return post_mixed(qp, wr, bad_wr, 0);
	return post_rest(qp, wr, bad_wr, 0, EFA_WQE_LARGE_SHIFT);
}

__attribute__((noinline, cold)) static int post_contended(struct efa_qp *qp, struct ibv_send_wr *wr,
							  struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.wq.lock);
	barrier_wc_locked();
	return post_mixed(qp, wr, bad_wr, 0);
}

/* The common case makes no function call. Other functions post the first request that is not
 * plain, and all requests after it. */
int efa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct efa_qp *qp = to_eqp(ibqp);
	struct efa_sq *sq = &qp->sq;
	uint32_t batch = 0;

	if (unlikely(!sq->plain))
		return post_others(qp, wr, bad_wr);
	if (unlikely(!spinlock_try(&sq->wq.lock)))
		return post_contended(qp, wr, bad_wr);
	barrier_wc_locked();
	for (; wr; wr = wr->next) {
		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, batch);
		if (!is_plain(sq, wr))
			return post_mixed(qp, wr, bad_wr, batch);
		plain_write(sq, wr);
		batch = batch_count(sq, batch);
	}
	return batch_end(sq, batch);
}
