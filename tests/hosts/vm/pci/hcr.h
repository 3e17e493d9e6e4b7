/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command register (HCR) of the adapters that mthca and mlx4 drive. The driver writes a command
 * to it and sets the go bit. The adapter clears that bit, and answers in the register or by an
 * event.
 */
#ifndef PCI_HCR_H
#define PCI_HCR_H

#include <stdbool.h>
#include <stdint.h>

/* Statuses of commands. */
enum hcr_status {
	HCR_OK = 0x0,
	HCR_INTERNAL = 0x1,
	HCR_BAD_OPCODE = 0x2,
	HCR_BAD_PARAMETER = 0x3,
	HCR_BAD_RESOURCE = 0x5,
	HCR_BUSY = 0x6,
	HCR_LIMIT = 0x8,
	HCR_BAD_RESOURCE_STATE = 0x9,
	HCR_BAD_INDEX = 0xa,
	HCR_ICM_ERROR = 0xc,
	HCR_BAD_QP_STATE = 0x10,
	HCR_REGION_BOUND = 0x21,
};

struct hcr_call {
	uint32_t opcode, mode, modifier;
	uint64_t in, out; /* addresses of mailboxes, or the numbers themselves */
};
/* Return the mailbox of a command. */
const uint8_t *hcr_in(const struct hcr_call *call);
uint8_t *hcr_out(const struct hcr_call *call);

struct hcr_command {
	uint32_t opcode;
	const char *name;
	enum hcr_status (*run)(struct hcr_call *call);
};

struct hcr {
	uint32_t at; /* in BAR 0 */
	const struct hcr_command *commands;
	unsigned int count;
	/* Write the event that answers a command. */
	void (*event)(uint16_t token, enum hcr_status status, uint64_t out);
};

/* Make one pass; return whether there was a command or an answer. */
bool hcr_pass(const struct hcr *hcr);
/* Forget commands without answer, after a reset. */
void hcr_reset(const struct hcr *hcr);

#endif
