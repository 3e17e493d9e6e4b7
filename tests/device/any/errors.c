/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions in error: the status of each mistake, and the handling of other requests. */
#include "tests/lib/rt.h"

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_OK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	CHECK_INT(qp->state, attr.qp_state);
	return attr.qp_state;
}

/* Check the status. rxe has different errors for some local mistakes, and not the same in every
 * kernel. */
static void expect_status(struct rt_side *side, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = rt_wait(side);

	CHECK_INT(wc.wr_id, wr_id);
	CHECK(wc.status != IBV_WC_SUCCESS);
	if (wc.status != status && !rt_is_kernel(side->dev))
		FAIL("status %s, expected %s", ibv_wc_status_str(wc.status),
		     ibv_wc_status_str(status));
}

/* One request on a fresh pair ends with @status, and the QP in error. */
static void expect_error(const struct rt_options *options,
			 void (*spoil)(struct rt_pair *pair, struct ibv_send_wr *wr),
			 enum ibv_wr_opcode opcode, enum ibv_wc_status status)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	memset(pair.a.buf.p, 1, 64);
	spoil(&pair, &wr);
	POST(&pair.a, &wr);
	if (status == IBV_WC_LOC_PROT_ERR)
		expect_status(&pair.a, 1, status);
	else
		EXPECT_STATUS(&pair.a, 1, status);
	CHECK_INT(state_of(pair.a.qp), IBV_QPS_ERR);
	if (opcode != IBV_WR_RDMA_READ)
		CHECK_INT(pair.b.buf.p[0], 0);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void spoil_rkey(struct rt_pair *pair, struct ibv_send_wr *wr)
{
	wr->wr.rdma.rkey ^= 0x00ffff00;
}

static void bad_rkey_write(void)
{
	expect_error(NULL, spoil_rkey, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
}

static void bad_rkey_read(void)
{
	expect_error(NULL, spoil_rkey, IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
}

static void spoil_address(struct rt_pair *pair, struct ibv_send_wr *wr)
{
	wr->wr.rdma.remote_addr += pair->b.buf.size - 63;
}

static void beyond_region(void)
{
	expect_error(NULL, spoil_address, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
}

static void spoil_lkey(struct rt_pair *pair, struct ibv_send_wr *wr)
{
	wr->sg_list->lkey ^= 0x00ffff00;
}

static void bad_lkey(void)
{
	expect_error(NULL, spoil_lkey, IBV_WR_RDMA_WRITE, IBV_WC_LOC_PROT_ERR);
}

static void spoil_local_range(struct rt_pair *pair, struct ibv_send_wr *wr)
{
	wr->sg_list->addr += pair->a.buf.size - 63;
}

static void beyond_local_region(void)
{
	expect_error(NULL, spoil_local_range, IBV_WR_RDMA_WRITE, IBV_WC_LOC_PROT_ERR);
}

/* The key is good, but this QP allows no remote access. */
static void qp_without_access(void)
{
	static const struct rt_options closed = { .no_access = true };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &closed);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	struct ibv_wc wc;

	rt_wr_remote(&wr, &pair.b, 0);
	POST(&pair.a, &wr);
	wc = rt_wait(&pair.a);
	CHECK(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Use a region of @access for the request instead of the side's own. */
static void expect_region_error(int access, enum ibv_wr_opcode opcode, bool remote,
				enum ibv_wc_status status)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct rt_buf region = rt_buf_alloc(dev, 4096, access);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(opcode, 1, &sge);

	rt_wr_remote(&wr, &pair.b, 0);
	if (remote) {
		wr.wr.rdma.remote_addr = (uintptr_t)region.p;
		wr.wr.rdma.rkey = region.mr->rkey;
	} else {
		sge.addr = (uintptr_t)region.p;
		sge.lkey = region.mr->lkey;
	}
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, status);
	rt_pair_close(&pair);
	rt_buf_free(&region);
	rt_close(dev);
}

static void write_to_readable(void)
{
	expect_region_error(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE,
			    true, IBV_WC_REM_ACCESS_ERR);
}

static void read_from_writable(void)
{
	expect_region_error(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ,
			    true, IBV_WC_REM_ACCESS_ERR);
}

/* A read must be able to write to local memory. */
static void read_into_read_only(void)
{
	expect_region_error(0, IBV_WR_RDMA_READ, false, IBV_WC_LOC_PROT_ERR);
}

static void other_pd(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, pair.b.buf.p, 4096,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	CHECK(pd && mr);
	rt_wr_remote(&wr, &pair.b, 0);
	wr.wr.rdma.rkey = mr->rkey;
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_dealloc_pd(pd));
	rt_pair_close(&pair);
	rt_close(dev);
}

static void after_dereg(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct rt_buf region = rt_buf_alloc(dev, 4096, RT_ACCESS);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)region.p;
	wr.wr.rdma.rkey = region.mr->rkey;
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
	CHECK_OK(ibv_dereg_mr(region.mr));
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* There is no receive, and the sender does not wait for ever. */
static void rnr_exceeded(void)
{
	struct rt_options options = { .rnr_retry = 2 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_INT(state_of(pair.a.qp), IBV_QPS_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The peer is gone. */
static void retry_exceeded(void)
{
	struct rt_options options = { .retry_cnt = 1, .timeout = 8 };
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_side_close(&pair.b);
	POST(&pair.a, &wr);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK_INT(state_of(pair.a.qp), IBV_QPS_ERR);
	rt_side_close(&pair.a);
	rt_close(dev);
}

/* The message does not fit: both sides get an error. */
static void receive_too_small(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 101);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_recv(&pair.b, 2, 0, 100);
	POST(&pair.a, &wr);
	expect_status(&pair.a, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_status(&pair.b, 2, IBV_WC_LOC_LEN_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

static void receive_bad_lkey(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64), to = rt_sge(&pair.b, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = &to, .num_sge = 1 }, *bad_wr;
	struct ibv_wc wc;

	to.lkey ^= 0x00ffff00;
	CHECK_OK(ibv_post_recv(pair.b.qp, &recv, &bad_wr));
	POST(&pair.a, &wr);
	wc = rt_wait(&pair.b);
	CHECK_INT(wc.wr_id, 2);
	CHECK(wc.status == IBV_WC_LOC_PROT_ERR || wc.status == IBV_WC_LOC_QP_OP_ERR);
	CHECK(rt_wait(&pair.a).status != IBV_WC_SUCCESS);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Requests posted before and after the error are flushed, each exactly once and in order. */
static void flush(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);

	for (int i = 0; i < 5; i++)
		rt_recv(&pair.b, i, 0, 64);
	rt_qp_state(pair.b.qp, IBV_QPS_ERR);
	for (int i = 0; i < 5; i++)
		EXPECT_STATUS(&pair.b, i, IBV_WC_WR_FLUSH_ERR);
	rt_qp_state(pair.a.qp, IBV_QPS_ERR);
	for (int i = 0; i < 5; i++) {
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 10 + i, &sge);

		wr.send_flags = i % 2 ? IBV_SEND_SIGNALED : 0;
		POST(&pair.a, &wr);
	}
	for (int i = 0; i < 5; i++)
		EXPECT_STATUS(&pair.a, 10 + i, IBV_WC_WR_FLUSH_ERR);
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* The first mistake has its own status; the requests behind it are flushed. */
static void first_then_flush(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr[4];

	for (int i = 0; i < 4; i++) {
		wr[i] = rt_wr(IBV_WR_RDMA_WRITE, i, &sge);
		rt_wr_remote(&wr[i], &pair.b, 0);
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	wr[1].wr.rdma.rkey ^= 0x00ffff00;
	POST(&pair.a, wr);
	EXPECT(&pair.a, 0, IBV_WC_RDMA_WRITE);
	EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
	EXPECT_STATUS(&pair.a, 2, IBV_WC_WR_FLUSH_ERR);
	EXPECT_STATUS(&pair.a, 3, IBV_WC_WR_FLUSH_ERR);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* After an error both QPs are taken through RESET and work again. */
static void recover(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);

	for (int round = 0; round < 3; round++) {
		struct ibv_send_wr wr = rt_wr(IBV_WR_RDMA_WRITE, 1, &sge);

		rt_fill(pair.a.buf.p, 64, round);
		rt_wr_remote(&wr, &pair.b, 0);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, 1, IBV_WC_RDMA_WRITE);
		VERIFY(pair.b.buf.p, 64, round);
		wr.wr.rdma.rkey ^= 0x00ffff00;
		POST(&pair.a, &wr);
		EXPECT_STATUS(&pair.a, 1, IBV_WC_REM_ACCESS_ERR);
		rt_qp_state(pair.a.qp, IBV_QPS_RESET);
		rt_qp_state(pair.b.qp, IBV_QPS_RESET);
		rt_pair_connect(&pair);
	}
	EXPECT_NONE(&pair.a);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Wait for the next completion, which must raise an event. */
static void await_event(struct rt_side *side)
{
	struct ibv_cq *cq;
	void *context;

	CHECK_OK(ibv_get_cq_event(side->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/* Return a pair with three sends and their receives, whose completions are not polled yet. */
static struct rt_pair pair_unpolled(struct rt_dev *dev)
{
	struct rt_options options = { .channel = true, .send_wr = 8, .cqe = 32 };
	struct rt_pair pair = rt_pair_open(dev, &options);
	struct ibv_sge sge = rt_sge(&pair.a, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 0, &sge);

	for (int i = 0; i < 3; i++) {
		rt_recv(&pair.b, 10 + i, 0, 64);
		CHECK_OK(ibv_req_notify_cq(pair.a.cq, 0));
		CHECK_OK(ibv_req_notify_cq(pair.b.cq, 0));
		POST(&pair.a, &wr);
		await_event(&pair.a);
		await_event(&pair.b);
	}
	return pair;
}

/* RESET drops completions that are not polled and frees the room of their requests; the other
 * side's completions stay. The kernel's rxe keeps them all. */
static void reset_forgets(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_send_wr wr;
	struct rt_pair pair;
	struct ibv_sge sge;
	int room = 0;

	if (rt_is_kernel(dev))
		rt_skip("what a device of the kernel does with them is its own affair");
	pair = pair_unpolled(dev);
	sge = rt_sge(&pair.a, 0, 64);
	rt_qp_state(pair.a.qp, IBV_QPS_RESET);
	EXPECT_NONE(&pair.a);
	EXPECT(&pair.b, 10, IBV_WC_RECV);
	rt_qp_state(pair.b.qp, IBV_QPS_RESET);
	EXPECT_NONE(&pair.b);
	rt_pair_connect(&pair);
	wr = rt_wr(IBV_WR_RDMA_WRITE, 0, &sge);
	rt_wr_remote(&wr, &pair.b, 0);
	for (struct ibv_send_wr *bad; room < 1000; room++, wr.wr_id++)
		if (ibv_post_send(pair.a.qp, &wr, &bad))
			break;
	CHECK(room >= 8);
	for (int i = 0; i < room; i++)
		EXPECT(&pair.a, i, IBV_WC_RDMA_WRITE);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* Destroy the side's queue pair and create another one in its place. */
static void qp_replace(struct rt_side *side)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *old = side->qp;

	side->qp = ibv_create_qp(side->dev->pd, &attr);
	CHECK(side->qp);
	CHECK_OK(ibv_destroy_qp(old));
}

/* Completions also go with their queue pair, because a program that destroys it frees the memory
 * behind the wr_id. */
static void destroy_forgets(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_send_wr wr;
	struct rt_pair pair;
	struct ibv_sge sge;

	if (rt_is_kernel(dev))
		rt_skip("what a device of the kernel does with them is its own affair");
	pair = pair_unpolled(dev);
	qp_replace(&pair.a);
	EXPECT_NONE(&pair.a);
	EXPECT(&pair.b, 10, IBV_WC_RECV);
	qp_replace(&pair.b);
	EXPECT_NONE(&pair.b);
	rt_pair_connect(&pair);
	sge = rt_sge(&pair.a, 0, 64);
	wr = rt_wr(IBV_WR_SEND, 7, &sge);
	rt_recv(&pair.b, 20, 0, 64);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 7, IBV_WC_SEND);
	EXPECT(&pair.b, 20, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "bad_rkey_write", bad_rkey_write },
	{ "bad_rkey_read", bad_rkey_read },
	{ "beyond_region", beyond_region },
	{ "bad_lkey", bad_lkey },
	{ "beyond_local_region", beyond_local_region },
	{ "qp_without_access", qp_without_access },
	{ "write_to_readable", write_to_readable },
	{ "read_from_writable", read_from_writable },
	{ "read_into_read_only", read_into_read_only },
	{ "other_pd", other_pd },
	{ "after_dereg", after_dereg },
	{ "rnr_exceeded", rnr_exceeded },
	{ "retry_exceeded", retry_exceeded },
	{ "receive_too_small", receive_too_small },
	{ "receive_bad_lkey", receive_bad_lkey },
	{ "flush", flush },
	{ "first_then_flush", first_then_flush },
	{ "recover", recover },
	{ "reset_forgets", reset_forgets },
	{ "destroy_forgets", destroy_forgets },
};
RT_MAIN(cases)
