/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strict mode: correct programs that resemble those with a fault get no line. */
#include <pthread.h>

#include "tests/device/uroce/strict.h"

static char memory[SIZE];

static void write_to(struct rt_pair *pair, const struct rt_side *from, const struct rt_side *to,
		     size_t offset, size_t remote)
{
	struct rt_side *side = from == &pair->a ? &pair->a : &pair->b;
	struct ibv_sge sge = rt_sge(side, offset, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_wr_remote(&wr, to, remote);
	POST(side, &wr);
}

/* The peer answers a write by a write into the memory of the question. */
static void write_answered(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	memset(pair.b.buf.p, 7, 2 * SMALL);
	write_to(&pair, &pair.a, &pair.b, 0, 0);
	while (*(volatile uint8_t *)&pair.b.buf.p[SMALL - 1]) {
		struct ibv_wc wc;

		CHECK_INT(ibv_poll_cq(pair.b.cq, 1, &wc), 0); /* lets the device work */
	}
	write_to(&pair, &pair.b, &pair.a, SMALL, 0);
	EXPECT(&pair.b, 1, IBV_WC_RDMA_WRITE);
	CHECK_INT(pair.a.buf.p[0], 7);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* A peer writes memory of a posted receive by the key of another region. */
static void receive_aliased(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *open =
		ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge to = { (uintptr_t)memory, SIZE, mr->lkey }, from = rt_sge(&pair.a, 0, SMALL);
	struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 1, &from),
			   send = rt_wr(IBV_WR_SEND, 2, &from);

	memset(pair.a.buf.p, 7, SMALL);
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	write.wr.rdma.remote_addr = (uintptr_t)memory + SIZE - SMALL;
	write.wr.rdma.rkey = open->rkey;
	POST(&pair.a, &write);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	POST(&pair.a, &send);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	EXPECT(&pair.b, 3, IBV_WC_RECV);
	CHECK_INT(memory[SIZE - 1], 7);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_dereg_mr(open));
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* A receive changes the memory of a send of another queue pair. Its own queue pair is reset before
 * its completion is polled. */
static void receive_reset(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL), other = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge shared = { (uintptr_t)memory, SMALL, mr->lkey },
		       from = rt_sge(&other.b, 0, SMALL);
	struct ibv_recv_wr recv = { .wr_id = 3, .sg_list = &shared, .num_sge = 1 }, *bad;
	struct ibv_send_wr question = rt_wr(IBV_WR_SEND, 1, &shared),
			   answer = rt_wr(IBV_WR_SEND, 2, &from);

	memset(other.b.buf.p, 7, SMALL);
	rt_recv(&pair.b, 4, 0, SMALL);
	CHECK_OK(ibv_post_recv(other.a.qp, &recv, &bad));
	POST(&pair.a, &question);
	EXPECT(&pair.b, 4, IBV_WC_RECV);
	POST(&other.b, &answer);
	EXPECT(&other.b, 2, IBV_WC_SEND);
	while (*(volatile char *)memory != 7)
		usleep(100);
	rt_qp_state(other.a.qp, IBV_QPS_RESET);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
	rt_pair_close(&other);
	rt_close(dev);
	expect_clean();
}

/* --- waits --- */

static void *leave(void *pair)
{
	completion_leave(pair);
	return NULL;
}

static void *leave_and_wait(void *arg)
{
	struct rt_pair *pair = arg;

	completion_leave(pair);
	return event_wait(pair->a.channel);
}

/* Return when a look has found the fault of another pair. It has looked at older pairs as well. */
static void look_wait(struct rt_dev *dev)
{
	struct rt_options options = { .channel = true };
	struct rt_pair pair = rt_pair_open(dev, &options);
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, leave_and_wait, &pair));
	while (!lines("but the queue is not armed"))
		usleep(1000);
	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	complete_one(&pair);
	CHECK_OK(pthread_join(thread, NULL));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	CHECK_INT(lines(FAULT), 1);
}

/*
 * A thread waits for events. Another thread polls, and works for a long time on the polled message.
 */
static void worker(void)
{
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	pthread_t thread;

	completion_leave(&pair);
	CHECK_OK(pthread_create(&thread, NULL, event_wait, pair.a.channel));
	look_wait(dev);
	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
	complete_one(&pair);
	CHECK_OK(pthread_join(thread, NULL));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* The completion of a send waits, and the program waits for a solicited receive. */
static void solicited(void)
{
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.b, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	pthread_t thread;

	wr.send_flags |= IBV_SEND_SOLICITED;
	rt_recv(&pair.a, 5, SMALL, SMALL);
	CHECK_OK(pthread_create(&thread, NULL, leave, &pair));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(ibv_req_notify_cq(pair.a.cq, 1));
	CHECK_OK(pthread_create(&thread, NULL, event_wait, pair.a.channel));
	look_wait(dev);
	POST(&pair.b, &wr);
	CHECK_OK(pthread_join(thread, NULL));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 5, IBV_WC_RECV);
	EXPECT(&pair.b, 1, IBV_WC_SEND);
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* --- shared receive queues --- */

/* Two receives have the same wr_id. The second packet of a long message is lost, therefore the
 * later receive completes first. */
static void srq_numbers(void)
{
	struct rt_options options = { .srq = true };
	struct rt_dev *dev;
	struct rt_pair pair;
	struct rt_side c, d;
	struct ibv_sge to[2], long_sge, short_sge;
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad;
	struct ibv_send_wr wr;
	struct ibv_mr *mr;
	struct rt_address address;

	CHECK_OK(setenv("UROCE_FAULTS", "drop=2:send", 1));
	dev = strict_open("1");
	pair = rt_pair_open(dev, &options);
	mr = ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	c = rt_side_open(dev, &options, NULL);
	d = rt_side_open(dev, &options, pair.a.srq);
	rt_side_init(&c);
	rt_side_init(&d);
	address = rt_side_address(&d);
	rt_side_connect(&c, &address);
	address = rt_side_address(&c);
	rt_side_connect(&d, &address);
	for (int i = 0; i < 2; i++) {
		to[i] = (struct ibv_sge){ (uintptr_t)memory + i * 2048, 2048, mr->lkey };
		recv.sg_list = &to[i];
		CHECK_OK(ibv_post_srq_recv(pair.a.srq, &recv, &bad));
	}
	memset(pair.a.buf.p, 7, 2048);
	long_sge = rt_sge(&pair.a, 0, 2048);
	wr = rt_wr(IBV_WR_SEND, 1, &long_sge);
	POST(&pair.a, &wr);
	while (*(volatile char *)memory != 7)
		usleep(10);
	short_sge = rt_sge(&c, 0, 8);
	wr = rt_wr(IBV_WR_SEND, 2, &short_sge);
	POST(&c, &wr);
	EXPECT(&c, 2, IBV_WC_SEND);
	EXPECT(&d, 0, IBV_WC_RECV);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 0, IBV_WC_RECV);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_side_close(&c);
	rt_side_close(&d);
	rt_pair_close(&pair);
	rt_close(dev);
	expect_clean();
}

/* --- errors --- */

static struct rt_pair shared_pair;

static void *error_poll(void *unused)
{
	EXPECT_STATUS(&shared_pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	return unused;
}

static void *post_unknowing(void *unused)
{
	struct ibv_sge sge = rt_sge(&shared_pair.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 2, &sge);

	POST(&shared_pair.a, &wr);
	return unused;
}

/* A thread polls an error and ends. A later thread, which may get its pthread_t, does not
 * know of it.
 */
static void error_of_thread(void)
{
	struct rt_options options = { .rnr_retry = RT_NO_RETRY };
	struct rt_dev *dev = strict_open("1");
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	pthread_t thread;

	shared_pair = rt_pair_open(dev, &options);
	sge = rt_sge(&shared_pair.a, 0, SMALL);
	wr = rt_wr(IBV_WR_SEND, 1, &sge);
	POST(&shared_pair.a, &wr);
	CHECK_OK(pthread_create(&thread, NULL, error_poll, NULL));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(pthread_create(&thread, NULL, post_unknowing, NULL));
	CHECK_OK(pthread_join(thread, NULL));
	EXPECT_STATUS(&shared_pair.a, 2, IBV_WC_WR_FLUSH_ERR);
	rt_pair_close(&shared_pair);
	rt_close(dev);
	expect_clean();
}

static const struct rt_case cases[] = {
	{ "write answered", write_answered },
	{ "receive aliased", receive_aliased },
	{ "receive reset", receive_reset },
	{ "worker", worker },
	{ "solicited", solicited },
	{ "srq numbers", srq_numbers },
	{ "error of thread", error_of_thread },
};
RT_MAIN(cases)
