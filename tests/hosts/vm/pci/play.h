/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A PCI function that this process plays: its configuration space, its BARs, the memory of the
 * machine, its interrupts. documentation/kernel-drivers.md explains how to play a device.
 */
#ifndef PCI_PLAY_H
#define PCI_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	PLAY_PAGE = 4096,
	PLAY_BARS = 6,
	PLAY_VECTORS = 64,
};

struct play_identity {
	uint16_t vendor, part;
	uint32_t class_code;	   /* 24 bits */
	uint32_t bars[PLAY_BARS];  /* sizes, powers of two; 0: there is none */
	uint32_t msix_at;	   /* the MSI-X table, in BAR 0 */
	unsigned int msix_vectors; /* at most PLAY_VECTORS */
};

/* Report a fault of the playing process or its surroundings, and end it. */
void play_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

extern bool play_verbose;
#define PLAY_LOG(...)                        \
	do {                                 \
		if (play_verbose)            \
			printf(__VA_ARGS__); \
	} while (0)

struct play_device {
	struct play_identity identity;
	void (*start)(void); /* before the kernel finds the function */
	bool (*pass)(void);  /* return whether there was work */
	/* Return a status for a command that fails by chance, or 0 if a driver cannot go on without
	 * that command. */
	uint32_t (*random_status)(uint32_t opcode, uint32_t random);
	/* execute an order that only this device has; may be NULL */
	bool (*order)(const char *word);
};

/* Read the command line, [-v] [FIFO]. Plug the function in, and play it until the process ends. The
 * kernel finds the function later. */
void play_run(const struct play_device *played, int argc, char **argv) __attribute__((noreturn));
unsigned int play_slot(void);

/* Return the place of a register, or NULL while the kernel has not switched the BARs on. The kernel
 * may move them. */
volatile void *play_bar(unsigned int bar, uint32_t offset);
/* The same before the kernel has switched them on, for registers that a driver reads at once. */
volatile void *play_bar_memory(unsigned int bar, uint32_t offset);
/* Return whether the kernel has asked for a reset of the function since the last call. */
bool play_reset_asked(void);

/* Return memory at a DMA address; it is contiguous up to the end of the page. */
void *play_memory(uint64_t at);
/* Map whole pages at a DMA address, and unmap them. */
void *play_map(uint64_t at, size_t length);
/* Map pages of @length bytes each one behind the other. */
void *play_map_pages(const uint64_t *page, uint32_t count, size_t length);
void play_unmap(void *at, size_t length);

/* Send the interrupt of an entry of the MSI-X table. If the entry is masked, send it after the mask
 * has gone. */
void play_interrupt(unsigned int entry);
void play_interrupts_again(void);

uint64_t play_now(void); /* milliseconds */

/* play_fault.c: faults that a FIFO orders. */
enum play_fault {
	PLAY_FAULT_NONE,
	PLAY_FAULT_ERROR, /* *ret_value is the status */
	PLAY_FAULT_LATE,  /* *ret_value is a time in milliseconds */
	PLAY_FAULT_NEVER,
};
void play_fault_open(const char *path, const struct play_device *played);
void play_fault_read(void);
enum play_fault play_fault_of(uint32_t opcode, uint32_t *ret_value);

#endif
