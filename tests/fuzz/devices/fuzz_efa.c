/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* efa on a hostile kernel and a hostile device: datagrams, SRD, and direct verbs. */
#include "tests/fuzz/devices/session.h"

#include <infiniband/efadv.h>

/* Create an SRD queue pair in most cases. */
static struct ibv_qp *create_qp(struct session *s, struct ibv_qp_init_attr_ex *attr)
{
	struct efadv_qp_init_attr dv = {
		.driver_qp_type = input_u8(s->in) % 8 ? EFADV_QP_DRIVER_TYPE_SRD : 1,
		.flags = input_u8(s->in) & 3,
		.wr_flags = input_u8(s->in) & 1,
	};

	if (input_u8(s->in) % 8) { /* at most the memory of the device */
		attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr->send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
		attr->cap.max_send_sge %= 3;
		attr->cap.max_recv_sge %= 4;
		attr->cap.max_inline_data %= 33;
		dv.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
		dv.flags = 0;
	}
	attr->qp_type = IBV_QPT_DRIVER;
	attr->srq = NULL;
	attr->send_ops_flags &= IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
				IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE |
				IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	return efadv_create_qp_ex(s->context, attr, &dv, sizeof(dv));
}

/* Post a batch that ends as the input demands. */
static void post(struct session *s, struct ibv_qp_ex *ex)
{
	struct efadv_qp *dv = efadv_qp_from_ibv_qp_ex(ex);
	struct ibv_sge sges[2] = { session_sge(s), session_sge(s) };
	struct ibv_data_buf bufs[2] = { { s->buffer, input_u8(s->in) },
					{ s->buffer + 7, input_u8(s->in) } };

	ibv_wr_start(ex);
	for (unsigned n = input_u8(s->in) % 4; n; n--) {
		uint8_t how = input_u8(s->in);

		ex->wr_flags = how & 0x80 ? input_u8(s->in) : IBV_SEND_SIGNALED;
		if (how & 1 && ex->wr_rdma_read)
			ibv_wr_rdma_read(ex, input_u32(s->in), input_u64(s->in));
		else if (how & 2 && ex->wr_rdma_write_imm)
			ibv_wr_rdma_write_imm(ex, input_u32(s->in), input_u64(s->in), 1);
		else if (how & 4 && ex->wr_send_imm)
			ibv_wr_send_imm(ex, input_u32(s->in));
		else if (ex->wr_send)
			ibv_wr_send(ex);
		if (s->ah)
			ibv_wr_set_ud_addr(ex, s->ah, input_u32(s->in), 1);
		if (dv && dv->wr_set_processing_hints)
			efadv_wr_set_processing_hints(dv, how);
		if (how & 8)
			ibv_wr_set_inline_data_list(ex, how >> 4 & 1, bufs);
		else if (how & 0x10)
			ibv_wr_set_sge_list(ex, how >> 5 & 3, sges);
		else
			ibv_wr_set_sge(ex, sges[0].lkey, sges[0].addr, sges[0].length);
	}
	if (input_u8(s->in) & 1)
		ibv_wr_abort(ex);
	else
		ibv_wr_complete(ex);
}

/* Query with the lengths that the program gives, which may be too short. */
static void show(struct session *s, struct ibv_qp *qp)
{
	struct efadv_sq_depth_attr sq = { .max_send_sge = input_u8(s->in),
					  .max_inline_data = input_u8(s->in) };
	struct efadv_rq_depth_attr rq = { .max_recv_sge = input_u8(s->in) };
	struct efadv_wq_attr sq_attr, rq_attr;
	struct efadv_device_attr device_attr;
	struct efadv_ah_attr ah_attr;
	struct efadv_mr_attr mr_attr;
	struct efadv_cq_attr cq_attr;

	efadv_query_device(s->context, &device_attr, input_u8(s->in) % (sizeof(device_attr) + 1));
	efadv_get_max_sq_depth(s->context, &sq, sizeof(sq));
	efadv_get_max_rq_depth(s->context, &rq, sizeof(rq));
	efadv_query_mr(s->mr, &mr_attr, input_u8(s->in) % (sizeof(mr_attr) + 1));
	if (s->ah)
		efadv_query_ah(s->ah, &ah_attr, input_u8(s->in) % (sizeof(ah_attr) + 1));
	efadv_query_cq(s->cq[0], &cq_attr, input_u8(s->in) % (sizeof(cq_attr) + 1));
	if (qp)
		efadv_query_qp_wqs(qp, &sq_attr, &rq_attr, input_u8(s->in) % (sizeof(sq_attr) + 1));
}

/* Create and destroy a queue whose completions contain the sender. */
static void create_cq(struct session *s)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = input_u8(s->in),
					    .wc_flags = IBV_WC_EX_WITH_SLID };
	struct efadv_cq_init_attr dv = {
		.wc_flags = input_u8(s->in) & 3,
		.flags = input_u8(s->in) & 1,
		.ext_mem_dmabuf = { s->buffer, input_u16(s->in), 0, -1, { 0 } },
	};
	struct ibv_cq_ex *cq = efadv_create_cq(s->context, &attr, &dv, sizeof(dv));

	if (!cq)
		return;
	MUST(efadv_cq_from_ibv_cq_ex(cq));
	MUST(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

static void step(struct session *s)
{
	struct ibv_qp *qp = s->qp[input_u8(s->in) % SESSION_QPS];
	struct ibv_qp_ex *ex = qp ? ibv_qp_to_qp_ex(qp) : NULL;

	switch (input_u8(s->in) % 4) {
	case 0:
		show(s, qp);
		break;
	case 1:
		create_cq(s);
		break;
	default:
		if (ex && ex->wr_start)
			post(s, ex);
	}
}

const struct played played = {
	.devices = { &device_efa },
	.step = step,
	.create_qp = create_qp,
};
