/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that ConnectX-3 and the later adapters share: the receive ring, shared receive queues and
 * the completion ring. Only providers/mlx4 and providers/mlx5 include this header.
 *
 * Locks, in the order in which they are taken:
 *
 * - mlx_cq.lock protects the consumer index, and the state of queue pairs and SRQs that completions
 *   change. spinlock_lock_both() orders the locks of two completion queues.
 *
 * - mlx_srq.lock protects the list of free requests.
 *
 * - mlx_rq.lock protects the receive ring.
 *
 * Any thread may post and poll. The polling thread writes the tail of a ring, with the lock of the
 * completion queue held. The posting thread reads the tail without that lock.
 *
 * The hot paths of both providers consist of the inline functions here. Differences between the
 * families are arguments that are constant in each caller.
 */
#ifndef PROVIDERS_MLX_MLX_H
#define PROVIDERS_MLX_MLX_H

#include <endian.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/bytes.h"
#include "providers/kit/dbrec.h"
#include "providers/kit/idtable.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

#define MLX_FLAT __attribute__((always_inline)) static inline

/* ---- formats that the adapter reads */

enum {
	MLX_SEGMENT = 16, /* bytes: the unit of a request */
	MLX_INVALID_LKEY = 0x100,
};

struct mlx_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

/* The first segment of a request of a shared receive queue. */
struct mlx_srq_next_seg {
	uint8_t reserved1[2];
	__be16 next_wqe_index;
	uint8_t reserved2[12];
};

/* Memory of the peer, for RDMA and atomics. */
struct mlx_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

/* Return two adjacent 32-bit words of memory, each converted to big endian, ready to be stored in
 * the ring. */
static inline uint64_t mlx_be32_both(const uint32_t *pair)
{
	uint64_t both;

	memcpy(&both, pair, sizeof(both));
#if __BYTE_ORDER == __LITTLE_ENDIAN
	both = htobe64(both);
	both = both << 32 | both >> 32;
#endif
	return both;
}

/* Combine two adjacent 32-bit words into one of 64 bits. */
static inline uint64_t mlx_both(__be32 first, __be32 second)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	return first | (uint64_t)second << 32;
#else
	return (uint64_t)first << 32 | second;
#endif
}

_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct ibv_sge, length) + 4 &&
		       offsetof(struct mlx_data_seg, lkey) ==
			       offsetof(struct mlx_data_seg, byte_count) + 4,
	       "neighbours in verbs and in the ring");

/* Write the length last, because it may be the first word of a 64-byte block, which makes the
 * block valid. */
static inline void mlx_segment_write_sge(void *seg, const struct ibv_sge *sge)
{
	uint64_t both = mlx_be32_both(&sge->length);

	((struct mlx_data_seg *)seg)->addr = htobe64(sge->addr);
	barrier_to_device();
	memcpy(seg, &both, sizeof(both));
}

/* ---- sending */

static inline void mlx_raddr_write(void *seg, uint64_t addr, uint32_t rkey)
{
	struct mlx_raddr_seg *raddr = seg;

	raddr->raddr = htobe64(addr);
	raddr->rkey = htobe32(rkey);
	raddr->reserved = 0;
}

/* Return the number of completed requests. */
MLX_FLAT uint32_t mlx_sq_tail(atomic_uint *tail)
{
	/* acquire: pairs with the release of the polling thread, which has read the slots */
	return atomic_load_explicit(tail, memory_order_acquire);
}

/* Return whether there is no room for another request. A tail past the head, which only a faulty
 * completion can cause, counts as full. */
MLX_FLAT bool mlx_sq_full(uint32_t head, uint32_t tail, uint32_t max_post)
{
	return head - tail >= max_post;
}

/* Return how many requests fit. A tail past the head, which only a faulty completion can cause,
 * leaves no room. */
MLX_FLAT uint32_t mlx_room(uint32_t head, const atomic_uint *tail, uint32_t max_post)
{
	/* acquire: pairs with the release of the polling thread, which has read the slots */
	uint32_t used = head - atomic_load_explicit(tail, memory_order_acquire);

	return likely(used <= max_post) ? max_post - used : 0;
}

enum {
	MLX_PLAIN_FLAGS = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};

/* Opcodes of plain requests: requests without a key whose list follows the header directly. */
#define MLX_PLAIN_OPS                                                                  \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV | \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_RDMA_READ)

/*
 * Return whether the request is plain, as most requests are: one entry that is not empty, and no
 * flag that depends on other requests. @ops: bit n is set if IBV_WR_n can be plain
 */
MLX_FLAT bool mlx_is_plain(uint32_t ops, const struct ibv_send_wr *wr)
{
	if (unlikely(wr->num_sge != 1))
		return false;
	if (unlikely((unsigned int)wr->opcode >= 32))
		return false;
	if (unlikely(!(ops >> wr->opcode & 1)))
		return false;
	if (unlikely(wr->send_flags & ~MLX_PLAIN_FLAGS))
		return false;
	if (unlikely(!wr->sg_list))
		return false;
	return likely(wr->sg_list->length);
}

/* Check the part of a request that does not depend on its opcode. @ops: bit n is set if IBV_WR_n is
 * possible */
MLX_FLAT enum kit_fault mlx_send_check(const uint32_t *ops, const struct ibv_send_wr *wr,
				       uint32_t sge_limit, bool full)
{
	/* Also refuses requests in a state without sending, because sge_limit is 0 then. */
	if (unlikely((uint32_t)wr->num_sge >= sge_limit))
		return KIT_FAULT_NUM_SGE;
	if (unlikely(full))
		return KIT_FAULT_FULL;
	if (unlikely((unsigned int)wr->opcode >= 32))
		return KIT_FAULT_OPCODE;
	if (unlikely(!(*ops & 1u << wr->opcode)))
		return KIT_FAULT_OPCODE;
	if (unlikely(!wr->sg_list) && wr->num_sge)
		return KIT_FAULT_SG_LIST;
	return KIT_FAULT_NONE;
}

/* ---- rings of receives */

struct mlx_rq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no receives */
	uint32_t mask;
	uint32_t shift;
	uint32_t max_post;
	uint32_t head;
	uint32_t wqe_sge; /* data segments of a slot */
	char *ring;
	uint64_t *wr_ids;
	__be32 *record; /* doorbell record; first word: number of posted receives */
	atomic_uint tail;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* Log why a receive is refused and return the errno. */
__attribute__((cold)) int mlx_recv_refuse(struct ibv_qp *qp, struct mlx_rq *rq,
					  const struct ibv_recv_wr *wr);

static inline void mlx_segment_write(struct mlx_data_seg *seg, uint32_t length, uint32_t lkey,
				     uint64_t addr)
{
	seg->byte_count = htobe32(length);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/* Write the segment that ends a list which does not fill its slot. */
static inline void mlx_segment_end(struct mlx_data_seg *seg)
{
	mlx_segment_write(seg, 0, MLX_INVALID_LKEY, 0);
}

static inline void mlx_rq_build(struct mlx_rq *rq, bool empty, uint32_t slot,
				const struct ibv_recv_wr *wr)
{
	struct mlx_data_seg *seg = (void *)(rq->ring + ((size_t)slot << rq->shift));
	const struct mlx_data_seg *end = seg + rq->wqe_sge;
	const struct ibv_sge *sge = wr->sg_list, *last = sge + wr->num_sge;

	for (; sge < last; sge++)
		if (empty || likely(sge->length))
			mlx_segment_write_sge(seg++, sge);
	if (seg < end)
		mlx_segment_end(seg);
	rq->wr_ids[slot] = wr->wr_id;
}

/* Report requests up to @head to the adapter and release the lock. */
MLX_FLAT int mlx_recv_end(struct mlx_rq *rq, uint32_t head)
{
	if (likely(head != rq->head)) {
		rq->head = head;
		barrier_to_device();
		rq->record[0] = htobe32(head & 0xffff);
	}
	spinlock_unlock(&rq->lock);
	return 0;
}

/*
 * Post receives of any kind from @head on. The caller holds the lock of the ring, and this function
 * releases it. @empty: also write entries of length 0 into the ring
 */
MLX_FLAT int mlx_recv_rest(struct ibv_qp *qp, struct mlx_rq *rq, bool empty, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad_wr, uint32_t head)
{
	/* 0 in states that accept no receives. */
	uint32_t sge_limit = (uint32_t)rq->max_sge + 1;
	uint32_t end = head + mlx_room(head, &rq->tail, rq->max_post);

	for (; wr; wr = wr->next) {
		if (unlikely((uint32_t)wr->num_sge >= sge_limit || head == end ||
			     (wr->num_sge && !wr->sg_list))) {
			*bad_wr = wr;
			break;
		}
		mlx_rq_build(rq, empty, head & rq->mask, wr);
		head++;
	}
	mlx_recv_end(rq, head);
	return likely(!wr) ? 0 : mlx_recv_refuse(qp, rq, wr);
}

/* The out-of-line instance of mlx_recv_rest() of a provider. */
typedef int mlx_recv_others(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			    uint32_t head);

/*
 * Post receives that have one entry, without a function call. @others posts the rest from the first
 * receive that differs. The caller holds the lock of the ring, and this function releases it.
 */
MLX_FLAT int mlx_recv_locked(struct ibv_qp *qp, struct mlx_rq *rq, bool empty,
			     struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			     mlx_recv_others *others)
{
	bool open_end = rq->wqe_sge > 1;
	uint32_t head = rq->head, end = head;

	if (likely(rq->max_sge > 0))
		end += mlx_room(head, &rq->tail, rq->max_post);
	for (; wr; wr = wr->next) {
		uint32_t slot = head & rq->mask;
		struct mlx_data_seg *seg = (void *)(rq->ring + ((size_t)slot << rq->shift));

		if (unlikely(wr->num_sge != 1))
			return others(qp, wr, bad_wr, head);
		if (unlikely(head == end))
			return others(qp, wr, bad_wr, head);
		if (unlikely(!wr->sg_list))
			return others(qp, wr, bad_wr, head);
		if (!empty && unlikely(!wr->sg_list->length))
			return others(qp, wr, bad_wr, head);
		mlx_segment_write_sge(seg, wr->sg_list);
		if (open_end)
			mlx_segment_end(seg + 1);
		rq->wr_ids[slot] = wr->wr_id;
		head++;
	}
	return mlx_recv_end(rq, head);
}

/* ---- queue pairs: qp.c */

/* Set the limits of posting that belong to the new state: *sq_max_sge of the send queue, and
 * max_sge of @rq. */
void mlx_gates_set(struct verbs_qp *vqp, enum ibv_qp_state state, int *sq_max_sge,
		   struct mlx_rq *rq);
/* Check whether a type 1 window can be bound to @info. Return: 0 or a positive errno. */
MLX_FLAT int mlx_bind_check(struct ibv_qp *qp, const struct ibv_mw *mw,
			    const struct ibv_mw_bind_info *info)
{
	if (info->mr && to_vmr(info->mr)->access & IBV_ACCESS_ZERO_BASED) {
		verbs_err(qp->context, "mw 0x%x: ibv_bind_mw: mr 0x%x is zero-based", mw->rkey,
			  info->mr->rkey);
		return EINVAL;
	}
	return 0;
}

/* ---- shared receive queues: srq.c */

/*
 * Free requests form a list of slot numbers. The adapter follows the list in the ring. This library
 * follows its own copy, which the adapter cannot write.
 */
struct mlx_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t srqn;
	uint32_t mask;
	uint32_t shift;
	uint32_t max_sge;
	uint32_t head, tail; /* ends of the list of free requests; the last request is never used */
	uint16_t posted;
	uint32_t *next;
	uint64_t *wr_ids;
	char *ring;
	__be32 *record;
	struct kit_buf buf;
	struct dbrec_pool *records;
	atomic_uint said; /* as in mlx_rq */
};

static inline struct mlx_srq *to_msrq(struct ibv_srq *srq)
{
	return (struct mlx_srq *)srq;
}

/* Check the attributes. @types: bit n is set if the device supports type n of enum ibv_srq_type;
 * @max_wr, @max_sge: limits of the device */
int mlx_srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr, unsigned int types,
		  uint32_t max_wr, uint32_t max_sge);
/* Allocate the memory and put all requests into the free list. After a failure call mlx_srq_free(),
 * which accepts a half-built SRQ. */
int mlx_srq_make(struct mlx_srq *srq, struct dbrec_pool *records, const struct ibv_srq_attr *attr,
		 struct kit_memory memory);
void mlx_srq_free(struct mlx_srq *srq);
/* Operations that the providers put into their tables. */
int mlx_destroy_srq(struct verbs_srq *vsrq);
int mlx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* Append a request to the list of free requests. The caller holds the lock. */
static inline void mlx_srq_link(struct mlx_srq *srq, uint32_t index)
{
	struct mlx_srq_next_seg *last = (void *)(srq->ring + ((size_t)srq->tail << srq->shift));

	last->next_wqe_index = htobe16(index);
	srq->next[srq->tail] = index;
	srq->tail = index;
}

/* Free a completed request. Ignore an @index outside the ring. */
static inline void mlx_srq_done(struct mlx_srq *srq, uint32_t index)
{
	if (unlikely(index > srq->mask))
		return;
	spinlock_lock(&srq->lock);
	mlx_srq_link(srq, index);
	spinlock_unlock(&srq->lock);
}

/* Post a request that the adapter gave up again, behind all others. Return: false if @index cannot
 * be a posted request. */
bool mlx_srq_again(struct mlx_srq *srq, uint32_t index);

/* A number that no completion has, because numbers in completions have 24 bits. */

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
