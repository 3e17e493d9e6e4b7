/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A played PCI function of mlx5 behind the kernel's VFIO, preloaded into a program: libc.c gives
 * the program the files of the function, bus.c answers to VFIO, board.c is the function's thread,
 * and firmware.c runs its commands. Memory of the program is read at its own addresses.
 *
 * VFIO_STATE: a file. It is the function's memory, and only one process can hold it.
 * VFIO_LOG: a file that gets a line for each command and each change of the function.
 * VFIO_FAULT: a fault of the function: enum fault, or refuse:N to refuse the Nth command.
 */
#ifndef LAB_VFIO_PLAYED_H
#define LAB_VFIO_PLAYED_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	BAR_SIZE = 1 << 20,
	CONFIG_SIZE = 4096, /* behind the BAR in the same file */
	VECTORS = 8,
	GROUP = 7,
};

#define PCI_NAME "0000:99:00.0"

enum fault {
	FAULT_NONE,
	FAULT_REFUSE,	  /* refuses a command */
	FAULT_MUTE,	  /* does not end commands once there are events, and the clock runs fast */
	FAULT_DELIVERY,	  /* cannot read a command */
	FAULT_UAR,	  /* a page of registers outside of the BAR */
	FAULT_MANY_PAGES, /* asks for more pages than there can be */
	FAULT_NO_PAGES,	  /* asks for a negative number of pages at boot */
	FAULT_MORE,	  /* returns more pages than it was asked for */
	FAULT_FOREIGN,	  /* returns pages that it never had */
	FAULT_FLOOD,	  /* sends events of all types without end */
	FAULT_STUCK,	  /* its health counter stands still */
	FAULT_GONE,	  /* all registers read as ones */
	FAULT_SMALL,	  /* the BAR has too few bytes */
	FAULT_NO_VECTORS, /* no interrupts */
	FAULT_OTHER_QUEUE, /* a command queue of another size */
	FAULT_RANGES,	   /* the IOMMU's list of addresses has a loop */
	FAULT_BUSY,	   /* the IOMMU maps nothing */
	FAULTS,
};

/* libc.c */
extern enum fault fault;
extern unsigned int fault_number;
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return a new descriptor of the state, which this process then holds; -1 with errno: another does.
 */
int state_hold(void);

/* bus.c */
int bus_ioctl(int fd, unsigned long request, void *arg, bool *ret_known);
extern int container_fd, group_fd, device_fd;
extern int vectors[VECTORS];
/* Return the program's memory at an address of the function; NULL: nothing is mapped there. */
uint8_t *memory_at(uint64_t iova);

/* board.c */
extern uint8_t *bar;
void board_start(void);
void board_lock(bool on);
/* Trace a change of the interface's state now, with board_lock(). The board's thread may see it
 * later. */
void board_look(void);
/* Write an event into the queue of a vector. */
void event_send(unsigned int vector, unsigned int type, uint32_t word_0, uint32_t word_1);
void queue_make(unsigned int vector, uint8_t *at, unsigned int log_size);
void queue_stop(void);

/* firmware.c */
struct command {
	const uint8_t *in;
	uint32_t inlen;
	uint8_t *out;
	uint32_t outlen;
};
void firmware_run(const struct command *c);

static inline uint32_t word(const uint8_t *p, unsigned int offset)
{
	uint32_t value;

	memcpy(&value, p + offset, 4);
	return be32toh(value);
}

static inline uint64_t word_64(const uint8_t *p, unsigned int offset)
{
	return (uint64_t)word(p, offset) << 32 | word(p, offset + 4);
}

static inline void word_set(uint8_t *p, unsigned int offset, uint32_t value)
{
	value = htobe32(value);
	memcpy(p + offset, &value, 4);
}

#endif
