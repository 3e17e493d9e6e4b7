/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(): most requests are plain. Their loop makes no function calls and is compiled
 * twice, for connections and for datagrams. post_rest() posts the first request of a list that is
 * not plain, and all requests after it. The adapter never owns a refused request, because its
 * first word is not written.
 */
#include "providers/mlx4/wqe.h"

/* The adapter's opcode and the parts of a request for each opcode of verbs. */
enum {
	HAS_RADDR = 1 << 0,
	HAS_ATOMIC = 1 << 1,
	HAS_IMM = 1 << 2,
	HAS_INV = 1 << 3,
	HAS_KEY = 1 << 4, /* changes a key and has no data */
};

enum {
	FRAME_NO_ICRC = MLX4_WQE_CTRL_SOLICIT, /* only in requests for raw packets */
};

#define SEPARATE __attribute__((noinline))

struct send_op {
	uint8_t opcode, has;
};

static const struct send_op send_ops[] = {
	[IBV_WR_SEND] = { MLX4_OPCODE_SEND, 0 },
	[IBV_WR_SEND_WITH_IMM] = { MLX4_OPCODE_SEND_IMM, HAS_IMM },
	[IBV_WR_SEND_WITH_INV] = { MLX4_OPCODE_SEND_INVAL, HAS_INV },
	[IBV_WR_RDMA_WRITE] = { MLX4_OPCODE_RDMA_WRITE, HAS_RADDR },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { MLX4_OPCODE_RDMA_WRITE_IMM, HAS_RADDR | HAS_IMM },
	[IBV_WR_RDMA_READ] = { MLX4_OPCODE_RDMA_READ, HAS_RADDR },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { MLX4_OPCODE_ATOMIC_CS, HAS_RADDR | HAS_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { MLX4_OPCODE_ATOMIC_FA, HAS_RADDR | HAS_ATOMIC },
	[IBV_WR_LOCAL_INV] = { MLX4_OPCODE_LOCAL_INVAL, HAS_KEY },
	[IBV_WR_BIND_MW] = { MLX4_OPCODE_BIND_MW, HAS_KEY },
};

/* A request being built. */
struct send_build {
	char *slot, *seg;
	unsigned int ds; /* length in units of 16 bytes */
	__be32 imm;
	uint32_t flags; /* MLX4_WQE_CTRL_ */
	bool whole;	/* the request refers to no other memory, so the register may take it */
};

/*
 * Inline data consist of pieces. Each piece follows its length and does not cross a 64-byte unit.
 */
struct inline_build {
	char *head, *at; /* head: beginning of the current piece; NULL: no piece yet */
	unsigned int heads;
};

static inline void piece_end(struct inline_build *b)
{
	uint32_t length = b->at - b->head - sizeof(struct mlx4_wqe_inline_seg);

	if (!length)
		return;
	/* Write the length last, because it may be the first word of a 64-byte unit. */
	barrier_to_device();
	((struct mlx4_wqe_inline_seg *)b->head)->byte_count = htobe32(MLX4_INLINE_SEG | length);
	b->heads++;
}

static inline void piece_begin(struct inline_build *b)
{
	b->head = b->at;
	b->at += sizeof(struct mlx4_wqe_inline_seg);
}

static inline void inline_copy(struct inline_build *b, const char *from, uint32_t length)
{
	uint32_t room;

	while (length >= (room = WQE_UNIT - ((uintptr_t)b->at & (WQE_UNIT - 1)))) {
		memcpy(b->at, from, room);
		from += room;
		length -= room;
		b->at += room;
		piece_end(b);
		piece_begin(b);
	}
	memcpy(b->at, from, length);
	b->at += length;
}

FLAT enum kit_fault data_inline(const struct mlx4_sq *sq, const struct ibv_send_wr *wr,
				struct send_build *b)
{
	struct inline_build in = { .at = b->seg };
	uint32_t total = 0;

	if (!wr->num_sge)
		return KIT_FAULT_NONE;
	for (int i = 0; i < wr->num_sge; i++) {
		if (unlikely(wr->sg_list[i].length > sq->max_inline - total))
			return KIT_FAULT_INLINE;
		total += wr->sg_list[i].length;
	}
	piece_begin(&in);
	for (int i = 0; i < wr->num_sge; i++)
		inline_copy(&in, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
	piece_end(&in);
	b->whole |= total > 0;
	b->ds += (total + in.heads * sizeof(struct mlx4_wqe_inline_seg) + MLX_SEGMENT - 1) /
		 MLX_SEGMENT;
	return KIT_FAULT_NONE;
}

/*
 * Write the data segments from the last to the first. @atomic: the adapter returns only 8 bytes,
 * even if the list has more room
 */
FLAT void data_list(const struct ibv_send_wr *wr, bool atomic, struct send_build *b)
{
	for (int i = wr->num_sge - 1; i >= 0; i--) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		wqe_data(b->seg + (size_t)i * MLX_SEGMENT, sge->addr,
			 atomic && sge->length > 8 ? 8 : sge->length, sge->lkey);
	}
	b->ds += wr->num_sge;
}

/* Build the list of an atomic. Its header is longer than max_send_sge allows for, so the list may
 * exceed the slot or the length field of the request. */
FLAT enum kit_fault data_atomic(const struct mlx4_sq *sq, const struct ibv_send_wr *wr,
				struct send_build *b)
{
	uint32_t most = min_of(sq->slot_ds, (uint32_t)WQE_SIZE_MASK);

	if (wr->send_flags & IBV_SEND_INLINE || b->ds + wr->num_sge > most)
		return KIT_FAULT_ATOMIC_LIST;
	data_list(wr, true, b);
	return KIT_FAULT_NONE;
}

FLAT void segment_take(struct send_build *b, unsigned int size)
{
	b->seg += size;
	b->ds += size / MLX_SEGMENT;
}

/* Build the part that some operations have in front of their data. */
FLAT enum kit_fault head_build(const struct ibv_send_wr *wr, struct send_op op,
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
		segment_take(b, sizeof(struct mlx4_wqe_raddr_seg));
		wqe_atomic(b->seg, wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP,
			   wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		segment_take(b, sizeof(struct mlx4_wqe_atomic_seg));
	} else if (op.has & HAS_RADDR) {
		mlx_raddr_write(b->seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		segment_take(b, sizeof(struct mlx4_wqe_raddr_seg));
		b->whole = wr->opcode == IBV_WR_RDMA_READ || !wr->num_sge;
	}
	return KIT_FAULT_NONE;
}

/* Build requests for keys and windows. They have no data and are ordered behind all earlier
 * requests. */
FLAT void key_build(const struct ibv_send_wr *wr, struct send_build *b)
{
	if (wr->opcode == IBV_WR_LOCAL_INV) {
		wqe_local_inv(b->seg, wr->invalidate_rkey);
		segment_take(b, sizeof(struct mlx4_wqe_local_inval_seg));
	} else {
		wqe_bind(b->seg, wr);
		segment_take(b, sizeof(struct mlx4_wqe_bind_seg));
	}
	b->flags |= MLX4_WQE_CTRL_STRONG_ORDER;
}

/* Build a raw frame. On Ethernet the control segment repeats the destination MAC address of the
 * frame. The frame gets an Ethernet CRC, but no invariant CRC. */
static enum kit_fault frame_build(const struct mlx4_sq *sq, const struct ibv_send_wr *wr,
				  struct send_build *b)
{
	uint8_t mac[6];
	size_t got = 0;

	b->flags |= FRAME_NO_ICRC;
	if (!sq->ethernet)
		return KIT_FAULT_NONE;
	for (int i = 0; i < wr->num_sge && got < sizeof(mac); i++) {
		size_t n = min_of((size_t)wr->sg_list[i].length, sizeof(mac) - got);

		memcpy(mac + got, (void *)(uintptr_t)wr->sg_list[i].addr, n);
		got += n;
	}
	if (got < sizeof(mac))
		return KIT_FAULT_HEADER;
	b->flags |= (uint32_t)mac[0] << 24 | (uint32_t)mac[1] << 16;
	memcpy(&b->imm, mac + 2, sizeof(b->imm));
	return KIT_FAULT_NONE;
}

/* Build the part that only requests of this type of queue pair have. */
FLAT enum kit_fault type_build(const struct mlx4_sq *sq, const struct ibv_send_wr *wr,
			       enum ibv_qp_type type, struct send_build *b)
{
	switch (type) {
	case IBV_QPT_UD:
		if (unlikely(!wr->wr.ud.ah))
			return KIT_FAULT_AH;
		wqe_datagram(b->seg, to_mah(wr->wr.ud.ah), wr->wr.ud.remote_qpn,
			     wr->wr.ud.remote_qkey);
		segment_take(b, sizeof(struct mlx4_wqe_datagram_seg));
		return KIT_FAULT_NONE;
	case IBV_QPT_RAW_PACKET:
		return frame_build(sq, wr, b);
	case IBV_QPT_XRC_SEND:
		b->flags |= wr->qp_type.xrc.remote_srqn << 8;
		return KIT_FAULT_NONE;
	default:
		return KIT_FAULT_NONE;
	}
}

/* Build the request except for the control segment. */
FLAT enum kit_fault send_build(const struct mlx4_sq *sq, const struct ibv_send_wr *wr,
			       struct send_op op, enum ibv_qp_type type, struct send_build *b)
{
	enum kit_fault fault = op.has ? head_build(wr, op, b) : KIT_FAULT_NONE;

	if (likely(!fault))
		fault = type_build(sq, wr, type, b);
	if (unlikely(fault))
		return fault;
	if (unlikely(op.has & HAS_KEY)) {
		key_build(wr, b);
		return KIT_FAULT_NONE;
	}
	if (wr->send_flags & IBV_SEND_IP_CSUM) {
		if (unlikely(!sq->checksum_flags))
			return KIT_FAULT_SEND_FLAGS;
		b->flags |= sq->checksum_flags;
	}
	if (unlikely(op.has & HAS_ATOMIC))
		return data_atomic(sq, wr, b);
	if (wr->send_flags & IBV_SEND_INLINE)
		return data_inline(sq, wr, b);
	data_list(wr, false, b);
	return KIT_FAULT_NONE;
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct mlx4_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	struct mlx4_sq *sq = &qp->sq;
	const struct kit_sq_limits limits = {
		.closed = sq->max_sge < 0,
		.atomics = to_mctx(qp->vqp.qp.context)->atomics,
		.max_post = sq->max_post,
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.no_flags = IBV_SEND_IP_CSUM,
	};

	return kit_post_refuse(&qp->vqp.qp, &sq->said, wr, fault, &limits);
}

/* Move each flag to its bit of the control segment. */
FLAT uint32_t ctrl_flags(unsigned int send_flags)
{
	return (send_flags & IBV_SEND_SIGNALED) * (MLX4_WQE_CTRL_CQ_UPDATE / IBV_SEND_SIGNALED) |
	       (send_flags & IBV_SEND_SOLICITED) / (IBV_SEND_SOLICITED / MLX4_WQE_CTRL_SOLICIT);
}

/* Return the owner bit of the first word, which flips each time round. */
FLAT uint32_t owner_bit(const struct mlx4_sq *sq, uint32_t index)
{
	return index & (sq->mask + 1) ? WQE_OWNER : 0;
}

/* Write the control segment. Its first word passes the request to the adapter. */
FLAT void ctrl_write(char *slot, uint32_t owner_opcode, uint32_t flags, uint8_t fence_size,
		     __be32 imm)
{
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;
	uint64_t both = mlx_both(htobe32(flags), imm);

	memcpy(&ctrl->srcrb_flags, &both, sizeof(both));
	ctrl->fence_size = fence_size;
	barrier_to_device();
	ctrl->owner_opcode = htobe32(owner_opcode);
}

/* Write the request itself into the register, in one burst. */
FLAT void blueflame(struct mlx4_context *ctx, const struct mlx4_qp *qp, char *slot, unsigned int ds)
{
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;
	char *reg;

	ctrl->owner_opcode |= htobe32((qp->sq.head & 0xffff) << 8);
	ctrl->bf_qpn |= qp->doorbell;
	barrier_wc_lock(&ctx->bf_lock);
	reg = ctx->bf + ctx->bf_offset;
	for (unsigned int at = 0; at < ds * MLX_SEGMENT; at += WQE_UNIT)
		mmio_copy_64(reg + at, slot + at);
	barrier_wc_flush();
	ctx->bf_offset ^= ctx->bf_size;
	spinlock_unlock(&ctx->bf_lock);
}

/*
 * Ring the doorbell for requests up to @head.
 * @last, @ds: the request, if it is the only one and the register may take it; else NULL
 */
FLAT void sq_ring(struct mlx4_qp *qp, uint32_t head, char *last, unsigned int ds)
{
	struct mlx4_context *ctx = to_mctx(qp->vqp.qp.context);
	struct mlx4_sq *sq = &qp->sq;

	if (last && ds > 1 && ds <= ctx->bf_size / MLX_SEGMENT) {
		blueflame(ctx, qp, last, ds);
	} else {
		/* The requests must be visible before the register announces them. */
		barrier_to_device();
		mmio_write_32(ctx->uar + MLX4_SEND_DOORBELL, qp->doorbell);
	}
	sq->head = head;
	sq_stamp(sq, head + sq->spare - 1);
}

/*
 * Post requests of any kind. The caller holds the lock, and this function releases it. Requests up
 * to @head are in the ring without a doorbell. The slots behind them are stamped, except for the
 * last request.
 */
SEPARATE static int post_rest(struct mlx4_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr, uint32_t head)
{
	const enum ibv_qp_type type = qp->vqp.qp.qp_type;
	struct mlx4_sq *sq = &qp->sq;
	enum kit_fault fault = KIT_FAULT_NONE;
	uint32_t tail = mlx_sq_tail(&sq->tail), sge_limit = (uint32_t)sq->max_sge + 1;
	struct send_build b = {};

	for (; wr; wr = wr->next) {
		char *slot = sq_slot(sq, head);
		struct send_build next = {
			.slot = slot,
			.seg = slot + sizeof(struct mlx4_wqe_ctrl_seg),
			.ds = 1,
		};
		struct send_op op;

		fault = mlx_send_check(&sq->ops, wr, sge_limit,
				       mlx_sq_full(head, tail, sq->max_post));
		if (likely(!fault)) {
			op = send_ops[wr->opcode];
			fault = send_build(sq, wr, op, type, &next);
		}
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		sq->wr_ids[head & sq->mask] = wr->wr_id;
		ctrl_write(slot, owner_bit(sq, head) | op.opcode,
			   sq->flags | next.flags | ctrl_flags(wr->send_flags),
			   (wr->send_flags & IBV_SEND_FENCE ? MLX4_WQE_CTRL_FENCE : 0) | next.ds,
			   next.imm);
		b = next;
		/* The slot for the last request is stamped after its doorbell. */
		if (wr->next)
			sq_stamp(sq, head + sq->spare);
		head++;
	}
	if (likely(head != sq->head)) {
		bool alone = head - sq->head == 1 && !wr && b.whole;

		sq_ring(qp, head, alone ? b.slot : NULL, b.ds);
	}
	spinlock_unlock(&sq->lock);
	return likely(!wr) ? 0 : send_refuse(qp, wr, fault);
}

SEPARATE static int post_contended(struct mlx4_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	spinlock_wait(&qp->sq.lock);
	return post_rest(qp, wr, bad_wr, qp->sq.head);
}

/* ---- plain requests */

/*
 * Copy the data of one entry behind @seg. Return: their segments; 0: they do not fit into the unit.
 */
FLAT unsigned int plain_inline(const struct mlx4_sq *sq, const struct ibv_sge *sge, char *seg)
{
	struct mlx4_wqe_inline_seg *head = (void *)seg;
	uint32_t length = sge->length;
	uint32_t room = WQE_UNIT - ((uintptr_t)seg & (WQE_UNIT - 1)) - sizeof(*head);

	/*
	 * Data up to the exact end of the unit do not fit, because another header follows.
	 */
	if (unlikely(length >= room) || unlikely(length > sq->max_inline))
		return 0;
	kit_bytes_copy(seg + sizeof(*head), (void *)(uintptr_t)sge->addr, length);
	/* Write the length last, because it may be the first word of a 64-byte unit. */
	barrier_to_device();
	head->byte_count = htobe32(MLX4_INLINE_SEG | length);
	return (length + sizeof(*head) + MLX_SEGMENT - 1) / MLX_SEGMENT;
}

/* Flags of the control segment by those of verbs. */
static const uint8_t plain_flags[MLX_PLAIN_FLAGS + 1] = {
#define PLAIN_FLAGS(flags, ctrl) [flags] = (ctrl), [IBV_SEND_INLINE | (flags)] = (ctrl)
	PLAIN_FLAGS(IBV_SEND_SIGNALED, MLX4_WQE_CTRL_CQ_UPDATE),
	PLAIN_FLAGS(IBV_SEND_SOLICITED, MLX4_WQE_CTRL_SOLICIT),
	PLAIN_FLAGS(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		    MLX4_WQE_CTRL_CQ_UPDATE | MLX4_WQE_CTRL_SOLICIT),
#undef PLAIN_FLAGS
};

/* Write a plain request into @slot. Return: its units; 0: it is not plain. */
FLAT unsigned int plain_write(struct mlx4_sq *sq, const struct ibv_send_wr *wr, struct send_op op,
			      char *slot, uint32_t owner, bool datagram, bool in_line)
{
	char *seg = slot + sizeof(struct mlx4_wqe_ctrl_seg);
	unsigned int ds = 1, data_ds = 1;
	__be32 imm = 0;

	if (op.has & HAS_IMM)
		imm = wr->imm_data;
	else if (op.has & HAS_INV)
		imm = htobe32(wr->invalidate_rkey);
	if (op.has & HAS_RADDR) {
		mlx_raddr_write(seg, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
		seg += MLX_SEGMENT;
		ds++;
	}
	if (datagram) {
		if (unlikely(!wr->wr.ud.ah))
			return 0;
		wqe_datagram(seg, to_mah(wr->wr.ud.ah), wr->wr.ud.remote_qpn,
			     wr->wr.ud.remote_qkey);
		seg += sizeof(struct mlx4_wqe_datagram_seg);
		ds += sizeof(struct mlx4_wqe_datagram_seg) / MLX_SEGMENT;
	}
	if (in_line)
		data_ds = plain_inline(sq, wr->sg_list, seg);
	else
		mlx_segment_write_sge(seg, wr->sg_list);
	if (unlikely(!data_ds))
		return 0;
	ds += data_ds;
	ctrl_write(slot, owner | op.opcode, sq->flags | plain_flags[wr->send_flags], ds, imm);
	return ds;
}

/* Each instance is a separate function, so that the function that chooses between them saves no
 * registers. */
FLAT int post_plain(struct mlx4_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		    bool datagram)
{
	struct mlx4_sq *sq = &qp->sq;
	uint32_t head, end, owner;
	unsigned int ds;
	bool whole; /* the last request refers to no other memory, so the register may take it */
	char *slot;

	if (unlikely(!spinlock_try(&sq->lock)))
		return post_contended(qp, wr, bad_wr);
	head = sq->head;
	end = head + mlx_room(head, &sq->tail, sq->max_post);
	owner = owner_bit(sq, head);
	for (;;) {
		uint32_t index = head & sq->mask;
		struct send_op op;

		if (unlikely(head == end || !wr))
			return post_rest(qp, wr, bad_wr, head);
		if (!mlx_is_plain(sq->plain, wr))
			return post_rest(qp, wr, bad_wr, head);
		slot = sq->ring + ((size_t)index << sq->shift);
		op = send_ops[wr->opcode];
		sq->wr_ids[index] = wr->wr_id;
		whole = wr->send_flags & IBV_SEND_INLINE || op.opcode == MLX4_OPCODE_RDMA_READ;
		if (likely(!op.has) && !whole) {
			op.has = 0;
			ds = plain_write(sq, wr, op, slot, owner, datagram, false);
		} else {
			ds = plain_write(sq, wr, op, slot, owner, datagram,
					 wr->send_flags & IBV_SEND_INLINE);
		}
		if (unlikely(!ds))
			return post_rest(qp, wr, bad_wr, head);
		head++;
		wr = wr->next;
		if (!wr)
			break;
		/* The slot for the last request is stamped after its doorbell. */
		sq_stamp(sq, head - 1 + sq->spare);
		if (unlikely(!(head & sq->mask)))
			owner ^= WQE_OWNER;
	}
	sq_ring(qp, head, unlikely(whole) && head - sq->head == 1 ? slot : NULL, ds);
	spinlock_unlock(&sq->lock);
	return 0;
}

SEPARATE static int post_connected(struct mlx4_qp *qp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, false);
}

SEPARATE static int post_datagram(struct mlx4_qp *qp, struct ibv_send_wr *wr,
				  struct ibv_send_wr **bad_wr)
{
	return post_plain(qp, wr, bad_wr, true);
}

int mlx4_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	return ibqp->qp_type == IBV_QPT_UD ? post_datagram(to_mqp(ibqp), wr, bad_wr)
					   : post_connected(to_mqp(ibqp), wr, bad_wr);
}

void mlx4_sq_init(struct mlx4_sq *sq)
{
	spinlock_lock(&sq->lock);
	for (uint32_t i = 0; i <= sq->mask; i++) {
		struct mlx4_wqe_ctrl_seg *ctrl = (void *)sq_slot(sq, i);

		ctrl->owner_opcode = htobe32(WQE_OWNER);
		ctrl->fence_size = 1 << (sq->shift - 4);
		sq_stamp(sq, i);
	}
	spinlock_unlock(&sq->lock);
}
