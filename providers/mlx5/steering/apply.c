/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The actions of a rule above level 0: their order, and their encoding in the last entry. */
#include "providers/mlx5/steering/steering.h"

/* The result of all actions of a rule. */
struct sum {
	const struct mlx5dv_dr_domain *domain;
	unsigned int counts[DR_ACTION_KINDS];
	bool has_destination;
	bool has_tag;
	uint32_t tag, counter;
	uint64_t to;	   /* address of the destination */
	uint16_t function; /* that the address belongs to */
};

static bool is_destination(enum dr_action_kind kind)
{
	return kind <= DR_ACTION_MISS || (kind >= DR_ACTION_QP && kind <= DR_ACTION_TABLE);
}

/* Return the address at which packets enter a queue. */
static int queue_add(struct sum *sum, uint64_t address)
{
	sum->to = address;
	return address ? 0 : -EINVAL;
}

static int drop_add(struct sum *sum)
{
	sum->to = sum->domain->caps.drop;
	sum->function = sum->domain->caps.drop >> 48;
	return 0;
}

static int action_add(struct sum *sum, const struct mlx5dv_dr_action *action)
{
	switch (action->kind) {
	case DR_ACTION_DROP:
		return drop_add(sum);
	case DR_ACTION_TAG:
		sum->has_tag = true;
		sum->tag = action->tag;
		return 0;
	case DR_ACTION_QP:
		return queue_add(sum, to_mqp(action->qp)->tir_icm_addr);
	case DR_ACTION_TIR:
		return queue_add(sum, action->tir->rx_icm_addr);
	case DR_ACTION_TABLE:
		if (action->table->domain != sum->domain)
			return -EINVAL;
		sum->to = dr_chunk_address(&action->table->anchor->chunk, 0);
		return 0;
	case DR_ACTION_COUNTER:
		sum->counter = action->counter.object->object_id + action->counter.offset;
		return 0;
	case DR_ACTION_MISS:
		return 0;
	default:
		/* The other actions exist only for root tables. */
		return -EINVAL;
	}
}

/* Check that the domain has the action, and that it may follow those before it. */
static int order_check(struct sum *sum, enum dr_action_kind kind)
{
	bool receives = sum->domain->type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX;

	if (!receives && (kind == DR_ACTION_TAG || kind == DR_ACTION_QP || kind == DR_ACTION_TIR))
		return -EOPNOTSUPP;
	if (sum->has_destination && kind != DR_ACTION_COUNTER)
		return -EOPNOTSUPP;
	sum->has_destination |= is_destination(kind);
	return 0;
}

/* A queue pair and a TIR are the same kind of destination. */
static unsigned int *count_of(struct sum *sum, enum dr_action_kind kind)
{
	return &sum->counts[kind == DR_ACTION_TIR ? DR_ACTION_QP : kind];
}

int dr_actions_apply(const struct mlx5dv_dr_rule *rule, uint8_t *image)
{
	const struct mlx5dv_dr_domain *domain = rule->matcher->table->domain;
	struct sum sum = {
		.domain = domain,
		.to = domain->caps.miss,
		.function = domain->caps.function,
	};

	for (size_t i = 0; i < rule->action_count; i++) {
		enum dr_action_kind kind = rule->actions[i]->kind;
		int r = action_add(&sum, rule->actions[i]);

		if (!r && ++*count_of(&sum, kind) > 1)
			r = -EINVAL;
		if (!r)
			r = order_check(&sum, kind);
		if (r < 0)
			return r;
	}
	if (sum.has_tag)
		dr_entry_set_flow_tag(image, sum.tag);
	dr_entry_set_counter(image, sum.counter);
	dr_entry_set_hit_function(image, sum.function);
	dr_entry_set_hit(image, sum.to, 1);
	return 0;
}
