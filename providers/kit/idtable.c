/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "providers/kit/idtable.h"

void idtable_init(struct idtable *table)
{
	pthread_mutex_init(&table->lock, NULL);
}

void idtable_destroy(struct idtable *table)
{
	for (unsigned int i = 0; i < IDTABLE_ROWS; i++)
		free(atomic_load_explicit(&table->rows[i], memory_order_relaxed));
	pthread_mutex_destroy(&table->lock);
}

/* Return a row, and allocate it if necessary. Rows exist until the table is destroyed. NULL: no
 * memory. */
static struct idtable_row *row_at(struct idtable *table, unsigned int index)
{
	struct idtable_row *row = atomic_load_explicit(&table->rows[index], memory_order_relaxed);

	if (!row) {
		row = calloc(1, sizeof(*row));
		if (row)
			atomic_store_explicit(&table->rows[index], row, memory_order_release);
	}
	return row;
}

/* Find the first row with a free slot. */
static int row_with_room(struct idtable *table, unsigned int *ret_index)
{
	for (unsigned int i = 0; i < IDTABLE_ROWS; i++) {
		struct idtable_row *row =
			atomic_load_explicit(&table->rows[i], memory_order_relaxed);

		if (row && row->used == IDTABLE_ROWS)
			continue;
		if (!row_at(table, i))
			return -ENOMEM;
		*ret_index = i;
		return 0;
	}
	return -ENOSPC;
}

static int add_locked(struct idtable *table, void *object, uint32_t *ret_id)
{
	struct idtable_row *row;
	unsigned int index, n = 0;
	int r = row_with_room(table, &index);

	if (r < 0)
		return r;
	row = atomic_load_explicit(&table->rows[index], memory_order_relaxed);
	while (atomic_load_explicit(&row->slots[n].object, memory_order_relaxed))
		n++;
	row->used++;
	atomic_store_explicit(&row->slots[n].object, object, memory_order_release);
	*ret_id = index << IDTABLE_ROW_BITS | n;
	return 0;
}

int idtable_add(struct idtable *table, void *object, uint32_t *ret_id)
{
	int r;

	pthread_mutex_lock(&table->lock);
	r = add_locked(table, object, ret_id);
	pthread_mutex_unlock(&table->lock);
	return r;
}

static void slot_clear(struct idtable_slot *slot)
{
	atomic_store_explicit(&slot->owners[0], NULL, memory_order_relaxed);
	atomic_store_explicit(&slot->owners[1], NULL, memory_order_relaxed);
	atomic_store_explicit(&slot->object, NULL, memory_order_release);
}

void idtable_remove(struct idtable *table, uint32_t id)
{
	pthread_mutex_lock(&table->lock);
	slot_clear(idtable_slot(table, id));
	atomic_load_explicit(&table->rows[id >> IDTABLE_ROW_BITS], memory_order_relaxed)->used--;
	pthread_mutex_unlock(&table->lock);
}

static int put_locked(struct idtable *table, uint32_t id, void *object)
{
	struct idtable_slot *slot;

	if (!row_at(table, id >> IDTABLE_ROW_BITS & (IDTABLE_ROWS - 1)))
		return -ENOMEM;
	slot = idtable_slot(table, id);
	if (atomic_load_explicit(&slot->object, memory_order_relaxed))
		return -EPROTO;
	atomic_store_explicit(&slot->object, object, memory_order_release);
	return 0;
}

int idtable_put(struct idtable *table, uint32_t id, void *object)
{
	int r;

	pthread_mutex_lock(&table->lock);
	r = put_locked(table, id, object);
	pthread_mutex_unlock(&table->lock);
	return r;
}

void idtable_take(struct idtable *table, uint32_t id, const void *object)
{
	struct idtable_slot *slot;

	pthread_mutex_lock(&table->lock);
	slot = idtable_slot(table, id);
	if (slot && atomic_load_explicit(&slot->object, memory_order_relaxed) == object)
		slot_clear(slot);
	pthread_mutex_unlock(&table->lock);
}

void idtable_own(struct idtable *table, uint32_t id, const void *a, const void *b)
{
	struct idtable_slot *slot = idtable_slot(table, id);

	/* release: an owner that finds itself here also finds the object */
	atomic_store_explicit(&slot->owners[0], a, memory_order_release);
	atomic_store_explicit(&slot->owners[1], b, memory_order_release);
}
