/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats of mlx5. All numbers in memory are big-endian. */
#ifndef DEVICES_MLX5_H
#define DEVICES_MLX5_H

#include "tests/adapters/lab/device/mlx.h"

enum {
	WQEBB = 64, /* a basic block of the send queue */
	SGE_SIZE = 16,
	SRQ_HEADER = 16,
	NEVER_ARMED = 0xffffffff,
	OP_COPY = 0x2f,
	OP_TAG = 0x28,
	NOWHERE = 0x7700, /* key of data that is discarded */
};

enum {
	CQE_REQ,
	CQE_RESP_WRITE_IMM,
	CQE_RESP_SEND,
	CQE_RESP_SEND_IMM,
	CQE_RESP_SEND_INV,
	CQE_RESIZE,
	CQE_NO_PACKET,
	CQE_REQ_ERROR = 13,
	CQE_RESP_ERROR,
};

struct mlx5_cqe {
	uint8_t path[24];
	uint32_t flags_rqpn;
	uint32_t header;
	uint32_t srqn_uidx;
	uint32_t immediate;
	uint32_t tag;
	uint32_t byte_count;
	union {
		uint64_t timestamp;
		struct {
			uint8_t reserved[6], vendor, syndrome;
		} error;
	};
	uint32_t opcode_qpn;
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};
_Static_assert(sizeof(struct mlx5_cqe) == 64, "");

/* Return whether the device has all capabilities: in run mode, and as the device mlx5-full. */
bool mlx5_is_full(void);
/* mlx5_clock.c: a counter of nanoseconds. */
uint64_t mlx5_clock_now(void);
void mlx5_clock_mapped(bool info, void *at);
void mlx5_clock_unmapped(const void *at);
void mlx5_clock_tick(void);

/* mlx5_cqe.c: encode a completion; the upper half of its last byte is its opcode. */
struct mlx5_cqe mlx5_completion(const struct completion *c, uint64_t timestamp);
/* Write an entry and count it. @low: the bits of its last byte beside opcode and owner. */
void mlx5_write_cqe(struct object *cq, struct mlx5_cqe *cqe, unsigned opcode, uint8_t low);
bool mlx5_armed(struct object *cq, struct arm *ret_arm);

/* mlx5_tag.c: write a completion of tag matching. Execute a request that changes a list: 1, 0 if
 * there is no room for its completion, or a negative errno. */
struct tagged;
void mlx5_tagged(struct object *cq, const struct tagged *what);
int mlx5_tag_op(struct object *qp, const uint8_t *segment, size_t length);

int mlx5_next_send(struct object *qp, struct work *work);
int mlx5_next_receive(struct object *queue, struct work *work);
/*
 * mlx5_umr.c: keys for a list of pieces of other keys. NULL: no such key.
 *
 * A request describes such a key from the segment behind the control segment on. A use of the
 * key becomes pieces of regions; a negative value means that the pieces do not exist.
 */
struct mlx5_list;
struct mlx5_list *mlx5_find_list(uint32_t key);
int mlx5_describe_list(struct mlx5_list *list, const uint8_t *segments, size_t length,
		       struct work *work);
void mlx5_forget_list(struct mlx5_list *list);
int mlx5_use_list(const struct mlx5_list *list, uint64_t offset, uint32_t length,
		  struct work *work);
/* The opcode of a work request of this kind. */
uint8_t mlx5_note_of(enum ibv_wr_opcode opcode);

#endif
