/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of mlx5: the formats of the adapter's queues, objects with attributes of their own,
 * and commands to the firmware. For an object of a device that mlx5 does not serve, and for
 * features that this library does not have, functions return EOPNOTSUPP, or NULL with that errno.
 * Unless documented otherwise, they return 0 or an errno, or NULL with an errno.
 */
#ifndef _MLX5DV_H_
#define _MLX5DV_H_

#include <stdio.h>
#include <stdbool.h>
#include <stddef.h>
#include <endian.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <infiniband/tm_types.h>
#include <infiniband/mlx5_api.h>

#include <infiniband/mlx5/wqe.h>
#include <infiniband/mlx5/cqe.h>
#include <infiniband/mlx5/device.h>
#include <infiniband/mlx5/object.h>
#include <infiniband/mlx5/create.h>
#include <infiniband/mlx5/mkey.h>
#include <infiniband/mlx5/devx.h>
#include <infiniband/mlx5/flow.h>
#include <infiniband/mlx5/dr.h>

#endif
