/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended polling: the lock is held from a successful start_poll to end_poll, and the fields are
 * read from the entry itself.
 */
#include "providers/kit/cq_ex.h"
#include "providers/mlx4/cqe.h"

const uint64_t mlx4_cq_ex_wc_flags =
	IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM |
	IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL |
	IBV_WC_EX_WITH_DLID_PATH_BITS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;

static inline const struct mlx4_cqe *ex_cqe(struct ibv_cq_ex *cq_ex)
{
	return ex_to_mcq(cq_ex)->cqe;
}

static inline unsigned int ex_opcode(struct ibv_cq_ex *cq_ex)
{
	return ex_cqe(cq_ex)->owner_sr_opcode & MLX4_CQE_OPCODE_MASK;
}

static inline bool ex_is_sent(struct ibv_cq_ex *cq_ex)
{
	return ex_cqe(cq_ex)->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK;
}

/* Take the next entry. ENOENT: there is no entry; EIO: it is invalid. */
static inline int ex_take(struct mlx_cq *cq)
{
	const struct mlx4_cqe *cqe = mlx_cqe_at(cq, cq->consumer);
	int last = mlx_cqe_valid(cq, &mlx4_cqe_format, cqe, cq->consumer);
	struct mlx4_qp *qp;

	if (last == MLX_CQE_NONE)
		return ENOENT;
	/* The rest of the entry was written before its last byte. */
	barrier_from_device();
	cq->consumer++;
	qp = mlx4_cqe_qp(cq, cqe, last);
	if (unlikely(!qp) || unlikely(!mlx4_done(qp, cqe, last, &cq->vcq.cq_ex.wr_id))) {
		mlx4_cqe_say_corrupt(cq, cqe);
		return EIO;
	}
	cq->cqe = cqe;
	cq->cqe_qp = qp;
	cq->vcq.cq_ex.status = unlikely(mlx4_cqe_is_error(last))
				       ? mlx_status(((const struct mlx4_err_cqe *)cqe)->syndrome)
				       : IBV_WC_SUCCESS;
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
	unsigned int opcode = ex_opcode(cq_ex);

	if (ex_is_sent(cq_ex))
		return mlx4_sent_opcode(opcode);
	return opcode == MLX4_RECV_OPCODE_RDMA_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

static uint32_t ex_read_vendor_err(struct ibv_cq_ex *cq_ex)
{
	return ((const struct mlx4_err_cqe *)ex_cqe(cq_ex))->vendor_err;
}

static unsigned int ex_read_wc_flags(struct ibv_cq_ex *cq_ex)
{
	unsigned int opcode = ex_opcode(cq_ex);

	if (!ex_is_sent(cq_ex))
		return mlx4_cqe_is_error(opcode)
			       ? 0
			       : mlx4_cqe_recv_flags(ex_to_mcq(cq_ex)->cqe_qp, ex_cqe(cq_ex),
						     be32toh(ex_cqe(cq_ex)->g_mlpath_rqpn), opcode);
	return opcode == MLX4_OPCODE_RDMA_WRITE_IMM || opcode == MLX4_OPCODE_SEND_IMM
		       ? IBV_WC_WITH_IMM
		       : 0;
}

static uint32_t ex_read_byte_len(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->byte_cnt);
}

/* Return the immediate data, or an invalidated rkey in the byte order of the host. */
static __be32 ex_read_imm_data(struct ibv_cq_ex *cq_ex)
{
	const struct mlx4_cqe *cqe = ex_cqe(cq_ex);

	if (!ex_is_sent(cq_ex) && ex_opcode(cq_ex) == MLX4_RECV_OPCODE_SEND_INVAL)
		return be32toh(cqe->immed_rss_invalid);
	return cqe->immed_rss_invalid;
}

static uint32_t ex_read_src_qp(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->g_mlpath_rqpn) & 0xffffff;
}

static uint32_t ex_read_slid(struct ibv_cq_ex *cq_ex)
{
	return be16toh(ex_cqe(cq_ex)->rlid);
}

static uint8_t ex_read_sl(struct ibv_cq_ex *cq_ex)
{
	return mlx4_cqe_sl(ex_to_mcq(cq_ex)->cqe_qp, ex_cqe(cq_ex));
}

static uint8_t ex_read_dlid_path_bits(struct ibv_cq_ex *cq_ex)
{
	return be32toh(ex_cqe(cq_ex)->g_mlpath_rqpn) >> 24 & 0x7f;
}

/* Return the 48-bit time stamp. It overlays the service level and the LID. */
static uint64_t ex_read_completion_ts(struct ibv_cq_ex *cq_ex)
{
	const struct mlx4_cqe *cqe = ex_cqe(cq_ex);

	return (uint64_t)be32toh(cqe->ts_47_16) << 16 | cqe->ts_15_8 << 8 | cqe->ts_7_0;
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
};

void mlx4_cq_ex_set_slots(struct mlx_cq *cq, uint64_t wc_flags)
{
	kit_cq_ex_set_slots(&cq->vcq.cq_ex, &ex_slots, wc_flags);
}
