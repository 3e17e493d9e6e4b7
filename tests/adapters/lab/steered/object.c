/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of the cases. */
#include <arpa/inet.h>

#include "tests/adapters/lab/steered/steered.h"

enum {
	CREATE_TIR = 0x900,
	ALLOC_COUNTER = 0x939,
	COMMAND_WORDS = 68,
};

struct ibv_context *context;
struct mlx5dv_dr_domain *domain;
uint64_t tir_at[TIRS];
struct mlx5dv_dr_action *to[TIRS], *drop;

static struct made {
	enum kind kind;
	void *object; /* NULL: it is destroyed */
} made[4 * RULES];
static unsigned made_count;

void *keep(enum kind kind, void *object, const char *what)
{
	must(object && made_count < sizeof(made) / sizeof(made[0]), what);
	made[made_count++] = (struct made){ kind, object };
	return object;
}

static int destroy(const struct made *m)
{
	switch (m->kind) {
	case MADE_TABLE:
		return mlx5dv_dr_table_destroy(m->object);
	case MADE_MATCHER:
		return mlx5dv_dr_matcher_destroy(m->object);
	case MADE_RULE:
		return mlx5dv_dr_rule_destroy(m->object);
	case MADE_ACTION:
		return mlx5dv_dr_action_destroy(m->object);
	default:
		return mlx5dv_devx_obj_destroy(m->object);
	}
}

int end(void *object)
{
	for (unsigned i = made_count; i--;) {
		int r;

		if (made[i].object != object)
			continue;
		r = destroy(&made[i]);
		if (!r)
			made[i].object = NULL;
		return r;
	}
	return ENOENT;
}

/* ---- the objects of all cases */

static void tir_make(unsigned i)
{
	uint32_t in[COMMAND_WORDS] = { htonl(CREATE_TIR << 16) }, out[4] = { 0 };
	struct mlx5dv_devx_obj *tir =
		keep(MADE_DEVX, mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)),
		     "TIR");

	tir_at[i] = (uint64_t)(ntohl(out[2]) >> 24) << 32 | ntohl(out[3]);
	to[i] = keep(MADE_ACTION, mlx5dv_dr_action_create_dest_devx_tir(tir), "action");
}

void objects_open(enum mlx5dv_dr_domain_type type)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };

	must(list && list[0], "device");
	context = mlx5dv_open_device(list[0], &attr);
	must(context, "context");
	ibv_free_device_list(list);
	domain = mlx5dv_dr_domain_create(context, type);
	must(domain, "domain");
	for (unsigned i = 0; i < TIRS; i++)
		tir_make(i);
	drop = keep(MADE_ACTION, mlx5dv_dr_action_create_drop(), "drop");
}

void objects_close(void)
{
	while (made_count--) {
		if (made[made_count].object)
			must(!destroy(&made[made_count]), "end of an object");
	}
	must(!mlx5dv_dr_domain_destroy(domain), "end of the domain");
	must(!ibv_close_device(context), "end of the context");
}

/* ---- objects of a case */

struct mlx5dv_dr_table *table_make(uint32_t level)
{
	return keep(MADE_TABLE, mlx5dv_dr_table_create(domain, level), "table");
}

struct mlx5dv_dr_matcher *matcher_make(struct mlx5dv_dr_table *table, uint16_t priority,
				       uint8_t criteria, struct match *mask)
{
	return keep(MADE_MATCHER, mlx5dv_dr_matcher_create(table, priority, criteria, (void *)mask),
		    "matcher");
}

struct mlx5dv_dr_action *tag_make(uint32_t tag)
{
	return keep(MADE_ACTION, mlx5dv_dr_action_create_tag(tag), "tag");
}

struct mlx5dv_dr_action *counter_make(uint32_t offset)
{
	uint32_t in[8] = { htonl(ALLOC_COUNTER << 16) }, out[4] = { 0 };
	struct mlx5dv_devx_obj *object =
		keep(MADE_DEVX, mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out)),
		     "object");

	return keep(MADE_ACTION, mlx5dv_dr_action_create_flow_counter(object, offset), "counter");
}

struct mlx5dv_dr_rule *rule_make(struct mlx5dv_dr_matcher *matcher, struct match *value,
				 size_t count, struct mlx5dv_dr_action *actions[])
{
	return keep(MADE_RULE, mlx5dv_dr_rule_create(matcher, (void *)value, count, actions),
		    "rule");
}

void rule_end(struct mlx5dv_dr_rule *rule)
{
	must(!end(rule), "end of a rule");
}

void rules_sync(void)
{
	must(!mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW |
						    MLX5DV_DR_DOMAIN_SYNC_FLAGS_HW),
	     "sync");
}

struct mlx5dv_dr_action *act(struct mlx5dv_dr_action *action)
{
	return keep(MADE_ACTION, action, "action");
}

void rules_for(struct mlx5dv_dr_table *table, struct mlx5dv_dr_action *lists[][6],
	       const size_t lengths[], unsigned count)
{
	struct match mask = { 0 }, value = { 0 };
	struct mlx5dv_dr_matcher *matcher;

	set_mac(&mask, dmac_high, dmac_low, ~0ull);
	matcher = matcher_make(table, 1, 1, &mask);
	for (unsigned i = 0; i < count; i++) {
		set_mac(&value, dmac_high, dmac_low, plain.dmac + i);
		rule_make(matcher, &value, lengths[i], lists[i]);
	}
	rules_sync();
}
