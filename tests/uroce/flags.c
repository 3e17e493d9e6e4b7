/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags that the device does not know are refused, and change nothing. */
#include <fcntl.h>

#include "tests/lib/rt.h"

enum {
	SIZE = 64,
	UNKNOWN = 1 << 14, /* no flag of any argument */
};

static void send_recv(struct rt_pair *pair)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 2, &sge);

	rt_recv(&pair->b, 1, 0, SIZE);
	POST(&pair->a, &wr);
	EXPECT(&pair->a, 2, IBV_WC_SEND);
	EXPECT(&pair->b, 1, IBV_WC_RECV);
}

static void posts(void)
{
	static const unsigned int flags[] = { UNKNOWN, 1u << 31, IBV_SEND_IP_CSUM };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){});
	struct ibv_sge sge = rt_sge(&pair.a, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge), *bad_wr;

	for (int i = 0; i < RT_COUNT(flags); i++) {
		wr.send_flags = IBV_SEND_SIGNALED | flags[i];
		bad_wr = NULL;
		CHECK_INT(ibv_post_send(pair.a.qp, &wr, &bad_wr), EINVAL);
		CHECK(bad_wr == &wr);
	}
	send_recv(&pair);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void builders(void)
{
	const struct rt_options options = { .send_ops = IBV_QP_EX_WITH_SEND };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_qp_ex *qpx = pair.a.qpx;

	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED | UNKNOWN;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, pair.a.buf.mr->lkey, (uintptr_t)pair.a.buf.p, SIZE);
	CHECK_INT(ibv_wr_complete(qpx), EINVAL);
	send_recv(&pair);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void queue_pairs(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &(struct rt_options){});
	struct ibv_qp_attr attr = { .qp_access_flags = UNKNOWN };
	struct ibv_qp_init_attr init_attr;

	CHECK_INT(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_ACCESS_FLAGS), EINVAL);
	CHECK_OK(ibv_query_qp(pair.a.qp, &attr, IBV_QP_ACCESS_FLAGS, &init_attr));
	CHECK(!(attr.qp_access_flags & UNKNOWN));
	/* Programs often pass the flags of their regions. */
	attr.qp_access_flags = RT_ACCESS | IBV_ACCESS_RELAXED_ORDERING;
	CHECK_OK(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_ACCESS_FLAGS));
	send_recv(&pair);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void shared_receives(void)
{
	struct ibv_srq_init_attr init_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr attr = { .max_wr = 8, .srq_limit = 1 };
	struct rt_dev *dev = rt_open();
	struct ibv_srq *srq = ibv_create_srq(dev->pd, &init_attr);

	CHECK(srq);
	CHECK_INT(ibv_modify_srq(srq, &attr, UNKNOWN), EINVAL);
	CHECK_INT(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT | UNKNOWN), EINVAL);
	CHECK_OK(ibv_query_srq(srq, &attr));
	CHECK_INT(attr.srq_limit, 0);
	CHECK_OK(ibv_destroy_srq(srq));
	rt_close(dev);
}

static void domains(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT | O_TRUNC,
	};
	struct rt_dev *dev = rt_open();
	struct ibv_xrcd *xrcd;

	CHECK(!ibv_open_xrcd(dev->ctx, &attr));
	CHECK_INT(errno, EINVAL);
	attr.oflags = O_CREAT;
	xrcd = ibv_open_xrcd(dev->ctx, &attr);
	CHECK(xrcd);
	CHECK_OK(ibv_close_xrcd(xrcd));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "ibv_post_send", posts },	  { "ibv_wr_complete", builders },
	{ "ibv_modify_qp", queue_pairs }, { "ibv_modify_srq", shared_receives },
	{ "ibv_open_xrcd", domains },
};
RT_MAIN(cases)
