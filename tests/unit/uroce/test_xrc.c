/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC: the packets of the sending half, and the receiving half's handling of packets. The
 * fixture's QPs have no peer: the test makes the packets and checks the answers. */
#include "tests/unit/uroce/fixture.h"

enum {
	PEER = 0x70001,
};

static struct uroce_xrcd xrcd, other_xrcd;
static struct uroce_cq *cq;
static struct uroce_srq *srq[2];
static struct uroce_qp handle;
static struct uroce_qp *qp; /* what the handle stands for */
static uint32_t psn;

static struct uroce_srq *xrc_srq(struct uroce_xrcd *domain)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	const struct verbs_create_srq in = { .attr = &attr };
	struct uroce_srq *s = calloc(1, sizeof(*s));

	s->vsrq.srq.context = &fx.ctx.vctx.context;
	s->vsrq.srq.pd = &fx.pd.pd;
	s->vsrq.srq_type = IBV_SRQT_XRC;
	s->vsrq.xrcd = &domain->vxrcd.xrcd;
	s->vsrq.cq = &cq->vcq.cq;
	assert_int_equal(uroce_create_srq(&s->vsrq, &in), 0);
	return s;
}

/* Release the lock that the fixture holds, because destroying waits for the pass. */
static void srq_free(struct uroce_srq *s)
{
	uroce_unlock(&fx.host.paths.progress_lock);
	fixture_srq_free(s);
	uroce_lock(&fx.host.paths.progress_lock);
}

static void domain_open(struct uroce_xrcd *domain)
{
	const struct ibv_xrcd_init_attr attr = { .fd = -1 };
	const struct verbs_open_xrcd in = { .attr = &attr };

	*domain = (struct uroce_xrcd){ .vxrcd.xrcd.context = &fx.ctx.vctx.context };
	assert_int_equal(uroce_open_xrcd(&domain->vxrcd, &in), 0);
}

static void handle_open(struct uroce_qp *h)
{
	*h = (struct uroce_qp){ .vqp = { .qp = { .context = &fx.ctx.vctx.context,
						 .qp_type = IBV_QPT_XRC_RECV,
						 .mutex = PTHREAD_MUTEX_INITIALIZER,
						 .cond = PTHREAD_COND_INITIALIZER },
					 .xrcd = &xrcd.vxrcd.xrcd } };
}

static void handle_close(struct uroce_qp *h)
{
	uroce_unlock(&fx.host.paths.progress_lock);
	assert_int_equal(uroce_destroy_qp(&h->vqp), 0);
	uroce_lock(&fx.host.paths.progress_lock);
}

static int setup(void **state)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
					    .cap = { .max_send_wr = 7 } };
	const struct verbs_create_qp in = { .attr = &attr, .extended = true };

	cq = fixture_cq(16, NULL, 0);
	domain_open(&xrcd);
	domain_open(&other_xrcd);
	for (int i = 0; i < 2; i++)
		srq[i] = xrc_srq(&xrcd);
	handle_open(&handle);
	assert_int_equal(uroce_create_qp(&handle.vqp, &in), 0);
	assert_int_equal(attr.cap.max_send_wr, 0);
	qp = handle.shared;
	qp->state = IBV_QPS_RTS;
	qp->av = fx.ah.av;
	qp->mtu = FIXTURE_MTU;
	qp->dest_qpn = PEER;
	qp->access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	qp->resp.max_rd_atomic = 4;
	qp->resp.res_size = 4;
	qp->resp.res = calloc(4, sizeof(*qp->resp.res));
	psn = 0;
	fx.sent = 0;
	return 0;
}

static int teardown(void **state)
{
	handle_close(&handle);
	for (int i = 0; i < 2; i++)
		srq_free(srq[i]);
	assert_int_equal(uroce_close_xrcd(&xrcd.vxrcd), 0);
	assert_int_equal(uroce_close_xrcd(&other_xrcd.vxrcd), 0);
	free(atomic_exchange(&fx.host.engine.srqs, NULL));
	fixture_cq_free(cq);
	while (fixture_event() >= 0)
		;
	return 0;
}

static void post(struct uroce_srq *s, uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = sge_at(4096, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_srq_recv(&s->vsrq.srq, &wr, &bad), 0);
}

/* Deliver a request through the bytes of a packet. */
static void receive(uint8_t opcode, uint32_t srqn, uint32_t length, const struct uroce_hdr *more)
{
	static const uint8_t payload[FIXTURE_MTU] = { 1, 2, 3 };
	uint8_t bytes[UROCE_HEADER_MAX + FIXTURE_MTU] = {};
	struct uroce_hdr hdr = more ? *more : (struct uroce_hdr){};
	struct uroce_packet pkt = {};
	uint32_t header;
	int r;

	hdr.opcode = opcode;
	hdr.ack_req = true;
	hdr.pkey = UROCE_PKEY_DEFAULT;
	hdr.dest_qpn = qp->vqp.qp.qp_num;
	hdr.psn = psn++;
	hdr.srqn = srqn;
	header = uroce_wire_pack(&hdr, length, bytes);
	memcpy(bytes + header, payload, length);
	r = uroce_wire_unpack(bytes, header + length, &pkt.hdr, &pkt.payload.length);
	assert_int_equal(r, header);
	pkt.payload.data = bytes + header;
	fx.sent = 0;
	uroce_lock(&qp->lock);
	uroce_resp_packet(qp, &pkt);
	uroce_unlock(&qp->lock);
}

/* Deliver a request and let it be answered. */
static void arrive(uint8_t opcode, uint32_t srqn, uint32_t length, const struct uroce_hdr *more)
{
	receive(opcode, srqn, length, more);
	uroce_lock(&qp->lock);
	uroce_resp_turn(qp);
	uroce_unlock(&qp->lock);
}

static void answered(uint8_t syndrome)
{
	assert_int_equal(fx.sent, 1);
	assert_int_equal(fx.hdr.opcode, UROCE_XRC | UROCE_ACK);
	assert_int_equal(fx.hdr.dest_qpn, PEER);
	assert_int_equal(fx.hdr.syndrome, syndrome);
}

static void completed(uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_int_equal(fixture_poll(cq, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
	assert_int_equal(wc.qp_num, qp->vqp.qp.qp_num);
	assert_int_equal(fixture_poll(cq, &wc), 0);
}

static const uint8_t ack = AETH_ACK | AETH_ACK_NO_CREDIT;

static void test_send(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct uroce_srq *s = srq[i % 2];

		post(s, i, 64);
		arrive(UROCE_XRC | UROCE_SEND_ONLY, s->vsrq.srq_num, 64, NULL);
		answered(ack);
		completed(i, IBV_WC_SUCCESS);
	}
	arrive(UROCE_XRC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 64, NULL);
	answered(AETH_RNR_NAK | qp->resp.min_rnr_timer);
}

/* A receiving half sends its acknowledgement at once, because it has no packets of its own to
 * carry it. A peer with a short queue sends its next message after the answer, by another queue
 * pair. */
static void test_acknowledged_at_once(void **state)
{
	struct uroce_engine *engine = &fx.host.engine;

	post(srq[0], 1, 64);
	receive(UROCE_XRC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 64, NULL);
	assert_int_equal(fx.sent, 0);
	uroce_strand_run(engine, uroce_qp_strand(qp) - engine->strands, 1, true, false, 1);
	answered(ack);
	completed(1, IBV_WC_SUCCESS);
}

/* All packets of a message name one SRQ. */
static void test_other_in_message(void **state)
{
	post(srq[0], 7, 4000);
	post(srq[1], 8, 4000);
	arrive(UROCE_XRC | UROCE_SEND_FIRST, srq[0]->vsrq.srq_num, FIXTURE_MTU, NULL);
	answered(ack);
	arrive(UROCE_XRC | UROCE_SEND_LAST, srq[1]->vsrq.srq_num, 4, NULL);
	answered(AETH_NAK | NAK_INVALID_REQUEST);
	completed(7, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(qp->state, IBV_QPS_ERR);
}

static void refused(uint32_t srqn)
{
	arrive(UROCE_XRC | UROCE_SEND_ONLY, srqn, 4, NULL);
	answered(AETH_NAK | NAK_INVALID_REQUEST);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	assert_int_equal(fixture_event(), IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(fixture_event(), -1);
	handle.vqp.qp.events_completed = 1;
}

static void test_no_such_number(void **state)
{
	refused(srq[0]->vsrq.srq_num + 9);
}

/* Refuse an SRQ number that has the same index but belongs to another process. */
static void test_number_of_other_process(void **state)
{
	refused(srq[0]->vsrq.srq_num ^ 1 << UROCE_QP_INDEX_BITS);
}

static void test_other_domain(void **state)
{
	struct uroce_srq *s = xrc_srq(&other_xrcd);

	post(s, 1, 64);
	refused(s->vsrq.srq_num);
	srq_free(s);
}

/* The key of a read must be of the named SRQ's PD. A pending answer ends with the SRQ. */
static void test_read_of_gone(void **state)
{
	const struct uroce_hdr read = { .va = (uintptr_t)fx.buf,
					.rkey = fx.mr.vmr.ibv_mr.rkey,
					.dma_len = 3 * FIXTURE_MTU };
	struct uroce_srq *s = xrc_srq(&xrcd);
	struct uroce_key *key;
	uint8_t *ptr;

	/* The fixture's region has no remote access. */
	arrive(UROCE_XRC | UROCE_READ_REQUEST, s->vsrq.srq_num, 0, &read);
	answered(AETH_NAK | NAK_REMOTE_ACCESS);
	assert_int_equal(uroce_key_get(fx.host.engine.keys, read.rkey, &fx.pd.pd, 0,
				       UROCE_ACCESS_LOCAL, read.va, 1, &key, &ptr),
			 0);
	qp->state = IBV_QPS_RTS;
	key->access |= IBV_ACCESS_REMOTE_READ;
	uroce_key_put(key);
	psn = qp->resp.psn;
	fx.send_result = -EAGAIN;
	arrive(UROCE_XRC | UROCE_READ_REQUEST, s->vsrq.srq_num, 0, &read);
	assert_int_equal(qp->resp.res_pending, 1);
	fx.send_result = 0;
	srq_free(s);
	fx.sent = 0;
	uroce_lock(&qp->lock);
	uroce_resp_turn(qp);
	uroce_unlock(&qp->lock);
	answered(AETH_NAK | NAK_REMOTE_ACCESS);
}

/* The SRQ is destroyed between the packets of a message: the receive goes with it. */
static void test_gone_in_message(void **state)
{
	struct uroce_srq *s = xrc_srq(&xrcd);
	uint32_t number = s->vsrq.srq_num;

	post(s, 1, 4000);
	arrive(UROCE_XRC | UROCE_SEND_FIRST, number, FIXTURE_MTU, NULL);
	srq_free(s);
	refused(number);
}

/* An XRC QP ignores RC, UC and UD packets and XRC responses. An RC QP ignores XRC packets. */
static void test_transport(void **state)
{
	struct uroce_qp *xrc = qp;

	post(srq[0], 1, 64);
	arrive(UROCE_RC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 4, NULL);
	assert_int_equal(fx.sent, 0);
	arrive(UROCE_UC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 4, NULL);
	assert_int_equal(fx.sent, 0);
	qp = fixture_qp(IBV_QPT_XRC_SEND, cq, NULL, 0);
	arrive(UROCE_XRC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 4, NULL);
	assert_int_equal(fx.sent, 0);
	fixture_qp_free(qp);
	qp = fixture_qp(IBV_QPT_RC, cq, NULL, 0);
	arrive(UROCE_XRC | UROCE_SEND_ONLY, srq[0]->vsrq.srq_num, 4, NULL);
	assert_int_equal(fx.sent, 0);
	fixture_qp_free(qp);
	qp = xrc;
}

/* A requester's packets have the SRQ number behind the base header. */
static void test_requests(void **state)
{
	static const uint8_t number[] = { 0, 0x12, 0x34, 0x56 };
	struct uroce_qp *send = fixture_qp(IBV_QPT_XRC_SEND, cq, NULL, 0);
	struct ibv_sge sge = sge_at(0, 16);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .qp_type.xrc.remote_srqn = 0xff123456 },
			   *bad;
	uint8_t bytes[UROCE_HEADER_MAX];

	assert_int_equal(uroce_post_send(&send->vqp.qp, &wr, &bad), 0);
	assert_int_equal(fx.hdr.opcode, 0xa4);
	assert_int_equal(fx.hdr.srqn, 0x123456);
	assert_int_equal(uroce_wire_pack(&fx.hdr, 16, bytes), BTH_LEN + XRC_ETH_LEN);
	assert_memory_equal(bytes + BTH_LEN, number, sizeof(number));
	wr.opcode = IBV_WR_RDMA_READ;
	assert_int_equal(uroce_post_send(&send->vqp.qp, &wr, &bad), 0);
	assert_int_equal(fx.hdr.opcode, 0xac);
	assert_int_equal(fx.hdr.srqn, 0x123456);
	assert_int_equal(uroce_wire_pack(&fx.hdr, 0, bytes), BTH_LEN + XRC_ETH_LEN + RETH_LEN);
	fixture_qp_free(send);
	for (struct ibv_wc wc; fixture_poll(cq, &wc);)
		;
}

/* Handles share the queue pair and its events, and the last handle destroys it. */
static void test_handles(void **state)
{
	struct ibv_qp_open_attr attr = { .qp_num = qp->vqp.qp.qp_num,
					 .xrcd = &xrcd.vxrcd.xrcd,
					 .qp_type = IBV_QPT_XRC_RECV };
	const struct verbs_open_qp in = { .attr = &attr };
	struct uroce_qp second;

	handle_open(&second);
	attr.qp_type = IBV_QPT_RC;
	assert_int_equal(uroce_open_qp(&second.vqp, &in), -EINVAL);
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.xrcd = &other_xrcd.vxrcd.xrcd;
	uroce_unlock(&fx.host.paths.progress_lock);
	assert_int_equal(uroce_open_qp(&second.vqp, &in), -EINVAL);
	attr.xrcd = &xrcd.vxrcd.xrcd;
	assert_int_equal(uroce_open_qp(&second.vqp, &in), 0);
	uroce_lock(&fx.host.paths.progress_lock);
	assert_ptr_equal(second.shared, qp);
	assert_int_equal(second.vqp.qp.qp_num, handle.vqp.qp.qp_num);
	arrive(UROCE_XRC | UROCE_SEND_ONLY, 0, 4, NULL);
	assert_int_equal(fixture_event(), IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(fixture_event(), IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(fixture_event(), -1);
	handle.vqp.qp.events_completed = second.vqp.qp.events_completed = 1;
	handle_close(&second);
	assert_ptr_equal(uroce_qp_find(&fx.host, qp->vqp.qp.qp_num), qp);
}

#define xrc_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		xrc_test(test_send),
		xrc_test(test_acknowledged_at_once),
		xrc_test(test_other_in_message),
		xrc_test(test_no_such_number),
		xrc_test(test_number_of_other_process),
		xrc_test(test_other_domain),
		xrc_test(test_read_of_gone),
		xrc_test(test_gone_in_message),
		xrc_test(test_transport),
		xrc_test(test_requests),
		xrc_test(test_handles),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
