/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: play_mlx5 [roce] [-v] [FIFO]
 *
 * Play a ConnectX with one InfiniBand port, or one of Ethernet: registers and the command
 * interface. FIFO takes orders of faults. The adapter is plugged in until the process ends.
 */
#include "tests/hosts/vm/pci/mlx5.h"

#include <stdlib.h>
#include "tests/hosts/vm/pci/play.h"

/* Registers of the initialization segment, in BAR 0. */
enum {
	FIRMWARE = 0x0,
	COMMAND_REVISION = 0x4,
	COMMAND_BELL = 0x18,
	TIMER_HIGH = 0x1000,
	TIMER_LOW = 0x1004,
	MSIX_TABLE = 0x3000,
};

/* A slot for a command has 64 bytes. Lists of blocks hold the rest of a command. */
enum {
	SLOTS_LOG = 1,
	SLOTS = 1 << SLOTS_LOG, /* one for commands, one for pages */
	SLOT_LOG = 6,
	SLOT = 1 << SLOT_LOG,
	SLOT_IN_LENGTH = 4,
	SLOT_IN_BLOCKS = 8,
	SLOT_IN = 16,
	SLOT_OUT = 32,
	SLOT_OUT_BLOCKS = 48,
	SLOT_OUT_LENGTH = 56,
	SLOT_OWNER = 63,
	SLOT_INLINE = 16,
	BLOCK = 512,
	BLOCK_NEXT = 560,
	LONGEST = 1 << 22, /* more than any command of the driver */
	DISABLE_HCA = 0x105,
};
enum {
	LOST_BELL_MS = 500,
};

struct hca hca;

uint32_t hca_reg(uint32_t at)
{
	volatile uint32_t *p = play_bar_memory(0, at);

	return p ? be32toh(*p) : 0;
}

void hca_set_reg(uint32_t at, uint32_t value)
{
	volatile uint32_t *p = play_bar_memory(0, at);

	if (p)
		*p = htobe32(value);
}

/* The driver reads the registers at once when it is bound, also after the kernel has moved the BAR.
 * Its store of the address takes the sizes away. */
static void keep_registers(void)
{
	uint32_t low = hca_reg(HCA_COMMANDS_LOW), sizes = SLOTS_LOG << 4 | SLOT_LOG;
	uint64_t ns = play_now() * 1000000;

	if (hca_reg(COMMAND_REVISION) != (5 << 16 | 1)) {
		hca_set_reg(FIRMWARE, 35 << 16 | 16); /* 16.35.1 */
		hca_set_reg(COMMAND_REVISION, 5 << 16 | 1);
		hca_health_registers();
	}
	if ((low & 0xff) != sizes)
		hca_set_reg(HCA_COMMANDS_LOW, (low & ~0xffu) | sizes);
	hca_set_reg(TIMER_HIGH, ns >> 32);
	hca_set_reg(TIMER_LOW, ns);
}

/* A message lies in 16 bytes of its slot and then in a chain of blocks. */
static void copy_message(uint8_t *bytes, uint32_t length, uint8_t *first, uint64_t block, bool out)
{
	uint32_t n = length < SLOT_INLINE ? length : SLOT_INLINE;

	memcpy(out ? first : bytes, out ? bytes : first, n);
	for (uint32_t at = SLOT_INLINE; at < length && block; at += BLOCK) {
		uint8_t *b = play_memory(block);

		n = length - at < BLOCK ? length - at : BLOCK;
		memcpy(out ? b : bytes + at, out ? bytes + at : b, n);
		block = get64(b + BLOCK_NEXT);
	}
}

static bool completes_by_event(void)
{
	for (int i = 0; i < HCA_EQS; i++)
		if (hca.eqs[i].used && hca.eqs[i].events >> HCA_EVENT_COMMAND & 1)
			return true;
	return false;
}

/* @fault: a status that takes the place of the command's execution, or HCA_OK. */
static uint32_t execute(uint8_t *slot, uint32_t fault)
{
	struct hca_call call = { .in_len = get32(slot + SLOT_IN_LENGTH),
				 .out_len = get32(slot + SLOT_OUT_LENGTH) };
	uint8_t *in, *out;

	if (call.in_len > LONGEST || call.out_len > LONGEST)
		play_die("a command of %u and %u bytes", call.in_len, call.out_len);
	in = calloc(1, call.in_len + 2 * HCA_PAGE);
	out = calloc(1, call.out_len + 2 * HCA_PAGE);
	if (!in || !out)
		play_die("memory for a command");
	copy_message(in, call.in_len, slot + SLOT_IN, get64(slot + SLOT_IN_BLOCKS), false);
	call.in = in;
	call.out = out;
	call.opcode = get(in, COMMAND_OPCODE);
	call.op_mod = get(in, COMMAND_OP_MOD);
	call.number = get(in, COMMAND_NUMBER);
	out[0] = fault ? fault : hca_execute(&call);
	if (out[0] && !fault)
		printf("command 0x%x, mode %u: status 0x%x\n", call.opcode, call.op_mod, out[0]);
	copy_message(out, call.out_len, slot + SLOT_OUT, get64(slot + SLOT_OUT_BLOCKS), true);
	free(in);
	free(out);
	return call.opcode;
}

/* The driver polls for the command that creates the queue of command events. After DISABLE_HCA the
 * memory of the slots is no longer this device's. */
static void run_slot(unsigned int n, uint8_t *slot, uint32_t fault)
{
	bool by_event = completes_by_event();
	uint32_t opcode = execute(slot, fault);
	uint8_t mask[4];

	if (opcode == DISABLE_HCA) {
		hca_set_reg(HCA_COMMANDS_HIGH, 0);
		hca_set_reg(HCA_COMMANDS_LOW, SLOTS_LOG << 4 | SLOT_LOG);
	}
	__atomic_store_n(slot + SLOT_OWNER, 0, __ATOMIC_RELEASE);
	put32(mask, 1u << n);
	if (by_event)
		hca_event(HCA_EVENT_COMMAND, mask, sizeof(mask));
}

/* How a command is answered. */
static struct {
	bool chosen;
	uint32_t status; /* an error */
	uint64_t at;	 /* UINT64_MAX: never */
} answers[SLOTS];

static void choose_answer(unsigned int n, const uint8_t *slot)
{
	uint32_t value = 0;

	answers[n].chosen = true;
	answers[n].status = 0;
	answers[n].at = 0;
	switch (play_fault_of(get(slot + SLOT_IN, COMMAND_OPCODE), &value)) {
	case PLAY_FAULT_ERROR:
		answers[n].status = value;
		break;
	case PLAY_FAULT_LATE:
		answers[n].at = play_now() + value;
		break;
	case PLAY_FAULT_NEVER:
		answers[n].at = UINT64_MAX;
		break;
	case PLAY_FAULT_NONE:
		break;
	}
}

/* The driver writes a checksum with each command: all bytes together give 0xff. */
static bool is_whole(const uint8_t *slot)
{
	uint8_t sum = 0;

	for (int i = 0; i < SLOT; i++)
		sum ^= slot[i];
	return sum == 0xff;
}

/*
 * A slot belongs to the device when its bell has rung. Its owner bit is set earlier, when the
 * driver is not ready for the answer. A bell may be seen before its slot is: it counts until the
 * slot has run. Bells are stores to one register, so that one may hide another: a slot that waits
 * for long is run without its bell.
 */
static bool run_commands(void)
{
	static uint64_t since[SLOTS];
	static uint32_t rung;
	volatile uint32_t *bell = play_bar(0, COMMAND_BELL);
	uint64_t slots =
		(uint64_t)hca_reg(HCA_COMMANDS_HIGH) << 32 | (hca_reg(HCA_COMMANDS_LOW) & ~0xfffu);
	bool any = false;

	if (!bell || !slots) {
		rung = 0;
		memset(answers, 0, sizeof(answers));
		return false;
	}
	if (*bell)
		rung |= be32toh(__atomic_exchange_n(bell, 0, __ATOMIC_SEQ_CST));
	for (unsigned int i = 0; i < SLOTS; i++) {
		uint8_t *slot = play_memory(slots + i * SLOT);

		if (!(__atomic_load_n(slot + SLOT_OWNER, __ATOMIC_ACQUIRE) & 1) ||
		    !is_whole(slot)) {
			since[i] = 0;
			answers[i].chosen = false;
			continue;
		}
		if (!since[i])
			since[i] = play_now();
		if (!(rung >> i & 1) && play_now() - since[i] < LOST_BELL_MS)
			continue;
		if (!answers[i].chosen)
			choose_answer(i, slot);
		if (play_now() < answers[i].at)
			continue;
		since[i] = 0;
		rung &= ~(1u << i);
		answers[i].chosen = false;
		run_slot(i, slot, answers[i].status);
		any = true;
	}
	return any;
}

static bool pass(void)
{
	bool any;

	if (play_reset_asked())
		hca_forget_all();
	keep_registers();
	any = hca_health();
	any |= run_commands();
	any |= hca_queues();
	if (hca_ethernet)
		any |= hca_frames();
	play_interrupts_again();
	return any;
}

/* Execute an order beside those of play_fault.c. */
static bool order(const char *word)
{
	return hca_health_order(word) || hca_uar_order(word);
}

static void start(void)
{
	hca_capabilities_reset();
	keep_registers();
}

int main(int argc, char **argv)
{
	static struct play_device played = {
		.identity = { .vendor = 0x15b3,
			      .part = 0x1017,
			      .class_code = 0x020700,
			      .bars = { HCA_BAR },
			      .msix_at = MSIX_TABLE,
			      .msix_vectors = HCA_VECTORS },
		.start = start,
		.pass = pass,
		.random_status = hca_random_status,
		.order = order,
	};

	hca_ethernet = argc > 1 && !strcmp(argv[1], "roce");
	if (hca_ethernet) {
		played.identity.class_code = 0x020000;
		argc--;
		argv++;
	}
	play_run(&played, argc, argv);
}
