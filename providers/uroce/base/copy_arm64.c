/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The leaves for aarch64. GCC has no naked functions there, so the leaves are assembler outside of
 * functions.
 *
 * Other threads and processes may read the memory during the copy. They may poll the last byte to
 * learn that the others have arrived. Stores become visible in any order on this processor, so a
 * fence precedes the last.
 */
#include <ucontext.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"

#if defined(__aarch64__)

/* "hint 34" marks a target of indirect calls, for processors that check this. */
#define LEAF(name, ...)                                                    \
	__asm__(".pushsection " COPY_LEAF_SECTION ", \"ax\", %progbits\n"  \
		".p2align 4\n"                                             \
		".hidden " #name "\n"                                      \
		".globl " #name "\n"                                       \
		".type " #name ", %function\n" #name ":\n"                 \
		"hint 34\n" __VA_ARGS__ ".size " #name ", . - " #name "\n" \
		".popsection")
#define INSIDE __attribute__((visibility("hidden")))

/* A leaf continues here after a fault. Its return address is still in x30. */
INSIDE extern const char copy_leaf_fault[];
static_assert(EFAULT == 14, "as copy_leaf_fault has it");
LEAF(copy_leaf_fault, "mov w0, #-14\n"
		      "ret\n");

/*
 * x0: destination, x1: source, x2: length in bytes. x5, x6: ends of source and destination. Up to
 * 64 bytes are read completely, in parts that overlap in the middle, then written. A longer copy
 * writes its beginning unaligned. Then x9, the destination, is aligned for the loop. The tail was
 * read first and is written to x8, where the loop stops.
 */
INSIDE copy_fn copy_leaf;
LEAF(copy_leaf, "add x5, x1, x2\n"
		"add x6, x0, x2\n"
		"cmp x2, #16\n"
		"b.hi 20f\n"
		"cmp x2, #8\n"
		"b.lo 10f\n"
		"ldr x3, [x1]\n"
		"b.eq 9f\n"
		"ldur x4, [x5, #-8]\n"
		"str x3, [x0]\n"
		"dmb ishst\n"
		"stur x4, [x6, #-8]\n"
		"mov w0, #0\n"
		"ret\n"
		"9: str x3, [x0]\n"
		"mov w0, #0\n"
		"ret\n"
		"10: cmp x2, #4\n"
		"b.lo 12f\n"
		"ldr w3, [x1]\n"
		"b.eq 11f\n"
		"ldur w4, [x5, #-4]\n"
		"str w3, [x0]\n"
		"dmb ishst\n"
		"stur w4, [x6, #-4]\n"
		"mov w0, #0\n"
		"ret\n"
		"11: str w3, [x0]\n"
		"mov w0, #0\n"
		"ret\n"
		"12: cmp x2, #2\n"
		"b.lo 14f\n"
		"ldrh w3, [x1]\n"
		"b.eq 13f\n"
		"ldrb w4, [x1, #2]\n"
		"strh w3, [x0]\n"
		"dmb ishst\n"
		"strb w4, [x0, #2]\n"
		"mov w0, #0\n"
		"ret\n"
		"13: strh w3, [x0]\n"
		"mov w0, #0\n"
		"ret\n"
		"14: cbz x2, 15f\n"
		"ldrb w3, [x1]\n"
		"strb w3, [x0]\n"
		"15:\n"
		"mov w0, #0\n"
		"ret\n"
		"20: cmp x2, #32\n"
		"b.hi 30f\n"
		"ldr q0, [x1]\n"
		"ldur q1, [x5, #-16]\n"
		"str q0, [x0]\n"
		"dmb ishst\n"
		"stur q1, [x6, #-16]\n"
		"mov w0, #0\n"
		"ret\n"
		"30: cmp x2, #64\n"
		"b.hi 40f\n"
		"ldp q0, q1, [x1]\n"
		"ldp q2, q3, [x5, #-32]\n"
		"stp q0, q1, [x0]\n"
		"dmb ishst\n"
		"stp q2, q3, [x6, #-32]\n"
		"mov w0, #0\n"
		"ret\n"
		"40: ldr q16, [x1]\n"
		"ldp q4, q5, [x5, #-64]\n"
		"ldp q6, q7, [x5, #-32]\n"
		"sub x8, x6, #64\n"
		"add x9, x0, #16\n"
		"and x9, x9, #-16\n"
		"sub x1, x1, x0\n"
		"str q16, [x0]\n"
		"cmp x9, x8\n"
		"b.hs 51f\n"
		"50: add x10, x1, x9\n"
		"ldp q0, q1, [x10]\n"
		"ldp q2, q3, [x10, #32]\n"
		"stp q0, q1, [x9]\n"
		"stp q2, q3, [x9, #32]\n"
		"add x9, x9, #64\n"
		"cmp x9, x8\n"
		"b.lo 50b\n"
		"51: dmb ishst\n"
		"stp q4, q5, [x8]\n"
		"stp q6, q7, [x8, #32]\n"
		"mov w0, #0\n"
		"ret\n");

/* x0: the word, x1: compare value, x2: swap value, x3: address for the former value. */
INSIDE cmp_swap_fn cmp_swap_leaf;
LEAF(cmp_swap_leaf, "1: ldaxr x4, [x0]\n"
		    "cmp x4, x1\n"
		    "b.ne 2f\n"
		    "stlxr w5, x2, [x0]\n"
		    "cbnz w5, 1b\n"
		    "2: str x4, [x3]\n"
		    "mov w0, #0\n"
		    "ret\n");

/* x0: the word, x1: the summand, x2: address for the former value. */
INSIDE fetch_add_fn fetch_add_leaf;
LEAF(fetch_add_leaf, "1: ldaxr x4, [x0]\n"
		     "add x5, x4, x1\n"
		     "stlxr w6, x5, [x0]\n"
		     "cbnz w6, 1b\n"
		     "str x4, [x2]\n"
		     "mov w0, #0\n"
		     "ret\n");

/* x0: the word, x1: its new value. */
INSIDE store_fn store_leaf;
LEAF(store_leaf, "stlr x1, [x0]\n"
		 "mov w0, #0\n"
		 "ret\n");

int copy_leaves(struct copy_ways *ret_ways)
{
	*ret_ways = (struct copy_ways){
		.copy = copy_leaf,
		/* this processor has no stores that are certain to bypass the caches */
		.copy_past = copy_leaf,
		.cmp_swap = cmp_swap_leaf,
		.fetch_add = fetch_add_leaf,
		.store = store_leaf,
	};
	return 0;
}

bool copy_leaf_recover(void *context)
{
	mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;

	if (!copy_leaf_has(registers->pc))
		return false;
	registers->pc = (uintptr_t)copy_leaf_fault;
	return true;
}

#endif
