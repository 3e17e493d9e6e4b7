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
	int r = hash ? dr_chunk_alloc(domain, order, &hash->chunk) : -ENOMEM;

	if (r < 0) {
		free(hash);
		return r;
	}
	hash->lookup = lookup;
	hash->byte_mask = byte_mask;
	*ret = hash;
	return 0;
}

void dr_hash_free(struct mlx5dv_dr_domain *domain, struct dr_hash *hash)
{
	if (!hash)
		return;
	dr_chunk_free(domain, &hash->chunk);
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

static uint32_t index_of(const struct dr_entry *entry)
{
	return entry - entry->home->entries;
}

uint64_t dr_entry_address(const struct dr_entry *entry)
{
	return dr_chunk_address(&entry->home->chunk, index_of(entry));
}

/* Return the mask of the builder that made the tag. Anchors compare nothing. */
static const uint8_t *mask_of(const struct mlx5dv_dr_matcher *matcher, const struct dr_entry *entry)
{
	return entry->home->lookup == DR_LOOKUP_NONE && !entry->table
		       ? NULL
		       : matcher->builders[entry->level].mask;
}

int dr_entry_write(struct mlx5dv_dr_matcher *matcher, const struct dr_entry *entry, bool whole)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	uint8_t wire[DR_ENTRY_SIZE];

	dr_entry_wire(entry->image, mask_of(matcher, entry), wire);
	return dr_chunk_write(domain, &entry->home->chunk, index_of(entry), wire,
			      whole ? sizeof(wire) : DR_CONTROL_SIZE);
}

/* Make an entry of the table that every packet misses. */
static void miss_make(const struct mlx5dv_dr_domain *domain, const struct dr_hash *hash,
		      uint64_t address, uint8_t wire[DR_ENTRY_SIZE])
{
	uint8_t image[DR_IMAGE_SIZE];

	dr_entry_init(image, hash->lookup, domain->caps.function);
	dr_entry_always_miss(image, address);
	dr_entry_wire(image, NULL, wire);
}

int dr_slot_clear(struct mlx5dv_dr_matcher *matcher, const struct dr_entry *slot)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	uint8_t wire[DR_ENTRY_SIZE];

	miss_make(domain, slot->home, dr_chunk_address(&matcher->end->chunk, 0), wire);
	return dr_chunk_write(domain, &slot->home->chunk, index_of(slot), wire, sizeof(wire));
}

int dr_hash_write(struct mlx5dv_dr_matcher *matcher, struct dr_hash *hash)
{
	struct mlx5dv_dr_domain *domain = matcher->table->domain;
	uint32_t entries = 1u << hash->chunk.order, batch = min_of(entries, (uint32_t)BATCH);
	_cleanup_free_ uint8_t *wire = malloc((size_t)batch * DR_ENTRY_SIZE);
	uint8_t miss[DR_ENTRY_SIZE];

	if (!wire)
		return -ENOMEM;
	miss_make(domain, hash, dr_chunk_address(&matcher->end->chunk, 0), miss);
	for (uint32_t at = 0; at < entries; at += batch) {
		int r;

		for (uint32_t i = 0; i < batch; i++) {
			const struct dr_entry *entry = &hash->entries[at + i];
			uint8_t *to = wire + (size_t)i * DR_ENTRY_SIZE;

			if (entry->users)
				dr_entry_wire(entry->image, mask_of(matcher, entry), to);
			else
				memcpy(to, miss, DR_ENTRY_SIZE);
		}
		r = dr_chunk_write(domain, &hash->chunk, at, wire, (size_t)batch * DR_ENTRY_SIZE);
		if (r < 0)
			return r;
	}
	return 0;
}

int dr_anchor_write(struct mlx5dv_dr_domain *domain, struct dr_hash *hash, uint64_t miss,
		    const struct dr_target *to)
{
	struct dr_entry *entry = &hash->entries[0];
	uint8_t wire[DR_ENTRY_SIZE];

	entry->home = hash;
	dr_entry_init(entry->image, hash->lookup, domain->caps.function);
	if (to)
		dr_entry_always_hit(entry->image, to);
	else
		dr_entry_always_miss(entry->image, miss);
	dr_entry_wire(entry->image, NULL, wire);
	return dr_chunk_write(domain, &hash->chunk, 0, wire, sizeof(wire));
}
