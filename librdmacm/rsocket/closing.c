/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers that the program has closed and that the kernel still has open. The end of a socket takes
 * its time, and needs the number meanwhile. For other threads of the program the number is closed.
 * librspreload sets the marks. They are removed just before the kernel closes the number.
 */
#include <stdlib.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

#define BLOCK_BITS 10
#define BLOCKS	   1024

/* rs_process() of the process that closes the number, plus 1. A forked child ignores its marks. */
static _Atomic(atomic_uint *) blocks[BLOCKS];

static atomic_uint *mark_find(int fd)
{
	atomic_uint *block;

	if (fd < 0 || fd >= BLOCKS << BLOCK_BITS)
		return NULL;
	block = atomic_load_explicit(&blocks[fd >> BLOCK_BITS], memory_order_acquire);
	return block ? &block[fd & ((1 << BLOCK_BITS) - 1)] : NULL;
}

static atomic_uint *mark_make(int fd)
{
	atomic_uint *mark = mark_find(fd), *block, *none = NULL;

	if (mark || fd < 0 || fd >= BLOCKS << BLOCK_BITS)
		return mark;
	block = calloc(1 << BLOCK_BITS, sizeof(*block));
	if (!block)
		return NULL;
	/* Pairs with the load in mark_find(). */
	if (!atomic_compare_exchange_strong(&blocks[fd >> BLOCK_BITS], &none, block))
		free(block);
	return mark_find(fd);
}

RS_EXPORT void rs_closing_begin(int fd)
{
	atomic_uint *mark = mark_make(fd);

	if (mark)
		atomic_store(mark, rs_process() + 1);
}

RS_EXPORT void rs_closing_end(int fd)
{
	atomic_uint *mark = mark_find(fd);

	if (mark)
		atomic_store(mark, 0);
}

RS_EXPORT bool rs_is_closing(int fd)
{
	atomic_uint *mark = mark_find(fd);

	return mark && atomic_load(mark) == rs_process() + 1;
}
