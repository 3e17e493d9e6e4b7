/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC: each kind of request names a shared receive queue of the peer's domain, by both ways of
 * posting. Then the completions of an XRC receive in this process. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <fcntl.h>

enum {
	REMOTE_SRQN = 0x654321,
};

struct xrc {
	struct ibv_xrcd *domain;
	struct ibv_srq *srq;
	struct ibv_qp *receiver;
	struct ibv_qp_ex *builder;
};

static void open_domain(struct script *s, struct xrc *x)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 12, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = s->pd,
		.cq = s->recv_cq,
	};
	uint32_t number;

	step("domain");
	x->domain = ibv_open_xrcd(s->context, &attr);
	must(x->domain, "domain");
	init.xrcd = x->domain;
	step("srq 12/2");
	x->srq = ibv_create_srq_ex(s->context, &init);
	must(x->srq, "srq");
	must(!ibv_get_srq_num(x->srq, &number), "number");
	step("-> %u/%u 0x%x", init.attr.max_wr, init.attr.max_sge, number);
}

static void create_qps(struct script *s, struct xrc *x)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = x->domain,
	};

	step("receiver");
	x->receiver = ibv_create_qp_ex(s->context, &attr);
	must(x->receiver, "receiver");
	attr = (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = s->send_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.cap = { .max_send_wr = 10, .max_send_sge = 3, .max_inline_data = 40 },
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_LOCAL_INV,
	};
	step("sender");
	s->qp = ibv_create_qp_ex(s->context, &attr);
	if (s->qp) {
		x->builder = ibv_qp_to_qp_ex(s->qp);
		must(x->builder, "builder");
	} else {
		step("-> errno %d; without ibv_wr_*()", errno);
		attr.comp_mask = IBV_QP_INIT_ATTR_PD;
		s->qp = ibv_create_qp_ex(s->context, &attr);
		must(s->qp, "sender");
	}
	step("-> send=%u/%u inline=%u", attr.cap.max_send_wr, attr.cap.max_send_sge,
	     attr.cap.max_inline_data);
}

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge, int sges)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = sges,
		.qp_type.xrc.remote_srqn = REMOTE_SRQN,
		.imm_data = 0x44332211,
	};

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = SCRIPT_REMOTE;
		wr.wr.atomic.rkey = SCRIPT_RKEY;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 6;
	} else {
		wr.wr.rdma.remote_addr = SCRIPT_REMOTE;
		wr.wr.rdma.rkey = SCRIPT_RKEY;
	}
	return wr;
}

/*
 * Post each kind of request with this number of entries. Afterwards the send queue is empty again.
 */
static void post(struct script *s, enum ibv_wr_opcode opcode, int sges, unsigned flags)
{
	struct ibv_sge sge[3];
	struct ibv_send_wr wr = request(opcode, sge, sges);

	for (int i = 0; i < sges; i++)
		sge[i] = script_sge(s, 0x80 * i, 8 + 4 * i);
	wr.wr_id = 0x2000 + s->sends;
	wr.send_flags |= flags;
	script_send(s, &wr);
	script_complete(s, false, s->sends - 1, opcode,
			(struct ibv_wc){ .opcode = IBV_WC_SEND, .byte_len = 8 });
}

static void post_all(struct script *s)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,	   IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};

	for (unsigned i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		post(s, opcodes[i], 1 + i % 3, i % 2 ? IBV_SEND_SOLICITED : 0);
	post(s, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0);
	post(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_SEND_FENCE);
	for (int i = 0; i < 6; i++) /* also around the ring's end */
		post(s, i % 2 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, 3, IBV_SEND_INLINE);
}

static void build_data(struct script *s, struct xrc *x, bool first)
{
	if (!first)
		ibv_wr_set_xrc_srqn(x->builder, REMOTE_SRQN);
	ibv_wr_set_sge(x->builder, s->mr->lkey, SCRIPT_BUFFER + 0x40, 24);
	if (first)
		ibv_wr_set_xrc_srqn(x->builder, REMOTE_SRQN);
}

static void build(struct script *s, struct xrc *x)
{
	struct ibv_qp_ex *b = x->builder;

	step("ibv_wr_*()");
	ibv_wr_start(b);
	b->wr_flags = IBV_SEND_SIGNALED;
	b->wr_id = 0x3000;
	ibv_wr_send(b);
	build_data(s, x, false);
	ibv_wr_rdma_write_imm(b, SCRIPT_RKEY, SCRIPT_REMOTE, 0x44332211);
	build_data(s, x, true);
	ibv_wr_atomic_cmp_swp(b, SCRIPT_RKEY, SCRIPT_REMOTE, 7, 8);
	ibv_wr_set_xrc_srqn(b, REMOTE_SRQN);
	ibv_wr_set_sge(b, s->mr->lkey, SCRIPT_BUFFER, 8);
	ibv_wr_local_inv(b, 0xbeef43);
	ibv_wr_rdma_read(b, SCRIPT_RKEY, SCRIPT_REMOTE);
	build_data(s, x, false);
	must(!ibv_wr_complete(b), "complete");
	s->sends += 5;
	script_complete(s, false, s->sends - 1, IBV_WR_RDMA_READ,
			(struct ibv_wc){ .opcode = IBV_WC_RDMA_READ, .byte_len = 24 });
}

static void receive(struct script *s, struct xrc *x)
{
	struct lab_completion completion = {
		.cq = s->recv_cq->handle,
		.qp = x->receiver->handle,
		.srq = x->srq->handle,
		.receive = true,
		.wc = { .opcode = IBV_WC_RECV, .byte_len = 40 },
	};

	s->srq = x->srq;
	for (int i = 0; i < 4; i++)
		script_recv(s, 1 + i % 2, 64);
	for (uint32_t i = 0; i < 3; i++) {
		completion.index = i;
		must(lab_complete && !lab_complete(&completion), "complete");
		script_poll(s->recv_cq);
	}
	s->srq = NULL;
}

int main(void)
{
	struct script s = { 0 };
	struct xrc x = { 0 };

	script_open(&s);
	open_domain(&s, &x);
	create_qps(&s, &x);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	post_all(&s);
	if (x.builder)
		build(&s, &x);
	receive(&s, &x);
	script_qp_close(&s);
	step("close domain");
	must(!ibv_destroy_qp(x.receiver) && !ibv_destroy_srq(x.srq) && !ibv_close_xrcd(x.domain),
	     "close domain");
	script_close(&s);
	return 0;
}
