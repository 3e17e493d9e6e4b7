/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trace stores to registers, one by one. A register page allows no access, so that a store to it
 * faults. The handler poisons the bytes around, sets the processor's trap flag and lets the
 * instruction run. Then it lets the instruction run over the inverse poison. The bytes that
 * either run changed are the bytes that the instruction stores, even if they had the same value
 * before. The thread holds device_lock until the instruction has run. A thread that faults
 * meanwhile waits, and then runs its instruction in the same way. */
#include "tests/adapters/lab/shim/trace.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "tests/adapters/lab/model/model.h"

enum {
	WINDOW = 128,
	POISON = 0xa5,
	INVERSE = 0x5a,
	TRAP_FLAG = 0x100,
	FAULT_IS_STORE = 2
};

#ifdef __x86_64__
static struct {
	struct region *region;
	uint8_t *window;
	size_t length;
	uint8_t before[WINDOW], first[WINDOW];
	gregset_t registers;
	enum {
		FIRST_RUN,
		SECOND_RUN,
		LOAD
	} phase;
} step;

/* This thread runs such an instruction. */
static _Thread_local bool steps;

static void report_range(size_t from, size_t to)
{
	size_t offset = step.window + from - step.region->at;
	unsigned ignored = 0;
	char text[3 * WINDOW + 1];
	uint8_t shown[WINDOW];

	if (device->undefined)
		ignored = device->undefined(step.region->name, offset, step.window + from);
	memcpy(step.before + from, step.window + from, to - from);
	memcpy(shown, step.window + from, to - from);
	for (size_t i = 0; i < to - from && i < 32; i++)
		if (ignored >> i & 1)
			shown[i] = 0;
	trace_hex(text, shown, to - from);
	trace_line("    register %s+0x%zx <- %zu: %s", step.region->name, offset, to - from, text);
	if (device->stored)
		device->stored(step.region->name, offset, step.window + from, to - from);
}

/*
 * A processor with movdir64b stores 64 bytes at once, where others store 8 bytes 8 times. The trace
 * is the same on both.
 */
static void report_store(size_t from, size_t to)
{
	if (to - from != 64) {
		report_range(from, to);
		return;
	}
	for (; from < to; from += 8)
		report_range(from, from + 8);
}

static bool stored_at(size_t i)
{
	return step.window[i] != INVERSE || step.first[i] != POISON;
}

static void report(void)
{
	for (size_t from = 0, to; from < step.length; from = to) {
		while (from < step.length && !stored_at(from))
			from++;
		to = from;
		while (to < step.length && stored_at(to))
			to++;
		if (to > from)
			report_store(from, to);
	}
	memcpy(step.window, step.before, step.length);
}

static void on_fault(int signal_number, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uintptr_t address = (uintptr_t)info->si_addr;
	struct region *region;

	model_command_begin();
	region = trace_find(address);
	if (steps || !region || !region->registers) {
		trace_line("! fault at %s", trace_pointer(address));
		signal(signal_number, SIG_DFL);
		return;
	}
	steps = true;
	trace_flush();
	mprotect(region->at, region->length, PROT_READ | PROT_WRITE);
	step.region = region;
	context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
	if (!(context->uc_mcontext.gregs[REG_ERR] & FAULT_IS_STORE)) {
		trace_line("    load     %s+0x%zx", region->name,
			   (size_t)(address - (uintptr_t)region->at));
		step.phase = LOAD;
		return;
	}
	step.window = (uint8_t *)(address & ~(uintptr_t)63);
	step.length = region->at + region->length - step.window;
	if (step.length > WINDOW)
		step.length = WINDOW;
	memcpy(step.before, step.window, step.length);
	memset(step.window, POISON, step.length);
	memcpy(step.registers, context->uc_mcontext.gregs, sizeof(step.registers));
	step.phase = FIRST_RUN;
}

static void on_trap(int signal_number, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;

	if (!steps) {
		signal(signal_number, SIG_DFL);
		return;
	}
	switch (step.phase) {
	case FIRST_RUN:
		memcpy(step.first, step.window, step.length);
		memset(step.window, INVERSE, step.length);
		memcpy(context->uc_mcontext.gregs, step.registers, sizeof(step.registers));
		step.phase = SECOND_RUN;
		return;
	case SECOND_RUN:
		report();
		break;
	case LOAD:
		break;
	}
	mprotect(step.region->at, step.region->length, PROT_NONE);
	context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	steps = false;
	model_command_end();
}

void store_watch(struct region *region)
{
	static bool armed;
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	if (getenv("DEVICES_STORES"))
		return;
	if (!armed) {
		action.sa_sigaction = on_fault;
		sigaction(SIGSEGV, &action, NULL);
		action.sa_sigaction = on_trap;
		sigaction(SIGTRAP, &action, NULL);
		armed = true;
	}
	mprotect(region->at, region->length, PROT_NONE);
}
#else
/* On other processors a process cannot set a trap flag: compare the memory instead of tracing
 * stores. */
void store_watch(struct region *region)
{
}
#endif
