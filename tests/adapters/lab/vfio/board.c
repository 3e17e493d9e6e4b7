/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The function's thread: it watches the registers, takes commands and sends events. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/adapters/lab/vfio/played.h"

enum {
	ENTRY = 64,
	SLOTS = 32,
	BOX_DATA = 512,
	BOX_NEXT = 0x230,
	EVENT_COMMAND = 0xa,
	EVENT_PAGES = 0xb,
};

uint8_t *bar;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uint8_t *at;
	unsigned int log_size, next;
} queues[VECTORS];
static unsigned int page_commands;

void board_lock(bool on)
{
	if (on)
		pthread_mutex_lock(&lock);
	else
		pthread_mutex_unlock(&lock);
}

static uint32_t reg_load(unsigned int offset)
{
	return be32toh(__atomic_load_n((uint32_t *)(bar + offset), __ATOMIC_ACQUIRE));
}

static void reg_store(unsigned int offset, uint32_t value)
{
	__atomic_store_n((uint32_t *)(bar + offset), htobe32(value), __ATOMIC_RELEASE);
}

/* ---- events */

void queue_make(unsigned int vector, uint8_t *at, unsigned int log_size)
{
	queues[vector].at = at;
	queues[vector].log_size = log_size;
	queues[vector].next = 0;
}

void queue_stop(void)
{
	memset(queues, 0, sizeof(queues));
}

void event_send(unsigned int vector, unsigned int type, uint32_t word_0, uint32_t word_1)
{
	unsigned int mask = (1u << queues[vector].log_size) - 1, next = queues[vector].next;
	uint8_t *entry = queues[vector].at;
	const uint64_t one = 1;

	if (!entry)
		return;
	entry += (next & mask) * ENTRY;
	memset(entry, 0, ENTRY - 1);
	entry[1] = type;
	word_set(entry, 0x20, word_0);
	word_set(entry, 0x24, word_1);
	__atomic_store_n(&entry[ENTRY - 1], next >> queues[vector].log_size & 1, __ATOMIC_RELEASE);
	queues[vector].next++;
	if (vectors[vector] >= 0 && write(vectors[vector], &one, sizeof(one)) < 0)
		abort();
}

/* Called by the program under test: the firmware asks for pages. */
__attribute__((visibility("default"))) void vfio_played_ask(int function, int pages);
void vfio_played_ask(int function, int pages)
{
	board_lock(true);
	event_send(0, EVENT_PAGES, function, pages);
	board_lock(false);
}

/* Called by the program: an event of a type in the queue of its own vector. */
__attribute__((visibility("default"))) void vfio_played_event(int vector, int type);
void vfio_played_event(int vector, int type)
{
	board_lock(true);
	event_send(vector, type, 0x1234, 0x5678);
	board_lock(false);
}

/* Called by the program: the number of commands about pages that have ended. */
__attribute__((visibility("default"))) unsigned int vfio_played_pages(void);
unsigned int vfio_played_pages(void)
{
	return __atomic_load_n(&page_commands, __ATOMIC_ACQUIRE);
}

/* ---- commands */

static void boxes_read(uint64_t at, uint8_t *to, uint32_t length)
{
	for (uint32_t done = 16; done < length; done += BOX_DATA) {
		uint8_t *box = memory_at(at);
		uint32_t part = length - done < BOX_DATA ? length - done : BOX_DATA;

		if (!box)
			return;
		memcpy(to + done, box, part);
		at = word_64(box, BOX_NEXT);
	}
}

static void boxes_write(uint64_t at, const uint8_t *from, uint32_t length)
{
	for (uint32_t done = 16; done < length; done += BOX_DATA) {
		uint8_t *box = memory_at(at);
		uint32_t part = length - done < BOX_DATA ? length - done : BOX_DATA;

		if (!box)
			return;
		memcpy(box, from + done, part);
		at = word_64(box, BOX_NEXT);
	}
}

static void slot_run(unsigned int slot)
{
	uint8_t *entry = memory_at((uint64_t)reg_load(0x10) << 32 | (reg_load(0x14) & ~0xfffu));
	bool events = queues[0].at, pages;
	struct command c;
	uint8_t *in;

	if (!entry || (fault == FAULT_MUTE && events))
		return;
	entry += slot * ENTRY;
	c.inlen = word(entry, 4);
	c.outlen = word(entry, 56);
	in = calloc(1, c.inlen + 16);
	c.in = in;
	c.out = calloc(1, c.outlen + 16);
	memcpy(in, entry + 16, 16);
	boxes_read(word_64(entry, 8), in, c.inlen);
	trace("slot %u ", slot);
	firmware_run(&c);
	pages = word(in, 0) >> 16 == 0x108;
	memcpy(entry + 32, c.out, 16);
	boxes_write(word_64(entry, 48), c.out, c.outlen);
	free(in);
	free(c.out);
	__atomic_store_n(&entry[63], fault == FAULT_DELIVERY ? 8 << 1 : 0, __ATOMIC_RELEASE);
	if (events)
		event_send(0, EVENT_COMMAND, 1u << slot, 0);
	if (pages)
		__atomic_add_fetch(&page_commands, 1, __ATOMIC_RELEASE);
}

static void doorbells_take(void)
{
	uint32_t bits = be32toh(__atomic_exchange_n((uint32_t *)(bar + 0x18), 0, __ATOMIC_ACQ_REL));

	for (unsigned int slot = 0; slot < SLOTS; slot++)
		if (bits >> slot & 1)
			slot_run(slot);
}

static void state_watch(void)
{
	static bool said;
	bool off = (reg_load(0x14) >> 8 & 7) == 1;

	if (off && !said)
		trace("interface off\n");
	said = off;
}

static void *board(void *unused)
{
	for (uint32_t count = 1;; count++) {
		board_lock(true);
		if (fault != FAULT_GONE) {
			doorbells_take();
			state_watch();
		}
		if (fault == FAULT_FLOOD && queues[0].at)
			event_send(0, count, count, count);
		board_lock(false);
		if (fault != FAULT_STUCK && fault != FAULT_GONE)
			reg_store(0x1010, count & 0xffffff);
		usleep(20);
	}
	return unused;
}

/* Reset the function, as the kernel does when a process opens it. */
static void registers_reset(void)
{
	memset(bar, fault == FAULT_GONE ? 0xff : 0, BAR_SIZE);
	if (fault == FAULT_GONE)
		return;
	word_set(bar, 0, 35u << 16 | 16);
	word_set(bar, 4, 5u << 16 | 1012);
	word_set(bar, 0x14, (fault == FAULT_OTHER_QUEUE ? 1 : 5) << 4 | 6);
	word_set(bar, 0x230, 0x10203);
}

void board_look(void)
{
	if (bar && fault != FAULT_GONE)
		state_watch();
}

/* The thread may not have seen the last change when the program ends. */
__attribute__((destructor)) static void board_end(void)
{
	board_lock(true);
	board_look();
	board_lock(false);
}

void board_start(void)
{
	static pthread_t thread;
	/* A mapping of the program's descriptor would hold the function when the program closed it.
	 */
	int fd = open(getenv("VFIO_STATE"), O_RDWR | O_CLOEXEC);

	if (ftruncate(fd, BAR_SIZE + CONFIG_SIZE) < 0)
		abort();
	if (!bar)
		bar = mmap(NULL, BAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bar == MAP_FAILED)
		abort();
	close(fd);
	/* Before the first start the state is that of another process. */
	if (thread)
		state_watch();
	registers_reset();
	state_watch();
	queue_stop();
	if (!thread)
		pthread_create(&thread, NULL, board, NULL);
}
