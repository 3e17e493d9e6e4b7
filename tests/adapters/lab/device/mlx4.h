/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats of mlx4. All numbers in memory are big-endian. */
#ifndef DEVICES_MLX4_H
#define DEVICES_MLX4_H

#include "tests/adapters/lab/device/mlx.h"

enum {
	SGE_SIZE = 16,
	SRQ_HEADER = 16,
	NEVER_ARMED = 0xffffffff,
};

enum {
	CQE_RESP_WRITE_IMM,
	CQE_RESP_SEND,
	CQE_RESP_SEND_IMM,
	CQE_RESP_SEND_INV,
	CQE_RESIZE = 0x16,
	CQE_ERROR = 0x1e,
};

struct mlx4_cqe {
	uint32_t my_qpn;
	uint32_t immediate;
	uint32_t grh_rqpn;
	uint16_t sl_vid, rlid;
	uint32_t status;
	uint32_t byte_count;
	uint16_t wqe_index;
	union {
		uint16_t checksum;
		struct {
			uint8_t vendor, syndrome;
		} error;
	};
	uint8_t reserved, stamp_8, stamp_0;
	uint8_t owner_opcode;
};
_Static_assert(sizeof(struct mlx4_cqe) == 32, "");

/* Mark all entries to come as not written, so that the process does not take them yet. */
void mlx4_disown(struct object *cq);
void mlx4_write_cqe(struct object *cq, struct mlx4_cqe *cqe, unsigned opcode, bool is_send);
unsigned mlx4_cqe_opcode(const struct completion *c);
struct mlx4_cqe mlx4_completion(const struct completion *c, bool ethernet, uint16_t timestamp);
/* Return whether the process has armed the CQ since the last call. */
bool mlx4_armed(struct object *cq, struct arm *ret_arm);
int mlx4_next_send(struct object *qp, struct work *work);
int mlx4_next_receive(struct object *queue, struct work *work);
/* The opcode of a work request of this kind. */
uint8_t mlx4_note_of(enum ibv_wr_opcode opcode);

#endif
