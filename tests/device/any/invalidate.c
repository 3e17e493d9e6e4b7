/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Invalidate the key of a type 2 window: by its owner, and by a send of the peer. */
#include "tests/lib/rt.h"

struct window {
	struct rt_dev *dev;
	struct rt_pair pair;
	struct rt_buf region;
	struct ibv_mw *mw;
};

/* A window on side b's region, bound for side a to write to. */
static struct window window_open(void)
{
	struct window w = { .dev = rt_open() };
	struct ibv_send_wr wr = rt_wr(IBV_WR_BIND_MW, 5, NULL);

	if (!(w.dev->attr.orig_attr.device_cap_flags &
	      (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)))
		rt_skip("the device has no memory windows of type 2");
	w.pair = rt_pair_open(w.dev, NULL);
	w.region = rt_buf_alloc(w.dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	w.mw = ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_2);
	CHECK(w.mw);
	wr.bind_mw.mw = w.mw;
	wr.bind_mw.rkey = ibv_inc_rkey(w.mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = w.region.mr,
		.addr = (uintptr_t)w.region.p,
		.length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	POST(&w.pair.b, &wr);
	EXPECT(&w.pair.b, 5, IBV_WC_BIND_MW);
	w.mw->rkey = wr.bind_mw.rkey;
	return w;
}

static void window_close(struct window *w)
{
	CHECK_OK(ibv_dealloc_mw(w->mw));
	rt_buf_free(&w->region);
	rt_pair_close(&w->pair);
	rt_close(w->dev);
}

static enum ibv_wc_status write_window(struct window *w)
{
	struct ibv_sge sge = rt_sge(&w->pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 7, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)w->region.p;
	wr.wr.rdma.rkey = w->mw->rkey;
	POST(&w->pair.a, &wr);
	return rt_wait(&w->pair.a).status;
}

static void local(void)
{
	struct window w = window_open();
	struct ibv_send_wr wr = rt_wr(IBV_WR_LOCAL_INV, 8, NULL);

	CHECK_INT(write_window(&w), IBV_WC_SUCCESS);
	wr.invalidate_rkey = w.mw->rkey;
	POST(&w.pair.b, &wr);
	EXPECT(&w.pair.b, 8, IBV_WC_LOCAL_INV);
	CHECK_INT(write_window(&w), IBV_WC_REM_ACCESS_ERR);
	window_close(&w);
}

static void remote(void)
{
	struct window w = window_open();
	struct ibv_sge sge = rt_sge(&w.pair.a, 0, 50);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_INV, 8, &sge);
	struct ibv_wc wc;

	CHECK_INT(write_window(&w), IBV_WC_SUCCESS);
	rt_fill(w.pair.a.buf.p, 50, 2);
	rt_recv(&w.pair.b, 9, 0, 50);
	wr.invalidate_rkey = w.mw->rkey;
	POST(&w.pair.a, &wr);
	EXPECT(&w.pair.a, 8, IBV_WC_SEND);
	wc = EXPECT(&w.pair.b, 9, IBV_WC_RECV);
	CHECK_INT(wc.wc_flags & IBV_WC_WITH_INV, IBV_WC_WITH_INV);
	CHECK_INT(wc.invalidated_rkey, w.mw->rkey);
	VERIFY(w.pair.b.buf.p, 50, 2);
	CHECK_INT(write_window(&w), IBV_WC_REM_ACCESS_ERR);
	window_close(&w);
}

/* A send that invalidates an unknown key is a mistake of the sender. */
static void remote_unknown(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 50);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND_WITH_INV, 8, &sge);

	rt_recv(&pair.b, 9, 0, 50);
	wr.invalidate_rkey = 0xffffff00;
	POST(&pair.a, &wr);
	CHECK(rt_wait(&pair.b).status != IBV_WC_SUCCESS);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void local_unknown(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_send_wr wr = rt_wr(IBV_WR_LOCAL_INV, 8, NULL);

	wr.invalidate_rkey = 0xffffff00;
	POST(&pair.a, &wr);
	CHECK(rt_wait(&pair.a).status != IBV_WC_SUCCESS);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "local", local },
	{ "remote", remote },
	{ "remote_unknown", remote_unknown },
	{ "local_unknown", local_unknown },
};
RT_MAIN(cases)
