/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Print the objects of a domain as records. A record is a line with the number of its type and with
 * further fields, separated by commas. Tools of rdma-core read this format.
 */
#include <inttypes.h>
#include <unistd.h>

#include "providers/mlx5/steering/action.h"

enum record {
	RECORD_DOMAIN = 3000,
	RECORD_PARSER = 3001,
	RECORD_DEVICE = 3002,
	RECORD_VPORT = 3003,
	RECORD_CAPS = 3004,
	RECORD_RING = 3005,
	RECORD_TABLE = 3100,
	RECORD_TABLE_SIDE = 3101, /* received packets; 3102: sent packets */
	RECORD_MATCHER = 3200,
	RECORD_MATCHER_SIDE = 3202, /* received packets; 3203: sent packets */
	RECORD_BUILDER = 3204,
	RECORD_MASK = 3205,
	RECORD_RULE = 3300,
	RECORD_ENTRY_0 = 3301, /* format 0, received packets; 3302: sent packets */
	RECORD_ENTRY_1 = 3303, /* other formats, received packets; 3304: sent packets */
};

enum {
	ENTRY_SHIFT = 6, /* addresses are printed in units of entries */
	PARTS = 7,
	PID_SHIFT = 8,
};

/* A file, and the id of the domain in its records. */
struct dump {
	FILE *file;
	struct mlx5dv_dr_domain *domain;
	uint64_t id;
};

static uint64_t id_of(const void *object)
{
	return (uintptr_t)object;
}

static uint32_t index_of(uint64_t address)
{
	return address >> ENTRY_SHIFT;
}

static void hex_print(const struct dump *d, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fprintf(d->file, "%02x", bytes[i]);
}

/* ---- domains */

static void parsers_print(const struct dump *d)
{
	static const char *const names[2][2] = { { "icmp_dw0", "icmp_dw1" },
						 { "icmpv6_dw0", "icmpv6_dw1" } };

	for (int six = 0; six < 2; six++) {
		for (int word = 0; word < 2; word++)
			fprintf(d->file, "%d,0x%" PRIx64 ",%s,0x%x\n", RECORD_PARSER, d->id,
				names[six][word], d->domain->caps.parsers.icmp[six][word]);
	}
}

static void software_print(const struct dump *d)
{
	const struct dr_caps *caps = &d->domain->caps;
	const struct dr_vport *vport = NULL;
	struct ibv_device_attr device = {};

	ibv_query_device(d->domain->context, &device);
	fprintf(d->file, "%d,0x%" PRIx64 ",0x%x,0x%" PRIx64 ",0x%" PRIx64 ",0x%x,%d,%d\n",
		RECORD_CAPS, d->id, caps->function, caps->adapter_drop[DR_RECEIVE],
		caps->adapter_drop[DR_SEND], caps->protocols,
		caps->is_switch_manager ? device.phys_port_cnt : 0, caps->is_switch_manager);
	while ((vport = dr_vport_next(d->domain, vport)))
		fprintf(d->file, "%d,0x%" PRIx64 ",%u,0x%x,0x%" PRIx64 ",0x%" PRIx64 "\n",
			RECORD_VPORT, d->id, vport->number, vport->function, vport->icm[DR_RECEIVE],
			vport->icm[DR_SEND]);
	parsers_print(d);
	fprintf(d->file, "%d,0x%" PRIx64 ",0x%" PRIx64 ",0x0,0x%x\n", RECORD_RING,
		id_of(d->domain->ring), d->id, dr_ring_number(d->domain->ring));
}

static void domain_print(const struct dump *d)
{
	const struct mlx5dv_dr_domain *domain = d->domain;
	unsigned int flags = domain->reclaims | domain->refuses_duplicates << 1;
	struct ibv_device_attr device = {};

	ibv_query_device(domain->context, &device);
	fprintf(d->file, "%d,0x%" PRIx64 ",%d,0%x,%d,%s,%s,%u,%u,%u,%u,%u\n", RECORD_DOMAIN, d->id,
		(int)domain->type, domain->caps.function, domain->has_software, RDMA_VERSION,
		domain->context->device->dev_name, flags,
		dr_pool_areas(&domain->pools[DR_POOL_ENTRIES]),
		dr_pool_areas(&domain->pools[DR_POOL_CHANGES]),
		dr_pool_areas(&domain->pools[DR_POOL_PATTERNS]), domain->caps.format);
	fprintf(d->file, "%d,0x%" PRIx64 ",%u,%s,0\n", RECORD_DEVICE, d->id, device.phys_port_cnt,
		device.fw_ver);
	if (domain->has_software)
		software_print(d);
}

/* ---- actions of a rule */

/* The fields that follow the ids in the record of an action. */
static const struct {
	uint16_t record;
	bool has_value;
} actions[DR_ACTION_KINDS] = {
	[DR_ACTION_DROP] = { 3403, false },	 [DR_ACTION_MISS] = { 3423, false },
	[DR_ACTION_TAG] = { 3407, true },	 [DR_ACTION_QP] = { 3404, true },
	[DR_ACTION_TIR] = { 3411, true },	 [DR_ACTION_TABLE] = { 3405, true },
	[DR_ACTION_COUNTER] = { 3406, true },	 [DR_ACTION_DECAP_L2] = { 3409, false },
	[DR_ACTION_DECAP_L3] = { 3410, true },	 [DR_ACTION_ENCAP_L2] = { 3400, true },
	[DR_ACTION_ENCAP_L3] = { 3401, true },	 [DR_ACTION_MODIFY] = { 3402, true },
	[DR_ACTION_POP] = { 3413, false },	 [DR_ACTION_PUSH] = { 3412, true },
	[DR_ACTION_VPORT] = { 3408, true },	 [DR_ACTION_METER] = { 3414, true },
	[DR_ACTION_SAMPLER] = { 3415, true },	 [DR_ACTION_ARRAY] = { 3416, true },
	[DR_ACTION_ROOT_TABLE] = { 3424, true }, [DR_ACTION_ASO_HIT] = { 3417, true },
	[DR_ACTION_ASO_METER] = { 3418, true },	 [DR_ACTION_ASO_CT] = { 3419, true },
};

static void addresses_print(const struct dump *d, const uint64_t icm[DR_HALVES])
{
	fprintf(d->file, ",0x%" PRIx64 ",0x%" PRIx64, icm[DR_RECEIVE], icm[DR_SEND]);
}

static void changes_print(const struct dump *d, const struct dr_changes *changes)
{
	fprintf(d->file, ",0x%x,%d", changes->pattern ? 0 : changes->index, changes->is_inline);
	if (changes->pattern)
		fprintf(d->file, ",0x%x,0x%x,0x%x", changes->count, changes->index,
			changes->argument_id);
}

/* Print the fields of an action that has more than one number. Return false for other actions. */
static bool object_print(const struct dump *d, const struct mlx5dv_dr_action *action)
{
	switch (action->kind) {
	case DR_ACTION_MODIFY:
		changes_print(d, &action->modify.changes);
		return true;
	case DR_ACTION_TABLE:
		fprintf(d->file, ",0x%x,0x%" PRIx64, action->table->object->object_id,
			id_of(action->table));
		return true;
	case DR_ACTION_METER:
		fprintf(d->file, ",0x%" PRIx64 ",0x%x", id_of(action->meter.next),
			action->meter.object->object_id);
		addresses_print(d, action->meter.icm);
		return true;
	case DR_ACTION_SAMPLER:
		fprintf(d->file, ",0x%" PRIx64 ",0x%x,0x%x", id_of(action->sampler.next),
			action->sampler.forward.table->object_id,
			action->sampler.object->object_id);
		addresses_print(d, action->sampler.icm);
		return true;
	case DR_ACTION_ARRAY:
		fprintf(d->file, ",0x%x", action->array.forward.table->object_id);
		addresses_print(d, action->array.forward.icm);
		return true;
	default:
		return false;
	}
}

static uint64_t number_of(const struct mlx5dv_dr_action *action)
{
	switch (action->kind) {
	case DR_ACTION_TAG:
		return action->tag;
	case DR_ACTION_QP:
		return action->qp->qp_num;
	case DR_ACTION_TIR:
		return action->tir->rx_icm_addr;
	case DR_ACTION_COUNTER:
		return action->counter.object->object_id + action->counter.offset;
	case DR_ACTION_DECAP_L3:
		return action->modify.changes.index;
	case DR_ACTION_ENCAP_L2:
	case DR_ACTION_ENCAP_L3:
		return action->reformat.id;
	case DR_ACTION_PUSH:
		return action->vlan;
	case DR_ACTION_VPORT:
		return action->vport->number;
	case DR_ACTION_ROOT_TABLE:
		return action->root.forward.table->object_id;
	default:
		return action->aso.object->object_id;
	}
}

static void action_print(const struct dump *d, const struct mlx5dv_dr_action *action, uint64_t rule)
{
	if (!actions[action->kind].record)
		return;
	fprintf(d->file, "%u,0x%" PRIx64 ",0x%" PRIx64, actions[action->kind].record, id_of(action),
		rule);
	if (actions[action->kind].has_value && !object_print(d, action))
		fprintf(d->file, ",0x%" PRIx64, number_of(action));
	fprintf(d->file, "\n");
}

/* ---- rules */

/* Print the entries of a path, the first one first. */
static void path_print(const struct dump *d, const struct mlx5dv_dr_rule *rule, enum dr_half half)
{
	const struct dr_entry *entries[DR_IMAGES_MAX], *e = rule->paths[half].last;
	const struct dr_side *side = &rule->matcher->sides[half];
	/* Entries with only actions are printed like those of the matcher. */
	size_t size = side->levels && dr_lookup_is_wide(side->builders[0].lookup) ? DR_IMAGE_SIZE
										  : DR_NARROW_SIZE;
	unsigned int count = 0;

	for (; e && count < DR_IMAGES_MAX; e = dr_entry_above(e))
		entries[count++] = e;
	while (count--) {
		e = entries[count];
		fprintf(d->file, "%d,0x%x,0x%" PRIx64 ",",
			(d->domain->caps.format ? RECORD_ENTRY_1 : RECORD_ENTRY_0) + half,
			index_of(dr_entry_address(e)), id_of(rule));
		hex_print(d, e->image, size);
		fprintf(d->file, "\n");
	}
}

static void rule_print(const struct dump *d, const struct mlx5dv_dr_rule *rule)
{
	fprintf(d->file, "%d,0x%" PRIx64 ",0x%" PRIx64 "\n", RECORD_RULE, id_of(rule),
		id_of(rule->matcher));
	if (rule->kernel)
		return;
	for (int half = 0; half < DR_HALVES; half++)
		path_print(d, rule, half);
	for (size_t i = 0; i < rule->action_count; i++)
		action_print(d, rule->actions[i], id_of(rule));
}

/* ---- matchers */

static void mask_print(const struct dump *d, const struct mlx5dv_dr_matcher *matcher)
{
	/* The inner headers are printed before the first part of other fields. */
	static const uint8_t order[PARTS] = { 0, 2, 1, 3, 4, 5, 6 };

	fprintf(d->file, "%d,0x%" PRIx64 ",", RECORD_MASK, id_of(matcher));
	for (unsigned int i = 0; i < PARTS; i++) {
		bool has = matcher->criteria >> order[i] & 1;

		for (unsigned int word = 0; has && word < DR_PART_WORDS; word++)
			fprintf(d->file, "%08x",
				matcher->mask.words[order[i] * DR_PART_WORDS + word]);
		if (i + 1 < PARTS || !has)
			fprintf(d->file, ",");
	}
	fprintf(d->file, "\n");
}

static void side_print(const struct dump *d, const struct dr_side *side)
{
	const struct mlx5dv_dr_matcher *matcher = side->matcher;

	fprintf(d->file, "%d,0x%" PRIx64 ",0x%" PRIx64 ",%u,0x%x,0x%x,%d\n",
		RECORD_MATCHER_SIDE + side->half, id_of(side), id_of(matcher), side->levels,
		index_of(dr_hash_address(side->start)), index_of(dr_hash_address(side->end)),
		matcher->fixed_size ? side->start->chunk.order : -1);
	for (unsigned int i = 0; i < side->levels; i++)
		fprintf(d->file, "%d,0x%" PRIx64 ",%u,%d,0x%x,%d\n", RECORD_BUILDER, id_of(matcher),
			i, side->half == DR_RECEIVE, side->builders[i].lookup,
			dr_lookup_is_wide(side->builders[i].lookup) ? side->definer_formats[i]
								    : -1);
}

static void matcher_print(const struct dump *d, const struct mlx5dv_dr_matcher *matcher)
{
	fprintf(d->file, "%d,0x%" PRIx64 ",0x%" PRIx64 ",%u\n", RECORD_MATCHER, id_of(matcher),
		id_of(matcher->table), matcher->priority);
	if (matcher->kernel)
		return;
	mask_print(d, matcher);
	for (int half = 0; half < DR_HALVES; half++) {
		if (matcher->sides[half].levels)
			side_print(d, &matcher->sides[half]);
	}
}

static void matcher_and_rules_print(const struct dump *d, struct mlx5dv_dr_matcher *matcher)
{
	const struct mlx5dv_dr_rule *rule;

	matcher_print(d, matcher);
	if (matcher->kernel)
		return;
	TAILQ_FOREACH(rule, &matcher->rules, link)
		rule_print(d, rule);
}

/* ---- tables */

static void table_print(const struct dump *d, const struct mlx5dv_dr_table *table)
{
	fprintf(d->file, "%d,0x%" PRIx64 ",0x%" PRIx64 ",%u,%u\n", RECORD_TABLE, id_of(table),
		d->id, table->level ? dr_table_type(d->domain) : 0, table->level);
	for (int half = 0; half < DR_HALVES; half++) {
		if (table->anchors[half])
			fprintf(d->file, "%d,0x%" PRIx64 ",0x%x\n", RECORD_TABLE_SIDE + half,
				id_of(table), index_of(dr_hash_address(table->anchors[half])));
	}
}

static void table_and_matchers_print(const struct dump *d, struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_matcher *matcher;

	table_print(d, table);
	TAILQ_FOREACH(matcher, &table->matchers, link)
		matcher_and_rules_print(d, matcher);
}

/* ---- for programs: 0, or a negative errno */

static struct dump begin(FILE *file, struct mlx5dv_dr_domain *domain)
{
	struct dump d = {
		.file = file,
		.domain = domain,
		.id = (uint64_t)getpid() << PID_SHIFT | (unsigned int)domain->type,
	};

	dr_lock(domain);
	domain_print(&d);
	return d;
}

static int finish(const struct dump *d)
{
	dr_unlock(d->domain);
	return ferror(d->file) ? -EIO : 0;
}

MLX5DV_EXPORT int mlx5dv_dump_dr_domain(FILE *fout, struct mlx5dv_dr_domain *domain)
{
	struct mlx5dv_dr_table *table;
	struct dump d;

	if (!fout || !domain)
		return -EINVAL;
	d = begin(fout, domain);
	TAILQ_FOREACH(table, &domain->tables, link)
		table_and_matchers_print(&d, table);
	return finish(&d);
}

MLX5DV_EXPORT int mlx5dv_dump_dr_table(FILE *fout, struct mlx5dv_dr_table *table)
{
	struct dump d;

	if (!fout || !table)
		return -EINVAL;
	d = begin(fout, table->domain);
	table_and_matchers_print(&d, table);
	return finish(&d);
}

MLX5DV_EXPORT int mlx5dv_dump_dr_matcher(FILE *fout, struct mlx5dv_dr_matcher *matcher)
{
	struct dump d;

	if (!fout || !matcher)
		return -EINVAL;
	d = begin(fout, matcher->table->domain);
	table_print(&d, matcher->table);
	matcher_and_rules_print(&d, matcher);
	return finish(&d);
}

MLX5DV_EXPORT int mlx5dv_dump_dr_rule(FILE *fout, struct mlx5dv_dr_rule *rule)
{
	struct dump d;

	if (!fout || !rule)
		return -EINVAL;
	d = begin(fout, rule->matcher->table->domain);
	table_print(&d, rule->matcher->table);
	matcher_print(&d, rule->matcher);
	rule_print(&d, rule);
	return finish(&d);
}
