/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Strict mode: each mistake gets its line, a correct program none. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tests/device/uroce/strict.h"

static char memory[SIZE];

/* --- correct programs --- */

static void traffic(struct rt_pair *pair)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), quiet = wr;

	rt_recv(&pair->b, 2, 0, SMALL);
	quiet.opcode = IBV_WR_RDMA_WRITE;
	quiet.send_flags = 0;
	quiet.next = &wr;
	rt_wr_remote(&quiet, &pair->b, SIZE);
	POST(&pair->a, &quiet);
	EXPECT(&pair->a, 1, IBV_WC_SEND);
	EXPECT(&pair->b, 2, IBV_WC_RECV);
	wr = rt_wr(IBV_WR_RDMA_READ, 3, &sge);
	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 3, IBV_WC_RDMA_READ);
}

static void clean_with(struct rt_dev *dev, const struct rt_options *options)
{
	struct rt_pair pair = rt_pair_open(dev, options);

	for (int i = 0; i < 40; i++)
		traffic(&pair);
	rt_pair_close(&pair);
}

/* Requests by the ibv_wr_* family, one list refused and one aborted. */
static void clean_builders(struct rt_dev *dev)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND,
				      .cq_ex = true,
				      .send_wr = 2 };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_qp_ex *qp = pair.a.qpx;

	for (int i = 0; i < 8; i++) {
		ibv_wr_start(qp);
		for (int n = 0; n < (i & 1 ? 3 : 1); n++) {
			qp->wr_id = i;
			qp->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_send(qp);
			ibv_wr_set_sge(qp, pair.a.buf.mr->lkey, (uintptr_t)pair.a.buf.p, SMALL);
		}
		if (i & 2) {
			ibv_wr_abort(qp);
			continue;
		}
		if (i & 1) {
			CHECK_INT(ibv_wr_complete(qp), ENOMEM);
			continue;
		}
		rt_recv(&pair.b, i, 0, SMALL);
		CHECK_OK(ibv_wr_complete(qp));
		EXPECT(&pair.a, i, IBV_WC_SEND);
		EXPECT(&pair.b, i, IBV_WC_RECV);
	}
	rt_pair_close(&pair);
}

/* A failed request, those flushed behind it, and the same queue pair after a reset. */
static void clean_flush(struct rt_dev *dev)
{
	struct rt_options options = { .rnr_retry = RT_NO_RETRY };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, SMALL);
	struct ibv_send_wr second = rt_wr(IBV_WR_SEND, 2, &sge), first = second;

	first.wr_id = 1;
	first.send_flags = 0;
	first.next = &second;
	POST(&pair.a, &first);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	EXPECT_STATUS(&pair.a, 2, IBV_WC_WR_FLUSH_ERR);
	rt_qp_state(pair.a.qp, IBV_QPS_RESET);
	rt_qp_state(pair.b.qp, IBV_QPS_RESET);
	rt_pair_connect(&pair);
	traffic(&pair);
	rt_pair_close(&pair);
}

/* The program learns by a completion that the queue pair is in ERR, where no memory is accessed. */
static void clean_error(struct rt_dev *dev)
{
	struct rt_options options = { .rnr_retry = RT_NO_RETRY };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge from = rt_sge(&pair.a, 0, SMALL), to;
	struct ibv_send_wr send = rt_wr(IBV_WR_SEND, 1, &from);
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &to, .num_sge = 1 }, *bad;

	CHECK(mr);
	to = (struct ibv_sge){ (uintptr_t)memory, SMALL, mr->lkey };
	CHECK_OK(ibv_post_recv(pair.a.qp, &recv, &bad));
	POST(&pair.a, &send);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_pair_close(&pair);
}

static void clean(void)
{
	static const struct rt_options options[] = {
		{},
		{ .srq = true },
		{ .cq_ex = true },
		{ .sig_all = true },
		{ .send_wr = 2, .cqe = 4 },
	};
	struct rt_dev *dev = strict_open("1");

	for (int i = 0; i < RT_COUNT(options); i++)
		if (!options[i].sig_all)
			clean_with(dev, &options[i]);
	clean_builders(dev);
	clean_flush(dev);
	clean_error(dev);
	rt_close(dev);
	expect_clean();
}

/* --- memory of requests --- */

/* Post a send of @sge and wait for its end. The fault is a line at the post. */
static void send_of(struct rt_pair *pair, struct ibv_sge sge, const char *line)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 7, &sge);

	rt_recv(&pair->b, 1, 0, SMALL);
	POST(&pair->a, &wr);
	EXPECT_LINE(line);
	EXPECT_STATUS(&pair->a, 7, IBV_WC_LOC_PROT_ERR);
}

enum region_fault {
	NO_KEY,
	WRONG_KEY,
	OLD_KEY,
	TOO_LONG,
	OTHER_DOMAIN,
};

static void region(const void *arg)
{
	static const char *const expected[] = {
		[NO_KEY] = "no lkey was set",
		[WRONG_KEY] = "no region has this key",
		[OLD_KEY] = "its region was deregistered",
		[TOO_LONG] = "each entry of a request lies within its region",
		[OTHER_DOMAIN] = "its region is in another domain",
	};
	enum region_fault fault = *(const enum region_fault *)arg;
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	struct ibv_mr *mr = ibv_reg_mr(fault == OTHER_DOMAIN ? pd : dev->pd, memory, SMALL, 0);
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };

	if (fault == NO_KEY)
		sge.lkey = 0;
	if (fault == WRONG_KEY)
		sge.lkey ^= 0x55;
	if (fault == TOO_LONG)
		sge.length++;
	if (fault == OLD_KEY)
		CHECK_OK(ibv_dereg_mr(mr));
	send_of(&pair, sge, expected[fault]);
	if (fault != OLD_KEY)
		CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_dealloc_pd(pd));
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* A receive into, and a read into, memory that the device may not write. */
static void access_flags(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SMALL, 0);
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr read = rt_wr(IBV_WR_RDMA_READ, 1, &sge);

	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	EXPECT_LINE("ibv_post_recv of request 0x0: entry 0");
	EXPECT_LINE("without IBV_ACCESS_LOCAL_WRITE");
	rt_wr_remote(&read, &pair.b, 0);
	POST(&pair.a, &read);
	CHECK_INT(lines("without IBV_ACCESS_LOCAL_WRITE"), 2);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_LOC_PROT_ERR);
	rt_pair_close(&pair);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_close(dev);
}

/* The same by the ibv_wr_* family. */
static void builders(void)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_qp_ex *qp = pair.a.qpx;

	ibv_wr_start(qp);
	qp->wr_id = 5;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, 0, (uintptr_t)memory, SMALL);
	CHECK_OK(ibv_wr_complete(qp));
	EXPECT_LINE("ibv_wr_complete of request 0x5: entry 0");
	EXPECT_STATUS(&pair.a, 5, IBV_WC_LOC_PROT_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- ends of objects --- */

static void dereg_while_receiving(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SMALL, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad));
	CHECK_OK(ibv_dereg_mr(mr));
	EXPECT_LINE("ibv_dereg_mr: receive request 0x9 of queue");
	rt_pair_close(&pair);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

/* The device has executed the send, but the program does not know it. */
static void ends_while_sending(void)
{
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, memory, SMALL, 0);
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, mr->lkey };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 8, &sge);

	rt_recv(&pair.b, 1, 0, SMALL);
	POST(&pair.a, &wr);
	EXPECT(&pair.b, 1, IBV_WC_RECV);
	CHECK_OK(ibv_dereg_mr(mr));
	EXPECT_LINE("ibv_dereg_mr: send request 0x8 of queue");
	rt_pair_close(&pair);
	EXPECT_LINE("ibv_destroy_qp: ");
	rt_close(dev);
	CHECK_INT(lines(FAULT), 2);
}

static void *cq_destroy(void *cq)
{
	CHECK_OK(ibv_destroy_cq(cq));
	return NULL;
}

static void events(void)
{
	struct rt_options options = { .channel = true };
	struct rt_dev *dev = strict_open("1");
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 0));
	traffic(&pair);
	CHECK_OK(ibv_get_cq_event(pair.b.channel, &cq, &context));
	CHECK_OK(ibv_destroy_qp(pair.b.qp));
	CHECK_OK(pthread_create(&thread, NULL, cq_destroy, cq));
	CHECK_OK(pthread_cancel(thread)); /* a verb is no cancellation point */
	while (!lines("destroyed without ibv_ack_cq_events() of 1 event"))
		usleep(1000);
	ibv_ack_cq_events(cq, 1);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(ibv_destroy_comp_channel(pair.b.channel));
	rt_buf_free(&pair.b.buf);
	rt_side_close(&pair.a);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 1);
}

static struct rt_dev *left; /* reachable: no leak for other tools */

static void leaks_at_close(void)
{
	static struct ibv_mr *mr[3]; /* reachable: no leak for other tools */
	struct rt_dev *dev = strict_open("1");
	struct ibv_context *ctx = dev->ctx;

	for (int i = 0; i < 3; i++)
		CHECK(mr[i] = ibv_reg_mr(dev->pd, memory, SMALL, 0));
	left = dev;
	CHECK_OK(ibv_close_device(ctx));
	EXPECT_LINE("and 2 more, made at ");
	EXPECT_LINE("/strict+0x");
	EXPECT_LINE("ibv_dereg_mr() was not called");
	EXPECT_LINE("ibv_dealloc_pd() was not called");
	CHECK_INT(lines(FAULT), 2);
}

/* --- the process --- */

/* Run @body in a child, and return its status. */
static int child_status(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		body();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void leave(void)
{
	left = rt_open();
}

static void leaks_at_exit(void)
{
	rt_log_capture();
	CHECK_OK(setenv("UROCE_STRICT", "1", 1));
	CHECK_INT(child_status(leave), 0);
	EXPECT_LINE("ibv_close_device() was not called");
	EXPECT_LINE("ibv_dealloc_pd() was not called");
	EXPECT_LINE("strict: 2 faults in ");
}

static atomic_bool at_work;

static void *poll_for_ever(void *cq)
{
	struct ibv_poll_cq_attr attr = {};

	atomic_store(&at_work, true);
	while (ibv_start_poll(cq, &attr) == ENOENT)
		continue;
	return NULL;
}

static void leave_at_work(void)
{
	static struct rt_pair pair;
	struct rt_options options = { .cq_ex = true };
	pthread_t thread;

	left = rt_open();
	pair = rt_pair_open(left, &options);
	CHECK_OK(pthread_create(&thread, NULL, poll_for_ever, pair.a.cq));
	CHECK_OK(pthread_detach(thread));
	while (!atomic_load(&at_work))
		sched_yield();
}

/* A thread polls while the process exits. */
static void exits_at_work(void)
{
	rt_log_capture();
	CHECK_OK(setenv("UROCE_STRICT", "1", 1));
	for (int i = 0; i < 5; i++)
		CHECK_INT(child_status(leave_at_work), 0);
}

static void use_no_key(void)
{
	struct rt_pair pair;
	struct ibv_sge sge = { (uintptr_t)memory, SMALL, 0 };
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 7, &sge);

	left = rt_open();
	pair = rt_pair_open(left, NULL);
	POST(&pair.a, &wr);
}

static void aborts(void)
{
	int status;

	rt_log_capture();
	CHECK_OK(setenv("UROCE_STRICT", "abort", 1));
	status = child_status(use_no_key);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	EXPECT_LINE("no lkey was set");
}

static struct rt_pair inherited;

/* A child uses what it inherited: no call works, and none waits for a lock of its parent. The calls
 * that end an object are no faults. */
static void use_inherited(void)
{
	struct ibv_sge sge = rt_sge(&inherited.a, 0, SMALL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad;
	struct ibv_wc wc;

	CHECK_INT(ibv_post_send(inherited.a.qp, &wr, &bad), EIO);
	CHECK(bad == &wr);
	CHECK_INT(ibv_poll_cq(inherited.a.cq, 1, &wc), -EIO);
	ibv_wr_start(inherited.a.qpx);
	ibv_wr_send(inherited.a.qpx);
	CHECK_INT(ibv_wr_complete(inherited.a.qpx), EIO);
	CHECK_INT(ibv_dereg_mr(inherited.a.buf.mr), EIO);
	CHECK_INT(ibv_destroy_qp(inherited.a.qp), EIO);
	CHECK_OK(ibv_close_device(inherited.a.dev->ctx));
}

static void forks(void)
{
	struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND };
	struct rt_dev *dev = strict_open("1");

	inherited = rt_pair_open(dev, &options);
	ibv_wr_start(inherited.a.qpx); /* holds a lock while the child is made */
	CHECK_INT(child_status(use_inherited), 0);
	EXPECT_LINE(": ibv_post_send in process ");
	EXPECT_LINE(", which inherited the qp: a child process opens the device itself");
	EXPECT_LINE(": ibv_poll_cq in process ");
	EXPECT_LINE(": ibv_wr_complete in process ");
	CHECK_INT(lines(FAULT), 3);
	ibv_wr_abort(inherited.a.qpx);
	traffic(&inherited);
	rt_pair_close(&inherited);
	rt_close(dev);
	CHECK_INT(lines(FAULT), 3);
}

static void open_fails(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	CHECK(!ibv_open_device(rt_device_find(list)) && errno == EINVAL);
	ibv_free_device_list(list);
}

static void values(void)
{
	rt_log_capture();
	CHECK_OK(setenv("UROCE_STRICT", "perhaps", 1));
	CHECK_INT(child_status(open_fails), 0);
	EXPECT_LINE("'perhaps' is not 0, 1 or abort");
	CHECK_OK(setenv("UROCE_STRICT", "0", 1));
	CHECK_INT(child_status(leave), 0);
	CHECK_OK(setenv("UROCE_STRICT", "", 1));
	CHECK_INT(child_status(leave), 0);
	CHECK_INT(lines("strict: "), 0);
}

static const enum region_fault region_faults[] = { NO_KEY, WRONG_KEY, OLD_KEY, TOO_LONG,
						   OTHER_DOMAIN };

static const struct rt_case cases[] = {
	{ "clean", clean },
	{ "no lkey", .run_with = region, .arg = &region_faults[0] },
	{ "wrong lkey", .run_with = region, .arg = &region_faults[1] },
	{ "old lkey", .run_with = region, .arg = &region_faults[2] },
	{ "outside", .run_with = region, .arg = &region_faults[3] },
	{ "other domain", .run_with = region, .arg = &region_faults[4] },
	{ "access", access_flags },
	{ "builders", builders },
	{ "dereg while receiving", dereg_while_receiving },
	{ "ends while sending", ends_while_sending },
	{ "events", events },
	{ "leaks at close", leaks_at_close },
	{ "leaks at exit", leaks_at_exit },
	{ "exits at work", exits_at_work },
	{ "abort", aborts },
	{ "fork", forks },
	{ "values", values },
};
RT_MAIN(cases)
