/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kunpeng's adapters HIP08 and HIP09. The rings are memory of this process. A send has 64 bytes,
 * with room for two segments. A segment is the address, the length and the key of memory. Further
 * segments and longer inline data are in a second ring, the ring of segments (wqe.h). Numbers in
 * memory are little-endian, but doorbell records have the byte order of the processor.
 *
 * Locks, in the order in which they are taken:
 *
 * - hns_context.qp_lock is held while a queue pair or an XRC SRQ is created or destroyed, so that
 *   its number is not used again before its completions are removed.
 *
 * - hns_cq.lock protects the consumer index and the tails of the queues that complete there.
 *   spinlock_lock_both() orders two of them. It is held during the transitions to RESET and, if a
 *   completion reports a failure, to ERR.
 *
 * - hns_sq.lock, hns_rq.lock and hns_srq.lock protect the heads of a ring, and hns_srq.lock the
 *   free receives. Posting takes no lock of a completion queue.
 *
 * Data that the device wrote are not trusted. A completion names its queue pair by number. The poll
 * searches this number only among the queue pairs of the completion queue.
 */
#ifndef HNS_H
#define HNS_H

#include <endian.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <rdma/hns-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/buf.h"
#include "providers/kit/cq_ex.h"
#include "providers/kit/dbrec.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

enum {
	HNS_NUMBER_MASK = 0xffffff,
	HNS_PART = 4096, /* alignment of the parts of a buffer, for pages of any size */
	HNS_DEPTH = 64,	 /* entries of the smallest ring */
};
#define HNS_NO_NUMBER UINT32_MAX /* not the number of any queue pair */

struct hns_context {
	struct verbs_context vctx;
	struct kit_page uar;
	char *doorbell; /* register for all queues without a page of their own */
	pthread_mutex_t qp_lock;
	struct idtable qps, xrc_srqs;
	struct dbrec_pool records;
	uint32_t cqe_size;
	uint32_t max_wr, max_sge, max_cqe, max_srq_wr, max_srq_sge;
	bool old;	     /* HIP08: no datagrams, and receives need a segment that ends them */
	bool long_lists;     /* the kernel counts inline data in the ring of segments */
	uint32_t max_inline; /* bytes; valid if @long_lists */
	uint8_t congest_types;
};

struct hns_pd {
	struct verbs_pd vpd;
	uint32_t number;
};

struct hns_qp;

struct hns_cq {
	struct kit_cq kit; /* includes the current completion of an extended queue */
	struct spinlock lock;
	uint32_t consumer;
	uint32_t mask;
	uint32_t count; /* entries, a power of 2; this bit of an index changes with each wrap */
	uint32_t shift; /* binary logarithm of @size */
	uint32_t size;	/* bytes of an entry */
	char *ring;
	struct hns_qp *last;  /* queue pair of the last completion */
	uint32_t last_number; /* its number, or HNS_NO_NUMBER */
	uint32_t *record;
	bool recorded; /* the index goes to @record; otherwise to the doorbell */
	char *doorbell;
	uint32_t number;
	/* The doorbell that arms the queue, without its index. Its upper word counts the events
	 * that the program has read. */
	uint64_t arm;
	uint32_t arm_mask; /* bits of the index in the doorbell */
	uint16_t vlan;	   /* of the current completion of an extended queue; 0: none */
	struct kit_buf buf;
};

/* A batch of ibv_wr_*(). Until it is complete, only the head of the queue moves. */
struct hns_batch {
	uint32_t head, segment; /* state of the queue at the start of the batch */
	uint32_t end;		/* head beyond which there is no room */
	int error;
	char *now;	/* current request; NULL: none */
	uint32_t first; /* its first word */
	uint32_t used;	/* its segments in the ring of segments */
	uint8_t needs;	/* data that it still needs: NEEDS_ bits of wr.c */
};

struct hns_sq {
	struct spinlock lock;
	char *ring;
	uint32_t head;
	uint32_t mask;
	uint32_t plain_ops; /* opcodes of plain requests as bits; 0 in states other than RTS */
	uint32_t max_post;
	int max_sge; /* -1 in states that accept no requests */
	/* Valid bits of the index in a completion. The mask is 0 if each request has a completion:
	 * the completions then come in order, and their index is not valid. */
	uint32_t index_mask;
	uint32_t max_inline, mtu;
	bool owned; /* the device may read the owner's bit before a doorbell */
	bool datagrams, xrc;
	bool flushes;	  /* error state: each post asks the kernel to flush */
	uint32_t segment; /* next entry of @segments */
	uint32_t segment_mask, segment_count;
	char *segments;
	uint64_t *wr_ids;
	uint32_t *record; /* index of the head; hns_qp.unread if the device reads no record */
	uint64_t tag;	  /* a doorbell with index 0 */
	char *doorbell;
	char *direct; /* page for a whole request instead of a doorbell; NULL: none */
	uint32_t qkey;
	atomic_uint tail;
	atomic_uint said; /* enum kit_fault bits that were already logged */
	struct hns_batch batch;
};

/* The ring of receives of a queue pair or of an SRQ. */
struct hns_rq {
	struct spinlock lock;
	char *ring;
	uint32_t head;
	uint32_t mask;
	uint32_t shift;	  /* binary logarithm of the bytes of a receive */
	uint32_t wqe_sge; /* segments of a receive */
	int max_sge;	  /* -1 in states that accept no receives */
	uint32_t max_post;
	bool plain; /* fast path: lists need no end, and the queue accepts receives without a flush
		     */
	bool completes; /* receives of a connection complete in order */
	bool ends;	/* a segment ends each list */
	bool flushes;	/* as in hns_sq */
	bool recorded;
	uint64_t *wr_ids;
	uint32_t *record;
	char *doorbell;
	uint64_t tag;
	atomic_uint tail;
	atomic_uint said;
};

struct hns_srq {
	struct verbs_srq vsrq;
	struct hns_rq rq; /* @mask belongs to the ring of indices */
	uint32_t number;
	uint32_t *indices;
	uint64_t *free; /* a bit for each receive that is not posted */
	uint32_t low;	/* no word of @free before this one has a bit */
	struct kit_buf buf, index_buf;
};

struct hns_qp {
	struct verbs_qp vqp;
	struct hns_sq sq;
	struct hns_rq rq;
	struct hns_cq *send_cq, *recv_cq;
	struct hns_srq *srq;
	/* enum ibv_qp_state, written with the locks of both rings */
	_Atomic uint32_t state;
	uint8_t sl;
	bool by_dscp; /* @priority replaces the service level of the program */
	uint8_t priority;
	uint32_t number;
	bool opened; /* by ibv_open_qp(): it has no rings */
	struct kit_buf buf;
	struct kit_page direct;
	uint32_t *sq_record, *rq_record;
	uint32_t unread; /* written in place of a record that the device does not read */
};

/* The second half of a request of a UD queue pair: the destination. */
struct hns_ah {
	struct ibv_ah ah;
	char words[32];
	uint32_t pd_number;
	uint16_t sport;
	uint8_t sl;
};

static inline struct hns_context *to_hctx(struct ibv_context *ctx)
{
	return (struct hns_context *)to_vctx(ctx);
}

static inline struct hns_cq *to_hcq(struct ibv_cq *cq)
{
	return (struct hns_cq *)cq;
}

static inline struct hns_qp *to_hqp(struct ibv_qp *qp)
{
	return (struct hns_qp *)qp;
}

static inline struct hns_srq *to_hsrq(struct ibv_srq *srq)
{
	return (struct hns_srq *)srq;
}

/* Commands of a doorbell, and shifts of its fields. */
enum {
	HNS_DB_SQ,
	HNS_DB_RQ,
	HNS_DB_SRQ,
	HNS_DB_CQ,
	HNS_DB_CQ_ARM,
	HNS_DB_COMMAND_SHIFT = 24,
	HNS_DB_INDEX_SHIFT = 32,
	HNS_DB_SL_SHIFT = 48,
	HNS_DB_ARM_SHIFT = 57, /* sequence number of an arming */
};

/* Return a doorbell with index 0 for the queue with this number. */
static inline uint64_t hns_doorbell(uint32_t command, uint32_t number)
{
	return (uint64_t)number | command << HNS_DB_COMMAND_SHIFT;
}

static inline void hns_doorbell_ring(char *doorbell, uint64_t value)
{
	mmio_write_64(doorbell, htole64(value));
}

/* Return the free entries of a ring. */
static inline uint32_t hns_room(uint32_t head, const atomic_uint *tail, uint32_t max_post)
{
	/* acquire: pairs with the release in a poll, which has read the wr_ids of these entries */
	uint32_t used = head - atomic_load_explicit(tail, memory_order_acquire);

	return likely(used <= max_post) ? max_post - used : 0;
}

/* ah.c */
int hns_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);

/* cq.c */
int hns_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int hns_destroy_cq(struct verbs_cq *vcq);
void hns_cq_event(struct verbs_cq *vcq);
int hns_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Lock both completion queues of a queue pair, which may be the same or NULL. */
void hns_cqs_lock(struct hns_qp *qp);
void hns_cqs_unlock(struct hns_qp *qp);
/* Remove the completions of a queue pair. The caller holds both locks. */
void hns_cqs_clean(struct hns_qp *qp);
/* Remove an XRC SRQ from the table, and its completions. */
void hns_cq_clean_srq(struct hns_srq *srq);

/* poll.c, cq_ex.c */
int hns_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
/* Poll a completion; the caller holds the lock. Return: whether there is one. */
bool hns_poll_one(struct hns_cq *cq, struct ibv_wc *wc);
extern const uint64_t hns_cq_ex_wc_flags;
void hns_cq_ex_set_slots(struct hns_cq *cq, uint64_t wc_flags);

/* qp.c, qp_size.c, qp_modify.c */
struct hns_qp_size {
	uint32_t sq_count;
	uint32_t segments; /* entries of the ring of segments */
	uint32_t rq_count, rq_sge;
	uint32_t max_send_sge, max_inline;
};
/* Calculate the sizes of the rings, and set @attr->cap to the values for the kernel's command. */
int hns_qp_size(const struct hns_context *ctx, struct ibv_qp_init_attr_ex *attr,
		struct hns_qp_size *ret);
int hns_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int hns_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in);
int hns_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int hns_destroy_qp(struct verbs_qp *vqp);
int hns_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
/* Set the members that control posting to the values for @state. */
void hns_qp_post_limits_set(struct hns_qp *qp, enum ibv_qp_state state);
/* Follow the device into the error state: the kernel flushes the posted requests. */
void hns_qp_fail(struct hns_qp *qp);
/* Let the kernel flush the requests that were posted in the error state. */
void hns_qp_flush(struct hns_qp *qp);

/* srq.c */
int hns_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int hns_destroy_srq(struct verbs_srq *vsrq);
int hns_query_srq(struct verbs_srq *vsrq, struct ibv_srq_attr *ret_attr);
/* Free a completed receive. Return: false if no receive with this index is posted. */
bool hns_srq_take(struct hns_srq *srq, uint32_t index, uint64_t *ret_wr_id);

/* send.c, wr.c, recv.c */
int hns_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Return the operations of this type of queue pair: IBV_QP_EX_WITH_ flags. */
uint64_t hns_wr_ops(enum ibv_qp_type type);
void hns_wr_set_slots(struct hns_qp *qp, uint64_t ops);
int hns_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int hns_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
