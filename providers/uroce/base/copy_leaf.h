/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Leaves: the functions that touch registered memory. They are written in assembler, use no stack,
 * and lie in one section. The handler of a fault recognises a leaf by its address, and returns
 * -EFAULT to the caller in place of the leaf. Each processor has a file: copy_x86.c, copy_arm64.c,
 * and copy_other.c for processors without leaves.
 */
#ifndef UROCE_COPY_LEAF_H
#define UROCE_COPY_LEAF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int copy_fn(void *dst, const void *src, size_t length);
typedef int cmp_swap_fn(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig);
typedef int fetch_add_fn(void *ptr, uint64_t add, uint64_t *ret_orig);
typedef int store_fn(void *ptr, uint64_t value);

/* The functions of one implementation of copy.h. */
struct copy_ways {
	copy_fn *copy;
	copy_fn *copy_past;
	cmp_swap_fn *cmp_swap;
	fetch_add_fn *fetch_add;
	store_fn *store;
};

/* Return the best leaves of this processor. -EOPNOTSUPP: it has no leaves. */
int copy_leaves(struct copy_ways *ret_ways);

/*
 * Called in the handler of a fault. Return whether a leaf caused the fault. If so, the leaf returns
 * -EFAULT when the handler returns.
 */
bool copy_leaf_recover(void *context);

/* Because of the section's name the linker defines the two symbols around it. */
#define COPY_LEAF_SECTION "uroce_copy_text"
extern const char __start_uroce_copy_text[] __attribute__((visibility("hidden")));
extern const char __stop_uroce_copy_text[] __attribute__((visibility("hidden")));

static inline bool copy_leaf_has(uintptr_t instruction)
{
	return instruction >= (uintptr_t)__start_uroce_copy_text &&
	       instruction < (uintptr_t)__stop_uroce_copy_text;
}

#endif
