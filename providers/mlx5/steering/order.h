/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of the actions of a rule. Only apply.c includes this header. The function takes no
 * lock. */
#ifndef MLX5_STEERING_ORDER_H
#define MLX5_STEERING_ORDER_H

#include "providers/mlx5/steering/action.h"

/* Check that an action may follow the earlier actions of its rule. @state: 0 before the first
 * action. Return 0 or -EOPNOTSUPP. */
int dr_order_check(const struct mlx5dv_dr_domain *domain, enum dr_half half, unsigned int *state,
		   enum dr_action_kind kind);

#endif
