/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain. Their loop makes no function calls and is compiled
 * twice, for connections and for datagrams. post_rest() posts the first request of a list that is
 * not plain, and all requests after it. The adapter does not read the written part of a refused
 * request, because no doorbell covers it.
 */
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

/* The adapter's opcode and the parts of a request for each opcode of verbs. */
enum {
	HAS_RADDR = 1 << 0,
	HAS_ATOMIC = 1 << 1,
	HAS_IMM = 1 << 2,
	HAS_INV = 1 << 3,
	HAS_KEY = 1 << 4, /* changes a key and has no data */
};

#define SEPARATE __attribute__((noinline))

struct send_op {
	uint8_t opcode, has;
};

static const struct send_op send_ops[] = {
	[IBV_WR_SEND] = { MLX5_OPCODE_SEND, 0 },
	[IBV_WR_SEND_WITH_IMM] = { MLX5_OPCODE_SEND_IMM, HAS_IMM },
	[IBV_WR_SEND_WITH_INV] = { MLX5_OPCODE_SEND_INVAL, HAS_INV },
	[IBV_WR_RDMA_WRITE] = { MLX5_OPCODE_RDMA_WRITE, HAS_RADDR },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { MLX5_OPCODE_RDMA_WRITE_IMM, HAS_RADDR | HAS_IMM },
	[IBV_WR_RDMA_READ] = { MLX5_OPCODE_RDMA_READ, HAS_RADDR },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { MLX5_OPCODE_ATOMIC_CS, HAS_RADDR | HAS_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { MLX5_OPCODE_ATOMIC_FA, HAS_RADDR | HAS_ATOMIC },
	[IBV_WR_LOCAL_INV] = { MLX5_OPCODE_UMR, HAS_KEY },
	[IBV_WR_BIND_MW] = { MLX5_OPCODE_UMR, HAS_KEY },
	[IBV_WR_TSO] = { MLX5_OPCODE_TSO, 0 },
};

/* A request being built. */
struct send_build {
	struct mlx5_wqe_ctrl_seg *ctrl;
	char *seg;
	unsigned int ds;
	__be32 imm;
	uint32_t wc_opcode;
	uint8_t fence; /* fence of the next request */
};

FLAT enum kit_fault data_inline(const struct mlx5_sq *sq, const struct ibv_send_wr *wr,
				struct send_build *b)
{
	char *seg = b->seg, *at = seg + sizeof(struct mlx5_wqe_inl_data_seg);
	uint32_t length = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (unlikely(sge->length > sq->max_inline - length))
			return KIT_FAULT_INLINE;
		at = wqe_bytes(sq, at, (void *)(uintptr_t)sge->addr, sge->length);
		length += sge->length;
	}
	if (length)
		wqe_inline_head(seg, length);
	b->ds += wqe_inline_ds(length);
	return KIT_FAULT_NONE;
}

/*
 * Write the data segments. @atomic: the adapter returns only 8 bytes, even if the list has more
 * room
 */
FLAT void data_list(const struct mlx5_sq *sq, const struct ibv_send_wr *wr, bool atomic,
		    struct send_build *b)
{
	const struct ibv_sge *sge = wr->sg_list, *end = sge + wr->num_sge;
	unsigned int ds = b->ds;
	char *seg = b->seg;

	for (; sge < end; sge++) {
		if (unlikely(!sge->length))
			continue;
		seg = sq_wrap(sq, seg);
		wqe_data(seg, sge->addr, atomic && sge->length > 8 ? 8 : sge->length, sge->lkey);
		seg += MLX_SEGMENT;
		ds++;
	}
	b->ds = ds;
}

FLAT void segment_take(struct send_build *b, unsigned int size)
{
	b->seg += size;
	b->ds += size / MLX_SEGMENT;
}

/* Build requests for keys and windows, which have no data. */
__attribute__((noinline)) static enum kit_fault
umr_build(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct send_build *b)
{
	unsigned int ds = 0;
	int r = 0;

	if (wr->opcode == IBV_WR_LOCAL_INV) {
		ds = mlx5_wqe_local_inv(&qp->sq, b->seg);
		b->imm = htobe32(wr->invalidate_rkey);
		b->wc_opcode = IBV_WC_LOCAL_INV;
	} else {
		r = mlx5_wqe_bind(qp, b->seg, wr->bind_mw.mw, wr->bind_mw.rkey,
				  &wr->bind_mw.bind_info, &ds);
		b->imm = htobe32(wr->bind_mw.mw->rkey);
		b->wc_opcode = IBV_WC_BIND_MW;
	}
	b->ds += ds;
	b->fence = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	return r < 0 ? KIT_FAULT_BIND : KIT_FAULT_NONE;
}

/* Build the part that some operations have in front of their data. */
FLAT enum kit_fault head_build(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct send_op op,
			       struct send_build *b)
{
	if (op.has & HAS_IMM)
		b->imm = wr->imm_data;
	else if (op.has & HAS_INV)
		b->imm = htobe32(wr->invalidate_rkey);
	if (op.has & HAS_ATOMIC) {
		if (unlikely(wr->wr.atomic.remote_addr % 8))
			return KIT_FAULT_ATOMIC_ADDR;
		mlx_raddr_write(b->seg, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
		segment_take(b, MLX_SEGMENT);
		wqe_atomic(b->seg, wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP,
			   wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		segment_take(b, MLX_SEGMENT);
	} else if (op.has & HAS_RADDR) {
		mlx_raddr_write(b->seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		segment_take(b, MLX_SEGMENT);
	}
	return KIT_FAULT_NONE;
}

__attribute__((noinline)) static enum kit_fault
raw_build(const struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct send_build *b)
{
	bool tso = wr->opcode == IBV_WR_TSO;
	const struct mlx5_raw raw = {
		.sges = wr->sg_list,
		.num_sge = wr->num_sge,
		.header = tso ? wr->tso.hdr : NULL,
		.header_size = tso ? wr->tso.hdr_sz : 0,
		.mss = tso ? wr->tso.mss : 0,
		.csum = wr->send_flags & IBV_SEND_IP_CSUM,
		.inlined = wr->send_flags & IBV_SEND_INLINE,
	};
	unsigned int ds = 0;
	enum kit_fault fault;

	if (qp->underlay) {
		memset(b->seg, 0, MLX_SEGMENT);
		segment_take(b, MLX_SEGMENT);
	}
	if (tso && !wr->tso.hdr)
		return KIT_FAULT_HEADER;
	fault = mlx5_wqe_raw(qp, b->seg, &raw, &ds);
	b->ds += ds;
	return fault;
}

/* Build the request except for the control segment. */
FLAT enum kit_fault send_build(struct mlx5_qp *qp, const struct ibv_send_wr *wr, struct send_op op,
			       enum ibv_qp_type type, struct send_build *b)
{
	struct mlx5_sq *sq = &qp->sq;

	if (type == IBV_QPT_RAW_PACKET)
		return raw_build(qp, wr, b);
	if (type == IBV_QPT_XRC_SEND && !(op.has & HAS_KEY)) {
		wqe_xrc(b->seg, wr->qp_type.xrc.remote_srqn);
		segment_take(b, MLX_SEGMENT);
	}
	if (op.has) {
		enum kit_fault fault = head_build(qp, wr, op, b);

		if (unlikely(fault))
			return fault;
		if (unlikely(op.has & HAS_KEY)) {
			/* Pass a copy, so that *b itself can stay in registers. */
			struct send_build copy = *b;

			fault = umr_build(qp, wr, &copy);
			*b = copy;
			return fault;
		}
	}
	if (type == IBV_QPT_UD) {
		if (unlikely(!wr->wr.ud.ah))
			return KIT_FAULT_AH;
		wqe_datagram(b->seg, to_mah(wr->wr.ud.ah), wr->wr.ud.remote_qpn,
			     wr->wr.ud.remote_qkey);
		segment_take(b, sizeof(struct mlx5_wqe_datagram_seg));
		b->seg = sq_wrap(sq, b->seg);
		if (unlikely(qp->underlay)) {
			struct send_build copy = *b;
			enum kit_fault fault = raw_build(qp, wr, &copy);

			*b = copy;
			return fault;
		}
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		return data_inline(sq, wr, b);
	if (unlikely(op.has & HAS_ATOMIC))
		data_list(sq, wr, true, b);
	else
		data_list(sq, wr, false, b);
	return KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct mlx5_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	struct mlx5_sq *sq = &qp->sq;
	const struct kit_sq_limits limits = {
		.closed = sq->max_post && sq->max_sge < 0,
		.atomics = to_mctx(qp->vqp.qp.context)->atomics,
		.max_post = sq->max_post,
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.max_bind = 1u << 31,
	};

	return kit_post_refuse(&qp->vqp.qp, &sq->said, wr,
			       sq->max_post ? fault : KIT_FAULT_NO_QUEUE, &limits);
}

/*
 * Post requests of any kind. The caller holds the lock, and this function releases it. Requests up
 * to @head are in the ring without a doorbell. @last: the last of them, of @last_ds units
 */
SEPARATE static int post_rest(struct mlx5_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t head,
			      const struct mlx5_wqe_ctrl_seg *last, unsigned int last_ds)
{
	const enum ibv_qp_type type = qp->vqp.qp.qp_type;
	struct mlx5_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t tail = mlx_sq_tail(&sq->tail), sge_limit = (uint32_t)sq->max_sge + 1, nreq;

	for (; wr; wr = wr->next) {
		struct send_op op = {};
		uint32_t cur_post = sq->cur_post, block = cur_post & sq->mask;
		char *slot = sq->ring + (size_t)block * MLX5_SEND_WQE_BB;
		struct send_build b = {
			.ctrl = (void *)slot,
			.seg = slot + MLX_SEGMENT,
			.ds = 1,
		};
		uint8_t flags;

		fault = mlx_send_check(&sq->ops, wr, sge_limit,
				       mlx_sq_full(head, tail, sq->max_post));
		if (likely(!fault)) {
			op = send_ops[wr->opcode];
			fault = send_build(qp, wr, op, type, &b);
		}
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		flags = wqe_flags(sq, wr->send_flags, b.fence);
		wqe_ctrl(b.ctrl, cur_post, op.opcode, qp->vqp.qp.qp_num, flags, b.ds, b.imm);
		sq->slots[block] = (struct mlx5_sq_slot){
			.wr_id = wr->wr_id,
			.head = head,
			.opcode = b.wc_opcode,
		};
		sq->cur_post = cur_post + wqe_blocks(b.ds);
		last = b.ctrl;
		last_ds = b.ds;
		head++;
	}
	nreq = head - sq->head;
	if (likely(nreq))
		sq_ring(sq, nreq, last, last_ds);
	spinlock_unlock(&sq->lock);
	return likely(!wr) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct mlx5_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head, NULL, 0);
}

/* ---- plain requests */

/*
 * Copy the data of one entry behind @seg. Return: their units; 0: they do not fit into the block.
 */
FLAT unsigned int plain_inline(const struct mlx5_sq *sq, const struct ibv_sge *sge, char *seg,
			       uint32_t room)
{
	uint32_t length = sge->length;

	room -= sizeof(struct mlx5_wqe_inl_data_seg);
	if (unlikely(length > room) || unlikely(length > sq->max_inline))
		return 0;
	kit_bytes_copy(seg + sizeof(struct mlx5_wqe_inl_data_seg), (void *)(uintptr_t)sge->addr,
		       length);
	wqe_inline_head(seg, length);
	return (sizeof(struct mlx5_wqe_inl_data_seg) + length + MLX_SEGMENT - 1) / MLX_SEGMENT;
}

/* Build a plain request behind the control segment. Return: all its units; 0: it is not plain. */
FLAT unsigned int plain_build(const struct mlx5_sq *sq, const struct ibv_send_wr *wr, uint8_t has,
			      char *slot, bool datagram)
{
	char *seg = slot + MLX_SEGMENT, *end = slot + MLX5_SEND_WQE_BB;
	unsigned int ds = 1, data_ds = 1;

	if (has & HAS_RADDR) {
		mlx_raddr_write(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		seg += MLX_SEGMENT;
		ds++;
	}
	if (datagram) {
		if (unlikely(!wr->wr.ud.ah))
			return 0;
		wqe_datagram(seg, to_mah(wr->wr.ud.ah), wr->wr.ud.remote_qpn,
			     wr->wr.ud.remote_qkey);
		seg = sq_wrap(sq, end);
		end = seg + MLX5_SEND_WQE_BB;
		ds += sizeof(struct mlx5_wqe_datagram_seg) / MLX_SEGMENT;
	}
	if (wr->send_flags & IBV_SEND_INLINE) {
		data_ds = plain_inline(sq, wr->sg_list, seg, end - seg);
		if (unlikely(!data_ds))
			return 0;
	} else {
		mlx_segment_write_sge(seg, wr->sg_list);
	}
	return ds + data_ds;
}

FLAT __be32 plain_imm(const struct ibv_send_wr *wr, uint8_t has)
{
	if (has & HAS_IMM)
		return wr->imm_data;
	return has & HAS_INV ? htobe32(wr->invalidate_rkey) : 0;
}

/* Each instance is a separate function, so that the function that chooses between them saves no
 * registers. */
FLAT int post_plain(struct mlx5_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		    bool datagram)
{
	struct mlx5_sq *sq = &qp->sq;
	uint32_t head, end, cur_post;
	char *last = NULL;
	unsigned int ds = 0;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = sq->head;
	end = head + mlx_room(head, &sq->tail, sq->max_post);
	cur_post = sq->cur_post;
	for (; wr; wr = wr->next) {
		uint32_t block = cur_post & sq->mask;
		char *slot = sq->ring + (size_t)block * MLX5_SEND_WQE_BB;
		unsigned int this_ds;
		struct send_op op;

		if (unlikely(head == end) || unlikely(sq->fence) || !mlx_is_plain(sq->plain, wr))
			break;
		op = send_ops[wr->opcode];
		this_ds = plain_build(sq, wr, op.has, slot, datagram);
		if (unlikely(!this_ds))
			break;
		ds = this_ds;
		wqe_ctrl((void *)slot, cur_post, op.opcode, qp->vqp.qp.qp_num,
			 sq->signal | wqe_send_flags(wr->send_flags), ds, plain_imm(wr, op.has));
		sq->slots[block].wr_id = wr->wr_id;
		sq->slots[block].head = head;
		cur_post += wqe_blocks(ds);
		last = slot;
		head++;
	}
	sq->cur_post = cur_post;
	if (unlikely(wr))
		return post_rest(qp, wr, bad_wr, head, (void *)last, ds);
	if (likely(last))
		sq_ring(sq, head - sq->head, (void *)last, ds);
	spinlock_unlock(&sq->lock);
	return 0;
}

SEPARATE static int post_connected(struct mlx5_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, false);
}

SEPARATE static int post_datagram(struct mlx5_qp *qp, struct ibv_send_wr *wr,
				  struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, true);
}

int mlx5_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return ibqp->qp_type == IBV_QPT_UD ? post_datagram(to_mqp(ibqp), wr, bad_wr)
					   : post_connected(to_mqp(ibqp), wr, bad_wr);
}

__attribute__((noinline, cold)) bool mlx5_wqe_is_inline(const struct mlx5_sq *sq,
							const struct mlx5_wqe_ctrl_seg *ctrl)
{
	const char *data = (const char *)(ctrl + 1) + sq->address_size;

	switch (be32toh(ctrl->opmod_idx_opcode) & 0xff) {
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
		data += sizeof(struct mlx5_wqe_raddr_seg);
		break;
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_SEND_INVAL:
		break;
	default:
		return false;
	}
	if (data >= sq->end)
		data -= sq->end - sq->ring;
	return be32toh(((const struct mlx5_wqe_data_seg *)data)->byte_count) & MLX5_INLINE_SEG;
}
