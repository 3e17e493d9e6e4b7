/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registers of a device on IBM Z. A plain store into a mapped page of PCI does not reach them. On
 * z15 and later a process uses special instructions. On older processors it uses two system calls.
 * Include this file only on s390x.
 */
#ifndef PROVIDERS_KIT_ZPCI_H
#define PROVIDERS_KIT_ZPCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ZPCI_HWCAP = 1 << 21, /* HWCAP_PCI_MIO */
	ZPCI_STORE_MOST = 8,  /* maximum bytes of a store that is not a block */
};

static inline bool zpci_has_instructions(void)
{
	return getauxval(AT_HWCAP) & ZPCI_HWCAP;
}

/* Store the last 1, 2, 4 or 8 bytes of @value. */
static inline void zpci_store_by_instruction(void *reg, uint64_t value, size_t length)
{
	/* An even register has the address, and the next odd register the length. */
	register uint64_t address __asm__("r2") = (uintptr_t)reg;
	register uint64_t bytes __asm__("r3") = length;

	/* pcistgi */
	__asm__ volatile(".insn rre,0xb9d40000,%[value],%[address]"
			 : [address] "+d"(address), "+d"(bytes)
			 : [value] "d"(value)
			 : "cc", "memory");
}

/* Store the bytes at @from, which have the byte order of the register. */
static inline void zpci_store(void *reg, const void *from, size_t length)
{
	uint64_t value = 0;

	if (!zpci_has_instructions()) {
		syscall(__NR_s390_pci_mmio_write, reg, from, length);
		return;
	}
	/* The processor is big-endian: a short value ends where the long one does. */
	__builtin_memcpy((char *)&value + sizeof(value) - length, from, length);
	zpci_store_by_instruction(reg, value, length);
}

/* Flush stores that the processor may hold back. */
static inline void zpci_flush(void)
{
	if (zpci_has_instructions())
		__asm__ volatile(".insn rre,0xb9d50000,0,0" ::: "memory"); /* pciwb */
	else
		__asm__ volatile("" ::: "memory");
}

#endif
