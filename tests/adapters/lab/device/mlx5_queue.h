/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Raw packet queues, made by verbs and by commands to the firmware, and TIRs. A TIR leads a packet
 * to its queue, or to a queue of a table, which a hash chooses. */
#ifndef DEVICES_MLX5_QUEUE_H
#define DEVICES_MLX5_QUEUE_H

#include "tests/adapters/lab/device/mlx5_steering.h"

enum {
	HASH_KEY = 40,
};

/* The input of the hash that chooses one of several queues. */
struct mlx5_spread {
	uint64_t fields; /* bits of MLX5_RX_HASH_ */
	uint8_t key[HASH_KEY];
};

/* Give a queue pair the number of a TIR. */
void mlx5_tir_assign(struct object *qp);
/* Return the queue to which the address of a TIR leads a packet, or NULL. *ret_hash: 0: no hash */
struct object *mlx5_queue_find(const struct mlx5_packet *p, uint64_t address, uint32_t *ret_hash);

/*
 * Create a CQ, an RQ or an SQ of the firmware. EPROTONOSUPPORT: the command creates none of these.
 */
int mlx5_queue_create(struct object *object, struct firmware *f);
/* Change the state of an RQ or an SQ. */
void mlx5_queue_modify(struct object *queue, const struct firmware *f);

#endif
