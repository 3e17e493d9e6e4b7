/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run mode: keys of mlx5 that stand for a list of pieces of other keys' memory or for
 * interleaved blocks of such pieces. A work request describes them.
 *
 * The backend's part is a memory window, which gives such a key its number, its order among
 * requests and its end. Peers can reach the memory through the key if it is in one piece.
 */
#include "tests/adapters/lab/device/mlx5_devx.h"

#include <errno.h>
#include <stdlib.h>
#include "tests/adapters/lab/model/model.h"

enum {
	MKC = 0x10,
	MODE_LIST = 2,
	CONTROL = 48, /* of a request, and then the key */
	KEY = 64,
	OP_REPEAT = 0x400, /* in the place of a key: blocks in turn */
	PIECES = 64,
	REGIONS = 256,
};

struct piece {
	uint64_t at;
	uint32_t length, key, stride;
};

struct mlx5_list {
	struct object *window;
	bool is_described, is_bound;
	struct piece pieces[PIECES];
	uint32_t count, repeats;
	/* Regions that were opened to peers: windows may still be bound to them. */
	struct ibv_mr *regions[REGIONS];
	unsigned region_count;
};

static uint8_t nothing;

bool mlx5_is_list(const struct firmware *f)
{
	return (firmware_get(f, MKC) >> 8 & 3) == MODE_LIST;
}

int mlx5_create_list(struct object *object, struct firmware *f)
{
	struct object *window = object_new(OBJECT_MW);
	struct mlx5_list *list = window ? calloc(1, sizeof(*list)) : NULL;
	int r;

	if (!list)
		abort();
	list->window = window;
	window->device = list;
	window->pd = object_by_number(OBJECT_PD, firmware_get(f, MKC + 0xc) & INDEX_24);
	r = window->pd ? model_alloc_mw(window, IBV_MW_TYPE_2)
		       : firmware_status(f, FIRMWARE_BAD_PARAMETER);
	if (r) {
		object_free(window);
		return r;
	}
	firmware_attach(object, window);
	firmware_put(f, 8, window->number >> 8);
	return 0;
}

void mlx5_destroy_list(struct object *window)
{
	struct mlx5_list *list = window->device;

	for (unsigned i = 0; i < list->region_count; i++)
		model_close_region(list->regions[i]);
}

struct mlx5_list *mlx5_find_list(uint32_t key)
{
	for (uint32_t i = 0; i < object_count(OBJECT_MW); i++) {
		struct object *window = object_at(OBJECT_MW, i);

		if (window && window->by_device && window->device &&
		    window->number >> 8 == key >> 8)
			return window->device;
	}
	return NULL;
}

void mlx5_forget_list(struct mlx5_list *list)
{
	if (list)
		list->is_described = list->is_bound = false;
}

/* Behind plain pieces, padding fills the last 64 bytes. */
static void read_list(struct mlx5_list *list, const uint8_t *entry, uint32_t count)
{
	list->repeats = 1;
	list->count = 0;
	for (; count && list->count < PIECES && get32(entry); count--, entry += 16)
		list->pieces[list->count++] = (struct piece){ .at = get64(entry + 8),
							      .length = get32(entry),
							      .key = get32(entry + 4) };
}

static int read_blocks(struct mlx5_list *list, const uint8_t *entry, uint32_t count)
{
	uint32_t total = 0;

	list->repeats = get32(entry + 8);
	list->count = entry[14] << 8 | entry[15];
	if (list->count >= count || list->count > PIECES)
		return -EINVAL;
	for (uint32_t i = 0; i < list->count; i++) {
		const uint8_t *e = entry + 16 * (i + 1);

		list->pieces[i] = (struct piece){ .at = get64(e + 8),
						  .length = e[2] << 8 | e[3],
						  .key = get32(e + 4),
						  .stride = e[0] << 8 | e[1] };
		total += list->pieces[i].length;
	}
	return total == get32(entry) ? 0 : -EINVAL;
}

/* Peers reach memory through the window only if it is in one piece. */
static int open_list(struct mlx5_list *list, unsigned access, struct work *work)
{
	const struct piece *piece = list->pieces;
	struct object *of = object_by_number(OBJECT_MR, piece->key);
	bool whole = list->count == 1 && list->repeats == 1 && of && of->backend.mr &&
		     piece->at >= of->iova && piece->length <= of->backend.mr->length &&
		     piece->at - of->iova <= of->backend.mr->length - piece->length;
	uint8_t *at = whole ? (uint8_t *)of->backend.mr->addr + (piece->at - of->iova) : &nothing;
	size_t length = whole ? piece->length : sizeof(nothing);

	if (list->region_count == REGIONS)
		return -ENOMEM;
	work->bind.mr = model_open_region(list->window->pd, at, length);
	if (!work->bind.mr)
		return -ENOMEM;
	list->regions[list->region_count++] = work->bind.mr;
	work->bind.address = (uintptr_t)at;
	work->bind.length = length;
	work->bind.access =
		(whole ? access & ~(unsigned)IBV_ACCESS_LOCAL_WRITE : 0) | IBV_ACCESS_ZERO_BASED;
	return 0;
}

int mlx5_describe_list(struct mlx5_list *list, const uint8_t *segments, size_t length,
		       struct work *work)
{
	const uint8_t *key = segments + CONTROL, *entries = key + KEY;
	uint32_t count = segments[4] << 8 | segments[5], bsf = segments[6] << 8 | segments[7];
	int r = 0;

	/* The model supports no signatures and no encryption. */
	if (bsf || CONTROL + KEY + (size_t)count * 16 > length)
		return -EINVAL;
	if (count && get32(entries + 4) == OP_REPEAT)
		r = read_blocks(list, entries, count);
	else if (count)
		read_list(list, entries, count);
	if (r)
		return r;
	work->bind.new_rkey = (work->bind.mw_rkey & ~0xffu) | (get32(key + 4) & 0xff);
	work->bind.again = list->is_bound;
	r = open_list(list,
		      (key[2] & 0x40 ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
			      (key[2] & 0x20 ? IBV_ACCESS_REMOTE_WRITE : 0) |
			      (key[2] & 0x10 ? IBV_ACCESS_REMOTE_READ : 0),
		      work);
	if (!r)
		list->is_described = list->is_bound = true;
	return r;
}

int mlx5_use_list(const struct mlx5_list *list, uint64_t offset, uint32_t length, struct work *work)
{
	if (!list->is_described)
		return -EACCES;
	for (uint32_t i = 0; length && i < list->repeats * list->count; i++) {
		const struct piece *piece = &list->pieces[i % list->count];
		uint32_t taken = piece->length;

		if (offset >= taken) {
			offset -= taken;
			continue;
		}
		taken -= offset;
		if (taken > length)
			taken = length;
		if (work->wr.num_sge == WORK_SGES - 1)
			return -E2BIG;
		work->sge[work->wr.num_sge++] = (struct ibv_sge){
			.addr = piece->at + (uint64_t)(i / list->count) * piece->stride + offset,
			.length = taken,
			.lkey = piece->key,
		};
		length -= taken;
		offset = 0;
	}
	return length ? -EACCES : 0;
}
