/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The internal queue pair: it is connected to itself, and writes memory that only the adapter
 * reaches. An RDMA read of the same bytes follows each write, so that the adapter's tables are
 * written when the read completes. Every eighth request asks for a completion.
 */
#include <stdlib.h>

#include "providers/kit/barrier.h"
#include "providers/kit/mmio.h"
#include "providers/mlx5/steering/steering.h"

enum {
	SLOTS = 8,
	SLOT_SIZE = 1 << 16, /* bytes of the largest request */
	SIGNAL_EVERY = SLOTS,
	CQES = 129,
	LOG_BLOCKS = 8,
	BLOCKS = 1 << LOG_BLOCKS,
	RQ_SIZE = 64, /* bytes of a receive ring that is never used */
	LOG_RQ = 2,
	INLINE_MAX = DR_ENTRY_SIZE,
	WQE_MAX = 128,
	ARGUMENT_AT = 64, /* offset of the data in a request that writes arguments */
	ARGUMENT_SIZE = 64,
	OPCODE_WRITE_ARGUMENT = 0x2c,
	PAGE = 4096,
	POLLS_BEFORE_QUERY = 1 << 20,
};

/* Offsets in commands on queue pairs. */
enum {
	QPC = 0x18,
	QP_ACCESS = QPC + 0x90,
	COMMAND_SIZE = 0x110,
	QP_ANSWER_SIZE = 16,
	MIGRATED = 3 << 11,
	QUERY_HCA_CAP_OUT = 0x1010,
};

struct dr_ring {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct mlx5dv_cq entries; /* of the completion queue */
	uint32_t polled;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_umem *queue_umem, *record_umem;
	struct mlx5dv_devx_obj *qp;
	uint32_t qpn;
	char *queue;	   /* receive ring, then send ring */
	__be32 *records;   /* of the receive ring and of the send ring */
	char *data, *sink; /* slots with data of writes, and where the reads go */
	struct ibv_mr *data_mr, *sink_mr;
	uint32_t posted;      /* basic blocks */
	unsigned int slot;    /* next slot, free-running */
	unsigned int pending; /* requests that no completion covers */
	bool failed;
};

/* ---- creation */

static struct ibv_mr *memory_make(struct dr_ring *ring, size_t size, char **ret_memory)
{
	*ret_memory = aligned_alloc(PAGE, size);
	if (!*ret_memory) {
		errno = ENOMEM;
		return NULL;
	}
	memset(*ret_memory, 0, size);
	return ibv_reg_mr(ring->pd, *ret_memory, size,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ);
}

static struct mlx5dv_devx_umem *umem_make(struct dr_ring *ring, size_t size, void **ret_memory)
{
	*ret_memory = aligned_alloc(PAGE, ROUND_UP(size, (size_t)PAGE));
	if (!*ret_memory) {
		errno = ENOMEM;
		return NULL;
	}
	memset(*ret_memory, 0, size);
	return mlx5dv_devx_umem_reg(ring->context, *ret_memory, size, IBV_ACCESS_LOCAL_WRITE);
}

static int cq_make(struct dr_ring *ring)
{
	struct mlx5dv_obj obj = {};

	ring->cq = ibv_create_cq(ring->context, CQES, NULL, NULL, 0);
	if (!ring->cq)
		return -errno;
	obj.cq.in = ring->cq;
	obj.cq.out = &ring->entries;
	return -mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ);
}

static int qp_make(struct dr_ring *ring)
{
	uint32_t in[COMMAND_SIZE / 4] = {}, out[QP_ANSWER_SIZE / 4] = {};
	struct mlx5dv_pd pd;
	struct mlx5dv_obj obj = { .pd = { .in = ring->pd, .out = &pd } };
	int r = -mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);

	if (r < 0)
		return r;
	fw_set(in, 0, MLX5_FW_CREATE_QP << 16);
	fw_set(in, QPC, MIGRATED);
	fw_set(in, QPC + 4, pd.pdn);
	fw_set(in, QPC + 8, LOG_RQ << 19 | LOG_BLOCKS << 11);
	fw_set(in, QPC + 0xc, ring->uar->page_id);
	fw_set(in, QPC + 0x7c, ring->entries.cqn);
	fw_set(in, QPC + 0x9c, ring->entries.cqn);
	fw_set(in, QPC + 0xe4, ring->record_umem->umem_id);
	fw_set(in, 0x108, ring->queue_umem->umem_id);
	ring->qp = mlx5_fw_create(ring->context, "CREATE_QP", in, sizeof(in), out, sizeof(out));
	if (!ring->qp)
		return -errno;
	ring->qpn = ring->qp->object_id;
	return 0;
}

static int qp_modify(struct dr_ring *ring, uint32_t in[COMMAND_SIZE / 4], const char *name)
{
	uint32_t out[QP_ANSWER_SIZE / 4] = {};

	fw_set(in, 8, ring->qpn);
	return mlx5_fw_modify(ring->qp, name, in, COMMAND_SIZE, out, sizeof(out));
}

/* Connect the queue pair to itself, by the loopback that needs no address. */
static int qp_connect(struct dr_ring *ring)
{
	uint32_t init[COMMAND_SIZE / 4] = {}, rtr[COMMAND_SIZE / 4] = {},
				     rts[COMMAND_SIZE / 4] = {};
	int r;

	fw_set(init, 0, MLX5_FW_RST2INIT_QP << 16);
	fw_set(init, QPC, MIGRATED);
	fw_set(init, QPC + 0x3c, 1 << 16);	    /* port */
	fw_set(init, QP_ACCESS, 1 << 15 | 1 << 14); /* remote read and write */
	fw_set(rtr, 0, MLX5_FW_INIT2RTR_QP << 16);
	fw_set(rtr, QPC + 8, IBV_MTU_1024 << 29 | 24 << 24); /* messages of 2^24 bytes */
	fw_set(rtr, QPC + 0x14, ring->qpn);		     /* the peer */
	fw_set(rtr, QPC + 0x3c, 1 << 16);
	fw_set(rtr, QPC + 0x94, 1 << 24);  /* shortest RNR delay */
	fw_set(rtr, QPC + 0x18, 1u << 31); /* loopback */
	fw_set(rts, 0, MLX5_FW_RTR2RTS_QP << 16);
	fw_set(rts, QPC + 0x20, 8u << 27);	    /* timeout of acknowledgements */
	fw_set(rts, QPC + 0x70, 7 << 16 | 7 << 13); /* retries */
	r = qp_modify(ring, init, "RST2INIT_QP");
	if (!r)
		r = qp_modify(ring, rtr, "INIT2RTR_QP");
	return r ? r : qp_modify(ring, rts, "RTR2RTS_QP");
}

static int uar_make(struct dr_ring *ring)
{
	bool has_uncached = to_mctx(ring->context)->cq_uar_page_id >= 0;

	ring->uar = mlx5dv_devx_alloc_uar(ring->context, has_uncached ? MLX5DV_UAR_ALLOC_TYPE_NC
								      : MLX5DV_UAR_ALLOC_TYPE_BF);
	return ring->uar ? 0 : -errno;
}

static int ring_make(struct dr_ring *ring)
{
	void *queue, *records;
	int r = cq_make(ring);

	if (!r)
		r = uar_make(ring);
	if (r < 0)
		return r;
	ring->data_mr = memory_make(ring, SLOTS * (size_t)SLOT_SIZE, &ring->data);
	ring->sink_mr = ring->data_mr ? memory_make(ring, SLOT_SIZE, &ring->sink) : NULL;
	if (!ring->sink_mr)
		return -errno;
	ring->queue_umem = umem_make(ring, RQ_SIZE + BLOCKS * (size_t)MLX5_SEND_WQE_BB, &queue);
	ring->queue = queue;
	if (!ring->queue_umem)
		return -errno;
	ring->record_umem = umem_make(ring, 2 * sizeof(*ring->records), &records);
	ring->records = records;
	if (!ring->record_umem)
		return -errno;
	r = qp_make(ring);
	return r ? r : qp_connect(ring);
}

void dr_ring_close(struct dr_ring *ring)
{
	if (!ring)
		return;
	if (ring->qp)
		mlx5_fw_destroy(ring->qp);
	if (ring->record_umem)
		mlx5dv_devx_umem_dereg(ring->record_umem);
	if (ring->queue_umem)
		mlx5dv_devx_umem_dereg(ring->queue_umem);
	if (ring->sink_mr)
		ibv_dereg_mr(ring->sink_mr);
	if (ring->data_mr)
		ibv_dereg_mr(ring->data_mr);
	if (ring->uar)
		mlx5dv_devx_free_uar(ring->uar);
	if (ring->cq)
		ibv_destroy_cq(ring->cq);
	free(ring->records);
	free(ring->queue);
	free(ring->sink);
	free(ring->data);
	free(ring);
}

int dr_ring_open(struct ibv_context *ctx, struct ibv_pd *pd, struct dr_ring **ret)
{
	struct dr_ring *ring = calloc(1, sizeof(*ring));
	int r;

	if (!ring)
		return -ENOMEM;
	ring->context = ctx;
	ring->pd = pd;
	r = ring_make(ring);
	if (r < 0) {
		dr_ring_close(ring);
		return r;
	}
	*ret = ring;
	return 0;
}

/* ---- completions */

/* 1: there was one, 0: none, negative: a request failed. */
static int poll_one(struct dr_ring *ring)
{
	const struct mlx5dv_cq *cq = &ring->entries;
	const char *entry = (const char *)cq->buf +
			    (size_t)(ring->polled & (cq->cqe_cnt - 1)) * cq->cqe_size +
			    (cq->cqe_size - sizeof(struct mlx5_cqe64));
	uint8_t last = *(const volatile uint8_t *)(entry + sizeof(struct mlx5_cqe64) - 1);
	unsigned int opcode = last >> 4;

	if (opcode == MLX5_CQE_INVALID ||
	    (last & MLX5_CQE_OWNER_MASK) != !!(ring->polled & cq->cqe_cnt))
		return 0;
	barrier_from_device();
	ring->polled++;
	*(volatile __be32 *)cq->dbrec = htobe32(ring->polled & 0xffffff);
	if (opcode == MLX5_CQE_REQ)
		return 1;
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

/* Poll until fewer than @most requests are pending. An adapter that is gone completes nothing:
 * find this out by a command. */
static int wait_below(struct dr_ring *ring, unsigned int most)
{
	unsigned int polls = 0;

	while (ring->pending >= most) {
		int r = ring->failed ? -EIO : poll_one(ring);

		if (r < 0)
			return r;
		if (r)
			ring->pending -= SIGNAL_EVERY;
		else if (++polls % POLLS_BEFORE_QUERY == 0 && !is_alive(ring))
			ring->failed = true;
	}
	return 0;
}

/* Take completions. The ring has room for two batches of requests. */
static int completions_take(struct dr_ring *ring)
{
	int r = ring->failed ? -EIO : 0;

	if (!r && ring->pending >= 2 * SIGNAL_EVERY)
		return wait_below(ring, SIGNAL_EVERY);
	if (!r && ring->pending >= SIGNAL_EVERY)
		r = poll_one(ring);
	if (r > 0)
		ring->pending -= SIGNAL_EVERY;
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
	for (unsigned int i = 0; i < ds; i += MLX5_SEND_WQE_BB / MLX_SEGMENT) {
		memcpy(ring->queue + RQ_SIZE + (size_t)(ring->posted % BLOCKS) * MLX5_SEND_WQE_BB,
		       wqe + (size_t)i * MLX_SEGMENT, MLX5_SEND_WQE_BB);
		ring->posted++;
	}
}

/* Write a request into the ring, without announcing it. Return its first eight bytes. */
static uint64_t request_put(struct dr_ring *ring, uint8_t opcode, const struct piece *p)
{
	char wqe[WQE_MAX] __attribute__((aligned(16))) = {};
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)wqe;
	struct mlx5_wqe_raddr_seg *remote = (void *)(wqe + sizeof(*ctrl));
	unsigned int ds = 2 + data_put((char *)(remote + 1), p);
	uint64_t first;

	ring->pending++;
	ctrl->opmod_idx_opcode = htobe32((ring->posted & 0xffff) << 8 | opcode);
	ctrl->qpn_ds = htobe32(ring->qpn << 8 | ds);
	ctrl->fm_ce_se = ring->pending % SIGNAL_EVERY ? 0 : MLX5_WQE_CTRL_CQ_UPDATE;
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

/* Write a piece of at most SLOT_SIZE bytes, and read it back. */
static int piece_write(struct dr_ring *ring, struct piece p)
{
	int r = completions_take(ring);

	if (r < 0)
		return r;
	if (p.length > INLINE_MAX) {
		char *slot = ring->data + (size_t)(ring->slot++ % SLOTS) * SLOT_SIZE;

		memcpy(slot, p.local, p.length);
		p.local = slot;
		p.lkey = ring->data_mr->lkey;
	}
	request_put(ring, MLX5_OPCODE_RDMA_WRITE, &p);
	p.local = ring->sink;
	p.lkey = ring->sink_mr->lkey;
	announce(ring, request_put(ring, MLX5_OPCODE_RDMA_READ, &p));
	return 0;
}

int dr_ring_write(struct dr_ring *ring, uint64_t address, uint32_t rkey, const void *from,
		  size_t length)
{
	for (size_t at = 0; at < length; at += SLOT_SIZE) {
		int r = piece_write(ring, (struct piece){
						  .remote = address + at,
						  .rkey = rkey,
						  .length = min_of(length - at, (size_t)SLOT_SIZE),
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
	int r = completions_take(ring);
	uint64_t first;

	if (r < 0)
		return r;
	memcpy(wqe + ARGUMENT_AT, from, ARGUMENT_SIZE);
	ring->pending++;
	ctrl->opmod_idx_opcode =
		htobe32(1u << 24 | (ring->posted & 0xffff) << 8 | OPCODE_WRITE_ARGUMENT);
	ctrl->qpn_ds = htobe32(ring->qpn << 8 | WQE_MAX / MLX_SEGMENT);
	ctrl->fm_ce_se = ring->pending % SIGNAL_EVERY ? 0 : MLX5_WQE_CTRL_CQ_UPDATE;
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

/* Complete what is pending by requests that change nothing: they fill the last batch. */
int dr_ring_drain(struct dr_ring *ring)
{
	static const char zero[DR_ENTRY_SIZE];
	const struct piece nothing = {
		.remote = (uintptr_t)ring->sink,
		.rkey = ring->sink_mr->rkey,
		.length = sizeof(zero),
		.local = zero,
	};
	int r = completions_take(ring);

	while (!r && ring->pending % SIGNAL_EVERY) {
		announce(ring, request_put(ring, MLX5_OPCODE_RDMA_WRITE, &nothing));
		r = completions_take(ring);
	}
	return r < 0 ? r : wait_below(ring, 1);
}
