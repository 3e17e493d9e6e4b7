/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues apart from polling: memory, resizing, and removal of the completions of a queue
 * pair.
 */
#include <string.h>

#include "providers/kit/cq_ex.h"
#include "providers/mlx/mlx.h"

int mlx_cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags,
		 uint32_t count_max)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;
	int r = kit_cq_ex_check(ctx, in, wc_flags);

	if (r < 0)
		return r;
	if (!attr->cqe || attr->cqe >= count_max) {
		verbs_err(ctx, "ibv_create_cq: %u entries are not possible (1 to %u are)",
			  attr->cqe, count_max - 1);
		return -EINVAL;
	}
	return 0;
}

uint32_t mlx_cq_count_max(int max_cqe, uint32_t most)
{
	return max_cqe > 0 ? min_of((uint32_t)max_cqe + 1, most) : most;
}

/* Return the address of the last byte of the entry. */
static uint8_t *last_of(const struct mlx_cq *cq, void *cqe)
{
	return (uint8_t *)cqe + cq->format->size - 1;
}

static char *first_of(const struct mlx_cq *cq, const struct kit_buf *buf)
{
	return (char *)buf->base + cq->stride - cq->format->size;
}

/* Allocate a ring. Mark its entries as unwritten, unless the adapter or the kernel does. */
static int ring_alloc(const struct mlx_cq *cq, uint32_t count, struct kit_buf *ret_buf)
{
	const struct mlx_cqe_format *format = cq->format;
	int r = kit_buf_alloc_in(ret_buf, (size_t)cq->stride * count, cq->records->allocator,
				 cq->vcq.parent, cq->memory);

	if (r < 0 || format->unwritten > UINT8_MAX)
		return r;
	for (uint32_t i = 0; i < count; i++)
		*last_of(cq, first_of(cq, ret_buf) + (size_t)i * cq->stride) = format->unwritten;
	return 0;
}

static void ring_set(struct mlx_cq *cq, const struct kit_buf *buf, uint32_t count)
{
	cq->buf = *buf;
	cq->mask = count - 1;
	cq->count = count;
	cq->first = first_of(cq, buf);
}

int mlx_cq_make(struct mlx_cq *cq, struct dbrec_pool *records, const struct mlx_cqe_format *format,
		uint32_t stride, uint32_t cqe, struct kit_memory memory)
{
	uint32_t count = round_up_pow2(cqe + 1);
	struct kit_buf buf = {};
	int r;

	cq->records = records;
	cq->memory = memory;
	cq->format = format;
	cq->stride = stride;
	cq->last_number = MLX_NO_NUMBER;
	r = dbrec_alloc(records, cq->vcq.parent, &cq->record);
	if (!r)
		r = ring_alloc(cq, count, &buf);
	if (!r)
		ring_set(cq, &buf, count);
	return r;
}

void mlx_cq_free(struct mlx_cq *cq)
{
	kit_buf_free(&cq->buf);
	dbrec_free(cq->records, cq->record, cq->vcq.parent);
}

int mlx_cq_ask(struct mlx_cq *cq, const struct verbs_create_cq *in, struct verbs_udata *udata,
	       const __u32 *cqn)
{
	struct ibv_cq_init_attr_ex attr = *in->attr;
	struct verbs_create_cq request = *in;
	int r;

	attr.cqe = cq->mask;
	request.attr = &attr;
	request.udata = udata;
	r = uverbs_create_cq(&cq->vcq, &request);
	if (r < 0)
		return r;
	cq->vcq.cq.cqe = cq->mask;
	cq->cqn = *cqn & 0xffffff;
	return 0;
}

int mlx_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		mlx_cq_free(to_mcq(&vcq->cq));
	return r;
}

/* ---- resizing */

/* Copy the entries that are still in the old ring, up to the entry that marks its end. */
static int entries_move(struct mlx_cq *cq, char *to, uint32_t count)
{
	const struct mlx_cqe_format *format = cq->format;
	uint32_t n = cq->consumer;

	for (uint32_t left = cq->mask + 1; left; left--, n++) {
		void *cqe = mlx_cqe_at(cq, n), *new;
		int last = mlx_cqe_valid(cq, format, cqe, n);

		if (last == MLX_CQE_NONE)
			break;
		if ((last & format->opcode_mask) == format->resize)
			return 0;
		/* The adapter counts the end entry, too. Therefore each entry moves by one. */
		new = to + (size_t)((n + 1) & (count - 1)) * cq->stride;
		memcpy(new, cqe, format->size);
		*last_of(cq, new) = (last & ~format->owner) | ((n + 1) & count ? format->owner : 0);
	}
	verbs_err(cq->vcq.cq.context, "cq 0x%x: ibv_resize_cq: the old ring has no end", cq->cqn);
	return -EIO;
}

/* Count the entries that the program has not polled. */
static uint32_t entries_waiting(const struct mlx_cq *cq)
{
	uint32_t n = 0;

	while (n <= cq->mask && mlx_cqe_valid(cq, cq->format, mlx_cqe_at(cq, cq->consumer + n),
					      cq->consumer + n) != MLX_CQE_NONE)
		n++;
	return n;
}

static int resize_locked(struct mlx_cq *cq, const struct verbs_resize_cq *in,
			 struct verbs_udata *udata, __u64 *buf_addr)
{
	uint32_t count = round_up_pow2((uint32_t)in->cqe + 1), waiting = entries_waiting(cq);
	struct verbs_resize_cq request = { .cqe = count - 1, .udata = udata };
	struct kit_buf buf, old = cq->buf;
	int r;

	if (count == cq->mask + 1)
		return 0;
	if (count < waiting + 1) {
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: ibv_resize_cq: %d entries, %u completions are waiting", cq->cqn,
			  in->cqe, waiting);
		return -EINVAL;
	}
	r = ring_alloc(cq, count, &buf);
	if (r < 0)
		return r;
	*buf_addr = (uintptr_t)buf.base;
	r = uverbs_resize_cq(&cq->vcq, &request);
	if (r < 0) {
		kit_buf_free(&buf);
		return r;
	}
	entries_move(cq, first_of(cq, &buf), count);
	cq->consumer++;
	ring_set(cq, &buf, count);
	kit_buf_free(&old);
	cq->vcq.cq.cqe = count - 1;
	mlx_cq_publish(cq);
	return 0;
}

int mlx_cq_resize(struct mlx_cq *cq, const struct verbs_resize_cq *in, uint32_t count_max,
		  struct verbs_udata *udata, __u64 *buf_addr)
{
	int r;

	if (in->cqe < 0 || (uint32_t)in->cqe >= count_max) {
		verbs_err(cq->vcq.cq.context, "cq 0x%x: ibv_resize_cq: %d entries are not possible",
			  cq->cqn, in->cqe);
		return -EINVAL;
	}
	spinlock_lock(&cq->lock);
	r = resize_locked(cq, in, udata, buf_addr);
	spinlock_unlock(&cq->lock);
	return r;
}

/* ---- removing the completions of a queue pair that is destroyed or reset */

static void clean_locked(struct mlx_cq *cq, void *qp, mlx_cqe_take *take)
{
	const struct mlx_cqe_format *format = cq->format;
	uint32_t end = cq->consumer, freed = 0;

	if (cq->last == qp)
		cq->last_number = MLX_NO_NUMBER;
	if (cq->by_program)
		return;
	end += entries_waiting(cq);
	/* From the last entry back: entries that stay move towards the end. */
	while (end-- != cq->consumer) {
		void *cqe = mlx_cqe_at(cq, end);

		if (take(qp, cqe)) {
			freed++;
		} else if (freed) {
			void *to = mlx_cqe_at(cq, end + freed);
			uint8_t owner = *last_of(cq, to) & format->owner;

			memcpy(to, cqe, format->size);
			*last_of(cq, to) = (*last_of(cq, cqe) & ~format->owner) | owner;
		}
	}
	if (freed) {
		cq->consumer += freed;
		barrier_to_device();
		mlx_cq_publish(cq);
	}
}

void mlx_cqs_clean_locked(struct mlx_cq *send_cq, struct mlx_cq *recv_cq, void *qp,
			  mlx_cqe_take *take)
{
	if (recv_cq)
		clean_locked(recv_cq, qp, take);
	if (send_cq && send_cq != recv_cq)
		clean_locked(send_cq, qp, take);
}

void mlx_cqs_lock(struct mlx_cq *a, struct mlx_cq *b)
{
	spinlock_lock_both(a ? &a->lock : NULL, b ? &b->lock : NULL);
}

void mlx_cqs_unlock(struct mlx_cq *a, struct mlx_cq *b)
{
	spinlock_unlock_both(a ? &a->lock : NULL, b ? &b->lock : NULL);
}

/* ---- status of failed requests */

enum {
	SYNDROME_LOCAL_LENGTH = 0x01,
	SYNDROME_LOCAL_QP_OP = 0x02,
	SYNDROME_LOCAL_PROTECTION = 0x04,
	SYNDROME_FLUSH = 0x05,
	SYNDROME_MW_BIND = 0x06,
	SYNDROME_BAD_RESPONSE = 0x10,
	SYNDROME_LOCAL_ACCESS = 0x11,
	SYNDROME_REMOTE_INVALID = 0x12,
	SYNDROME_REMOTE_ACCESS = 0x13,
	SYNDROME_REMOTE_OP = 0x14,
	SYNDROME_RETRIES = 0x15,
	SYNDROME_RNR_RETRIES = 0x16,
	SYNDROME_REMOTE_ABORTED = 0x22,
};

const uint8_t mlx_statuses[MLX_SYNDROMES] = {
	[SYNDROME_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
	[SYNDROME_LOCAL_QP_OP] = IBV_WC_LOC_QP_OP_ERR,
	[SYNDROME_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
	[SYNDROME_FLUSH] = IBV_WC_WR_FLUSH_ERR,
	[SYNDROME_MW_BIND] = IBV_WC_MW_BIND_ERR,
	[SYNDROME_BAD_RESPONSE] = IBV_WC_BAD_RESP_ERR,
	[SYNDROME_LOCAL_ACCESS] = IBV_WC_LOC_ACCESS_ERR,
	[SYNDROME_REMOTE_INVALID] = IBV_WC_REM_INV_REQ_ERR,
	[SYNDROME_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
	[SYNDROME_REMOTE_OP] = IBV_WC_REM_OP_ERR,
	[SYNDROME_RETRIES] = IBV_WC_RETRY_EXC_ERR,
	[SYNDROME_RNR_RETRIES] = IBV_WC_RNR_RETRY_EXC_ERR,
	[SYNDROME_REMOTE_ABORTED] = IBV_WC_REM_ABORT_ERR,
};

void *mlx_cq_find(struct mlx_cq *cq, struct idtable *table, uint32_t number)
{
	void *qp = idtable_find_own(table, number, cq);

	if (!qp)
		return NULL;
	cq->last = qp;
	cq->last_number = number;
	return qp;
}
