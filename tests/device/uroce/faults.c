/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UROCE_FAULTS, as programs use it. */
#include "tests/lib/rt.h"
#include "tests/device/uroce/net.h"

enum {
	MESSAGES = 40,
	LENGTH = 50000,
};

static struct rt_dev *open_with(const char *faults)
{
	net_own();
	setenv("UROCE_FAULTS", faults, 1);
	rt_log_capture();
	setenv("VERBS_LOG_LEVEL", "4", 1); /* the trace */
	return rt_open();
}

static int log_count(const char *text)
{
	int n = 0;

	for (const char *p = rt_log_text(); (p = strstr(p, text)); p++)
		n++;
	return n;
}

/* --- packets --- */

static void move(struct rt_pair *pair, int i)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ };
	static const enum ibv_wc_opcode completes[] = { IBV_WC_SEND, IBV_WC_RDMA_WRITE,
							IBV_WC_RDMA_READ };
	struct ibv_sge sge = rt_sge(&pair->a, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(opcodes[i % 3], i, &sge);
	bool read = i % 3 == 2;

	rt_fill(read ? pair->b.buf.p : pair->a.buf.p, LENGTH, i);
	memset(read ? pair->a.buf.p : pair->b.buf.p, 0, LENGTH);
	if (i % 3)
		rt_wr_remote(&wr, &pair->b, 0);
	else
		rt_recv(&pair->b, i, 0, LENGTH);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, i, completes[i % 3]);
	if (!(i % 3))
		EXPECT(&pair->b, i, IBV_WC_RECV);
	VERIFY(read ? pair->a.buf.p : pair->b.buf.p, LENGTH, i);
}

/* Every byte arrives all the same, and the log has the faults. */
static void every_byte(const void *rules)
{
	struct rt_dev *dev = open_with(rules);
	struct rt_pair pair = rt_pair_open(dev, NULL);

	for (int i = 0; i < MESSAGES; i++)
		move(&pair, i);
	CHECK(log_count("uroce: fault ") > 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void lost_for_good(void)
{
	struct rt_dev *dev = open_with("drop=100%:only,qp=1");
	struct rt_pair pair =
		rt_pair_open(dev, &(struct rt_options){ .timeout = 8, .retry_cnt = 2 });
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RETRY_EXC_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- verbs --- */

static void third_reg_mr(void)
{
	struct rt_dev *dev = open_with("reg_mr=3:ENOMEM");
	struct ibv_mr *mr[5];
	static char buf[100];

	for (int i = 0; i < 5; i++) {
		errno = 0;
		mr[i] = ibv_reg_mr(dev->pd, buf, sizeof(buf), 0);
		CHECK((mr[i] != NULL) == (i != 2));
		CHECK_INT(errno, i == 2 ? ENOMEM : 0);
	}
	for (int i = 0; i < 5; i++)
		if (mr[i])
			CHECK_OK(ibv_dereg_mr(mr[i]));
	CHECK_INT(log_count("uroce: fault reg_mr=3:ENOMEM: call 3"), 1);
	rt_close(dev);
}

static void post_fails(void)
{
	struct rt_dev *dev = open_with("post_send=2:ENOMEM;create_qp=3:EMFILE;post_recv=1:EINVAL");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_qp_init_attr attr = { .send_cq = pair.a.cq,
					 .recv_cq = pair.a.cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1 } };
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge), *bad = NULL;
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;

	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad), ENOMEM);
	CHECK(bad == &wr);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_INT(ibv_post_recv(pair.b.qp, &recv, &bad_recv), EINVAL);
	CHECK(bad_recv == &recv);
	errno = 0;
	CHECK(!ibv_create_qp(dev->pd, &attr));
	CHECK_INT(errno, EMFILE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* ibv_wr_complete() counts as a post; the requests built before it are dropped. */
static void builder_fails(void)
{
	static const struct rt_options options = { .send_ops = IBV_QP_EX_WITH_RDMA_WRITE };
	struct rt_dev *dev = open_with("post_send=1:ENOMEM");
	struct rt_pair pair = rt_pair_open(dev, &options);

	for (int i = 0; i < 2; i++) {
		ibv_wr_start(pair.a.qpx);
		pair.a.qpx->wr_id = i;
		pair.a.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(pair.a.qpx, pair.b.buf.mr->rkey, (uintptr_t)pair.b.buf.p);
		ibv_wr_set_sge(pair.a.qpx, pair.a.buf.mr->lkey, (uintptr_t)pair.a.buf.p, 8);
		CHECK_INT(ibv_wr_complete(pair.a.qpx), i ? 0 : ENOMEM);
	}
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- events --- */

static void write_to(struct rt_pair *pair, uint64_t wr_id)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, wr_id, &sge);

	rt_wr_remote(&wr, &pair->b, 0);
	POST(&pair->a, &wr);
}

static void port_down_and_up(void)
{
	struct rt_dev *dev = open_with("port_err=2;port_active=3");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	write_to(&pair, 1);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	write_to(&pair, 2);
	EXPECT_EVENT(dev, IBV_EVENT_PORT_ERR);
	CHECK_OK(ibv_query_port(dev->ctx, 1, &dev->port));
	CHECK_INT(dev->port.state, IBV_PORT_DOWN);
	write_to(&pair, 3);
	EXPECT_EVENT(dev, IBV_EVENT_PORT_ACTIVE);
	CHECK_OK(ibv_query_port(dev->ctx, 1, &dev->port));
	CHECK_INT(dev->port.state, IBV_PORT_ACTIVE);
	EXPECT(&pair.a, 2, IBV_WC_RDMA_WRITE);
	EXPECT(&pair.a, 3, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void qp_fatal(void)
{
	struct rt_dev *dev = open_with("qp_fatal=2:qp=1");
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_async_event event;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	write_to(&pair, 1);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	write_to(&pair, 2);
	event = EXPECT_EVENT(dev, IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == pair.a.qp);
	CHECK_OK(ibv_query_qp(pair.a.qp, &attr, IBV_QP_STATE, &init));
	CHECK_INT(attr.qp_state, IBV_QPS_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void device_fatal(void)
{
	struct rt_dev *dev = open_with("device_fatal=100ms");
	struct rt_pair pair = rt_pair_open(dev, NULL);

	rt_recv(&pair.a, 5, 0, 100);
	EXPECT_EVENT(dev, IBV_EVENT_DEVICE_FATAL);
	EXPECT_STATUS(&pair.a, 5, IBV_WC_WR_FLUSH_ERR);
	errno = 0;
	CHECK(!ibv_alloc_pd(dev->ctx));
	CHECK_INT(errno, EIO);
	rt_pair_close(&pair); /* destroying is always possible */
	rt_close(dev);
}

/* --- refusals --- */

static void cannot_open(const char *variable, const char *text, const char *says)
{
	struct ibv_device **list;

	setenv(variable, text, 1);
	rt_log_capture();
	list = ibv_get_device_list(NULL);
	errno = 0;
	CHECK(!ibv_open_device(rt_device_find(list)));
	CHECK_INT(errno, EINVAL);
	if (!strstr(rt_log_text(), says))
		FAIL("the log does not say \"%s\" but: %s", says, rt_log_text());
	ibv_free_device_list(list);
}

static void bad_rule(void)
{
	cannot_open("UROCE_FAULTS", "drop=2%;dorp=2%", "'dorp' is no fault: seed, drop,");
}

static void bad_path(void)
{
	cannot_open("UROCE_PATH", "upd", "'upd' is not auto, user or udp");
}

static const struct rt_case cases[] = {
	{ "drop", .run_with = every_byte, .arg = "seed=1;drop=5%" },
	{ "drop_incoming", .run_with = every_byte, .arg = "seed=1;drop=5%:in" },
	{ "drop_acks", .run_with = every_byte, .arg = "seed=1;drop=50%:ack" },
	{ "drop_read_responses", .run_with = every_byte, .arg = "seed=1;drop=10%:read_response" },
	{ "drop_each_psn_twice", .run_with = every_byte, .arg = "drop=100%:psn=3,times=2" },
	{ "duplicate", .run_with = every_byte, .arg = "seed=1;duplicate=10%" },
	{ "reorder", .run_with = every_byte, .arg = "seed=1;reorder=5%;reorder=5%:in" },
	{ "delay", .run_with = every_byte, .arg = "seed=1;delay=2%:time=1ms" },
	{ "corrupt", .run_with = every_byte, .arg = "seed=1;corrupt=5%" },
	{ "all", .run_with = every_byte,
	  .arg = "seed=1;drop=2%;duplicate=2%;reorder=2%;delay=1%;corrupt=2%" },
	{ "lost_for_good", lost_for_good },
	{ "third_reg_mr", third_reg_mr },
	{ "post_fails", post_fails },
	{ "builder_fails", builder_fails },
	{ "port_down_and_up", port_down_and_up },
	{ "qp_fatal", qp_fatal },
	{ "device_fatal", device_fatal },
	{ "bad_rule", bad_rule },
	{ "bad_path", bad_path },
};

RT_MAIN(cases)
