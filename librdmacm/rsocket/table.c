/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "librdmacm/rsocket/rs.h"

/*
 * Blocks of files by the upper bits of the descriptor, allocated when needed and never freed. The
 * lock is only held for a moment: a look-up takes a reference under it.
 */
#define BLOCK_BITS 10
#define BLOCKS	   1024

static struct {
	pthread_mutex_t lock;
	struct rs_file **blocks[BLOCKS];
	unsigned int process; /* number of forks between the first process and this one */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

void rs_table_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&table.lock);
	else
		pthread_mutex_unlock(&table.lock);
}

void rs_table_fork_child(void)
{
	table.process++;
}

void rs_file_put(struct rs_file *file)
{
	if (atomic_fetch_sub_explicit(&file->refs, 1, memory_order_acq_rel) == 1)
		file->destroy(file);
}

unsigned int rs_process(void)
{
	return table.process;
}

static struct rs_file **place_of(int fd)
{
	unsigned int block = (unsigned int)fd >> BLOCK_BITS;

	if (fd < 0 || block >= BLOCKS || !table.blocks[block])
		return NULL;
	return &table.blocks[block][fd & ((1 << BLOCK_BITS) - 1)];
}

int rs_table_add(struct rs_file *file)
{
	unsigned int block = (unsigned int)file->fd >> BLOCK_BITS;
	int r = 0;

	if (block >= BLOCKS)
		return -EMFILE;
	pthread_mutex_lock(&table.lock);
	if (!table.blocks[block])
		table.blocks[block] = calloc(1 << BLOCK_BITS, sizeof(*table.blocks[block]));
	if (table.blocks[block]) {
		file->process = table.process;
		*place_of(file->fd) = file;
	} else {
		r = -ENOMEM;
	}
	pthread_mutex_unlock(&table.lock);
	return r;
}

static struct rs_file *file_find(int fd, enum rs_kind kind)
{
	struct rs_file **place, *file = NULL;

	pthread_mutex_lock(&table.lock);
	place = place_of(fd);
	if (place && *place && (*place)->kind == kind && (*place)->process == table.process) {
		file = *place;
		atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&table.lock);
	return file;
}

struct rs_socket *rs_table_find(int fd)
{
	return (struct rs_socket *)file_find(fd, RS_SOCKET);
}

static bool has_block(int fd)
{
	bool has;

	pthread_mutex_lock(&table.lock);
	has = place_of(fd);
	pthread_mutex_unlock(&table.lock);
	return has;
}

struct rs_socket *rs_table_next(int *fd)
{
	struct rs_socket *s = NULL;

	for (; *fd < BLOCKS << BLOCK_BITS; (*fd)++) {
		if (!has_block(*fd))
			*fd |= (1 << BLOCK_BITS) - 1;
		else if ((s = rs_table_find(*fd)))
			break;
	}
	return s;
}

struct rs_poller *rs_table_find_poller(int fd)
{
	return (struct rs_poller *)file_find(fd, RS_POLLER);
}

const void *rs_table_peek(int fd)
{
	struct rs_file **place, *file = NULL;

	pthread_mutex_lock(&table.lock);
	place = place_of(fd);
	if (place && *place && (*place)->kind == RS_POLLER)
		file = *place;
	pthread_mutex_unlock(&table.lock);
	return file;
}

int rs_table_move(struct rs_file *file, int fd)
{
	unsigned int block = (unsigned int)fd >> BLOCK_BITS;
	int r = 0;

	if (block >= BLOCKS)
		return -EMFILE;
	pthread_mutex_lock(&table.lock);
	if (!table.blocks[block])
		table.blocks[block] = calloc(1 << BLOCK_BITS, sizeof(*table.blocks[block]));
	if (!table.blocks[block]) {
		r = -ENOMEM;
	} else if (*place_of(file->fd) != file) {
		r = -EBADF; /* another thread closes the socket */
	} else {
		*place_of(file->fd) = NULL;
		*place_of(fd) = file;
		file->fd = fd;
	}
	pthread_mutex_unlock(&table.lock);
	return r;
}

int rs_table_copy(struct rs_file *file, int fd)
{
	unsigned int block = (unsigned int)fd >> BLOCK_BITS;
	int r = 0;

	if (block >= BLOCKS)
		return -EMFILE;
	pthread_mutex_lock(&table.lock);
	if (!table.blocks[block])
		table.blocks[block] = calloc(1 << BLOCK_BITS, sizeof(*table.blocks[block]));
	if (table.blocks[block]) {
		atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
		*place_of(fd) = file;
	} else {
		r = -ENOMEM;
	}
	pthread_mutex_unlock(&table.lock);
	return r;
}

int rs_table_other(const struct rs_file *file, int fd)
{
	int other = -1;

	pthread_mutex_lock(&table.lock);
	for (int i = 0; other < 0 && i < BLOCKS << BLOCK_BITS; i++) {
		if (!place_of(i))
			i |= (1 << BLOCK_BITS) - 1;
		else if (i != fd && *place_of(i) == file)
			other = i;
	}
	pthread_mutex_unlock(&table.lock);
	return other;
}

struct rs_file *rs_table_remove(int fd, bool *ret_is_parents)
{
	struct rs_file **place, *file = NULL;

	pthread_mutex_lock(&table.lock);
	place = place_of(fd);
	if (place) {
		file = *place;
		*place = NULL;
	}
	if (file)
		*ret_is_parents = file->process != table.process;
	pthread_mutex_unlock(&table.lock);
	return file;
}
