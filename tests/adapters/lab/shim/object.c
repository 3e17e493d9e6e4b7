/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/shim/object.h"

#include <stdio.h>
#include <stdlib.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	TYPE_SHIFT = 16
};

static struct {
	struct object **at;
	uint32_t count;
} tables[OBJECT_TYPES];

pthread_mutex_t device_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static const char *const type_names[] = {
	[OBJECT_PD] = "pd",
	[OBJECT_MR] = "mr",
	[OBJECT_MW] = "mw",
	[OBJECT_CQ] = "cq",
	[OBJECT_QP] = "qp",
	[OBJECT_SRQ] = "srq",
	[OBJECT_AH] = "ah",
	[OBJECT_WQ] = "wq",
	[OBJECT_TABLE] = "table",
	[OBJECT_FLOW] = "flow",
	[OBJECT_COUNTERS] = "counters",
	[OBJECT_DM] = "dm",
	[OBJECT_XRCD] = "xrcd",
	[OBJECT_PRIVATE] = "private",
};

/* Numbers a device might give, the same in every run. */
static uint32_t plain_number(enum object_type type, uint32_t ordinal)
{
	switch (type) {
	case OBJECT_MR:
		return 0x1100 + 0x100 * ordinal;
	case OBJECT_QP:
		return 0x100 + ordinal;
	case OBJECT_SRQ:
		return 0x200 + ordinal;
	case OBJECT_CQ:
		return 0x400 + ordinal;
	default:
		return 0x10 + ordinal;
	}
}

struct object *object_new(enum object_type type)
{
	uint32_t ordinal = tables[type].count;
	struct object **at = ordinal >> TYPE_SHIFT
				     ? NULL
				     : realloc(tables[type].at, (ordinal + 1) * sizeof(*at));
	struct object *object = calloc(1, sizeof(*object));

	if (at)
		tables[type].at = at;
	if (!at || !object) {
		free(object);
		return NULL;
	}
	object->type = type;
	object->ordinal = ordinal;
	object->handle = (uint32_t)type << TYPE_SHIFT | ordinal;
	object->number = plain_number(type, ordinal);
	object->rkey = object->number | 1;
	object->channel = -1;
	object->async_reader = event_async_reader();
	at[ordinal] = object;
	tables[type].count++;
	return object;
}

struct object *object_find(enum object_type type, uint32_t handle)
{
	return handle >> TYPE_SHIFT == type ? object_at(type, handle & ((1u << TYPE_SHIFT) - 1))
					    : NULL;
}

void object_free(struct object *object)
{
	if (!object)
		return;
	tables[object->type].at[object->ordinal] = NULL;
	free(object->device);
	free(object->members);
	free(object);
}

void object_forget_all(void)
{
	for (int type = 1; type < OBJECT_TYPES; type++)
		tables[type].count = 0;
}

static bool uses(const struct object *user, const struct object *object)
{
	for (uint32_t i = 0; i < user->member_count; i++) {
		if (user->members[i] == object)
			return true;
	}
	return user->pd == object || user->send_cq == object || user->recv_cq == object ||
	       user->srq == object || user->table == object || user->xrcd == object ||
	       user->dm == object;
}

bool object_in_use(const struct object *object)
{
	for (int type = 1; type < OBJECT_TYPES; type++) {
		for (uint32_t i = 0; i < tables[type].count; i++) {
			const struct object *user = tables[type].at[i];

			if (user && uses(user, object))
				return true;
		}
	}
	return false;
}

uint32_t object_count(enum object_type type)
{
	return tables[type].count;
}

struct object *object_at(enum object_type type, uint32_t ordinal)
{
	return ordinal < tables[type].count ? tables[type].at[ordinal] : NULL;
}

struct object *object_by_number(enum object_type type, uint32_t number)
{
	for (uint32_t i = tables[type].count; i--;) {
		if (tables[type].at[i] && tables[type].at[i]->number == number)
			return tables[type].at[i];
	}
	return NULL;
}

const char *object_name(enum object_type type, uint32_t handle)
{
	static __thread char names[8][24];
	static __thread unsigned next;
	char *name = names[next++ % 8];
	const struct object *object = object_find(type, handle);

	if (object)
		snprintf(name, sizeof(names[0]), "%s%u", type_names[type], object->ordinal);
	else
		snprintf(name, sizeof(names[0]), "no-%s(%u)", type_names[type], handle);
	return name;
}
