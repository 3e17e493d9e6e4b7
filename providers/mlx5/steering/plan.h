/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes to the adapter that are collected before they are sent, and the entries that they change.
 * Only path.c and resize.c include this header. The domain is locked. */
#ifndef MLX5_STEERING_PLAN_H
#define MLX5_STEERING_PLAN_H

#include "providers/mlx5/steering/steering.h"

enum {
	DR_WRITES_MAX = 3 * DR_IMAGES_MAX,
};

/* Writes to send, and tables to free after them. */
struct dr_plan {
	struct dr_side *side;
	struct mlx5dv_dr_domain *domain;
	struct {
		struct dr_entry *entry;
		bool whole;
	} writes[DR_WRITES_MAX];
	unsigned int count;
	struct dr_hash *retired;
};

static inline uint64_t dr_plan_miss(const struct dr_plan *plan)
{
	return dr_hash_address(plan->side->end);
}

static inline struct dr_entry *dr_slot_of(struct dr_hash *hash, const uint8_t *image)
{
	return &hash->entries[dr_image_slot(image, hash->byte_mask, hash->chunk.order)];
}

/* plan.c */
void dr_plan_begin(struct dr_plan *plan, struct dr_side *side);
/* Let the next execution write an entry. @whole: else only the part that leads to other entries */
void dr_plan_write(struct dr_plan *plan, struct dr_entry *entry, bool whole);
/* Free a table after the writes. */
void dr_plan_retire(struct dr_plan *plan, struct dr_hash *hash);
/* Send the writes, the last one first. */
int dr_plan_execute(struct dr_plan *plan);
/* Let the entry lead to a table. */
void dr_entry_connect(const struct dr_plan *plan, struct dr_entry *entry, struct dr_hash *next);
/* Create an entry beside the table @hash. */
int dr_entry_make(struct dr_plan *plan, struct dr_hash *hash, const uint8_t *image,
		  unsigned int level, struct dr_entry **ret);
/* Append an entry to the list of a slot. Return the entry before it, which must be written. */
struct dr_entry *dr_list_append(const struct dr_plan *plan, struct dr_entry *slot,
				struct dr_entry *entry);
/* Let @to take the place of @from in its list and in its path. */
void dr_entry_succeed(struct dr_entry *to, const struct dr_entry *from);
/* resize.c */
bool dr_table_may_grow(const struct dr_plan *plan, const struct dr_hash *hash);
/* Replace a table by a larger one. NULL: an error occurred, and the old table stays in use. */
struct dr_hash *dr_table_grow(struct dr_plan *plan, struct dr_hash *hash);

#endif
