/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: cq.c. */
#ifndef PROVIDERS_MLX_CQ_H
#define PROVIDERS_MLX_CQ_H

#include "providers/mlx/wqe.h"

/* A number that no completion carries, because theirs have 24 bits. */
#define MLX_NO_NUMBER UINT32_MAX

enum {
	MLX_CQE_NONE = -1, /* in place of the last byte: the adapter owns the entry */
};

/*
 * Differences between the completion queue entries of the families. The adapter writes the last
 * byte of an entry last. This byte holds the owner and the opcode.
 * @size: bytes of the completion, at the end of the entry
 * @owner: bit of the last byte that flips each time round
 * @unwritten: the last byte of an entry that was never written has this value or a higher one. A
 * value above 255 means that the kernel or the adapter initialises a new ring.
 * @opcode_mask, @resize: if the last byte masked by @opcode_mask is @resize, the entry ends a ring
 * that was replaced
 */
struct mlx_cqe_format {
	uint32_t size;
	uint8_t owner;
	uint16_t unwritten;
	uint8_t opcode_mask, resize;
};

struct mlx_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t consumer;
	uint32_t mask;
	uint32_t count;	      /* number of entries; this bit of the index changes in each round */
	uint32_t stride;      /* bytes from one entry to the next */
	char *first;	      /* completion of the first entry */
	void *last;	      /* queue pair of the last completion */
	uint32_t last_number; /* number of @last in completions; MLX_NO_NUMBER: none */
	__be32 *record;
	char *uar; /* doorbell page */
	uint32_t cqn;
	/* number of events that the program has read, in the provider's encoding */
	uint32_t arm_sn;
	/* The constant part of arming, in the byte order of the record and of the register. */
	__be32 arm_record;
	uint64_t arm_register;
	/* The current entry of the extended poll, its queue pair and, for mlx5, the slot of its
	 * send request. */
	const void *cqe;
	void *cqe_qp;
	uint32_t cqe_slot;
	bool by_program; /* the program polls by direct verbs, so this library removes no entry */
	const struct mlx_cqe_format *format;
	struct dbrec_pool *records;
	struct kit_memory memory;
	struct kit_buf buf;
};

static inline struct mlx_cq *to_mcq(struct ibv_cq *cq)
{
	return (struct mlx_cq *)cq;
}

static inline struct mlx_cq *ex_to_mcq(struct ibv_cq_ex *cq_ex)
{
	return (struct mlx_cq *)cq_ex;
}

/* Return the exclusive limit of the number of entries. @max_cqe: the limit of the device, or 0 if
 * the kernel does not report it; @most: the limit of the format. */
uint32_t mlx_cq_count_max(int max_cqe, uint32_t most);
/*
 * Check the attributes of a completion queue. @wc_flags: flags that the provider supports;
 * @count_max: exclusive limit of the number of entries
 */
int mlx_cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags,
		 uint32_t count_max);
/* Allocate memory for @cqe + 1 entries. After a failure call mlx_cq_free(), which accepts a
 * half-built queue. */
int mlx_cq_make(struct mlx_cq *cq, struct dbrec_pool *records, const struct mlx_cqe_format *format,
		uint32_t stride, uint32_t cqe, struct kit_memory memory);
void mlx_cq_free(struct mlx_cq *cq);
/* Create the completion queue in the kernel, in the memory of @cq. @udata: of the command; @cqn:
 * the number in the answer */
int mlx_cq_ask(struct mlx_cq *cq, const struct verbs_create_cq *in, struct verbs_udata *udata,
	       const __u32 *cqn);
/* Operations that the providers put into their tables. */
int mlx_destroy_cq(struct verbs_cq *vcq);
/* Replace the ring. @udata: of the command; @buf_addr: its field for the address of the new ring */
int mlx_cq_resize(struct mlx_cq *cq, const struct verbs_resize_cq *in, uint32_t count_max,
		  struct verbs_udata *udata, __u64 *buf_addr);

/* Lock both completion queues of a queue pair. They may be the same queue, or NULL. */
void mlx_cqs_lock(struct mlx_cq *a, struct mlx_cq *b);
void mlx_cqs_unlock(struct mlx_cq *a, struct mlx_cq *b);
/* Return whether the completion belongs to the queue pair. If it does, the function has given its
 * SRQ request back. */
typedef bool mlx_cqe_take(void *qp, const void *cqe);
/* Remove the completions of a queue pair from both queues. */
void mlx_cqs_clean_locked(struct mlx_cq *send_cq, struct mlx_cq *recv_cq, void *qp,
			  mlx_cqe_take *take);

static inline void *mlx_cqe_at(const struct mlx_cq *cq, uint32_t n)
{
	return cq->first + (size_t)(n & cq->mask) * cq->stride;
}

/* Read the last byte of the entry once. Return: this byte if the adapter has written the entry,
 * else MLX_CQE_NONE. */
static inline int mlx_cqe_valid(const struct mlx_cq *cq, const struct mlx_cqe_format *format,
				const void *cqe, uint32_t n)
{
	uint8_t last = ((const volatile uint8_t *)cqe)[format->size - 1];

	if (last >= format->unwritten || !!(last & format->owner) != !!(n & cq->count))
		return MLX_CQE_NONE;
	return last;
}

/* Report to the adapter that the polled entries are free. */
static inline void mlx_cq_publish(struct mlx_cq *cq)
{
	cq->record[0] = htobe32(cq->consumer & 0xffffff);
}

/*
 * Find the queue pair of this completion queue by its number, and keep it in cq->last. NULL: no
 * queue pair has it.
 */
void *mlx_cq_find(struct mlx_cq *cq, struct idtable *table, uint32_t number);

#endif
