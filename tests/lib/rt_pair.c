/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of connected queue pairs, and their completions. */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "tests/lib/rt.h"

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static uint32_t queue_size(uint32_t value)
{
	return value == RT_NONE ? 0 : or_default(value, 16);
}

static enum ibv_qp_type side_type(const struct rt_side *side)
{
	return or_default(side->options.type, IBV_QPT_RC);
}

static void create_cq(struct rt_side *side)
{
	uint32_t cqe = or_default(side->options.cqe, 64);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = side->channel,
		.wc_flags = side->options.wc_flags,
	};

	if (side->options.cq_ex)
		side->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(side->dev->ctx, &attr));
	else
		side->cq = ibv_create_cq(side->dev->ctx, cqe, NULL, side->channel, 0);
	if (!side->cq && side->options.cq_ex && errno == EOPNOTSUPP)
		rt_skip("the device has no extended completion queues");
	CHECK(side->cq);
}

static void create_srq(struct rt_side *side)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = or_default(side->options.recv_wr, 16),
			  .max_sge = or_default(side->options.sge, 1) },
	};

	side->srq = ibv_create_srq(side->dev->pd, &attr);
	if (!side->srq && errno == EOPNOTSUPP)
		rt_skip("the device has no shared receive queues");
	CHECK(side->srq);
	side->srq_owner = true;
}

static void create_qp(struct rt_side *side)
{
	const struct rt_options *o = &side->options;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.srq = side->srq,
		.cap = {
			.max_send_wr = queue_size(o->send_wr),
			.max_recv_wr = side->srq ? 0 : queue_size(o->recv_wr),
			.max_send_sge = or_default(o->sge, 1),
			.max_recv_sge = side->srq ? 0 : or_default(o->sge, 1),
			.max_inline_data = o->inline_data,
		},
		.qp_type = side_type(side),
		.sq_sig_all = o->sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (o->send_ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = side->dev->pd,
		.send_ops_flags = o->send_ops,
	};

	if (o->send_ops)
		side->qp = ibv_create_qp_ex(side->dev->ctx, &attr);
	else
		side->qp = ibv_create_qp(side->dev->pd, (struct ibv_qp_init_attr *)&attr);
	if (!side->qp && errno == EOPNOTSUPP)
		rt_skip("the device has no queue pair of type %d with operations 0x%llx",
			attr.qp_type, (unsigned long long)o->send_ops);
	if (!side->qp && errno == EINVAL && rt_is_iwarp(side->dev) && o->inline_data > 80)
		rt_skip("the device has no %u bytes inline", o->inline_data);
	CHECK(side->qp);
	side->qpx = o->send_ops ? ibv_qp_to_qp_ex(side->qp) : NULL;
	CHECK(!o->send_ops || side->qpx);
}

bool rt_is_iwarp(const struct rt_dev *dev)
{
	return dev->ctx->device->transport_type == IBV_TRANSPORT_IWARP;
}

void rt_skip_iwarp(const struct rt_dev *dev, const char *reason)
{
	if (rt_is_iwarp(dev))
		rt_skip("iWARP: %s", reason);
}

struct rt_side rt_side_open(struct rt_dev *dev, const struct rt_options *options,
			    struct ibv_srq *srq)
{
	static atomic_uint count;
	/* The PSN begins near its wrap, so that every longer exchange crosses the wrap. */
	struct rt_side side = { .dev = dev,
				.srq = srq,
				.psn = 0xfffff0 | (atomic_fetch_add(&count, 5) & 0xf) };

	if (options)
		side.options = *options;
	if (side.options.channel) {
		side.channel = ibv_create_comp_channel(dev->ctx);
		CHECK(side.channel);
	}
	create_cq(&side);
	if (side.options.srq && !srq)
		create_srq(&side);
	create_qp(&side);
	side.buf = rt_buf_alloc(dev, or_default(side.options.size, 65536), RT_ACCESS);
	return side;
}

void rt_side_close(struct rt_side *side)
{
	CHECK_OK(ibv_destroy_qp(side->qp));
	if (side->connection)
		rt_iwarp_close(side->connection);
	CHECK_OK(ibv_destroy_cq(side->cq));
	if (side->channel)
		CHECK_OK(ibv_destroy_comp_channel(side->channel));
	if (side->srq_owner)
		CHECK_OK(ibv_destroy_srq(side->srq));
	rt_buf_free(&side->buf);
}

struct rt_address rt_side_address(const struct rt_side *side)
{
	return (struct rt_address){
		.gid = side->dev->gid,
		.lid = side->dev->port.lid,
		.qpn = side->qp->qp_num,
		.psn = side->psn,
		.rkey = side->buf.mr->rkey,
		.addr = (uintptr_t)side->buf.p,
	};
}

struct ibv_ah_attr rt_ah_attr(const struct rt_dev *dev, const struct rt_address *peer)
{
	return (struct ibv_ah_attr){
		.grh = { .dgid = peer->gid, .sgid_index = dev->gid_index, .hop_limit = 64 },
		.dlid = peer->lid,
		.is_global = dev->port.link_layer == IBV_LINK_LAYER_ETHERNET,
		.port_num = dev->port_num,
	};
}

void rt_side_init(struct rt_side *side)
{
	bool ud = side_type(side) == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = side->dev->port_num,
		.qkey = RT_QKEY,
		.qp_access_flags = side->options.no_access ? 0 : RT_ACCESS,
	};

	if (side_type(side) == IBV_QPT_UC)
		attr.qp_access_flags &= ~(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	CHECK_OK(ibv_modify_qp(side->qp, &attr,
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

static uint8_t read_depth(const struct rt_options *o)
{
	return o->rd_atomic == RT_NO_READS ? 0 : or_default(o->rd_atomic, 1);
}

int rt_side_try_rtr(struct rt_side *side, const struct rt_address *peer)
{
	static const int rc_mask = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	static const int uc_mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_STATE;

	if (rt_is_iwarp(side->dev))
		rt_skip("queue pairs of iWARP are connected by rdma_cm");
	if (side_type(side) != IBV_QPT_UD) {
		attr.ah_attr = rt_ah_attr(side->dev, peer);
		attr.path_mtu = side->dev->port.active_mtu;
		attr.dest_qp_num = peer->qpn;
		attr.rq_psn = peer->psn;
		attr.max_dest_rd_atomic = read_depth(&side->options);
		attr.min_rnr_timer = 1;
		mask |= uc_mask | (side_type(side) == IBV_QPT_RC ? rc_mask : 0);
	}
	return ibv_modify_qp(side->qp, &attr, mask);
}

void rt_side_rtr(struct rt_side *side, const struct rt_address *peer)
{
	CHECK_OK(rt_side_try_rtr(side, peer));
}

void rt_side_rts(struct rt_side *side)
{
	static const int rc_mask =
		IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	const struct rt_options *o = &side->options;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = side->psn,
		.timeout = or_default(o->timeout, 14),
		.retry_cnt = or_default(o->retry_cnt, 7),
		.rnr_retry = o->rnr_retry == RT_NO_RETRY ? 0 : or_default(o->rnr_retry, 7),
		.max_rd_atomic = read_depth(o),
	};

	CHECK_OK(ibv_modify_qp(side->qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN |
				       (side_type(side) == IBV_QPT_RC ? rc_mask : 0)));
}

void rt_side_connect(struct rt_side *side, const struct rt_address *peer)
{
	rt_side_init(side);
	rt_side_rtr(side, peer);
	rt_side_rts(side);
}

void rt_pair_connect(struct rt_pair *pair)
{
	struct rt_address a = rt_side_address(&pair->a), b = rt_side_address(&pair->b);

	if (rt_is_iwarp(pair->a.dev) && rt_iwarp_connect) {
		rt_side_init(&pair->a);
		rt_side_init(&pair->b);
		pair->a.connection = rt_iwarp_connect(&pair->a, &pair->b);
		return;
	}
	rt_side_connect(&pair->a, &b);
	rt_side_connect(&pair->b, &a);
}

struct rt_pair rt_pair_open(struct rt_dev *dev, const struct rt_options *options)
{
	struct rt_pair pair = { .a = rt_side_open(dev, options, NULL) };

	pair.b = rt_side_open(dev, options, pair.a.srq);
	rt_pair_connect(&pair);
	return pair;
}

void rt_pair_close(struct rt_pair *pair)
{
	rt_side_close(&pair->b);
	rt_side_close(&pair->a);
}

struct rt_address rt_exchange(int socket, const struct rt_address *mine)
{
	struct rt_address theirs;

	CHECK_INT(send(socket, mine, sizeof(*mine), MSG_NOSIGNAL), sizeof(*mine));
	CHECK_INT(recv(socket, &theirs, sizeof(theirs), MSG_WAITALL), sizeof(theirs));
	return theirs;
}

void rt_qp_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

struct ibv_sge rt_sge(const struct rt_side *side, size_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)side->buf.p + offset,
		.length = length,
		.lkey = side->buf.mr->lkey,
	};
}

void rt_recv(struct rt_side *side, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = rt_sge(side, offset, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad_wr;

	if (side->srq)
		CHECK_OK(ibv_post_srq_recv(side->srq, &wr, &bad_wr));
	else
		CHECK_OK(ibv_post_recv(side->qp, &wr, &bad_wr));
}

struct ibv_send_wr rt_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = sge ? 1 : 0,
	};
}

void rt_wr_remote(struct ibv_send_wr *wr, const struct rt_side *peer, size_t remote_offset)
{
	uint64_t addr = (uintptr_t)peer->buf.p + remote_offset;

	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = peer->buf.mr->rkey;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = peer->buf.mr->rkey;
	}
}

void rt_post(const char *file, int line, struct rt_side *side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;

	rt_check_int(file, line, "ibv_post_send", ibv_post_send(side->qp, wr, &bad_wr), 0);
}

struct ibv_wc rt_wait(struct rt_side *side)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(side->cq, 1, &wc)))
		sched_yield();
	CHECK_INT(n, 1);
	return wc;
}

struct ibv_wc rt_expect(const char *file, int line, struct rt_side *side, uint64_t wr_id,
			enum ibv_wc_status status, int opcode)
{
	struct ibv_wc wc = rt_wait(side);

	if (wc.status != status)
		rt_fail(file, line, "completion %llu: status %s, expected %s",
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
			ibv_wc_status_str(status));
	rt_check_int(file, line, "wr_id of the completion", wc.wr_id, wr_id);
	rt_check_int(file, line, "qp_num of the completion", wc.qp_num, side->qp->qp_num);
	if (opcode >= 0)
		rt_check_int(file, line, "opcode of the completion", wc.opcode, opcode);
	return wc;
}

int rt_poll_none(struct rt_side *side)
{
	struct ibv_wc wc;

	return ibv_poll_cq(side->cq, 1, &wc);
}

struct ibv_async_event rt_expect_event(const char *file, int line, struct rt_dev *dev,
				       enum ibv_event_type type)
{
	struct ibv_async_event event;

	rt_check_int(file, line, "ibv_get_async_event", ibv_get_async_event(dev->ctx, &event), 0);
	ibv_ack_async_event(&event);
	if (event.event_type != type)
		rt_fail(file, line, "event '%s', expected '%s'",
			ibv_event_type_str(event.event_type), ibv_event_type_str(type));
	return event;
}
