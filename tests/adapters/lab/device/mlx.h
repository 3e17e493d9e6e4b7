/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the devices mlx4 and mlx5: rings of completions, and numbers of opcodes. */
#ifndef DEVICES_MLX_H
#define DEVICES_MLX_H

#include "tests/adapters/lab/device/bytes.h"
#include "tests/adapters/lab/device/device.h"

enum {
	INDEX_24 = 0xffffff,
};

/* Write the next entry at the end of its place in the ring. Its last byte, which marks it as valid,
 * comes last. */
void mlx_write_cqe(struct object *cq, const void *cqe, size_t length);
/* Return the number of completions that the process has not seen. */
uint32_t mlx_in_ring(const struct object *cq);
uint32_t mlx_room(struct object *cq);
/* Return the code for a status in an error completion. */
uint8_t mlx_syndrome(enum ibv_wc_status status);

/* Kinds of a received message, in the order of their opcodes in completions. */
enum mlx_received {
	MLX_RECEIVED_WRITE_IMM,
	MLX_RECEIVED_SEND,
	MLX_RECEIVED_SEND_IMM,
	MLX_RECEIVED_SEND_INV,
};
enum mlx_received mlx_received(const struct completion *c);

/* Return whether the process has armed the CQ since the last call. The record has a serial number,
 * the count of events that the process has read. A record arms the CQ only if its number is
 * @serial. */
bool mlx_armed(struct object *cq, uint32_t serial, struct arm *ret_arm);
/* Whether the whole range is memory of the process. A kernel pins memory before a device writes. */
bool mlx_is_memory(const void *at, size_t length);

struct mlx_opcode {
	uint8_t is;
	enum ibv_wr_opcode opcode;
};

/* 0: none. */
uint8_t mlx_note_of(const struct mlx_opcode *all, int count, enum ibv_wr_opcode opcode);
/* An IBV_WR_; -EOPNOTSUPP. */
int mlx_find_opcode(const struct mlx_opcode *all, int count, uint8_t is);

#endif
