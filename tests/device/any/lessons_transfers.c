/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of beginners that a completion reports, or that nothing reports. */
#include <arpa/inet.h>
#include <poll.h>

#include "tests/lib/rt_lesson.h"

enum {
	SIZE = 64,
	BIG = 3000, /* more than one packet of the smaller MTU, and than a receive */
	KEY = 0x5500,
	QUIET_MS = 2000,  /* a device without a log line that could be waited for */
	LONG_MS = 120000, /* for an event that comes */
};

static uint8_t unregistered[4096];

/* Few and short retries. */
static const struct rt_options hasty = { .timeout = 10, .retry_cnt = 1, .rnr_retry = 1 };

static struct ibv_send_wr request(struct rt_pair *pair, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge)
{
	struct ibv_send_wr wr = rt_wr(opcode, 1, sge);

	rt_wr_remote(&wr, &pair->b, 0);
	wr.imm_data = htonl(7);
	return wr;
}

/* ---- keys and access ---- */

/* Replace the region of side b by one with less access. The receive of b is posted after that. */
static void access_replace(struct rt_pair *pair, int access)
{
	CHECK_OK(ibv_dereg_mr(pair->b.buf.mr));
	pair->b.buf.mr = ibv_reg_mr(pair->b.dev->pd, pair->b.buf.p, pair->b.buf.size, access);
	CHECK(pair->b.buf.mr);
	rt_recv(&pair->b, 2, 0, SIZE);
}

static void attempt(struct rt_pair *pair, enum ibv_wr_opcode opcode, uint32_t key, char *result)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SIZE);
	struct ibv_send_wr wr = request(pair, opcode, &sge);

	wr.wr.rdma.rkey ^= key;
	POST(&pair->a, &wr);
	rt_result_status(result, &pair->a, &pair->b);
	rt_pair_close(pair);
}

static void no_remote_write(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);

	access_replace(&pair, IBV_ACCESS_LOCAL_WRITE);
	attempt(&pair, IBV_WR_RDMA_WRITE_WITH_IMM, 0, result);
}

static void no_local_write(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);

	access_replace(&pair, 0);
	attempt(&pair, IBV_WR_SEND, 0, result);
}

static void no_qp_access(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .no_access = true });

	rt_recv(&pair.b, 2, 0, SIZE);
	attempt(&pair, IBV_WR_RDMA_WRITE_WITH_IMM, 0, result);
}

static void wrong_rkey(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);

	rt_recv(&pair.b, 2, 0, SIZE);
	attempt(&pair, IBV_WR_RDMA_WRITE_WITH_IMM, KEY, result);
}

/* Send from memory that is not covered by the key. */
static void send_from(struct rt_dev *dev, void *memory, bool key, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 2, 0, SIZE);
	if (memory)
		sge.addr = (uintptr_t)memory;
	if (!key)
		sge.lkey = 0;
	POST(&pair.a, &wr);
	rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

static void not_registered(struct rt_dev *dev, char *result)
{
	send_from(dev, unregistered, true, result);
}

static void no_lkey(struct rt_dev *dev, char *result)
{
	send_from(dev, NULL, false, result);
}

/* The first request may have left before its region ends. The second one has not. */
static void freed_early(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct rt_buf own = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)own.p, .length = SIZE, .lkey = own.mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad;

	POST(&pair.a, &wr);
	rt_buf_free(&own);
	/* uroce may have read the memory of the first. rxe may stop for ever at the second, while
	 * the first still waits for a receive. */
	if (!rt_is_rxe(dev))
		CHECK_OK(ibv_post_send(pair.a.qp, &wr, &bad));
	rt_recv(&pair.b, 2, 0, SIZE);
	rt_recv(&pair.b, 3, 0, SIZE);
	rt_result_status(result, &pair.a, NULL);
	if (!strcmp(result, "0"))
		rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

/* ---- receives ---- */

static void unexpected(struct rt_dev *dev, enum ibv_wr_opcode opcode, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &hasty);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = request(&pair, opcode, &sge);

	POST(&pair.a, &wr);
	rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

static void no_receive(struct rt_dev *dev, char *result)
{
	unexpected(dev, IBV_WR_SEND, result);
}

static void no_receive_for_imm(struct rt_dev *dev, char *result)
{
	unexpected(dev, IBV_WR_RDMA_WRITE_WITH_IMM, result);
}

static void receive_short(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, BIG);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	rt_result_status(result, &pair.a, &pair.b);
	rt_pair_close(&pair);
}

/* A counter. Its last value is the result. */
static void imm_order(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = request(&pair, IBV_WR_RDMA_WRITE_WITH_IMM, &sge);

	for (uint32_t i = 0; i < 8; i++) {
		wr.imm_data = i;
		rt_recv(&pair.b, 2, 0, SIZE);
		POST(&pair.a, &wr);
		snprintf(result, RT_RESULT_SIZE, "%u", ntohl(rt_wait(&pair.b).imm_data));
	}
	rt_pair_close(&pair);
}

/* ---- completion queues ---- */

/* Whether the device announces an event. Soft-RoCE may stay silent. */
static bool event_comes(struct rt_dev *dev)
{
	struct pollfd ready = { .fd = dev->ctx->async_fd, .events = POLLIN };

	return poll(&ready, 1, rt_is_kernel(dev) ? QUIET_MS : LONG_MS) == 1;
}

/* Poll for @count completions. Stop after the longest time that a device needs for them. */
static int completions(struct rt_side *side, int count)
{
	struct ibv_wc wc;
	int found = 0;

	for (int ms = 0; found < count && ms < QUIET_MS; ms++) {
		while (ibv_poll_cq(side->cq, 1, &wc) > 0)
			found += wc.status == IBV_WC_SUCCESS;
		usleep(1000);
	}
	return found;
}

/* Complete @count writes in a completion queue that was created with one entry. */
static void overrun(struct rt_dev *dev, int count, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .cqe = 1, .send_wr = 64 });
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = request(&pair, IBV_WR_RDMA_WRITE, &sge);
	struct ibv_async_event event;

	for (int i = 0; i < count; i++)
		POST(&pair.a, &wr);
	if (count > pair.a.cq->cqe && event_comes(dev)) {
		CHECK_OK(ibv_get_async_event(dev->ctx, &event));
		ibv_ack_async_event(&event);
	}
	snprintf(result, RT_RESULT_SIZE, "%s",
		 completions(&pair.a, count) == count ? "works" : "lost");
	rt_pair_close(&pair);
}

static void cq_small(struct rt_dev *dev, char *result)
{
	overrun(dev, 4, result);
}

static void cq_overrun(struct rt_dev *dev, char *result)
{
	overrun(dev, 40, result);
}

static void unsignalled(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_wc wc;

	wr.send_flags = 0;
	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	snprintf(result, RT_RESULT_SIZE, "%s",
		 ibv_poll_cq(pair.a.cq, 1, &wc) ? "works" : "nothing");
	/* Strict mode looks now and then for polls in vain. */
	while (getenv("UROCE_STRICT") && !*rt_log_text()) {
		CHECK_INT(ibv_poll_cq(pair.a.cq, 1, &wc), 0);
		usleep(1000);
	}
	rt_pair_close(&pair);
}

static void unarmed(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .channel = true });
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct pollfd ready = { .fd = pair.b.channel->fd, .events = POLLIN };

	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	/* Strict mode looks now and then for threads that wait in vain. */
	while (getenv("UROCE_STRICT") && !*rt_log_text())
		poll(&ready, 1, 100);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	snprintf(result, RT_RESULT_SIZE, "%s", poll(&ready, 1, 0) ? "works" : "nothing");
	rt_pair_close(&pair);
}

/* ---- attributes of a connection ---- */

static void rtr_with(struct rt_side *side, struct rt_address peer, enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = peer.qpn,
		.rq_psn = peer.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = rt_ah_attr(side->dev, &peer),
	};

	rt_side_init(side);
	CHECK_OK(ibv_modify_qp(side->qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
	rt_side_rts(side);
}

/* Send to a peer that knows other attributes of this side, or whose attributes are wrong here. */
/* Connect a pair with wrong values, and post a message. */
static struct rt_pair wrong_post(struct rt_dev *dev, enum ibv_mtu mtu, uint32_t psn, uint32_t qpn)
{
	struct rt_pair pair = { rt_side_open(dev, &hasty, NULL), rt_side_open(dev, &hasty, NULL) };
	struct rt_address a = rt_side_address(&pair.a), b = rt_side_address(&pair.b);
	struct ibv_sge sge = rt_sge(&pair.a, 0, BIG);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	a.psn = (a.psn + psn) & 0xffffff;
	b.qpn += qpn;
	rtr_with(&pair.b, a, mtu);
	rtr_with(&pair.a, b, IBV_MTU_1024);
	rt_recv(&pair.b, 2, 0, BIG);
	POST(&pair.a, &wr);
	return pair;
}

static void connect_wrong(struct rt_dev *dev, enum ibv_mtu mtu, uint32_t psn, uint32_t qpn,
			  char *result)
{
	struct rt_pair pair = wrong_post(dev, mtu, psn, qpn);

	rt_result_status(result, &pair.a, NULL);
	rt_pair_close(&pair);
}

static void mtu_differs(struct rt_dev *dev, char *result)
{
	connect_wrong(dev, IBV_MTU_256, 0, 0, result);
}

static void psn_differs(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = wrong_post(dev, IBV_MTU_1024, 0x8000, 0);
	struct ibv_wc wc;

	rt_result_status(result, &pair.a, NULL);
	/* rxe acknowledges the packet, because it treats the packet as a duplicate. */
	if (!strcmp(result, "0") && !ibv_poll_cq(pair.b.cq, 1, &wc))
		strcat(result, ", peer nothing");
	rt_pair_close(&pair);
}

static void qpn_wrong(struct rt_dev *dev, char *result)
{
	connect_wrong(dev, IBV_MTU_1024, 0, 0x4000, result);
}

/* A timeout of 0 waits without an end. It shows only when a packet is lost. */
static void timeout_zero(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = pair.a.psn, .retry_cnt = 7, .max_rd_atomic = 1
	};
	struct rt_address b = rt_side_address(&pair.b);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_qp_state(pair.a.qp, IBV_QPS_RESET);
	rt_side_init(&pair.a);
	rt_side_rtr(&pair.a, &b);
	CHECK_OK(ibv_modify_qp(pair.a.qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	rt_recv(&pair.b, 2, 0, SIZE);
	POST(&pair.a, &wr);
	snprintf(result, RT_RESULT_SIZE, "%s", rt_wait(&pair.a).status ? "fails" : "works");
	rt_pair_close(&pair);
}

/* ---- datagrams ---- */

static void datagram(struct rt_pair *pair, uint32_t length, uint32_t qkey)
{
	struct rt_address to = rt_side_address(&pair->b);
	struct ibv_ah_attr attr = rt_ah_attr(pair->a.dev, &to);
	struct ibv_ah *ah = ibv_create_ah(pair->a.dev->pd, &attr);
	struct ibv_sge sge = rt_sge(&pair->a, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to.qpn;
	wr.wr.ud.remote_qkey = qkey;
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	CHECK_OK(ibv_destroy_ah(ah));
}

static struct rt_pair datagram_pair(struct rt_dev *dev)
{
	return rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD });
}

/* Send a datagram that is right, and see whether it is the first one that arrives. */
static void datagram_result(struct rt_pair *pair, char *result)
{
	struct ibv_wc wc;

	datagram(pair, 8, RT_QKEY);
	wc = rt_wait(&pair->b);
	if (wc.status)
		snprintf(result, RT_RESULT_SIZE, "peer %d", wc.status);
	else
		snprintf(result, RT_RESULT_SIZE, "%s", wc.byte_len == 48 ? "nothing" : "works");
	rt_pair_close(pair);
}

static void no_grh_room(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = datagram_pair(dev);

	rt_recv(&pair.b, 2, 0, SIZE);
	datagram(&pair, SIZE, RT_QKEY);
	datagram_result(&pair, result);
}

static void wrong_qkey(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = datagram_pair(dev);

	rt_recv(&pair.b, 2, 0, 40 + SIZE);
	datagram(&pair, SIZE, RT_QKEY + 1);
	datagram_result(&pair, result);
}

static void datagram_without_receive(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = datagram_pair(dev);

	datagram(&pair, SIZE, RT_QKEY);
	for (int ms = 0; ms < (rt_is_kernel(dev) ? QUIET_MS : LONG_MS) && !*rt_log_text(); ms++)
		usleep(1000);
	rt_recv(&pair.b, 2, 0, 40 + SIZE);
	datagram_result(&pair, result);
}

static void datagram_long(struct rt_dev *dev, char *result)
{
	struct rt_pair pair = datagram_pair(dev);
	struct rt_address to = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &to);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8192);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad;
	int r;

	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to.qpn;
	wr.wr.ud.remote_qkey = RT_QKEY;
	r = ibv_post_send(pair.a.qp, &wr, &bad);
	if (r)
		rt_result_errno(result, r);
	else
		rt_result_status(result, &pair.a, NULL);
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
}

static const struct rt_lesson lessons[] = {
	{ "no_remote_write", no_remote_write, "10, peer 10", NULL,
	  "check rkey, range and access flags of the peer's memory region; see rdma-symptoms(7)" },
	{ "no_local_write", no_local_write, "11, peer 4", "11, peer 2",
	  "not covered by a region of this PD with IBV_ACCESS_LOCAL_WRITE", 1,
	  "its region was registered without IBV_ACCESS_LOCAL_WRITE" },
	{ "no_qp_access", no_qp_access, "9, peer 5", NULL, "qp_access_flags" },
	{ "wrong_rkey", wrong_rkey, "10, peer 10", NULL, "check rkey, range and access flags" },
	{ "not_registered", not_registered, "4", NULL, "is not covered by a region of this PD", 1,
	  "each entry of a request lies within its region" },
	{ "no_lkey", no_lkey, "4", "2", "an lkey, address or length", 1, "no lkey was set" },
	{ "freed_early", freed_early, "4", "2", "which must exist until the completion", 1,
	  "still names it" },
	{ "no_receive", no_receive, "13", NULL, "set rnr_retry to 7; see rdma-symptoms(7)" },
	{ "no_receive_for_imm", no_receive_for_imm, "13", NULL, "the peer has no receive posted" },
	{ "receive_short", receive_short, "9, peer 1", "11, peer 2",
	  "the message is longer than the receive's buffers" },
	{ "imm_order", imm_order, "117440512", NULL, NULL, 1, "look like numbers in host order" },
	{ "cq_small", cq_small, "works", "lost", NULL, 1, "because more than 1 waited" },
	{ "cq_overrun", cq_overrun, "lost", NULL, "overflow: 16 completions wait to be polled", 1,
	  "room for all completions that wait to be polled" },
	{ "unsignalled", unsignalled, "nothing", NULL, NULL, 1, "is not signalled" },
	{ "unarmed", unarmed, "nothing", NULL, NULL, 1, "is not armed" },
	{ "mtu_differs", mtu_differs, "9", "0", "or its path_mtu differs" },
	{ "psn_differs", psn_differs, "12", "0, peer nothing",
	  "its rq_psn and the sq_psn here differ" },
	{ "qpn_wrong", qpn_wrong, "12", NULL,
	  "dest_qp_num its number, UDP port 4791 open, the GID right?; see rdma-symptoms(7)" },
	{ "timeout_zero", timeout_zero, "works", NULL, NULL, 1, "timeout is 0" },
	{ "no_grh_room", no_grh_room, "nothing", "peer 2", "40 bytes for the GRH", 2,
	  "40 bytes longer than the message" },
	{ "wrong_qkey", wrong_qkey, "nothing", NULL, "its Q_Key is not that of the queue pair", 2,
	  "with a wrong Q_Key" },
	{ "datagram_without_receive", datagram_without_receive, "nothing", NULL,
	  "no receive is posted", 2, "before the first receive was posted" },
	{ "datagram_long", datagram_long, "1", "0", "UD: one MTU" },
};
RT_LESSONS(lessons)
