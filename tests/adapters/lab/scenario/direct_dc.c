/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dynamically connected transport of mlx5: a target and its number, an initiator with and without
 * streams, requests of every kind in a ring that wraps; and attributes that are refused.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>

enum {
	TARGET = 0xabc,
	STREAM = 0x42,
	ROUNDS = 12,
};
static const uint64_t key = 0x1122334455667788;

static struct mlx5dv_qp_init_attr of_type(enum mlx5dv_dc_type type)
{
	return (struct mlx5dv_qp_init_attr){
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = type },
	};
}

static struct ibv_qp *create(struct script *s, const char *what, enum mlx5dv_dc_type type,
			     struct ibv_qp_init_attr_ex *attr, struct mlx5dv_qp_init_attr *dv)
{
	struct ibv_qp *qp;

	errno = 0;
	attr->qp_type = IBV_QPT_DRIVER;
	attr->pd = s->pd;
	attr->recv_cq = s->recv_cq;
	attr->send_cq = s->send_cq;
	step("%s", what);
	qp = mlx5dv_create_qp(s->context, attr, dv);
	if (!qp)
		step("-> none, errno %d", errno);
	return qp;
}

static void modify(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 12,
		.max_rd_atomic = 4,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .port_num = 1,
			     .is_global = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	step("modify to %d: %d", state, ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask));
}

static void target(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = of_type(MLX5DV_DCTYPE_DCT);
	struct ibv_qp_init_attr_ex attr = { .comp_mask = IBV_QP_INIT_ATTR_PD, .srq = s->srq };
	struct ibv_qp *qp;

	dv.dc_init_attr.dct_access_key = key;
	qp = create(s, "target", MLX5DV_DCTYPE_DCT, &attr, &dv);
	must(qp, "target");
	modify(qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(qp, IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
	step("number 0x%x", qp->qp_num);
	s->qp = qp;
	script_recv(s, 1, 64);
	script_complete(s, true, 0, 0,
			(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 64, .src_qp = 0x77 });
	step("destroy: %d", ibv_destroy_qp(qp));
}

static void go(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, bool stream)
{
	if (stream)
		mlx5dv_wr_set_dc_addr_stream(dv, ah, TARGET, key, STREAM);
	else
		mlx5dv_wr_set_dc_addr(dv, ah, TARGET, key);
}

static void round_of(struct script *s, struct ibv_qp_ex *ex, struct ibv_ah *ah, int i)
{
	struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);
	const struct ibv_sge sges[] = { script_sge(s, 0x100, 40), script_sge(s, 0x400, 80) };
	struct ibv_data_buf bufs[] = { { (void *)(uintptr_t)SCRIPT_BUFFER, 20 },
				       { (void *)(uintptr_t)(SCRIPT_BUFFER + 64), 30 } };

	ibv_wr_start(ex);
	ex->wr_id = i;
	ex->wr_flags = IBV_SEND_SIGNALED | (i % 3 ? 0 : IBV_SEND_FENCE | IBV_SEND_SOLICITED);
	switch (i % 6) {
	case 0:
		ibv_wr_send_imm(ex, htobe32(0x01020304));
		go(dv, ah, false);
		ibv_wr_set_sge_list(ex, 2, sges);
		break;
	case 1:
		ibv_wr_rdma_write(ex, SCRIPT_RKEY, SCRIPT_REMOTE);
		ibv_wr_set_inline_data_list(ex, 2, bufs);
		go(dv, ah, false);
		break;
	case 2:
		ibv_wr_rdma_read(ex, SCRIPT_RKEY, SCRIPT_REMOTE);
		go(dv, ah, true);
		ibv_wr_set_sge(ex, s->mr->lkey, SCRIPT_BUFFER, 512);
		break;
	case 3:
		ibv_wr_atomic_cmp_swp(ex, SCRIPT_RKEY, SCRIPT_REMOTE, 1, 2);
		go(dv, ah, false);
		ibv_wr_set_sge(ex, s->mr->lkey, SCRIPT_BUFFER, 8);
		ibv_wr_atomic_fetch_add(ex, SCRIPT_RKEY, SCRIPT_REMOTE, 3);
		ibv_wr_set_sge(ex, s->mr->lkey, SCRIPT_BUFFER, 8);
		go(dv, ah, false);
		break;
	case 4:
		ibv_wr_rdma_write_imm(ex, SCRIPT_RKEY, SCRIPT_REMOTE, htobe32(7));
		go(dv, ah, false);
		ibv_wr_set_inline_data(ex, (void *)(uintptr_t)SCRIPT_BUFFER, 33);
		break;
	case 5:
		ibv_wr_send_inv(ex, 0xbeef42);
		go(dv, ah, false);
		ibv_wr_set_sge(ex, s->mr->lkey, SCRIPT_BUFFER, 100);
		ibv_wr_local_inv(ex, 0xbeef42);
		break;
	}
	step("round %d: %d", i, ibv_wr_complete(ex));
}

static void initiator(struct script *s, struct ibv_ah *ah)
{
	static const enum ibv_wr_opcode as[] = {
		IBV_WR_SEND_WITH_IMM,	     IBV_WR_RDMA_WRITE,		 IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_LOCAL_INV,
	};
	struct mlx5dv_qp_init_attr dv = of_type(MLX5DV_DCTYPE_DCI);
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = 0x7ff & ~IBV_QP_EX_WITH_TSO,
		.cap = { .max_send_wr = 10, .max_send_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_qp *qp = create(s, "initiator", MLX5DV_DCTYPE_DCI, &attr, &dv);
	struct ibv_qp_ex *ex;

	must(qp, "initiator");
	step("send=%u inline=%u", attr.cap.max_send_wr, attr.cap.max_inline_data);
	ex = ibv_qp_to_qp_ex(qp);
	modify(qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	modify(qp, IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_AV);
	modify(qp, IBV_QPS_RTS,
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC);
	s->qp = qp;
	for (int i = 0; i < ROUNDS; i++) {
		round_of(s, ex, ah, i);
		script_complete(s, false, 0, as[i % 6], (struct ibv_wc){ .opcode = IBV_WC_SEND });
	}
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, s->mr->lkey, SCRIPT_BUFFER, 100);
	go(mlx5dv_qp_ex_from_ibv_qp_ex(ex), ah, false);
	ibv_wr_abort(ex);
	script_complete(s, false, 0, IBV_WR_SEND,
			(struct ibv_wc){ .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81 });
	step("destroy: %d", ibv_destroy_qp(qp));
}

static void refused(struct script *s)
{
	struct mlx5dv_qp_init_attr dv = of_type(MLX5DV_DCTYPE_DCI);
	struct ibv_qp_init_attr_ex attr = { .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .cap = { .max_send_wr = 4, .max_send_sge = 1 } };

	dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	dv.dc_init_attr.dci_streams.log_num_concurent = 9;
	create(s, "more streams than there are", MLX5DV_DCTYPE_DCI, &attr, &dv);
	dv = of_type(7);
	create(s, "neither half", 7, &attr, &dv);
	dv = of_type(MLX5DV_DCTYPE_DCT);
	dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	dv.send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE;
	attr.srq = s->srq;
	create(s, "a target that sends", MLX5DV_DCTYPE_DCT, &attr, &dv);
	dv = of_type(MLX5DV_DCTYPE_DCT);
	dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	dv.create_flags = MLX5DV_QP_CREATE_TUNNEL_OFFLOADS;
	create(s, "a target with tunnels", MLX5DV_DCTYPE_DCT, &attr, &dv);
	dv = (struct mlx5dv_qp_init_attr){ 0 };
	create(s, "no half at all", 0, &attr, &dv);
}

int main(void)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_ah_attr address = { .port_num = 1,
				       .is_global = 1,
				       .sl = 3,
				       .grh = { .sgid_index = 1,
						.flow_label = 0x12345,
						.traffic_class = 0x20,
						.hop_limit = 64,
						.dgid.raw = { 0xfe, 0x80, [15] = 9 } } };
	struct script s = { 0 };
	struct ibv_ah *ah;

	script_open(&s);
	s.srq = ibv_create_srq(s.pd, &srq);
	must(s.srq, "srq");
	ah = ibv_create_ah(s.pd, &address);
	must(ah, "ah");
	target(&s);
	initiator(&s, ah);
	refused(&s);
	must(!ibv_destroy_ah(ah) && !ibv_destroy_srq(s.srq), "destroy");
	s.srq = NULL;
	script_close(&s);
	return 0;
}
