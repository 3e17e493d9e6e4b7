/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdlib.h>

#include "librdmacm/preload/table.h"

static _Atomic(struct place *) blocks[BLOCKS];

struct place *place_find(int fd)
{
	struct place *block;

	if (fd < 0 || fd >= BLOCKS * BLOCK_SIZE)
		return NULL;
	block = atomic_load_explicit(&blocks[fd >> BLOCK_BITS], memory_order_acquire);
	return block ? &block[fd & (BLOCK_SIZE - 1)] : NULL;
}

struct place *place_make(int fd)
{
	struct place *place = place_find(fd), *block, *none = NULL;

	if (place || fd < 0 || fd >= BLOCKS * BLOCK_SIZE)
		return place;
	block = calloc(BLOCK_SIZE, sizeof(*block));
	if (!block)
		return NULL;
	/* Pairs with the load in place_find(). */
	if (!atomic_compare_exchange_strong(&blocks[fd >> BLOCK_BITS], &none, block))
		free(block);
	return place_find(fd);
}

static int kind_of(int fd)
{
	struct place *place = place_find(fd);

	return place ? atomic_load(&place->socket) - 1 : FD_NONE;
}

bool is_needed(int fd)
{
	struct place *place = place_find(fd);

	return place && (atomic_load(&place->count) > 0 || atomic_load(&place->holders) > 0);
}

int fd_socket(int fd)
{
	struct place *place;

	if (preload_inside)
		return FD_NONE;
	place = place_find(fd);
	if (!place)
		return FD_NONE;
	return atomic_load_explicit(&place->socket, memory_order_relaxed) - 1;
}

void fd_set_socket(int fd, int rs)
{
	struct place *place = place_make(fd), *base = place_make(rs);

	if (!place || !base)
		return;
	if (!atomic_load(&base->count)) {
		atomic_store(&base->bound, false);
		atomic_store(&base->spent, false);
	}
	atomic_store(&place->socket, rs + 1);
	atomic_fetch_add(&base->count, 1);
}

void fd_set_kind(int fd, int kind)
{
	struct place *place = place_make(fd);

	if (place)
		atomic_store(&place->socket, kind + 1);
}

int fd_next(int fd, int kind)
{
	for (; fd < BLOCKS * BLOCK_SIZE; fd++) {
		if (!place_find(fd))
			fd |= BLOCK_SIZE - 1; /* the next block */
		else if (kind_of(fd) == kind)
			return fd;
	}
	return -1;
}

int fd_next_socket(int rs)
{
	for (; rs < BLOCKS * BLOCK_SIZE; rs++) {
		if (!place_find(rs))
			rs |= BLOCK_SIZE - 1;
		else if (atomic_load(&place_find(rs)->count) > 0)
			return rs;
	}
	return -1;
}

void fd_hold(int rs)
{
	struct place *place = place_make(rs);

	if (place)
		atomic_fetch_add(&place->holders, 1);
}

bool fd_unhold(int rs)
{
	struct place *place = place_find(rs);

	return place && atomic_fetch_sub(&place->holders, 1) == 1 && !atomic_load(&place->count);
}

bool fd_is_held(int rs)
{
	struct place *place = place_find(rs);

	return place && atomic_load(&place->holders) > 0;
}

bool fd_is_nobodys(int rs)
{
	return !is_needed(rs);
}

void fd_hand_over(int rs, int moved, int by, int kind, void (*name)(int fd, void *arg), void *arg)
{
	struct place *from = place_find(rs), *to = place_make(moved);
	bool is_descriptor = false;

	for (int fd = -1; (fd = fd_next(fd + 1, rs)) >= 0;) {
		int flags = real()->fcntl(fd, F_GETFD, NULL);

		real()->dup3(by, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
		name(fd, arg);
		fd_set_kind(fd, kind);
		is_descriptor |= fd == rs;
	}
	atomic_store(&from->count, 0);
	if (to)
		atomic_store(&to->holders, atomic_exchange(&from->holders, 0));
	if (!is_descriptor)
		real()->close(rs);
}

void fd_inherit_all(void)
{
	for (int fd = 0; fd < BLOCKS * BLOCK_SIZE; fd++) {
		struct place *place = place_find(fd), *base;
		int rs = fd_socket(fd);

		if (!place) {
			fd |= BLOCK_SIZE - 1;
			continue;
		}
		atomic_store(&place->count, 0);
		atomic_store(&place->holders, 0);
		if (rs <= FD_INHERITED)
			atomic_store(&place->socket, 0); /* of a parent's parent */
		base = rs >= 0 ? place_find(rs) : NULL;
		if (!base)
			continue;
		atomic_fetch_add(&base->inherited, 1);
		atomic_store(&place->socket, FD_INHERITED - rs + 1);
	}
}

void fd_set_bound(int fd)
{
	atomic_store(&place_find(fd)->bound, true);
}

bool fd_is_bound(int fd)
{
	return atomic_load(&place_find(fd)->bound);
}

void fd_set_spent(int rs)
{
	atomic_store(&place_find(rs)->spent, true);
}

bool fd_is_spent(int rs)
{
	return atomic_load(&place_find(rs)->spent);
}

void fd_set_outer(int fd)
{
	struct place *place = place_make(fd);

	if (place)
		atomic_store(&place->outer, true);
}

bool fd_is_outer(int fd)
{
	struct place *place = place_find(fd);

	return place && atomic_load(&place->outer);
}

/* ---- files of the kernel ---- */

int fd_group_new(void)
{
	static atomic_int last;

	return atomic_fetch_add(&last, 1) + 1;
}

void fd_set_group(int fd, int group, bool fell)
{
	struct place *place = place_make(fd);

	if (!place)
		return;
	atomic_store(&place->group, group);
	atomic_store(&place->fell, fell);
}

int fd_next_of_group(int fd, int from)
{
	struct place *place = place_find(fd);
	int group = place ? atomic_load(&place->group) : 0;

	for (; group && (from = fd_next(from, FD_NONE)) >= 0; from++)
		if (from != fd && atomic_load(&place_find(from)->group) == group)
			return from;
	return -1;
}

bool fd_has_fallen(int fd)
{
	struct place *place = place_find(fd);

	return place && atomic_load(&place->fell);
}

void plain_forget(int fd)
{
	struct place *place = place_find(fd);

	if (!place)
		return;
	atomic_store(&place->group, 0);
	atomic_store(&place->fell, false);
}

int plain_copy(int fd, int copy)
{
	struct place *place = place_find(fd);
	int group = place && !preload_inside ? atomic_load(&place->group) : 0;

	if (copy < 0 || copy == fd)
		return copy;
	plain_forget(copy);
	if (group)
		fd_set_group(copy, group, atomic_load(&place->fell));
	return copy;
}

int fd_forget(int fd, int rs)
{
	struct place *base = rs < 0 ? NULL : place_find(rs), *place = place_find(fd);

	if (place) {
		plain_forget(fd);
		atomic_store(&place->outer, false);
		atomic_store(&place->socket, 0);
	}
	return base ? atomic_fetch_sub(&base->count, 1) - 1 : 0;
}

void fd_release(int fd)
{
	fd_forget(fd, fd_socket(fd));
}

void plain_forget_range(unsigned int fd, unsigned int last)
{
	for (last = min_of(last, BLOCKS * BLOCK_SIZE - 1u); fd <= last; fd++) {
		if (!place_find((int)fd))
			fd |= BLOCK_SIZE - 1; /* the next block */
		else
			plain_forget((int)fd);
	}
}
