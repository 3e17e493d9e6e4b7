/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniHost adapters. One kind (Tavor) has its memory on the card and learns of requests by
 * registers. The other kind (Arbel, Sinai) has its memory in the host and also reads doorbell
 * records (records.c). The first segment of a request describes the request behind it (wqe.h).
 *
 * Locks, in the order in which they are taken:
 *
 * - mthca_context.qp_lock is held while a queue pair is created or destroyed, so that its number is
 *   not used again before its completions are removed.
 *
 * - mthca_cq.lock protects the completion ring, the tails of the queues that complete there, and
 *   the membership of queue pairs in the table. spinlock_lock_both() orders two of them.
 *
 * - mthca_srq.lock protects the list of free receives.
 *
 * - mthca_sq.lock and mlx_rq.lock protect the head of a ring.
 *
 * - mthca_pd.lock and mthca_records.lock protect pages of addresses and of records; taken last.
 *
 * Data that the device wrote are not trusted. An index is checked, and a queue pair is found
 * through the table, before it is used.
 */
#ifndef MTHCA_H
#define MTHCA_H

#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/mthca-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/barrier.h"
#include "providers/kit/idtable.h"
#include "providers/kit/mmio.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "providers/kit/region.h"
#include "providers/mlx/mlx.h"
#include "util/spinlock.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

enum {
	MTHCA_RECORD_PAGE = 4096, /* on any host */
	MTHCA_RECORD_BYTES = 8,
	MTHCA_RECORDS = MTHCA_RECORD_PAGE / MTHCA_RECORD_BYTES, /* records of a page */
	MTHCA_WR_MAX = 1 << 16,
	MTHCA_SGE_MAX = 64,
	MTHCA_NUMBER_MASK = 0xffffff, /* of queues and protection domains */
	/* registers */
	MTHCA_REG_SEND = 0x10,
	MTHCA_REG_RECV = 0x18,
	MTHCA_REG_CQ = 0x20,
};

/* ---- doorbell records: records.c */

/* The purpose of a record, in the numbers of the adapter. */
enum mthca_purpose {
	MTHCA_RECORD_SET_CI = 1,
	MTHCA_RECORD_ARM = 2,
	MTHCA_RECORD_SQ = 3,
	MTHCA_RECORD_RQ = 4,
	MTHCA_RECORD_SRQ = 5,
};

struct mthca_record {
	__be32 *words; /* NULL: the adapter has no records */
	uint32_t index;
};

struct mthca_record_page {
	struct kit_buf buf;
	uint64_t used[MTHCA_RECORDS / 64];
};

/* Records that the adapter writes are in the first pages, and the others in the last pages. */
struct mthca_records {
	pthread_mutex_t lock;
	uint32_t count;	    /* of pages; 0: the adapter has no records */
	uint32_t low, high; /* pages below @low and from @high on are in use */
	struct mthca_record_page *pages;
};

struct mthca_context {
	struct verbs_context vctx;
	struct kit_page uar;
	struct verbs_pd pd; /* of completion rings */
	uint32_t pd_number;
	struct mthca_records records;
	pthread_mutex_t qp_lock;
	struct idtable qps;
};

/* @bytes: of the kernel's memory for records; 0: the adapter has none. Return: 0 or -ENOMEM. */
int mthca_records_init(struct mthca_records *records, uint32_t bytes);
void mthca_records_destroy(struct mthca_records *records);
/* Allocate a record, whose words are 0. Without records do nothing. Return: 0 or -ENOMEM. */
int mthca_record_alloc(struct mthca_context *ctx, enum mthca_purpose purpose,
		       struct mthca_record *ret_record);
void mthca_record_free(struct mthca_context *ctx, struct mthca_record *record);
/* Write the purpose of a record and the number of its owner into it. */
void mthca_record_name(const struct mthca_record *record, enum mthca_purpose purpose,
		       uint32_t number);

/* Return the address of the page of a record; 0: there is no record. */
static inline uint64_t mthca_record_page(const struct mthca_record *record)
{
	return (uintptr_t)record->words & ~(uintptr_t)(MTHCA_RECORD_PAGE - 1);
}

/* ---- objects */

struct mthca_ah_page;

struct mthca_pd {
	struct verbs_pd vpd;
	uint32_t number;
	pthread_mutex_t lock; /* of @pages */
	LIST_HEAD(, mthca_ah_page) pages;
};

struct mthca_av;

struct mthca_ah {
	struct ibv_ah ah;
	struct mthca_av *av;	    /* in @own, or in a page that the adapter reads */
	struct mthca_ah_page *page; /* NULL: the address is part of each request */
	uint32_t lkey;		    /* key of the memory of @page */
	uint64_t own[4];
};

struct mthca_cqe;
struct mthca_qp;

struct mthca_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t consumer; /* entries that the process has polled */
	uint32_t mask;	   /* entries - 1 */
	struct mthca_cqe *ring;
	/* Queue pair of the last completion, and its number as the device writes it. */
	struct mthca_qp *last;
	__be32 last_qpn; /* MTHCA_NO_QPN: the queue pair may have been destroyed */
	uint32_t number;
	uint32_t arm_sn; /* number of events that the program has read, plus 1 */
	/* words of the next arming, for all completions and for solicited ones */
	uint64_t arms[2];
	char *doorbell;
	struct mthca_record set_ci, arm;
	struct kit_region memory;
};
/* A number that no completion carries, because theirs have 24 bits. */
#define MTHCA_NO_QPN UINT32_MAX

struct mthca_srq {
	struct verbs_srq vsrq;
	struct spinlock lock;
	uint32_t count, shift;
	uint32_t max_sge;
	uint32_t head, tail; /* ends of the list of free receives; the last one is never used */
	uint16_t posted;
	uint32_t *next; /* by index: the next free receive, or MTHCA_POSTED */
	uint64_t *wr_ids;
	char *ring;
	char *last; /* the receive that was posted last */
	uint32_t number;
	char *doorbell;
	struct mthca_record record;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
	struct kit_region memory;
};
#define MTHCA_POSTED UINT32_MAX

struct mthca_sq {
	struct spinlock lock;
	int max_sge; /* -1 in states that accept no requests */
	uint32_t head;
	uint32_t slot;	   /* of the next request */
	uint32_t place;	   /* of the next request in the buffer */
	uint32_t max_post; /* slots */
	uint32_t shift, stride;
	uint32_t offset; /* of the ring in the buffer */
	uint32_t ops;	 /* bit n is set if IBV_WR_n is possible */
	uint32_t plain;	 /* the same for plain requests in this state */
	uint32_t max_inline;
	uint32_t number; /* of the queue pair, at its position in the doorbell */
	char *base;	 /* beginning of the buffer */
	char *last;	 /* the request before the next one */
	uint64_t *wr_ids;
	char *doorbell;
	struct mthca_record record;
	atomic_uint said; /* as in mthca_srq */
	/* protected by the lock of the completion queue */
	atomic_uint tail;
	uint32_t done; /* slot of the last completed request */
};

struct mthca_qp {
	struct verbs_qp vqp;
	struct mthca_sq sq;
	struct mlx_rq rq;
	uint32_t rq_done; /* as mthca_sq.done */
	/* Without records: slot of the next receive, and the receive before it. */
	uint32_t rq_slot;
	char *rq_last;
	char *rq_doorbell;
	struct mthca_record rq_record;
	struct mthca_cq *send_cq, *recv_cq;
	struct mthca_srq *srq;
	uint32_t number;
	struct kit_region memory; /* both rings */
};

static inline struct mthca_context *to_mctx(struct ibv_context *ctx)
{
	return (struct mthca_context *)to_vctx(ctx);
}

static inline struct mthca_cq *to_mthca_cq(struct ibv_cq *cq)
{
	return (struct mthca_cq *)cq;
}

static inline struct mthca_qp *to_mthca_qp(struct ibv_qp *qp)
{
	return (struct mthca_qp *)qp;
}

static inline struct mthca_srq *to_mthca_srq(struct ibv_srq *srq)
{
	return (struct mthca_srq *)srq;
}

static inline bool mthca_has_records(const struct mthca_context *ctx)
{
	return ctx->records.count;
}

/* Store a doorbell of two words. */
static inline void mthca_ring(char *doorbell, uint32_t first, uint32_t second)
{
	mmio_write_64(doorbell, htobe64((uint64_t)first << 32 | second));
}

/* Allocate the memory of a queue and register it in @pd, with addresses from 0. @attributes:
 * MTHCA_MR_ */
int mthca_region_make(struct kit_region *region, struct ibv_pd *pd, size_t bytes,
		      uint32_t attributes);

/* ah.c */
int mthca_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int mthca_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
int mthca_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mthca_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int mthca_destroy_cq(struct verbs_cq *vcq);
void mthca_cq_event(struct verbs_cq *vcq);
int mthca_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
int mthca_tavor_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Lock both completion queues of a queue pair, and unlock them. */
void mthca_cqs_lock(struct mthca_qp *qp);
void mthca_cqs_unlock(struct mthca_qp *qp);
/* Remove the completions of a queue pair. The caller has locked both queues. */
void mthca_cqs_clean(struct mthca_qp *qp);

/* poll.c */
int mthca_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int mthca_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int mthca_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
int mthca_destroy_qp(struct verbs_qp *vqp);

/* srq.c */
int mthca_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int mthca_destroy_srq(struct verbs_srq *vsrq);
/* Give a receive back to the list. Return: false if @index cannot be a posted receive. */
bool mthca_srq_give(struct mthca_srq *srq, uint32_t index);

/*
 * send.c, recv.c, srq.c: the functions with tavor in their names are for adapters without records,
 * the others for adapters with records.
 */
int mthca_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mthca_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mthca_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mthca_tavor_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mthca_tavor_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mthca_tavor_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr);

#endif
