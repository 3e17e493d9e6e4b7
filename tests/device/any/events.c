/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels and asynchronous events. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/lib/rt.h"

static const struct rt_options with_channel = { .channel = true };

static bool readable(int fd, int milliseconds)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, milliseconds) == 1;
}

static void write_once(struct rt_pair *pair, uint64_t wr_id)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 10);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, wr_id, &sge);

	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
}

static void get_event(struct rt_side *side)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(ibv_get_cq_event(side->channel, &cq, &context));
	CHECK(cq == side->cq);
	CHECK(context == cq->cq_context);
}

/* Arm, complete, wake up, poll: many times; the events are acknowledged in one go. */
static void notify(void)
{
	enum {
		ROUNDS = 50
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
		EXPECT_NONE(&pair.a);
		write_once(&pair, i);
		get_event(&pair.a);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	}
	ibv_ack_cq_events(pair.a.cq, ROUNDS);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* One request for notification gives one event; none gives none. */
static void one_shot(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);

	write_once(&pair, 0);
	EXPECT(&pair.a, 0, IBV_WC_RDMA_WRITE);
	CHECK(!readable(pair.a.channel->fd, 0));
	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	for (int i = 0; i < 3; i++) {
		write_once(&pair, i);
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	}
	get_event(&pair.a);
	CHECK(!readable(pair.a.channel->fd, 0));
	ibv_ack_cq_events(pair.a.cq, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* With a CQ armed for solicited completions only, the sender decides which messages wake the
 * receiver. */
static void solicited(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 2, 0, 10);
	rt_recv(&pair.b, 3, 0, 10);
	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 1));
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	CHECK(!readable(pair.b.channel->fd, 0));
	wr.send_flags |= IBV_SEND_SOLICITED;
	POST(&pair.a, &wr);
	get_event(&pair.b);
	EXPECT(&pair.b, 3, IBV_WC_RECV);
	ibv_ack_cq_events(pair.b.cq, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* An error always raises an event. */
static void solicited_error(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);

	rt_recv(&pair.b, 2, 0, 10);
	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 1));
	rt_qp_state(pair.b.qp, IBV_QPS_ERR);
	if (!readable(pair.b.channel->fd, rt_is_kernel(dev) ? 2000 : -1))
		rt_skip("this kernel's device does not notify of flushed receives");
	get_event(&pair.b);
	EXPECT_STATUS(&pair.b, 2, IBV_WC_WR_FLUSH_ERR);
	ibv_ack_cq_events(pair.b.cq, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void non_blocking(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(fcntl(pair.a.channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_INT(ibv_get_cq_event(pair.a.channel, &cq, &context), -1);
	CHECK_INT(errno, EAGAIN);
	CHECK_OK(fcntl(dev->ctx->async_fd, F_SETFL, O_NONBLOCK));
	CHECK_INT(ibv_get_async_event(dev->ctx, &event), -1);
	CHECK_INT(errno, EAGAIN);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Two queues share a channel; each event names its own. */
static void shared_channel(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_comp_channel *channel = ibv_create_comp_channel(dev->ctx);
	struct ibv_cq *cqs[2];
	int contexts[2];

	CHECK(channel);
	for (int i = 0; i < 2; i++) {
		cqs[i] = ibv_create_cq(dev->ctx, 10, &contexts[i], channel, 0);
		CHECK(cqs[i]);
	}
	CHECK_INT(ibv_destroy_comp_channel(channel), EBUSY);
	for (int i = 0; i < 2; i++) {
		struct rt_pair pair = rt_pair_open(dev, NULL);
		struct ibv_qp_init_attr init = {
			.send_cq = cqs[i],
			.recv_cq = cqs[i],
			.cap = { .max_send_wr = 4,
				 .max_recv_wr = 4,
				 .max_send_sge = 1,
				 .max_recv_sge = 1 },
			.qp_type = IBV_QPT_RC,
		};
		struct ibv_recv_wr recv = { .wr_id = 5 }, *bad_wr;
		struct ibv_qp *qp = ibv_create_qp(dev->pd, &init);
		struct rt_side side = { .dev = dev, .qp = qp };
		struct ibv_cq *cq;
		void *context;

		CHECK(qp);
		rt_side_init(&side);
		CHECK_OK(ibv_req_notify_cq(cqs[i], 0));
		CHECK_OK(ibv_post_recv(qp, &recv, &bad_wr));
		rt_qp_state(qp, IBV_QPS_ERR);
		CHECK_OK(ibv_get_cq_event(channel, &cq, &context));
		CHECK(cq == cqs[i] && context == &contexts[i]);
		ibv_ack_cq_events(cq, 1);
		CHECK_OK(ibv_destroy_qp(qp));
		rt_pair_close(&pair);
	}
	for (int i = 0; i < 2; i++)
		CHECK_OK(ibv_destroy_cq(cqs[i]));
	CHECK_OK(ibv_destroy_comp_channel(channel));
	rt_close(dev);
}

static atomic_bool destroyed;

static void *destroy_cq(void *cq)
{
	CHECK_OK(ibv_destroy_cq(cq));
	atomic_store(&destroyed, true);
	return NULL;
}

/* A queue with unacknowledged events is not destroyed until they are acknowledged. */
static void destroy_waits(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &with_channel);
	pthread_t thread;

	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	write_once(&pair, 1);
	get_event(&pair.a);
	CHECK_OK(ibv_destroy_qp(pair.a.qp));
	CHECK_OK(pthread_create(&thread, NULL, destroy_cq, pair.a.cq));
	usleep(50000);
	CHECK(!atomic_load(&destroyed));
	ibv_ack_cq_events(pair.a.cq, 1);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&destroyed));
	CHECK_OK(ibv_destroy_comp_channel(pair.a.channel));
	rt_buf_free(&pair.a.buf);
	rt_side_close(&pair.b);
	rt_close(dev);
}

/* Whether rxe may not raise this event; it raises "last WQE reached" in Linux 6.1, but not in
 * 6.12. */
static bool may_be_missing(const struct rt_dev *dev, enum ibv_event_type type)
{
	if (!rt_is_rxe(dev))
		return false;
	if (type == IBV_EVENT_QP_LAST_WQE_REACHED)
		return !rt_kernel_since(6, 12);
	return type == IBV_EVENT_COMM_EST || type == IBV_EVENT_QP_ACCESS_ERR;
}

/* Wait for the next event, which must be @type about @element, until the case's time limit. */
static void expect_async(struct rt_dev *dev, enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	if (may_be_missing(dev, type) && !readable(dev->ctx->async_fd, 2000))
		rt_skip("rxe does not raise the event '%s'", ibv_event_type_str(type));
	if (!readable(dev->ctx->async_fd, 60000))
		FAIL("the event '%s' is lost", ibv_event_type_str(type));
	CHECK_OK(ibv_get_async_event(dev->ctx, &event));
	if (event.event_type != type)
		FAIL("event '%s', expected '%s'", ibv_event_type_str(event.event_type),
		     ibv_event_type_str(type));
	CHECK((const void *)event.element.qp == element);
	ibv_ack_async_event(&event);
}

static void cq_overrun(void)
{
	struct rt_options options = { .cqe = 2, .send_wr = 64 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	for (int i = 0; i < pair.a.cq->cqe + 10; i++)
		write_once(&pair, i);
	expect_async(dev, IBV_EVENT_CQ_ERR, pair.a.cq);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Each of two contexts gets events of its own objects only. An unread event does not keep its
 * object alive. */
static void two_contexts(void)
{
	struct rt_options options = { .cqe = 2, .send_wr = 64 };
	struct rt_dev *first = rt_open(), *second = rt_open();
	struct rt_pair pairs[2] = { rt_pair_open(first, &options), rt_pair_open(first, &options) };

	for (int pair = 0; pair < 2; pair++) {
		for (int i = 0; i < pairs[pair].a.cq->cqe + 10; i++)
			write_once(&pairs[pair], i);
		if (pair == 0)
			expect_async(first, IBV_EVENT_CQ_ERR, pairs[pair].a.cq);
		else
			CHECK(readable(first->ctx->async_fd, 60000));
	}
	CHECK(!readable(second->ctx->async_fd, 0));
	rt_close(second);
	for (int pair = 0; pair < 2; pair++)
		rt_pair_close(&pairs[pair]);
	rt_close(first);
}

/* With an SRQ: after this event no more receives are taken by the QP. */
static void last_wqe(void)
{
	struct rt_options options = { .srq = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	rt_qp_state(pair.a.qp, IBV_QPS_ERR);
	expect_async(dev, IBV_EVENT_QP_LAST_WQE_REACHED, pair.a.qp);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The first message may arrive before the connection manager's: the QP is still in RTR. */
static void established(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = { .a = rt_side_open(dev, NULL, NULL) };
	struct rt_address a, b;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	pair.b = rt_side_open(dev, NULL, NULL);
	a = rt_side_address(&pair.a);
	b = rt_side_address(&pair.b);
	rt_side_connect(&pair.a, &b);
	rt_side_init(&pair.b);
	rt_side_rtr(&pair.b, &a);
	rt_recv(&pair.b, 2, 0, 10);
	sge = rt_sge(&pair.a, 0, 10);
	wr = rt_wr(IBV_WR_SEND, 1, &sge);
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	expect_async(dev, IBV_EVENT_COMM_EST, pair.b.qp);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The responder's program gets an event if a peer used a key without permission. */
static void access_error(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey ^= 0xffff00;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	expect_async(dev, IBV_EVENT_QP_ACCESS_ERR, pair.b.qp);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "notify", notify },
	{ "one_shot", one_shot },
	{ "solicited", solicited },
	{ "solicited_error", solicited_error },
	{ "non_blocking", non_blocking },
	{ "shared_channel", shared_channel },
	{ "destroy_waits", destroy_waits },
	{ "cq_overrun", cq_overrun },
	{ "two_contexts", two_contexts },
	{ "last_wqe", last_wqe },
	{ "established", established },
	{ "access_error", access_error },
};
RT_MAIN(cases)
