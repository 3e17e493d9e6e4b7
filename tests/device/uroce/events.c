/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that sleeps on a completion channel is woken by a message of any strand, also while
 * other threads poll any queues. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 64,
	PAIRS = 4,	    /* one of each strand, or more */
	PATIENCE = 20000,   /* ms: it comes at once or never */
	HEAD_START = 50000, /* us: the program is known to poll */
	STREAM = 8,	    /* messages on their way */
	ROUNDS = 3000,
	RECORDS = 1 << 16, /* more than a pipe has room for */
	VECTORS_LEAST = 2, /* programs give their queues one each */
};

static void send_one(struct rt_side *from, uint64_t id, unsigned int flags)
{
	struct ibv_sge sge = rt_sge(from, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, id, &sge);

	wr.send_flags = flags;
	POST(from, &wr);
}

static bool readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, PATIENCE) > 0;
}

static void event_take(struct rt_side *side)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(readable(side->channel->fd));
	CHECK_OK(ibv_get_cq_event(side->channel, &cq, &context));
	CHECK(cq == side->cq);
	ibv_ack_cq_events(cq, 1);
}

/* --- beside a thread that polls another queue without pause --- */

struct poller {
	pthread_t thread;
	atomic_bool stop;
	struct rt_pair pair;
	struct ibv_cq *cq;
};

/* Poll a queue without any traffic. */
static void *poll_nothing(void *arg)
{
	struct poller *poller = arg;
	struct ibv_wc wc;

	while (!atomic_load(&poller->stop))
		CHECK_INT(ibv_poll_cq(poller->cq, 1, &wc), 0);
	return NULL;
}

/* Poll a queue that always has completions. */
static void *poll_stream(void *arg)
{
	struct poller *poller = arg;
	struct ibv_wc wc;

	for (int i = 0; i < STREAM; i++) {
		rt_recv(&poller->pair.b, i, SIZE, SIZE);
		send_one(&poller->pair.a, i, 0);
	}
	while (!atomic_load(&poller->stop)) {
		if (!ibv_poll_cq(poller->pair.b.cq, 1, &wc))
			continue;
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		rt_recv(&poller->pair.b, wc.wr_id, SIZE, SIZE);
		send_one(&poller->pair.a, wc.wr_id, 0);
	}
	return NULL;
}

static void woken(struct rt_pair *pair, uint64_t id)
{
	rt_recv(&pair->b, id, SIZE, SIZE);
	CHECK_OK(ibv_req_notify_cq(pair->b.cq, 0));
	usleep(HEAD_START);
	send_one(&pair->a, id, IBV_SEND_SIGNALED);
	event_take(&pair->b);
	EXPECT(&pair->b, id, IBV_WC_RECV);
	EXPECT(&pair->a, id, IBV_WC_SEND);
}

static void beside(struct rt_dev *dev, struct poller *poller, void *(*run)(void *))
{
	struct rt_options options = { .channel = true };
	struct rt_pair pair[PAIRS];

	for (int i = 0; i < PAIRS; i++)
		pair[i] = rt_pair_open(dev, &options);
	CHECK_OK(pthread_create(&poller->thread, NULL, run, poller));
	for (int i = 0; i < PAIRS; i++)
		woken(&pair[i], i);
	atomic_store(&poller->stop, true);
	CHECK_OK(pthread_join(poller->thread, NULL));
	for (int i = 0; i < PAIRS; i++)
		rt_pair_close(&pair[i]);
}

static void beside_idle(void)
{
	struct rt_dev *dev = rt_open();
	struct poller poller = { .cq = ibv_create_cq(dev->ctx, 1, NULL, NULL, 0) };

	CHECK(poller.cq);
	beside(dev, &poller, poll_nothing);
	CHECK_OK(ibv_destroy_cq(poller.cq));
	rt_close(dev);
}

static void beside_busy(void)
{
	struct rt_options options = { .type = IBV_QPT_UC };
	struct rt_dev *dev = rt_open();
	struct poller poller = { .pair = rt_pair_open(dev, &options) };

	beside(dev, &poller, poll_stream);
	rt_pair_close(&poller.pair);
	rt_close(dev);
}

/* --- messages of another process, by all strands; the receiver polls before each sleep --- */

struct ends {
	struct rt_dev *dev;
	struct rt_side side[2 * PAIRS];
};

static void ends_open(struct ends *ends, int socket)
{
	struct rt_options options = { .channel = true };

	ends->dev = rt_open();
	for (int i = 0; i < RT_COUNT(ends->side); i++) {
		struct rt_address mine, peer;

		ends->side[i] = rt_side_open(ends->dev, &options, NULL);
		mine = rt_side_address(&ends->side[i]);
		peer = rt_exchange(socket, &mine);
		rt_side_connect(&ends->side[i], &peer);
		rt_recv(&ends->side[i], 0, SIZE, SIZE);
		CHECK_OK(ibv_req_notify_cq(ends->side[i].cq, 0));
	}
}

static void ends_close(struct ends *ends)
{
	for (int i = 0; i < RT_COUNT(ends->side); i++)
		rt_side_close(&ends->side[i]);
	rt_close(ends->dev);
}

/* Wait for the message; the completion of an earlier send may come first. */
static void message_await(struct rt_side *side)
{
	struct ibv_wc wc;

	for (bool came = false; !came;) {
		event_take(side);
		CHECK_OK(ibv_req_notify_cq(side->cq, 0));
		while (ibv_poll_cq(side->cq, 1, &wc)) {
			CHECK_INT(wc.status, IBV_WC_SUCCESS);
			came |= wc.opcode & IBV_WC_RECV;
		}
	}
	rt_recv(side, 0, SIZE, SIZE);
}

/* Use all pairs in turn, so that each sleep waits for another strand than the last one. */
static void talk(struct ends *ends, bool first)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct rt_side *side = &ends->side[i % RT_COUNT(ends->side)];

		if (first)
			send_one(side, i, IBV_SEND_SIGNALED);
		message_await(side);
		if (!first)
			send_one(side, i, IBV_SEND_SIGNALED);
	}
}

static void each_strand(void)
{
	static struct ends ends;
	int pair[2], status;
	char done = 'x';
	pid_t child;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	child = fork();
	CHECK(child >= 0);
	close(pair[!child]);
	ends_open(&ends, pair[!!child]);
	CHECK(write(pair[!!child], &done, 1) == 1 && read(pair[!!child], &done, 1) == 1);
	talk(&ends, child);
	CHECK(write(pair[!!child], &done, 1) == 1 && read(pair[!!child], &done, 1) == 1);
	ends_close(&ends);
	if (!child)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && !status);
}

/* --- a channel that is not read until it is full: the event comes as soon as there is room --- */

static void write_one(struct rt_pair *pair)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 0, &sge);
	struct ibv_wc wc;

	CHECK_OK(ibv_req_notify_cq(pair->a.cq, 0));
	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
	while (!ibv_poll_cq(pair->a.cq, 1, &wc))
		;
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
}

static bool has_room(int fd)
{
	static int last;
	int bytes;

	CHECK_OK(ioctl(fd, FIONREAD, &bytes));
	if (bytes == last)
		return false;
	last = bytes;
	return true;
}

static void full_channel(void)
{
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	int events = 0;

	do
		write_one(&pair);
	while (has_room(pair.a.channel->fd) && ++events < RECORDS);
	CHECK(events < RECORDS);
	usleep(HEAD_START);
	for (int i = 0; i <= events; i++)
		event_take(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- completion vectors: there are several, and each raises events --- */

static void flush_one(struct rt_dev *dev, struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(dev->pd, &init);
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_cq *told;
	struct ibv_wc wc;
	void *context;

	CHECK(qp);
	CHECK_OK(ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	CHECK_OK(ibv_req_notify_cq(cq, 0));
	CHECK_OK(ibv_post_recv(qp, &wr, &bad));
	attr.qp_state = IBV_QPS_ERR;
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	CHECK(readable(channel->fd));
	CHECK_OK(ibv_get_cq_event(channel, &told, &context));
	CHECK(told == cq);
	ibv_ack_cq_events(cq, 1);
	CHECK_INT(ibv_poll_cq(cq, 1, &wc), 1);
	CHECK_INT(wc.status, IBV_WC_WR_FLUSH_ERR);
	CHECK_OK(ibv_destroy_qp(qp));
}

static void vectors(void)
{
	struct rt_dev *dev = rt_open();
	int count = dev->ctx->num_comp_vectors;

	CHECK(count >= VECTORS_LEAST);
	for (int i = 0; i < count; i++) {
		struct ibv_comp_channel *channel = ibv_create_comp_channel(dev->ctx);
		struct ibv_cq *cq = channel ? ibv_create_cq(dev->ctx, 4, NULL, channel, i) : NULL;

		CHECK(cq);
		flush_one(dev, channel, cq);
		CHECK_OK(ibv_destroy_cq(cq));
		CHECK_OK(ibv_destroy_comp_channel(channel));
	}
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "beside_idle", beside_idle }, { "beside_busy", beside_busy },
	{ "each_strand", each_strand }, { "full_channel", full_channel },
	{ "vectors", vectors },
};
RT_MAIN(cases)
