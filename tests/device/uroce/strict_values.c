/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strict mode: values with which messages do not arrive, and polls in vain. */
#include <net/if.h>
#include <sys/ioctl.h>

#include "tests/device/uroce/strict.h"

/* --- attributes of a connection --- */

/* Give lo an MTU of 1500 bytes, for which active_mtu is 1024. */
static void lo_shrink(struct rt_dev *dev)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = 1500 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFMTU, &request))
		rt_skip("the MTU of lo may not be set: %m");
	close(fd);
	while (dev->port.active_mtu > IBV_MTU_1024) {
		usleep(1000);
		CHECK_OK(ibv_query_port(dev->ctx, dev->port_num, &dev->port));
	}
}

static void rtr(struct rt_dev *dev, enum ibv_mtu mtu)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = mtu,
				    .dest_qp_num = self.qpn,
				    .ah_attr = rt_ah_attr(dev, &self) };

	rt_side_init(&side);
	CHECK_OK(ibv_modify_qp(side.qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER));
	rt_side_close(&side);
}

static void mtu(void)
{
	struct rt_dev *dev = strict_open("1");

	lo_shrink(dev);
	rtr(dev, IBV_MTU_1024);
	expect_clean();
	rtr(dev, IBV_MTU_2048);
	EXPECT_LINE("path_mtu 4 is 2048 bytes, and the active_mtu of the port is 1024 bytes");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static void timeout_set(struct rt_dev *dev, uint8_t timeout)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&side);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = timeout, .retry_cnt = 7 };

	rt_side_init(&side);
	rt_side_rtr(&side, &self);
	CHECK_OK(ibv_modify_qp(side.qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	rt_side_close(&side);
}

static void timeouts(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_options datagrams = { .type = IBV_QPT_UD }; /* have no timeout */
	struct rt_pair pair = rt_pair_open(dev, &datagrams);

	rt_pair_close(&pair);
	timeout_set(dev, 1);
	timeout_set(dev, 31);
	expect_clean();
	timeout_set(dev, 0);
	EXPECT_LINE("ibv_modify_qp: timeout is 0");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* --- datagrams --- */

static struct rt_pair datagrams_open(struct rt_dev *dev)
{
	return rt_pair_open(dev, &(struct rt_options){ .type = IBV_QPT_UD });
}

static void datagram(struct rt_pair *pair, uint32_t qkey)
{
	struct rt_address address = rt_side_address(&pair->b);
	struct ibv_ah_attr attr = rt_ah_attr(pair->a.dev, &address);
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_ah *ah = ibv_create_ah(pair->a.dev->pd, &attr);

	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	CHECK_OK(ibv_destroy_ah(ah));
}

static void receive(struct rt_pair *pair)
{
	rt_recv(&pair->b, 2, 0, SMALL + sizeof(struct ibv_grh));
}

static void qkey(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = datagrams_open(dev);

	receive(&pair);
	datagram(&pair, RT_QKEY);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	expect_clean();
	receive(&pair);
	datagram(&pair, RT_QKEY + 1);
	datagram(&pair, RT_QKEY); /* behind it */
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
	EXPECT_LINE("1 datagram was dropped, with a wrong Q_Key");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* Datagrams that are dropped later are no fault: a receiver may be slow. */
static void early(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = datagrams_open(dev), other = datagrams_open(dev);

	receive(&other);
	for (int i = 0; i < 3; i++)
		datagram(&other, RT_QKEY);
	EXPECT(&other.b, 2, IBV_WC_RECV);
	rt_pair_close(&other);
	expect_clean();
	for (int i = 0; i < 2; i++)
		datagram(&pair, RT_QKEY);
	while (lines("a datagram was dropped: no receive is posted") < 2) /* one of each pair */
		CHECK_INT(rt_poll_none(&pair.b), 0);
	receive(&pair);
	datagram(&pair, RT_QKEY);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
	EXPECT_LINE("dropped, before the first receive was posted");
	rt_close(dev);
}

/* --- polls --- */

static void write_to(struct rt_pair *pair, int flags)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	wr.send_flags = flags;
	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
}

static void poll_nothing(struct rt_side *side)
{
	struct ibv_wc wc;

	CHECK_INT(ibv_poll_cq(side->cq, 1, &wc), 0);
}

enum {
	ASKED,	   /* has polled a completion, and may wait for another one */
	RECEIVING, /* waits for a message */
	IDLE,	   /* has nothing posted */
	UNPOLLED,  /* does not poll */
	PAIRS,
};

/* Give side a another queue of completions for its receives, and connect the pair. */
static struct rt_pair two_queues(struct rt_dev *dev, struct ibv_cq *recv_cq)
{
	struct rt_pair pair = { rt_side_open(dev, NULL, NULL), rt_side_open(dev, NULL, NULL) };
	struct ibv_qp_init_attr attr = {
		.send_cq = pair.a.cq,
		.recv_cq = recv_cq,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	CHECK_OK(ibv_destroy_qp(pair.a.qp));
	pair.a.qp = ibv_create_qp(dev->pd, &attr);
	CHECK(pair.a.qp);
	rt_pair_connect(&pair);
	rt_recv(&pair.a, 2, SIZE, SMALL);
	return pair;
}

/* Five pairs that are correct, and one that waits for the completion of a silent write; later one
 * more. */
static void silent(void)
{
	struct rt_dev *dev = strict_open("1");
	struct ibv_cq *recv_cq = ibv_create_cq(dev->ctx, 4, NULL, NULL, 0);
	struct rt_pair pairs[PAIRS], pair, two = two_queues(dev, recv_cq);
	char line[100];

	write_to(&two, 0);
	for (int i = 0; i < PAIRS; i++)
		pairs[i] = rt_pair_open(dev, NULL);
	write_to(&pairs[ASKED], IBV_SEND_SIGNALED);
	EXPECT(&pairs[ASKED].a, 1, IBV_WC_RDMA_WRITE);
	write_to(&pairs[ASKED], 0);
	rt_recv(&pairs[RECEIVING].a, 2, SIZE, SMALL);
	write_to(&pairs[RECEIVING], 0);
	write_to(&pairs[UNPOLLED], 0);
	pair = rt_pair_open(dev, NULL);
	write_to(&pair, 0);
	while (!lines(FAULT)) {
		poll_nothing(&pairs[ASKED].a);
		poll_nothing(&pairs[RECEIVING].a);
		poll_nothing(&pairs[IDLE].a);
		poll_nothing(&two.a);
		poll_nothing(&pair.a);
		usleep(1000);
	}
	/* A look reports one queue. If another one had been wrong, it would come before this. */
	write_to(&pairs[IDLE], 0);
	while (lines(FAULT) == 1) {
		poll_nothing(&two.a);
		poll_nothing(&pairs[IDLE].a);
		usleep(1000);
	}
	snprintf(line, sizeof(line),
		 "polled in vain, because the request of qp 0x%x is not signalled",
		 pair.a.qp->qp_num);
	EXPECT_LINE(line);
	snprintf(line, sizeof(line), "qp 0x%x is not signalled: only a request with",
		 pairs[IDLE].a.qp->qp_num);
	EXPECT_LINE(line);
	for (int i = 0; i < PAIRS; i++)
		rt_pair_close(&pairs[i]);
	rt_pair_close(&two);
	CHECK_OK(ibv_destroy_cq(recv_cq));
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 2);
}

/*
 * Completions wait in three queues. One has a channel, one is polled later, and one is forgotten.
 */
static void left(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair events = rt_pair_open(dev, &(struct rt_options){ .channel = true });
	struct rt_pair late = rt_pair_open(dev, NULL), forgotten = rt_pair_open(dev, NULL);
	char line[60];

	snprintf(line, sizeof(line), "cq 0x%x: 1 completion waits in it", forgotten.a.cq->handle);
	write_to(&events, IBV_SEND_SIGNALED);
	write_to(&late, IBV_SEND_SIGNALED);
	write_to(&forgotten, IBV_SEND_SIGNALED);
	EXPECT(&late.a, 1, IBV_WC_RDMA_WRITE);
	while (!lines(FAULT)) {
		poll_nothing(&late.b);
		usleep(1000);
	}
	EXPECT_LINE(line);
	EXPECT(&events.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&forgotten.a, 1, IBV_WC_RDMA_WRITE);
	rt_pair_close(&events);
	rt_pair_close(&late);
	rt_pair_close(&forgotten);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* One of two sends has a receive. */
static void unready(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	char line[100];

	snprintf(line, sizeof(line),
		 "qp 0x%x: a send has waited for seconds, because peer qp 0x%x has no",
		 pair.a.qp->qp_num, pair.b.qp->qp_num);
	rt_recv(&pair.b, 2, 0, SMALL);
	POST(&pair.a, &wr);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	expect_clean();
	while (!lines(FAULT))
		poll_nothing(&pair.a);
	EXPECT_LINE(line);
	rt_recv(&pair.b, 3, 0, SMALL);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 3, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static void channel(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_side with = rt_side_open(dev, &(struct rt_options){ .channel = true }, NULL);
	struct rt_side without = rt_side_open(dev, NULL, NULL);

	CHECK_OK(ibv_req_notify_cq(with.cq, 0));
	expect_clean();
	CHECK_OK(ibv_req_notify_cq(without.cq, 0));
	EXPECT_LINE("ibv_req_notify_cq: the queue has no completion channel");
	rt_side_close(&with);
	rt_side_close(&without);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static void bits(void)
{
	struct rt_options most = { .timeout = 31, .retry_cnt = 7, .rnr_retry = 7 };
	struct rt_options more = { .retry_cnt = 8, .rnr_retry = 9 };
	struct rt_dev *dev = strict_open("1");
	struct rt_side sides[] = { rt_side_open(dev, &most, NULL), rt_side_open(dev, &more, NULL) };

	sides[0].psn = 0xffffff;
	sides[1].psn = 0x1000005;
	for (int i = 0; i < RT_COUNT(sides); i++) {
		struct rt_address self = rt_side_address(&sides[i]);

		rt_side_connect(&sides[i], &self);
		if (!i)
			expect_clean();
	}
	EXPECT_LINE("retry_cnt is 8, of which the device uses 0");
	EXPECT_LINE("rnr_retry is 9, of which the device uses 1");
	EXPECT_LINE("sq_psn is 16777221, of which the device uses 5");
	EXPECT_LINE("rq_psn is 16777221, of which the device uses 5");
	rt_side_close(&sides[0]);
	rt_side_close(&sides[1]);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 4);
}

static const struct rt_case cases[] = {
	{ "path_mtu", mtu },	{ "timeout", timeouts }, { "Q_Key", qkey },
	{ "early", early },	{ "silent", silent },	 { "left", left },
	{ "unready", unready }, { "channel", channel },	 { "bits", bits },
};
RT_MAIN(cases)
