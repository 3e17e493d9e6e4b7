/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: a ring that the adapter fills; an entry is the program's or the adapter's by a
 * bit in it. */
#include <string.h>

#include "providers/kit/mmio.h"
#include "providers/mlx4/cqe.h"

enum {
	CQE_COUNT_MAX = 1 << 22,
	CONSUMER_MASK = 0xffffff,
	ARM_SN_MASK = 3,
	ARM_SN_SHIFT = 28, /* where the doorbell has the number of events */
};

/* Of a completion: its time stamp lies where these are. */
#define WC_FLAGS_NO_STAMP (IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL)

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;
	uint64_t unknown = attr->wc_flags & ~mlx4_cq_ex_wc_flags;

	if (in->extended && unknown) {
		verbs_err(ctx,
			  "ibv_create_cq_ex: wc_flags 0x%llx are not supported (supported: 0x%llx)",
			  (unsigned long long)unknown, (unsigned long long)mlx4_cq_ex_wc_flags);
		return -EOPNOTSUPP;
	}
	if (in->extended && attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP &&
	    attr->wc_flags & WC_FLAGS_NO_STAMP) {
		verbs_err(ctx, "ibv_create_cq_ex: a completion of mlx4 has a time stamp, or SLID "
			       "and SL");
		return -EOPNOTSUPP;
	}
	if (!attr->cqe || attr->cqe >= CQE_COUNT_MAX) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %d are)",
			  attr->cqe, CQE_COUNT_MAX - 1);
		return -EINVAL;
	}
	return 0;
}

/* Which entries are whose says the kernel, or the adapter, when the queue is made. */
static int ring_alloc(struct mlx4_context *ctx, struct kit_buf *buf, uint32_t count)
{
	return kit_buf_alloc_from(buf, (size_t)ctx->cqe_size * count, &ctx->allocator);
}

static void ring_set(struct mlx4_cq *cq, const struct kit_buf *buf, uint32_t count)
{
	cq->buf = *buf;
	cq->mask = count - 1;
	cq->first = (char *)buf->base + cq->stride - sizeof(struct mlx4_cqe);
}

static int cq_create(struct mlx4_cq *cq, const struct verbs_create_cq *in, uint32_t count)
{
	struct mlx4_ib_create_cq_resp resp = {};
	struct mlx4_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.db_addr = (uintptr_t)cq->record,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = &resp,
		.out_len = sizeof(resp),
	};
	struct ibv_cq_init_attr_ex attr = *in->attr;
	struct verbs_create_cq request = *in;
	int r;

	attr.cqe = count - 1;
	request.attr = &attr;
	request.udata = &udata;
	r = uverbs_create_cq(&cq->vcq, &request);
	if (r < 0)
		return r;
	cq->vcq.cq.cqe = count - 1;
	cq->cqn = resp.cqn & 0xffffff;
	return 0;
}

int mlx4_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mlx4_context *ctx = to_mctx(vcq->cq.context);
	struct mlx4_cq *cq = to_mcq(&vcq->cq);
	struct kit_buf buf = {};
	uint32_t count;
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	count = round_up_pow2(in->attr->cqe + 1);
	cq->stride = ctx->cqe_size;
	cq->arm_sn = 1;
	cq->record = dbrec_alloc(&ctx->records);
	r = cq->record ? ring_alloc(ctx, &buf, count) : -ENOMEM;
	if (!r) {
		ring_set(cq, &buf, count);
		r = cq_create(cq, in, count);
	}
	if (r < 0) {
		kit_buf_free(&buf);
		dbrec_free(&ctx->records, cq->record);
		return r;
	}
	if (in->extended)
		mlx4_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int mlx4_destroy_cq(struct verbs_cq *vcq)
{
	struct mlx4_cq *cq = to_mcq(&vcq->cq);
	int r = uverbs_destroy_cq(vcq);

	if (r < 0)
		return r;
	kit_buf_free(&cq->buf);
	dbrec_free(&to_mctx(vcq->cq.context)->records, cq->record);
	return 0;
}

/* ---- another ring */

/* What is still in the old ring, up to the entry that says where it ends. */
static int entries_move(struct mlx4_cq *cq, char *to, uint32_t count)
{
	uint32_t n = cq->consumer;

	for (uint32_t left = cq->mask + 1; left; left--, n++) {
		struct mlx4_cqe *cqe = mlx4_cqe_at(cq, n);
		struct mlx4_cqe *new;
		int last = mlx4_cqe_valid(cq, cqe, n);

		if (last == MLX4_CQE_NONE)
			break;
		if ((last & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_RESIZE)
			return 0;
		/* The adapter has counted that entry, too: each moves on by one. */
		new = (void *)(to + (size_t)((n + 1) & (count - 1)) * cq->stride);
		*new = *cqe;
		new->owner_sr_opcode =
			(last & ~MLX4_CQE_OWNER_MASK) | ((n + 1) & count ? MLX4_CQE_OWNER_MASK : 0);
	}
	verbs_err(cq->vcq.cq.context, "cq 0x%x: ibv_resize_cq: the old ring has no end", cq->cqn);
	return -EIO;
}

/* Entries that the program has not polled. */
static uint32_t entries_waiting(const struct mlx4_cq *cq)
{
	uint32_t n = 0;

	while (n <= cq->mask && mlx4_cqe_valid(cq, mlx4_cqe_at(cq, cq->consumer + n),
					       cq->consumer + n) != MLX4_CQE_NONE)
		n++;
	return n;
}

static int cq_resize_locked(struct mlx4_cq *cq, const struct verbs_resize_cq *in, uint32_t count)
{
	struct mlx4_ib_resize_cq cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_resize_cq request = { .cqe = count - 1, .udata = &udata };
	struct kit_buf buf, old = cq->buf;
	uint32_t waiting = entries_waiting(cq);
	int r;

	if (count < waiting + 1) {
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: ibv_resize_cq: %d entries, %u completions are waiting", cq->cqn,
			  in->cqe, waiting);
		return -EINVAL;
	}
	r = ring_alloc(to_mctx(cq->vcq.cq.context), &buf, count);
	if (r < 0)
		return r;
	cmd.buf_addr = (uintptr_t)buf.base;
	r = uverbs_resize_cq(&cq->vcq, &request);
	if (r < 0) {
		kit_buf_free(&buf);
		return r;
	}
	entries_move(cq, (char *)buf.base + cq->stride - sizeof(struct mlx4_cqe), count);
	cq->consumer++;
	ring_set(cq, &buf, count);
	kit_buf_free(&old);
	cq->vcq.cq.cqe = count - 1;
	mlx4_cq_publish(cq);
	return 0;
}

int mlx4_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct mlx4_cq *cq = to_mcq(&vcq->cq);
	uint32_t count;
	int r = 0;

	if (in->cqe < 0 || in->cqe >= CQE_COUNT_MAX) {
		verbs_err(vcq->cq.context, "cq 0x%x: ibv_resize_cq: %d entries are not possible",
			  cq->cqn, in->cqe);
		return -EINVAL;
	}
	count = round_up_pow2((uint32_t)in->cqe + 1);
	spinlock_lock(&cq->lock);
	if (count != cq->mask + 1)
		r = cq_resize_locked(cq, in, count);
	spinlock_unlock(&cq->lock);
	return r;
}

/* ---- events */

void mlx4_cq_event(struct verbs_cq *vcq)
{
	to_mcq(&vcq->cq)->arm_sn++;
}

int mlx4_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mlx4_cq *cq = to_mcq(ibcq);
	uint32_t index = cq->consumer & CONSUMER_MASK;
	uint32_t word = (cq->arm_sn & ARM_SN_MASK) << ARM_SN_SHIFT |
			(solicited_only ? MLX4_CQ_DB_REQ_NOT_SOL : MLX4_CQ_DB_REQ_NOT);

	cq->record[1] = htobe32(word | index);
	/* The adapter reads the record when the register tells it to. */
	barrier_to_device();
	mmio_write_64(to_mctx(ibcq->context)->uar + MLX4_CQ_DOORBELL,
		      htobe64((uint64_t)(word | cq->cqn) << 32 | index));
	return 0;
}

/* ---- a queue pair goes, or starts anew */

static void cq_clean_locked(struct mlx4_cq *cq, struct mlx4_qp *qp)
{
	uint32_t end = cq->consumer, freed = 0;

	if (cq->last == qp)
		cq->last = NULL;
	if (cq->by_program)
		return;
	end += entries_waiting(cq);
	/* From the last one back: what stays moves towards the end. */
	while (end-- != cq->consumer) {
		struct mlx4_cqe *cqe = mlx4_cqe_at(cq, end);

		if ((be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK) == qp->vqp.qp.qp_num) {
			if (qp->srq && !(cqe->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK))
				mlx_srq_done(qp->srq, be16toh(cqe->wqe_index));
			freed++;
		} else if (freed) {
			struct mlx4_cqe *to = mlx4_cqe_at(cq, end + freed);
			uint8_t owner = to->owner_sr_opcode & MLX4_CQE_OWNER_MASK;

			memcpy(to, cqe, sizeof(*to));
			to->owner_sr_opcode = (cqe->owner_sr_opcode & ~MLX4_CQE_OWNER_MASK) | owner;
		}
	}
	if (freed) {
		cq->consumer += freed;
		barrier_to_device();
		mlx4_cq_publish(cq);
	}
}

void mlx4_cqs_clean(struct mlx4_qp *qp, bool take)
{
	struct mlx4_cq *a = qp->send_cq, *b = qp->recv_cq;
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);

	/* In the order of their numbers. */
	if (a && b && a != b && b->cqn < a->cqn) {
		a = qp->recv_cq;
		b = qp->send_cq;
	}
	if (a)
		spinlock_lock(&a->lock);
	if (b && b != a)
		spinlock_lock(&b->lock);
	if (take)
		idtable_take(&ctx->qps, qp->vqp.qp.qp_num, qp);
	if (qp->recv_cq)
		cq_clean_locked(qp->recv_cq, qp);
	if (qp->send_cq && qp->send_cq != qp->recv_cq)
		cq_clean_locked(qp->send_cq, qp);
	if (b && b != a)
		spinlock_unlock(&b->lock);
	if (a)
		spinlock_unlock(&a->lock);
}
