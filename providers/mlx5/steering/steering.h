/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steering by software, mlx5dv_dr_*(): a program builds tables of rules for packets. The kernel
 * owns the tables of level 0, the root tables. A rule of a root table is a rule of the kernel.
 *
 * Only files of this folder include this header. Programs use infiniband/mlx5/dr.h.
 *
 * Threads: all functions may run at the same time on the same domain. A program must not destroy
 * an object while another of its threads uses it.
 *
 * Locks: none. Members of an object do not change after its creation, except for its counter of
 * users, which is atomic.
 *
 * References: an object counts its users, and the destroy function returns EBUSY while there are
 * users. A table uses its domain, a matcher its table, a rule its matcher and its actions. An
 * action uses the domain that it was created with. A queue pair or an object of the firmware is
 * not counted: it belongs to the program.
 */
#ifndef MLX5_STEERING_H
#define MLX5_STEERING_H

#include <stdatomic.h>

#include "providers/mlx5/direct/direct.h"

struct mlx5dv_dr_domain {
	struct ibv_context *context;
	enum mlx5dv_dr_domain_type type;
	atomic_uint users;
};

struct mlx5dv_dr_table {
	struct mlx5dv_dr_domain *domain;
	uint32_t level;
	atomic_uint users;
};

struct mlx5dv_dr_matcher {
	struct mlx5dv_dr_table *table;
	atomic_uint users;
	struct mlx5dv_flow_matcher *kernel; /* of a root table */
};

struct mlx5dv_dr_rule {
	struct mlx5dv_dr_matcher *matcher;
	struct ibv_flow *kernel; /* of a root table */
	size_t action_count;
	struct mlx5dv_dr_action *actions[];
};

enum dr_action_kind {
	DR_ACTION_DROP,
	DR_ACTION_MISS,
	DR_ACTION_TAG,
	DR_ACTION_QP,
	DR_ACTION_TIR,
	DR_ACTION_COUNTER,
	DR_ACTION_REFORMAT,
	DR_ACTION_MODIFY,
	DR_ACTION_KINDS,
};

struct mlx5dv_dr_action {
	enum dr_action_kind kind;
	atomic_uint users;
	struct mlx5dv_dr_domain *domain; /* NULL: the action was created without one */
	union {
		uint32_t tag;
		struct ibv_qp *qp;
		struct mlx5dv_devx_obj *tir;
		struct {
			struct mlx5dv_devx_obj *object;
			uint32_t offset;
		} counter;
		struct ibv_flow_action *kernel; /* DR_ACTION_REFORMAT and DR_ACTION_MODIFY */
	};
};

static inline void dr_use(atomic_uint *users)
{
	atomic_fetch_add_explicit(users, 1, memory_order_relaxed);
}

/* Release pairs with the acquire of dr_is_used(): the destroyer sees the writes of the user. */
static inline void dr_leave(atomic_uint *users)
{
	atomic_fetch_sub_explicit(users, 1, memory_order_release);
}

static inline bool dr_is_used(atomic_uint *users)
{
	return atomic_load_explicit(users, memory_order_acquire);
}

/* Log why a function fails. Return @r, a negative errno. */
int dr_refuse(struct ibv_context *ctx, const char *function, const char *why, int r);

/* root.c: objects of root tables. Return 0 or a negative errno. */
enum mlx5dv_flow_table_type dr_root_type(const struct mlx5dv_dr_domain *domain);
int dr_root_matcher_create(struct mlx5dv_dr_matcher *matcher, uint16_t priority, uint8_t criteria,
			   struct mlx5dv_flow_match_parameters *mask);
int dr_root_matcher_destroy(struct mlx5dv_dr_matcher *matcher);
int dr_root_rule_create(struct mlx5dv_dr_rule *rule, struct mlx5dv_flow_match_parameters *value);
int dr_root_rule_destroy(struct mlx5dv_dr_rule *rule);

#endif
