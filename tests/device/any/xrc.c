/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended reliable connections: one connection reaches several shared receive queues, each with a
 * protection domain and a completion queue of its own, by the number that each request names.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"
#include "tests/lib/rt_child.h"

enum {
	SRQS = 2,
	SIZE = 1 << 17,
	LONG = 70000,
	DOMAIN_ATTRS = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
};

/* One shared receive queue, with its domain and its completion queue. */
struct receiver {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *p;
	uint32_t number;
};

/* The receiving half. */
struct target {
	struct rt_dev *dev;
	struct ibv_xrcd *xrcd;
	struct receiver r[SRQS];
	struct ibv_qp *qp;
};

/* The sending half. */
struct initiator {
	struct rt_dev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rt_buf buf;
};

/* Values that the sender needs. */
struct told {
	struct rt_address address;
	struct {
		uint32_t number, rkey;
		uint64_t addr;
	} r[SRQS];
};

static struct rt_dev *open_xrc(void)
{
	struct rt_dev *dev = rt_open();

	if (!(dev->attr.orig_attr.device_cap_flags & IBV_DEVICE_XRC))
		rt_skip("the device has no XRC");
	return dev;
}

static struct ibv_xrcd *domain_open(struct rt_dev *dev, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = DOMAIN_ATTRS, .fd = fd, .oflags = oflags };

	return ibv_open_xrcd(dev->ctx, &attr);
}

static struct receiver receiver_open(struct rt_dev *dev, struct ibv_xrcd *xrcd)
{
	struct receiver r = { .pd = ibv_alloc_pd(dev->ctx),
			      .cq = ibv_create_cq(dev->ctx, 64, NULL, NULL, 0) };
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = r.pd,
		.xrcd = xrcd,
		.cq = r.cq,
	};

	CHECK(r.pd && r.cq);
	CHECK(r.p = calloc(1, SIZE));
	CHECK(r.mr = ibv_reg_mr(r.pd, r.p, SIZE, RT_ACCESS));
	CHECK(r.srq = ibv_create_srq_ex(dev->ctx, &init));
	CHECK_OK(ibv_get_srq_num(r.srq, &r.number));
	return r;
}

static void receiver_close(struct receiver *r)
{
	CHECK_OK(ibv_destroy_srq(r->srq));
	CHECK_OK(ibv_dereg_mr(r->mr));
	CHECK_OK(ibv_destroy_cq(r->cq));
	CHECK_OK(ibv_dealloc_pd(r->pd));
	free(r->p);
}

static struct ibv_qp *target_qp(struct rt_dev *dev, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd };
	struct ibv_qp *qp = ibv_create_qp_ex(dev->ctx, &init);

	CHECK(qp);
	return qp;
}

static struct target target_open(struct rt_dev *dev)
{
	struct target t = { .dev = dev, .xrcd = domain_open(dev, -1, O_CREAT) };

	CHECK(t.xrcd);
	for (int i = 0; i < SRQS; i++)
		t.r[i] = receiver_open(dev, t.xrcd);
	t.qp = target_qp(dev, t.xrcd);
	return t;
}

static void target_close(struct target *t)
{
	if (t->qp)
		CHECK_OK(ibv_destroy_qp(t->qp));
	for (int i = 0; i < SRQS; i++)
		receiver_close(&t->r[i]);
	CHECK_OK(ibv_close_xrcd(t->xrcd));
}

static struct told target_told(const struct target *t)
{
	struct told told = {
		.address = { .gid = t->dev->gid, .lid = t->dev->port.lid, .qpn = t->qp->qp_num }
	};

	for (int i = 0; i < SRQS; i++) {
		told.r[i].number = t->r[i].number;
		told.r[i].rkey = t->r[i].mr->rkey;
		told.r[i].addr = (uintptr_t)t->r[i].p;
	}
	return told;
}

#define SEND_OPS                                                                          \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_READ)

static struct initiator initiator_open(struct rt_dev *dev)
{
	struct initiator in = { .dev = dev, .cq = ibv_create_cq(dev->ctx, 64, NULL, NULL, 0) };
	struct ibv_qp_init_attr_ex init = {
		.send_cq = in.cq,
		.cap = { .max_send_wr = 16, .max_send_sge = 1, .max_inline_data = 64 },
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = dev->pd,
		.send_ops_flags =
			SEND_OPS | (rt_has_atomics() ? IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD : 0),
	};

	CHECK(in.cq);
	in.buf = rt_buf_alloc(dev, SIZE, RT_ACCESS);
	in.qp = ibv_create_qp_ex(dev->ctx, &init);
	if (!in.qp && errno == EOPNOTSUPP) {
		init.comp_mask &= ~IBV_QP_INIT_ATTR_SEND_OPS_FLAGS; /* older adapters */
		in.qp = ibv_create_qp_ex(dev->ctx, &init);
	}
	CHECK(in.qp);
	return in;
}

static void initiator_close(struct initiator *in)
{
	CHECK_OK(ibv_destroy_qp(in->qp));
	CHECK_OK(ibv_destroy_cq(in->cq));
	rt_buf_free(&in->buf);
}

static void to_init(struct ibv_qp *qp, const struct rt_dev *dev)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = dev->port_num,
				    .qp_access_flags = RT_ACCESS };

	CHECK_OK(ibv_modify_qp(
		qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static void to_rtr(struct ibv_qp *qp, const struct rt_dev *dev, const struct rt_address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = rt_ah_attr(dev, peer),
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (qp->qp_type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	CHECK_OK(ibv_modify_qp(qp, &attr, mask));
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .max_rd_atomic = 4 };

	CHECK_OK(ibv_modify_qp(qp, &attr,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct rt_address initiator_address(const struct initiator *in)
{
	return (struct rt_address){ .gid = in->dev->gid,
				    .lid = in->dev->port.lid,
				    .qpn = in->qp->qp_num };
}

static void connect_both(struct target *t, struct initiator *in)
{
	struct rt_address there = target_told(t).address, here = initiator_address(in);

	to_init(t->qp, t->dev);
	to_rtr(t->qp, t->dev, &here);
	/* The target could stay in RTR, but then the first message would raise an event. */
	to_rts(t->qp);
	to_init(in->qp, in->dev);
	to_rtr(in->qp, in->dev, &there);
	to_rts(in->qp);
}

static struct ibv_wc wait_for(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	CHECK_INT(n, 1);
	return wc;
}

static struct ibv_wc expect(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_for(cq);

	CHECK_INT(wc.status, status);
	CHECK_INT(wc.wr_id, wr_id);
	return wc;
}

static void post_recv(struct receiver *r, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)r->p + offset, length, r->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad_wr;

	CHECK_OK(ibv_post_srq_recv(r->srq, &wr, &bad_wr));
}

/* Post @length bytes from the beginning of the buffer; @wr has the fields that differ between
 * requests. */
static void post(struct initiator *in, struct ibv_send_wr wr, uint32_t srqn, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)in->buf.p, length, in->buf.mr->lkey };
	struct ibv_send_wr *bad_wr;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.qp_type.xrc.remote_srqn = srqn;
	CHECK_OK(ibv_post_send(in->qp, &wr, &bad_wr));
}

static void post_send(struct initiator *in, uint64_t wr_id, uint32_t srqn, uint32_t length)
{
	post(in, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = IBV_WR_SEND }, srqn, length);
}

static void post_rdma(struct initiator *in, enum ibv_wr_opcode opcode, const struct told *told,
		      int srq, int memory, uint32_t length)
{
	struct ibv_send_wr wr = {
		.wr_id = opcode,
		.opcode = opcode,
		.imm_data = htobe32(0x4711),
		.wr.rdma = { told->r[memory].addr, told->r[memory].rkey },
	};

	post(in, wr, told->r[srq].number, length);
}

struct both {
	struct rt_dev *dev;
	struct target t;
	struct initiator in;
	struct told told;
};

static struct both both_open(void)
{
	struct both b = { .dev = open_xrc() };

	b.t = target_open(b.dev);
	b.in = initiator_open(b.dev);
	b.told = target_told(&b.t);
	connect_both(&b.t, &b.in);
	return b;
}

static void both_close(struct both *b)
{
	initiator_close(&b->in);
	target_close(&b->t);
	rt_close(b->dev);
}

/* Each message arrives complete in the queue that its number names, and in no other. */
static void sends(void)
{
	static const uint32_t lengths[] = { 1, 64, 1024, 1025, 5000, LONG };
	struct both b = both_open();
	struct ibv_wc wc;

	for (int i = 0; i < 60; i++) {
		uint32_t length = lengths[i % RT_COUNT(lengths)];
		struct receiver *r = &b.t.r[i / 7 % SRQS];

		rt_fill(b.in.buf.p, length, i);
		post_recv(r, 1000 + i, 0, LONG);
		post_send(&b.in, i, r->number, length);
		expect(b.in.cq, i, IBV_WC_SUCCESS);
		wc = expect(r->cq, 1000 + i, IBV_WC_SUCCESS);
		CHECK_INT(wc.opcode, IBV_WC_RECV);
		CHECK_INT(wc.byte_len, length);
		CHECK_INT(wc.qp_num, b.t.qp->qp_num);
		VERIFY(r->p, length, i);
		CHECK_INT(ibv_poll_cq(b.t.r[1 - i / 7 % SRQS].cq, 1, &wc), 0);
	}
	both_close(&b);
}

/* The receive comes later than the message. */
static void not_ready(void)
{
	struct both b = both_open();

	rt_fill(b.in.buf.p, 100, 5);
	post_recv(&b.t.r[0], 1, 0, 100); /* a receive of another queue does not help */
	post_send(&b.in, 2, b.told.r[1].number, 100);
	usleep(20000);
	post_recv(&b.t.r[1], 3, 0, 100);
	expect(b.in.cq, 2, IBV_WC_SUCCESS);
	expect(b.t.r[1].cq, 3, IBV_WC_SUCCESS);
	VERIFY(b.t.r[1].p, 100, 5);
	both_close(&b);
}

/* The memory must belong to the queue's protection domain. */
static void rdma(void)
{
	struct both b = both_open();
	struct ibv_send_wr atomic = { .wr_id = 77, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	for (int i = 0; i < SRQS; i++) {
		rt_fill(b.in.buf.p, LONG, 30 + i);
		post_rdma(&b.in, IBV_WR_RDMA_WRITE, &b.told, i, i, LONG);
		expect(b.in.cq, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
		VERIFY(b.t.r[i].p, LONG, 30 + i);
		memset(b.in.buf.p, 0, LONG);
		post_rdma(&b.in, IBV_WR_RDMA_READ, &b.told, i, i, LONG);
		expect(b.in.cq, IBV_WR_RDMA_READ, IBV_WC_SUCCESS);
		VERIFY(b.in.buf.p, LONG, 30 + i);

		post_recv(&b.t.r[i], 9, 0, 8);
		post_rdma(&b.in, IBV_WR_RDMA_WRITE_WITH_IMM, &b.told, i, i, 3000);
		expect(b.in.cq, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_SUCCESS);
		CHECK_INT(expect(b.t.r[i].cq, 9, IBV_WC_SUCCESS).imm_data, htobe32(0x4711));

		if (!rt_has_atomics())
			continue;
		*(uint64_t *)b.t.r[i].p = 40 + i;
		atomic.wr.atomic.remote_addr = b.told.r[i].addr;
		atomic.wr.atomic.rkey = b.told.r[i].rkey;
		atomic.wr.atomic.compare_add = 2;
		post(&b.in, atomic, b.told.r[i].number, 8);
		expect(b.in.cq, 77, IBV_WC_SUCCESS);
		CHECK_INT(*(uint64_t *)b.in.buf.p, 40 + i);
		CHECK_INT(*(uint64_t *)b.t.r[i].p, 42 + i);
	}
	/* A key for one queue's memory, with the number of the other queue. */
	post_rdma(&b.in, IBV_WR_RDMA_WRITE, &b.told, 0, 1, 8);
	expect(b.in.cq, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EVENT(b.dev, IBV_EVENT_QP_ACCESS_ERR);
	both_close(&b);
}

static struct ibv_qp_ex *builder_of(const struct initiator *in)
{
	if (!ibv_qp_to_qp_ex(in->qp))
		rt_skip("the device has no ibv_wr_*()");
	return ibv_qp_to_qp_ex(in->qp);
}

/* The ibv_wr_*() functions take the queue's number by a setter, which each request needs. */
static void builders(void)
{
	struct both b = both_open();
	struct ibv_qp_ex *qpx = builder_of(&b.in);

	rt_fill(b.in.buf.p, 3000, 1);
	for (int i = 0; i < SRQS; i++)
		post_recv(&b.t.r[i], 10 + i, 0, 4000);
	ibv_wr_start(qpx);
	for (int i = 0; i < SRQS; i++) {
		qpx->wr_id = i;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qpx);
		ibv_wr_set_xrc_srqn(qpx, b.told.r[i].number);
		ibv_wr_set_sge(qpx, b.in.buf.mr->lkey, (uintptr_t)b.in.buf.p, 3000);
	}
	CHECK_OK(ibv_wr_complete(qpx));
	for (int i = 0; i < SRQS; i++) {
		expect(b.in.cq, i, IBV_WC_SUCCESS);
		expect(b.t.r[i].cq, 10 + i, IBV_WC_SUCCESS);
		VERIFY(b.t.r[i].p, 3000, 1);
	}
	both_close(&b);
}

/* A request without a number is refused at the end of the batch, or names no existing queue. */
static void number_missing(void)
{
	struct both b = both_open();
	struct ibv_qp_ex *qpx = builder_of(&b.in);
	int r;

	ibv_wr_start(qpx);
	qpx->wr_id = 5;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, b.in.buf.mr->lkey, (uintptr_t)b.in.buf.p, 3000);
	r = ibv_wr_complete(qpx);
	if (r)
		CHECK_INT(r, EINVAL);
	else
		expect(b.in.cq, 5, IBV_WC_REM_INV_REQ_ERR);
	both_close(&b);
}

static void refused(struct both *b, uint32_t number)
{
	post_recv(&b->t.r[0], 1, 0, 64);
	post_send(&b->in, 2, number, 64);
	expect(b->in.cq, 2, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_EVENT(b->dev, IBV_EVENT_QP_REQ_ERR);
	post_send(&b->in, 3, b->told.r[0].number, 64);
	expect(b->in.cq, 3, IBV_WC_WR_FLUSH_ERR);
	both_close(b);
}

static void unknown_number(void)
{
	struct both b = both_open();

	refused(&b, b.told.r[0].number ^ 0x4321);
}

/* An existing queue of another domain. */
static void other_domain(void)
{
	struct both b = both_open();
	struct ibv_xrcd *other = domain_open(b.dev, -1, O_CREAT);
	struct receiver r;

	CHECK(other);
	r = receiver_open(b.dev, other);
	post_recv(&r, 1, 0, 64);
	post_send(&b.in, 2, r.number, 64);
	expect(b.in.cq, 2, IBV_WC_REM_INV_REQ_ERR);
	receiver_close(&r);
	CHECK_OK(ibv_close_xrcd(other));
	EXPECT_EVENT(b.dev, IBV_EVENT_QP_REQ_ERR);
	both_close(&b);
}

/* The number of a destroyed queue is invalid. */
static void gone(void)
{
	struct both b = both_open();
	struct receiver r = receiver_open(b.dev, b.t.xrcd);
	uint32_t number = r.number;

	post_recv(&r, 1, 0, 64);
	post_send(&b.in, 2, number, 64);
	expect(b.in.cq, 2, IBV_WC_SUCCESS);
	expect(r.cq, 1, IBV_WC_SUCCESS);
	receiver_close(&r);
	refused(&b, number);
}

/* Operations that neither half has, and objects that are still in use. */
static void mistakes(void)
{
	struct both b = both_open();
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = {}, *bad_recv = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_INT(ibv_post_send(b.t.qp, &send, &bad_send), EINVAL);
	CHECK_INT(ibv_post_recv(b.t.qp, &recv, &bad_recv), EINVAL);
	CHECK(bad_send == &send && bad_recv == &recv);
	bad_recv = NULL;
	CHECK_INT(ibv_post_recv(b.in.qp, &recv, &bad_recv), EINVAL);
	CHECK_INT(ibv_close_xrcd(b.t.xrcd), EBUSY);
	CHECK_INT(ibv_destroy_cq(b.t.r[0].cq), EBUSY);
	CHECK_INT(ibv_destroy_cq(b.in.cq), EBUSY);
	CHECK_OK(ibv_query_qp(b.t.qp, &attr, IBV_QP_STATE, &init));
	CHECK_INT(attr.qp_state, IBV_QPS_RTS);
	CHECK_INT(init.qp_type, IBV_QPT_XRC_RECV);
	CHECK(!init.send_cq && !init.recv_cq && !init.srq);
	CHECK_INT(attr.cap.max_send_wr + attr.cap.max_recv_wr, 0);
	both_close(&b);
}

static struct ibv_qp *qp_open(struct rt_dev *dev, struct ibv_xrcd *xrcd, uint32_t number)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = number,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(dev->ctx, &attr);
}

/* A second handle has the same effects as the first one, outlives it, and gets the same events. */
static void second_handle(void)
{
	struct both b = both_open();
	struct ibv_xrcd *other = domain_open(b.dev, -1, O_CREAT);
	struct ibv_qp *qp = qp_open(b.dev, b.t.xrcd, b.t.qp->qp_num);
	struct ibv_async_event event;
	struct ibv_qp_attr attr = { .min_rnr_timer = 3 };
	struct ibv_qp_init_attr init;
	uint32_t unused;

	CHECK(qp && other);
	CHECK_INT(qp->qp_num, b.t.qp->qp_num);
	CHECK(!qp_open(b.dev, b.t.xrcd, b.in.qp->qp_num));
	CHECK_INT(errno, EINVAL);
	/* An unused number of this process, which gets numbers in ascending order. */
	unused = b.t.qp->qp_num ^ 0x100;
	CHECK(!qp_open(b.dev, b.t.xrcd, unused));
	CHECK_INT(errno, EINVAL);
	CHECK(!qp_open(b.dev, other, b.t.qp->qp_num));
	CHECK_INT(errno, EINVAL);
	CHECK_OK(ibv_close_xrcd(other));
	CHECK_OK(ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER));
	CHECK_OK(ibv_query_qp(b.t.qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER, &init));
	CHECK_INT(attr.qp_state, IBV_QPS_RTS);
	CHECK_INT(attr.min_rnr_timer, 3);
	CHECK_OK(ibv_destroy_qp(b.t.qp));
	b.t.qp = qp;
	post_recv(&b.t.r[0], 1, 0, 64);
	post_send(&b.in, 2, b.told.r[0].number, 64);
	expect(b.in.cq, 2, IBV_WC_SUCCESS);
	expect(b.t.r[0].cq, 1, IBV_WC_SUCCESS);
	post_send(&b.in, 3, 1, 64);
	expect(b.in.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	event = EXPECT_EVENT(b.dev, IBV_EVENT_QP_REQ_ERR);
	CHECK(event.element.qp == qp);
	both_close(&b);
}

/* The domain of a file is created once, and shared by all that have the file open, also by
 * another context of this process. */
static void file_domain(void)
{
	char name[] = "/tmp/xrcd-XXXXXX";
	struct rt_dev *dev = open_xrc(), *other = open_xrc();
	struct ibv_xrcd *first, *second;
	int fd = mkstemp(name);
	struct receiver r;
	struct target t;
	struct initiator in;

	CHECK(fd >= 0);
	CHECK(!domain_open(dev, fd, 0));
	CHECK_INT(errno, EAGAIN);
	CHECK(first = domain_open(dev, fd, O_CREAT | O_EXCL));
	CHECK(!domain_open(dev, fd, O_CREAT | O_EXCL));
	CHECK_INT(errno, EINVAL);
	CHECK(second = domain_open(other, fd, 0));
	CHECK(!domain_open(dev, 1000, O_CREAT));
	CHECK_INT(errno, EBADF);
	/* The queue belongs to one context, the queue pair to the other. */
	r = receiver_open(dev, first);
	t = (struct target){ .dev = other, .xrcd = second, .qp = target_qp(other, second) };
	for (int i = 0; i < SRQS; i++)
		t.r[i] = receiver_open(other, second);
	in = initiator_open(dev);
	connect_both(&t, &in);
	post_recv(&r, 1, 0, 64);
	post_send(&in, 2, r.number, 64);
	expect(in.cq, 2, IBV_WC_SUCCESS);
	expect(r.cq, 1, IBV_WC_SUCCESS);
	initiator_close(&in);
	receiver_close(&r);
	target_close(&t);
	CHECK_OK(ibv_close_xrcd(first));
	CHECK(!domain_open(dev, fd, 0));
	CHECK_INT(errno, EAGAIN);
	close(fd);
	unlink(name);
	rt_close(other);
	rt_close(dev);
}

/* ---- two processes ---- */

static void swap(int socket, const void *mine, void *theirs, size_t size)
{
	CHECK(write(socket, mine, size) == (ssize_t)size);
	CHECK(read(socket, theirs, size) == (ssize_t)size);
}

/* The user-space device receives a domain's messages in one process: another process is refused. */
static void domain_of_another(int socket, int fd)
{
	struct ibv_xrcd *xrcd;
	struct rt_dev *dev;

	rt_log_capture();
	dev = open_xrc();
	rt_hear(socket);
	CHECK(!domain_open(dev, fd, 0));
	CHECK_INT(errno, EOPNOTSUPP);
	CHECK(strstr(rt_log_text(), "and O_CREAT, for one of its own, was not given"));
	CHECK(!domain_open(dev, fd, O_CREAT | O_EXCL));
	CHECK_INT(errno, EINVAL);
	CHECK(xrcd = domain_open(dev, fd, O_CREAT));
	CHECK(!qp_open(dev, xrcd, rt_hear(socket)));
	CHECK_INT(errno, EOPNOTSUPP);
	CHECK_OK(ibv_close_xrcd(xrcd));
	CHECK(strstr(rt_log_text(), "this one gets one of its own"));
	CHECK(strstr(rt_log_text(), "is not of this process"));
	rt_log_discard();
	rt_tell(socket, 1);
	rt_hear(socket);
	CHECK(xrcd = domain_open(dev, fd, O_CREAT | O_EXCL));
	CHECK_OK(ibv_close_xrcd(xrcd));
	rt_close(dev);
}

static void second_process(void)
{
	char name[] = "/tmp/xrcd-XXXXXX";
	int fd = mkstemp(name);
	struct ibv_xrcd *xrcd;
	struct rt_child child;
	struct rt_dev *dev;

	CHECK(fd >= 0);
	unlink(name);
	child = rt_child_start(domain_of_another, fd);
	dev = open_xrc();
	if (rt_is_kernel(dev))
		rt_skip("a kernel's device shares domains");
	CHECK(xrcd = domain_open(dev, fd, O_CREAT));
	rt_tell(child.socket, 1);
	rt_tell(child.socket, 0x1234); /* the number of a queue pair of another process */
	rt_hear(child.socket);
	CHECK_OK(ibv_close_xrcd(xrcd));
	rt_tell(child.socket, 1);
	rt_child_finish(&child);
	close(fd);
	rt_close(dev);
}

/* A child that is forked meanwhile keeps no part of its parent's domain. */
static void forked(void)
{
	char name[] = "/tmp/xrcd-XXXXXX", byte;
	struct rt_dev *dev = open_xrc();
	int fd = mkstemp(name), ends[2];
	struct ibv_xrcd *xrcd;
	pid_t child;

	CHECK(fd >= 0);
	unlink(name);
	CHECK(xrcd = domain_open(dev, fd, O_CREAT));
	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		close(ends[1]);
		/* The child waits here until the parent has finished. */
		_exit(write(ends[0], "", 1) != 1 || read(ends[0], &byte, 1) != 0);
	}
	CHECK(read(ends[1], &byte, 1) == 1);
	CHECK_OK(ibv_close_xrcd(xrcd));
	CHECK(xrcd = domain_open(dev, fd, O_CREAT | O_EXCL));
	CHECK_OK(ibv_close_xrcd(xrcd));
	close(ends[1]);
	CHECK(waitpid(child, NULL, 0) == child);
	close(ends[0]);
	close(fd);
	rt_close(dev);
}

enum {
	MESSAGES = 200,
};

static void receive_all(struct target *t)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct receiver *r = &t->r[i % SRQS];

		expect(r->cq, i, IBV_WC_SUCCESS);
		VERIFY(r->p + i / SRQS % 8 * 8192, 5000, i);
		post_recv(r, i + 8 * SRQS, i / SRQS % 8 * 8192, 8192);
	}
}

static void receiving_process(int socket)
{
	struct rt_dev *dev = open_xrc();
	struct target t = target_open(dev);
	struct told told = target_told(&t);
	struct rt_address peer = {};
	char done;

	for (int i = 0; i < 8 * SRQS; i++)
		post_recv(&t.r[i % SRQS], i, i / SRQS % 8 * 8192, 8192);
	CHECK(write(socket, &told, sizeof(told)) == sizeof(told));
	CHECK(read(socket, &peer, sizeof(peer)) == sizeof(peer));
	to_init(t.qp, dev);
	to_rtr(t.qp, dev, &peer);
	swap(socket, "r", &done, 1);
	receive_all(&t);
	swap(socket, "d", &done, 1);
	target_close(&t);
	rt_close(dev);
}

static void sending_process(int socket)
{
	struct rt_dev *dev = open_xrc();
	struct initiator in = initiator_open(dev);
	struct rt_address mine = initiator_address(&in);
	struct told told;
	char done;

	CHECK(read(socket, &told, sizeof(told)) == sizeof(told));
	CHECK(write(socket, &mine, sizeof(mine)) == sizeof(mine));
	to_init(in.qp, dev);
	to_rtr(in.qp, dev, &told.address);
	to_rts(in.qp);
	swap(socket, "r", &done, 1);
	for (int i = 0; i < MESSAGES; i++) {
		rt_fill(in.buf.p, 5000, i);
		post_send(&in, i, told.r[i % SRQS].number, 5000);
		expect(in.cq, i, IBV_WC_SUCCESS);
	}
	swap(socket, "d", &done, 1);
	initiator_close(&in);
	rt_close(dev);
}

static void processes(void)
{
	int sockets[2], status;
	pid_t child;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		close(sockets[0]);
		sending_process(sockets[1]);
		exit(0);
	}
	close(sockets[1]);
	receiving_process(sockets[0]);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
}

static const struct rt_case cases[] = {
	{ "sends", sends },
	{ "not_ready", not_ready },
	{ "rdma", rdma },
	{ "builders", builders },
	{ "number_missing", number_missing },
	{ "unknown_number", unknown_number },
	{ "other_domain", other_domain },
	{ "gone", gone },
	{ "mistakes", mistakes },
	{ "second_handle", second_handle },
	{ "file_domain", file_domain },
	{ "second_process", second_process },
	{ "forked", forked },
	{ "processes", processes },
};
RT_MAIN(cases)
