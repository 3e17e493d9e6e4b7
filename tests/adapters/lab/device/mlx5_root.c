/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Root tables in run mode: the kernel's matchers and rules, compared with the outer headers of a
 * frame. Their destination is a table that software owns, or the packet is dropped. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdlib.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include "tests/adapters/lab/shim/attribute.h"

enum {
	OUTER_WORDS = 16,
	OP_CREATE_FLOW_TABLE = 0x930,
	ROOT_ADDRESS = 0x38, /* in the command that creates a table */
	MATCHER = 1,	     /* no opcode: a matcher of the kernel */
	CRITERIA_OUTER = 1,
};

/* The kernel's data of a matcher and of a rule. */
struct root_matcher {
	uint16_t priority;
	uint8_t criteria;
	uint32_t mask[OUTER_WORDS];
};

struct root_rule {
	const struct object *matcher;
	const struct object *to; /* an object of the firmware, or NULL */
	uint32_t value[OUTER_WORDS];
};

/* Read big-endian words; missing ones are 0. */
static void words_read(struct ib_uverbs_ioctl_hdr *call, uint16_t id, uint32_t words[OUTER_WORDS])
{
	const struct ib_uverbs_attr *attr = find(call, id);
	const uint8_t *bytes = input(attr);

	for (int i = 0; i < OUTER_WORDS; i++)
		words[i] = attr && attr->len >= 4 * (i + 1) ? get32(bytes + 4 * i) : 0;
}

int mlx5_root_matcher(struct object *object, struct ib_uverbs_ioctl_hdr *call)
{
	struct devx *devx = calloc(1, sizeof(*devx));
	struct root_matcher *m = calloc(1, sizeof(*m));

	if (!devx || !m)
		abort();
	m->priority = number(call, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE);
	m->criteria = number(call, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA);
	words_read(call, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, m->mask);
	*devx = (struct devx){ .opcode = MATCHER, .body = (uint8_t *)m, .length = sizeof(*m) };
	object->device = devx;
	return m->criteria & ~CRITERIA_OUTER ? EOPNOTSUPP : 0;
}

int mlx5_root_rule(struct object *object, struct ib_uverbs_ioctl_hdr *call)
{
	const struct ib_uverbs_attr *to = find(call, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX);
	struct root_rule *rule = calloc(1, sizeof(*rule));

	if (!rule)
		abort();
	rule->matcher = object_find(OBJECT_PRIVATE, number(call, MLX5_IB_ATTR_CREATE_FLOW_MATCHER));
	rule->to = to ? object_find(OBJECT_PRIVATE, to->data) : NULL;
	words_read(call, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, rule->value);
	object->device = rule;
	return rule->matcher ? 0 : EINVAL;
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
static const struct root_rule *rule_find(const uint32_t words[OUTER_WORDS])
{
	const struct root_rule *best = NULL;

	for (uint32_t i = 0; i < object_count(OBJECT_FLOW); i++) {
		const struct object *object = object_at(OBJECT_FLOW, i);
		const struct root_rule *rule = object ? object->device : NULL;

		if (rule && is_match(rule, words) &&
		    (!best || matcher_of(rule)->priority < matcher_of(best)->priority))
			best = rule;
	}
	return best;
}

__attribute__((visibility("default"))) int lab_steer_root(const void *frame, size_t length,
							  struct lab_steered *ret)
{
	const struct root_rule *rule;
	uint32_t words[OUTER_WORDS];
	struct mlx5_packet packet;
	const struct devx *to;
	int r;

	*ret = (struct lab_steered){ .at = LAB_DROP_RX };
	if (!mlx5_packet_make(frame, length, NULL, &packet))
		return EINVAL;
	words_make(&packet.headers[0], words);
	pthread_mutex_lock(&device_lock);
	rule = rule_find(words);
	to = rule && rule->to ? devx_of(rule->to) : NULL;
	if (!rule)
		r = ENOENT;
	else if (!to)
		r = 0;
	else
		r = to->opcode == OP_CREATE_FLOW_TABLE
			    ? mlx5_walk(&packet, get64(to->body + ROOT_ADDRESS), ret)
			    : EOPNOTSUPP;
	pthread_mutex_unlock(&device_lock);
	return r;
}
