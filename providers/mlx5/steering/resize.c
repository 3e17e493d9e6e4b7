/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables that grow. A table grows when half of its slots are in use and the same number of entries
 * have collided. */
#include "providers/mlx5/steering/plan.h"

enum {
	GROWTH = 2, /* a table grows by this power of 2 */
};

bool dr_table_may_grow(const struct dr_plan *plan, const struct dr_hash *hash)
{
	uint32_t half = ((1u << hash->chunk.order) + 1) / 2;

	return hash->collisions >= half && hash->rules - hash->collisions >= half &&
	       hash->chunk.order < plan->domain->pools[DR_POOL_ENTRIES].order_max &&
	       !plan->side->matcher->fixed_size &&
	       (dr_lookup_is_wide(hash->lookup) ||
		8u * __builtin_popcount(hash->byte_mask) > hash->chunk.order);
}

/* Copy an entry to the larger table. */
static int entry_copy(struct dr_plan *plan, struct dr_hash *to, struct dr_entry *from)
{
	struct dr_entry *slot = dr_slot_of(to, from->image), *entry;
	int r;

	if (!slot->users) {
		*slot = (struct dr_entry){ .home = to, .table = to };
		memcpy(slot->image, from->image, DR_IMAGE_SIZE);
		plan->domain->format->set_miss(slot->image, dr_plan_miss(plan));
		to->used++;
		to->rules++;
		dr_entry_succeed(slot, from);
		return 0;
	}
	r = dr_entry_make(plan, to, from->image, from->level, &entry);
	if (r < 0)
		return r;
	dr_list_append(plan, slot, entry);
	dr_entry_succeed(entry, from);
	return 0;
}

/* Write the entries beside the table, then the table. */
static int table_write(struct dr_plan *plan, struct dr_hash *hash)
{
	for (uint32_t i = 0; i < 1u << hash->chunk.order; i++) {
		for (struct dr_entry *e = hash->entries[i].follower; e; e = e->follower) {
			int r = dr_entry_write(plan->side, e, true);

			if (r < 0)
				return r;
		}
	}
	return dr_hash_write(plan->side, hash);
}

static int entries_walk(struct dr_plan *plan, struct dr_hash *hash, struct dr_hash *to,
			int (*visit)(struct dr_plan *plan, struct dr_hash *to,
				     struct dr_entry *entry))
{
	for (uint32_t i = 0; i < 1u << hash->chunk.order; i++) {
		struct dr_entry *e = hash->entries[i].users ? &hash->entries[i] : NULL;

		while (e) {
			int r = visit(plan, to, e);

			if (r < 0)
				return r;
			e = e->follower;
		}
	}
	return 0;
}

static int beside_retire(struct dr_plan *plan, struct dr_hash *to, struct dr_entry *entry)
{
	if (entry->home != entry->table)
		dr_plan_retire(plan, entry->home);
	return 0;
}

/* Restore what knew the entries of a table that could not be copied. */
static int entry_restore(struct dr_plan *plan, struct dr_hash *to, struct dr_entry *entry)
{
	if (entry->next)
		entry->next->pointing = entry;
	if (entry->path)
		entry->path->last = entry;
	return 0;
}

/* Replace a table by a table of 2^order entries. NULL: an error occurred, and the old table stays
 * in use. */
static struct dr_hash *replace(struct dr_plan *plan, struct dr_hash *hash, unsigned int order)
{
	struct dr_entry *pointing = hash->pointing;
	struct dr_hash *larger;

	if (dr_hash_new(plan->domain, order, hash->lookup, hash->byte_mask, &larger) < 0)
		return NULL;
	if (entries_walk(plan, hash, larger, entry_copy) < 0 || table_write(plan, larger) < 0) {
		entries_walk(plan, hash, NULL, entry_restore);
		entries_walk(plan, larger, NULL, beside_retire);
		dr_plan_retire(plan, larger);
		return NULL;
	}
	entries_walk(plan, hash, NULL, beside_retire);
	dr_plan_retire(plan, hash);
	dr_entry_connect(plan, pointing, larger);
	if (plan->side->start == hash)
		plan->side->start = larger;
	dr_plan_write(plan, pointing, false);
	return larger;
}

struct dr_hash *dr_table_grow(struct dr_plan *plan, struct dr_hash *hash)
{
	return replace(plan, hash,
		       min_of(hash->chunk.order + GROWTH,
			      (int)plan->domain->pools[DR_POOL_ENTRIES].order_max));
}

int dr_path_resize(struct dr_side *side, unsigned int order)
{
	struct dr_plan plan;

	dr_plan_begin(&plan, side);
	if (side->start->chunk.order == order)
		return 0;
	if (!replace(&plan, side->start, order))
		return -ENOMEM;
	return dr_plan_execute(&plan);
}
