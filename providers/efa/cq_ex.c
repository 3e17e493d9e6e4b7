/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll. An entry is copied
 * when it is taken, so that all fields belong to one completion even if the device writes to the
 * entry.
 */
#include "providers/kit/cq_ex.h"
#include "providers/efa/cqe.h"

static inline struct efa_cq *ex_to_ecq(struct ibv_cq_ex *cq_ex)
{
	return (struct efa_cq *)cq_ex;
}

static inline const struct efa_cqe *ex_cqe(struct ibv_cq_ex *cq_ex)
{
	return &ex_to_ecq(cq_ex)->cqe;
}

/* Take the next entry. ENOENT: no entry; EINVAL: the entry is invalid; EAGAIN: its queue pair is
 * gone. */
FLAT int ex_take_one(struct efa_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;
	struct efa_sub_cq *sub;
	enum efa_taken taken;
	uint32_t low;

	sub = sub_find(cq->next, &low);
	if (!sub)
		return ENOENT;
	sub_take(cq, sub, low, &cq->cqe);
	cq->consumed++;
	cq->next = sub->next;
	taken = cqe_done(cq, &cq->cqe, &ex->wr_id);
	if (likely(taken == EFA_TAKEN)) {
		ex->status = cqe_status(&cq->cqe);
		return 0;
	}
	if (taken == EFA_TAKEN_GONE)
		return EAGAIN;
	efa_cqe_say_corrupt(cq, cq->cqe.low, cq->cqe.high);
	return EINVAL;
}

/* Skip entries of queue pairs that are gone. Skip at most as many as the queue holds, because a
 * faulty device may write such entries without end. */
__attribute__((noinline, cold)) static int ex_take_behind(struct efa_cq *cq)
{
	for (uint32_t i = cq->vcq.cq.cqe * cq->sub_count; i; i--) {
		int r = ex_take_one(cq);

		if (r != EAGAIN)
			return r;
	}
	return ENOENT;
}

FLAT int ex_take(struct efa_cq *cq)
{
	int r = ex_take_one(cq);

	return likely(r != EAGAIN) ? r : ex_take_behind(cq);
}

static int ex_start_poll(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	struct efa_cq *cq = ex_to_ecq(cq_ex);
	uint32_t before;
	int r;

	if (unlikely(attr->comp_mask)) {
		errno = EINVAL;
		return EINVAL;
	}
	spinlock_lock(&cq->lock);
	before = cq->consumed;
	r = ex_take(cq);
	if (r) {
		if (cq->consumed != before)
			cq_ring(cq, 0);
		spinlock_unlock(&cq->lock);
		errno = r;
	}
	return r;
}

static int ex_next_poll(struct ibv_cq_ex *cq_ex)
{
	int r = ex_take(ex_to_ecq(cq_ex));

	if (r)
		errno = r;
	return r;
}

static void ex_end_poll(struct ibv_cq_ex *cq_ex)
{
	struct efa_cq *cq = ex_to_ecq(cq_ex);

	cq_ring(cq, 0);
	spinlock_unlock(&cq->lock);
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *cq_ex)
{
	return cqe_opcode(ex_cqe(cq_ex));
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return ex_cqe(cq_ex)->low >> CQE_STATUS_SHIFT & 0xff;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	return cqe_wc_flags(ex_cqe(cq_ex));
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	const struct efa_cqe *cqe = ex_cqe(cq_ex);

	return (cqe->low & CQE_QUEUE_MASK) == CQE_SEND ? 0 : cqe_length(ex_to_ecq(cq_ex), cqe);
}

static __be32 ex_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	return cqe_imm(ex_cqe(cq_ex));
}

static uint32_t ex_read_qp_num(struct ibv_cq_ex *cq_ex)
{
	return ex_cqe(cq_ex)->high & 0xffff;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return cqe_src_qpn(ex_cqe(cq_ex));
}

static uint32_t ex_read_slid(struct ibv_cq_ex *cq_ex)
{
	return cqe_src_ah(ex_cqe(cq_ex));
}

/* The device has neither service levels nor path bits. */
static uint8_t ex_read_nothing(struct ibv_cq_ex *cq_ex)
{
	return 0;
}

static inline struct efa_cq *dv_to_ecq(struct efadv_cq *dv)
{
	return container_of(dv, struct efa_cq, dv);
}

/* Read the GID of the sender. The entry has it only if the program has no address handle for the
 * sender. */
static int dv_read_sgid(struct efadv_cq *dv, union ibv_gid *sgid)
{
	const struct efa_cqe *cqe = &dv_to_ecq(dv)->cqe;

	if (cqe_src_ah(cqe) != CQE_AH_UNKNOWN)
		return -ENOENT;
	memcpy(sgid->raw, cqe->at + CQE_MORE, sizeof(sgid->raw));
	return 0;
}

static bool dv_is_unsolicited(struct efadv_cq *dv)
{
	return dv_to_ecq(dv)->cqe.low & CQE_UNSOLICITED;
}

static void dv_set_slots(struct efa_cq *cq, uint64_t dv_flags)
{
	if (dv_flags & EFADV_WC_EX_WITH_SGID)
		cq->dv.wc_read_sgid = dv_read_sgid;
	if (dv_flags & EFADV_WC_EX_WITH_IS_UNSOLICITED)
		cq->dv.wc_is_unsolicited = dv_is_unsolicited;
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
	.read_sl = ex_read_nothing,
	.read_dlid_path_bits = ex_read_nothing,
};

void efa_cq_ex_set_slots(struct efa_cq *cq, uint64_t wc_flags, uint64_t dv_flags)
{
	kit_cq_ex_set_slots(&cq->vcq.cq_ex, &ex_slots, wc_flags);
	dv_set_slots(cq, dv_flags);
}
