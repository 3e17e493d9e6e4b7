/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Post sends by ibv_post_send() and by the builders: refused requests, and the effect of
 * accepted ones. */
#include "tests/unit/uroce/fixture.h"

#define ALL_OPS                                                                                    \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV |       \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                          \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                            \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | \
	 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)

static struct uroce_cq *cq;
static struct uroce_qp *qp;

static unsigned int looks;

void __wrap_uroce_progress_posted(struct uroce_host *host);
void __wrap_uroce_progress_posted(struct uroce_host *host)
{
	looks++;
}

static void begin(enum ibv_qp_type type, uint64_t ops)
{
	cq = fixture_cq(64, NULL, 0);
	qp = fixture_qp(type, cq, NULL, ops);
	fx.sent = 0;
	fx.send_result = 0;
	for (size_t i = 0; i < sizeof(fx.buf); i++)
		fx.buf[i] = i * 3 + 1;
}

static void end(void)
{
	fixture_qp_free(qp);
	fixture_cq_free(cq);
}

/* Post one work request; return the result of post_send. */
static int post(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = uroce_post_send(&qp->vqp.qp, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge, int num_sge)
{
	return (struct ibv_send_wr){ .wr_id = 77,
				     .opcode = opcode,
				     .sg_list = sge,
				     .num_sge = num_sge,
				     .send_flags = IBV_SEND_SIGNALED };
}

static void expect_packet(unsigned int number, uint8_t opcode, const void *payload, uint32_t length)
{
	assert_int_equal(fx.sent, number);
	assert_int_equal(fx.hdr.opcode, opcode);
	assert_int_equal(fx.length, length);
	assert_memory_equal(fx.payload, payload, length);
}

static void test_operations(void **state)
{
	struct ibv_sge sge[] = { sge_at(0, 10), sge_at(100, 5) }, word = sge_at(8, 8);
	struct ibv_send_wr wr;
	uint8_t both[15];

	begin(IBV_QPT_RC, 0);
	memcpy(both, fx.buf, 10);
	memcpy(both + 10, fx.buf + 100, 5);
	assert_int_equal(post(request(IBV_WR_SEND, sge, 2)), 0);
	expect_packet(1, UROCE_RC | UROCE_SEND_ONLY, both, 15);
	wr = request(IBV_WR_SEND_WITH_IMM, sge, 1);
	wr.imm_data = htobe32(0xabcd);
	wr.send_flags |= IBV_SEND_SOLICITED;
	assert_int_equal(post(wr), 0);
	expect_packet(2, UROCE_RC | UROCE_SEND_ONLY_IMM, both, 10);
	assert_int_equal(fx.hdr.imm, htobe32(0xabcd));
	assert_true(fx.hdr.solicited);
	wr = request(IBV_WR_SEND_WITH_INV, NULL, 0);
	wr.invalidate_rkey = 0x1234;
	assert_int_equal(post(wr), 0);
	expect_packet(3, UROCE_RC | UROCE_SEND_ONLY_INV, both, 0);
	assert_int_equal(fx.hdr.invalidate_rkey, 0x1234);
	wr = request(IBV_WR_RDMA_WRITE, sge, 1);
	wr.wr.rdma.remote_addr = 0x123456789abc;
	wr.wr.rdma.rkey = 0x42;
	assert_int_equal(post(wr), 0);
	expect_packet(4, UROCE_RC | UROCE_WRITE_ONLY, both, 10);
	assert_int_equal(fx.hdr.va, 0x123456789abc);
	assert_int_equal(fx.hdr.rkey, 0x42);
	assert_int_equal(fx.hdr.dma_len, 10);
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(wr), 0);
	expect_packet(5, UROCE_RC | UROCE_READ_REQUEST, both, 0);
	assert_int_equal(fx.hdr.dma_len, 10);
	wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, &word, 1);
	wr.wr.atomic.remote_addr = 0x1000;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	wr.wr.atomic.rkey = 0x43;
	assert_int_equal(post(wr), 0);
	expect_packet(6, UROCE_RC | UROCE_CMP_SWAP, both, 0);
	assert_int_equal(fx.hdr.compare, 5);
	assert_int_equal(fx.hdr.swap_add, 6);
	assert_int_equal(fx.hdr.rkey, 0x43);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(post(wr), 0);
	expect_packet(7, UROCE_RC | UROCE_FETCH_ADD, both, 0);
	assert_int_equal(fx.hdr.swap_add, 5);
	end();
}

/* A thread that posts much over a network polls once every 16 packets. On one host it does not
 * poll. */
static void test_looks(void **state)
{
	struct ibv_sge sge = sge_at(0, 4 * FIXTURE_MTU);

	for (int lossless = 0; lossless < 2; lossless++) {
		begin(IBV_QPT_RC, 0);
		qp->av.path->lossless = lossless;
		looks = 0;
		for (unsigned int i = 1; i <= 8; i++) {
			assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), 0);
			assert_int_equal(looks, lossless ? 0 : 4 * i / 16);
		}
		qp->av.path->lossless = true;
		end();
	}
}

/* The data of an inline request is copied at once and needs no key. */
static void test_inline(void **state)
{
	uint8_t local[80] = "some bytes", first[80];
	struct ibv_sge sge[] = { { (uintptr_t)local, 10, 0xbad },
				 { (uintptr_t)local + 10, 54, 0xbad } },
		       none = { 0, 0, 0 }, long_one = { (uintptr_t)local, sizeof(local), 0 };
	struct ibv_send_wr wr;

	begin(IBV_QPT_RC, 0);
	memcpy(first, local, sizeof(local));
	fx.send_result = -EAGAIN; /* it leaves later */
	wr = request(IBV_WR_SEND, sge, 2);
	wr.send_flags |= IBV_SEND_INLINE;
	assert_int_equal(post(wr), 0);
	memset(local, 0xff, sizeof(local));
	fx.send_result = 0;
	qp->req.path_full = false;
	uroce_lock(&qp->lock);
	uroce_req_run(qp, 0);
	uroce_unlock(&qp->lock);
	expect_packet(1, UROCE_RC | UROCE_SEND_ONLY, first, 64);
	wr.sg_list = &none;
	wr.num_sge = 1;
	assert_int_equal(post(wr), 0);
	expect_packet(2, UROCE_RC | UROCE_SEND_ONLY, first, 0);
	wr.sg_list = &long_one;
	assert_true(qp->sq.max_inline < sizeof(local));
	assert_int_equal(post(wr), EINVAL);
	wr.sg_list = sge;
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(post(wr), EINVAL);
	assert_int_equal(fx.sent, 2);
	end();
}

static void test_refused(void **state)
{
	struct ibv_sge sge[40] = { sge_at(0, 8) }, small = sge_at(0, 7),
		       big[] = { sge_at(0, UINT32_MAX), sge_at(0, 8) };
	struct ibv_send_wr wr;

	begin(IBV_QPT_RC, 0);
	assert_int_equal(post(request(IBV_WR_SEND, sge, qp->sq.max_sge + 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_SEND, sge, -1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_SEND, big, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_SEND, big, 2)), EINVAL);
	assert_int_equal(post(request(IBV_WR_TSO, sge, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_DRIVER1, sge, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_FLUSH, sge, 1)), EINVAL);
	assert_int_equal(post(request(99, sge, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_BIND_MW, NULL, 0)), EINVAL);
	wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &small, 1);
	assert_int_equal(post(wr), EINVAL);
	wr.sg_list = sge;
	wr.wr.atomic.remote_addr = 4;
	assert_int_equal(post(wr), EINVAL);
	assert_int_equal(fx.sent, 0);
	assert_int_equal(qp->sq.head, 0);
	end();
}

static void test_types(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr;

	begin(IBV_QPT_UC, 0);
	assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), 0);
	expect_packet(1, UROCE_UC | UROCE_SEND_ONLY, fx.buf, 8);
	assert_int_equal(post(request(IBV_WR_RDMA_WRITE, &sge, 1)), 0);
	assert_int_equal(post(request(IBV_WR_RDMA_READ, &sge, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1)), EINVAL);
	assert_int_equal(post(request(IBV_WR_SEND_WITH_INV, &sge, 1)), EINVAL);
	end();

	begin(IBV_QPT_UD, 0);
	wr = request(IBV_WR_SEND, &sge, 1);
	assert_int_equal(post(wr), EINVAL); /* no address handle */
	wr.wr.ud.ah = &fx.ah.ah;
	wr.wr.ud.remote_qpn = 0x55;
	wr.wr.ud.remote_qkey = 0x11111111;
	assert_int_equal(post(wr), 0);
	expect_packet(1, UROCE_UD | UROCE_SEND_ONLY, fx.buf, 8);
	assert_int_equal(fx.hdr.dest_qpn, 0x55);
	assert_int_equal(fx.hdr.qkey, 0x11111111);
	assert_int_equal(fx.hdr.src_qpn, qp->vqp.qp.qp_num);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(post(wr), EINVAL);
	end();
}

static void test_full(void **state)
{
	struct ibv_send_wr wr[10], *bad = NULL;
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_wc wc;

	begin(IBV_QPT_RC, 0);
	assert_int_equal(qp->sq.size, 8);
	for (int i = 0; i < 10; i++) {
		wr[i] = request(IBV_WR_SEND, &sge, 1);
		wr[i].next = i < 9 ? &wr[i + 1] : NULL;
	}
	assert_int_equal(uroce_post_send(&qp->vqp.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[8]);
	assert_int_equal(fx.sent, 8); /* those before it are posted */
	uroce_lock(&qp->lock);
	uroce_comp_ack(qp, psn_add(qp->req.una, 2), AETH_ACK | AETH_ACK_NO_CREDIT, 0);
	uroce_unlock(&qp->lock);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(uroce_post_send(&qp->vqp.qp, &wr[7], &bad), 0); /* three came free */
	assert_int_equal(fx.sent, 11);
	assert_int_equal(uroce_post_send(&qp->vqp.qp, &wr[9], &bad), ENOMEM);
	end();
}

/* A request whose completion was not polled still takes room in the send queue. */
static void test_full_unpolled(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, 1);
	struct ibv_wc wc;

	begin(IBV_QPT_RC, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(post(wr), 0);
	uroce_lock(&qp->lock);
	uroce_comp_ack(qp, psn_add(qp->req.una, 7), AETH_ACK | AETH_ACK_NO_CREDIT, 0);
	uroce_unlock(&qp->lock);
	assert_int_equal(post(wr), ENOMEM);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fixture_poll(qp->send_cq, &wc), 1);
	for (int i = 0; i < 2; i++)
		assert_int_equal(post(wr), 0);
	assert_int_equal(post(wr), ENOMEM);
	assert_int_equal(fx.sent, 10);
	uroce_lock(&qp->lock);
	uroce_cq_qp_purge(qp);
	uroce_unlock(&qp->lock);
	assert_int_equal(fixture_poll(qp->send_cq, &wc), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(post(wr), 0);
	assert_int_equal(post(wr), ENOMEM);
	end();
}

static void test_states(void **state)
{
	static const enum ibv_qp_state refused[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR };
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_wc wc;

	begin(IBV_QPT_RC, 0);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		qp->state = refused[i];
		assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), EINVAL);
	}
	qp->state = IBV_QPS_SQD; /* taken, and sent later */
	assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), 0);
	assert_int_equal(fx.sent, 0);
	qp->state = IBV_QPS_ERR; /* comes back, with what was there before, signalled or not */
	assert_int_equal(
		post((struct ibv_send_wr){
			.wr_id = 78, .opcode = IBV_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1 }),
		0);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, 78);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(fixture_poll(cq, &wc), 0);
	assert_int_equal(fx.sent, 0);
	end();
}

/* The peer's process has gone: the next request fails instead of being lost. */
static void test_no_path(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_wc wc;

	begin(IBV_QPT_RC, 0);
	qp->av.path = NULL;
	assert_int_equal(post(request(IBV_WR_RDMA_WRITE, &sge, 1)), 0);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	end();
}

static void test_bad_key(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_wc wc;

	begin(IBV_QPT_RC, 0);
	sge.lkey ^= 1;
	assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), 0);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.wr_id, 77);
	end();
}

static void test_bind_mw(void **state)
{
	struct uroce_mw mw = {
		.mw = { .context = &fx.ctx.vctx.context, .pd = &fx.pd.pd, .type = IBV_MW_TYPE_1 }
	};
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = &fx.mr.vmr.ibv_mr,
			       .addr = (uintptr_t)fx.buf,
			       .length = 100,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_wc wc;
	uint32_t rkey;

	begin(IBV_QPT_RC, 0);
	assert_int_equal(uroce_alloc_mw(&mw.mw, NULL), 0);
	rkey = mw.mw.rkey;
	assert_int_equal(uroce_bind_mw(&qp->vqp.qp, &mw.mw, &bind), 0);
	assert_int_equal(mw.mw.rkey, ibv_inc_rkey(rkey));
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
	assert_int_equal(atomic_load(&mw.key->live), mw.mw.rkey);

	rkey = mw.mw.rkey;
	bind.bind_info.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	assert_int_equal(uroce_bind_mw(&qp->vqp.qp, &mw.mw, &bind), EINVAL);
	mw.mw.type = IBV_MW_TYPE_2;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
	assert_int_equal(uroce_bind_mw(&qp->vqp.qp, &mw.mw, &bind), EINVAL);
	mw.mw.type = IBV_MW_TYPE_1;
	assert_int_equal(mw.mw.rkey, rkey);
	bind.bind_info.length = sizeof(fx.buf) + 1;
	assert_int_equal(uroce_bind_mw(&qp->vqp.qp, &mw.mw, &bind), 0);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_MW_BIND_ERR);
	assert_int_equal(uroce_dealloc_mw(&mw.mw), 0);
	end();
}

/* --- builders --- */

static struct ibv_qp_ex *builder(void)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	assert_int_equal(qp->vqp.comp_mask & VERBS_QP_EX, VERBS_QP_EX);
	ibv_wr_start(ex);
	ex->wr_id = 88;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

static void test_builders(void **state)
{
	struct ibv_data_buf bufs[] = { { fx.buf + 1, 3 }, { NULL, 0 }, { fx.buf + 9, 4 } };
	struct ibv_sge sge[] = { sge_at(0, 10), sge_at(10, 5) };
	uint64_t value = 0x1122334455667788;
	struct ibv_qp_ex *ex;

	begin(IBV_QPT_RC, ALL_OPS);
	ex = builder();
	ibv_wr_send_imm(ex, htobe32(3));
	ibv_wr_set_sge(ex, fx.mr.vmr.ibv_mr.lkey, (uintptr_t)fx.buf, 20);
	assert_int_equal(fx.sent, 0);
	ibv_wr_rdma_write(ex, 0x42, 0x5000);
	ibv_wr_set_sge_list(ex, 2, sge);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(2, UROCE_RC | UROCE_WRITE_ONLY, fx.buf, 15);
	assert_int_equal(fx.hdr.rkey, 0x42);
	assert_int_equal(fx.hdr.va, 0x5000);

	ex = builder();
	ibv_wr_rdma_write_imm(ex, 0x43, 0x6000, htobe32(9));
	ibv_wr_set_inline_data(ex, fx.buf + 50, 30);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(3, UROCE_RC | UROCE_WRITE_ONLY_IMM, fx.buf + 50, 30);
	assert_int_equal(fx.hdr.imm, htobe32(9));
	assert_int_equal(fx.hdr.va, 0x6000);

	ex = builder();
	ibv_wr_send_inv(ex, 0x77);
	ibv_wr_set_inline_data_list(ex, 3, bufs);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fx.length, 7);
	assert_memory_equal(fx.payload, fx.buf + 1, 3);
	assert_memory_equal(fx.payload + 3, fx.buf + 9, 4);
	assert_int_equal(fx.hdr.invalidate_rkey, 0x77);

	ex = builder();
	ibv_wr_atomic_write(ex, 0x44, 0x7000, &value);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(5, UROCE_RC | UROCE_ATOMIC_WRITE, &value, 8);
	ex = builder();
	ibv_wr_flush(ex, 0x45, 0x8000, 4096, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(6, UROCE_RC | UROCE_FLUSH, &value, 0);
	assert_int_equal(fx.hdr.flush_type, IBV_FLUSH_PERSISTENT);
	assert_int_equal(fx.hdr.flush_level, IBV_FLUSH_MR);
	assert_int_equal(fx.hdr.dma_len, 4096);
	ex = builder();
	ibv_wr_atomic_fetch_add(ex, 0x46, 0x9000, 12);
	ibv_wr_set_sge(ex, fx.mr.vmr.ibv_mr.lkey, (uintptr_t)fx.buf, 16);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(7, UROCE_RC | UROCE_FETCH_ADD, &value, 0);
	assert_int_equal(fx.hdr.swap_add, 12);
	end();
}

static void test_builders_abort(void **state)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_qp_ex *ex;

	begin(IBV_QPT_RC, ALL_OPS);
	ex = builder();
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 1, &sge);
	ibv_wr_abort(ex);
	assert_int_equal(qp->sq.head, 0);
	assert_int_equal(post(request(IBV_WR_RDMA_WRITE, &sge, 1)),
			 0); /* the place is free again */
	expect_packet(1, UROCE_RC | UROCE_WRITE_ONLY, fx.buf, 8);
	end();
}

/* After one mistake no request of the batch is posted; the next batch is unaffected. */
static void expect_refused(struct ibv_qp_ex *ex, int error)
{
	unsigned int head = qp->sq.head;

	assert_int_equal(ibv_wr_complete(ex), error);
	assert_int_equal(qp->sq.head, head);
	assert_int_equal(fx.sent, 0);
}

static void test_builders_refuse(void **state)
{
	struct ibv_sge sge[40] = { sge_at(0, 8) };
	uint8_t many[2000] = {};
	struct ibv_qp_ex *ex;

	begin(IBV_QPT_RC, ALL_OPS);
	ex = builder();
	for (uint32_t i = 0; i <= qp->sq.size; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, 1, sge);
	}
	expect_refused(ex, ENOMEM);
	ex = builder();
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, qp->sq.max_sge + 1, sge);
	ibv_wr_send(ex);
	expect_refused(ex, EINVAL);
	ex = builder();
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, many, sizeof(many));
	expect_refused(ex, ENOSPC);
	ex = builder();
	ibv_wr_rdma_read(ex, 1, 1);
	ibv_wr_set_inline_data(ex, many, 8);
	expect_refused(ex, EINVAL);
	ex = builder();
	ibv_wr_atomic_cmp_swp(ex, 1, 12, 1, 1);
	expect_refused(ex, EINVAL);
	ex = builder();
	ibv_wr_atomic_cmp_swp(ex, 1, 16, 1, 1);
	ibv_wr_set_sge(ex, fx.mr.vmr.ibv_mr.lkey, (uintptr_t)fx.buf, 7);
	expect_refused(ex, EINVAL);
	ex = builder();
	ibv_wr_set_sge_list(ex, 1, sge); /* of no request */
	expect_refused(ex, EINVAL);
	qp->state = IBV_QPS_RTR;
	ex = builder();
	ibv_wr_send(ex);
	expect_refused(ex, EINVAL);
	qp->state = IBV_QPS_RTS;
	ex = builder();
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fx.sent, 1);
	end();
}

static void test_builders_datagram(void **state)
{
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;

	begin(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
	ex = builder();
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, fx.buf, 12);
	ibv_wr_set_ud_addr(ex, &fx.ah.ah, 0x99, 0x1234);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_packet(1, UROCE_UD | UROCE_SEND_ONLY, fx.buf, 12);
	assert_int_equal(fx.hdr.dest_qpn, 0x99);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	/* Round the ring: an old address must not be mistaken for a new one. */
	for (int i = 0; i < 8; i++) {
		ex = builder();
		ibv_wr_send(ex);
		ibv_wr_set_ud_addr(ex, &fx.ah.ah, 0x99, 0x1234);
		assert_int_equal(ibv_wr_complete(ex), 0);
		assert_int_equal(fixture_poll(cq, &wc), 1);
	}
	ex = builder();
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_QP_OP_ERR);
	end();
}

static void test_builders_of_type(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS };

	begin(IBV_QPT_UC, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	assert_non_null(qp->vqp.qp_ex.wr_send);
	assert_null(qp->vqp.qp_ex.wr_rdma_read);
	assert_null(qp->vqp.qp_ex.wr_send_imm); /* not asked for */
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	assert_int_equal(uroce_wr_init(qp, &attr), -EOPNOTSUPP);
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	assert_int_equal(uroce_wr_init(qp, &attr), -EOPNOTSUPP);
	end();
}

/* Between start and complete the application polls, packets arrive, and another thread's post
 * waits for its turn. */
static void *poster(void *arg)
{
	struct ibv_sge sge = sge_at(0, 8);

	assert_int_equal(post(request(IBV_WR_SEND, &sge, 1)), 0);
	return NULL;
}

static void test_builders_and_others(void **state)
{
	pthread_t thread;
	struct ibv_qp_ex *ex;

	begin(IBV_QPT_RC, ALL_OPS);
	ex = builder();
	ibv_wr_rdma_write(ex, 1, 2);
	ibv_wr_set_inline_data(ex, fx.buf + 5, 6);
	assert_int_equal(pthread_create(&thread, NULL, poster, NULL), 0);
	for (int i = 0; i < 10; i++) {
		usleep(1000);
		uroce_lock(&qp->lock); /* as a packet would: it does not wait for the builder */
		assert_int_equal(fx.sent, 0);
		uroce_unlock(&qp->lock);
		sched_yield();
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	pthread_join(thread, NULL);
	expect_packet(2, UROCE_RC | UROCE_SEND_ONLY, fx.buf, 8);
	assert_int_equal(qp->sq.head, 2);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_full_unpolled),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_no_path),
		cmocka_unit_test(test_bad_key),
		cmocka_unit_test(test_bind_mw),
		cmocka_unit_test(test_builders),
		cmocka_unit_test(test_builders_abort),
		cmocka_unit_test(test_builders_refuse),
		cmocka_unit_test(test_builders_datagram),
		cmocka_unit_test(test_builders_of_type),
		cmocka_unit_test(test_builders_and_others),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
