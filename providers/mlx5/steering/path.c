/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path of a rule: an entry of each level. Rules whose values begin alike share entries. Entries
 * of the same slot are a list: the first one is in the hash table, and the others are in pieces of
 * memory of their own.
 *
 * A rule is invisible to packets until its first new entry is reachable. Therefore the writes of a
 * rule are collected, and the last one is sent first.
 */
#include "providers/mlx5/steering/plan.h"

/* ---- entries */

/* Create the table of the next level, unless the entry is the last one. */
static int next_make(struct dr_plan *plan, struct dr_entry *entry)
{
	const struct dr_builder *next = &plan->side->builders[entry->level + 1];
	struct dr_hash *hash;
	int r;

	if (entry->level + 1u == plan->side->levels)
		return 0;
	r = dr_hash_new(plan->domain, 0, next->lookup, next->byte_mask, &hash);
	if (r < 0)
		return r;
	r = dr_hash_write(plan->side, hash);
	if (r < 0) {
		dr_hash_free(hash);
		return r;
	}
	dr_entry_connect(plan, entry, hash);
	return 0;
}

/* Use a slot for an image. */
static int slot_fill(struct dr_plan *plan, struct dr_hash *hash, struct dr_entry *slot,
		     const uint8_t *image, unsigned int level)
{
	int r;

	*slot = (struct dr_entry){ .level = level, .home = hash, .table = hash };
	memcpy(slot->image, image, DR_IMAGE_SIZE);
	plan->domain->format->set_miss(slot->image, dr_plan_miss(plan));
	r = next_make(plan, slot);
	if (r < 0)
		return r;
	hash->used++;
	hash->rules++;
	dr_plan_write(plan, slot, true);
	return 0;
}

static int collide(struct dr_plan *plan, struct dr_hash *hash, struct dr_entry *slot,
		   const uint8_t *image, unsigned int level, struct dr_entry **ret)
{
	int r = dr_entry_make(plan, hash, image, level, ret);

	if (r < 0)
		return r;
	r = next_make(plan, *ret);
	if (r < 0) {
		dr_hash_free((*ret)->home);
		return r;
	}
	dr_plan_write(plan, dr_list_append(plan, slot, *ret), false);
	dr_plan_write(plan, *ret, true);
	return 0;
}

/* ---- addition */

static struct dr_entry *find(struct dr_entry *slot, const uint8_t *image)
{
	for (struct dr_entry *e = slot; e; e = e->follower) {
		if (!memcmp(e->image + DR_CONTROL_SIZE, image + DR_CONTROL_SIZE, DR_WIDE_KEY_SIZE))
			return e;
	}
	return NULL;
}

/* Return the entry of a level, found or new. */
static int place(struct dr_plan *plan, struct dr_hash *hash, const uint8_t *image,
		 unsigned int level, struct dr_entry **ret)
{
	struct dr_entry *slot = dr_slot_of(hash, image), *same;
	bool is_last = level + 1 == plan->side->levels;

	if (!slot->users) {
		*ret = slot;
		return slot_fill(plan, hash, slot, image, level);
	}
	same = find(slot, image);
	if (same && !is_last) {
		*ret = same;
		return 0;
	}
	if (same && plan->domain->refuses_duplicates)
		return -EEXIST;
	if (dr_table_may_grow(plan, hash)) {
		struct dr_hash *larger = dr_table_grow(plan, hash);

		if (larger) {
			slot = dr_slot_of(larger, image);
			hash = larger;
			*ret = slot;
			if (!slot->users)
				return slot_fill(plan, hash, slot, image, level);
		}
	}
	return collide(plan, hash, slot, image, level, ret);
}

/* ---- removal: writes are sent at once, the deepest level first */

/* Replace the first entry of a slot by the second one. */
static int first_remove(struct dr_plan *plan, struct dr_entry *slot)
{
	struct dr_entry *second = slot->follower;

	memcpy(slot->image, second->image, DR_IMAGE_SIZE);
	slot->follower = second->follower;
	slot->path = NULL;
	dr_entry_succeed(slot, second);
	dr_plan_retire(plan, second->home);
	return dr_entry_write(plan->side, slot, true);
}

static int other_remove(struct dr_plan *plan, struct dr_entry *slot, struct dr_entry *entry)
{
	struct dr_entry *before = slot;

	while (before->follower != entry)
		before = before->follower;
	before->follower = entry->follower;
	plan->domain->format->set_miss(before->image, plan->domain->format->get_miss(entry->image));
	dr_plan_retire(plan, entry->home);
	return dr_entry_write(plan->side, before, false);
}

/* Free the slot of an entry that is alone in it. The table ends with its last slot. */
static int slot_free(struct dr_plan *plan, struct dr_entry *slot)
{
	struct dr_hash *hash = slot->table;

	*slot = (struct dr_entry){ .home = hash };
	if (--hash->used || plan->side->start == hash)
		return dr_slot_clear(plan->side, slot);
	hash->pointing->next = NULL;
	if (!hash->kept)
		dr_plan_retire(plan, hash);
	return 0;
}

static int entry_remove(struct dr_plan *plan, struct dr_entry *entry)
{
	struct dr_hash *table = entry->table;
	struct dr_entry *slot = dr_slot_of(table, entry->image);

	/* Only a path that could not be completed has a table without entries. */
	if (entry->next)
		dr_plan_retire(plan, entry->next);
	table->rules--;
	if (entry == slot && !slot->follower)
		return slot_free(plan, slot);
	table->collisions--;
	return entry == slot ? first_remove(plan, slot) : other_remove(plan, slot, entry);
}

/* Remove a path from its last entry on. Packets may still meet its entries if a write fails. */
static void path_remove(struct dr_plan *plan, struct dr_entry *last)
{
	struct dr_entry *entry = last;

	last->path = NULL;
	while (entry) {
		struct dr_entry *above = dr_entry_above(entry);

		if (!--entry->users)
			entry_remove(plan, entry);
		entry = above;
	}
	dr_plan_execute(plan);
}

struct dr_entry *dr_entry_above(const struct dr_entry *entry)
{
	return entry->level ? entry->table->pointing : NULL;
}

void dr_path_remove(struct dr_side *side, struct dr_path *path)
{
	struct dr_plan plan;

	if (!path->last)
		return;
	dr_plan_begin(&plan, side);
	path_remove(&plan, path->last);
	path->last = NULL;
}

/* Let the entry lead to the entry of a link, which leads to the rest of the rule. */
static void cross(const struct dr_plan *plan, struct dr_entry *entry,
		  const struct dr_crossing *crossing)
{
	plan->domain->format->set_hit(entry->image, dr_hash_address(crossing->action), 1);
	plan->domain->format->set_hit_function(entry->image, crossing->owner);
}

/*
 * Append an entry that has only actions. It gets a table of one entry, or uses the table of a link.
 */
static int action_place(struct dr_plan *plan, struct dr_entry *before, const uint8_t *image,
			unsigned int level, const struct dr_crossing *crossing,
			struct dr_entry **ret)
{
	struct dr_hash *hash = crossing ? crossing->rule : NULL;
	int r = hash ? 0 : dr_hash_new(plan->domain, 0, DR_LOOKUP_NONE, 0, &hash);

	if (r < 0)
		return r;
	hash->entries[0] = (struct dr_entry){ .level = level, .home = hash, .table = hash };
	memcpy(hash->entries[0].image, image, DR_IMAGE_SIZE);
	hash->used = hash->rules = 1;
	dr_entry_connect(plan, before, hash);
	if (crossing)
		cross(plan, before, crossing);
	dr_plan_write(plan, &hash->entries[0], true);
	*ret = &hash->entries[0];
	return 0;
}

static int images_place(struct dr_plan *plan, struct dr_images *images, struct dr_entry **last)
{
	struct dr_hash *hash = plan->side->start;
	int r = 0;

	for (unsigned int level = 0; !r && level < images->count; level++) {
		bool crosses = images->crossing && level == images->crossing_at;
		const uint8_t *image = images->image[level];
		struct dr_entry *entry;

		r = level < images->levels
			    ? place(plan, hash, image, level, &entry)
			    : action_place(plan, *last, image, level,
					   crosses ? images->crossing : NULL, &entry);
		if (r < 0)
			break;
		entry->users++;
		*last = entry;
		hash = entry->next;
	}
	return r;
}

int dr_path_add(struct dr_side *side, struct dr_path *path, struct dr_images *images)
{
	struct dr_entry *last = NULL;
	struct dr_plan plan;
	int r, written;

	dr_plan_begin(&plan, side);
	r = images_place(&plan, images, &last);
	if (!r)
		last->path = path;
	/* Tables that have grown are written even if the rule fails. */
	written = dr_plan_execute(&plan);
	if (!r)
		r = written;
	if (r < 0 && last)
		path_remove(&plan, last);
	else if (!r)
		path->last = last;
	return r;
}
