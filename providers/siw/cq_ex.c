/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll, and the fields are
 * read from the slot, which returns to the kernel when the next slot becomes current.
 */
#include "providers/kit/cq_ex.h"
#include "providers/siw/siw.h"

/* Fields without a meaning for connections are 0. */
const uint64_t siw_cq_ex_wc_flags = IBV_WC_STANDARD_FLAGS;

static inline struct siw_cq *ex_to_scq(struct ibv_cq_ex *cq_ex)
{
	return (struct siw_cq *)cq_ex;
}

static inline struct siw_cqe *ex_slot(const struct siw_cq *cq, uint32_t number)
{
	return &cq->slots[number & cq->mask];
}

static bool ex_stand_on(struct siw_cq *cq, uint32_t number)
{
	struct siw_cqe *cqe = ex_slot(cq, number);

	if (!siw_cqe_valid(cqe))
		return false;
	cq->next = number;
	siw_wc_fill(&cq->current, cqe);
	cq->vcq.cq_ex.wr_id = cq->current.wr_id;
	cq->vcq.cq_ex.status = cq->current.status;
	verbs_data_wc(&cq->vcq.cq, &cq->current);
	return true;
}

static int ex_start_poll(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	struct siw_cq *cq = ex_to_scq(cq_ex);

	spinlock_lock(&cq->lock);
	if (ex_stand_on(cq, cq->next))
		return 0;
	spinlock_unlock(&cq->lock);
	errno = ENOENT;
	return ENOENT;
}

/* If there is no next entry, the current entry stays readable. */
static int ex_next_poll(struct ibv_cq_ex *cq_ex)
{
	struct siw_cq *cq = ex_to_scq(cq_ex);
	uint32_t last = cq->next;

	if (!ex_stand_on(cq, last + 1)) {
		errno = ENOENT;
		return ENOENT;
	}
	siw_cqe_release(ex_slot(cq, last));
	return 0;
}

static void ex_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct siw_cq *cq = ex_to_scq(cq_ex);

	siw_cqe_release(ex_slot(cq, cq->next++));
	spinlock_unlock(&cq->lock);
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return ex_to_scq(cq_ex)->current.opcode;
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return ex_to_scq(cq_ex)->current.byte_len;
}

static uint32_t ex_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return ex_to_scq(cq_ex)->current.qp_num;
}

static uint32_t ex_read_none(struct ibv_cq_ex *cq_ex)
{
	return 0;
}

static uint8_t ex_read_none_8(struct ibv_cq_ex *cq_ex)
{
	return 0;
}

static const struct ibv_cq_ex ex_slots = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = ex_end_poll,
	.read_opcode = ex_read_opcode,
	.read_vendor_err = ex_read_none,
	.read_wc_flags = ex_read_none,
	.read_byte_len = ex_read_byte_len,
	.read_imm_data = ex_read_none,
	.read_qp_num = ex_read_qp_num,
	.read_src_qp = ex_read_none,
	.read_slid = ex_read_none,
	.read_sl = ex_read_none_8,
	.read_dlid_path_bits = ex_read_none_8,
};

void siw_cq_ex_set_slots(struct siw_cq *cq, uint64_t wc_flags)
{
	kit_cq_ex_set_slots(&cq->vcq.cq_ex, &ex_slots, wc_flags);
}
