/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that the shared decoder (tests/adapters/lab/device) calls. There the model of verbs
 * implements them. This file implements them for a played adapter. */
#include "tests/hosts/vm/pci/mlx5_host.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/device/mlx5.h"
#include "tests/adapters/lab/device/mlx5_steering.h"
#include "tests/adapters/lab/model/frame.h"
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

/* Requests are run, and not only traced. */
bool model_on(void)
{
	return true;
}

void trace_device_writes(void *to, const void *bytes, size_t length)
{
	memcpy(to, bytes, length);
}

uint32_t model_ring_key(struct object *qp, void *ring, size_t length)
{
	(void)qp;
	(void)ring;
	(void)length;
	return HCA_RING_KEY;
}

/* The adapter has no key whose data is discarded. */
bool mlx5_is_full(void)
{
	return false;
}

uint32_t model_null_lkey(struct object *pd)
{
	(void)pd;
	return 0;
}

/* No key is a list of pieces of other keys. */
struct mlx5_list *mlx5_find_list(uint32_t key)
{
	(void)key;
	return NULL;
}

int mlx5_describe_list(struct mlx5_list *list, const uint8_t *segments, size_t length,
		       struct work *work)
{
	(void)list;
	(void)segments;
	(void)length;
	(void)work;
	return -EOPNOTSUPP;
}

void mlx5_forget_list(struct mlx5_list *list)
{
	(void)list;
}

int mlx5_use_list(const struct mlx5_list *list, uint64_t offset, uint32_t length, struct work *work)
{
	(void)list;
	(void)offset;
	(void)length;
	(void)work;
	return -EOPNOTSUPP;
}

/* Do nothing, because this adapter does not emulate arguments of steering. */
void mlx5_argument_write(uint32_t id, const uint8_t *bytes)
{
	(void)id;
	(void)bytes;
}

int mlx5_tag_op(struct object *qp, const uint8_t *segment, size_t length)
{
	(void)qp;
	(void)segment;
	(void)length;
	return -EOPNOTSUPP;
}

/* Refuse the buffer of a frame, because this adapter does not make raw packet queue pairs. */
int model_gather(const struct object *queue, const struct ibv_sge *sge, void *to)
{
	(void)queue;
	(void)sge;
	(void)to;
	return EOPNOTSUPP;
}
