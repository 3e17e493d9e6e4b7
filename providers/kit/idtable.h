/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table of objects by numbers of 24 bits. A lookup takes no lock. The caller that removes an object
 * waits until no lookup still uses it.
 *
 * A number that a device wrote may belong to any object, and the object may be destroyed during the
 * lookup. Therefore an object has up to two owners, each with a lock. A lookup for an owner finds
 * only the objects of this owner. The owner's lock is held during the lookup. The object is removed
 * with the locks of both owners held.
 */
#ifndef PROVIDERS_KIT_IDTABLE_H
#define PROVIDERS_KIT_IDTABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "util/util.h"

enum {
	IDTABLE_ROW_BITS = 12,
	IDTABLE_ROWS = 1 << IDTABLE_ROW_BITS,
	IDTABLE_MASK = (1 << 2 * IDTABLE_ROW_BITS) - 1,
};

/* An entry of owners[] is valid as long as the lock of that owner is held. */
struct idtable_slot {
	void *_Atomic object;
	const void *_Atomic owners[2];
};

struct idtable_row {
	unsigned int used;
	struct idtable_slot slots[IDTABLE_ROWS];
};

struct idtable {
	pthread_mutex_t lock; /* protects changes; taken last */
	struct idtable_row *_Atomic rows[IDTABLE_ROWS];
};

void idtable_init(struct idtable *table);
void idtable_destroy(struct idtable *table);

/* Add @object with the lowest free number. -ENOMEM; -ENOSPC. */
int idtable_add(struct idtable *table, void *object, uint32_t *ret_id);
void idtable_remove(struct idtable *table, uint32_t id);

/*
 * For numbers that the device assigns: add @object with number @id, and remove it if @id belongs to
 * it. -EPROTO: another object has the number; -ENOMEM. A table uses either these functions or the
 * ones above.
 */
int idtable_put(struct idtable *table, uint32_t id, void *object);
void idtable_take(struct idtable *table, uint32_t id, const void *object);

/* Set the owners of an object in the table, for which idtable_find_own() finds it. @a and @b may be
 * NULL. */
void idtable_own(struct idtable *table, uint32_t id, const void *a, const void *b);

/* Return the slot of a number. NULL: its row was never used. */
static inline struct idtable_slot *idtable_slot(struct idtable *table, uint32_t id)
{
	/* acquire: pairs with the release in row_at() */
	struct idtable_row *row = atomic_load_explicit(
		&table->rows[id >> IDTABLE_ROW_BITS & (IDTABLE_ROWS - 1)], memory_order_acquire);

	return likely(row) ? &row->slots[id & (IDTABLE_ROWS - 1)] : NULL;
}

/* Find an object by the lower 24 bits of @id. NULL: no object has the number. */
static inline void *idtable_find(struct idtable *table, uint32_t id)
{
	struct idtable_slot *slot = idtable_slot(table, id);

	/* acquire: pairs with the releases of idtable_add and idtable_put */
	return likely(slot) ? atomic_load_explicit(&slot->object, memory_order_acquire) : NULL;
}

/* Find an object of @owner. The caller holds the lock of @owner. NULL: no object of this owner has
 * the number. */
static inline void *idtable_find_own(struct idtable *table, uint32_t id, const void *owner)
{
	struct idtable_slot *slot = idtable_slot(table, id);

	/* acquire: pairs with the release of idtable_own */
	if (unlikely(!slot) ||
	    (atomic_load_explicit(&slot->owners[0], memory_order_acquire) != owner &&
	     atomic_load_explicit(&slot->owners[1], memory_order_acquire) != owner))
		return NULL;
	return atomic_load_explicit(&slot->object, memory_order_relaxed);
}

#endif
