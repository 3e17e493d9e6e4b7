/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: a ring that the adapter fills; an entry is the program's or the adapter's by a
 * bit in it. */
#include <string.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/cqe.h"
#include <rdma/mlx5_user_ioctl_cmds.h>

enum {
	CQE_COUNT_MAX = 1 << 24,
	CONSUMER_MASK = 0xffffff,
	ARM_SN_ONE = 1 << 28, /* where the doorbell has the number of events */
	ARM_SN_MASK = 3 << 28,
	PAGE_ID_MAX = 0xffff, /* that the request itself has room for */
};

static int cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;
	uint64_t unknown = attr->wc_flags & ~mlx5_cq_ex_wc_flags;

	if (in->extended && unknown) {
		verbs_err(ctx,
			  "ibv_create_cq_ex: wc_flags 0x%llx are not supported (supported: 0x%llx)",
			  (unsigned long long)unknown, (unsigned long long)mlx5_cq_ex_wc_flags);
		return -EOPNOTSUPP;
	}
	if (!attr->cqe || attr->cqe >= CQE_COUNT_MAX) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %d are)",
			  attr->cqe, CQE_COUNT_MAX - 1);
		return -EINVAL;
	}
	return 0;
}

/* Entries that nobody wrote yet. */
static void entries_init(char *first, uint32_t stride, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		((struct mlx5_cqe64 *)(first + (size_t)i * stride))->op_own = MLX5_CQE_INVALID << 4;
}

static int ring_alloc(struct kit_buf *buf, uint32_t stride, uint32_t count)
{
	int r = kit_buf_alloc(buf, (size_t)stride * count);

	if (!r)
		entries_init((char *)buf->base + stride - sizeof(struct mlx5_cqe64), stride, count);
	return r;
}

static void ring_set(struct mlx5_cq *cq, const struct kit_buf *buf, uint32_t count)
{
	cq->buf = *buf;
	cq->mask = count - 1;
	cq->first = (char *)buf->base + cq->stride - sizeof(struct mlx5_cqe64);
}

static int cq_create(struct mlx5_cq *cq, const struct verbs_create_cq *in, uint32_t count)
{
	struct mlx5_context *ctx = to_mctx(cq->vcq.cq.context);
	int64_t page_id = ctx->cq_uar_page_id;
	struct uverbs_attr page = uverbs_u32(MLX5_IB_ATTR_CREATE_CQ_UAR_INDEX, page_id);
	bool large = page_id > PAGE_ID_MAX;
	struct mlx5_ib_create_cq_resp resp = {};
	struct mlx5_ib_create_cq cmd = {
		.buf_addr = (uintptr_t)cq->buf.base,
		.db_addr = (uintptr_t)cq->record,
		.cqe_size = cq->stride,
		.flags = page_id >= 0 && !large ? MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX : 0,
		.uar_page_index = page_id >= 0 && !large ? page_id : 0,
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = &resp,
		.out_len = sizeof(resp),
		.attrs = &page,
		.attr_count = large,
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

int mlx5_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct mlx5_context *ctx = to_mctx(vcq->cq.context);
	struct mlx5_cq *cq = to_mcq(&vcq->cq);
	struct kit_buf buf = {};
	uint32_t count;
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	count = round_up_pow2(in->attr->cqe + 1);
	cq->stride = MLX5_CQE_SIZE_DEFAULT;
	cq->uar = ctx->cq_uar;
	cq->record = dbrec_alloc(&ctx->records);
	r = cq->record ? ring_alloc(&buf, cq->stride, count) : -ENOMEM;
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
		mlx5_cq_ex_set_slots(cq, in->attr->wc_flags);
	return 0;
}

int mlx5_destroy_cq(struct verbs_cq *vcq)
{
	struct mlx5_cq *cq = to_mcq(&vcq->cq);
	int r = uverbs_destroy_cq(vcq);

	if (r < 0)
		return r;
	kit_buf_free(&cq->buf);
	dbrec_free(&to_mctx(vcq->cq.context)->records, cq->record);
	return 0;
}

/* ---- another ring */

/* What is still in the old ring, up to the entry that says where it ends. */
static int entries_move(struct mlx5_cq *cq, char *to, uint32_t count)
{
	uint32_t n = cq->consumer;

	for (uint32_t left = cq->mask + 1; left; left--, n++) {
		struct mlx5_cqe64 *cqe = mlx5_cqe_at(cq, n);
		struct mlx5_cqe64 *new;
		uint8_t op_own = mlx5_cqe_valid(cq, cqe, n);

		if (op_own == MLX5_CQE_NONE)
			break;
		if (op_own >> 4 == MLX5_CQE_RESIZE_CQ)
			return 0;
		/* The adapter has counted that entry, too: each moves on by one. */
		new = (void *)(to + (size_t)((n + 1) & (count - 1)) * cq->stride);
		*new = *cqe;
		new->op_own = (op_own & ~MLX5_CQE_OWNER_MASK) | !!((n + 1) & count);
	}
	verbs_err(cq->vcq.cq.context, "cq 0x%x: ibv_resize_cq: the old ring has no end", cq->cqn);
	return -EIO;
}

static int cq_resize_locked(struct mlx5_cq *cq, const struct verbs_resize_cq *in, uint32_t count)
{
	struct mlx5_ib_resize_cq cmd = { .cqe_size = cq->stride };
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	struct verbs_resize_cq request = { .cqe = count - 1, .udata = &udata };
	struct kit_buf buf, old = cq->buf;
	int r = ring_alloc(&buf, cq->stride, count);

	if (r < 0)
		return r;
	cmd.buf_addr = (uintptr_t)buf.base;
	r = uverbs_resize_cq(&cq->vcq, &request);
	if (r < 0) {
		kit_buf_free(&buf);
		return r;
	}
	entries_move(cq, (char *)buf.base + cq->stride - sizeof(struct mlx5_cqe64), count);
	cq->consumer++;
	ring_set(cq, &buf, count);
	kit_buf_free(&old);
	cq->vcq.cq.cqe = count - 1;
	mlx5_cq_publish(cq);
	return 0;
}

int mlx5_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct mlx5_cq *cq = to_mcq(&vcq->cq);
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

void mlx5_cq_event(struct verbs_cq *vcq)
{
	to_mcq(&vcq->cq)->arm_sn += ARM_SN_ONE;
}

int mlx5_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct mlx5_cq *cq = to_mcq(ibcq);
	uint32_t word = (cq->arm_sn & ARM_SN_MASK) | (solicited_only ? MLX5_CQ_DB_REQ_NOT_SOL : 0) |
			(cq->consumer & CONSUMER_MASK);

	cq->record[1] = htobe32(word);
	/* The adapter reads the record when the register tells it to. */
	barrier_wc_start();
	mmio_write_64(cq->uar + MLX5_CQ_DOORBELL, htobe64((uint64_t)word << 32 | cq->cqn));
	barrier_wc_flush();
	return 0;
}

/* ---- a queue pair goes, or starts anew */

void mlx5_cq_clean_locked(struct mlx5_cq *cq, struct mlx5_qp *qp)
{
	uint32_t end = cq->consumer, freed = 0;

	if (cq->last == qp)
		cq->last = NULL;
	if (cq->by_program)
		return;
	while (end != cq->consumer + cq->mask + 1 &&
	       mlx5_cqe_valid(cq, mlx5_cqe_at(cq, end), end) != MLX5_CQE_NONE)
		end++;
	/* From the last one back: what stays moves towards the end. */
	while (end-- != cq->consumer) {
		struct mlx5_cqe64 *cqe = mlx5_cqe_at(cq, end);
		unsigned int opcode = cqe->op_own >> 4;

		if ((be32toh(cqe->srqn_uidx) & 0xffffff) == qp->uidx) {
			if (qp->srq && mlx5_cqe_is_responder(opcode))
				mlx_srq_done(qp->srq, be16toh(cqe->wqe_counter));
			freed++;
		} else if (freed) {
			struct mlx5_cqe64 *to = mlx5_cqe_at(cq, end + freed);
			uint8_t owner = to->op_own & MLX5_CQE_OWNER_MASK;

			memcpy(to, cqe, sizeof(*to));
			to->op_own = (cqe->op_own & ~MLX5_CQE_OWNER_MASK) | owner;
		}
	}
	if (freed) {
		cq->consumer += freed;
		barrier_to_device();
		mlx5_cq_publish(cq);
	}
}

void mlx5_cqs_lock(struct mlx5_qp *qp)
{
	struct mlx5_cq *a = qp->send_cq, *b = qp->recv_cq;

	if (a && b && a != b && b->cqn < a->cqn) {
		a = qp->recv_cq;
		b = qp->send_cq;
	}
	if (a)
		spinlock_lock(&a->lock);
	if (b && b != a)
		spinlock_lock(&b->lock);
}

void mlx5_cqs_unlock(struct mlx5_qp *qp)
{
	if (qp->send_cq)
		spinlock_unlock(&qp->send_cq->lock);
	if (qp->recv_cq && qp->recv_cq != qp->send_cq)
		spinlock_unlock(&qp->recv_cq->lock);
}
