/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll, and the fields are
 * read from the ring itself.
 */
#include "providers/kit/cq_ex.h"
#include "providers/rxe/rxe.h"

const uint64_t rxe_cq_ex_wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
				    IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
				    IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
				    IBV_WC_EX_WITH_DLID_PATH_BITS;

static inline struct rxe_cq *ex_to_rcq(struct ibv_cq_ex *cq_ex)
{
	return (struct rxe_cq *)cq_ex;
}

static inline const struct ibv_wc *ex_wc(struct ibv_cq_ex *cq_ex)
{
	const struct rxe_cq *cq = ex_to_rcq(cq_ex);

	return rxe_queue_slot(&cq->queue, cq->poll_index);
}

static inline void ex_stand_on(struct rxe_cq *cq, uint32_t index)
{
	const struct ibv_wc *wc = rxe_queue_slot(&cq->queue, index);

	cq->poll_index = index;
	cq->vcq.cq_ex.wr_id = wc->wr_id;
	cq->vcq.cq_ex.status = wc->status;
	verbs_data_wc(&cq->vcq.cq, wc);
}

static int ex_start_poll(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	struct rxe_cq *cq = ex_to_rcq(cq_ex);
	uint32_t consumer;

	spinlock_lock(&cq->lock);
	consumer = rxe_queue_consumer(&cq->queue);
	if (rxe_queue_empty(&cq->queue, consumer)) {
		spinlock_unlock(&cq->lock);
		errno = ENOENT;
		return ENOENT;
	}
	ex_stand_on(cq, consumer);
	return 0;
}

/*
 * Go to the next entry. At the end the current entry stays readable. Entries before it return to
 * the kernel.
 */
static int ex_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct rxe_cq *cq = ex_to_rcq(cq_ex);
	uint32_t next = rxe_queue_next(&cq->queue, cq->poll_index);

	if (rxe_queue_empty(&cq->queue, next)) {
		rxe_queue_release(&cq->queue, cq->poll_index);
		errno = ENOENT;
		return ENOENT;
	}
	ex_stand_on(cq, next);
	return 0;
}

static void ex_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct rxe_cq *cq = ex_to_rcq(cq_ex);

	rxe_queue_release(&cq->queue, rxe_queue_next(&cq->queue, cq->poll_index));
	spinlock_unlock(&cq->lock);
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->opcode;
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->vendor_err;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return rxe_wc_flags(ex_wc(cq_ex)->wc_flags);
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->byte_len;
}

/* Return the immediate data or an invalidated rkey, which have the same place. */
static __be32 ex_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->imm_data;
}

static uint32_t ex_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->qp_num;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->src_qp;
}

static uint32_t ex_read_slid(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->slid;
}

static uint8_t ex_read_sl(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->sl;
}

static uint8_t ex_read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	return ex_wc(cq_ex)->dlid_path_bits;
}

static const struct ibv_cq_ex ex_slots = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = ex_end_poll,
	.read_opcode = ex_read_opcode,
	.read_vendor_err = ex_read_vendor_err,
	.read_wc_flags = ex_read_wc_flags,
	.read_byte_len = ex_read_byte_len,
	.read_imm_data = ex_read_imm_data,
	.read_qp_num = ex_read_qp_num,
	.read_src_qp = ex_read_src_qp,
	.read_slid = ex_read_slid,
	.read_sl = ex_read_sl,
	.read_dlid_path_bits = ex_read_dlid_path_bits,
};

void rxe_cq_ex_set_slots(struct rxe_cq *cq, uint64_t wc_flags)
{
	kit_cq_ex_set_slots(&cq->vcq.cq_ex, &ex_slots, wc_flags);
}
