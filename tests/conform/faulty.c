/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An LD_PRELOAD library with faults in front of the real one: FAULTY names the fault, so that
 * each rule can be shown to fail. Faults of completions and posts are in the slots of the
 * context, others in functions. */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ibv_context_ops right;
static struct {
	uint8_t *at;
	uint32_t length;
} memory[256]; /* the first piece of each request, by the low byte of its wr_id */

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
	};

	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (faulty(changes[i].fault) && wc->status == changes[i].from) {
			wc->status = changes[i].to;
			return;
		}
}

static void spoil(struct ibv_wc *wc)
{
	spoil_bytes(wc);
	spoil_status(wc);
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

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	int n = right.poll_cq(cq, faulty("twice") ? (room + 1) / 2 : room, wc);

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

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	static _Thread_local unsigned int posts;

	if (qp->state == IBV_QPS_RESET && faulty("send-in-reset"))
		return 0;
	if (faulty("depth") && ++posts % 16 == 0) {
		*bad = wr;
		return ENOMEM;
	}
	for (struct ibv_send_wr *w = wr; w; w = w->next) {
		remember(w->wr_id, w->sg_list, w->num_sge);
		if (faulty("unsignaled"))
			w->send_flags |= IBV_SEND_SIGNALED;
		if (faulty("write-bytes") && w->opcode == IBV_WR_RDMA_WRITE)
			w->num_sge = 0;
		if (faulty("add") && w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
			w->wr.atomic.compare_add++;
	}
	return right.post_send(qp, wr, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (qp->state == IBV_QPS_RESET && faulty("recv-in-reset"))
		return 0;
	for (struct ibv_recv_wr *w = wr; w; w = w->next)
		remember(w->wr_id, w->sg_list, w->num_sge);
	return right.post_recv(qp, wr, bad);
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return faulty("notify") ? 0 : right.req_notify_cq(cq, solicited);
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
	}
	return context;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	bool move = mask == IBV_QP_STATE;

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
	return r;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
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
	return faulty("no-dereg") ? 0 : NEXT(ibv_dereg_mr)(mr);
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *address, size_t length,
		 int access)
{
	return faulty("no-rereg") ? 0 : NEXT(ibv_rereg_mr)(mr, flags, pd, address, length, access);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = NEXT(ibv_create_qp)(pd, attr);

	if (qp && faulty("sizes"))
		attr->cap.max_send_wr = 1;
	return qp;
}
