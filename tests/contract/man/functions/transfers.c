/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run the functions that the pages show as examples: requests, completions and events. */
#include <fcntl.h>
#include <poll.h>

#include "tests/lib/rt.h"

#include "ibv_alloc_null_mr.h"
#include "ibv_bind_mw.h"
#include "ibv_create_ah.h"
#include "ibv_create_cq_ex.h"
#include "ibv_create_qp_ex.h"
#include "ibv_get_async_event.h"
#include "ibv_get_cq_event.h"
#include "ibv_modify_qp.h"
#include "ibv_poll_cq.h"
#include "ibv_post_recv.h"
#include "ibv_post_send.h"
#include "ibv_req_notify_cq.h"
#include "ibv_wr_post.h"

enum {
	LENGTH = 1000,
	HEADER = 64,
	GRH = 40,
};

static int handled;

static void handle_completion(struct ibv_wc *wc)
{
	CHECK_INT(wc->status, IBV_WC_SUCCESS);
	handled++;
}

/* Make @fd refuse to wait, and wait here for its first event. */
static void await_nonblocking(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_OK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	CHECK_INT(poll(&p, 1, -1), 1);
}

static void send_from_a(struct rt_pair *pair, uint32_t length)
{
	struct ibv_sge sge = rt_sge(&pair->a, 0, length);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(pair->a.buf.p, length, 7);
	POST(&pair->a, &wr);
}

static void receive_and_write(void)
{
	static const struct rt_options options = { .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_wc wc;

	/* As many buffers as fit into the receive queue. */
	CHECK_OK(receives_post(pair.b.qp, pair.b.buf.mr, pair.b.buf.size / 16));
	send_from_a(&pair, LENGTH);
	CHECK_INT(cq_wait(pair.b.cq, &wc), 1);
	CHECK_INT(wc.status, IBV_WC_SUCCESS);
	CHECK_INT(wc.wr_id, 0);
	CHECK_INT(cq_wait(pair.a.cq, &wc), 1);
	CHECK_OK(rdma_write(pair.a.qp, pair.a.buf.mr, LENGTH, (uintptr_t)pair.b.buf.p,
			    pair.b.buf.mr->rkey));
	CHECK_INT(cq_wait(pair.a.cq, &wc), 1);
	CHECK_INT(wc.opcode, IBV_WC_RDMA_WRITE);
	CHECK_INT(cq_drain(pair.a.cq), 0);
	/* A failed request. */
	CHECK_OK(rdma_write(pair.a.qp, pair.a.buf.mr, LENGTH, (uintptr_t)pair.b.buf.p, 1));
	while (!(handled = cq_drain(pair.a.cq)))
		;
	CHECK_INT(handled, -1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void channel(void)
{
	static const struct rt_options options = { .channel = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	CHECK_OK(ibv_req_notify_cq(pair.b.cq, 0));
	rt_recv(&pair.b, 1, 0, LENGTH);
	send_from_a(&pair, LENGTH);
	await_nonblocking(pair.b.channel->fd);
	channel_serve(pair.b.channel, handle_completion);
	CHECK_INT(handled, 1);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void events(void)
{
	static const struct rt_options options = { .srq = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);

	rt_qp_state(pair.b.qp, IBV_QPS_ERR);
	await_nonblocking(dev->ctx->async_fd);
	CHECK(!events_print(dev->ctx));
	CHECK_INT(errno, EAGAIN);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The queues are those that the pages make and connect. */
static void made(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct ibv_cq_ex *cq = cq_create(dev->ctx);
	struct ibv_qp_ex *a, *b;
	struct endpoint to_a = { .gid = dev->gid, .psn = 5 }, to_b = { .gid = dev->gid, .psn = 9 };

	CHECK(cq);
	a = qp_create(dev->pd, ibv_cq_ex_to_cq(cq));
	b = qp_create(dev->pd, ibv_cq_ex_to_cq(cq));
	CHECK(a && b);
	to_a.qp_num = a->qp_base.qp_num;
	to_b.qp_num = b->qp_base.qp_num;
	CHECK_OK(qp_connect(&a->qp_base, &to_b, dev->gid_index, dev->port.active_mtu, to_a.psn));
	CHECK_OK(qp_connect(&b->qp_base, &to_a, dev->gid_index, dev->port.active_mtu, to_b.psn));
	CHECK_OK(rdma_write(&a->qp_base, buf.mr, 8, (uintptr_t)buf.p + 8, buf.mr->rkey));
	CHECK_OK(cq_print(cq));
	CHECK_OK(ibv_destroy_qp(&a->qp_base));
	CHECK_OK(ibv_destroy_qp(&b->qp_base));
	CHECK_OK(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	rt_buf_free(&buf);
	rt_close(dev);
}

static void both_calls(void)
{
	static const struct rt_options options = {
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE, .inline_data = 4
	};
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct rt_buf target = rt_buf_alloc(dev, pair.a.buf.size, RT_ACCESS);
	uint32_t note;

	rt_fill(pair.a.buf.p, pair.a.buf.size, 3);
	rt_recv(&pair.b, 1, 0, LENGTH);
	CHECK_OK(write_and_tell(pair.a.qpx, pair.a.buf.mr, (uintptr_t)target.p, target.mr->rkey));
	CHECK_INT(EXPECT(&pair.b, 1, IBV_WC_RECV).byte_len, sizeof(note));
	VERIFY(target.p, target.size, 3);
	memcpy(&note, pair.b.buf.p, sizeof(note));
	CHECK_INT(note, 1);
	EXPECT(&pair.a, 2, IBV_WC_SEND);
	rt_buf_free(&target);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void header(void)
{
	static const struct rt_options options = { .sge = 2 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct rt_buf head = rt_buf_alloc(dev, HEADER, RT_ACCESS);
	struct ibv_mr *null = ibv_alloc_null_mr(dev->pd);

	CHECK(null);
	CHECK_OK(receive_header(pair.b.qp, head.mr, null, LENGTH));
	send_from_a(&pair, LENGTH);
	CHECK_INT(EXPECT(&pair.b, 0, IBV_WC_RECV).byte_len, LENGTH);
	VERIFY(head.p, HEADER, 7);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	CHECK_OK(ibv_dereg_mr(null));
	rt_buf_free(&head);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void window(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct rt_buf target = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_1);

	CHECK(mw);
	CHECK_OK(window_open(pair.b.qp, mw, target.mr, LENGTH));
	EXPECT(&pair.b, 1, IBV_WC_BIND_MW);
	CHECK_OK(rdma_write(pair.a.qp, pair.a.buf.mr, LENGTH, (uintptr_t)target.p, mw->rkey));
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_OK(rdma_write(pair.a.qp, pair.a.buf.mr, LENGTH + 1, (uintptr_t)target.p, mw->rkey));
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_OK(ibv_dealloc_mw(mw));
	rt_buf_free(&target);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void answer(void)
{
	static const struct rt_options ud = { .type = IBV_QPT_UD };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &ud);
	struct rt_address to_b = rt_side_address(&pair.b);
	struct ibv_ah_attr attr = rt_ah_attr(dev, &to_b);
	struct ibv_ah *there = ibv_create_ah(dev->pd, &attr), *back;
	struct ibv_sge sge = rt_sge(&pair.a, 0, 100);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_wc wc;

	CHECK(there);
	wr.wr.ud.ah = there;
	wr.wr.ud.remote_qpn = pair.b.qp->qp_num;
	wr.wr.ud.remote_qkey = RT_QKEY;
	rt_recv(&pair.b, 2, 0, LENGTH);
	POST(&pair.a, &wr);
	wc = EXPECT(&pair.b, 2, IBV_WC_RECV);
	CHECK_INT(wc.byte_len, GRH + 100);
	back = ah_for_answer(dev->pd, &wc, pair.b.buf.p, dev->port_num);
	CHECK(back);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = wc.src_qp;
	sge = rt_sge(&pair.b, 0, 50);
	rt_recv(&pair.a, 3, 0, LENGTH);
	POST(&pair.b, &wr);
	EXPECT(&pair.a, 3, IBV_WC_RECV);
	CHECK_OK(ibv_destroy_ah(back));
	CHECK_OK(ibv_destroy_ah(there));
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "receive_and_write", receive_and_write },
	{ "channel", channel },
	{ "events", events },
	{ "made", made },
	{ "both_calls", both_calls },
	{ "header", header },
	{ "window", window },
	{ "answer", answer },
};
RT_MAIN(cases)
