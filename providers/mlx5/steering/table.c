/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables: level 0 is the root table, which belongs to the kernel. Packets enter other tables at an
 * anchor, whose address the firmware knows. */
#include "providers/mlx5/steering/steering.h"

enum {
	TABLE_IN = 0x40,
	SOFTWARE_OWNER = 1 << 29,
	LEVEL_SHIFT = 16,
	TYPE_SHIFT = 24,
	ROOT_0 = 0x38, /* addresses of the anchors */
	ROOT_1 = 0x30, /* in the switch: address of the anchor of sent packets */
};

/* Create the table of the firmware, to which rules of root tables can send packets. */
static int object_make(struct mlx5dv_dr_table *table)
{
	const struct mlx5dv_dr_domain *domain = table->domain;
	uint32_t in[TABLE_IN / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_FLOW_TABLE << 16);
	fw_set(in, 0x10, dr_table_type(domain) << TYPE_SHIFT);
	fw_set(in, 0x18, SOFTWARE_OWNER | (uint32_t)(domain->caps.levels - 1) << LEVEL_SHIFT);
	if (dr_has_half(domain, DR_RECEIVE))
		fw_set_64(in, ROOT_0, dr_hash_address(table->anchors[DR_RECEIVE]));
	if (dr_has_half(domain, DR_SEND))
		fw_set_64(in, dr_is_switch(domain) ? ROOT_1 : ROOT_0,
			  dr_hash_address(table->anchors[DR_SEND]));
	table->object = mlx5_fw_create(domain->context, "CREATE_FLOW_TABLE", in, sizeof(in), out,
				       sizeof(out));
	return table->object ? 0 : -errno;
}

static void anchors_free(struct mlx5dv_dr_table *table)
{
	for (int half = 0; half < DR_HALVES; half++)
		dr_hash_free(table->anchors[half]);
}

/* Create the anchors of the table, which every packet misses. */
static int anchors_make(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_domain *domain = table->domain;
	int r = 0;

	for (int half = 0; !r && half < DR_HALVES; half++) {
		if (!dr_has_half(domain, half))
			continue;
		r = dr_hash_new(domain, 0, DR_LOOKUP_NONE, 0, &table->anchors[half]);
		if (!r)
			r = dr_anchor_write(domain, half, table->anchors[half],
					    domain->caps.miss[half], NULL);
	}
	return r;
}

/* Write the anchors before the firmware gets their addresses. */
static int software_make(struct mlx5dv_dr_table *table)
{
	int r = anchors_make(table);

	if (!r)
		r = dr_ring_drain(table->domain->ring);
	if (!r)
		r = object_make(table);
	if (r < 0)
		anchors_free(table);
	return r;
}

static int table_make(struct mlx5dv_dr_table *table)
{
	TAILQ_INIT(&table->matchers);
	return table->level ? software_make(table) : 0;
}

MLX5DV_EXPORT struct mlx5dv_dr_table *mlx5dv_dr_table_create(struct mlx5dv_dr_domain *domain,
							     uint32_t level)
{
	struct mlx5dv_dr_table *table;
	int r;

	if (level && !domain->has_software)
		return mlx5dv_fail(dr_refuse(domain->context, __func__,
					     "the domain has only tables of level 0", -EOPNOTSUPP));
	table = calloc(1, sizeof(*table));
	if (!table)
		return mlx5dv_fail(-ENOMEM);
	table->domain = domain;
	table->level = level;
	dr_lock(domain);
	r = table_make(table);
	if (!r)
		TAILQ_INSERT_TAIL(&domain->tables, table, link);
	dr_unlock(domain);
	if (r < 0) {
		dr_refuse(domain->context, __func__, strerror(-r), r);
		free(table);
		return mlx5dv_fail(r);
	}
	dr_use(&domain->users);
	return table;
}

MLX5DV_EXPORT int mlx5dv_dr_table_destroy(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_domain *domain = table->domain;
	int r;

	if (dr_is_used(&table->users))
		return EBUSY;
	r = table->object ? mlx5_fw_destroy(table->object) : 0;
	if (r < 0)
		return mlx5dv_errno(r);
	dr_lock(domain);
	TAILQ_REMOVE(&domain->tables, table, link);
	anchors_free(table);
	dr_unlock(domain);
	dr_leave(&domain->users);
	free(table);
	return 0;
}
