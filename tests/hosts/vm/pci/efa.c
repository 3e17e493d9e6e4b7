/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: play_efa [-v] [FIFO]
 *
 * Play an EFA adapter: registers, the admin queue with its completions, keep-alive and completion
 * events. FIFO takes orders of faults. The adapter is plugged in until the process ends.
 */
#include "tests/hosts/vm/pci/efa.h"

#include <stdio.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"

/* Registers, in BAR 0. */
enum {
	VERSION = 0x0,
	CONTROLLER_VERSION = 0x4,
	CAPS = 0x8,
	AQ_BASE = 0x10,
	ACQ_BASE = 0x20,
	AQ_CAPS = 0x18,
	AQ_PRODUCED = 0x2c,
	AENQ_CAPS = 0x34,
	AENQ_BASE = 0x38,
	INTR_MASK = 0x4c,
	CONTROL = 0x54,
	STATUS = 0x58,
	READ_REQUEST = 0x5c,
	READ_ANSWER = 0x60,
	REGISTERS_SIZE = 0x10000,
	MSIX_TABLE = 0x8000,
};
enum {
	CONTROL_RESET = 1,
	STATUS_READY = 1,
	STATUS_RESETTING = 8,
	ENTRY = 64, /* of the admin queue and its completions */
	ADMIN_VECTOR = 0,
	GROUP_KEEP_ALIVE = 4,
	KEEP_ALIVE_MS = 1000,
	SLOW_ANSWERS = 64,
};

struct efa_adapter efa;

static struct {
	uint32_t read_seen; /* the last request to read a register */
	uint32_t taken, answered;
	bool resetting;
	uint32_t events;
	uint64_t event_at; /* the next keep-alive event */
} admin;

/* Answers that are to be late. */
static struct {
	uint64_t due; /* 0: free */
	uint8_t answer[ENTRY];
} slow[SLOW_ANSWERS];

static uint32_t reg(uint32_t at)
{
	volatile uint32_t *p = play_bar(EFA_BAR_REGISTERS, at);

	return p ? *p : 0;
}

static void set_reg(uint32_t at, uint32_t value)
{
	volatile uint32_t *p = play_bar(EFA_BAR_REGISTERS, at);

	if (p)
		*p = value;
}

static uint64_t address(uint32_t at)
{
	return reg(at) | (uint64_t)reg(at + 4) << 32;
}

/* Versions 0.1 and 0.0.1; a reset takes at most a second, an address has 48 bits, and a command may
 * take the longest time of the driver. */
static uint32_t value_of(uint32_t at)
{
	switch (at) {
	case VERSION:
	case CONTROLLER_VERSION:
		return 1;
	case CAPS:
		return 10 << 1 | 48 << 8;
	case STATUS:
		return STATUS_READY | (admin.resetting ? STATUS_RESETTING : 0);
	default:
		return reg(at);
	}
}

/* The driver reads no register: it writes a request and waits in memory for number, register and
 * value. */
static bool answer_read(void)
{
	uint32_t request = reg(READ_REQUEST), value;
	uint16_t number = request, offset = request >> 16;
	uint8_t *at;

	if (request == admin.read_seen)
		return false;
	admin.read_seen = request;
	if (!address(READ_ANSWER))
		return false;
	at = play_memory(address(READ_ANSWER));
	value = value_of(offset);
	memcpy(at + 2, &offset, sizeof(offset));
	memcpy(at + 4, &value, sizeof(value));
	__atomic_store_n((uint16_t *)at, number, __ATOMIC_RELEASE);
	PLAY_LOG("register 0x%x is 0x%x\n", offset, value);
	return true;
}

static void reset(void)
{
	efa_forget_all();
	admin.taken = admin.answered = admin.events = 0;
	memset(slow, 0, sizeof(slow));
	set_reg(AQ_PRODUCED, 0);
	set_reg(AQ_CAPS, 0);
	set_reg(AENQ_CAPS, 0);
}

static bool follow_control(void)
{
	bool now = reg(CONTROL) & CONTROL_RESET;

	if (play_reset_asked()) {
		set_reg(CONTROL, 0);
		reset();
		return true;
	}
	if (now == admin.resetting)
		return false;
	if (now)
		reset();
	admin.resetting = now;
	return true;
}

static void answer_command(uint8_t *answer)
{
	uint32_t depth = reg(AQ_CAPS) & 0xffff, n = admin.answered++;
	uint8_t *at = play_memory(address(ACQ_BASE) + (uint64_t)(n & (depth - 1)) * ENTRY);
	uint16_t head = admin.taken;
	uint32_t first;

	answer[3] = !(n & depth); /* the phase */
	memcpy(answer + 6, &head, sizeof(head));
	memcpy(at + sizeof(first), answer + sizeof(first), ENTRY - sizeof(first));
	memcpy(&first, answer, sizeof(first));
	__atomic_store_n((uint32_t *)at, first, __ATOMIC_RELEASE);
	if (!(reg(INTR_MASK) & 1))
		play_interrupt(ADMIN_VECTOR);
}

static void answer_later(const uint8_t *answer, uint32_t ms)
{
	for (int i = 0; i < SLOW_ANSWERS; i++)
		if (!slow[i].due) {
			slow[i].due = play_now() + ms;
			memcpy(slow[i].answer, answer, ENTRY);
			return;
		}
}

static bool answer_slow(void)
{
	bool any = false;

	for (int i = 0; i < SLOW_ANSWERS; i++)
		if (slow[i].due && slow[i].due <= play_now()) {
			slow[i].due = 0;
			answer_command(slow[i].answer);
			any = true;
		}
	return any;
}

static void run_command(const uint8_t *command)
{
	uint8_t answer[ENTRY] = { 0 };
	uint32_t value = 0;
	enum play_fault fault = play_fault_of(command[2], &value);

	memcpy(answer, command, 2);
	answer[2] = fault == PLAY_FAULT_ERROR ? value : efa_execute(command, answer);
	PLAY_LOG("command %u: status %u%s\n", command[2], answer[2],
		 fault == PLAY_FAULT_LATE    ? ", late"
		 : fault == PLAY_FAULT_NEVER ? ", never"
					     : "");
	if (fault == PLAY_FAULT_LATE)
		answer_later(answer, value);
	else if (fault != PLAY_FAULT_NEVER)
		answer_command(answer);
}

static bool run_commands(void)
{
	uint32_t depth = reg(AQ_CAPS) & 0xffff;
	uint8_t command[ENTRY];
	bool any = false;

	if (admin.resetting || !depth)
		return false;
	while ((uint16_t)admin.taken != (uint16_t)reg(AQ_PRODUCED)) {
		memcpy(command,
		       play_memory(address(AQ_BASE) +
				   (uint64_t)(admin.taken & (depth - 1)) * ENTRY),
		       ENTRY);
		admin.taken++;
		run_command(command);
		any = true;
	}
	return any;
}

static void keep_alive(void)
{
	uint32_t depth = reg(AENQ_CAPS) & 0xffff, n = admin.events;
	uint8_t *at;

	if (!depth || admin.resetting || play_now() < admin.event_at)
		return;
	admin.event_at = play_now() + KEEP_ALIVE_MS;
	admin.events++;
	at = play_memory(address(AENQ_BASE) + (uint64_t)(n & (depth - 1)) * ENTRY);
	memcpy(at, (uint16_t[]){ GROUP_KEEP_ALIVE, 0 }, 4);
	__atomic_store_n(at + 4, !(n & depth), __ATOMIC_RELEASE);
	play_interrupt(ADMIN_VECTOR);
}

/* An event queue's entry: phase, then the CQ. */
void efa_event(struct efa_eq *eq, uint16_t cqn)
{
	enum {
		EQE = 16
	};
	uint8_t *at = play_memory(eq->ring + (uint64_t)(eq->produced & (eq->depth - 1)) * EQE);

	memcpy(at + 8, &cqn, sizeof(cqn));
	__atomic_store_n((uint32_t *)at, !(eq->produced & eq->depth), __ATOMIC_RELEASE);
	eq->produced++;
	play_interrupt(eq->vector);
}

static bool pass(void)
{
	bool any = answer_read();

	any |= follow_control();
	any |= run_commands();
	any |= answer_slow();
	any |= efa_queues();
	keep_alive();
	play_interrupts_again();
	return any;
}

static void start(void)
{
	memcpy(efa.gid, (uint8_t[16]){ 0xfe, 0x80, [8] = 2, [11] = 0xff, [12] = 0xfe, [15] = 1 },
	       sizeof(efa.gid));
	efa.gid[14] = play_slot();
}

int main(int argc, char **argv)
{
	static const struct play_device played = {
		.identity = { .vendor = 0x1d0f,
			      .part = 0xefa1,
			      .class_code = 0x020000,
			      .bars = { [EFA_BAR_REGISTERS] = REGISTERS_SIZE,
					[EFA_BAR_SENDS] = EFA_QPS * EFA_SQ_ROOM,
					[EFA_BAR_DOORBELLS] = 2 << 20 },
			      .msix_at = MSIX_TABLE,
			      .msix_vectors = 8 },
		.start = start,
		.pass = pass,
		.random_status = efa_random_status,
	};

	play_run(&played, argc, argv);
}
