/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strict mode: rules about completions, datagrams and the contents of requests. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include <infiniband/uroce.h>

#include "tests/device/uroce/strict.h"

/* --- errors --- */

/* Make a send of @pair fail for want of a receive. */
static void send_fails(struct rt_pair *pair, uint64_t wr_id)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, wr_id, &sge);

	POST(&pair->a, &wr);
}

/* The program polls an error, polls again, and goes on. */
static void error_ignored(void)
{
	struct rt_options options = { .rnr_retry = RT_NO_RETRY };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_wc wc;

	send_fails(&pair, 1);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	send_fails(&pair, 2); /* not yet: another completion of the same poll may have caused it */
	expect_clean();
	EXPECT_STATUS(&pair.a, 2, IBV_WC_WR_FLUSH_ERR);
	send_fails(&pair, 3);
	EXPECT_LINE("ibv_post_send of request 0x3 after the completion of request 0x1 was polled "
		    "with status 13");
	while (!ibv_poll_cq(pair.a.cq, 1, &wc))
		continue;
	rt_recv(&pair.a, 4, 0, SMALL); /* reported once */
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* Wait without a poll until the queue pair is in ERR. */
static void error_wait(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};

	while (attr.qp_state != IBV_QPS_ERR) {
		usleep(100);
		CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	}
}

static void error_unpolled(void)
{
	struct rt_options options = { .rnr_retry = RT_NO_RETRY };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);

	send_fails(&pair, 1);
	error_wait(pair.a.qp);
	rt_pair_close(&pair);
	EXPECT_LINE("ibv_destroy_qp: the completion of request 0x1 with status 13");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* Poll once. */
static void take(const struct rt_side *side)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)side->cq;
	struct ibv_wc wc;

	if (!side->options.cq_ex)
		CHECK(ibv_poll_cq(side->cq, 1, &wc) >= 0);
	else if (!ibv_start_poll(ex, &attr))
		ibv_end_poll(ex);
}

/* A completion more than the completion queue has places. */
static void overflow(const void *extended)
{
	struct rt_options options = { .cqe = 1, .send_wr = 64, .cq_ex = extended };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge), *bad;

	rt_wr_remote(&wr, &pair.b, 0);
	for (int i = 0; i < pair.a.cq->cqe + 1; i++)
		CHECK_OK(ibv_post_send(pair.a.qp, &wr, &bad));
	error_wait(pair.a.qp);
	while (!lines("completions are lost because more than"))
		take(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines("completions are lost"), 1);
}

/* --- datagrams --- */

/* Return the number of datagrams that @side dropped. The poll lets the device work. */
static uint64_t drops(const struct rt_side *side)
{
	struct uroce_counter counters[64];
	int n = uroce_query_counters(side->dev->ctx, side->qp, counters, RT_COUNT(counters));
	struct ibv_wc wc;

	CHECK_INT(ibv_poll_cq(side->cq, 1, &wc), 0);
	for (int i = 0; i < n && i < RT_COUNT(counters); i++)
		if (!strcmp(counters[i].name, "dropped_short_receive"))
			return counters[i].value;
	FAIL("the counter is missing");
}

/* Send a datagram of SMALL bytes into a receive of @length bytes. */
static void datagram(struct rt_pair *pair, uint32_t length)
{
	struct rt_address address = rt_side_address(&pair->b);
	struct ibv_ah_attr attr = rt_ah_attr(pair->a.dev, &address);
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_ah *ah = ibv_create_ah(pair->a.dev->pd, &attr);

	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pair->b.qp->qp_num;
	wr.wr.ud.remote_qkey = RT_QKEY;
	rt_recv(&pair->b, 2, 0, length);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	CHECK_OK(ibv_destroy_ah(ah));
}

static void no_grh(void)
{
	struct rt_options options = { .type = IBV_QPT_UD };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);

	datagram(&pair, SMALL + sizeof(struct ibv_grh));
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	expect_clean();
	rt_recv(&pair.a, 3, 0, sizeof(struct ibv_grh) - 1);
	EXPECT_LINE("ibv_post_recv of request 0x3: 39 bytes");
	datagram(&pair, SMALL);
	while (!drops(&pair.b))
		usleep(100);
	rt_pair_close(&pair);
	EXPECT_LINE("1 datagram was dropped, longer than the receive");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 2);
}

/* --- the memory of sends --- */

static char sent[SIZE];

static void content(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, sent, SIZE, 0);
	struct ibv_sge sge = { (uintptr_t)sent, SMALL, mr->lkey };
	struct ibv_send_wr quiet = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge), wr;

	quiet.send_flags = 0;
	rt_wr_remote(&quiet, &pair.b, 0);
	wr = quiet;
	wr.wr_id = 2;
	wr.send_flags = IBV_SEND_SIGNALED;
	POST(&pair.a, &quiet);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	sent[SMALL - 1]++; /* completed */
	POST(&pair.a, &wr);
	sent[SMALL]++; /* a byte behind the message */
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	expect_clean();
	POST(&pair.a, &quiet);
	sent[SMALL - 1]++;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	EXPECT_LINE("the memory of send request 0x1, first entry");
	CHECK_INT(lines(FAULT), 1);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
	rt_close(dev);
}

/* A write behind a fence sends the data of an earlier read. */
static void content_fence(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 2, &sge), read = write;

	memset(pair.b.buf.p, 7, SMALL);
	rt_wr_remote(&write, &pair.b, SMALL);
	write.send_flags |= IBV_SEND_FENCE;
	read.opcode = IBV_WR_RDMA_READ;
	read.send_flags = 0;
	read.next = &write;
	rt_wr_remote(&read, &pair.b, 0);
	POST(&pair.a, &read);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	CHECK_INT(pair.b.buf.p[SMALL], 7);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* The answer of the peer arrives in the memory of the question. */
static void content_answer(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge to = rt_sge(&pair.a, 0, SMALL), from = rt_sge(&pair.b, SMALL, SMALL);
	struct ibv_send_wr question = rt_wr(IBV_WR_SEND, 1, &to), answer = question;

	memset(pair.b.buf.p, 7, 2 * SMALL);
	answer.sg_list = &from;
	rt_recv(&pair.a, 2, 0, SMALL);
	rt_recv(&pair.b, 2, 0, SMALL);
	POST(&pair.a, &question);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	POST(&pair.b, &answer);
	EXPECT(&pair.b, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.a, 2, IBV_WC_RECV);
	CHECK_INT(pair.a.buf.p[0], 7);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* Memory that was unmapped before the poll is not read. */
static void content_unmapped(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SIZE, 0);
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	struct ibv_wc wc;

	memset(memory, 7, SMALL);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	while (*(volatile uint8_t *)&pair.b.buf.p[SMALL - 1] != 7)
		CHECK_INT(ibv_poll_cq(pair.b.cq, 1, &wc), 0); /* lets the device work */
	CHECK_OK(munmap(memory, SIZE));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* --- the memory of receives --- */

static char received[SIZE];

/* Receive a message of SMALL bytes. Meanwhile the program writes the byte at @offset. */
static void receive_and_write(struct rt_pair *pair, struct ibv_mr *mr, int offset)
{
	struct ibv_sge to = { (uintptr_t)received, SIZE, mr->lkey }, from;
	struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &from);

	from = rt_sge(&pair->a, 0, SMALL);
	CHECK_OK(ibv_post_recv(pair->b.qp, &recv, &bad));
	received[offset]++;
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	EXPECT(&pair->b, 3, IBV_WC_RECV);
}

static void receive_written(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, received, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *open = ibv_reg_mr(dev->pd, received, SIZE,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	receive_and_write(&pair, open, SIZE - 1); /* a peer may have done so */
	CHECK_OK(ibv_dereg_mr(open));
	receive_and_write(&pair, mr, SMALL - 1); /* the message is written over it */
	received[SIZE - 1] = 1;
	expect_clean();
	receive_and_write(&pair, mr, SMALL);
	EXPECT_LINE("the memory of receive request 0x3, first entry 0x");
	EXPECT_LINE("changed behind the 64 bytes that arrived");
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* Two receives share memory: the second message is shorter than the first. */
static void receive_shared(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, received, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge to = { (uintptr_t)received, SIZE, mr->lkey },
		       from = rt_sge(&pair.a, 0, SMALL);
	struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &from);

	memset(pair.a.buf.p, 7, SMALL);
	for (int i = 0; i < 2; i++)
		CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	for (int i = 0; i < 2; i++) {
		POST(&pair.a, &wr);
		EXPECT(&pair.a, 1, IBV_WC_SEND);
		from.length /= 2;
	}
	for (int i = 0; i < 2; i++)
		EXPECT(&pair.b, 3, IBV_WC_RECV);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* --- room in the send queue --- */

/* Post writes until the queue is full, of which the one before the last place is signalled. */
static void fill(struct rt_pair *pair, unsigned int signal)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge), *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(pair->a.qp, &attr, IBV_QP_CAP, &init));
	rt_wr_remote(&wr, &pair->b, 0);
	for (unsigned int i = 0; i < init.cap.max_send_wr; i++) {
		wr.send_flags = signal && i == init.cap.max_send_wr - 2 ? signal : 0;
		POST(&pair->a, &wr);
	}
	CHECK_INT(ibv_post_send(pair->a.qp, &wr, &bad), ENOMEM);
}

static void never_signaled(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 2, &sge);

	fill(&pair, IBV_SEND_SIGNALED);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr); /* its completion frees all entries */
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	expect_clean();
	fill(&pair, 0);
	EXPECT_LINE("the send queue is full, and none of its 16 requests has IBV_SEND_SIGNALED");
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* --- immediate data --- */

static void send_immediate(struct rt_pair *pair, __be32 data)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE_WITH_IMM, 1, &sge);

	wr.imm_data = data;
	rt_wr_remote(&wr, &pair->b, 0);
	rt_recv(&pair->b, 2, 0, SMALL);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair->b, 2, IBV_WC_RECV_RDMA_WITH_IMM);
}

static void immediate(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	if (htonl(1) == 1)
		rt_skip("the host has network byte order");
	for (uint32_t i = 0; i < 600; i++)
		send_immediate(&pair, htonl(i));
	for (uint32_t type = 1; type < 8; type++) { /* small in host order, but no counter */
		send_immediate(&pair, type);
		send_immediate(&pair, type + 1);
	}
	expect_clean();
	for (uint32_t i = 7; i < 11; i++)
		send_immediate(&pair, i);
	EXPECT_LINE("of which 10 arrives as 0xa000000");
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* --- waits --- */

static void *event_wait_poll(void *channel)
{
	struct pollfd one = { .fd = ((struct ibv_comp_channel *)channel)->fd, .events = POLLIN };

	CHECK_INT(poll(&one, 1, -1), 1);
	return event_wait(channel);
}

static void *event_wait_epoll(void *channel)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, ((struct ibv_comp_channel *)channel)->fd, &event));
	CHECK_INT(epoll_wait(epoll, &event, 1, -1), 1);
	close(epoll);
	return event_wait(channel);
}

struct wait {
	bool late; /* arm after the completion has come */
	void *(*wait)(void *channel);
};

struct waiter {
	const struct wait *how;
	struct rt_pair *pair;
};

/* Leave a completion, and wait for its event in the same thread. */
static void *leave_and_wait(void *arg)
{
	const struct waiter *waiter = arg;

	completion_leave(waiter->pair);
	if (waiter->how->late)
		CHECK_OK(ibv_req_notify_cq(waiter->pair->a.cq, 0));
	return waiter->how->wait(waiter->pair->a.channel);
}

/* Side b is armed and waited for. The completion of the second pair waits, but no thread does. */
static void unarmed(const void *arg)
{
	const struct wait *how = arg;
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options), other = rt_pair_open(dev, &options);
	struct waiter waiter = { how, &pair };
	pthread_t waits[2];

	completion_leave(&other);
	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 0));
	CHECK_OK(pthread_create(&waits[0], NULL, leave_and_wait, &waiter));
	CHECK_OK(pthread_create(&waits[1], NULL, event_wait, pair.b.channel));
	while (!lines("completions wait, and a thread waits for an event, but the queue "))
		usleep(1000);
	EXPECT_LINE(how->late ? "was armed after they had come" : "is not armed");
	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	complete_one(&pair);
	CHECK_OK(pthread_join(waits[0], NULL));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&other.a, 1, IBV_WC_RDMA_WRITE);
	rt_recv(&pair.b, 5, 0, SMALL);
	rt_qp_state(pair.b.qp, IBV_QPS_ERR); /* flushes the receive, which wakes the other thread */
	CHECK_OK(pthread_join(waits[1], NULL));
	rt_pair_close(&pair);
	rt_pair_close(&other);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static const struct wait wait_read = { .wait = event_wait }, wait_late = { true, event_wait },
			 wait_poll = { .wait = event_wait_poll },
			 wait_epoll = { .wait = event_wait_epoll };

/* A program that waits for a datagram learns that it was dropped. */
static void drop_while_waiting(void)
{
	struct rt_options options = { .type = IBV_QPT_UD };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);

	datagram(&pair, SMALL);
	while (!lines("1 datagram was dropped, longer than the receive"))
		usleep(1000);
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static const struct rt_case cases[] = {
	{ "error ignored", error_ignored },
	{ "error unpolled", error_unpolled },
	{ "overflow", .run_with = overflow },
	{ "overflow, extended", .run_with = overflow, .arg = "" },
	{ "no room for the GRH", no_grh },
	{ "drop while waiting", drop_while_waiting },
	{ "content", content },
	{ "content behind a fence", content_fence },
	{ "content answered", content_answer },
	{ "content unmapped", content_unmapped },
	{ "receive written", receive_written },
	{ "receives with one memory", receive_shared },
	{ "never signalled", never_signaled },
	{ "immediate", immediate },
	{ "not armed", .run_with = unarmed, .arg = &wait_read },
	{ "armed late", .run_with = unarmed, .arg = &wait_late },
	{ "not armed, poll", .run_with = unarmed, .arg = &wait_poll },
	{ "not armed, epoll", .run_with = unarmed, .arg = &wait_epoll },
};
RT_MAIN(cases)
