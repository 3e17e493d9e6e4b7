/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/hcr.h"

#include <stdlib.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

/* Registers, and bits of the last one. */
enum {
	HCR_IN = 0x0,
	HCR_MODIFIER = 0x8,
	HCR_OUT = 0xc,
	HCR_TOKEN = 0x14,
	HCR_STATUS = 0x18,
	STATUS_SHIFT = 24,
	GO = 1 << 23,
	EVENT = 1 << 22,
	TOGGLE = 1 << 21, /* alternates with each command of mlx4, and comes back */
	MODE_SHIFT = 12,
	OPCODE = 0xfff,
};
enum {
	ANSWERS = 64, /* more than a driver has under way */
};

/* Commands whose answer is an event, or comes later. */
static struct answer {
	bool used;
	uint64_t at; /* milliseconds; UINT64_MAX: never */
	uint32_t token;
	enum hcr_status status;
	uint64_t out;
} answers[ANSWERS];
static struct answer register_answer;

const uint8_t *hcr_in(const struct hcr_call *call)
{
	return play_memory(call->in);
}

uint8_t *hcr_out(const struct hcr_call *call)
{
	return play_memory(call->out);
}

static uint32_t reg(const struct hcr *hcr, uint32_t at)
{
	volatile uint32_t *p = play_bar(0, hcr->at + at);

	return p ? be32toh(*p) : 0;
}

static void set_reg(const struct hcr *hcr, uint32_t at, uint32_t value)
{
	volatile uint32_t *p = play_bar(0, hcr->at + at);

	if (p)
		*p = htobe32(value);
}

void hcr_reset(const struct hcr *hcr)
{
	memset(answers, 0, sizeof(answers));
	register_answer.used = false;
	set_reg(hcr, HCR_STATUS, 0);
}

static enum hcr_status execute(const struct hcr *hcr, struct hcr_call *call)
{
	enum hcr_status status;

	for (unsigned int i = 0; i < hcr->count; i++) {
		if (hcr->commands[i].opcode != call->opcode)
			continue;
		status = hcr->commands[i].run(call);
		PLAY_LOG("%s, mode %u, modifier 0x%x: status 0x%x\n", hcr->commands[i].name,
			 call->mode, call->modifier, status);
		if (status && !play_verbose)
			printf("%s, mode %u, modifier 0x%x: status 0x%x\n", hcr->commands[i].name,
			       call->mode, call->modifier, status);
		return status;
	}
	printf("command 0x%x, mode %u, modifier 0x%x is not played\n", call->opcode, call->mode,
	       call->modifier);
	return HCR_BAD_OPCODE;
}

/* Execute the command, unless a fault takes its place. */
static struct answer answer_of(const struct hcr *hcr, struct hcr_call *call)
{
	struct answer answer = { .used = true };
	uint32_t value = 0;

	switch (play_fault_of(call->opcode, &value)) {
	case PLAY_FAULT_ERROR:
		answer.status = value;
		return answer;
	case PLAY_FAULT_LATE:
		answer.at = play_now() + value;
		break;
	case PLAY_FAULT_NEVER:
		answer.at = UINT64_MAX;
		return answer;
	case PLAY_FAULT_NONE:
		break;
	}
	answer.status = execute(hcr, call);
	answer.out = call->out;
	return answer;
}

static void accept(const struct hcr *hcr, uint32_t word)
{
	struct hcr_call call = {
		.opcode = word & OPCODE,
		.mode = word >> MODE_SHIFT & 0xf,
		.modifier = reg(hcr, HCR_MODIFIER),
		.in = (uint64_t)reg(hcr, HCR_IN) << 32 | reg(hcr, HCR_IN + 4),
		.out = (uint64_t)reg(hcr, HCR_OUT) << 32 | reg(hcr, HCR_OUT + 4),
	};
	uint32_t token = reg(hcr, HCR_TOKEN) >> 16;
	unsigned int n = 0;

	if (!(word & EVENT)) {
		register_answer = answer_of(hcr, &call);
		return;
	}
	while (n < ANSWERS && answers[n].used)
		n++;
	if (n == ANSWERS)
		play_die("%u commands without answer", ANSWERS);
	set_reg(hcr, HCR_STATUS, word & ~(uint32_t)GO);
	answers[n] = answer_of(hcr, &call);
	answers[n].token = token;
}

static bool answer_register(const struct hcr *hcr, uint32_t word)
{
	if (play_now() < register_answer.at)
		return false;
	register_answer.used = false;
	set_reg(hcr, HCR_OUT, register_answer.out >> 32);
	set_reg(hcr, HCR_OUT + 4, register_answer.out);
	set_reg(hcr, HCR_STATUS,
		(uint32_t)register_answer.status << STATUS_SHIFT |
			(word & ~(uint32_t)GO & ((1u << STATUS_SHIFT) - 1)));
	return true;
}

bool hcr_pass(const struct hcr *hcr)
{
	uint32_t word = reg(hcr, HCR_STATUS);
	bool any = word & GO && word != UINT32_MAX;

	if (any && !register_answer.used)
		accept(hcr, word);
	if (register_answer.used)
		any = answer_register(hcr, word);
	for (unsigned int i = 0; i < ANSWERS; i++) {
		if (!answers[i].used || play_now() < answers[i].at)
			continue;
		answers[i].used = false;
		hcr->event(answers[i].token, answers[i].status, answers[i].out);
		any = true;
	}
	return any;
}
