/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of an existing queue pair that the firmware changes: port, source port, scheduling
 * element and streams. */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/done.h"

enum {
	QUERY_SIZE = 0x110,
	OUT_SIZE = 0x10,
	RAW_SIZE = 0x110,
	EXTENDED = 1 << 31, /* bit: the context has an extension */
	OPT_LAG_PORT = 1 << 15,
	/* The second mask, and its bits in the lower word. */
	MASK_2 = 0x10c,
	OPT_STREAM = 1 << 0,
	OPT_SCHED = 1 << 1,
	OPT_UDP_SPORT = 1 << 2,
	EXTENSION = 0x110,
};

static int refuse(struct ibv_qp *qp, const char *function, const char *why, int r)
{
	verbs_err(qp->context, "qp 0x%x: %s: %s", qp->qp_num, function, why);
	return r;
}

static bool general_cap(struct ibv_qp *qp, unsigned int offset, unsigned int bit)
{
	return mlx5_fw_cap(to_mctx(qp->context), MLX5_FW_CAPS_GENERAL, offset) >> bit & 1;
}

MLX5DV_EXPORT int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t udp_sport)
{
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};

	if (!mlx5dv_context(qp->context, __func__))
		return EOPNOTSUPP;
	if ((qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_UC) || qp->state != IBV_QPS_RTS ||
	    !general_cap(qp, 0x38, 14))
		return mlx5dv_errno(refuse(
			qp, __func__, "RC and UC in RTS can, where the firmware can", -EOPNOTSUPP));
	fw_set(in, MASK_2, OPT_UDP_SPORT);
	fw_set(in, 0x50, udp_sport);
	return mlx5dv_errno(mlx5_fw_qp_modify(qp, __func__, MLX5_FW_RTS2RTS_QP, in));
}

MLX5DV_EXPORT int mlx5dv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream_id)
{
	struct mlx5_context *ctx = mlx5dv_context(qp->context, __func__);
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};

	if (!ctx)
		return EOPNOTSUPP;
	if (!ctx->caps.dci_streams_caps.max_log_num_errored || !general_cap(qp, 0x34, 29) ||
	    qp->state != IBV_QPS_RTS)
		return mlx5dv_errno(refuse(qp, __func__,
					   "initiators in RTS have streams, of adapters that do",
					   -EOPNOTSUPP));
	if (qp->qp_type != IBV_QPT_DRIVER || to_mqp(qp)->dct)
		return mlx5dv_errno(refuse(qp, __func__, "it is no DC initiator", -EINVAL));
	fw_set(in, 8, (uint32_t)EXTENDED);
	fw_set(in, MASK_2, OPT_STREAM);
	fw_set(in, EXTENSION, stream_id);
	return mlx5dv_errno(mlx5_fw_qp_modify(qp, __func__, MLX5_FW_RTS2RTS_QP, in));
}

/* ---- scheduling elements */

static int raw_sched(struct ibv_qp *qp, const char *function, uint32_t leaf)
{
	uint32_t in[RAW_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};

	if (qp->state != IBV_QPS_RTS)
		return refuse(qp, function, "a raw packet queue pair has to be in RTS",
			      -EOPNOTSUPP);
	fw_set(in, 0, MLX5_FW_MODIFY_SQ << 16);
	fw_set(in, 8, 1u << 28 | to_mqp(qp)->sqn);
	fw_set_64(in, 0x10, 1 << 2);
	fw_set(in, 0x20, 1 << 20);
	fw_set(in, 0x40, leaf & 0xffff);
	return mlx5_fw_qp(qp, function, true, in, sizeof(in), out, sizeof(out));
}

MLX5DV_EXPORT int mlx5dv_modify_qp_sched_elem(struct ibv_qp *qp,
					      const struct mlx5dv_sched_leaf *requestor,
					      const struct mlx5dv_sched_leaf *responder)
{
	struct mlx5_context *ctx = mlx5dv_context(qp->context, __func__);
	bool rc = qp->qp_type == IBV_QPT_RC, raw = qp->qp_type == IBV_QPT_RAW_PACKET;
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};

	if (!ctx)
		return EOPNOTSUPP;
	if (responder && !rc)
		return mlx5dv_errno(
			refuse(qp, __func__, "only RC answers by a scheduling element", -EINVAL));
	if (raw)
		return mlx5dv_errno(raw_sched(qp, __func__, mlx5_sched_leaf_id(requestor)));
	if ((!rc && qp->qp_type != IBV_QPT_UC && qp->qp_type != IBV_QPT_UD) ||
	    (qp->state != IBV_QPS_INIT && qp->state != IBV_QPS_RTS) || !general_cap(qp, 0x34, 29) ||
	    !(mlx5_fw_cap(ctx, MLX5_FW_CAPS_QOS, 0x14) >> 30 & 1))
		return mlx5dv_errno(refuse(
			qp, __func__, "RC, UC and UD in INIT or RTS can, where the firmware can",
			-EOPNOTSUPP));
	fw_set(in, 8, (uint32_t)EXTENDED);
	fw_set(in, MASK_2, OPT_SCHED);
	fw_set(in, EXTENSION + 4, mlx5_sched_leaf_id(requestor));
	fw_set(in, EXTENSION + 8, mlx5_sched_leaf_id(responder));
	return mlx5dv_errno(mlx5_fw_qp_modify(
		qp, __func__, qp->state == IBV_QPS_INIT ? MLX5_FW_INIT2INIT_QP : MLX5_FW_RTS2RTS_QP,
		in));
}

/* ---- bonded ports */

static bool has_lag_port(const struct ibv_qp *qp)
{
	switch (qp->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_RAW_PACKET:
	case IBV_QPT_XRC_SEND:
		return true;
	case IBV_QPT_DRIVER:
		return !to_mqp((struct ibv_qp *)qp)->dct;
	default:
		return false;
	}
}

/* @out: answer with the mapping of ports */
static int lag_query(struct ibv_qp *qp, const char *function, uint32_t *out)
{
	uint32_t in[FW_HEAD / 4] = {};
	struct mlx5_context *ctx = to_mctx(qp->context);
	int r;

	if (!has_lag_port(qp) || (mlx5_fw_cap(ctx, MLX5_FW_CAPS_GENERAL, 0x5c) & 0xf) < 2)
		return refuse(qp, function, "ports are not joined for queue pairs of this type",
			      -EOPNOTSUPP);
	fw_set(in, 0, MLX5_FW_QUERY_LAG << 16);
	r = mlx5_fw_general(qp->context, function, in, sizeof(in), out, FW_HEAD);
	if (!r && !(fw_get(out, 8) & 7) && !general_cap(qp, 0x5c, 7))
		r = refuse(qp, function, "ports are not joined, and none can be chosen",
			   -EOPNOTSUPP);
	return r;
}

static int port_query(struct ibv_qp *qp, const char *function, uint8_t *ret_port)
{
	bool raw = qp->qp_type == IBV_QPT_RAW_PACKET;
	uint32_t in[FW_HEAD / 4] = {}, out[QUERY_SIZE / 4] = {};
	int r;

	fw_set(in, 0, (raw ? MLX5_FW_QUERY_TIS : MLX5_FW_QUERY_QP) << 16);
	fw_set(in, 8, raw ? to_mqp(qp)->tisn : qp->qp_num);
	r = mlx5_fw_qp(qp, function, false, in, sizeof(in), out, sizeof(out));
	if (!r)
		*ret_port = fw_get(out, raw ? 0x10 : 0x18) >> 24 & 0xf;
	return r;
}

static int query_lag_port(struct ibv_qp *qp, const char *function, uint8_t *ret_port,
			  uint8_t *ret_active)
{
	uint32_t lag[FW_HEAD / 4] = {};
	int r = lag_query(qp, function, lag);

	if (!r)
		r = port_query(qp, function, ret_port);
	if (r < 0)
		return r;
	switch (*ret_port) {
	case 1:
		*ret_active = fw_get(lag, 0xc) & 0xf;
		return 0;
	case 2:
		*ret_active = fw_get(lag, 0xc) >> 8 & 0xf;
		return 0;
	default:
		return refuse(qp, function, "it has no port of two", -EOPNOTSUPP);
	}
}

MLX5DV_EXPORT int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port_num,
					   uint8_t *active_port_num)
{
	if (!mlx5dv_context(qp->context, __func__))
		return EOPNOTSUPP;
	return mlx5dv_errno(query_lag_port(qp, __func__, port_num, active_port_num));
}

static int raw_lag_port(struct ibv_qp *qp, const char *function, uint8_t port)
{
	uint32_t in[RAW_SIZE / 4] = {}, out[OUT_SIZE / 4] = {};

	fw_set(in, 0, MLX5_FW_MODIFY_TIS << 16);
	fw_set(in, 8, to_mqp(qp)->tisn);
	fw_set(in, 0x14, 1 << 2);
	fw_set(in, 0x20, (uint32_t)(port & 0xf) << 24);
	return mlx5_fw_qp(qp, function, true, in, sizeof(in), out, sizeof(out));
}

MLX5DV_EXPORT int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port_num)
{
	uint32_t in[MLX5_FW_QP_MODIFY_SIZE / 4] = {};
	uint8_t port, active;
	int r;

	if (!mlx5dv_context(qp->context, __func__))
		return EOPNOTSUPP;
	r = query_lag_port(qp, __func__, &port, &active);
	if (r < 0)
		return mlx5dv_errno(r);
	if (qp->qp_type == IBV_QPT_RAW_PACKET)
		return mlx5dv_errno(raw_lag_port(qp, __func__, port_num));
	if (qp->qp_type == IBV_QPT_XRC_SEND || qp->state != IBV_QPS_RTS ||
	    !general_cap(qp, 0x38, 13))
		return mlx5dv_errno(refuse(qp, __func__,
					   "RC, UC, UD and DC in RTS can, where the firmware can",
					   -EOPNOTSUPP));
	fw_set(in, 0x10, OPT_LAG_PORT);
	fw_set(in, 0x18, (uint32_t)(port_num & 0xf) << 24);
	return mlx5dv_errno(mlx5_fw_qp_modify(qp, __func__, MLX5_FW_RTS2RTS_QP, in));
}

/* ---- cancelled requests */

enum {
	STATE_DRAINED = 5,
};

/* Return the opcode of the completion of a cancelled request; -1: the block holds no request. */
static int cancelled_opcode(const struct mlx5_qp *qp, uint32_t block, uint32_t head)
{
	uint32_t known = qp->sq.slots[block].opcode;
	int said = mlx5_wc_opcode(head & 0xff);

	if (said >= 0 && known != MLX5DV_WC_RAW_WQE)
		return said;
	return known ? (int)known : -1;
}

/* Turn all requests with @wr_id that the adapter has not executed into no-ops. @next: the request
 * that the adapter executes next. Return: the number of these requests. */
static int cancel(struct mlx5_qp *qp, uint16_t next, uint64_t wr_id)
{
	struct mlx5_sq *sq = &qp->sq;
	uint32_t left = (uint16_t)(sq->cur_post - next);
	int count = 0;

	if (left > sq->mask + 1)
		return -EINVAL;
	for (uint32_t at = sq->cur_post - left; left;) {
		uint32_t block = at & sq->mask;
		struct mlx5_wqe_ctrl_seg *ctrl =
			(void *)(sq->ring + (size_t)block * MLX5_SEND_WQE_BB);
		uint32_t head = be32toh(ctrl->opmod_idx_opcode);
		uint32_t blocks = ((be32toh(ctrl->qpn_ds) & 0x3f) + 3) / 4;

		if (sq->slots[block].wr_id == wr_id) {
			int opcode = cancelled_opcode(qp, block, head);

			if (opcode < 0)
				return -EINVAL;
			sq->slots[block].opcode = opcode;
			ctrl->opmod_idx_opcode = htobe32((head & 0x00ffff00) | MLX5_OPCODE_NOP);
			count++;
		}
		if (!blocks || blocks > left)
			break;
		at += blocks;
		left -= blocks;
	}
	return count;
}

MLX5DV_EXPORT int mlx5dv_qp_cancel_posted_send_wrs(struct mlx5dv_qp_ex *mqp, uint64_t wr_id)
{
	struct mlx5_qp *qp = (struct mlx5_qp *)((char *)mqp - offsetof(struct mlx5_qp, dv));
	uint32_t in[FW_HEAD / 4] = {}, out[QUERY_SIZE / 4] = {};
	struct ibv_qp *ibqp = &qp->vqp.qp;
	int r;

	if (!mlx5dv_context(ibqp->context, __func__))
		return -EOPNOTSUPP;
	fw_set(in, 0, MLX5_FW_QUERY_QP << 16);
	fw_set(in, 8, ibqp->qp_num);
	spinlock_lock(&qp->sq.lock);
	r = mlx5_fw_qp(ibqp, __func__, false, in, sizeof(in), out, sizeof(out));
	if (!r && fw_get(out, 0x18) >> 28 != STATE_DRAINED)
		r = -EINVAL;
	if (!r)
		r = cancel(qp, fw_get(out, 0xcc) >> 16, wr_id);
	spinlock_unlock(&qp->sq.lock);
	if (r < 0)
		refuse(ibqp, __func__, "its send queue is not drained, or has a request of no kind",
		       r);
	return r;
}
