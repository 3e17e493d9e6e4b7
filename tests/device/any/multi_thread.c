/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several threads on one queue pair, one completion queue, one shared receive queue, one device. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/lib/rt.h"

#define THREADS 4
#define ROUNDS	200

static struct rt_dev *dev;
static struct rt_pair shared;
static atomic_int seen[THREADS * ROUNDS];
static atomic_int posted, total;

static void run(void *(*body)(void *number))
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, body, (void *)i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void poll_shared(struct rt_side *side)
{
	struct ibv_wc wc[3];
	int n = ibv_poll_cq(side->cq, 3, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++) {
		CHECK_INT(wc[i].status, IBV_WC_SUCCESS);
		CHECK(wc[i].wr_id < THREADS * ROUNDS);
		CHECK_INT(atomic_fetch_add(&seen[wc[i].wr_id], 1), 0);
		atomic_fetch_add(&total, 1);
	}
	if (!n)
		sched_yield();
}

/* Wait until the completion queue has room for one more, even if all other threads post. A full
 * send queue does not indicate that: with rxe a request leaves the send queue when it completes,
 * not when its completion is polled. Therefore a thread that posts at the device's speed never gets
 * ENOMEM. */
static void room_wait(struct rt_side *side)
{
	while (atomic_load(&posted) - atomic_load(&total) > (int)side->options.cqe - THREADS)
		poll_shared(side);
	atomic_fetch_add(&posted, 1);
}

/* Post this thread's share on the common QP, and poll every completion. */
static void *post_and_poll(void *number)
{
	for (int i = 0; i < ROUNDS; i++) {
		int wr_id = (long)number * ROUNDS + i;
		struct ibv_sge sge = rt_sge(&shared.a, 64 * (long)number, 64);
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, wr_id, &sge), *bad_wr;
		int r;

		room_wait(&shared.a);
		rt_wr_remote(&wr, &shared.b, 64 * (long)number);
		while ((r = ibv_post_send(shared.a.qp, &wr, &bad_wr)) == ENOMEM)
			poll_shared(&shared.a);
		CHECK_OK(r);
	}
	while (atomic_load(&total) < THREADS * ROUNDS)
		poll_shared(&shared.a);
	return NULL;
}

static void one_qp(void)
{
	struct rt_options options = { .cqe = 200 };

	dev = rt_open();
	shared = rt_pair_open(dev, &options);
	rt_fill(shared.a.buf.p, 64 * THREADS, 1);
	run(post_and_poll);
	EXPECT_NONE(&shared.a);
	VERIFY(shared.b.buf.p, 64 * THREADS, 1);
	rt_pair_close(&shared);
	rt_close(dev);
}

/* The same by ibv_wr_*(), whose lock is held from start to complete. */
static void *build_and_poll(void *number)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_qp_ex *qp = shared.a.qpx;
		int r;

		room_wait(&shared.a);
		do {
			ibv_wr_start(qp);
			qp->wr_id = (long)number * ROUNDS + i;
			qp->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_rdma_write(qp, shared.b.buf.mr->rkey, (uintptr_t)shared.b.buf.p);
			ibv_wr_set_sge(qp, shared.a.buf.mr->lkey, (uintptr_t)shared.a.buf.p, 64);
			r = ibv_wr_complete(qp);
			if (r)
				poll_shared(&shared.a);
		} while (r == ENOSPC || r == ENOMEM);
		CHECK_OK(r);
	}
	while (atomic_load(&total) < THREADS * ROUNDS)
		poll_shared(&shared.a);
	return NULL;
}

static void one_qp_ex(void)
{
	struct rt_options options = { .cqe = 200, .send_ops = IBV_QP_EX_WITH_RDMA_WRITE };

	dev = rt_open();
	shared = rt_pair_open(dev, &options);
	run(build_and_poll);
	EXPECT_NONE(&shared.a);
	rt_pair_close(&shared);
	rt_close(dev);
}

/* Each thread has a pair of its own; only the device is common. */
static void *own_pair(void *number)
{
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, 1500);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		rt_fill(pair.a.buf.p, 1500, i + (long)number);
		rt_recv(&pair.b, i, 0, 1500);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, i, IBV_WC_SEND);
		EXPECT(&pair.b, i, IBV_WC_RECV);
		VERIFY(pair.b.buf.p, 1500, i + (long)number);
	}
	rt_pair_close(&pair);
	return NULL;
}

static void own_pairs(void)
{
	dev = rt_open();
	run(own_pair);
	rt_close(dev);
}

/* Create and destroy objects in every thread. */
static void *create_and_destroy(void *number)
{
	for (int i = 0; i < 20; i++) {
		struct rt_pair pair = rt_pair_open(dev, NULL);
		struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);

		rt_buf_free(&buf);
		rt_pair_close(&pair);
	}
	return NULL;
}

static void life_cycle(void)
{
	dev = rt_open();
	run(create_and_destroy);
	rt_close(dev);
}

/* All threads post receives to one SRQ; each receive is used once. */
static void *post_srq(void *number)
{
	for (int i = 0; i < ROUNDS; i++)
		rt_recv(&shared.a, (long)number * ROUNDS + i, 64 * (long)number, 64);
	return NULL;
}

static void one_srq(void)
{
	struct rt_options options = { .srq = true, .recv_wr = THREADS * ROUNDS, .cqe = 64 };

	dev = rt_open();
	if (dev->attr.orig_attr.max_srq_wr < THREADS * ROUNDS)
		rt_skip("the device's shared receive queues hold %d",
			dev->attr.orig_attr.max_srq_wr);
	shared = rt_pair_open(dev, &options);
	run(post_srq);
	for (int i = 0; i < THREADS * ROUNDS; i++) {
		struct ibv_sge sge = rt_sge(&shared.b, 0, 64);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);
		struct ibv_wc wc;

		POST(&shared.b, &wr);
		EXPECT(&shared.b, i, IBV_WC_SEND);
		wc = rt_wait(&shared.a);
		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		CHECK_INT(atomic_fetch_add(&seen[wc.wr_id], 1), 0);
	}
	rt_pair_close(&shared);
	rt_close(dev);
}

/* All threads open and close the context at once. */
static void *open_close(void *number)
{
	for (int i = 0; i < 5; i++)
		rt_close(rt_open());
	return NULL;
}

static void open_all(void)
{
	run(open_close);
}

static const struct rt_case cases[] = {
	{ "one_qp", one_qp },	      { "one_qp_ex", one_qp_ex }, { "own_pairs", own_pairs },
	{ "life_cycle", life_cycle }, { "one_srq", one_srq },	  { "open_all", open_all },
};
RT_MAIN(cases)
