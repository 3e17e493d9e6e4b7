/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The leaves for x86. */
#include <ucontext.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"

#if defined(__x86_64__)

#ifdef __CET__
#define LANDING "endbr64\n"
#else
#define LANDING ""
#endif

/* Because of the section's name the linker defines __start_ and __stop_ around it. */
#define LEAF                                                                                      \
	__attribute__((naked, noinline, used, section(COPY_LEAF_SECTION), no_instrument_function, \
		       no_sanitize("address", "thread", "undefined")))

/* A leaf continues here after a fault. Its return address is still on top of the stack. */
LEAF static void copy_fault(void)
{
	__asm__("mov $-14, %eax\n" /* -EFAULT */
		"ret");
}
static_assert(EFAULT == 14, "as copy_fault() has it");

/*
 * rdi: destination, rsi: source, rdx: length in bytes. Up to 128 bytes are read completely, in
 * parts that overlap in the middle, then written. The last byte is written last and only once,
 * because another thread may poll it. "rep movsb" would be shorter, but with an unfavourable
 * alignment of source and destination some processors drop to a tenth of the speed of a loop.
 */
#define COPY_32                          \
	LANDING                          \
	"cmp $16, %rdx\n"                \
	"ja 20f\n"                       \
	"cmp $8, %edx\n"                 \
	"jb 10f\n"                       \
	"mov (%rsi), %rax\n"             \
	"je 9f\n"                        \
	"mov -8(%rsi,%rdx), %rcx\n"      \
	"mov %rax, (%rdi)\n"             \
	"mov %rcx, -8(%rdi,%rdx)\n"      \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"9: mov %rax, (%rdi)\n"          \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"10: cmp $4, %edx\n"             \
	"jb 12f\n"                       \
	"mov (%rsi), %eax\n"             \
	"je 11f\n"                       \
	"mov -4(%rsi,%rdx), %ecx\n"      \
	"mov %eax, (%rdi)\n"             \
	"mov %ecx, -4(%rdi,%rdx)\n"      \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"11: mov %eax, (%rdi)\n"         \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"12: cmp $2, %edx\n"             \
	"jb 14f\n"                       \
	"movzwl (%rsi), %eax\n"          \
	"je 13f\n"                       \
	"movzbl 2(%rsi), %ecx\n"         \
	"mov %ax, (%rdi)\n"              \
	"mov %cl, 2(%rdi)\n"             \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"13: mov %ax, (%rdi)\n"          \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"14: test %edx, %edx\n"          \
	"je 15f\n"                       \
	"movzbl (%rsi), %eax\n"          \
	"mov %al, (%rdi)\n"              \
	"15: xor %eax, %eax\n"           \
	"ret\n"                          \
	"20: cmp $32, %rdx\n"            \
	"ja 30f\n"                       \
	"movups (%rsi), %xmm0\n"         \
	"movups -16(%rsi,%rdx), %xmm1\n" \
	"movups %xmm0, (%rdi)\n"         \
	"movups %xmm1, -16(%rdi,%rdx)\n" \
	"xor %eax, %eax\n"               \
	"ret\n"

/*
 * Longer copies write their beginning unaligned. Then r9, the destination, is aligned for the loop.
 * The tail was read first and is written to r8, where the loop stops.
 */
LEAF int uroce_copy_sse(void *dst, const void *src, size_t length)
{
	__asm__(COPY_32 "30: cmp $64, %rdx\n"
			"ja 40f\n"
			"movups (%rsi), %xmm0\n"
			"movups 16(%rsi), %xmm1\n"
			"movups -32(%rsi,%rdx), %xmm2\n"
			"movups -16(%rsi,%rdx), %xmm3\n"
			"movups %xmm0, (%rdi)\n"
			"movups %xmm1, 16(%rdi)\n"
			"movups %xmm2, -32(%rdi,%rdx)\n"
			"movups %xmm3, -16(%rdi,%rdx)\n"
			"xor %eax, %eax\n"
			"ret\n"
			"40: movups (%rsi), %xmm4\n"
			"movups -64(%rsi,%rdx), %xmm5\n"
			"movups -48(%rsi,%rdx), %xmm6\n"
			"movups -32(%rsi,%rdx), %xmm7\n"
			"movups -16(%rsi,%rdx), %xmm8\n"
			"lea -64(%rdi,%rdx), %r8\n"
			"lea 16(%rdi), %r9\n"
			"and $-16, %r9\n"
			"sub %rdi, %rsi\n"
			"movups %xmm4, (%rdi)\n"
			"cmp %r8, %r9\n"
			"jae 51f\n"
			"50: movups (%rsi,%r9), %xmm0\n"
			"movups 16(%rsi,%r9), %xmm1\n"
			"movups 32(%rsi,%r9), %xmm2\n"
			"movups 48(%rsi,%r9), %xmm3\n"
			"movaps %xmm0, (%r9)\n"
			"movaps %xmm1, 16(%r9)\n"
			"movaps %xmm2, 32(%r9)\n"
			"movaps %xmm3, 48(%r9)\n"
			"add $64, %r9\n"
			"cmp %r8, %r9\n"
			"jb 50b\n"
			"51: movups %xmm5, (%r8)\n"
			"movups %xmm6, 16(%r8)\n"
			"movups %xmm7, 32(%r8)\n"
			"movups %xmm8, 48(%r8)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF int uroce_copy_avx(void *dst, const void *src, size_t length)
{
	__asm__(COPY_32 "30: cmp $64, %rdx\n"
			"ja 40f\n"
			"vmovdqu (%rsi), %ymm0\n"
			"vmovdqu -32(%rsi,%rdx), %ymm1\n"
			"vmovdqu %ymm0, (%rdi)\n"
			"vmovdqu %ymm1, -32(%rdi,%rdx)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret\n"
			"40: cmp $128, %rdx\n"
			"ja 41f\n"
			"vmovdqu (%rsi), %ymm0\n"
			"vmovdqu 32(%rsi), %ymm1\n"
			"vmovdqu -64(%rsi,%rdx), %ymm2\n"
			"vmovdqu -32(%rsi,%rdx), %ymm3\n"
			"vmovdqu %ymm0, (%rdi)\n"
			"vmovdqu %ymm1, 32(%rdi)\n"
			"vmovdqu %ymm2, -64(%rdi,%rdx)\n"
			"vmovdqu %ymm3, -32(%rdi,%rdx)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret\n"
			"41: vmovdqu (%rsi), %ymm4\n"
			"vmovdqu -128(%rsi,%rdx), %ymm5\n"
			"vmovdqu -96(%rsi,%rdx), %ymm6\n"
			"vmovdqu -64(%rsi,%rdx), %ymm7\n"
			"vmovdqu -32(%rsi,%rdx), %ymm8\n"
			"lea -128(%rdi,%rdx), %r8\n"
			"lea 32(%rdi), %r9\n"
			"and $-32, %r9\n"
			"sub %rdi, %rsi\n"
			"vmovdqu %ymm4, (%rdi)\n"
			"cmp %r8, %r9\n"
			"jae 51f\n"
			"50: vmovdqu (%rsi,%r9), %ymm0\n"
			"vmovdqu 32(%rsi,%r9), %ymm1\n"
			"vmovdqu 64(%rsi,%r9), %ymm2\n"
			"vmovdqu 96(%rsi,%r9), %ymm3\n"
			"vmovdqa %ymm0, (%r9)\n"
			"vmovdqa %ymm1, 32(%r9)\n"
			"vmovdqa %ymm2, 64(%r9)\n"
			"vmovdqa %ymm3, 96(%r9)\n"
			"add $128, %r9\n"
			"cmp %r8, %r9\n"
			"jb 50b\n"
			"51: vmovdqu %ymm5, (%r8)\n"
			"vmovdqu %ymm6, 32(%r8)\n"
			"vmovdqu %ymm7, 64(%r8)\n"
			"vmovdqu %ymm8, 96(%r8)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret");
}

/*
 * Write whole lines directly to memory, and both ends through the caches. The fence is for callers
 * that publish the copy by a plain store.
 */
LEAF static int copy_past_leaf(void *dst, const void *src, size_t length)
{
	__asm__(LANDING "cmp $128, %rdx\n"
			"jb 51f\n"
			"mov %edi, %ecx\n"
			"neg %ecx\n"
			"and $63, %ecx\n"
			"sub %rcx, %rdx\n"
			"rep movsb\n"
			"50: movups (%rsi), %xmm0\n"
			"movups 16(%rsi), %xmm1\n"
			"movups 32(%rsi), %xmm2\n"
			"movups 48(%rsi), %xmm3\n"
			"movntps %xmm0, (%rdi)\n"
			"movntps %xmm1, 16(%rdi)\n"
			"movntps %xmm2, 32(%rdi)\n"
			"movntps %xmm3, 48(%rdi)\n"
			"add $64, %rsi\n"
			"add $64, %rdi\n"
			"sub $64, %rdx\n"
			"cmp $64, %rdx\n"
			"jae 50b\n"
			"sfence\n"
			"51: mov %rdx, %rcx\n"
			"rep movsb\n"
			"xor %eax, %eax\n"
			"ret");
}

/* rdi: the word, rsi: compare value, rdx: swap value, rcx: address for the former value. */
LEAF static int cmp_swap_leaf(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig)
{
	__asm__(LANDING "mov %rsi, %rax\n"
			"lock cmpxchg %rdx, (%rdi)\n"
			"mov %rax, (%rcx)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF static int fetch_add_leaf(void *ptr, uint64_t add, uint64_t *ret_orig)
{
	__asm__(LANDING "lock xadd %rsi, (%rdi)\n"
			"mov %rsi, (%rdx)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF static int store_leaf(void *ptr, uint64_t value)
{
	__asm__(LANDING "xchg %rsi, (%rdi)\n"
			"xor %eax, %eax\n"
			"ret");
}

int copy_leaves(struct copy_ways *ret_ways)
{
	*ret_ways = (struct copy_ways){
		.copy = __builtin_cpu_supports("avx2") ? uroce_copy_avx : uroce_copy_sse,
		.copy_past = copy_past_leaf,
		.cmp_swap = cmp_swap_leaf,
		.fetch_add = fetch_add_leaf,
		.store = store_leaf,
	};
	return 0;
}

bool copy_leaf_recover(void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (!copy_leaf_has(registers[REG_RIP]))
		return false;
	registers[REG_RIP] = (greg_t)copy_fault;
	return true;
}

#endif
