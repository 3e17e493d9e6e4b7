/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check the answers that programs get: numbers of the firmware, create flags, granted attributes,
 * checksums, and options for connections of DC targets. */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <stdbool.h>

static struct script s;

static struct ibv_qp *create(enum ibv_qp_type type, uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s.recv_cq,
		.recv_cq = s.recv_cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = s.pd,
		.create_flags = flags,
	};

	return ibv_create_qp_ex(s.context, &attr);
}

static void flags(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint32_t flag;
	} all[] = {
		{ IBV_QPT_UD, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
		{ IBV_QPT_RAW_PACKET, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB },
		{ IBV_QPT_RC, IBV_QP_CREATE_PCI_WRITE_END_PADDING },
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(*all); i++) {
		s.qp = create(all[i].type, all[i].flag);
		must(s.qp, "a create flag that the kernel takes");
		script_qp_close(&s);
	}
}

static void handles(void)
{
	struct mlx5dv_qp out = { .comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET |
					      MLX5DV_QP_MASK_RAW_QP_HANDLES |
					      MLX5DV_QP_MASK_RAW_QP_TIR_ADDR };
	struct mlx5dv_obj obj = { .qp = { .out = &out } };

	s.qp = create(IBV_QPT_RAW_PACKET, 0);
	must(s.qp, "raw packets");
	obj.qp.in = s.qp;
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), "init_obj");
	must(out.comp_mask == 7, "each group is answered");
	must(out.tirn == 0x71 && out.tisn == 0x72 && out.rqn == 0x73 && out.sqn == 0x74 &&
		     out.tir_icm_addr == 0x7500000000,
	     "numbers of the firmware");
	script_qp_close(&s);
}

static void work_queue(void)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 1, .pd = s.pd, .cq = s.recv_cq
	};
	struct ibv_wq *wq = ibv_create_wq(s.context, &attr);

	must(wq, "wq");
	must(attr.max_wr == 5 && attr.max_sge == 1, "attributes stay as they were asked for");
	must(!ibv_destroy_wq(wq), "destroy");
}

/* Send a packet with correct checksums, and one without. */
static void checksums(void)
{
	struct mlx5_cqe64 cqe = { .byte_cnt = htobe32(60),
				  .hds_ip_ext = MLX5_CQE_L3_OK | MLX5_CQE_L4_OK,
				  .l4_hdr_type_etc = MLX5_CQE_L3_HDR_TYPE_IPV4 << 2,
				  .op_own = MLX5_CQE_RESP_SEND << 4 };
	struct ibv_sge sge = script_sge(&s, 0, 2048);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_wc wc;

	s.qp = create(IBV_QPT_RAW_PACKET, 0);
	must(s.qp && !ibv_modify_qp(s.qp, &init, IBV_QP_STATE | IBV_QP_PORT), "raw packets");
	for (int i = 0; i < 2; i++) {
		must(!ibv_post_recv(s.qp, &wr, &bad), "receive");
		cqe.wqe_counter = htobe16(i);
		must(!lab_entry(s.recv_cq->handle, &cqe, sizeof(cqe)), "entry");
		must(ibv_poll_cq(s.recv_cq, 1, &wc) == 1, "poll");
		must(!!(wc.wc_flags & IBV_WC_IP_CSUM_OK) == !i, "checksum");
		cqe.hds_ip_ext = MLX5_CQE_L3_OK;
	}
	script_qp_close(&s);
}

static uint32_t granted(struct ibv_qp *qp)
{
	struct ibv_ece ece = { .options = ~0u };

	must(!ibv_query_ece(qp, &ece), "query ece");
	return ece.options;
}

/* Move the target to INIT and RTR. Return the options that it has afterwards. */
static uint32_t target_start(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 12,
		.ah_attr = { .port_num = 1, .is_global = 1, .grh = { .sgid_index = 1 } },
	};

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "a target in INIT");
	must(!granted(qp), "INIT grants no options");
	attr.qp_state = IBV_QPS_RTR;
	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV),
	     "a target in RTR");
	return granted(qp);
}

/* A DC target has options if the program requested options, and the transition to RTR grants them.
 */
static void target_options(bool request)
{
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					  .dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCT,
							    .dct_access_key = 1 } };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = s.pd,
					    .send_cq = s.recv_cq,
					    .recv_cq = s.recv_cq };
	struct ibv_ece ece = { .vendor_id = 0x15b3, .options = 0x10000001 };
	struct ibv_qp *qp;

	attr.srq = ibv_create_srq(s.pd, &srq);
	must(attr.srq, "srq");
	qp = mlx5dv_create_qp(s.context, &attr, &dv);
	must(qp, "target");
	if (request)
		must(!ibv_set_ece(qp, &ece), "set ece");
	must(target_start(qp) == (request ? LAB_ECE : 0), "options of the target");
	must(!ibv_destroy_qp(qp) && !ibv_destroy_srq(attr.srq), "destroy");
}

int main(void)
{
	script_open(&s);
	target_options(true);
	target_options(false);
	flags();
	handles();
	work_queue();
	checksums();
	script_close(&s);
	return 0;
}
