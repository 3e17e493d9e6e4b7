/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Root tables in run mode. The kernel's matchers and rules are compared with the outer headers of a
 * frame. A rule executes its actions, then sends the frame to a table or to a TIR, or drops it. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdlib.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include "tests/adapters/lab/shim/attribute.h"

enum {
	OUTER_WORDS = 16,
	OP_CREATE_FLOW_TABLE = 0x930,
	OP_CREATE_TIR = 0x900,
	OP_ALLOC_COUNTER = 0x939,
	LIST_MOST = 8, /* actions or counters of a rule */
	ID_MASK = 0xffffff,
	MATCHER = 1, /* stands in place of an opcode for a matcher of the kernel */
	CRITERIA_OUTER = 1,
};

/* The kernel's data of a matcher and of a rule. */
struct root_matcher {
	uint16_t priority;
	uint8_t criteria;
	enum mlx5_tables tables;
	uint32_t mask[OUTER_WORDS];
};

struct root_rule {
	const struct object *matcher;
	/* Handles of an object of the firmware and of a queue pair; 0: none */
	uint32_t to, qp;
	unsigned action_count, counter_count;
	uint32_t actions[LIST_MOST], counters[LIST_MOST];
	bool has_tag, misses, drops;
	uint32_t tag;
	uint32_t value[OUTER_WORDS];
};

/* Read big-endian words; missing bytes are 0. */
static void words_read(struct ib_uverbs_ioctl_hdr *call, uint16_t id, uint32_t words[OUTER_WORDS])
{
	const struct ib_uverbs_attr *attr = find(call, id);
	uint8_t bytes[4 * OUTER_WORDS] = { 0 };

	if (attr)
		memcpy(bytes, input(attr), attr->len < sizeof(bytes) ? attr->len : sizeof(bytes));
	for (int i = 0; i < OUTER_WORDS; i++)
		words[i] = get32(bytes + 4 * i);
}

int mlx5_root_matcher(struct object *object, struct ib_uverbs_ioctl_hdr *call)
{
	struct devx *devx = calloc(1, sizeof(*devx));
	struct root_matcher *m = calloc(1, sizeof(*m));

	if (!devx || !m)
		abort();
	m->priority = number(call, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE);
	m->tables = number(call, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE);
	m->criteria = number(call, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA);
	words_read(call, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, m->mask);
	*devx = (struct devx){ .opcode = MATCHER, .body = (uint8_t *)m, .length = sizeof(*m) };
	object->device = devx;
	return m->criteria & ~CRITERIA_OUTER ? EOPNOTSUPP : 0;
}

/* Read an array of handles. */
static unsigned handles_read(struct ib_uverbs_ioctl_hdr *call, uint16_t id, uint32_t ret[LIST_MOST])
{
	const struct ib_uverbs_attr *attr = find(call, id);
	unsigned count = attr ? attr->len / sizeof(ret[0]) : 0;

	if (count > LIST_MOST)
		abort();
	if (count)
		memcpy(ret, input(attr), count * sizeof(ret[0]));
	return count;
}

/* Replace the handles of counters by numbers of the firmware. */
static int counters_read(struct ib_uverbs_ioctl_hdr *call, struct root_rule *rule)
{
	uint32_t offsets[LIST_MOST] = { 0 };

	rule->counter_count =
		handles_read(call, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX, rule->counters);
	handles_read(call, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET, offsets);
	for (unsigned i = 0; i < rule->counter_count; i++) {
		const struct object *object = object_find(OBJECT_PRIVATE, rule->counters[i]);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (!devx || devx->opcode != OP_ALLOC_COUNTER)
			return EINVAL;
		rule->counters[i] = devx->id + offsets[i];
	}
	return 0;
}

int mlx5_root_rule(struct object *object, struct ib_uverbs_ioctl_hdr *call)
{
	struct root_rule *rule = calloc(1, sizeof(*rule));

	if (!rule)
		abort();
	rule->matcher = object_find(OBJECT_PRIVATE, number(call, MLX5_IB_ATTR_CREATE_FLOW_MATCHER));
	rule->to = number(call, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX);
	rule->qp = number(call, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP);
	rule->has_tag = find(call, MLX5_IB_ATTR_CREATE_FLOW_TAG);
	rule->tag = number(call, MLX5_IB_ATTR_CREATE_FLOW_TAG);
	rule->misses = number(call, MLX5_IB_ATTR_CREATE_FLOW_FLAGS) &
		       MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS;
	rule->drops =
		number(call, MLX5_IB_ATTR_CREATE_FLOW_FLAGS) & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP;
	rule->action_count =
		handles_read(call, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS, rule->actions);
	words_read(call, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, rule->value);
	object->device = rule;
	return rule->matcher ? counters_read(call, rule) : EINVAL;
}

static const struct root_matcher *matcher_of(const struct root_rule *rule)
{
	return (const struct root_matcher *)devx_of(rule->matcher)->body;
}

/* The outer headers in the format of match parameters. */
static void words_make(const struct mlx5_headers *h, uint32_t words[OUTER_WORDS])
{
	const uint32_t l4 = (uint32_t)h->sport << 16 | h->dport;
	const uint32_t made[OUTER_WORDS] = {
		h->smac >> 16,
		(uint32_t)(h->smac & 0xffff) << 16 | h->ethertype,
		h->dmac >> 16,
		(uint32_t)(h->dmac & 0xffff) << 16 | h->vlan,
		(uint32_t)h->ip_protocol << 24 | (uint32_t)h->dscp << 18 | (uint32_t)h->ecn << 16 |
			(uint32_t)(h->vlan_kind == 2) << 15 | (uint32_t)(h->vlan_kind == 1) << 14 |
			(uint32_t)h->fragment << 13 | (uint32_t)h->ip_version << 9 | h->tcp_flags,
		h->l4 == 1 ? l4 : 0,
		(uint32_t)h->ihl << 12 | h->ttl,
		h->l4 == 2 ? l4 : 0,
		h->src[0],
		h->src[1],
		h->src[2],
		h->src[3],
		h->dst[0],
		h->dst[1],
		h->dst[2],
		h->dst[3],
	};

	memcpy(words, made, sizeof(made));
}

static bool is_match(const struct root_rule *rule, const uint32_t words[OUTER_WORDS])
{
	const struct root_matcher *m = matcher_of(rule);

	for (int i = 0; m->criteria && i < OUTER_WORDS; i++) {
		if ((words[i] & m->mask[i]) != (rule->value[i] & m->mask[i]))
			return false;
	}
	return true;
}

/* Return the rule with the lowest priority that the frame matches, or NULL. */
static const struct root_rule *rule_find(enum mlx5_tables tables, const uint32_t words[OUTER_WORDS])
{
	const struct root_rule *best = NULL;

	for (uint32_t i = 0; i < object_count(OBJECT_FLOW); i++) {
		const struct object *object = object_at(OBJECT_FLOW, i);
		const struct root_rule *rule = object ? object->device : NULL;

		if (rule && matcher_of(rule)->tables == tables && is_match(rule, words) &&
		    (!best || matcher_of(rule)->priority < matcher_of(best)->priority))
			best = rule;
	}
	return best;
}

/* Return the address to which a rule sends the packet. */
static uint64_t destination(const struct root_rule *rule, enum mlx5_tables tables, bool is_sent)
{
	const struct object *to = object_find(OBJECT_PRIVATE, rule->to),
			    *qp = object_find(OBJECT_QP, rule->qp);
	const struct devx *devx = to ? devx_of(to) : NULL;

	if (qp)
		return LAB_TIR(qp->tir);
	if (devx && devx->opcode == OP_CREATE_TIR)
		return LAB_TIR(devx->id & ID_MASK);
	if (devx && devx->opcode == OP_CREATE_FLOW_TABLE)
		return mlx5_table_enter(devx->id & ID_MASK, is_sent);
	return tables == TABLES_SEND && !rule->drops ? LAB_ALLOW_TX : LAB_DROP_RX;
}

/* Execute a rule. A tag that a later table sets replaces the tag of this rule. */
static int rule_run(const struct root_rule *rule, struct mlx5_packet *p, enum mlx5_tables tables,
		    struct lab_steered *ret)
{
	int r = 0;

	for (unsigned i = 0; i < rule->counter_count; i++)
		mlx5_counter_hit(rule->counters[i], p->length);
	for (unsigned i = 0; !r && i < rule->action_count; i++) {
		const struct object *action = object_find(OBJECT_PRIVATE, rule->actions[i]);

		r = action && action->device ? mlx5_rule_act(action, p) : EINVAL;
	}
	if (!r)
		r = mlx5_walk(p, destination(rule, tables, !p->from_wire), ret);
	if (rule->has_tag && !ret->has_tag) {
		ret->has_tag = true;
		ret->tag = rule->tag;
	}
	return r;
}

int mlx5_root_pass(struct mlx5_packet *p, enum mlx5_tables tables, struct lab_steered *ret)
{
	const struct root_rule *rule;
	uint32_t words[OUTER_WORDS];

	words_make(&p->headers[0], words);
	rule = rule_find(tables, words);
	return !rule || rule->misses ? ENOENT : rule_run(rule, p, tables, ret);
}

__attribute__((visibility("default"))) int lab_steer_root(const void *frame, size_t length,
							  struct lab_steered *ret)
{
	struct mlx5_packet packet;
	int r;

	*ret = (struct lab_steered){ .at = LAB_DROP_RX };
	if (!mlx5_packet_make(frame, length, NULL, &packet))
		return EINVAL;
	pthread_mutex_lock(&device_lock);
	r = mlx5_root_pass(&packet, TABLES_RECEIVE, ret);
	pthread_mutex_unlock(&device_lock);
	return r;
}
