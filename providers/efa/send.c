/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(), which can send only: RDMA is posted by the ibv_wr_*() functions. Compiled once
 * for each size of request, chosen once a call. A request goes from the program's words into the
 * device's memory without a copy in between.
 */
#include "providers/efa/wqe.h"

/* The errno of a refused request. */
__attribute__((noinline, cold)) static int
send_refuse(struct efa_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	struct efa_sq *sq = &qp->sq;
	const struct kit_sq_limits limits = {
		.closed = !sq->open,
		.max_post = sq->wq.max_post,
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.no_flags = ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE),
	};

	return kit_post_refuse(&qp->vqp.qp, &sq->wq.said, wr, fault, &limits);
}

/* Of the two that are possible, the lowest bit tells. */
_Static_assert(IBV_WR_SEND == 2 && IBV_WR_SEND_WITH_IMM == 3, "neighbours");

/* What of a request does not depend on its data. */
FLAT enum kit_fault send_check(const struct efa_sq *sq, const struct ibv_send_wr *wr)
{
	if (unlikely((wr->opcode & ~1u) != IBV_WR_SEND || !sq->open))
		return KIT_FAULT_OPCODE;
	if (unlikely(((wr->send_flags | sq->signal) ^ IBV_SEND_SIGNALED) & ~IBV_SEND_INLINE))
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

/* The four words of the head. @flags: those of its first word */
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

/* A small request has room for what is copied without a call. */
FLAT void data_copy(char *to, const struct ibv_sge *sge, unsigned int words)
{
	const void *from = (const void *)(uintptr_t)sge->addr;

	if (words == WQE_WORDS_SMALL)
		kit_bytes_copy(to, from, sge->length);
	else
		memcpy(to, from, sge->length);
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
		data_copy((char *)data + length, sge, words);
		length += sge->length;
	}
	head_write(sq, wr, wqe, WQE_INLINE, length);
	words_copy(wqe, WQE_DATA, words - WQE_DATA, data);
	return KIT_FAULT_NONE;
}

/* @mixed: some requests may have their data in them */
FLAT enum kit_fault send_write(struct efa_sq *sq, const struct ibv_send_wr *wr, unsigned int shift,
			       bool mixed)
{
	unsigned int words = shift == EFA_WQE_SMALL_SHIFT ? WQE_WORDS_SMALL : WQE_WORDS_LARGE;
	enum kit_fault fault = send_check(sq, wr);
	char *wqe;

	if (unlikely(fault)) /* also where there is no ring */
		return fault;
	wqe = sq->ring + ((size_t)(sq->counter & sq->mask) << shift);
	fault = mixed && wr->send_flags & IBV_SEND_INLINE ? write_inline(sq, wr, wqe, words)
							  : write_list(sq, wr, wqe, words);
	if (likely(!fault))
		sq_advance(sq);
	return fault;
}

/* One more request is written: as many as the device takes at once are told. */
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

/* With the lock held, behind @batch requests that were not told yet; gives it back. */
FLAT int post_rest(struct efa_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   uint32_t batch, unsigned int shift)
{
	for (; wr; wr = wr->next) {
		enum kit_fault fault = send_write(&qp->sq, wr, shift, true);

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

/* As post_mixed(), of small requests that have the data of one entry in them. */
__attribute__((noinline)) static int post_inline(struct efa_qp *qp, struct ibv_send_wr *wr,
						 struct ibv_send_wr **bad_wr, uint32_t batch)
{
	struct efa_sq *sq = &qp->sq;

	for (; wr; wr = wr->next) {
		uint64_t data[WQE_WORDS_SMALL - WQE_DATA] = {};
		const struct ibv_sge *sge = wr->sg_list;
		char *wqe;

		if (unlikely(wr->num_sge != 1) || unlikely(!(wr->send_flags & IBV_SEND_INLINE)) ||
		    unlikely(send_check(sq, wr)) || unlikely(sge->length > sq->max_inline))
			return post_mixed(qp, wr, bad_wr, batch);
		wqe = sq->ring + ((size_t)(sq->counter & sq->mask) << EFA_WQE_SMALL_SHIFT);
		data_copy((char *)data, sge, WQE_WORDS_SMALL);
		head_write(sq, wr, wqe, WQE_INLINE, sge->length);
		words_copy(wqe, WQE_DATA, WQE_WORDS_SMALL - WQE_DATA, data);
		sq_advance(sq);
		batch = batch_count(sq, batch);
	}
	return batch_end(sq, batch);
}

__attribute__((noinline)) static int post_large(struct efa_qp *qp, struct ibv_send_wr *wr,
						struct ibv_send_wr **bad_wr)
{
	barrier_wc_lock(&qp->sq.wq.lock);
	return post_rest(qp, wr, bad_wr, 0, EFA_WQE_LARGE_SHIFT);
}

__attribute__((noinline, cold)) static int post_contended(struct efa_qp *qp, struct ibv_send_wr *wr,
							  struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.wq.lock);
	barrier_wc_locked();
	return post_mixed(qp, wr, bad_wr, 0);
}

/* The common case calls nobody: what is not it goes on elsewhere, from the request it met. */
int efa_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct efa_qp *qp = to_eqp(ibqp);
	struct efa_sq *sq = &qp->sq;
	uint32_t batch = 0;

	if (unlikely(sq->shift != EFA_WQE_SMALL_SHIFT))
		return post_large(qp, wr, bad_wr);
	if (unlikely(!spinlock_try(&sq->wq.lock)))
		return post_contended(qp, wr, bad_wr);
	barrier_wc_locked();
	for (; wr; wr = wr->next) {
		if (wr->send_flags & IBV_SEND_INLINE)
			return post_inline(qp, wr, bad_wr, batch);
		if (unlikely(send_write(sq, wr, EFA_WQE_SMALL_SHIFT, false)))
			return post_mixed(qp, wr, bad_wr, batch);
		batch = batch_count(sq, batch);
	}
	return batch_end(sq, batch);
}
