/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of programs, and the line of the log that names the cause, on both sides. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/uroce.h>

#include "tests/lib/rt.h"

enum {
	BIG = 3000, /* more than a packet of 1024 bytes */
	LOG_SECONDS = 120,
};

static struct rt_dev *open_logged(void)
{
	rt_log_capture();
	return rt_open();
}

static void says(const char *text)
{
	if (!strstr(rt_log_text(), text))
		FAIL("the log does not say \"%s\" but:\n%s", text, rt_log_text());
}

static void does_not_say(const char *text)
{
	if (strstr(rt_log_text(), text))
		FAIL("the log says \"%s\":\n%s", text, rt_log_text());
}

static void says_once(const char *text)
{
	const char *first = strstr(rt_log_text(), text);

	says(text);
	CHECK(!strstr(first + 1, text));
}

static uint64_t counter(struct ibv_qp *qp, const char *name)
{
	struct uroce_counter counters[64];
	int n = uroce_query_counters(qp->context, qp, counters, RT_COUNT(counters));

	CHECK(n > 0 && n <= RT_COUNT(counters));
	for (int i = 0; i < n; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	FAIL("there is no counter %s", name);
}

/* Wait until the log has the line, at most for a long time. */
static void wait_for(const char *text)
{
	for (int i = 0; i < LOG_SECONDS * 100 && !strstr(rt_log_text(), text); i++)
		usleep(10000);
	says(text);
}

static void post(struct rt_pair *pair, enum ibv_wr_opcode opcode, uint32_t length, uint32_t rkey)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, length);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);

	rt_wr_remote(&wr, &pair->b, 0);
	wr.wr.rdma.rkey ^= rkey;
	POST(&pair->a, &wr);
}

/* --- refused by the peer --- */

/* The side that owns the region is not told to look at its peer's, and no receive of it failed. */
static void wrong_key(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	rt_recv(&pair.b, 5, 0, 8);
	post(&pair, IBV_WR_RDMA_WRITE, 8, 0x5500);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	EXPECT_STATUS(&pair.b, 5, IBV_WC_WR_FLUSH_ERR);
	says("remote access error of send work request 1 (RDMA_WRITE), peer qp 0x");
	says("check rkey, range and access flags of the peer's memory region");
	says("remote access error of a request of the peer, peer qp 0x");
	says(", which no memory region has here");
	does_not_say("receive work request");
	rt_pair_close(&pair);
	rt_close(dev);
}

static void no_receive(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .rnr_retry = 3 });

	post(&pair, IBV_WR_SEND, 8, 0);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	says(", 3 retries used");
	says("the peer has no receive posted");
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A datagram has no peer that could be named. */
static void long_datagram(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD });
	struct rt_address to = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &to);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8192);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to.qpn;
	wr.wr.ud.remote_qkey = RT_QKEY;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_LOC_LEN_ERR);
	says("local length error of send work request 1 (SEND), PSN");
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Send a datagram of 32 bytes that is dropped, and wait for the counter. */
static void drop(struct rt_pair *pair, struct ibv_ah *ah, uint32_t qkey, const char *name)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 32);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	for (int i = 0; i < 2; i++) {
		POST(&pair->a, &wr);
		EXPECT(&pair->a, 1, IBV_WC_SEND);
	}
	while (counter(pair->b.qp, name) < 2)
		usleep(1000);
}

/* Each cause has a counter, and a line for the first datagram. */
static void dropped_datagrams(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD });
	struct rt_address to = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &to);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);
	struct ibv_port_attr port;

	CHECK(ah);
	drop(&pair, ah, RT_QKEY, "dropped_no_receive");
	rt_recv(&pair.b, 5, 0, 71);
	drop(&pair, ah, RT_QKEY, "dropped_short_receive");
	drop(&pair, ah, RT_QKEY + 1, "dropped_wrong_qkey");
	CHECK_INT(counter(pair.b.qp, "dropped_no_receive"), 2);
	CHECK_OK(ibv_query_port(dev->ctx, 1, &port));
	CHECK_INT(port.qkey_viol_cntr, 2);
	says_once("a datagram was dropped: no receive is posted");
	says_once("dropped: the receive is shorter than the message and 40 bytes for the GRH");
	says_once("a datagram was dropped: its Q_Key is not that of the queue pair");
	CHECK_OK(ibv_destroy_ah(ah));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- ends that were connected with different attributes --- */

static void rtr(struct rt_side *side, const struct rt_side *peer, enum ibv_mtu mtu, uint32_t psn)
{
	struct rt_address address = rt_side_address(peer);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = address.qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = rt_ah_attr(side->dev, &address),
	};

	rt_side_init(side);
	CHECK_OK(ibv_modify_qp(side->qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
}

/* Connect two sides; side b has another path MTU, or expects another PSN of side a than 5000. */
static struct rt_pair connect_with(struct rt_dev *dev, enum ibv_mtu mtu_b, uint32_t psn_b)
{
	static const struct rt_options options = { .timeout = 10, .retry_cnt = 1 };
	struct rt_pair pair = { rt_side_open(dev, &options, NULL),
				rt_side_open(dev, &options, NULL) };

	rtr(&pair.a, &pair.b, IBV_MTU_1024, 1);
	rtr(&pair.b, &pair.a, mtu_b, psn_b);
	pair.a.psn = 5000;
	pair.b.psn = 1;
	rt_side_rts(&pair.a);
	rt_side_rts(&pair.b);
	return pair;
}

static void psns(void)
{
	static const uint32_t expected[] = { 100, 4999, 6000 };
	struct rt_dev *dev = open_logged();

	for (int i = 0; i < RT_COUNT(expected); i++) {
		struct rt_pair pair = connect_with(dev, IBV_MTU_1024, expected[i]);
		char line[100];

		rt_recv(&pair.b, 5, 0, 8);
		post(&pair, IBV_WR_RDMA_WRITE, 8, 0);
		EXPECT_STATUS(&pair.a, 1, IBV_WC_RETRY_EXC_ERR);
		snprintf(line, sizeof(line), "qp 0x%x: first error: transport", pair.a.qp->qp_num);
		says(line);
		says("the peer answers, but to PSNs that were not sent: its rq_psn and the sq_psn");
		does_not_say("does not answer");
		rt_pair_close(&pair);
	}
	rt_close(dev);
}

static void mtus(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = connect_with(dev, IBV_MTU_256, 5000);

	rt_recv(&pair.b, 5, 0, 4096);
	post(&pair, IBV_WR_SEND, BIG, 0);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_INV_REQ_ERR);
	says("or its path_mtu differs");
	says("path_mtu of the peer is 1024 bytes, and that of this QP is 256");
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- the end of objects --- */

/* One line names both addresses. */
static void families(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_address peer = { .gid = dev->gid };
	struct ibv_ah_attr attr = rt_ah_attr(dev, &peer);

	attr.grh.dgid.raw[0] ^= 0x20;
	CHECK(!ibv_create_ah(dev->pd, &attr) && errno == EINVAL);
	says_once("uroce_lo");
	says("(one is IPv4, the other IPv6)");
	rt_close(dev);
}

static void cq_in_use(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	CHECK_INT(ibv_destroy_cq(pair.a.cq), EBUSY);
	says(": 1 queue pairs and XRC SRQs still use it");
	rt_pair_close(&pair);
	rt_close(dev);
}

static void *cq_destroy(void *cq)
{
	CHECK_OK(ibv_destroy_cq(cq));
	return NULL;
}

static void *qp_destroy(void *qp)
{
	CHECK_OK(ibv_destroy_qp(qp));
	return NULL;
}

static void cq_unacknowledged(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){ .channel = true });
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	post(&pair, IBV_WR_RDMA_WRITE, 8, 0);
	CHECK_OK(ibv_get_cq_event(pair.a.channel, &cq, &context));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_OK(ibv_destroy_qp(pair.a.qp));
	CHECK_OK(pthread_create(&thread, NULL, cq_destroy, cq));
	wait_for(
		"ibv_destroy_cq() waits for ibv_ack_cq_events() of 1 event, see rdma-symptoms(7)\n");
	ibv_ack_cq_events(cq, 1);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(ibv_destroy_comp_channel(pair.a.channel));
	rt_buf_free(&pair.a.buf);
	rt_side_close(&pair.b);
	rt_close(dev);
}

static void qp_unacknowledged(void)
{
	struct rt_dev *dev = open_logged();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_async_event event;
	pthread_t thread;

	post(&pair, IBV_WR_RDMA_WRITE, 8, 0x5500);
	CHECK_OK(ibv_get_async_event(dev->ctx, &event));
	CHECK_INT(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CHECK_OK(pthread_create(&thread, NULL, qp_destroy, pair.b.qp));
	wait_for(
		"ibv_destroy_qp() waits for ibv_ack_async_event() of 1 event, see rdma-symptoms(7)\n");
	ibv_ack_async_event(&event);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(ibv_destroy_cq(pair.b.cq));
	rt_buf_free(&pair.b.buf);
	rt_side_close(&pair.a);
	rt_close(dev);
}

/* --- the environment --- */

static void empty_variables(void)
{
	struct rt_dev *dev;

	setenv("UROCE_PATH", "", 1);
	setenv("UROCE_FAULTS", "", 1);
	setenv("UROCE_CAPTURE", "", 1);
	dev = open_logged();
	does_not_say("UROCE_");
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "wrong_key", wrong_key },
	{ "no_receive", no_receive },
	{ "long_datagram", long_datagram },
	{ "dropped_datagrams", dropped_datagrams },
	{ "psns", psns },
	{ "mtus", mtus },
	{ "families", families },
	{ "cq_in_use", cq_in_use },
	{ "cq_unacknowledged", cq_unacknowledged },
	{ "qp_unacknowledged", qp_unacknowledged },
	{ "empty_variables", empty_variables },
};
RT_MAIN(cases)
