/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues and channels. */
#include <string.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include "providers/uroce/dev.h"
#include "providers/uroce/ops.h"

/* --- channels --- */

int uroce_create_comp_channel(struct ibv_comp_channel *channel)
{
	struct uroce_comp_channel *uchannel = (struct uroce_comp_channel *)channel;
	int r = uroce_pipe_open(&uchannel->pipe);

	if (r < 0)
		return r;
	channel->fd = uchannel->pipe.read_fd;
	return 0;
}

void uroce_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct uroce_comp_channel *uchannel = (struct uroce_comp_channel *)channel;

	uroce_pipe_close_write(&uchannel->pipe);
	close(channel->fd);
}

static bool channel_put(struct uroce_cq *cq)
{
	struct uroce_comp_channel *channel = (struct uroce_comp_channel *)cq->vcq.cq.channel;
	struct ib_uverbs_comp_event_desc desc = { .cq_handle = (uintptr_t)&cq->vcq.cq };
	int r;

	uroce_lock(&channel->lock);
	r = uroce_pipe_put(&channel->pipe, &desc, sizeof(desc));
	uroce_unlock(&channel->lock);
	if (r != -EAGAIN)
		cq->comp_events_raised++;
	return r != -EAGAIN;
}

static void pending_add(struct uroce_cq *cq)
{
	struct uroce_host *host = cq->dev->host;

	uroce_lock(&host->blocked_lock);
	if (!cq->event_pending)
		LIST_INSERT_HEAD(&host->pending_cqs, cq, pending);
	cq->event_pending = true;
	atomic_store_explicit(&host->cqs_pending, true, memory_order_relaxed);
	uroce_unlock(&host->blocked_lock);
}

static void pending_remove(struct uroce_cq *cq)
{
	struct uroce_host *host = cq->dev->host;

	uroce_lock(&host->blocked_lock);
	if (cq->event_pending)
		LIST_REMOVE(cq, pending);
	cq->event_pending = false;
	uroce_unlock(&host->blocked_lock);
}

void uroce_cq_events_retry(struct uroce_host *host)
{
	struct uroce_cq *cq, *next;

	uroce_lock(&host->blocked_lock);
	for (cq = LIST_FIRST(&host->pending_cqs); cq; cq = next) {
		next = LIST_NEXT(cq, pending);
		if (!channel_put(cq))
			continue;
		LIST_REMOVE(cq, pending);
		cq->event_pending = false;
	}
	if (LIST_EMPTY(&host->pending_cqs))
		atomic_store_explicit(&host->cqs_pending, false, memory_order_relaxed);
	uroce_unlock(&host->blocked_lock);
}

/* --- pushing --- */

static void cq_notify(struct uroce_cq *cq)
{
	cq->armed_next = cq->armed_solicited = false;
	if (!cq->vcq.cq.channel)
		return;
	if (cq->event_pending || !channel_put(cq))
		pending_add(cq);
}

static void cq_overflow(struct uroce_cq *cq)
{
	if (cq->overflowed)
		return;
	cq->overflowed = true;
	verbs_err(cq->vcq.cq.context,
		  "cq %u: overflow: %u completions wait to be polled and there is no room for more: create it larger or "
		  "poll more often; completions are lost",
		  cq->vcq.cq.handle, cq->mask + 1);
	uroce_event_cq(cq, IBV_EVENT_CQ_ERR);
}

static void cqe_stamp(const struct uroce_cq *cq, struct uroce_cqe *cqe)
{
	struct timespec t;

	if (cq->want_timestamp)
		cqe->timestamp = uroce_now();
	if (cq->want_wallclock) {
		clock_gettime(CLOCK_REALTIME, &t);
		cqe->wallclock = t.tv_sec * 1000000000ull + t.tv_nsec;
	}
}

void uroce_cq_push(struct uroce_cq *cq, const struct uroce_cqe *cqe)
{
	uint32_t head;

	uroce_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	if (unlikely(head - cq->tail > cq->mask)) {
		cq_overflow(cq);
	} else {
		cq->ring[head & cq->mask] = *cqe;
		if (unlikely(cq->want_timestamp || cq->want_wallclock))
			cqe_stamp(cq, &cq->ring[head & cq->mask]);
		atomic_store_explicit(&cq->head, head + 1, memory_order_relaxed);
	}
	if (unlikely(cq->armed_next || (cq->armed_solicited && cqe->solicited)))
		cq_notify(cq);
	uroce_unlock(&cq->lock);
}

/* --- polling --- */

static bool cq_empty(const struct uroce_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) == cq->tail;
}

static void wc_fill(struct ibv_wc *wc, const struct uroce_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.imm_data = cqe->imm_data,
		.qp_num = cqe->qp_num,
		.src_qp = cqe->src_qp,
		.wc_flags = cqe->wc_flags,
		.sl = cqe->sl,
	};
}

static int cq_take(struct uroce_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n = 0;

	uroce_lock(&cq->lock);
	while (n < num_entries && !cq_empty(cq))
		wc_fill(&wc[n++], &cq->ring[cq->tail++ & cq->mask]);
	uroce_unlock(&cq->lock);
	return n;
}

int uroce_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct uroce_cq *cq = to_ucq(ibcq);

	if (cq_empty(cq)) {
		uroce_progress(cq->dev->host);
		if (cq_empty(cq))
			return 0;
	}
	return cq_take(cq, num_entries, wc);
}

int uroce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct uroce_cq *cq = to_ucq(ibcq);

	uroce_lock(&cq->lock);
	if (solicited_only)
		cq->armed_solicited = true;
	else
		cq->armed_next = true;
	uroce_unlock(&cq->lock);
	uroce_thread_poller_leaves(cq->dev->host);
	return 0;
}

/* --- the ibv_start_poll() family: the lock is held from start to end --- */

static void current_set(struct uroce_cq *cq)
{
	const struct uroce_cqe *cqe = &cq->ring[cq->tail & cq->mask];

	cq->vcq.cq_ex.wr_id = cqe->wr_id;
	cq->vcq.cq_ex.status = cqe->status;
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	if (attr->comp_mask)
		return EINVAL;
	if (cq_empty(cq))
		uroce_progress(cq->dev->host);
	uroce_lock(&cq->lock);
	if (cq_empty(cq)) {
		uroce_unlock(&cq->lock);
		return ENOENT;
	}
	current_set(cq);
	return 0;
}

static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	/* The current entry stays until end_poll releases it, also when there is no next one. */
	if (cq->tail + 1 == atomic_load_explicit(&cq->head, memory_order_relaxed))
		return ENOENT;
	cq->tail++;
	current_set(cq);
	return 0;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	cq->tail++;
	uroce_unlock(&cq->lock);
}

static const struct uroce_cqe *current_cqe(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	return &cq->ring[cq->tail & cq->mask];
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->opcode;
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->vendor_err;
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->byte_len;
}

static __be32 ex_read_imm_data(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->imm_data;
}

static uint32_t ex_read_qp_num(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->qp_num;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->src_qp;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc_flags;
}

static uint32_t ex_read_slid(struct ibv_cq_ex *ex)
{
	return 0; /* no LIDs on Ethernet */
}

static uint8_t ex_read_sl(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->sl;
}

static uint8_t ex_read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return 0;
}

static uint64_t ex_read_completion_ts(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->timestamp;
}

static uint64_t ex_read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wallclock;
}

enum {
	WC_FLAGS = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
		   IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_DLID_PATH_BITS |
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
};

static void ex_fill(struct uroce_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = ex_start_poll;
	ex->next_poll = ex_next_poll;
	ex->end_poll = ex_end_poll;
	ex->read_opcode = ex_read_opcode;
	ex->read_vendor_err = ex_read_vendor_err;
	ex->read_wc_flags = ex_read_wc_flags;
	ex->read_byte_len = wc_flags & IBV_WC_EX_WITH_BYTE_LEN ? ex_read_byte_len : NULL;
	ex->read_imm_data = wc_flags & IBV_WC_EX_WITH_IMM ? ex_read_imm_data : NULL;
	ex->read_qp_num = wc_flags & IBV_WC_EX_WITH_QP_NUM ? ex_read_qp_num : NULL;
	ex->read_src_qp = wc_flags & IBV_WC_EX_WITH_SRC_QP ? ex_read_src_qp : NULL;
	ex->read_slid = wc_flags & IBV_WC_EX_WITH_SLID ? ex_read_slid : NULL;
	ex->read_sl = wc_flags & IBV_WC_EX_WITH_SL ? ex_read_sl : NULL;
	ex->read_dlid_path_bits = wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS ? ex_read_dlid_path_bits : NULL;
	cq->want_timestamp = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	cq->want_wallclock = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	ex->read_completion_ts = cq->want_timestamp ? ex_read_completion_ts : NULL;
	ex->read_completion_wallclock_ns = cq->want_wallclock ? ex_read_completion_wallclock_ns : NULL;
}

/* --- create, resize, destroy --- */

static uint32_t cq_size(uint32_t cqe)
{
	uint32_t size = 16;

	while (size < cqe)
		size <<= 1;
	return size;
}

static int cq_check(const struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;

	if (!attr->cqe || attr->cqe > UROCE_MAX_CQE) {
		verbs_err(ctx, "create_cq: %u entries: 1 to %u are possible", attr->cqe, UROCE_MAX_CQE);
		return -EINVAL;
	}
	if (in->extended && !comp_mask_ok(attr->wc_flags, WC_FLAGS)) {
		verbs_err(ctx, "create_cq_ex: wc_flags 0x%llx: 0x%llx are not supported",
			  (unsigned long long)attr->wc_flags, (unsigned long long)attr->wc_flags & ~WC_FLAGS);
		return -EOPNOTSUPP;
	}
	return 0;
}

int uroce_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vcq->cq.context);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	r = uroce_host_check(ctx->dev->host);
	if (r < 0)
		return r;
	cq->dev = ctx->dev;
	cq->mask = cq_size(in->attr->cqe) - 1;
	cq->ring = calloc(cq->mask + 1, sizeof(*cq->ring));
	if (!cq->ring)
		return -ENOMEM;
	vcq->cq.cqe = cq->mask + 1;
	vcq->cq.handle = atomic_fetch_add(&ctx->dev->host->next_handle, 1);
	if (in->extended)
		ex_fill(cq, in->attr->wc_flags);
	return 0;
}

int uroce_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_cqe *ring, *old;
	uint32_t size, used;

	if (in->cqe < 1 || in->cqe > UROCE_MAX_CQE) {
		verbs_err(vcq->cq.context, "cq %u: resize to %d entries: 1 to %u are possible", vcq->cq.handle, in->cqe,
			  UROCE_MAX_CQE);
		return -EINVAL;
	}
	size = cq_size(in->cqe);
	ring = calloc(size, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	uroce_lock(&cq->lock);
	used = atomic_load_explicit(&cq->head, memory_order_relaxed) - cq->tail;
	if (used > size) {
		uroce_unlock(&cq->lock);
		free(ring);
		verbs_err(vcq->cq.context, "cq %u: resize to %d entries: %u completions wait in it", vcq->cq.handle,
			  in->cqe, used);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < used; i++)
		ring[i] = cq->ring[(cq->tail + i) & cq->mask];
	old = cq->ring;
	cq->ring = ring;
	cq->mask = size - 1;
	cq->tail = 0;
	atomic_store_explicit(&cq->head, used, memory_order_relaxed);
	uroce_unlock(&cq->lock);
	free(old);
	vcq->cq.cqe = size;
	return 0;
}

int uroce_destroy_cq(struct verbs_cq *vcq)
{
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_comp_channel *channel = (struct uroce_comp_channel *)vcq->cq.channel;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vcq->cq.context);

	if (atomic_load(&cq->qps)) {
		verbs_err(vcq->cq.context, "cq %u: %u queue pairs still use it", vcq->cq.handle, atomic_load(&cq->qps));
		return -EBUSY;
	}
	pending_remove(cq);
	if (channel) {
		uroce_lock(&channel->lock);
		cq->comp_events_raised -= uroce_pipe_purge(&channel->pipe, (uintptr_t)&vcq->cq,
							   sizeof(struct ib_uverbs_comp_event_desc));
		uroce_unlock(&channel->lock);
	}
	cq->async_events_raised -= uroce_event_purge(ctx, &vcq->cq);
	verbs_cq_wait_events(vcq, cq->comp_events_raised, cq->async_events_raised);
	free(cq->ring);
	return 0;
}
