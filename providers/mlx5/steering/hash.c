/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hash tables of entries, and anchors, which are tables of one entry that compares nothing. */
#include "providers/mlx5/steering/steering.h"

enum {
	BATCH = 1024, /* entries of one write */
};

int dr_hash_new(struct mlx5dv_dr_domain *domain, unsigned int order, uint16_t lookup,
		uint16_t byte_mask, struct dr_hash **ret)
{
	struct dr_hash *hash = calloc(1, sizeof(*hash) + (sizeof(hash->entries[0]) << order));
	int r = hash ? dr_chunk_alloc(&domain->pools[DR_POOL_ENTRIES], order, &hash->chunk)
		     : -ENOMEM;

	if (r < 0) {
		free(hash);
		return r;
	}
	hash->lookup = lookup;
	hash->byte_mask = byte_mask;
	*ret = hash;
	return 0;
}

void dr_hash_free(struct dr_hash *hash)
{
	if (!hash)
		return;
	dr_chunk_free(&hash->chunk);
	free(hash);
}

struct dr_target dr_hash_target(const struct dr_hash *hash)
{
	return (struct dr_target){
		.address = dr_chunk_address(&hash->chunk, 0),
		.entries = 1u << hash->chunk.order,
		.lookup = hash->lookup,
		.byte_mask = hash->byte_mask,
	};
}

uint64_t dr_hash_address(const struct dr_hash *hash)
{
	return dr_chunk_address(&hash->chunk, 0);
}

static uint32_t index_of(const struct dr_entry *entry)
{
	return entry - entry->home->entries;
}

uint64_t dr_entry_address(const struct dr_entry *entry)
{
	return dr_chunk_address(&entry->home->chunk, index_of(entry));
}

/* Return the mask of the builder that made the tag. NULL: the entry has only actions and compares
 * nothing. */
static const uint8_t *mask_of(const struct dr_side *side, const struct dr_entry *entry)
{
	return entry->level < side->levels ? side->builders[entry->level].mask : NULL;
}

int dr_entry_write(struct dr_side *side, const struct dr_entry *entry, bool whole)
{
	uint8_t wire[DR_ENTRY_SIZE];

	/* The anchor before a matcher has no level. Therefore do not read a mask if only the
	 * control part is written. */
	side->domain->format->wire(entry->image, whole ? mask_of(side, entry) : NULL, wire);
	return dr_chunk_write(&entry->home->chunk, index_of(entry), wire,
			      whole ? sizeof(wire) : DR_CONTROL_SIZE);
}

/* Make an entry of the table that every packet misses. */
static void miss_make(const struct dr_side *side, const struct dr_hash *hash, uint8_t *wire)
{
	const struct mlx5dv_dr_domain *domain = side->domain;
	uint8_t image[DR_IMAGE_SIZE];

	domain->format->init(image, hash->lookup, domain->caps.function, side->half);
	domain->format->always_miss(image, dr_hash_address(side->end));
	domain->format->wire(image, NULL, wire);
}

int dr_slot_clear(struct dr_side *side, const struct dr_entry *slot)
{
	uint8_t wire[DR_ENTRY_SIZE];

	miss_make(side, slot->home, wire);
	return dr_chunk_write(&slot->home->chunk, index_of(slot), wire, sizeof(wire));
}

/* Write a table of one entry, which needs no buffer on the heap. */
static int small_write(struct dr_side *side, struct dr_hash *hash)
{
	const struct dr_entry *entry = &hash->entries[0];
	uint8_t wire[DR_ENTRY_SIZE];

	if (entry->users)
		side->domain->format->wire(entry->image, mask_of(side, entry), wire);
	else
		miss_make(side, hash, wire);
	return dr_chunk_write(&hash->chunk, 0, wire, sizeof(wire));
}

int dr_hash_write(struct dr_side *side, struct dr_hash *hash)
{
	uint32_t entries = 1u << hash->chunk.order, batch = min_of(entries, (uint32_t)BATCH);
	_cleanup_free_ uint8_t *wire = NULL;
	uint8_t miss[DR_ENTRY_SIZE];

	if (!hash->chunk.order)
		return small_write(side, hash);
	wire = malloc((size_t)batch * DR_ENTRY_SIZE);
	if (!wire)
		return -ENOMEM;
	miss_make(side, hash, miss);
	for (uint32_t at = 0; at < entries; at += batch) {
		int r;

		for (uint32_t i = 0; i < batch; i++) {
			const struct dr_entry *entry = &hash->entries[at + i];
			uint8_t *to = wire + (size_t)i * DR_ENTRY_SIZE;

			if (entry->users)
				side->domain->format->wire(entry->image, mask_of(side, entry), to);
			else
				memcpy(to, miss, DR_ENTRY_SIZE);
		}
		r = dr_chunk_write(&hash->chunk, at, wire, (size_t)batch * DR_ENTRY_SIZE);
		if (r < 0)
			return r;
	}
	return 0;
}

int dr_anchor_write(struct mlx5dv_dr_domain *domain, enum dr_half half, struct dr_hash *hash,
		    uint64_t miss, const struct dr_target *to)
{
	struct dr_entry *entry = &hash->entries[0];
	uint8_t wire[DR_ENTRY_SIZE];

	entry->home = hash;
	domain->format->init(entry->image, hash->lookup, domain->caps.function, half);
	if (to)
		domain->format->always_hit(entry->image, to);
	else
		domain->format->always_miss(entry->image, miss);
	domain->format->wire(entry->image, NULL, wire);
	return dr_chunk_write(&hash->chunk, 0, wire, sizeof(wire));
}
