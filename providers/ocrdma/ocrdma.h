/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Emulex's OneConnect adapters, with RoCE. The kernel allocates the rings, and this library maps
 * them. A completion names its queue pair by a number of the driver, and each doorbell announces
 * one request. After a failure the adapter completes no requests. This library completes the
 * remaining ones (flush.c).
 *
 * Locks, in the order in which they are taken:
 *
 * - oc_context.qp_lock is held while a queue pair is created or destroyed, so that its number is
 *   not used again before its completions are removed.
 *
 * - oc_cq.lock protects the completion ring, the tails of the queues that complete there, and the
 *   membership of queue pairs in the table. spinlock_lock_both() orders two of them.
 *
 * - oc_context.flush_lock protects the list of queue pairs that have failed.
 *
 * - oc_srq.lock protects a shared receive queue.
 *
 * - oc_sq.lock and oc_rq.lock protect the head of a ring.
 *
 * - oc_context.ah_lock protects the table of addresses, and is held while the kernel writes there.
 *
 * Data that the device wrote are not trusted. An index is checked, and a queue pair is found
 * through the table, before it is used.
 */
#ifndef OCRDMA_H
#define OCRDMA_H

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <rdma/ocrdma-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

struct oc_qp;

struct oc_context {
	struct verbs_context vctx;
	uint32_t wqe_bytes, rqe_bytes;
	uint32_t max_inline;
	char fw_ver[sizeof(((struct ocrdma_alloc_ucontext_resp *)0)->fw_ver) + 1];
	struct kit_page addresses; /* words, one for each address handle: ah.c */
	pthread_mutex_t ah_lock;
	pthread_mutex_t qp_lock;
	struct idtable qps;
	struct spinlock flush_lock;
	LIST_HEAD(, oc_qp) failed;
};

struct oc_pd {
	struct verbs_pd vpd;
	struct kit_page window; /* for copies of requests; base is NULL: the adapter takes none */
};

struct oc_ah {
	struct ibv_ah ah;
	uint32_t index; /* index in the table of addresses */
	uint32_t id, type;
	bool has_vlan;
};

struct oc_cqe;

struct oc_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t phase; /* CQE_VALID or 0: that bit of a valid entry */
	bool changes;	/* the phase changes when the ring wraps; else the process clears entries */
	uint32_t at;	/* next entry */
	uint32_t count;
	struct oc_cqe *ring;
	atomic_uint failed; /* queue pairs that have failed and complete here */
	/* Queue pair of the last completion, and its number. */
	struct oc_qp *last;
	uint32_t last_id; /* OC_NO_ID: the queue pair may have been destroyed */
	char *doorbell;
	uint32_t number; /* of the queue, as it is in the doorbell */
	struct kit_page queue, registers;
};
/* A number that no completion has, because theirs have 16 bits. */
#define OC_NO_ID UINT32_MAX

/* What happens to a request that the process posts. */
enum oc_post_state {
	OC_POST_REFUSED,
	OC_POST_ANNOUNCED, /* the adapter executes it */
	OC_POST_FLUSHED,   /* the library completes it, and does not announce it */
};

/* A posted send. */
struct oc_sent {
	uint64_t wr_id;
	uint32_t length; /* bytes of a read */
	uint16_t opcode; /* enum ibv_wc_opcode */
	bool signaled;
};

struct oc_sq {
	struct spinlock lock;
	_Atomic uint8_t post_state; /* enum oc_post_state */
	bool is_ud;
	uint8_t always; /* the flag of a completion, if each request has one (sq_sig_all) */
	uint32_t max_sge;
	uint32_t ops; /* bit n is set if IBV_WR_n is possible */
	uint32_t max_inline;
	uint32_t mask;		/* entries - 1, and the number of requests that fit */
	atomic_uint head, tail; /* free-running */
	uint32_t stride;
	char *ring;
	struct oc_sent *sent;
	char *doorbell;
	__le32 announcement;
	char *window;	  /* for a copy of a request with inline data; NULL: there is none */
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* Receives of a queue pair. */
struct oc_rq {
	struct spinlock lock;
	_Atomic uint8_t post_state; /* enum oc_post_state */
	uint32_t max_sge;
	uint32_t mask; /* as in oc_sq; 0: there is no ring */
	atomic_uint head, tail;
	uint32_t stride;
	char *ring;
	uint64_t *wr_ids;
	char *doorbell;
	__le32 announcement;
	atomic_uint said;
};

/* Receives complete in any order. A tag, one more than the index of a wr_id, names each of them. */
struct oc_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t max_sge;
	uint32_t mask;
	uint32_t head; /* of the ring, free-running */
	uint32_t posted;
	uint32_t stride;
	char *ring;
	uint64_t *wr_ids;
	uint64_t *free; /* bits of free tags */
	uint32_t first; /* word of @free before which no tag is free */
	char *doorbell;
	__le32 announcement;
	atomic_uint said;
	struct kit_page queue, registers;
};

struct oc_qp {
	struct verbs_qp vqp;
	struct oc_sq sq;
	struct oc_rq rq;
	struct oc_cq *send_cq, *recv_cq;
	struct oc_srq *srq;
	uint32_t id; /* id in completions */
	bool failed; /* in the list of the context */
	LIST_ENTRY(oc_qp) entry;
	struct kit_page sends, receives, registers;
};

static inline struct oc_context *to_octx(struct ibv_context *ctx)
{
	return (struct oc_context *)to_vctx(ctx);
}

static inline struct oc_cq *to_oc_cq(struct ibv_cq *cq)
{
	return (struct oc_cq *)cq;
}

static inline struct oc_qp *to_oc_qp(struct ibv_qp *qp)
{
	return (struct oc_qp *)qp;
}

static inline struct oc_srq *to_oc_srq(struct ibv_srq *srq)
{
	return (struct oc_srq *)srq;
}

/* What the kernel answers about a ring of requests. */
struct oc_ring_answer {
	uint64_t address;
	uint32_t bytes, pages, entries, stride;
	const char *name;
};

/* Map a ring. -EPROTO: it cannot be as the kernel says. */
int oc_ring_map(struct ibv_context *ctx, const struct oc_ring_answer *answer,
		struct kit_page *ret_page);
/* Return the register at @offset of a page. NULL: it lies outside, which is logged. */
char *oc_register(struct ibv_context *ctx, const struct kit_page *page, uint32_t offset);

/* ah.c */
int oc_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int oc_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
int oc_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int oc_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int oc_destroy_cq(struct verbs_cq *vcq);
int oc_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Lock both completion queues of a queue pair, and unlock them. */
void oc_cqs_lock(struct oc_qp *qp);
void oc_cqs_unlock(struct oc_qp *qp);
/* Remove the completions of a queue pair. The caller has locked both queues. */
void oc_cqs_clean(struct oc_qp *qp);

/* flush.c */
/* Let the library complete all requests of a queue pair. */
void oc_fail(struct oc_qp *qp);
/* End this. The caller has locked both completion queues. */
void oc_recover(struct oc_qp *qp);
/* Complete requests of queue pairs that have failed, at most @num_entries. The caller has locked
 * the queue. Return the number of completions. */
int oc_flush(struct oc_cq *cq, int num_entries, struct ibv_wc *wc);

/* poll.c */
int oc_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int oc_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int oc_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int oc_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int oc_destroy_qp(struct verbs_qp *vqp);

/* srq.c */
int oc_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int oc_destroy_srq(struct verbs_srq *vsrq);
int oc_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
/* Take a completed receive. Return: false if it is not posted. */
bool oc_srq_take(struct oc_srq *srq, uint32_t tag, uint64_t *ret_wr_id);

/* send.c, recv.c */
int oc_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int oc_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
