/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/devices/device/mlx.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>
#include "tests/devices/model/model.h"
#include "tests/devices/shim/trace.h"

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

bool mlx_is_memory(const void *at, size_t length)
{
	const size_t page = 4096;
	const uint8_t *end = (const uint8_t *)at + length;
	char byte;

	for (const uint8_t *from = at; from < end; from += page - (uintptr_t)from % page) {
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
