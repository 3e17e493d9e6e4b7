/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/device/mlx.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

void mlx_write_cqe(struct object *cq, const void *cqe, size_t length)
{
	uint32_t index = cq->produced & (cq->ring.entries - 1);
	uint8_t *slot = cq->ring.base + (size_t)(index + 1) * cq->ring.stride - length;
	const uint8_t *bytes = cqe;

	if (model_on()) {
		memcpy(slot, bytes, length - 1);
		__atomic_store_n(slot + length - 1, bytes[length - 1], __ATOMIC_RELEASE);
	} else {
		trace_device_writes(slot, bytes, length);
	}
	cq->produced++;
}

uint32_t mlx_in_ring(const struct object *cq)
{
	return (cq->produced - be32toh(cq->ring.record[0])) & INDEX_24;
}

uint32_t mlx_room(struct object *cq)
{
	uint32_t used = mlx_in_ring(cq) + 1; /* one for the entry that ends a ring */

	return used < cq->ring.entries ? cq->ring.entries - used : 0;
}

uint8_t mlx_syndrome(enum ibv_wc_status status)
{
	enum {
		DEVICE_ERROR = 0x22,
	};
	static const uint8_t of[] = {
		[IBV_WC_LOC_LEN_ERR] = 0x01,	       [IBV_WC_LOC_QP_OP_ERR] = 0x02,
		[IBV_WC_LOC_PROT_ERR] = 0x04,	       [IBV_WC_WR_FLUSH_ERR] = 0x05,
		[IBV_WC_MW_BIND_ERR] = 0x06,	       [IBV_WC_BAD_RESP_ERR] = 0x10,
		[IBV_WC_LOC_ACCESS_ERR] = 0x11,	       [IBV_WC_REM_INV_REQ_ERR] = 0x12,
		[IBV_WC_REM_ACCESS_ERR] = 0x13,	       [IBV_WC_REM_OP_ERR] = 0x14,
		[IBV_WC_RETRY_EXC_ERR] = 0x15,	       [IBV_WC_RNR_RETRY_EXC_ERR] = 0x16,
		[IBV_WC_REM_ABORT_ERR] = DEVICE_ERROR,
	};

	return status < sizeof(of) && of[status] ? of[status] : DEVICE_ERROR;
}

enum mlx_received mlx_received(const struct completion *c)
{
	if (c->wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return MLX_RECEIVED_WRITE_IMM;
	if (c->wc->wc_flags & IBV_WC_WITH_INV)
		return MLX_RECEIVED_SEND_INV;
	return c->wc->wc_flags & IBV_WC_WITH_IMM ? MLX_RECEIVED_SEND_IMM : MLX_RECEIVED_SEND;
}

bool mlx_armed(struct object *cq, uint32_t serial, struct arm *ret_arm)
{
	uint32_t word = cq->ring.record[1];

	if (word == cq->arm_seen)
		return false;
	cq->arm_seen = word;
	word = be32toh(word);
	if ((word >> 28 & 3) != (serial & 3))
		return false;
	ret_arm->solicited = (word >> 24 & 3) == 1;
	ret_arm->consumed = cq->produced - ((cq->produced - word) & INDEX_24);
	return true;
}

bool mlx_is_memory(const void *at, size_t length)
{
	const uintptr_t page = 4096, begin = (uintptr_t)at;
	char byte;

	/* The address is a word of another program. */
	if (length > UINTPTR_MAX - begin)
		return false;
	for (uintptr_t from = begin; from < begin + length; from += page - from % page) {
		struct iovec here = { &byte, 1 }, there = { (void *)from, 1 };

		if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1)
			return false;
	}
	return true;
}

uint8_t mlx_note_of(const struct mlx_opcode *all, int count, enum ibv_wr_opcode opcode)
{
	for (int i = 0; i < count; i++) {
		if (all[i].opcode == opcode)
			return all[i].is;
	}
	return 0;
}

int mlx_find_opcode(const struct mlx_opcode *all, int count, uint8_t is)
{
	for (int i = 0; i < count; i++) {
		if (all[i].is == is)
			return all[i].opcode;
	}
	return -EOPNOTSUPP;
}
