/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/mlx5/steering/plan.h"

void dr_plan_begin(struct dr_plan *plan, struct dr_side *side)
{
	plan->side = side;
	plan->domain = side->domain;
	plan->count = 0;
	plan->retired = NULL;
}

void dr_plan_write(struct dr_plan *plan, struct dr_entry *entry, bool whole)
{
	plan->writes[plan->count].entry = entry;
	plan->writes[plan->count++].whole = whole;
}

void dr_plan_retire(struct dr_plan *plan, struct dr_hash *hash)
{
	hash->retired = plan->retired;
	plan->retired = hash;
}

int dr_plan_execute(struct dr_plan *plan)
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

static struct dr_entry *list_end(struct dr_entry *entry)
{
	while (entry->follower)
		entry = entry->follower;
	return entry;
}

void dr_entry_connect(const struct dr_plan *plan, struct dr_entry *entry, struct dr_hash *next)
{
	entry->next = next;
	next->pointing = entry;
	plan->domain->format->set_hit(entry->image, dr_hash_address(next), 1u << next->chunk.order);
}

/* Create an entry beside the table. */
int dr_entry_make(struct dr_plan *plan, struct dr_hash *hash, const uint8_t *image,
		  unsigned int level, struct dr_entry **ret)
{
	struct dr_hash *home;
	int r = dr_hash_new(plan->domain, 0, DR_LOOKUP_NONE, 0, &home);

	if (r < 0)
		return r;
	*home->entries = (struct dr_entry){ .level = level, .home = home, .table = hash };
	memcpy(home->entries->image, image, DR_IMAGE_SIZE);
	plan->domain->format->set_miss(home->entries->image, dr_plan_miss(plan));
	*ret = home->entries;
	return 0;
}

struct dr_entry *dr_list_append(const struct dr_plan *plan, struct dr_entry *slot,
				struct dr_entry *entry)
{
	struct dr_entry *last = list_end(slot);

	last->follower = entry;
	plan->domain->format->set_miss(last->image, dr_entry_address(entry));
	entry->table->rules++;
	entry->table->collisions++;
	return last;
}

void dr_entry_succeed(struct dr_entry *to, const struct dr_entry *from)
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
