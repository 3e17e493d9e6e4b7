/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copy requests into memory of the device, in blocks of 64 bytes. An express doorbell is a doorbell
 * inside a request: the last 8 bytes of its place in the ring. The creation of the queue pair
 * writes these doorbells once. The device executes a request when the block with the doorbell
 * arrives.
 */
#include "providers/ionic/ionic.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

enum {
	BLOCK = 64,
};

#ifdef __x86_64__
enum {
	CPUID_FEATURES = 7,
	CPUID_MOVDIR64B = 1 << 28, /* bit of ecx */
};

static bool has_movdir64b;

__attribute__((constructor)) static void processor_ask(void)
{
	unsigned int a, b, c, d;

	has_movdir64b = __get_cpuid_count(CPUID_FEATURES, 0, &a, &b, &c, &d) && c & CPUID_MOVDIR64B;
}

/* Copy a block with one store if the processor has movdir64b. */
static void block_copy(char *to, const char *from)
{
	const struct {
		char bytes[BLOCK];
	} *source = (const void *)from;

	if (!has_movdir64b) {
		mmio_copy_64(to, from);
		return;
	}
	/* movdir64b (%rdx), %rax */
	asm volatile(".byte 0x66, 0x0f, 0x38, 0xf8, 0x02"
		     :
		     : "a"(to), "d"(source), "m"(*source)
		     : "memory");
}
#else
static void block_copy(char *to, const char *from)
{
	mmio_copy_64(to, from);
}
#endif

static void blocks_copy(char *to, const char *from, size_t length)
{
	for (size_t at = 0; at < length; at += BLOCK)
		block_copy(to + at, from + at);
}

/* Copy a request whose last block contains an express doorbell. */
static void express_copy(char *to, const char *from, size_t length, bool combines)
{
	size_t last = length - BLOCK;

	for (size_t at = 0; at < last; at += BLOCK) {
		barrier_to_device();
		block_copy(to + at, from + at);
	}
	barrier_to_device();
	if (combines)
		barrier_wc_flush();
	block_copy(to + last, from + last);
}

void ionic_copy_announce(const struct ionic_wq *wq, uint32_t from, uint32_t to, char *doorbell,
			 uint64_t number)
{
	uint32_t mask = wq->memory.mask, shift = wq->memory.shift;
	bool combines = !(wq->cmb & IONIC_CMB_UC);
	const char *ring = wq->memory.buf.base;
	char *copy = wq->copy.base;

	for (; from != to; from = (from + 1) & mask) {
		size_t at = (size_t)from << shift;

		if (wq->cmb & IONIC_CMB_EXPDB)
			express_copy(copy + at, ring + at, (size_t)1 << shift, combines);
		else
			blocks_copy(copy + at, ring + at, (size_t)1 << shift);
	}
	if (wq->cmb & IONIC_CMB_EXPDB)
		return;
	if (combines)
		barrier_wc_flush();
	ionic_ring(doorbell, number, to);
}
