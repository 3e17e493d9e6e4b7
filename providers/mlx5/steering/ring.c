/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Post writes to the internal queue pair, and take its completions. */
#include <stdlib.h>

#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/steering/ring.h"

enum {
	SIGNAL_EVERY = 16,
	INLINE_MAX = DR_ENTRY_SIZE,
	WQE_MAX = 128,
	ARGUMENT_AT = 64, /* offset of the data in a request that writes arguments */
	ARGUMENT_SIZE = 64,
	OPCODE_WRITE_ARGUMENT = 0x2c,
	ROOM = 2 * WQE_MAX / MLX5_SEND_WQE_BB, /* blocks of a write and its read */
	POLLS_BEFORE_QUERY = 1 << 20,
	QUERY_HCA_CAP_OUT = 0x1010,
};

/* ---- completions */

/* 1: there was one, 0: none, negative: a request failed. */
static int poll_one(struct dr_ring *ring)
{
	const struct mlx5dv_cq *cq = &ring->entries;
	const char *entry = (const char *)cq->buf +
			    (size_t)(ring->polled & (cq->cqe_cnt - 1)) * cq->cqe_size +
			    (cq->cqe_size - sizeof(struct mlx5_cqe64));
	uint8_t last = *(const volatile uint8_t *)(entry + sizeof(struct mlx5_cqe64) - 1);
	unsigned int opcode = last >> 4, first;

	if (opcode == MLX5_CQE_INVALID ||
	    (last & MLX5_CQE_OWNER_MASK) != !!(ring->polled & cq->cqe_cnt))
		return 0;
	barrier_from_device();
	first = be16toh(((const struct mlx5_cqe64 *)entry)->wqe_counter);
	ring->polled++;
	*(volatile __be32 *)cq->dbrec = htobe32(ring->polled & 0xffffff);
	if (opcode == MLX5_CQE_REQ) {
		ring->completed = ring->ends[first % DR_RING_BLOCKS];
		return 1;
	}
	ring->failed = true;
	return dr_refuse(ring->context, "steering", "a write of steering entries failed", -EIO);
}

/* Return whether the kernel still gives commands to the adapter. */
static bool is_alive(struct dr_ring *ring)
{
	uint32_t in[FW_HEAD / 4] = {};
	uint32_t *out = calloc(1, QUERY_HCA_CAP_OUT);
	int r;

	if (!out)
		return true;
	fw_set(in, 0, MLX5_FW_QUERY_HCA_CAP << 16);
	r = mlx5_fw_general(ring->context, "QUERY_HCA_CAP", in, sizeof(in), out, QUERY_HCA_CAP_OUT);
	free(out);
	return r >= 0;
}

/* Poll until the requests up to @end are complete. One of them or a later one asked for a
 * completion. A removed adapter completes no request. Detect the removal by a command. */
static int wait_for(struct dr_ring *ring, uint64_t end)
{
	unsigned int polls = 0;

	while (ring->completed < end) {
		int r = ring->failed ? -EIO : poll_one(ring);

		if (r < 0)
			return r;
		if (!r && ++polls % POLLS_BEFORE_QUERY == 0 && !is_alive(ring))
			ring->failed = true;
	}
	return 0;
}

/* Wait for room for a write and its read. The requests without a completion are fewer than half of
 * the ring. */
static int room_wait(struct dr_ring *ring)
{
	uint64_t used = ring->posted - ring->completed;
	int r;

	if (ring->failed)
		return -EIO;
	if (used > DR_RING_BLOCKS - ROOM)
		return wait_for(ring, ring->posted - DR_RING_BLOCKS / 2);
	r = used > DR_RING_BLOCKS / 2 ? poll_one(ring) : 0;
	return r < 0 ? r : 0;
}

/* ---- requests */

/* A piece of memory of the adapter, and its new bytes. @lkey 0: the request holds these bytes. */
struct piece {
	uint64_t remote;
	uint32_t rkey, length, lkey;
	const void *local;
};

static unsigned int data_put(char *at, const struct piece *p)
{
	if (!p->lkey) {
		struct mlx5_wqe_inl_data_seg head = { htobe32(p->length | MLX5_INLINE_SEG) };

		memcpy(at, &head, sizeof(head));
		memcpy(at + sizeof(head), p->local, p->length);
		return (sizeof(head) + p->length + MLX_SEGMENT - 1) / MLX_SEGMENT;
	}
	*(struct mlx5_wqe_data_seg *)at = (struct mlx5_wqe_data_seg){
		.byte_count = htobe32(p->length),
		.lkey = htobe32(p->lkey),
		.addr = htobe64((uintptr_t)p->local),
	};
	return 1;
}

/* Copy a request of @ds segments into the ring. */
static void blocks_put(struct dr_ring *ring, const char *wqe, unsigned int ds)
{
	uint64_t *end = &ring->ends[ring->posted % DR_RING_BLOCKS];

	for (unsigned int i = 0; i < ds; i += MLX5_SEND_WQE_BB / MLX_SEGMENT) {
		memcpy(ring->queue + DR_RING_RQ_SIZE +
			       (size_t)(ring->posted % DR_RING_BLOCKS) * MLX5_SEND_WQE_BB,
		       wqe + (size_t)i * MLX_SEGMENT, MLX5_SEND_WQE_BB);
		ring->posted++;
	}
	*end = ring->posted;
}

/* Return the flags of the next request. @asks: it has to ask for a completion */
static uint8_t request_flags(struct dr_ring *ring, bool asks)
{
	if (!asks && ++ring->silent < SIGNAL_EVERY)
		return 0;
	ring->silent = 0;
	return MLX5_WQE_CTRL_CQ_UPDATE;
}

/* Write a request into the ring, without announcing it. Return its first eight bytes. */
static uint64_t request_put(struct dr_ring *ring, uint8_t opcode, const struct piece *p, bool asks)
{
	char wqe[WQE_MAX] __attribute__((aligned(16))) = {};
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;
	struct mlx5_wqe_raddr_seg *remote = (void *)(wqe + sizeof(*ctrl));
	unsigned int ds = 2 + data_put((char *)(remote + 1), p);
	uint64_t first;

	ctrl->opmod_idx_opcode = htobe32((ring->posted & 0xffff) << 8 | opcode);
	ctrl->qpn_ds = htobe32(ring->qpn << 8 | ds);
	ctrl->fm_ce_se = request_flags(ring, asks);
	remote->raddr = htobe64(p->remote);
	remote->rkey = htobe32(p->rkey);
	blocks_put(ring, wqe, ds);
	memcpy(&first, wqe, sizeof(first));
	return first;
}

/* Announce all requests. @first: the beginning of the last one */
static void announce(struct dr_ring *ring, uint64_t first)
{
	barrier_to_device();
	*(volatile __be32 *)&ring->records[MLX5_SND_DBR] = htobe32(ring->posted & 0xffff);
	barrier_wc_start();
	mmio_write_64(ring->uar->reg_addr, first);
	barrier_wc_flush();
}

/* Copy a piece that is too long for a request into the next slot. */
static int slot_fill(struct dr_ring *ring, struct piece *p, uint64_t **ret_end)
{
	unsigned int i = ring->slot++ % DR_RING_SLOTS;
	char *slot = ring->data + (size_t)i * DR_RING_SLOT_SIZE;
	int r = wait_for(ring, ring->slot_end[i]);

	if (r < 0)
		return r;
	memcpy(slot, p->local, p->length);
	p->local = slot;
	p->lkey = ring->data_mr->lkey;
	*ret_end = &ring->slot_end[i];
	return 0;
}

/* Write a piece of at most DR_RING_SLOT_SIZE bytes, and read it back. */
static int piece_write(struct dr_ring *ring, struct piece p)
{
	uint64_t *slot_end = NULL;
	int r = room_wait(ring);

	if (!r && p.length > INLINE_MAX)
		r = slot_fill(ring, &p, &slot_end);
	if (r < 0)
		return r;
	request_put(ring, MLX5_OPCODE_RDMA_WRITE, &p, false);
	p.local = ring->sink;
	p.lkey = ring->sink_mr->lkey;
	/* The request that uses a slot asks, so that the next user of the slot need not. */
	announce(ring, request_put(ring, MLX5_OPCODE_RDMA_READ, &p, slot_end != NULL));
	if (slot_end)
		*slot_end = ring->posted;
	return 0;
}

int dr_ring_write(struct dr_ring *ring, uint64_t address, uint32_t rkey, const void *from,
		  size_t length)
{
	for (size_t at = 0; at < length; at += DR_RING_SLOT_SIZE) {
		int r = piece_write(
			ring, (struct piece){
				      .remote = address + at,
				      .rkey = rkey,
				      .length = min_of(length - at, (size_t)DR_RING_SLOT_SIZE),
				      .local = (const char *)from + at,
			      });

		if (r < 0)
			return r;
	}
	return 0;
}

/* Write an object of arguments. @from: ARGUMENT_SIZE bytes */
static int argument_write(struct dr_ring *ring, uint32_t object, const void *from)
{
	char wqe[WQE_MAX] __attribute__((aligned(16))) = {};
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;
	int r = room_wait(ring);
	uint64_t first;

	if (r < 0)
		return r;
	memcpy(wqe + ARGUMENT_AT, from, ARGUMENT_SIZE);
	ctrl->opmod_idx_opcode =
		htobe32(1u << 24 | (ring->posted & 0xffff) << 8 | OPCODE_WRITE_ARGUMENT);
	ctrl->qpn_ds = htobe32(ring->qpn << 8 | WQE_MAX / MLX_SEGMENT);
	ctrl->fm_ce_se = request_flags(ring, false);
	ctrl->imm = htobe32(object);
	memcpy(&first, wqe, sizeof(first));
	blocks_put(ring, wqe, WQE_MAX / MLX_SEGMENT);
	announce(ring, first);
	return 0;
}

int dr_ring_write_argument(struct dr_ring *ring, uint32_t object, const void *from, size_t length)
{
	int r = 0;

	for (size_t at = 0; !r && at < length; at += ARGUMENT_SIZE) {
		char bytes[ARGUMENT_SIZE] = {};

		memcpy(bytes, (const char *)from + at, min_of(length - at, sizeof(bytes)));
		r = argument_write(ring, object++, bytes);
	}
	return r;
}

uint32_t dr_ring_number(const struct dr_ring *ring)
{
	return ring->qpn;
}

/* Complete what is pending. If no completion will report its end, add a request without effect that
 * asks for a completion. */
int dr_ring_drain(struct dr_ring *ring)
{
	static const char zero[DR_ENTRY_SIZE];
	const struct piece nothing = {
		.remote = (uintptr_t)ring->sink,
		.rkey = ring->sink_mr->rkey,
		.length = sizeof(zero),
		.local = zero,
	};
	int r = room_wait(ring);

	if (!r && ring->silent)
		announce(ring, request_put(ring, MLX5_OPCODE_RDMA_WRITE, &nothing, true));
	return r < 0 ? r : wait_for(ring, ring->posted);
}
