/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring shared with the kernel (struct rxe_queue_buf). One side produces, the other consumes; each
 * writes only its own index. Indices are slot numbers, always stored masked; one slot stays unused,
 * so that full and empty differ. User space produces into send and receive rings and consumes from
 * completion rings.
 *
 * A stray write of this process can damage the shared page: the geometry is read once, checked and
 * kept in private memory, and every index loaded from the page is masked before it is used.
 */
#ifndef RXE_QUEUE_H
#define RXE_QUEUE_H

#include <stdatomic.h>
#include <sys/mman.h>

#include <rdma/rdma_user_rxe.h>

#include "libibverbs/provider.h"

struct rxe_queue {
	struct rxe_queue_buf *buf; /* NULL: not mapped */
	uint32_t mask;		   /* slots - 1 */
	uint32_t shift;		   /* log2 of the bytes of a slot */
	size_t size;		   /* bytes mapped */
};

/*
 * Map the ring that the kernel has created.
 * @what: for the log, e.g. "send queue"
 * @elem_size: least bytes of a slot
 */
int rxe_queue_map(struct ibv_context *ctx, const char *what, const struct mminfo *mi,
		  size_t elem_size, struct rxe_queue *queue);

static inline void rxe_queue_unmap(struct rxe_queue *queue)
{
	if (queue->buf)
		munmap(queue->buf, queue->size);
	*queue = (struct rxe_queue){};
}

/* Unmap two rings, by one system call if they are adjacent. */
void rxe_queue_unmap_both(struct rxe_queue *a, struct rxe_queue *b);

static inline uint32_t rxe_index_load(const __u32 *index, memory_order order)
{
	return atomic_load_explicit((const _Atomic(__u32) *)index, order);
}

static inline void rxe_index_store(__u32 *index, uint32_t value, memory_order order)
{
	atomic_store_explicit((_Atomic(__u32) *)index, value, order);
}

static inline void *rxe_queue_slot(const struct rxe_queue *queue, uint32_t index)
{
	return queue->buf->data + ((size_t)index << queue->shift);
}

static inline uint32_t rxe_queue_next(const struct rxe_queue *queue, uint32_t index)
{
	return (index + 1) & queue->mask;
}

/* ---- user space is the producer; under the queue's lock ---- */

static inline uint32_t rxe_queue_producer(const struct rxe_queue *queue)
{
	/* relaxed: this side's index, which is only written under the same lock */
	return rxe_index_load(&queue->buf->producer_index, memory_order_relaxed) & queue->mask;
}

static inline bool rxe_queue_full(const struct rxe_queue *queue, uint32_t producer)
{
	/* acquire: pairs with the kernel's release when it has finished with a slot */
	uint32_t consumer = rxe_index_load(&queue->buf->consumer_index, memory_order_acquire);

	return rxe_queue_next(queue, producer) == (consumer & queue->mask);
}

/* Pass all slots before @producer to the kernel. */
static inline void rxe_queue_publish(struct rxe_queue *queue, uint32_t producer)
{
	/* release: pairs with the kernel's acquire before it reads the slots */
	rxe_index_store(&queue->buf->producer_index, producer, memory_order_release);
}

/* ---- user space is the consumer; under the queue's lock ---- */

static inline uint32_t rxe_queue_consumer(const struct rxe_queue *queue)
{
	/* relaxed: this side's index, which is only written under the same lock */
	return rxe_index_load(&queue->buf->consumer_index, memory_order_relaxed) & queue->mask;
}

/* Return the number of entries that the kernel has written, from @consumer on. */
static inline uint32_t rxe_queue_filled(const struct rxe_queue *queue, uint32_t consumer)
{
	/* acquire: pairs with the kernel's release when it has written an entry */
	uint32_t producer = rxe_index_load(&queue->buf->producer_index, memory_order_acquire);

	return (producer - consumer) & queue->mask;
}

static inline bool rxe_queue_empty(const struct rxe_queue *queue, uint32_t consumer)
{
	return !rxe_queue_filled(queue, consumer);
}

/* Return all slots before @consumer to the kernel. */
static inline void rxe_queue_release(const struct rxe_queue *queue, uint32_t consumer)
{
	/* release: pairs with the kernel's acquire before it writes into the slots again */
	rxe_index_store(&queue->buf->consumer_index, consumer, memory_order_release);
}

#endif
