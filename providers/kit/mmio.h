/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores into registers. Values have the byte order of the device: the caller converts them. */
#ifndef PROVIDERS_KIT_MMIO_H
#define PROVIDERS_KIT_MMIO_H

#include <stdint.h>
#include <string.h>

#include "util/spinlock.h"

#ifdef __s390x__
#include "providers/kit/zpci.h"
#endif

#ifdef __s390x__
static inline void mmio_write_32(void *reg, uint32_t raw)
{
	zpci_store(reg, &raw, sizeof(raw));
}

static inline void mmio_write_64(void *reg, uint64_t raw)
{
	zpci_store(reg, &raw, sizeof(raw));
}
#else
static inline void mmio_write_32(void *reg, uint32_t raw)
{
	*(volatile uint32_t *)reg = raw;
}

#if UINTPTR_MAX > UINT32_MAX
static inline void mmio_write_64(void *reg, uint64_t raw)
{
	*(volatile uint64_t *)reg = raw;
}
#else
/*
 * Store two halves. A lock in mmio.c keeps other stores of this process from coming between them.
 */
void mmio_write_64(void *reg, uint64_t raw);
#endif
#endif

/* Copy 16 bytes, with one store where the processor has such a store. */
static inline void mmio_copy_16(void *reg, const void *from)
{
#ifdef __s390x__
	mmio_write_64(reg, ((const uint64_t *)from)[0]);
	mmio_write_64((char *)reg + sizeof(uint64_t), ((const uint64_t *)from)[1]);
#else
	typedef uint32_t words __attribute__((vector_size(16)));
	words part;

	memcpy(&part, from, sizeof(part));
	*(volatile words *)reg = part;
#endif
}

#ifdef __aarch64__
/* Copy 64 bytes with one store, so that processors that do not combine stores also write them to
 * the device in one piece. */
static inline void mmio_copy_64(void *reg, const void *from)
{
	const struct {
		char bytes[64];
	} *source = from;

	asm volatile("ld4 {v0.2d, v1.2d, v2.2d, v3.2d}, [%0]\n\t"
		     "st4 {v0.2d, v1.2d, v2.2d, v3.2d}, [%1]"
		     :
		     : "r"(source), "r"(reg), "m"(*source)
		     : "v0", "v1", "v2", "v3", "memory");
}
#else
/* Copy 64 bytes in words, in the order of their addresses. */
static inline void mmio_copy_64(void *reg, const void *from)
{
	const uint64_t *word = from;
	char *to = reg;

#ifdef __s390x__
	for (int i = 0; i < 8; i++)
		mmio_write_64(to + 8 * i, word[i]);
#else
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		*(volatile uint64_t *)(to + 8 * i) = word[i];
#endif
}
#endif

#endif
