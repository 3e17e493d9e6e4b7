/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Create and destroy the internal queue pair. */
#include <stdlib.h>

#include "providers/mlx5/steering/ring.h"

enum {
	CQES = 129,
	LOG_RQ = 2,
	PAGE = 4096,
};

/* Offsets in commands on queue pairs. */
enum {
	QPC = 0x18,
	QP_ACCESS = QPC + 0x90,
	COMMAND_SIZE = 0x110,
	QP_ANSWER_SIZE = 16,
	MIGRATED = 3 << 11,
};

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
	fw_set(in, QPC + 8, LOG_RQ << 19 | DR_RING_LOG_BLOCKS << 11);
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
	ring->data_mr = memory_make(ring, DR_RING_SLOTS * (size_t)DR_RING_SLOT_SIZE, &ring->data);
	ring->sink_mr = ring->data_mr ? memory_make(ring, DR_RING_SLOT_SIZE, &ring->sink) : NULL;
	if (!ring->sink_mr)
		return -errno;
	ring->queue_umem = umem_make(
		ring, DR_RING_RQ_SIZE + DR_RING_BLOCKS * (size_t)MLX5_SEND_WQE_BB, &queue);
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
