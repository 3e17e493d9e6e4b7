/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path of a rule: an entry of each level. Rules whose values begin alike share entries. Entries
 * of the same slot are a list: the first one is in the hash table, and the others are in pieces of
 * memory of their own. A table grows when half of its slots are in use and as many entries have
 * collided.
 *
 * A rule is invisible to packets until its first new entry is reachable. Therefore the writes of a
 * rule are collected, and the last one is sent first.
 */
#include "providers/mlx5/steering/steering.h"

enum {
	GROWTH = 2, /* a table grows by this power of 2 */
	WRITES_MAX = 3 * DR_IMAGES_MAX,
};

/* Writes to send, and tables to free after them. */
struct plan {
	struct dr_side *side;
	struct mlx5dv_dr_domain *domain;
	struct {
		struct dr_entry *entry;
		bool whole;
	} writes[WRITES_MAX];
	unsigned int count;
	struct dr_hash *retired;
};

static void plan_begin(struct plan *plan, struct dr_side *side)
{
	plan->side = side;
	plan->domain = side->domain;
	plan->count = 0;
	plan->retired = NULL;
}

static void plan_write(struct plan *plan, struct dr_entry *entry, bool whole)
{
	plan->writes[plan->count].entry = entry;
	plan->writes[plan->count++].whole = whole;
}

static void plan_retire(struct plan *plan, struct dr_hash *hash)
{
	hash->retired = plan->retired;
	plan->retired = hash;
}

static int plan_execute(struct plan *plan)
{
	int r = 0;

	while (!r && plan->count) {
		plan->count--;
		r = dr_entry_write(plan->side, plan->writes[plan->count].entry,
				   plan->writes[plan->count].whole);
	}
	while (plan->retired) {
		struct dr_hash *hash = plan->retired;

		plan->retired = hash->retired;
		dr_hash_free(hash);
	}
	return r;
}

static uint64_t miss_of(const struct plan *plan)
{
	return dr_hash_address(plan->side->end);
}

static struct dr_entry *slot_of(struct dr_hash *hash, const uint8_t *image)
{
	return &hash->entries[dr_image_slot(image, hash->byte_mask, hash->chunk.order)];
}

static struct dr_entry *list_end(struct dr_entry *entry)
{
	while (entry->follower)
		entry = entry->follower;
	return entry;
}

/* ---- entries */

/* Let the entry lead to a table. */
static void connect(const struct plan *plan, struct dr_entry *entry, struct dr_hash *next)
{
	entry->next = next;
	next->pointing = entry;
	plan->domain->format->set_hit(entry->image, dr_hash_address(next), 1u << next->chunk.order);
}

/* Create the table of the next level, unless the entry is the last one. */
static int next_make(struct plan *plan, struct dr_entry *entry)
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
	connect(plan, entry, hash);
	return 0;
}

/* Use a slot for an image. */
static int slot_fill(struct plan *plan, struct dr_hash *hash, struct dr_entry *slot,
		     const uint8_t *image, unsigned int level)
{
	int r;

	*slot = (struct dr_entry){ .level = level, .home = hash, .table = hash };
	memcpy(slot->image, image, DR_IMAGE_SIZE);
	plan->domain->format->set_miss(slot->image, miss_of(plan));
	r = next_make(plan, slot);
	if (r < 0)
		return r;
	hash->used++;
	hash->rules++;
	plan_write(plan, slot, true);
	return 0;
}

/* Create an entry beside the table. */
static int beside_make(struct plan *plan, struct dr_hash *hash, const uint8_t *image,
		       unsigned int level, struct dr_entry **ret)
{
	struct dr_hash *home;
	int r = dr_hash_new(plan->domain, 0, DR_LOOKUP_NONE, 0, &home);

	if (r < 0)
		return r;
	*home->entries = (struct dr_entry){ .level = level, .home = home, .table = hash };
	memcpy(home->entries->image, image, DR_IMAGE_SIZE);
	plan->domain->format->set_miss(home->entries->image, miss_of(plan));
	*ret = home->entries;
	return 0;
}

/* Append an entry to the list of a slot. Return the entry before it, which must be written. */
static struct dr_entry *list_append(const struct plan *plan, struct dr_entry *slot,
				    struct dr_entry *entry)
{
	struct dr_entry *last = list_end(slot);

	last->follower = entry;
	plan->domain->format->set_miss(last->image, dr_entry_address(entry));
	entry->table->rules++;
	entry->table->collisions++;
	return last;
}

static int collide(struct plan *plan, struct dr_hash *hash, struct dr_entry *slot,
		   const uint8_t *image, unsigned int level, struct dr_entry **ret)
{
	int r = beside_make(plan, hash, image, level, ret);

	if (r < 0)
		return r;
	r = next_make(plan, *ret);
	if (r < 0) {
		dr_hash_free((*ret)->home);
		return r;
	}
	plan_write(plan, list_append(plan, slot, *ret), false);
	plan_write(plan, *ret, true);
	return 0;
}

/* ---- growth */

static bool may_grow(const struct plan *plan, const struct dr_hash *hash)
{
	uint32_t half = ((1u << hash->chunk.order) + 1) / 2;

	return hash->collisions >= half && hash->rules - hash->collisions >= half &&
	       hash->chunk.order < plan->domain->pools[DR_POOL_ENTRIES].order_max &&
	       !plan->side->matcher->fixed_size &&
	       (dr_lookup_is_wide(hash->lookup) ||
		8u * __builtin_popcount(hash->byte_mask) > hash->chunk.order);
}

/* Move what the entry leads to, and who knows it, to a copy. */
static void entry_succeed(struct dr_entry *to, const struct dr_entry *from)
{
	to->level = from->level;
	to->users = from->users;
	to->next = from->next;
	to->path = from->path;
	if (to->next)
		to->next->pointing = to;
	if (to->path)
		to->path->last = to;
}

/* Copy an entry to the larger table. */
static int entry_copy(struct plan *plan, struct dr_hash *to, struct dr_entry *from)
{
	struct dr_entry *slot = slot_of(to, from->image), *entry;
	int r;

	if (!slot->users) {
		*slot = (struct dr_entry){ .home = to, .table = to };
		memcpy(slot->image, from->image, DR_IMAGE_SIZE);
		plan->domain->format->set_miss(slot->image, miss_of(plan));
		to->used++;
		to->rules++;
		entry_succeed(slot, from);
		return 0;
	}
	r = beside_make(plan, to, from->image, from->level, &entry);
	if (r < 0)
		return r;
	list_append(plan, slot, entry);
	entry_succeed(entry, from);
	return 0;
}

/* Write the entries beside the table, then the table. */
static int table_write(struct plan *plan, struct dr_hash *hash)
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

static int entries_walk(struct plan *plan, struct dr_hash *hash, struct dr_hash *to,
			int (*visit)(struct plan *plan, struct dr_hash *to, struct dr_entry *entry))
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

static int beside_retire(struct plan *plan, struct dr_hash *to, struct dr_entry *entry)
{
	if (entry->home != entry->table)
		plan_retire(plan, entry->home);
	return 0;
}

/* Restore what knew the entries of a table that could not be copied. */
static int entry_restore(struct plan *plan, struct dr_hash *to, struct dr_entry *entry)
{
	if (entry->next)
		entry->next->pointing = entry;
	if (entry->path)
		entry->path->last = entry;
	return 0;
}

/* Replace a table by a table of 2^order entries. NULL: an error occurred, and the old table stays
 * in use. */
static struct dr_hash *replace(struct plan *plan, struct dr_hash *hash, unsigned int order)
{
	struct dr_entry *pointing = hash->pointing;
	struct dr_hash *larger;

	if (dr_hash_new(plan->domain, order, hash->lookup, hash->byte_mask, &larger) < 0)
		return NULL;
	if (entries_walk(plan, hash, larger, entry_copy) < 0 || table_write(plan, larger) < 0) {
		entries_walk(plan, hash, NULL, entry_restore);
		entries_walk(plan, larger, NULL, beside_retire);
		plan_retire(plan, larger);
		return NULL;
	}
	entries_walk(plan, hash, NULL, beside_retire);
	plan_retire(plan, hash);
	connect(plan, pointing, larger);
	if (plan->side->start == hash)
		plan->side->start = larger;
	plan_write(plan, pointing, false);
	return larger;
}

static struct dr_hash *grow(struct plan *plan, struct dr_hash *hash)
{
	return replace(plan, hash,
		       min_of(hash->chunk.order + GROWTH,
			      (int)plan->domain->pools[DR_POOL_ENTRIES].order_max));
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
static int place(struct plan *plan, struct dr_hash *hash, const uint8_t *image, unsigned int level,
		 struct dr_entry **ret)
{
	struct dr_entry *slot = slot_of(hash, image), *same;
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
	if (may_grow(plan, hash)) {
		struct dr_hash *larger = grow(plan, hash);

		if (larger) {
			slot = slot_of(larger, image);
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
static int first_remove(struct plan *plan, struct dr_entry *slot)
{
	struct dr_entry *second = slot->follower;

	memcpy(slot->image, second->image, DR_IMAGE_SIZE);
	slot->follower = second->follower;
	slot->path = NULL;
	entry_succeed(slot, second);
	plan_retire(plan, second->home);
	return dr_entry_write(plan->side, slot, true);
}

static int other_remove(struct plan *plan, struct dr_entry *slot, struct dr_entry *entry)
{
	struct dr_entry *before = slot;

	while (before->follower != entry)
		before = before->follower;
	before->follower = entry->follower;
	plan->domain->format->set_miss(before->image, plan->domain->format->get_miss(entry->image));
	plan_retire(plan, entry->home);
	return dr_entry_write(plan->side, before, false);
}

/* Free the slot of an entry that is alone in it. The table ends with its last slot. */
static int slot_free(struct plan *plan, struct dr_entry *slot)
{
	struct dr_hash *hash = slot->table;

	*slot = (struct dr_entry){ .home = hash };
	if (--hash->used || plan->side->start == hash)
		return dr_slot_clear(plan->side, slot);
	hash->pointing->next = NULL;
	if (!hash->kept)
		plan_retire(plan, hash);
	return 0;
}

static int entry_remove(struct plan *plan, struct dr_entry *entry)
{
	struct dr_hash *table = entry->table;
	struct dr_entry *slot = slot_of(table, entry->image);

	/* Only a path that could not be completed has a table without entries. */
	if (entry->next)
		plan_retire(plan, entry->next);
	table->rules--;
	if (entry == slot && !slot->follower)
		return slot_free(plan, slot);
	table->collisions--;
	return entry == slot ? first_remove(plan, slot) : other_remove(plan, slot, entry);
}

/* Remove a path from its last entry on. Packets may still meet its entries if a write fails. */
static void path_remove(struct plan *plan, struct dr_entry *last)
{
	struct dr_entry *entry = last;

	last->path = NULL;
	while (entry) {
		struct dr_entry *above = dr_entry_above(entry);

		if (!--entry->users)
			entry_remove(plan, entry);
		entry = above;
	}
	plan_execute(plan);
}

struct dr_entry *dr_entry_above(const struct dr_entry *entry)
{
	return entry->level ? entry->table->pointing : NULL;
}

void dr_path_remove(struct dr_side *side, struct dr_path *path)
{
	struct plan plan;

	if (!path->last)
		return;
	plan_begin(&plan, side);
	path_remove(&plan, path->last);
	path->last = NULL;
}

/* Let the entry lead to that of a link, which leads to the rest of the rule. */
static void cross(const struct plan *plan, struct dr_entry *entry,
		  const struct dr_crossing *crossing)
{
	plan->domain->format->set_hit(entry->image, dr_hash_address(crossing->action), 1);
	plan->domain->format->set_hit_function(entry->image, crossing->owner);
}

/* Append an entry that has only actions. It gets a table of one entry, or has that of a link. */
static int action_place(struct plan *plan, struct dr_entry *before, const uint8_t *image,
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
	connect(plan, before, hash);
	if (crossing)
		cross(plan, before, crossing);
	plan_write(plan, &hash->entries[0], true);
	*ret = &hash->entries[0];
	return 0;
}

static int images_place(struct plan *plan, struct dr_images *images, struct dr_entry **last)
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
	struct plan plan;
	int r, written;

	plan_begin(&plan, side);
	r = images_place(&plan, images, &last);
	if (!r)
		last->path = path;
	/* Tables that have grown are written even if the rule fails. */
	written = plan_execute(&plan);
	if (!r)
		r = written;
	if (r < 0 && last)
		path_remove(&plan, last);
	else if (!r)
		path->last = last;
	return r;
}

int dr_path_resize(struct dr_side *side, unsigned int order)
{
	struct plan plan;

	plan_begin(&plan, side);
	if (side->start->chunk.order == order)
		return 0;
	if (!replace(&plan, side->start, order))
		return -ENOMEM;
	return plan_execute(&plan);
}
