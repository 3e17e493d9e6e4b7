/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What ConnectX-3 and the later adapters have in common: the ring of receives, shared receive
 * queues and the ring of completions. This header is the room's only door, and only providers/mlx4
 * and providers/mlx5 open it.
 *
 * Locks, in the order in which they are taken:
 *   mlx_cq.lock	its consumer index; what completions change of queue pairs and SRQs; of two
 * queues as spinlock_lock_both() has it
 *   mlx_srq.lock	its list of free requests
 *   mlx_rq.lock	the receive ring
 * Any thread may post and poll. The tail of a ring is written by who polls, with the lock of the
 * completion queue, and read by who posts, without.
 *
 * The providers' hot paths are made of what is inline here: what differs between the families is an
 * argument that is constant where it is called.
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

/* ---- as the adapter reads it */

enum {
	MLX_SEGMENT = 16, /* bytes: the unit of a request */
	MLX_INVALID_LKEY = 0x100,
};

struct mlx_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

/* The beginning of a shared receive queue's request. */
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

/* Two neighbours of 32 bits in memory, each turned, as they shall lie in the ring. */
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

/* What lies in two neighbours of 32 bits. */
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

/* The length, which may be the first word of 64 bytes, comes last. */
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

/* How many requests were completed. */
MLX_FLAT uint32_t mlx_sq_tail(atomic_uint *tail)
{
	/* acquire: pairs with the release of who polls, who has read the slots */
	return atomic_load_explicit(tail, memory_order_acquire);
}

/* Whether there is no room for another one: nor is there when the adapter's words drove the tail
 * past the head. */
MLX_FLAT bool mlx_sq_full(uint32_t head, uint32_t tail, uint32_t max_post)
{
	return head - tail >= max_post;
}

/* How many requests there is room for; none when the adapter's words drove the tail past the head.
 */
MLX_FLAT uint32_t mlx_room(uint32_t head, const atomic_uint *tail, uint32_t max_post)
{
	/* acquire: pairs with the release of who polls, who has read the slots */
	uint32_t used = head - atomic_load_explicit(tail, memory_order_acquire);

	return likely(used <= max_post) ? max_post - used : 0;
}

enum {
	MLX_PLAIN_FLAGS = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};

/* The operations of plain requests: one entry behind their head, and no key. */
#define MLX_PLAIN_OPS                                                                  \
	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_SEND_WITH_INV | \
	 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM | 1u << IBV_WR_RDMA_READ)

/*
 * Whether it is as most requests are: with one entry that is not empty, and nothing that has to do
 * with the requests around it. @ops: bit n: IBV_WR_n can be one
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

/* What of a request does not depend on what it is. @ops: bit n: a request of IBV_WR_n is possible
 */
MLX_FLAT enum kit_fault mlx_send_check(const uint32_t *ops, const struct ibv_send_wr *wr,
				       uint32_t sge_limit, bool full)
{
	/* Also in a state in which nothing is taken: the limit is 0 then. */
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
	int max_sge; /* -1 in states in which nothing is taken */
	uint32_t mask;
	uint32_t shift;
	uint32_t max_post;
	uint32_t head;
	uint32_t wqe_sge; /* segments of a slot */
	char *ring;
	uint64_t *wr_ids;
	__be32 *record; /* whose first word tells how many were posted */
	atomic_uint tail;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* The errno of a refused receive. */
__attribute__((cold)) int mlx_recv_refuse(struct ibv_qp *qp, struct mlx_rq *rq,
					  const struct ibv_recv_wr *wr);

static inline void mlx_segment_write(struct mlx_data_seg *seg, uint32_t length, uint32_t lkey,
				     uint64_t addr)
{
	seg->byte_count = htobe32(length);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/* The list ends where the slot does, or at this. */
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

/* @head requests were posted, and the adapter learns of them; gives the lock back. */
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
 * With the ring's lock held, which it gives back: from @head on, receives of any kind.
 * @empty: entries without a byte go into the ring, too
 */
MLX_FLAT int mlx_recv_rest(struct ibv_qp *qp, struct mlx_rq *rq, bool empty, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad_wr, uint32_t head)
{
	/* 0 in states in which nothing is taken. */
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

/* mlx_recv_rest() as a function of its own. */
typedef int mlx_recv_others(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr,
			    uint32_t head);

/*
 * With the ring's lock held, which it gives back: receives of one entry, as most are, without a
 * call; from the first other one on they are @others'.
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

/* What may be posted in the state that was reached: @sq_max_sge of the send queue, and @rq's. */
void mlx_gates_set(struct verbs_qp *vqp, enum ibv_qp_state state, int *sq_max_sge,
		   struct mlx_rq *rq);
/* Whether a window of type 1 can be bound to that. A positive errno. */
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
 * Requests in a list, by the numbers of their slots. The adapter follows the list in the ring; this
 * library its own copy, which the adapter cannot write.
 */
struct mlx_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t srqn;
	uint32_t mask;
	uint32_t shift;
	uint32_t max_sge;
	uint32_t head, tail; /* of the list of free requests; the last one is not given out */
	uint16_t posted;
	uint32_t *next;
	uint64_t *wr_ids;
	char *ring;
	__be32 *record;
	struct kit_buf buf;
	struct dbrec_pool *records;
	atomic_uint said; /* as of mlx_rq */
};

static inline struct mlx_srq *to_msrq(struct ibv_srq *srq)
{
	return (struct mlx_srq *)srq;
}

/* @types: a bit for each enum ibv_srq_type that there is; @max_wr, @max_sge: as many are possible
 */
int mlx_srq_check(const struct verbs_srq *vsrq, const struct ibv_srq_attr *attr, unsigned int types,
		  uint32_t max_wr, uint32_t max_sge);
/* Its memory, and all requests free. What fails leaves a half-built one, which mlx_srq_free()
 * takes.
 */
int mlx_srq_make(struct mlx_srq *srq, struct dbrec_pool *records, const struct ibv_srq_attr *attr,
		 struct kit_memory memory);
void mlx_srq_free(struct mlx_srq *srq);
/* In the table of a provider's operations. */
int mlx_destroy_srq(struct verbs_srq *vsrq);
int mlx_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* A request is free, behind the other ones: with the lock held. */
static inline void mlx_srq_link(struct mlx_srq *srq, uint32_t index)
{
	struct mlx_srq_next_seg *last = (void *)(srq->ring + ((size_t)srq->tail << srq->shift));

	last->next_wqe_index = htobe16(index);
	srq->next[srq->tail] = index;
	srq->tail = index;
}

/* A request was completed. Whoever says so of one that does not exist is not believed. */
static inline void mlx_srq_done(struct mlx_srq *srq, uint32_t index)
{
	if (unlikely(index > srq->mask))
		return;
	spinlock_lock(&srq->lock);
	mlx_srq_link(srq, index);
	spinlock_unlock(&srq->lock);
}

/* A request that was not completed after all is posted once more, at the end of the list. Return:
 * whether there is one of that number. */
bool mlx_srq_again(struct mlx_srq *srq, uint32_t index);

/* ---- completion queues: cq.c */

/* No completion carries it: they have 24 bits. */
#define MLX_NO_NUMBER UINT32_MAX

enum {
	MLX_CQE_NONE = -1, /* as the last byte of an entry that is the adapter's */
};

/*
 * What differs between the families of an entry. Its last byte is written last: whose it is, and
 * what completed.
 * @size: bytes of the completion, which are the last ones of an entry
 * @owner: the last byte's bit that is another one each time round
 * @unwritten: last bytes from here on are of entries that nobody wrote yet; none is when it exceeds
 * a byte, and the kernel or the adapter says whose a new ring's are
 * @opcode_mask, @resize: a last byte that is @resize below @opcode_mask ends a ring that was
 * replaced
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
	uint32_t count;	      /* of entries, which is the bit of their round */
	uint32_t stride;      /* bytes from entry to entry */
	char *first;	      /* the first entry's completion */
	void *last;	      /* the queue pair whose completion was the last one */
	uint32_t last_number; /* that its completions carry; MLX_NO_NUMBER: there is none */
	__be32 *record;
	char *uar; /* where it rings */
	uint32_t cqn;
	uint32_t arm_sn; /* events that the program has read, as the provider counts them */
	/* What arming writes whatever was polled, as it lies in the record and in the register. */
	__be32 arm_record;
	uint64_t arm_register;
	/* The entry that the extended poll stands on, its queue pair, and mlx5's slot of a request
	 * that was sent. */
	const void *cqe;
	void *cqe_qp;
	uint32_t cqe_slot;
	bool by_program; /* direct verbs gave it away: nothing is taken out of it */
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

/* @wc_flags: those that the provider has; @count_max: entries are fewer */
int mlx_cq_check(struct ibv_context *ctx, const struct verbs_create_cq *in, uint64_t wc_flags,
		 uint32_t count_max);
/* Memory for @cqe entries and one. What fails leaves a half-built one, which mlx_cq_free() takes.
 */
int mlx_cq_make(struct mlx_cq *cq, struct dbrec_pool *records, const struct mlx_cqe_format *format,
		uint32_t stride, uint32_t cqe, struct kit_memory memory);
void mlx_cq_free(struct mlx_cq *cq);
/* The kernel's, of that memory. @udata: of its command; @cqn: where in the answer its number is */
int mlx_cq_ask(struct mlx_cq *cq, const struct verbs_create_cq *in, struct verbs_udata *udata,
	       const __u32 *cqn);
/* In the table of a provider's operations. */
int mlx_destroy_cq(struct verbs_cq *vcq);
/* @udata: of the kernel's command; @buf_addr: where in it the new ring's address goes */
int mlx_cq_resize(struct mlx_cq *cq, const struct verbs_resize_cq *in, uint32_t count_max,
		  struct verbs_udata *udata, __u64 *buf_addr);

/* Both queues of a queue pair, which may be one, or NULL. */
void mlx_cqs_lock(struct mlx_cq *a, struct mlx_cq *b);
void mlx_cqs_unlock(struct mlx_cq *a, struct mlx_cq *b);
/* Whether the completion is the queue pair's. Then its request of an SRQ was given back. */
typedef bool mlx_cqe_take(void *qp, const void *cqe);
/* What completed of a queue pair is taken out of both. */
void mlx_cqs_clean_locked(struct mlx_cq *send_cq, struct mlx_cq *recv_cq, void *qp,
			  mlx_cqe_take *take);

static inline void *mlx_cqe_at(const struct mlx_cq *cq, uint32_t n)
{
	return cq->first + (size_t)(n & cq->mask) * cq->stride;
}

/* The entry's last byte, read once, when the adapter has written it; else MLX_CQE_NONE. */
static inline int mlx_cqe_valid(const struct mlx_cq *cq, const struct mlx_cqe_format *format,
				const void *cqe, uint32_t n)
{
	uint8_t last = ((const volatile uint8_t *)cqe)[format->size - 1];

	if (last >= format->unwritten || !!(last & format->owner) != !!(n & cq->count))
		return MLX_CQE_NONE;
	return last;
}

/* What the program has taken is the adapter's again. */
static inline void mlx_cq_publish(struct mlx_cq *cq)
{
	cq->record[0] = htobe32(cq->consumer & 0xffffff);
}

/* The queue pair that completes here and has the number, remembered as the last one; or NULL. */
void *mlx_cq_find(struct mlx_cq *cq, struct idtable *table, uint32_t number);

/* ---- polling: what of ibv_poll_cq() does not look into an entry */

enum {
	/* The number of a poll that met an entry nobody can have written in earnest. */
	MLX_POLL_CORRUPT = -2,
};

/*
 * What of an entry is the family's; constant where mlx_poll_found() is called.
 * @read: the entry with its last byte; return: whether it can be believed
 * @swallow: of one that cannot: whether it told of something else than a request; NULL: none does
 * @say_corrupt: in the log
 */
struct mlx_poller {
	const struct mlx_cqe_format *format;
	bool (*read)(struct mlx_cq *cq, const void *cqe, unsigned int last, struct ibv_wc *wc);
	bool (*swallow)(struct mlx_cq *cq, const void *cqe, unsigned int last);
	void (*say_corrupt)(const struct mlx_cq *cq, const void *cqe);
};

/* With the lock held, and the next entry with its last byte; gives the lock back. */
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
			/* What was taken before it is the program's; the next poll meets it again.
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
		/* As mlx_cqe_valid() has it, of an entry behind one that is. */
		cqe = (const char *)cqe + cq->stride;
		if (unlikely(!(cq->consumer & cq->mask))) {
			cqe = cq->first;
			round ^= owner;
		}
		last = ((const volatile uint8_t *)cqe)[poller->format->size - 1];
	} while (last < poller->format->unwritten && !((last ^ round) & owner));
	/* What was read is not read later: the adapter may write there again. */
	atomic_thread_fence(memory_order_release);
	mlx_cq_publish(cq);
	spinlock_unlock(&cq->lock);
	return n;
}

/* With the lock held; gives it back. @found: mlx_poll_found() as a function of its own, so that who
 * finds nothing saves no registers */
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
	/* What was read is not read later: the adapter may write there again. */
	atomic_thread_fence(memory_order_release);
	mlx_cq_publish(cq);
}

/* @take: takes the next entry. ENOENT: there is none; EIO: it makes no sense. */
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

/* ---- what went wrong with a request */

enum {
	MLX_SYNDROMES = 0x23,
};

/* By the syndrome of a completion; 0: no name for it. */
extern const uint8_t mlx_statuses[MLX_SYNDROMES];

static inline enum ibv_wc_status mlx_status(uint8_t syndrome)
{
	if (syndrome < MLX_SYNDROMES && mlx_statuses[syndrome])
		return mlx_statuses[syndrome];
	return IBV_WC_GENERAL_ERR;
}

#endif
