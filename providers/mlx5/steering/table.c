/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables: level 0 is the root table, which belongs to the kernel. Packets enter other tables at an
 * anchor, whose address the firmware knows. */
#include "providers/mlx5/steering/steering.h"

enum {
	TABLE_IN = 0x40,
	SOFTWARE_OWNER = 1 << 29,
	LEVEL_SHIFT = 16,
	TYPE_SHIFT = 24,
	ROOT_ADDRESS = 0x38,
};

/* Create the table of the firmware, to which rules of root tables can send packets. */
static int object_make(struct mlx5dv_dr_table *table)
{
	const struct mlx5dv_dr_domain *domain = table->domain;
	uint32_t in[TABLE_IN / 4] = {}, out[FW_HEAD / 4] = {};

	fw_set(in, 0, MLX5_FW_CREATE_FLOW_TABLE << 16);
	fw_set(in, 0x10, (uint32_t)domain->type << TYPE_SHIFT);
	fw_set(in, 0x18, SOFTWARE_OWNER | (uint32_t)(domain->caps.levels - 1) << LEVEL_SHIFT);
	fw_set_64(in, ROOT_ADDRESS, dr_chunk_address(&table->anchor->chunk, 0));
	table->object = mlx5_fw_create(domain->context, "CREATE_FLOW_TABLE", in, sizeof(in), out,
				       sizeof(out));
	return table->object ? 0 : -errno;
}

/* Let packets of the table miss. The firmware must see the anchor when it learns its address. */
static int software_make(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_domain *domain = table->domain;
	int r = dr_hash_new(domain, 0, DR_LOOKUP_NONE, 0, &table->anchor);

	if (r < 0)
		return r;
	r = dr_anchor_write(domain, table->anchor, domain->caps.miss, NULL);
	if (!r)
		r = dr_ring_drain(domain->ring);
	if (!r)
		r = object_make(table);
	if (r < 0)
		dr_hash_free(domain, table->anchor);
	return r;
}

static int table_make(struct mlx5dv_dr_table *table)
{
	struct mlx5dv_dr_domain *domain = table->domain;
	int r;

	TAILQ_INIT(&table->matchers);
	if (!table->level)
		return 0;
	pthread_mutex_lock(&domain->lock);
	r = software_make(table);
	pthread_mutex_unlock(&domain->lock);
	return r;
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
	r = table_make(table);
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
	if (table->anchor) {
		pthread_mutex_lock(&domain->lock);
		dr_hash_free(domain, table->anchor);
		pthread_mutex_unlock(&domain->lock);
	}
	dr_leave(&domain->users);
	free(table);
	return 0;
}
