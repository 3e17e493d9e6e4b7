/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/wr.h"

int kit_wr_check(struct ibv_context *ctx, uint64_t ops, uint64_t known)
{
	uint64_t unknown = ops & ~known;

	if (!unknown)
		return 0;
	verbs_err(ctx,
		  "ibv_create_qp_ex: send_ops_flags 0x%llx are not supported by this QP type "
		  "(supported: 0x%llx)",
		  (unsigned long long)unknown, (unsigned long long)known);
	return -EOPNOTSUPP;
}

void kit_wr_set_slots(struct ibv_qp_ex *ex, const struct ibv_qp_ex *from, uint64_t ops)
{
	ex->wr_start = from->wr_start;
	ex->wr_complete = from->wr_complete;
	ex->wr_abort = from->wr_abort;
	ex->wr_set_ud_addr = from->wr_set_ud_addr;
	ex->wr_set_xrc_srqn = from->wr_set_xrc_srqn;
	ex->wr_set_inline_data = from->wr_set_inline_data;
	ex->wr_set_inline_data_list = from->wr_set_inline_data_list;
	ex->wr_set_sge = from->wr_set_sge;
	ex->wr_set_sge_list = from->wr_set_sge_list;
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = from->wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = from->wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = from->wr_send_inv;
	if (ops & IBV_QP_EX_WITH_TSO)
		ex->wr_send_tso = from->wr_send_tso;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = from->wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = from->wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = from->wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = from->wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = from->wr_atomic_fetch_add;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = from->wr_local_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = from->wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_FLUSH)
		ex->wr_flush = from->wr_flush;
	if (ops & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ex->wr_atomic_write = from->wr_atomic_write;
}
