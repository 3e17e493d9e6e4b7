/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: mlx5_out_of_order [none]
 *
 * Queue pairs whose data may arrive out of order, and the query of the order of arrival. none: the
 * device has no such queue pairs.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <infiniband/mlx5dv.h>

enum {
	ASKED = 5,
	GRANTED = 8,
};

static struct script s;

static struct ibv_qp *create(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = { 4, ASKED, 1, 1, 0 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = s.pd,
	};
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
					  .create_flags = MLX5DV_QP_CREATE_OOO_DP };
	struct ibv_qp *qp = mlx5dv_create_qp(s.context, &attr, &dv);

	must(!qp || attr.cap.max_recv_wr == GRANTED, "receives that are granted");
	return qp;
}

static struct mlx5dv_context query(void)
{
	struct mlx5dv_context caps = { .comp_mask = MLX5DV_CONTEXT_MASK_DC_ODP_CAPS |
						    MLX5DV_CONTEXT_MASK_OOO_RECV_WRS };

	must(!mlx5dv_query_device(s.context, &caps), "mlx5dv_query_device");
	return caps;
}

static int in_order(void)
{
	return ibv_query_qp_data_in_order(s.qp, IBV_WR_SEND, 0);
}

static void none(void)
{
	struct mlx5dv_context caps = query();

	must(caps.comp_mask == MLX5DV_CONTEXT_MASK_DC_ODP_CAPS && !caps.dc_odp_caps, "nothing");
	errno = 0;
	must(!create(IBV_QPT_RC) && errno == EOPNOTSUPP, "no such queue pair");
}

static void capabilities(void)
{
	struct mlx5dv_context caps = query();
	const struct mlx5dv_ooo_recv_wrs_caps *ooo = &caps.ooo_recv_wrs_caps;

	must(caps.comp_mask == (MLX5DV_CONTEXT_MASK_DC_ODP_CAPS | MLX5DV_CONTEXT_MASK_OOO_RECV_WRS),
	     "both groups");
	must(caps.dc_odp_caps == (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE), "DC on demand");
	must(ooo->max_rc == 16384 && ooo->max_xrc == 32768 && !ooo->max_dct && !ooo->max_ud &&
		     !ooo->max_uc,
	     "receives of each type");
}

static void connection(void)
{
	s.qp = create(IBV_QPT_RC);
	must(s.qp, "qp");
	script_modify(&s, IBV_QPS_INIT);
	for (int i = 0; i < GRANTED; i++)
		must(!script_recv(&s, 1, 64), "receive");
	must(script_recv(&s, 1, 64) == ENOMEM, "the queue is full");
	script_modify(&s, IBV_QPS_RTR);
	must(!in_order(), "the firmware answers in RTS only");
	script_modify(&s, IBV_QPS_RTS);
	must(in_order() == 1, "data in order");
	/* Around the ring. */
	for (int i = 0; i < 3 * GRANTED; i++) {
		script_complete(&s, true, i, IBV_WR_SEND,
				(struct ibv_wc){ .opcode = IBV_WC_RECV, .byte_len = 5 });
		must(!script_recv(&s, 1, 64), "receive");
	}
	script_qp_close(&s);
}

int main(int argc, char **argv)
{
	(void)argv;
	script_open(&s);
	if (argc > 1) {
		none();
	} else {
		capabilities();
		errno = 0;
		must(!create(IBV_QPT_UD) && errno == EOPNOTSUPP, "UD has it not");
		connection();
	}
	script_close(&s);
	return 0;
}
