/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects by numbers of 24 bits. A lookup takes no lock. The caller that removes an object waits
 * until no lookup still uses it.
 *
 * Where a device says the numbers, it may say that of any object, which goes while it is looked at.
 * So an object has owners, each with a lock; only for them it is found, while they hold it. It is
 * taken out with the locks of both.
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
	pthread_mutex_t lock; /* protects changes; a leaf */
	struct idtable_row *_Atomic rows[IDTABLE_ROWS];
};

void idtable_init(struct idtable *table);
void idtable_destroy(struct idtable *table);

/* @object gets the lowest number that is free. -ENOMEM; -ENOSPC. */
int idtable_add(struct idtable *table, void *object, uint32_t *ret_id);
void idtable_remove(struct idtable *table, uint32_t id);

/*
 * Where the device gives the numbers: @object has the number from now on; and nobody has, if it is
 * @object's. -EPROTO: another one has it; -ENOMEM. A table is of one kind or the other.
 */
int idtable_put(struct idtable *table, uint32_t id, void *object);
void idtable_take(struct idtable *table, uint32_t id, const void *object);

/* For whom idtable_find_own() finds the object, which is in the table: @a and @b, or NULL. */
void idtable_own(struct idtable *table, uint32_t id, const void *a, const void *b);

/* NULL: nobody ever had a number near that. */
static inline struct idtable_slot *idtable_slot(struct idtable *table, uint32_t id)
{
	/* acquire: pairs with the release of who made the row */
	struct idtable_row *row = atomic_load_explicit(
		&table->rows[id >> IDTABLE_ROW_BITS & (IDTABLE_ROWS - 1)], memory_order_acquire);

	return likely(row) ? &row->slots[id & (IDTABLE_ROWS - 1)] : NULL;
}

/* NULL: none has the number, of which 24 bits count. */
static inline void *idtable_find(struct idtable *table, uint32_t id)
{
	struct idtable_slot *slot = idtable_slot(table, id);

	/* acquire: pairs with the releases of idtable_add and idtable_put */
	return likely(slot) ? atomic_load_explicit(&slot->object, memory_order_acquire) : NULL;
}

/* With the lock of @owner held. NULL: none of his has the number. */
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
