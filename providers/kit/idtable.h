/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects by numbers of 24 bits. Looking one up takes no lock; whoever takes an object out sees to
 * it that nobody who looks it up still uses it.
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

struct idtable_row {
	unsigned int used;
	void *_Atomic objects[IDTABLE_ROWS];
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
 * Where the device gives the numbers: @object has the number from now on, whoever had it before;
 * and nobody, if it is still @object. -ENOMEM. A table is of one kind or the other.
 */
int idtable_put(struct idtable *table, uint32_t id, void *object);
void idtable_take(struct idtable *table, uint32_t id, const void *object);

/* NULL: none has the number, of which 24 bits count. */
static inline void *idtable_find(struct idtable *table, uint32_t id)
{
	/* acquire: pairs with the releases of idtable_add */
	struct idtable_row *row = atomic_load_explicit(
		&table->rows[id >> IDTABLE_ROW_BITS & (IDTABLE_ROWS - 1)], memory_order_acquire);

	if (unlikely(!row))
		return NULL;
	return atomic_load_explicit(&row->objects[id & (IDTABLE_ROWS - 1)], memory_order_acquire);
}

#endif
