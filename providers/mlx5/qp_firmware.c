/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of a queue pair that the firmware changes and reports, without the kernel's driver. */
#include "providers/mlx5/firmware/firmware.h"
#include "providers/mlx5/qp.h"

enum {
	QUERY_SIZE = 0x110,
	OUT_SIZE = 0x10,
	EXTENDED = 1 << 31, /* bit: the context has an extension */
	OPT_DRAIN_SIG_ERRORS = 1 << 11,
	DRAIN_SIG_ERRORS = 1 << 26,
	/* The second mask, and its bit in the lower word. */
	MASK_2 = 0x10c,
	OPT_MMO = 1 << 3,
	EXTENSION = 0x110,
	MMO_ON = 1 << 29,
	QP_IN_ORDER = 1 << 5,
	DCT_IN_ORDER = 1 << 2,
};

static bool general_cap(struct ibv_qp *qp, unsigned int offset, unsigned int bit)
{
	return mlx5_fw_cap(to_mctx(qp->context), MLX5_FW_CAPS_GENERAL, offset) >> bit & 1;
}

int mlx5_fw_qp_modify(struct ibv_qp *qp, const char *function, enum mlx5_fw_opcode opcode, void *in)
{
	uint32_t out[OUT_SIZE / 4] = {};

	fw_set(in, 0, opcode << 16);
	fw_set(in, 8, qp->qp_num);
	return mlx5_fw_qp(qp, function, true, in, MLX5_FW_QP_MODIFY_SIZE, out, sizeof(out));
}

int mlx5_qp_enable_copies(struct ibv_qp *qp)
{
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};

	if (!general_cap(qp, 0xf8, 23))
		return 0;
	fw_set(in, 8, (uint32_t)EXTENDED);
	fw_set(in, MASK_2, OPT_MMO);
	fw_set(in, EXTENSION, MMO_ON);
	return mlx5_fw_qp_modify(qp, "INIT2INIT", MLX5_FW_INIT2INIT_QP, in);
}

/* Stop the queue at a signature error until the program has handled it. */
int mlx5_qp_stop_at_sig_errors(struct ibv_qp *qp)
{
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};

	fw_set(in, 0x10, OPT_DRAIN_SIG_ERRORS);
	fw_set(in, 0x1c, DRAIN_SIG_ERRORS);
	return mlx5_fw_qp_modify(qp, "INIT2INIT", MLX5_FW_INIT2INIT_QP, in);
}

int mlx5_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode unused)
{
	bool target = to_mqp(&vqp->qp)->dct;
	uint32_t in[FW_HEAD / 4] = {}, out[QUERY_SIZE / 4] = {};
	struct ibv_qp *qp = &vqp->qp;

	if (!general_cap(qp, 0x1c, 29) || (!target && qp->state != IBV_QPS_RTS))
		return 0;
	fw_set(in, 0, (target ? MLX5_FW_QUERY_DCT : MLX5_FW_QUERY_QP) << 16);
	fw_set(in, 8, qp->qp_num);
	if (mlx5_fw_qp(qp, "ibv_query_qp_data_in_order", false, in, sizeof(in), out, sizeof(out)))
		return 0;
	return (target ? fw_get(out, 0x10) & DCT_IN_ORDER : fw_get(out, 0x20) & QP_IN_ORDER)
		       ? IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG
		       : 0;
}
