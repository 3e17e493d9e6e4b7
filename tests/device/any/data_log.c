/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A debug build logs each refused request and each completion with an error at level 4. Other
 * builds explain a refusal once. */
#include "tests/lib/rt.h"

#ifdef RDMA_DEBUG
enum {
	DEBUG_BUILD = 1
};
#else
enum {
	DEBUG_BUILD = 0
};
#endif

static struct rt_dev *open_and_listen(void)
{
	rt_log_capture();
	CHECK_OK(setenv("VERBS_LOG_LEVEL", "4", 1));
	return rt_open();
}

static int lines_with(const char *words)
{
	const char *text = rt_log_text();
	int n = 0;

	while ((text = strstr(text, words))) {
		text += strlen(words);
		n++;
	}
	return n;
}

static void refused_send(void)
{
	struct rt_dev *dev = open_and_listen();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad;

	wr.num_sge = 1000;
	for (int i = 0; i < 5; i++)
		CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad), EINVAL);
	CHECK_INT(lines_with("ibv_post_send: refused"), DEBUG_BUILD ? 5 : 0);
	CHECK_INT(lines_with("1000 scatter/gather entries"), 1);
	rt_log_discard();
	rt_pair_close(&pair);
	rt_close(dev);
}

static void refused_recv(void)
{
	struct rt_dev *dev = open_and_listen();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_recv_wr wr = { .num_sge = 1000 }, *bad;

	for (int i = 0; i < 5; i++)
		CHECK_INT(ibv_post_recv(pair.a.qp, &wr, &bad), EINVAL);
	CHECK_INT(lines_with("post_recv: refused"), DEBUG_BUILD ? 5 : 0);
	CHECK_INT(lines_with("1000 scatter/gather entries"), 1);
	rt_log_discard();
	rt_pair_close(&pair);
	rt_close(dev);
}

static void completion(bool cq_ex)
{
	struct rt_options options = { .cq_ex = cq_ex };
	struct rt_dev *dev = open_and_listen();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 10);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 77, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey ^= 0xffff00;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 77, IBV_WC_REM_ACCESS_ERR);
	CHECK_INT(lines_with("wr_id 0x4d: remote access error"), DEBUG_BUILD ? 1 : 0);
	rt_log_discard();
	rt_pair_close(&pair);
	rt_close(dev);
}

static void error_completion(void)
{
	completion(false);
}

static void error_completion_ex(void)
{
	completion(true);
}

static const struct rt_case cases[] = {
	{ "refused_send", refused_send },
	{ "refused_recv", refused_recv },
	{ "error_completion", error_completion },
	{ "error_completion_ex", error_completion_ex },
};
RT_MAIN(cases)
