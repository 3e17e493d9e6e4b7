/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rings of requests of irdma: their sizes, creation, and transitions of queue pairs. */
#include "tests/adapters/lab/device/irdma.h"
#include "tests/adapters/lab/device/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	SENDS_FREE = 258, /* quanta of a send ring that stay unused */
	CAP_WRITE_IMM = 1,
	CAP_SEND_IMM = 2,
	CAP_ROCE = 4,
	CAP_PUSH = 8,
};

/* Return the binary logarithm of the quanta of the largest request. */
static int shift_of(uint32_t sges, uint32_t inline_bytes)
{
	if (irdma_generation() == 1)
		return sges <= 1 && inline_bytes <= 16 ? 0 : sges < 4 && inline_bytes <= 48 ? 1 : 2;
	if (sges <= 1 && inline_bytes <= 8)
		return 0;
	if (sges < 4 && inline_bytes <= 39)
		return 1;
	return sges < 8 && inline_bytes <= 101 ? 2 : 3;
}

/* Return the quanta of a ring as the driver computes them. */
static uint32_t depth_of(uint32_t requests, int shift, uint32_t unused)
{
	uint32_t depth = bytes_power_of_two((requests << shift) + unused);

	return depth < (uint32_t)IRDMA_RING_MIN << shift ? (uint32_t)IRDMA_RING_MIN << shift
							 : depth;
}

/* Return whether the driver computes the sizes of the rings from the sizes of the program. */
static bool computes_depths(void)
{
	return irdma_generation() > 2;
}

static bool is_too_much(const struct ib_uverbs_ex_create_qp *q)
{
	uint32_t frags = irdma_generations[irdma_generation()].frags;

	return q->max_send_sge > frags || q->max_recv_sge > frags ||
	       q->max_inline_data > irdma_generations[irdma_generation()].max_inline ||
	       q->max_send_wr > IRDMA_RING_MOST || q->max_recv_wr > IRDMA_RING_MOST;
}

static bool is_possible(const struct ib_uverbs_ex_create_qp *q)
{
	return q->qp_type == IBV_QPT_RC || (q->qp_type == IBV_QPT_UD && !irdma_is_iwarp());
}

static int rings_take(struct object *qp, const struct ib_uverbs_ex_create_qp *q,
		      const struct irdma_create_qp_req *d, struct irdma_create_qp_resp *response)
{
	int sends = shift_of(q->max_send_sge + (irdma_generation() > 1), q->max_inline_data);
	int receives = irdma_generation() == 1 ? 2 : shift_of(q->max_recv_sge, 0);
	struct irdma_region *region = irdma_region_take(d->user_wqe_bufs, IRDMA_MEMREG_TYPE_QP);
	uint8_t *base = bytes_pointer(d->user_wqe_bufs);
	uint32_t sq = q->max_send_wr << sends, rq = q->max_recv_wr;

	if (!region)
		return ENODATA;
	if (computes_depths()) {
		sq = depth_of(q->max_send_wr, sends, SENDS_FREE);
		rq = depth_of(q->max_recv_wr, receives, 1) >> receives;
	}
	if (sq & (sq - 1) || rq & (rq - 1) || (uint64_t)sq * IRDMA_QUANTUM > region->length ||
	    (uint64_t)region->request.sq_pages * IRDMA_PAGE < (uint64_t)sq * IRDMA_QUANTUM ||
	    (uint64_t)region->request.rq_pages * IRDMA_PAGE <
		    (uint64_t)(rq << receives) * IRDMA_QUANTUM)
		return EINVAL;
	qp->sq = (struct queue){ .base = base, .entries = sq, .stride = IRDMA_QUANTUM };
	qp->rq = (struct queue){
		.base = base + (size_t)region->request.sq_pages * IRDMA_PAGE,
		.entries = q->is_srq ? 0 : rq,
		.stride = IRDMA_QUANTUM << receives,
	};
	response->actual_sq_size = sq >> sends;
	response->actual_rq_size = rq;
	return 0;
}

int irdma_answer_qp(struct object *qp, struct ib_uverbs_ex_create_qp *q, struct command *command)
{
	struct irdma_played_qp *played = calloc(1, sizeof(*played));
	struct irdma_create_qp_resp response = {
		.lsmm = irdma_is_iwarp(),
		.qp_caps = irdma_is_iwarp()	       ? CAP_WRITE_IMM
			   : qp->qp_type == IBV_QPT_RC ? CAP_WRITE_IMM | CAP_SEND_IMM | CAP_ROCE
						       : CAP_SEND_IMM | CAP_ROCE,
	};
	struct irdma_create_qp_req d;
	int r;

	if (!played)
		return ENOMEM;
	qp->device = played;
	command_request(command, &d, sizeof(d));
	if (!is_possible(q) || q->create_flags || (q->is_srq && !irdma_has(IRDMA_FEATURE_SRQ)))
		return EOPNOTSUPP;
	if (is_too_much(q) || command->driver.in_len < sizeof(d) || command->driver.out_len < 20)
		return EINVAL;
	r = rings_take(qp, q, &d, &response);
	if (r)
		return r;
	played->cookie = d.user_compl_ctx;
	played->behind = qp->sq.consumed = !irdma_is_iwarp()		     ? 0
					   : irdma_has(IRDMA_FEATURE_RTS_AE) ? 3
									     : 1;
	r = model_create_qp(qp, q, qp->sq.entries, qp->rq.entries);
	if (r)
		return r;
	trace_watch_object(qp, "sq", qp->sq.base, (size_t)qp->sq.entries * IRDMA_QUANTUM);
	trace_watch_object(qp, "rq", qp->rq.base, (size_t)qp->rq.entries * qp->rq.stride);
	response.qp_id = qp->number;
	if (irdma_generation() == 2)
		response.qp_caps |= CAP_PUSH;
	command_reply(command, &response, sizeof(response));
	return 0;
}

/* A queue pair that was reset has failed, and never works again. */
int irdma_transition(struct object *qp, struct ib_uverbs_modify_qp *q, struct command *command)
{
	struct irdma_modify_qp_req d;

	command_request(command, &d, sizeof(d));
	if (d.sq_flush || d.rq_flush)
		trace_line("    driver   sq_flush=%u rq_flush=%u", d.sq_flush, d.rq_flush);
	if (!(q->attr_mask & IBV_QP_STATE))
		return 0;
	if (q->qp_state == IBV_QPS_INIT && qp->was_init && qp->state != IBV_QPS_INIT)
		return EINVAL;
	if (qp->state == IBV_QPS_ERR && q->qp_state == IBV_QPS_ERR)
		irdma_flush_again(qp, d.sq_flush, d.rq_flush);
	if (q->qp_state == IBV_QPS_RESET && qp->was_init)
		q->qp_state = IBV_QPS_ERR;
	return 0;
}

int irdma_answer_srq(struct object *srq, struct ib_uverbs_create_xsrq *q, struct command *command)
{
	struct irdma_create_srq_resp response = { .srq_id = srq->number };
	int shift = shift_of(q->max_sge, 0), r;
	struct irdma_create_srq_req d;
	struct irdma_region *region;

	if (!irdma_has(IRDMA_FEATURE_SRQ))
		return EOPNOTSUPP;
	srq->device = calloc(1, sizeof(struct irdma_played_srq));
	if (!srq->device)
		return ENOMEM;
	command_request(command, &d, sizeof(d));
	region = irdma_region_take(d.user_srq_buf, IRDMA_MEMREG_TYPE_SRQ);
	if (!region)
		return EPROTO;
	response.srq_size = depth_of(q->max_wr, shift, 1) >> shift;
	srq->rq = (struct queue){
		.base = bytes_pointer(d.user_srq_buf),
		.entries = response.srq_size,
		.stride = IRDMA_QUANTUM << shift,
		.record = bytes_pointer(d.user_shadow_area),
	};
	if ((uint64_t)srq->rq.entries * srq->rq.stride >
	    (uint64_t)region->request.rq_pages * IRDMA_PAGE)
		return EINVAL;
	r = model_create_srq(srq, srq->rq.entries, q->max_sge);
	if (r)
		return r;
	trace_watch_object(srq, "buffer", srq->rq.base, (size_t)srq->rq.entries * srq->rq.stride);
	trace_watch_object(srq, "shadow", bytes_pointer(d.user_shadow_area), IRDMA_SHADOW);
	command_reply(command, &response, sizeof(response));
	return 0;
}
