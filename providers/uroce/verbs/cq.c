/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues and channels. */
#include <string.h>
#include <time.h>

#include <rdma/ib_user_verbs.h>

#include <infiniband/uroce.h>
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

/* --- channels --- */

int uroce_create_comp_channel(struct ibv_comp_channel *channel)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_comp_channel *uchannel = (struct uroce_comp_channel *)channel;
	int r = uroce_host_check(ctx_host(channel->context));

	if (!r)
		r = uroce_pipe_open(&uchannel->pipe);
	if (r < 0)
		return r;
	channel->fd = uchannel->pipe.read_fd;
	return 0;
}

void uroce_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_comp_channel *uchannel = (struct uroce_comp_channel *)channel;

	uroce_pipe_close_write(&uchannel->pipe);
	close(channel->fd);
}

/* --- polling --- */

static int cq_take(struct uroce_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t head, tail;
	int n = 0;

	uroce_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	while (n < num_entries && tail != head) {
		const struct uroce_cqe *cqe = &cq->ring[tail++ & cq->mask];

		wc[n++] = cqe->wc;
		sq_polled(cqe->sq);
	}
	atomic_store_explicit(&cq->tail, tail, memory_order_relaxed);
	uroce_unlock(&cq->lock);
	return n;
}

static struct uroce_host *cq_host(const struct uroce_cq *cq)
{
	return engine_host(cq->engine);
}

static inline int cq_poll(struct uroce_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n;

	if (uroce_cq_empty(cq)) {
		uroce_sink = (struct uroce_sink){ .cq = cq, .wc = wc, .room = num_entries };
		uroce_progress(cq_host(cq), cq);
		uroce_sink.cq = NULL;
		n = num_entries - uroce_sink.room;
		if (n || uroce_cq_empty(cq))
			return n;
	}
	return cq_take(cq, num_entries, wc);
}

int uroce_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	int n = uroce_host_check(cq_host(to_ucq(ibcq)));

	if (unlikely(n < 0))
		return n;
	n = cq_poll(to_ucq(ibcq), num_entries, wc);
	for (int i = 0; i < n; i++)
		verbs_data_wc(ibcq, &wc[i]);
	return n;
}

int uroce_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct uroce_cq *cq = to_ucq(ibcq);
	int r = uroce_host_check(cq_host(cq));

	if (unlikely(r < 0))
		return -r;
	uroce_lock(&cq->lock);
	atomic_store_explicit(solicited_only ? &cq->armed_solicited : &cq->armed_next, true,
			      memory_order_relaxed);
	uroce_unlock(&cq->lock);
	uroce_thread_poller_leaves(cq_host(cq));
	return 0;
}

/*
 * --- the ibv_start_poll() family ---
 *
 * ibv_start_poll() and ibv_next_poll() copy the current completion out of the ring. Between start
 * and end, completions can therefore arrive, and the application can post and poll as usual. Only
 * another start of the same CQ waits.
 */

static bool current_take(struct uroce_cq *cq)
{
	uint32_t tail;
	bool taken;

	uroce_lock(&cq->lock);
	taken = !uroce_cq_empty(cq);
	if (taken) {
		tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
		cq->current = cq->ring[tail & cq->mask];
		sq_polled(cq->current.sq);
		atomic_store_explicit(&cq->tail, tail + 1, memory_order_relaxed);
	}
	uroce_unlock(&cq->lock);
	if (!taken)
		return false;
	cq->vcq.cq_ex.wr_id = cq->current.wc.wr_id;
	cq->vcq.cq_ex.status = cq->current.wc.status;
	verbs_data_wc(&cq->vcq.cq, &cq->current.wc);
	return true;
}

static void ex_end_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	if (!cq->single_threaded)
		uroce_unlock(&cq->poll_lock);
}

static int ex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	if (unlikely(!uroce_host_here(cq_host(cq))))
		return -uroce_host_inherited(cq_host(cq));
	if (!cq->single_threaded)
		uroce_lock(&cq->poll_lock);
	if (uroce_cq_empty(cq))
		uroce_progress(cq_host(cq), cq);
	if (!uroce_cq_empty(cq) && current_take(cq))
		return 0;
	ex_end_poll(ex);
	return ENOENT;
}

static int ex_next_poll(struct ibv_cq_ex *ex)
{
	struct uroce_cq *cq = (struct uroce_cq *)ex;

	if (unlikely(!uroce_host_here(cq_host(cq))))
		return -uroce_host_inherited(cq_host(cq));
	return !uroce_cq_empty(cq) && current_take(cq) ? 0 : ENOENT;
}

static const struct uroce_cqe *current_cqe(struct ibv_cq_ex *ex)
{
	return &((struct uroce_cq *)ex)->current;
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.opcode;
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.vendor_err;
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.byte_len;
}

static __be32 ex_read_imm_data(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.imm_data;
}

static uint32_t ex_read_qp_num(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.qp_num;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.src_qp;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.wc_flags;
}

static uint32_t ex_read_slid(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.slid;
}

static uint8_t ex_read_sl(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.sl;
}

static uint8_t ex_read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->wc.dlid_path_bits;
}

static uint64_t ex_read_completion_ts(struct ibv_cq_ex *ex)
{
	return current_cqe(ex)->timestamp;
}

static uint64_t ex_read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct timespec t;
	uint64_t since = uroce_now() - current_cqe(ex)->timestamp;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec - since;
}

enum {
	WC_FLAGS = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
		   IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
		   IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	CREATE_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
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
	ex->read_dlid_path_bits =
		wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS ? ex_read_dlid_path_bits : NULL;
	cq->want_timestamp = wc_flags & (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
					 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	ex->read_completion_ts =
		wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP ? ex_read_completion_ts : NULL;
	ex->read_completion_wallclock_ns = wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK
						   ? ex_read_completion_wallclock_ns
						   : NULL;
}

/* --- create, resize, destroy --- */

static uint32_t cq_size(uint32_t cqe)
{
	uint32_t size = 16;

	while (size < cqe)
		size <<= 1;
	return size;
}

static int ring_alloc(struct uroce_memory *memory, const struct uroce_cq *cq, uint32_t size)
{
	return uroce_memory_get(memory, cq->vcq.parent ? &cq->vcq.parent->pd : NULL,
				size * sizeof(struct uroce_cqe), sizeof(struct uroce_cqe),
				UROCE_RES_TYPE_COMPLETION_QUEUE);
}

static int cq_check(const struct ibv_context *ctx, const struct verbs_create_cq *in)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;

	if (!attr->cqe || attr->cqe > UROCE_MAX_CQE) {
		verbs_err(ctx, "create_cq: %u entries: 1 to %u are possible", attr->cqe,
			  UROCE_MAX_CQE);
		return -EINVAL;
	}
	if (in->extended && !comp_mask_ok(attr->wc_flags, WC_FLAGS)) {
		verbs_err(ctx, "create_cq_ex: wc_flags 0x%llx: 0x%llx are not supported",
			  (unsigned long long)attr->wc_flags,
			  (unsigned long long)attr->wc_flags & ~WC_FLAGS);
		return -EOPNOTSUPP;
	}
	if (in->extended && (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !comp_mask_ok(attr->flags, CREATE_FLAGS)) {
		verbs_err(ctx, "create_cq_ex: flags 0x%x: 0x%x are known", attr->flags,
			  CREATE_FLAGS);
		return -EOPNOTSUPP;
	}
	return 0;
}

int uroce_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vcq->cq.context);
	int r = cq_check(vcq->cq.context, in);

	if (r < 0)
		return r;
	r = uroce_host_check(ctx->dev->host);
	if (r < 0)
		return r;
	cq->engine = &ctx->dev->host->engine;
	cq->mask = cq_size(in->attr->cqe) - 1;
	r = ring_alloc(&cq->memory, cq, cq->mask + 1);
	if (r < 0)
		return r;
	cq->ring = cq->memory.at;
	cq->single_threaded = (in->attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
			      (in->attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	cq->limit = uroce_granted(vcq->cq.context, in->attr->cqe, cq->mask + 1);
	vcq->cq.cqe = cq->limit;
	vcq->cq.handle = atomic_fetch_add(&ctx->dev->host->next_handle, 1);
	if (in->extended)
		ex_fill(cq, in->attr->wc_flags);
	return 0;
}

/*
 * Move waiting completions into @memory, and swap the two rings. Return: the number of waiting
 * completions. If it is more than the requested @cqe nothing has changed, although the ring, which
 * is rounded up, might have room for them.
 */
static uint32_t ring_replace(struct uroce_cq *cq, struct uroce_memory *memory, uint32_t size,
			     uint32_t cqe)
{
	struct uroce_memory old = cq->memory;
	struct uroce_cqe *ring = memory->at;
	uint32_t tail, used;

	uroce_lock(&cq->lock);
	tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	used = atomic_load_explicit(&cq->head, memory_order_relaxed) - tail;
	if (used <= cqe) {
		for (uint32_t i = 0; i < used; i++)
			ring[i] = cq->ring[(tail + i) & cq->mask];
		cq->ring = ring;
		cq->memory = *memory;
		*memory = old;
		cq->mask = size - 1;
		cq->limit = uroce_granted(cq->vcq.cq.context, cqe, size);
		atomic_store_explicit(&cq->tail, 0, memory_order_relaxed);
		atomic_store_explicit(&cq->head, used, memory_order_relaxed);
	}
	uroce_unlock(&cq->lock);
	return used;
}

int uroce_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_memory memory;
	uint32_t size, waiting;
	int r = uroce_host_check(cq_host(cq));

	if (r < 0)
		return r;
	if (in->cqe < 1 || in->cqe > UROCE_MAX_CQE) {
		verbs_err(vcq->cq.context, "cq %u: resize to %d entries: 1 to %u are possible",
			  vcq->cq.handle, in->cqe, UROCE_MAX_CQE);
		return -EINVAL;
	}
	size = cq_size(in->cqe);
	r = ring_alloc(&memory, cq, size);
	if (r < 0)
		return r;
	waiting = ring_replace(cq, &memory, size, in->cqe);
	uroce_memory_put(&memory);
	if (waiting > (uint32_t)in->cqe) {
		verbs_err(vcq->cq.context, "cq %u: resize to %d entries: %u completions wait in it",
			  vcq->cq.handle, in->cqe, waiting);
		return -EINVAL;
	}
	vcq->cq.cqe = cq->limit;
	return 0;
}

/*
 * Accept any moderation and do nothing: completions are available at once, which each moderation
 * allows.
 */
int uroce_modify_cq(struct verbs_cq *vcq, struct ibv_modify_cq_attr *attr)
{
	return uroce_host_check(ctx_host(vcq->cq.context));
}

int uroce_destroy_cq(struct verbs_cq *vcq)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_cq *cq = (struct uroce_cq *)vcq;
	struct uroce_comp_channel *channel = (struct uroce_comp_channel *)vcq->cq.channel;
	struct uroce_context *ctx = (struct uroce_context *)to_vctx(vcq->cq.context);
	int r = uroce_host_check(ctx->dev->host);

	if (r < 0)
		return r;
	if (atomic_load(&cq->qps)) {
		verbs_err(vcq->cq.context,
			  "cq %u: %u queue pairs and XRC SRQs still use it: destroy them first",
			  vcq->cq.handle, atomic_load(&cq->qps));
		return -EBUSY;
	}
	uroce_cq_events_forget(cq);
	if (channel) {
		uroce_lock(&channel->lock);
		if (cq->comp_events_raised)
			cq->comp_events_raised -=
				uroce_pipe_purge(&channel->pipe, (uintptr_t)&vcq->cq,
						 sizeof(struct ib_uverbs_comp_event_desc));
		uroce_unlock(&channel->lock);
	}
	uroce_event_purge(ctx, &vcq->cq, &cq->async_events_raised);
	verbs_cq_wait_events(vcq, cq->comp_events_raised, cq->async_events_raised);
	uroce_memory_put(&cq->memory);
	return 0;
}
