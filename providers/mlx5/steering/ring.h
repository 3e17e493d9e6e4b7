/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The internal queue pair: it is connected to itself, and writes memory that only the adapter
 * reaches. An RDMA read of the same bytes follows each write, so that the adapter's tables are
 * written when the read completes. Every sixteenth request asks for a completion, and a request
 * waits only for room in the ring.
 */
#ifndef MLX5_STEERING_RING_H
#define MLX5_STEERING_RING_H

#include "providers/mlx5/steering/steering.h"

enum {
	DR_RING_SLOTS = 8,
	DR_RING_SLOT_SIZE = 1 << 16, /* bytes of the largest request */
	DR_RING_LOG_BLOCKS = 8,
	DR_RING_BLOCKS = 1 << DR_RING_LOG_BLOCKS,
	DR_RING_RQ_SIZE = 64, /* bytes of a receive ring that is never used */
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
	/* Positions count basic blocks from the beginning, and do not wrap. */
	uint64_t posted;		  /* end of the last request */
	uint64_t completed;		  /* end of the last request that is known to be complete */
	uint64_t ends[DR_RING_BLOCKS];	  /* by first block: the end of the request there */
	uint64_t slot_end[DR_RING_SLOTS]; /* end of the requests that use the data of a slot */
	unsigned int slot;		  /* next slot, free-running */
	unsigned int silent; /* requests behind the last one that asks for a completion */
	bool failed;
};

#endif
