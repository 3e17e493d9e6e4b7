/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/adapter/adapter.h"

void adapter_open(struct adapter *a, const struct adapter_ops *ops, struct verbs_context *vctx)
{
	a->ops = ops;
	strcpy(a->device.name, ops->name);
	a->device.transport_type = IBV_TRANSPORT_IB;
	a->provider = (struct verbs_provider){ .driver_id = ops->driver_id };
	a->priv.provider = &a->provider;
	vctx->context.device = &a->device;
	vctx->context.cmd_fd = -1;
	vctx->priv = &a->priv;
}

void adapter_qp_open(struct adapter *a, struct verbs_qp *vqp, struct verbs_context *vctx,
		     enum ibv_qp_type type, uint32_t number)
{
	vqp->qp.context = &vctx->context;
	vqp->qp.qp_num = number;
	vqp->qp.qp_type = type;
	vqp->qp.state = IBV_QPS_RTS;
	a->qp = &vqp->qp;
}

struct ibv_send_wr adapter_send_wr(enum ibv_wr_opcode opcode, int sges)
{
	static struct ibv_sge sge[ADAPTER_SGES];

	for (int i = 0; i < ADAPTER_SGES; i++)
		sge[i] = (struct ibv_sge){ 0x1000u * (i + 1), 8, 0x22 };
	return (struct ibv_send_wr){
		.wr_id = 7,
		.sg_list = sge,
		.num_sge = sges,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x11223344),
		.wr.rdma = { 0x2000, 7 },
	};
}

int adapter_post(struct adapter *a, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = a->ops->post_send(a->qp, &wr, &bad);

	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

int adapter_send(struct adapter *a, uint64_t wr_id, unsigned int flags, const void *data,
		 uint32_t length)
{
	struct ibv_send_wr wr = adapter_send_wr(IBV_WR_SEND, 1);

	wr.wr_id = wr_id;
	wr.send_flags = flags;
	wr.sg_list[0] = (struct ibv_sge){ (uintptr_t)data, length, 0x1100 };
	return adapter_post(a, wr);
}

int adapter_receive(struct adapter *a, uint64_t wr_id, int sges)
{
	struct ibv_sge sge[ADAPTER_SGES];
	struct ibv_recv_wr *bad = NULL, wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = sges };
	int r;

	for (int i = 0; i < ADAPTER_SGES; i++)
		sge[i] = (struct ibv_sge){ 0x5000u + 0x1000u * i, 8, 0x44 + i };
	r = a->srq ? a->ops->post_srq_recv(a->srq, &wr, &bad) : a->ops->post_recv(a->qp, &wr, &bad);
	assert_ptr_equal(bad, r ? &wr : NULL);
	return r;
}

int adapter_poll(struct adapter *a, struct ibv_cq *cq, struct ibv_wc *wc, int count)
{
	return a->ops->poll_cq(cq, count, wc);
}

struct ibv_wc adapter_poll_one(struct adapter *a, struct ibv_cq *cq)
{
	struct ibv_wc wc[2] = {};

	assert_int_equal(adapter_poll(a, cq, wc, 1), 1);
	return wc[0];
}

uint32_t adapter_word_32(const void *at, int index)
{
	uint32_t word;

	memcpy(&word, (const char *)at + (ptrdiff_t)index * 4, sizeof(word));
	return le32toh(word);
}

uint64_t adapter_word_64(const void *at, int index)
{
	uint64_t word;

	memcpy(&word, (const char *)at + (ptrdiff_t)index * 8, sizeof(word));
	return le64toh(word);
}
