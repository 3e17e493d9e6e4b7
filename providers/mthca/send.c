/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_post_send(). Most requests are plain: connected, one entry, no fence. Their loop makes no
 * function call. Another function posts the first request of a list that is not plain, and all
 * requests after it. A refused request changes neither the links nor the place of the next
 * request.
 */
#include "providers/kit/bytes.h"
#include "providers/mthca/wqe.h"

enum {
	SEND_BATCH = 255, /* requests that one doorbell announces at most, with records */
	ATOMIC_OPS = 1 << IBV_WR_ATOMIC_CMP_AND_SWP | 1 << IBV_WR_ATOMIC_FETCH_AND_ADD,
	RDMA_OPS = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM | 1 << IBV_WR_RDMA_READ,
	FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
};
#define LENGTH_MAX (INLINE_BIT - 1)

static const uint8_t codes[] = {
	[IBV_WR_RDMA_WRITE] = 0x08,
	[IBV_WR_RDMA_WRITE_WITH_IMM] = 0x09,
	[IBV_WR_SEND] = 0x0a,
	[IBV_WR_SEND_WITH_IMM] = 0x0b,
	[IBV_WR_RDMA_READ] = 0x10,
	[IBV_WR_ATOMIC_CMP_AND_SWP] = 0x11,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = 0x12,
};

/* Requests that no doorbell has announced yet. */
struct batch {
	uint32_t count;
	uint32_t word; /* first word of the doorbell, from the first request */
	uint32_t size; /* of the first request */
};

/* The next request, and the one before it. */
struct cursor {
	char *last;
	uint32_t place, slot;
};

FLAT struct cursor cursor_load(const struct mthca_sq *sq)
{
	return (struct cursor){ .last = sq->last, .place = sq->place, .slot = sq->slot };
}

FLAT void cursor_store(struct mthca_sq *sq, struct cursor at)
{
	sq->last = at.last;
	sq->place = at.place;
	sq->slot = at.slot;
}

/* Announce the requests, and begin a new batch. */
FLAT struct batch batch_ring(struct mthca_sq *sq, struct batch batch, bool tavor)
{
	uint32_t head = sq->head;

	sq->head = head + batch.count;
	barrier_to_device();
	if (!tavor) {
		batch.word |= batch.count << 24 | (head & 0xffff) << 8;
		*(volatile __be32 *)sq->record.words = htobe32(sq->head & 0xffff);
		barrier_to_device();
	}
	mthca_ring(sq->doorbell, batch.word, sq->number | batch.size);
	return (struct batch){};
}

/* Announce the last requests and release the lock. */
FLAT void post_end(struct mthca_sq *sq, struct cursor at, struct batch batch, bool tavor)
{
	cursor_store(sq, at);
	if (likely(batch.count))
		batch_ring(sq, batch, tavor);
	spinlock_unlock(&sq->lock);
}

/* ---- parts of a request */

/* The third word of a request, indexed by its flags. */
static const __be32 flag_words[8] = {
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define FLAG_WORD(flags) ((uint32_t)(flags) << 24)
#else
#define FLAG_WORD(flags) (flags)
#endif
	[0] = FLAG_WORD(FLAG_ALWAYS),
	[IBV_SEND_FENCE] = FLAG_WORD(FLAG_ALWAYS),
	[IBV_SEND_SIGNALED] = FLAG_WORD(FLAG_ALWAYS | FLAG_SIGNALED),
	[IBV_SEND_SIGNALED | IBV_SEND_FENCE] = FLAG_WORD(FLAG_ALWAYS | FLAG_SIGNALED),
	[IBV_SEND_SOLICITED] = FLAG_WORD(FLAG_ALWAYS | FLAG_SOLICITED),
	[IBV_SEND_SOLICITED | IBV_SEND_FENCE] = FLAG_WORD(FLAG_ALWAYS | FLAG_SOLICITED),
	[IBV_SEND_SOLICITED | IBV_SEND_SIGNALED] =
		FLAG_WORD(FLAG_ALWAYS | FLAG_SOLICITED | FLAG_SIGNALED),
	[IBV_SEND_SOLICITED | IBV_SEND_SIGNALED | IBV_SEND_FENCE] =
		FLAG_WORD(FLAG_ALWAYS | FLAG_SOLICITED | FLAG_SIGNALED),
};

/* Write the first segment, which has flags and immediate data of this request. */
FLAT void head_write(char *wqe, const struct ibv_send_wr *wr, bool tavor)
{
	struct mthca_next_seg *next = (void *)wqe;

	if (tavor)
		memset(wqe, 0, sizeof(next->nda_op) + sizeof(next->ee_nds));
	next->flags = flag_words[wr->send_flags & 7];
	/* Only these have immediate data. */
	if ((wr->opcode | IBV_WR_SEND) == IBV_WR_SEND_WITH_IMM)
		next->imm = wr->imm_data;
}
_Static_assert((IBV_WR_RDMA_WRITE_WITH_IMM | IBV_WR_SEND) == IBV_WR_SEND_WITH_IMM, "two opcodes");

FLAT uint32_t inline_segments(uint32_t length)
{
	return (length + sizeof(__be32) + MLX_SEGMENT - 1) / MLX_SEGMENT;
}

/* Link a written request to the one before it, and add it to the batch. @size: in segments */
FLAT void request_add(const struct mthca_sq *sq, struct cursor *at, struct batch *batch,
		      const struct ibv_send_wr *wr, uint32_t size, bool fenced, bool tavor)
{
	uint32_t code = codes[wr->opcode], fence = fenced ? wr->send_flags & IBV_SEND_FENCE : 0;
	uint32_t doorbell = tavor && batch->count ? 0 : EE_DOORBELL;

	sq->wr_ids[at->slot] = wr->wr_id;
	mthca_link_write(at->last, at->place | code, size | fence * EE_FENCE | doorbell);
	if (!batch->count) {
		batch->word = (tavor ? at->place : 0) | code | fence * DB_FENCE;
		batch->size = size;
	}
	batch->count++;
	at->last = sq->base + at->place;
	at->place += sq->stride;
	if (unlikely(++at->slot == sq->max_post)) {
		at->slot = 0;
		at->place = sq->offset;
	}
}
_Static_assert(IBV_SEND_FENCE == 1, "the flag is a factor");

/* ---- requests of any kind */

static void ud_write(struct mthca_ud_seg *seg, const struct ibv_send_wr *wr)
{
	const struct mthca_ah *ah = (struct mthca_ah *)wr->wr.ud.ah;

	if (ah->page) {
		seg->page.lkey = htobe32(ah->lkey);
		seg->page.address = htobe64((uintptr_t)ah->av);
	} else {
		seg->av = *ah->av;
	}
	seg->qpn = htobe32(wr->wr.ud.remote_qpn);
	seg->qkey = htobe32(wr->wr.ud.remote_qkey);
}

static void atomic_write(char *seg, const struct ibv_send_wr *wr)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	struct mthca_atomic_seg *atomic = (void *)(seg + sizeof(struct mlx_raddr_seg));

	mlx_raddr_write(seg, wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
	atomic->swap_add = htobe64(swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add);
	atomic->compare = swaps ? htobe64(wr->wr.atomic.compare_add) : 0;
}

/* Return the bytes between the first segment and the list. */
static uint32_t body_bytes(enum ibv_wr_opcode opcode, bool datagram)
{
	if (datagram)
		return UD_BYTES;
	if (ATOMIC_OPS >> opcode & 1)
		return sizeof(struct mlx_raddr_seg) + ATOMIC_BYTES;
	return RDMA_OPS >> opcode & 1 ? sizeof(struct mlx_raddr_seg) : 0;
}

/* Write the list or the inline data. Return: the number of segments. */
static uint32_t list_write(char *at, const struct ibv_send_wr *wr)
{
	struct mlx_data_seg *seg = (void *)at;
	char *to = at + sizeof(__be32);

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		/* A length of 0 would mean 2^31 bytes. */
		for (int i = 0; i < wr->num_sge; i++)
			if (wr->sg_list[i].length)
				mlx_segment_write_sge(seg++, &wr->sg_list[i]);
		return seg - (struct mlx_data_seg *)(void *)at;
	}
	if (!wr->num_sge)
		return 0;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length)
			memcpy(to, (void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
	}
	seg->byte_count = htobe32(INLINE_BIT | (uint32_t)(to - at - sizeof(__be32)));
	return inline_segments(to - at - sizeof(__be32));
}

static enum kit_fault data_check(const struct mthca_sq *sq, const struct ibv_send_wr *wr)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE, atomic = ATOMIC_OPS >> wr->opcode & 1;
	uint32_t head = NEXT_BYTES + sizeof(struct mlx_raddr_seg) + ATOMIC_BYTES;
	uint64_t length = 0;

	if (wr->send_flags & ~FLAGS)
		return KIT_FAULT_SEND_FLAGS;
	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (atomic && (is_inline || head + wr->num_sge * MLX_SEGMENT > 1u << sq->shift))
		return KIT_FAULT_ATOMIC_LIST;
	if (atomic && wr->wr.atomic.remote_addr % sizeof(uint64_t))
		return KIT_FAULT_ATOMIC_ADDR;
	if (is_inline && wr->opcode == IBV_WR_RDMA_READ)
		return KIT_FAULT_SEND_FLAGS;
	if (is_inline && length > sq->max_inline)
		return KIT_FAULT_INLINE;
	return length > LENGTH_MAX ? KIT_FAULT_LENGTH : KIT_FAULT_NONE;
}

/* Write a checked request. Return: its size in segments. */
static uint32_t request_write(const struct ibv_send_wr *wr, char *wqe, bool datagram, bool tavor)
{
	char *body = wqe + NEXT_BYTES;
	uint32_t bytes = body_bytes(wr->opcode, datagram);

	head_write(wqe, wr, tavor);
	if (datagram)
		ud_write((void *)body, wr);
	else if (ATOMIC_OPS >> wr->opcode & 1)
		atomic_write(body, wr);
	else if (bytes)
		mlx_raddr_write(body, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	return (NEXT_BYTES + bytes) / MLX_SEGMENT + list_write(body + bytes, wr);
}

/* Log why a request is refused and return the errno. */
__attribute__((noinline, cold)) static int
send_refuse(struct mthca_qp *qp, const struct ibv_send_wr *wr, enum kit_fault fault)
{
	struct mthca_sq *sq = &qp->sq;
	const struct kit_sq_limits limits = {
		.closed = sq->max_sge < 0 && sq->max_post,
		.atomics = true,
		.max_post = sq->max_post,
		.max_sge = sq->max_sge,
		.max_inline = sq->max_inline,
		.max_length = LENGTH_MAX,
		.no_flags = wr->opcode == IBV_WR_RDMA_READ ? ~(FLAGS & ~IBV_SEND_INLINE) : ~FLAGS,
	};

	if (!sq->max_post)
		fault = KIT_FAULT_NO_QUEUE;
	return kit_post_refuse(&qp->vqp.qp, &sq->said, wr, fault, &limits);
}

/* Post requests of any kind behind those of @batch. The caller holds the lock, and this function
 * releases it. */
FLAT int post_rest(struct mthca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   struct batch batch, bool tavor)
{
	struct mthca_sq *sq = &qp->sq;
	uint32_t sge_limit = (uint32_t)sq->max_sge + 1; /* 0 in states that accept no sends */
	bool datagram = qp->vqp.qp.qp_type == IBV_QPT_UD;
	enum kit_fault fault = KIT_FAULT_NONE;
	struct cursor at = cursor_load(sq);

	for (; wr; wr = wr->next) {
		uint32_t size;

		if (!tavor && unlikely(batch.count == SEND_BATCH))
			batch = batch_ring(sq, batch, tavor);
		fault = mlx_send_check(
			&sq->ops, wr, sge_limit,
			mlx_sq_full(sq->head + batch.count, mlx_sq_tail(&sq->tail), sq->max_post));
		if (!fault)
			fault = data_check(sq, wr);
		if (!fault && datagram && !wr->wr.ud.ah)
			fault = KIT_FAULT_AH;
		if (unlikely(fault)) {
			*bad_wr = wr;
			break;
		}
		size = request_write(wr, sq->base + at.place, datagram, tavor);
		request_add(sq, &at, &batch, wr, size, true, tavor);
	}
	post_end(sq, at, batch, tavor);
	return likely(!fault) ? 0 : send_refuse(qp, wr, fault);
}

/* ---- plain requests */

/* Return whether a request is plain, with no flags but @flags. The opcode of a plain request has no
 * more than 5 bits. */
FLAT bool is_plain(const struct mthca_sq *sq, const struct ibv_send_wr *wr, unsigned int flags)
{
	return likely(wr->num_sge == 1) && likely((unsigned int)wr->opcode < 32) &&
	       likely(sq->plain >> wr->opcode & 1) && likely(!(wr->send_flags & ~flags)) &&
	       likely(wr->sg_list) && likely(wr->sg_list->length - 1 < LENGTH_MAX);
}

/* Write the part of a plain request before its list. Return: the number of segments. */
FLAT uint32_t plain_begin(const struct ibv_send_wr *wr, char *wqe, bool tavor)
{
	head_write(wqe, wr, tavor);
	if (!(RDMA_OPS >> wr->opcode & 1))
		return NEXT_BYTES / MLX_SEGMENT;
	mlx_raddr_write(wqe + NEXT_BYTES, wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
	return (NEXT_BYTES + sizeof(struct mlx_raddr_seg)) / MLX_SEGMENT;
}

FLAT uint32_t plain_write(const struct ibv_send_wr *wr, char *wqe, bool tavor)
{
	uint32_t size = plain_begin(wr, wqe, tavor);

	mlx_segment_write_sge(wqe + size * MLX_SEGMENT, wr->sg_list);
	return size + 1;
}

FLAT uint32_t plain_write_inline(const struct ibv_send_wr *wr, char *wqe, bool tavor)
{
	uint32_t size = plain_begin(wr, wqe, tavor), length = wr->sg_list->length;
	const char *from = (const char *)(uintptr_t)wr->sg_list->addr;
	char *at = wqe + size * MLX_SEGMENT;

	*(__be32 *)(void *)at = htobe32(INLINE_BIT | length);
	if (likely(length < 64))
		kit_bytes_copy(at + sizeof(__be32), from, length);
	else
		memcpy(at + sizeof(__be32), from, length);
	return size + inline_segments(length);
}

/* Functions that post the rest of a list. The caller holds the lock, and they release it. */
typedef int poster(struct mthca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   struct batch batch);

/* Post a single plain request with inline data. */
FLAT int post_inline(struct mthca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		     bool tavor, poster *others)
{
	struct mthca_sq *sq = &qp->sq;
	struct cursor at = cursor_load(sq);
	struct batch batch = {};

	if (unlikely(wr->sg_list->length > sq->max_inline) ||
	    unlikely(wr->opcode == IBV_WR_RDMA_READ) || wr->next)
		return others(qp, wr, bad_wr, batch);
	request_add(sq, &at, &batch, wr, plain_write_inline(wr, sq->base + at.place, tavor), false,
		    tavor);
	post_end(sq, at, batch, tavor);
	return 0;
}

/* Post a list of plain requests, and the rest by @others. */
FLAT int post_list(struct mthca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		   bool tavor, poster *others)
{
	struct mthca_sq *sq = &qp->sq;
	struct cursor at = cursor_load(sq);
	uint32_t room = mlx_room(sq->head, &sq->tail, sq->max_post);
	struct batch batch = {};

	/* A longer list needs another doorbell in between. */
	if (!tavor)
		room = min_of(room, (uint32_t)SEND_BATCH);
	for (; wr; wr = wr->next, room--) {
		if (unlikely(!room) || !is_plain(sq, wr, MLX_PLAIN_FLAGS & ~IBV_SEND_INLINE)) {
			cursor_store(sq, at);
			return others(qp, wr, bad_wr, batch);
		}
		request_add(sq, &at, &batch, wr, plain_write(wr, sq->base + at.place, tavor), false,
			    tavor);
	}
	post_end(sq, at, batch, tavor);
	return 0;
}

/* A single plain request without inline data makes no function call. */
FLAT int post(struct mthca_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr, bool tavor,
	      poster *others, poster *lists, poster *inlines)
{
	struct mthca_sq *sq = &qp->sq;
	struct batch batch = {};
	struct cursor at;

	if (unlikely(!wr) || unlikely(!mlx_room(sq->head, &sq->tail, sq->max_post)) ||
	    !is_plain(sq, wr, MLX_PLAIN_FLAGS))
		return others(qp, wr, bad_wr, batch);
	if (wr->send_flags & IBV_SEND_INLINE)
		return inlines(qp, wr, bad_wr, batch);
	if (wr->next)
		return lists(qp, wr, bad_wr, batch);
	at = cursor_load(sq);
	request_add(sq, &at, &batch, wr, plain_write(wr, sq->base + at.place, tavor), false, tavor);
	post_end(sq, at, batch, tavor);
	return 0;
}

/* The out-of-line functions and the operation of a kind of adapter. */
#define POSTERS(kind, tavor, operation)                                                         \
	SEPARATE static int kind##_rest(struct mthca_qp *qp, struct ibv_send_wr *wr,            \
					struct ibv_send_wr **bad_wr, struct batch batch)        \
	{                                                                                       \
		return post_rest(qp, wr, bad_wr, batch, tavor);                                 \
	}                                                                                       \
	SEPARATE static int kind##_inline(struct mthca_qp * qp, struct ibv_send_wr * wr,        \
					  struct ibv_send_wr * *bad_wr, struct batch batch)     \
	{                                                                                       \
		return post_inline(qp, wr, bad_wr, tavor, kind##_rest);                         \
	}                                                                                       \
	SEPARATE static int kind##_list(struct mthca_qp *qp, struct ibv_send_wr *wr,            \
					struct ibv_send_wr **bad_wr, struct batch batch)        \
	{                                                                                       \
		return post_list(qp, wr, bad_wr, tavor, kind##_rest);                           \
	}                                                                                       \
	SEPARATE static int kind##_contended(struct mthca_qp *qp, struct ibv_send_wr *wr,       \
					     struct ibv_send_wr **bad_wr)                       \
	{                                                                                       \
		spinlock_wait(&qp->sq.lock);                                                    \
		return kind##_rest(qp, wr, bad_wr, (struct batch){});                           \
	}                                                                                       \
	int operation(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr) \
	{                                                                                       \
		struct mthca_qp *qp = to_mthca_qp(ibqp);                                        \
                                                                                                \
		if (unlikely(!spinlock_try(&qp->sq.lock)))                                      \
			return kind##_contended(qp, wr, bad_wr);                                \
		return post(qp, wr, bad_wr, tavor, kind##_rest, kind##_list, kind##_inline);    \
	}

POSTERS(arbel, false, mthca_post_send)
POSTERS(tavor, true, mthca_tavor_post_send)
