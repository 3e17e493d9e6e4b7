/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One connection of rping: queues, buffers, and the handling of events. */
#include <poll.h>
#include <stdarg.h>

#include "rping.h"

void rping_trace(const char *fmt, ...)
{
	va_list args;

	if (!rping_opt.debug)
		return;
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
}

int rping_fail(struct rping *ping, const char *call)
{
	ping->state = ERROR;
	return tool_perror("", call);
}

/* ---- queues and buffers ---- */

static int modify_to(struct rping *ping, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, r;

	if (rdma_init_qp_attr(ping->id, &attr, &mask))
		return rping_fail(ping, "rdma_init_qp_attr");
	r = ibv_modify_qp(ping->qp, &attr, mask);
	if (!r)
		return 0;
	errno = r;
	return rping_fail(ping, "ibv_modify_qp");
}

int rping_modify_to_rts(struct rping *ping)
{
	/* Set INIT again, because the access rights for the peer are known only now. */
	int r = modify_to(ping, IBV_QPS_INIT);

	if (!r)
		r = modify_to(ping, IBV_QPS_RTR);
	return r ? r : modify_to(ping, IBV_QPS_RTS);
}

struct rdma_conn_param rping_conn_param(const struct rping *ping)
{
	return (struct rdma_conn_param){
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = ping->qp->qp_num,
	};
}

static int create_qp(struct rping *ping)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = ping->cq,
		.recv_cq = ping->cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (rping_opt.own_qp) {
		ping->qp = ibv_create_qp(ping->pd, &attr);
		if (!ping->qp)
			return rping_fail(ping, "ibv_create_qp");
		return modify_to(ping, IBV_QPS_INIT);
	}
	if (rdma_create_qp(ping->id, ping->pd, &attr))
		return rping_fail(ping, "rdma_create_qp");
	ping->qp = ping->id->qp;
	return 0;
}

static int queues_open(struct rping *ping)
{
	struct ibv_context *verbs = ping->id->verbs;

	ping->pd = ibv_alloc_pd(verbs);
	if (!ping->pd)
		return rping_fail(ping, "ibv_alloc_pd");
	rping_trace("created pd %p\n", (void *)ping->pd);
	ping->completions = ibv_create_comp_channel(verbs);
	if (!ping->completions)
		return rping_fail(ping, "ibv_create_comp_channel");
	rping_trace("created channel %p\n", (void *)ping->completions);
	ping->cq = ibv_create_cq(verbs, 8, ping, ping->completions, 0);
	if (!ping->cq || ibv_req_notify_cq(ping->cq, 0))
		return rping_fail(ping, "ibv_create_cq");
	rping_trace("created cq %p\n", (void *)ping->cq);
	if (create_qp(ping))
		return -1;
	rping_trace("created qp %p\n", (void *)ping->qp);
	return 0;
}

static struct ibv_mr *reg(struct rping *ping, void *addr, size_t length)
{
	return ibv_reg_mr(ping->pd, addr, length,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_WRITE);
}

static int post_recv(struct rping *ping)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&ping->recv,
			       .length = sizeof(ping->recv),
			       .lkey = ping->recv_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = RECV, .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(ping->qp, &wr, &bad);
	return errno ? rping_fail(ping, "ibv_post_recv") : 0;
}

static int buffers_open(struct rping *ping)
{
	rping_trace("rping_setup_buffers called on cb %p\n", (void *)ping);
	ping->source = calloc(1, rping_opt.size + 1);
	ping->sink = calloc(1, rping_opt.size + 1);
	if (!ping->source || !ping->sink)
		return rping_fail(ping, "malloc");
	ping->recv_mr =
		ibv_reg_mr(ping->pd, &ping->recv, sizeof(ping->recv), IBV_ACCESS_LOCAL_WRITE);
	ping->send_mr = ibv_reg_mr(ping->pd, &ping->send, sizeof(ping->send), 0);
	ping->source_mr = reg(ping, ping->source, rping_opt.size);
	ping->sink_mr = reg(ping, ping->sink, rping_opt.size);
	if (!ping->recv_mr || !ping->send_mr || !ping->source_mr || !ping->sink_mr)
		return rping_fail(ping, "ibv_reg_mr");
	rping_trace("allocated & registered buffers...\n");
	return post_recv(ping);
}

int rping_open(struct rping *ping)
{
	int r = queues_open(ping);

	if (r)
		return r;
	r = buffers_open(ping);
	if (r)
		fprintf(stderr, "rping_setup_buffers failed: %d\n", r);
	return r;
}

static void dereg(struct ibv_mr *mr)
{
	if (mr)
		ibv_dereg_mr(mr);
}

void rping_close(struct rping *ping)
{
	rping_trace("rping_free_buffers called on cb %p\n", (void *)ping);
	if (ping->qp && rping_opt.own_qp)
		ibv_destroy_qp(ping->qp);
	else if (ping->qp)
		rdma_destroy_qp(ping->id);
	dereg(ping->recv_mr);
	dereg(ping->send_mr);
	dereg(ping->source_mr);
	dereg(ping->sink_mr);
	free(ping->source);
	free(ping->sink);
	if (ping->cq)
		ibv_destroy_cq(ping->cq);
	if (ping->completions)
		ibv_destroy_comp_channel(ping->completions);
	if (ping->pd)
		ibv_dealloc_pd(ping->pd);
	if (ping->id) {
		rping_trace("destroy cm_id %p\n", (void *)ping->id);
		rdma_destroy_id(ping->id);
	}
}

static int post(struct rping *ping, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags = IBV_SEND_SIGNALED;
	wr->num_sge = 1;
	errno = ibv_post_send(ping->qp, wr, &bad);
	return errno ? rping_fail(ping, "ibv_post_send") : 0;
}

int rping_send(struct rping *ping, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&ping->send,
			       .length = sizeof(ping->send),
			       .lkey = ping->send_mr->lkey };
	struct ibv_send_wr wr = { .wr_id = SEND, .sg_list = &sge, .opcode = IBV_WR_SEND };

	if (mr) {
		ping->send = (struct rping_message){ .addr = htobe64((uintptr_t)mr->addr),
						     .rkey = htobe32(mr->rkey),
						     .size = htobe32(rping_opt.size) };
		rping_trace("RDMA addr %lx rkey %x len %d\n", (unsigned long)mr->addr, mr->rkey,
			    rping_opt.size);
	}
	return post(ping, &wr);
}

int rping_post_rdma(struct rping *ping, int kind, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)ping->sink,
			       .length = length,
			       .lkey = ping->sink_mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = kind,
		.sg_list = &sge,
		.opcode = kind == READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = ping->remote_addr, .rkey = ping->remote_rkey },
	};

	return post(ping, &wr);
}

/* ---- events ---- */

static int on_place(struct rping *ping)
{
	ping->remote_addr = be64toh(ping->recv.addr);
	ping->remote_rkey = be32toh(ping->recv.rkey);
	ping->remote_size = be32toh(ping->recv.size);
	rping_trace("Received rkey %x addr %lx len %d from peer\n", ping->remote_rkey,
		    (unsigned long)ping->remote_addr, ping->remote_size);
	ping->state = ping->state <= CONNECTED || ping->state == RDMA_WRITE_COMPLETE
			      ? RDMA_READ_ADV
			      : RDMA_WRITE_ADV;
	if (ping->remote_size <= rping_opt.size)
		return 0;
	fprintf(stderr, "a ping of %u bytes came; the server takes -S %d at most\n",
		ping->remote_size, rping_opt.size);
	ping->state = ERROR;
	return -1;
}

static int on_recv(struct rping *ping, const struct ibv_wc *wc)
{
	rping_trace("recv completion\n");
	if (wc->byte_len != sizeof(ping->recv)) {
		fprintf(stderr, "Received bogus data, size %d\n", wc->byte_len);
		ping->state = ERROR;
		return -1;
	}
	if (rping_opt.server) {
		if (on_place(ping))
			return -1;
	} else if (ping->state == CONNECTED || ping->state == RDMA_WRITE_COMPLETE) {
		ping->state = RDMA_WRITE_ADV;
	} else {
		ping->state = RDMA_WRITE_COMPLETE;
	}
	return post_recv(ping);
}

static int on_completion(struct rping *ping, const struct ibv_wc *wc)
{
	/* The cause was reported before, or DISCONNECTED will follow. */
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return 0;
	if (wc->status) {
		fprintf(stderr, "cq completion failed status %d (%s)\n", wc->status,
			ibv_wc_status_str(wc->status));
		ping->state = ERROR;
		return -1;
	}
	switch (wc->wr_id) {
	case SEND:
		rping_trace("send completion\n");
		return 0;
	case READ:
		rping_trace("rdma read completion\n");
		ping->state = RDMA_READ_COMPLETE;
		return 0;
	case WRITE:
		rping_trace("rdma write completion\n");
		ping->state = RDMA_WRITE_COMPLETE;
		return 0;
	default:
		return on_recv(ping, wc);
	}
}

static int completions_take(struct rping *ping)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int n, r = 0;

	if (ibv_get_cq_event(ping->completions, &cq, &context))
		return rping_fail(ping, "Failed to get cq event!");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		return rping_fail(ping, "Failed to set notify!");
	while (!r && (n = ibv_poll_cq(cq, 1, &wc)) > 0)
		r = on_completion(ping, &wc);
	return r;
}

static int on_response(struct rping *ping)
{
	rping_trace("CONNECT_RESPONSE\n");
	if (rping_modify_to_rts(ping))
		return -1;
	if (rdma_establish(ping->id))
		return rping_fail(ping, "rdma_establish");
	ping->state = CONNECTED;
	return 0;
}

static int on_event(struct rping *ping, const struct rdma_cm_event *event)
{
	rping_trace("cma_event type %s cma_id %p (%s)\n", rdma_event_str(event->event),
		    (void *)event->id,
		    rping_opt.client || event->id == ping->listen ? "parent" : "child");
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ping->state = ADDR_RESOLVED;
		return rdma_resolve_route(ping->id, RPING_RESOLVE_MS)
			       ? rping_fail(ping, "rdma_resolve_route")
			       : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ping->state = ROUTE_RESOLVED;
		return 0;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		ping->request = event->id;
		rping_trace("child cma %p\n", (void *)event->id);
		return 0;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return on_response(ping);
	case RDMA_CM_EVENT_ESTABLISHED:
		rping_trace("ESTABLISHED\n");
		/* The client's first message may have arrived earlier. */
		ping->state = max_of(ping->state, CONNECTED);
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		fprintf(stderr, "%s DISCONNECT EVENT...\n", ping->side);
		ping->state = DISCONNECTED;
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		fprintf(stderr, "cma detected device removal!!!!\n");
		ping->state = ERROR;
		return -1;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rping_trace("unhandled event: %s, ignoring\n", rdma_event_str(event->event));
		return 0;
	default:
		fprintf(stderr, "cma event %s, error %d\n", rdma_event_str(event->event),
			event->status);
		tool_explain_event(event);
		ping->state = ERROR;
		return -1;
	}
}

/* Refuse a request, because a client is being served and -P was not given. */
static void request_refuse(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

int rping_take_event(struct rping *ping)
{
	struct rdma_cm_event *event;
	int r;

	if (rdma_get_cm_event(ping->events, &event))
		return rping_fail(ping, "rdma_get_cm_event");
	r = on_event(ping, event);
	rdma_ack_cm_event(event);
	if (ping->id && ping->request)
		request_refuse(take_ptr(&ping->request));
	return r;
}

int rping_take(struct rping *ping)
{
	struct pollfd fds[] = {
		{ .fd = ping->events->fd, .events = POLLIN },
		{ .fd = ping->completions ? ping->completions->fd : -1, .events = POLLIN },
	};

	if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 0 : rping_fail(ping, "poll");
	/* Completions from before the end of the connection count. */
	if (fds[1].revents)
		return completions_take(ping);
	return rping_take_event(ping);
}

/* Wait for a state. Return: 0; -1: the connection ended before. */
int rping_wait(struct rping *ping, enum rping_state state, const char *name)
{
	while (ping->state < DISCONNECTED && ping->state != state)
		rping_take(ping);
	if (ping->state == state)
		return 0;
	fprintf(stderr, "wait for %s state %d\n", name, ping->state);
	return -1;
}
