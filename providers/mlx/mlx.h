/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that ConnectX-3 and the later adapters share: the receive ring, shared receive queues and
 * the completion ring. InfiniHost has the same receive ring and the same segments. Only
 * providers/mlx4, providers/mlx5 and providers/mthca include this header.
 *
 * Locks, in the order in which they are taken:
 *
 * - mlx_cq.lock protects the consumer index, and the state of queue pairs and SRQs that completions
 *   change. spinlock_lock_both() orders the locks of two completion queues.
 *
 * - mlx_srq.lock protects the list of free requests.
 *
 * - mlx_rq.lock protects the receive ring.
 *
 * Any thread may post and poll. The polling thread writes the tail of a ring, with the lock of the
 * completion queue held. The posting thread reads the tail without that lock.
 *
 * The hot paths of both providers consist of inline functions of wqe.h, recv.h, srq.h, cq.h and
 * poll.h. Differences between the
 * families are arguments that are constant in each caller.
 */
#ifndef PROVIDERS_MLX_MLX_H
#define PROVIDERS_MLX_MLX_H

#include "providers/mlx/poll.h"
#include "providers/mlx/recv.h"
#include "providers/mlx/srq.h"

#endif
