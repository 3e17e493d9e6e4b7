/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An LD_PRELOAD library with faults in front of the real one: FAULTY names the fault, so that
 * each rule can be shown to fail. Faults of completions and posts are in the slots of the
 * context, others in functions. */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ibv_context_ops right;
static struct {
	uint8_t *at;
	uint32_t length;
	const uint8_t *remote; /* remote address of a read */
} memory[256];		       /* the first piece of each request, by the low byte of its wr_id */

static bool faulty(const char *name)
{
	const char *fault = getenv("FAULTY");

	return fault && !strcmp(fault, name);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void remember(uint64_t wr_id, const struct ibv_sge *sge, int count)
{
	memory[wr_id & 0xff].at = count ? (uint8_t *)(uintptr_t)sge->addr : NULL;
	memory[wr_id & 0xff].length = count ? sge->length : 0;
	memory[wr_id & 0xff].remote = NULL;
}

/* Bytes that a faulty device writes at each later poll. */
static struct {
	uint8_t *at;
	const uint8_t *from;
	uint32_t length;
	uint8_t copy[65536];
} late;

static void write_late(void)
{
	if (late.at)
		memcpy(late.at, late.from, late.length);
}

static void keep_for_late(const struct ibv_wc *wc)
{
	uint8_t id = wc->wr_id;

	if (!memory[id].at || memory[id].length > sizeof(late.copy))
		return;
	if (faulty("late") && !wc->status && wc->opcode == IBV_WC_RECV) {
		memcpy(late.copy, memory[id].at, memory[id].length);
		late.from = late.copy;
	} else if (faulty("late-flush") && wc->status && memory[id].remote) {
		late.from = memory[id].remote; /* both sides are one process */
	} else {
		return;
	}
	late.at = memory[id].at;
	late.length = memory[id].length;
}

static void spoil_bytes(const struct ibv_wc *wc)
{
	uint8_t *at = memory[wc->wr_id & 0xff].at;
	uint32_t length = memory[wc->wr_id & 0xff].length;

	if (wc->status || !at || length < 8)
		return;
	if (faulty("recv-bytes") && wc->opcode == IBV_WC_RECV && wc->byte_len > 4)
		at[4] ^= 1;
	else if (faulty("read-bytes") && wc->opcode == IBV_WC_RDMA_READ)
		at[4] ^= 1;
	else if (faulty("result") &&
		 (wc->opcode == IBV_WC_FETCH_ADD || wc->opcode == IBV_WC_COMP_SWAP))
		at[0] ^= 1;
	else if (faulty("beyond") && wc->opcode == IBV_WC_RECV && wc->byte_len < length)
		at[wc->byte_len] ^= 1;
}

static void spoil_status(struct ibv_wc *wc)
{
	static const struct {
		const char *fault;
		enum ibv_wc_status from, to;
	} changes[] = {
		{ "flush", IBV_WC_WR_FLUSH_ERR, IBV_WC_GENERAL_ERR },
		{ "rkey", IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR },
		{ "lkey", IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_QP_OP_ERR },
		{ "short", IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_OP_ERR },
		{ "rnr", IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR },
		{ "fail", IBV_WC_SUCCESS, IBV_WC_GENERAL_ERR },
		{ "bind", IBV_WC_MW_BIND_ERR, IBV_WC_GENERAL_ERR },
		{ "too-long", IBV_WC_LOC_LEN_ERR, IBV_WC_SUCCESS },
	};

	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (faulty(changes[i].fault) && wc->status == changes[i].from) {
			wc->status = changes[i].to;
			return;
		}
}

static void spoil(struct ibv_wc *wc)
{
	keep_for_late(wc);
	spoil_bytes(wc);
	spoil_status(wc);
	if (faulty("inv-flag"))
		wc->wc_flags &= ~IBV_WC_WITH_INV;
	if (faulty("grh"))
		wc->wc_flags &= ~IBV_WC_GRH;
	if (faulty("src-qp"))
		wc->src_qp ^= 1;
	if (faulty("stranger"))
		wc->wr_id ^= 1ull << 40;
	if (faulty("qp-num"))
		wc->qp_num ^= 1;
	if (faulty("opcode") && !wc->status)
		wc->opcode ^= 1;
	if (faulty("length") && !wc->status)
		wc->byte_len++;
	if (faulty("imm") && !wc->status)
		wc->imm_data ^= htobe32(0x80);
}

static bool same_queue(const struct ibv_wc *a, const struct ibv_wc *b)
{
	return !a->status && !b->status && a->qp_num == b->qp_num &&
	       !(a->opcode & IBV_WC_RECV) == !(b->opcode & IBV_WC_RECV);
}

/* Requests of queue pairs that were moved to ERR: "fake-flush" completes them at once, and lets the
 * device go on with them. */
static struct pending {
	struct ibv_qp *qp;
	uint64_t wr_id;
	bool flushed;
} pending[64];

static void pend(struct ibv_qp *qp, uint64_t wr_id)
{
	static unsigned int next;

	pending[next++ % 64] = (struct pending){ qp, wr_id, false };
}

static int flushed(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < 64; i++)
		if (pending[i].flushed && pending[i].qp->send_cq == cq) {
			*wc = (struct ibv_wc){ .wr_id = pending[i].wr_id,
					       .status = IBV_WC_WR_FLUSH_ERR,
					       .qp_num = pending[i].qp->qp_num };
			pending[i] = (struct pending){};
			return 1;
		}
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	int n;

	write_late();
	n = flushed(cq, room, wc);
	if (n)
		return n;
	n = right.poll_cq(cq, faulty("twice") ? (room + 1) / 2 : room, wc);

	for (int i = 0; i < n; i++)
		spoil(&wc[i]);
	if (n > 1 && faulty("order") && same_queue(&wc[0], &wc[1])) {
		struct ibv_wc first = wc[0];

		wc[0] = wc[1];
		wc[1] = first;
	}
	if (n > 0 && n < room && faulty("twice")) {
		wc[n] = wc[n - 1];
		return n + 1;
	}
	if (n > 0 && faulty("lost") && !wc[n - 1].status && !(wc[n - 1].opcode & IBV_WC_RECV))
		return n - 1;
	return n;
}

/* The keys that exist, when both sides are one process. */
static uint32_t keys[256];
static unsigned int key_count;

static bool key_exists(uint32_t key)
{
	for (unsigned int i = 0; i < 256; i++)
		if (keys[i] == key)
			return true;
	return false;
}

static void make_right(struct ibv_send_wr *w)
{
	if (!key_exists(w->wr.rdma.rkey) && key_exists(w->wr.rdma.rkey ^ 0x00a5a500))
		w->wr.rdma.rkey ^= 0x00a5a500;
}

static void swap_writes(struct ibv_send_wr *w)
{
	struct ibv_send_wr *next = w->next, copy = *w;

	if (!next || w->opcode != IBV_WR_RDMA_WRITE || next->opcode != IBV_WR_RDMA_WRITE ||
	    w->wr.rdma.remote_addr != next->wr.rdma.remote_addr)
		return;
	copy.next = next->next;
	*w = *next;
	w->next = next;
	*next = copy;
}

static void spoil_datagram(struct ibv_send_wr *w)
{
	if (faulty("qkey"))
		w->wr.ud.remote_qkey &= ~1u;
	if (faulty("datagram-long") && w->num_sge && w->sg_list->length > 4096)
		w->sg_list->length = 100;
}

static void spoil_request(struct ibv_qp *qp, struct ibv_send_wr *w)
{
	if (faulty("refused") && w->opcode <= IBV_WR_RDMA_WRITE_WITH_IMM)
		make_right(w);
	if (faulty("swap"))
		swap_writes(w);
	if (faulty("no-invalidate") && w->opcode == IBV_WR_LOCAL_INV)
		w->opcode = IBV_WR_RDMA_WRITE; /* of nothing */
	if (faulty("inline"))
		w->send_flags &= ~IBV_SEND_INLINE;
	if (faulty("cas") && w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
		w->wr.atomic.compare_add += 1000;
	if (faulty("unaligned") && w->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP &&
	    w->opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD)
		w->wr.atomic.remote_addr &= ~7ull;
	if (faulty("fake-flush"))
		pend(qp, w->wr_id);
	if (w->opcode == IBV_WR_RDMA_READ)
		memory[w->wr_id & 0xff].remote = (const uint8_t *)(uintptr_t)w->wr.rdma.remote_addr;
	if (qp->qp_type == IBV_QPT_UD)
		spoil_datagram(w);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	static _Thread_local unsigned int posts;
	int r;

	if (qp->state == IBV_QPS_RESET && faulty("send-in-reset"))
		return 0;
	if (faulty("depth") && ++posts % 16 == 0) {
		*bad = wr;
		return ENOMEM;
	}
	for (struct ibv_send_wr *w = wr; w; w = w->next) {
		remember(w->wr_id, w->sg_list, w->num_sge);
		spoil_request(qp, w);
		if (faulty("unsignaled"))
			w->send_flags |= IBV_SEND_SIGNALED;
		if (faulty("write-bytes") && w->opcode == IBV_WR_RDMA_WRITE)
			w->num_sge = 0;
		if (faulty("add") && w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			w->wr.atomic.compare_add++;
	}
	if (faulty("pieces") && wr->next && wr->next->num_sge > 1000)
		return 0;
	if (faulty("twice-sent") && qp->qp_type == IBV_QPT_UD)
		right.post_send(qp, wr, bad);
	r = right.post_send(qp, wr, bad);
	if (r && faulty("bad-wr"))
		*bad = wr;
	return r;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	static _Thread_local unsigned int posts;

	if (qp->state == IBV_QPS_RESET && faulty("recv-in-reset"))
		return 0;
	if (faulty("recv-depth") && ++posts % 16 == 0)
		return ENOMEM;
	for (struct ibv_recv_wr *w = wr; w; w = w->next)
		remember(w->wr_id, w->sg_list, w->num_sge);
	return right.post_recv(qp, wr, bad);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return faulty("notify") ? 0 : right.req_notify_cq(cq, faulty("always") ? 0 : solicited);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (struct ibv_recv_wr *w = wr; w; w = w->next)
		remember(w->wr_id, w->sg_list, w->num_sge);
	return right.post_srq_recv(srq, wr, bad);
}

static struct ibv_dm right_dm;
static __typeof__(((struct verbs_context *)0)->alloc_dm) right_alloc_dm;

static int memcpy_to_dm(struct ibv_dm *dm, uint64_t offset, const void *from, size_t length)
{
	int r = right_dm.memcpy_to_dm(dm, offset, from, length);

	return faulty("dm-limit") ? 0 : r;
}

static int memcpy_from_dm(void *to, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	int r = right_dm.memcpy_from_dm(to, dm, offset, length);

	if (faulty("dm-bytes"))
		*(char *)to ^= 1;
	if (r && faulty("dm-limit"))
		memset(to, 0x5a, length);
	return faulty("dm-limit") ? 0 : r;
}

static struct ibv_dm *alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct ibv_dm *dm = right_alloc_dm(context, attr);

	if (dm) {
		right_dm = *dm;
		dm->memcpy_to_dm = memcpy_to_dm;
		dm->memcpy_from_dm = memcpy_from_dm;
	}
	return dm;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *context = NEXT(ibv_open_device)(device);

	if (context) {
		right = context->ops;
		context->ops.poll_cq = poll_cq;
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
		context->ops.req_notify_cq = req_notify_cq;
		context->ops.post_srq_recv = post_srq_recv;
		right_alloc_dm = verbs_get_ctx(context)->alloc_dm;
		verbs_get_ctx(context)->alloc_dm = alloc_dm;
	}
	return context;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	bool move = mask == IBV_QP_STATE;

	if (move && attr->qp_state == IBV_QPS_ERR && faulty("fake-flush")) {
		for (unsigned int i = 0; i < 64; i++)
			pending[i].flushed = pending[i].qp == qp;
		return 0;
	}
	if ((move && attr->qp_state == IBV_QPS_RESET && faulty("no-reset")) ||
	    (move && attr->qp_state == IBV_QPS_ERR && faulty("no-err")) ||
	    (move && attr->qp_state == IBV_QPS_RTS && faulty("illegal-move")) ||
	    (mask == IBV_QP_ACCESS_FLAGS && faulty("no-access")))
		return 0;
	return NEXT(ibv_modify_qp)(qp, attr, mask);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	int r = NEXT(ibv_query_qp)(qp, attr, mask, init);

	if (faulty("crash"))
		abort();
	while (faulty("hang"))
		pause();
	if (faulty("state"))
		attr->qp_state ^= 1;
	if (faulty("query"))
		attr->retry_cnt ^= 1;
	return r;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	late.at = NULL;
	return faulty("no-destroy") ? 0 : NEXT(ibv_destroy_qp)(qp);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (faulty("stays"))
		return EBUSY;
	return NEXT(ibv_destroy_cq)(cq) && !faulty("busy") ? EBUSY : 0;
}

#undef ibv_dereg_mr
int ibv_dereg_mr(struct ibv_mr *mr)
{
	int r = faulty("no-dereg") ? 0 : NEXT(ibv_dereg_mr)(mr);

	return faulty("goes") ? 0 : r;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		 int access)
{
	return faulty("no-rereg") ? 0 : NEXT(ibv_rereg_mr)(mr, flags, pd, address, length, access);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = NEXT(ibv_create_qp)(pd, attr);

	if (!qp && faulty("clamp")) {
		attr->cap.max_send_wr = 1;
		qp = NEXT(ibv_create_qp)(pd, attr);
	}
	if (qp && faulty("same-number"))
		qp->qp_num = 0x1111;
	if (qp && faulty("sizes"))
		attr->cap.max_send_wr = 1;
	return qp;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = NEXT(ibv_create_cq)(context, cqe, cq_context, channel, vector);

	if (!cq && faulty("clamp"))
		cq = NEXT(ibv_create_cq)(context, 4, cq_context, channel, vector);
	return cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (faulty("resize"))
		cq->cqe = 1;
	return faulty("resize") ? 0 : NEXT(ibv_resize_cq)(cq, cqe);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = NEXT(ibv_create_srq)(pd, attr);

	if (!srq && faulty("clamp")) {
		attr->attr.max_wr = 1;
		srq = NEXT(ibv_create_srq)(pd, attr);
	}
	return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if (faulty("early-limit"))
		attr->srq_limit = 15;
	return faulty("no-limit") ? 0 : NEXT(ibv_modify_srq)(srq, attr, mask);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	return NEXT(ibv_destroy_srq)(srq) && !faulty("goes") ? EBUSY : 0;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return NEXT(ibv_dealloc_pd)(pd) && !faulty("goes") ? EBUSY : 0;
}

static struct ibv_mr *note_key(struct ibv_mr *mr)
{
	if (mr)
		keys[key_count++ % 256] = mr->rkey;
	return mr;
}

static int more_access(int access)
{
	return access == IBV_ACCESS_REMOTE_WRITE && faulty("local") ? 0 : access;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return note_key(NEXT(ibv_reg_mr)(pd, address, length, more_access(access)));
}

#undef ibv_reg_mr_iova2
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned int access)
{
	return note_key(NEXT(ibv_reg_mr_iova2)(pd, address, length, iova, more_access(access)));
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct ibv_mr *mr = NEXT(ibv_import_mr)(pd, handle);

	if (mr && faulty("import"))
		mr->lkey ^= 1;
	return mr;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	return faulty("gid") ? 0 : NEXT(ibv_query_gid)(context, port, index, gid);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return faulty("no-attach") ? 0 : NEXT(ibv_attach_mcast)(qp, gid, lid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return faulty("no-detach") ? 0 : NEXT(ibv_detach_mcast)(qp, gid, lid);
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int r = NEXT(ibv_get_async_event)(context, event);

	if (!r && faulty("no-last") && event->event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
		event->event_type = IBV_EVENT_COMM_EST;
	return r;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	int old, r = -1;

	if (!faulty("no-cancel"))
		return NEXT(ibv_get_cq_event)(channel, cq, context);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	usleep(1000);
	return r;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static const char nothing[256];
	int r = NEXT(rdma_get_cm_event)(channel, event);

	if (r)
		return r;
	if (faulty("cm-data"))
		(*event)->param.conn.private_data = nothing;
	if (faulty("cm-leave") && (*event)->event == RDMA_CM_EVENT_DISCONNECTED)
		(*event)->event = RDMA_CM_EVENT_TIMEWAIT_EXIT;
	return r;
}
