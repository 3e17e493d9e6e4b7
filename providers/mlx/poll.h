/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Polling: see cq_ex.c for the extended form. */
#ifndef PROVIDERS_MLX_POLL_H
#define PROVIDERS_MLX_POLL_H

#include "providers/mlx/cq.h"

/* ---- polling: the part of ibv_poll_cq() that does not read entries */

enum {
	/* Result of a poll that met an invalid entry. */
	MLX_POLL_CORRUPT = -2,
};

/*
 * Functions of a family that read an entry. The struct is constant in each caller of
 * mlx_poll_found().
 * @read: fill @wc from the entry; return: whether the entry is valid
 * @swallow: return whether an entry that @read refused is valid but belongs to no request; NULL:
 * the family has no such entries
 * @say_corrupt: log an invalid entry
 */
struct mlx_poller {
	const struct mlx_cqe_format *format;
	bool (*read)(struct mlx_cq *cq, const void *cqe, unsigned int last, struct ibv_wc *wc);
	bool (*swallow)(struct mlx_cq *cq, const void *cqe, unsigned int last);
	void (*say_corrupt)(const struct mlx_cq *cq, const void *cqe);
};

/* The out-of-line instance of mlx_poll_found() of a provider. @cqe, @last: the next entry and its
 * last byte. The caller holds the lock, and the function releases it. */
typedef int mlx_poll_rest(struct mlx_cq *cq, int num_entries, struct ibv_wc *wc, const void *cqe,
			  int last);

MLX_FLAT int mlx_poll_found(struct mlx_cq *cq, const struct mlx_poller *poller, int num_entries,
			    struct ibv_wc *wc, const void *cqe, int last)
{
	const uint8_t owner = poller->format->owner;
	uint8_t round = last;
	int n = 0;

	do {
		/* The rest of the entry was written before its last byte. */
		barrier_from_device();
		cq->consumer++;
		if (unlikely(!poller->read(cq, cqe, last, wc))) {
			if (poller->swallow && poller->swallow(cq, cqe, last))
				goto next;
			/*
			 * Report the entries before this one as free. The next poll finds this one
			 * again.
			 */
			if (n) {
				cq->consumer--;
				break;
			}
			poller->say_corrupt(cq, cqe);
			n = MLX_POLL_CORRUPT;
			break;
		}
		verbs_data_wc(&cq->vcq.cq, wc);
		wc++;
		if (++n == num_entries)
			break;
next:
		/* The condition of the loop is that of mlx_cqe_valid(), for the entry behind a
		 * valid entry. */
		cqe = (const char *)cqe + cq->stride;
		if (unlikely(!(cq->consumer & cq->mask))) {
			cqe = cq->first;
			round ^= owner;
		}
		last = ((const volatile uint8_t *)cqe)[poller->format->size - 1];
	} while (last < poller->format->unwritten && !((last ^ round) & owner));
	/* Finish all reads before the adapter may write to the entries again. */
	atomic_thread_fence(memory_order_release);
	mlx_cq_publish(cq);
	spinlock_unlock(&cq->lock);
	return n;
}

/* Poll. The caller holds the lock, and this function releases it. @found: the out-of-line instance
 * of mlx_poll_found(). A poll of an empty queue therefore saves no registers. */
MLX_FLAT int mlx_poll_locked(struct mlx_cq *cq, const struct mlx_poller *poller,
			     mlx_poll_rest *found, int num_entries, struct ibv_wc *wc)
{
	const void *cqe = mlx_cqe_at(cq, cq->consumer);
	int last = mlx_cqe_valid(cq, poller->format, cqe, cq->consumer);

	if (last != MLX_CQE_NONE && likely(num_entries > 0))
		return found(cq, num_entries, wc, cqe, last);
	spinlock_unlock(&cq->lock);
	return 0;
}

/* ---- extended polling: cq_ex.c. The lock is held from a successful start_poll to end_poll. */

static inline void mlx_ex_publish(struct mlx_cq *cq)
{
	/* Finish all reads before the adapter may write to the entries again. */
	atomic_thread_fence(memory_order_release);
	mlx_cq_publish(cq);
}

/* @take: takes the next entry. Return: 0; ENOENT: there is no entry; EIO: it is invalid. */
MLX_FLAT int mlx_ex_start_poll(struct ibv_cq_ex *cq_ex, const struct ibv_poll_cq_attr *attr,
			       int (*take)(struct mlx_cq *cq))
{
	struct mlx_cq *cq = ex_to_mcq(cq_ex);
	int r;

	if (unlikely(attr->comp_mask)) {
		errno = EINVAL;
		return EINVAL;
	}
	spinlock_lock(&cq->lock);
	r = take(cq);
	if (r) {
		if (r != ENOENT)
			mlx_ex_publish(cq);
		spinlock_unlock(&cq->lock);
		errno = r;
	}
	return r;
}

MLX_FLAT int mlx_ex_next_poll(struct ibv_cq_ex *cq_ex, int (*take)(struct mlx_cq *cq))
{
	int r = take(ex_to_mcq(cq_ex));

	if (r)
		errno = r;
	return r;
}

void mlx_ex_end_poll(struct ibv_cq_ex *cq_ex);
uint32_t mlx_ex_read_qp_num(struct ibv_cq_ex *cq_ex);

/* ---- status of failed requests */

enum {
	MLX_SYNDROMES = 0x23,
};

/* enum ibv_wc_status, indexed by syndrome; 0: unknown syndrome */
extern const uint8_t mlx_statuses[MLX_SYNDROMES];

static inline enum ibv_wc_status mlx_status(uint8_t syndrome)
{
	if (syndrome < MLX_SYNDROMES && mlx_statuses[syndrome])
		return mlx_statuses[syndrome];
	return IBV_WC_GENERAL_ERR;
}

/* rt_values.c. @counter: counter in a mapped page of the adapter; NULL: there is none */
int mlx_query_rt_values(const void *counter, struct ibv_values_ex *values);

#endif
