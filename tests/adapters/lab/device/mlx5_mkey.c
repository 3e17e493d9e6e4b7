/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory keys that a process makes by commands to mlx5's firmware, in run mode. */
#include "tests/adapters/lab/device/mlx5_devx.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"

enum {
	MKC = 0x10,
	ENTRIES = 0x110,
	ENTRY_COUNT = 0x60,
	MODE_FIXED = 3, /* all entries of a key have one size */
};

static uint64_t get_64(const struct firmware *f, size_t offset)
{
	return (uint64_t)firmware_get(f, offset) << 32 | firmware_get(f, offset + 4);
}

static unsigned mkey_access(uint32_t word)
{
	return (word & 1u << 14 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (word & 1u << 13 ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (word & 1u << 12 ? IBV_ACCESS_REMOTE_READ : 0) |
	       (word & 1u << 11 ? IBV_ACCESS_LOCAL_WRITE : 0);
}

/* Whether all entries are contiguous in one region: the model supports no other lists. */
static bool is_contiguous(const struct firmware *f, uint32_t count)
{
	uint64_t size = 1ull << (firmware_get(f, MKC + 0x38) & 0x1f), at = get_64(f, ENTRIES + 8);

	if (!count || f->in_len < ENTRIES + (size_t)count * 16)
		return false;
	for (uint32_t i = 1; i < count; i++) {
		if (firmware_get(f, ENTRIES + 16 * i + 4) != firmware_get(f, ENTRIES + 4) ||
		    get_64(f, ENTRIES + 16 * i + 8) != at + i * size)
			return false;
	}
	return true;
}

bool mlx5_is_alias(const struct firmware *f)
{
	return (firmware_get(f, MKC) >> 8 & 3) == MODE_FIXED;
}

/* Create a key for memory of another key, at other addresses. */
int mlx5_create_mkey(struct object *object, struct firmware *f)
{
	uint32_t word = firmware_get(f, MKC), lkey = firmware_get(f, ENTRIES + 4);
	struct object *of = object_by_number(OBJECT_MR, lkey), *mr;
	int r;

	if (!of || !of->backend.mr || !is_contiguous(f, firmware_get(f, ENTRY_COUNT)))
		return firmware_status(f, FIRMWARE_BAD_PARAMETER);
	mr = object_new(OBJECT_MR);
	if (!mr)
		return ENOMEM;
	mr->pd = object_by_number(OBJECT_PD, firmware_get(f, MKC + 0xc) & INDEX_24);
	r = mr->pd ? model_alias_mr(mr, of,
				    of->iova + get_64(f, MKC + 0x10) - get_64(f, ENTRIES + 8),
				    mkey_access(word), firmware_get(f, MKC + 4))
		   : firmware_status(f, FIRMWARE_BAD_PARAMETER);
	if (r) {
		object_free(mr);
		return r;
	}
	firmware_attach(object, mr);
	firmware_put(f, 8, mr->number >> 8);
	return 0;
}
