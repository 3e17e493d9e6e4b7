/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll, and the fields are
 * read from the entry itself.
 */
#include "providers/kit/cq_ex.h"
#include "providers/mlx5/clock.h"
#include "providers/mlx5/cq.h"
#include "providers/mlx5/tag.h"

const uint64_t mlx5_cq_ex_wc_flags =
	IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
	IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
	IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN |
	IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO |
	IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

static inline const struct mlx5_cqe64 *ex_cqe(struct ibv_cq_ex *cq_ex)
{
	return ex_to_mcq(cq_ex)->cqe;
}

static inline bool ex_done(struct mlx_cq *cq, const struct mlx5_cqe64 *cqe, unsigned int last,
			   struct mlx5_done *done)
{
	unsigned int kind = last & MLX5_KIND_MASK;

	if ((kind == MLX5_KIND_SENT || likely(mlx5_kind_is_received(kind))) &&
	    likely(mlx5_done_read(cq, cqe, kind == MLX5_KIND_SENT, done)))
		return true;
	return mlx5_done_read_rare(cq, cqe, last, done);
}

/* Take the next entry. ENOENT: there is no entry; EIO: it is invalid. */
static inline int ex_take(struct mlx_cq *cq)
{
	const struct mlx5_cqe64 *cqe;
	struct mlx5_done done;
	int op_own;

again:
	cqe = mlx_cqe_at(cq, cq->consumer);
	op_own = mlx_cqe_valid(cq, &mlx5_cqe_format, cqe, cq->consumer);
	if (op_own == MLX_CQE_NONE)
		return ENOENT;
	/* The rest of the entry was written before its last byte. */
	barrier_from_device();
	cq->consumer++;
	if (unlikely(!ex_done(cq, cqe, op_own, &done))) {
		if (mlx5_cqe_swallow(cq, cqe, op_own)) {
			/* Publish each such entry, because a ring full of them would block the
			 * adapter. */
			mlx_ex_publish(cq);
			goto again;
		}
		mlx5_cqe_say_corrupt(cq, cqe);
		return EIO;
	}
	cq->cqe = cqe;
	cq->cqe_qp = done.qp;
	cq->cqe_slot = done.sent ? done.slot : 0;
	cq->vcq.cq_ex.wr_id = done.wr_id;
	cq->vcq.cq_ex.status = done.status;
	return 0;
}

static int ex_start_poll(struct ibv_cq_ex *cq_ex, struct ibv_poll_cq_attr *attr)
{
	return mlx_ex_start_poll(cq_ex, attr, ex_take);
}

static int ex_next_poll(struct ibv_cq_ex *cq_ex)
{
	return mlx_ex_next_poll(cq_ex, ex_take);
}

static enum ibv_wc_opcode ex_read_opcode(struct ibv_cq_ex *cq_ex)
{
	struct mlx_cq *cq = ex_to_mcq(cq_ex);
	const struct mlx5_done done = { .qp = cq->cqe_qp, .slot = cq->cqe_slot };
	const struct mlx5_cqe64 *cqe = cq->cqe;
	int opcode;

	switch (cqe->op_own >> 4) {
	case MLX5_CQE_REQ:
		opcode = mlx5_sent_opcode(&done, be32toh(cqe->sop_drop_qpn));
		return opcode < 0 ? IBV_WC_SEND : (enum ibv_wc_opcode)opcode;
	case MLX5_CQE_RESP_WR_IMM:
		return IBV_WC_RECV_RDMA_WITH_IMM;
	case MLX5_CQE_REQ_ERR:
		return IBV_WC_SEND;
	case MLX5_CQE_RESP_ERR:
		return IBV_WC_RECV;
	default:
		return unlikely(mlx5_is_tagged(done.qp, cqe)) ? mlx5_tag_opcode(cqe) : IBV_WC_RECV;
	}
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return ((const struct mlx5_err_cqe *)ex_cqe(cq_ex))->vendor_err_synd;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	const struct mlx5_cqe64 *cqe = ex_cqe(cq_ex);
	const struct mlx5_qp *qp = ex_to_mcq(cq_ex)->cqe_qp;
	unsigned int flags = be32toh(cqe->flags_rqpn) >> 28 & 3 ? IBV_WC_GRH : 0;

	if (unlikely(qp->extras & MLX5_EXTRA_CSUM))
		flags |= mlx5_cqe_csum(cqe);
	if (unlikely(mlx5_is_tagged(qp, cqe)))
		flags |= mlx5_tag_wc_flags(qp, cqe);

	switch (cqe->op_own >> 4) {
	case MLX5_CQE_RESP_WR_IMM:
	case MLX5_CQE_RESP_SEND_IMM:
		return flags | IBV_WC_WITH_IMM;
	case MLX5_CQE_RESP_SEND_INV:
		return flags | IBV_WC_WITH_INV;
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_NO_PACKET:
		return flags;
	default:
		return 0;
	}
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->byte_cnt);
}

/* Return the immediate data, or an invalidated rkey in the byte order of the host. */
static __be32 ex_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	const struct mlx5_cqe64 *cqe = ex_cqe(cq_ex);

	if (cqe->op_own >> 4 == MLX5_CQE_RESP_SEND_INV)
		return be32toh(cqe->imm_inval_pkey);
	return cqe->imm_inval_pkey;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->flags_rqpn) & 0xffffff;
}

static uint32_t ex_read_slid(struct ibv_cq_ex *cq_ex)
{
	return be16toh(ex_cqe(cq_ex)->slid);
}

static uint8_t ex_read_sl(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->flags_rqpn) >> 24 & 15;
}

static uint8_t ex_read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	return ex_cqe(cq_ex)->ml_path & 0x7f;
}

static uint64_t ex_read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	return be64toh(ex_cqe(cq_ex)->timestamp);
}

/* Return the wall-clock time if the clock of the adapter counts nanoseconds since 1970. */
static uint64_t ex_read_real_time_ns(struct ibv_cq_ex *cq_ex)
{
	uint64_t ts = be64toh(ex_cqe(cq_ex)->timestamp);

	return (ts >> 32) * 1000000000 + (uint32_t)ts;
}

/* Return the wall-clock time. 0: the kernel's update of the page does not end. */
static uint64_t ex_read_wallclock_ns(struct ibv_cq_ex *cq_ex)
{
	struct mlx_cq *cq = ex_to_mcq(cq_ex);
	struct mlx5dv_clock_info info;

	if (mlx5_clock_info_read(to_mctx(cq->vcq.cq.context), &info) < 0)
		return 0;
	return mlx5dv_ts_to_ns(&info, be64toh(ex_cqe(cq_ex)->timestamp));
}

static uint16_t ex_read_cvlan(struct ibv_cq_ex *cq_ex)
{
	return be16toh(ex_cqe(cq_ex)->vlan_info);
}

static uint32_t ex_read_flow_tag(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->sop_drop_qpn) & 0xffffff;
}

/* A matching message leaves its header in the entry. */
static void ex_read_tm_info(struct ibv_cq_ex *cq_ex, struct ibv_wc_tm_info *tm_info)
{
	const struct mlx5_cqe64 *cqe = ex_cqe(cq_ex);

	tm_info->tag = be64toh(cqe->tmh.tag);
	tm_info->priv = be32toh(cqe->tmh.app_ctx);
}

static const struct ibv_cq_ex ex_slots = {
	.start_poll = ex_start_poll,
	.next_poll = ex_next_poll,
	.end_poll = mlx_ex_end_poll,
	.read_opcode = ex_read_opcode,
	.read_vendor_err = ex_read_vendor_err,
	.read_wc_flags = ex_read_wc_flags,
	.read_byte_len = ex_read_byte_len,
	.read_imm_data = ex_read_imm_data,
	.read_qp_num = mlx_ex_read_qp_num,
	.read_src_qp = ex_read_src_qp,
	.read_slid = ex_read_slid,
	.read_sl = ex_read_sl,
	.read_dlid_path_bits = ex_read_dlid_path_bits,
	.read_completion_ts = ex_read_completion_ts,
	.read_completion_wallclock_ns = ex_read_wallclock_ns,
	.read_cvlan = ex_read_cvlan,
	.read_flow_tag = ex_read_flow_tag,
	.read_tm_info = ex_read_tm_info,
};

void mlx5_cq_ex_set_slots(struct mlx_cq *cq, uint64_t wc_flags)
{
	kit_cq_ex_set_slots(&cq->vcq.cq_ex, &ex_slots, wc_flags);
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK &&
	    mlx5_cq_is_real_time(cq, wc_flags))
		cq->vcq.cq_ex.read_completion_wallclock_ns = ex_read_real_time_ns;
}
