/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of the played function. An unknown command succeeds. */
#include "tests/adapters/lab/vfio/played.h"

enum {
	QUERY_PAGES = 0x107,
	MANAGE_PAGES = 0x108,
	QUERY_ISSI = 0x10a,
	QUERY_CAPS = 0x100,
	CREATE_MKEY = 0x200, /* and commands below it make no object */
	CREATE_EQ = 0x301,
	DESTROY_EQ = 0x302,
	CREATE_PSV = 0x600,
	CREATE_ELEMENT = 0x782,
	ALLOC_UAR = 0x802,
	STATUS_REFUSED = 8,
	GIVE = 1,
	TAKE = 2,
	PAGES_MAX = 64,
	CAP = 0x10,
};

static uint64_t pages[PAGES_MAX];
static unsigned int page_count;

static void command_trace(const struct command *c)
{
	trace("command 0x%03x op_mod 0x%x in 0x%x out 0x%x:", word(c->in, 0) >> 16,
	      word(c->in, 4) & 0xffff, c->inlen, c->outlen);
	if (word(c->in, 0) & 0xffff)
		trace(" uid=%x", word(c->in, 0) & 0xffff);
	for (uint32_t i = 8; i + 4 <= c->inlen; i += 4)
		if (word(c->in, i))
			trace(" @0x%x=%08x", i, word(c->in, i));
	trace("\n");
}

static void general_caps(uint8_t *out, bool current)
{
	word_set(out, CAP + 0x20, 1 << 14);
	word_set(out, CAP + 0x34, 1 << 8);
	word_set(out, CAP + 0x40, 3 << 14 | 1 << 2);
	word_set(out, CAP + 0x48, 1 << 13);
	word_set(out, CAP + 0x4c, current ? 0 : 1 << 25);
}

static void caps_answer(const struct command *c)
{
	unsigned int group = (word(c->in, 4) & 0xffff) >> 1;
	bool current = word(c->in, 4) & 1;

	if (c->outlen < CAP + 0x100)
		return;
	if (group)
		word_set(c->out, CAP, current ? 0 : 1 << 27);
	else
		general_caps(c->out, current);
}

static void pages_query(const struct command *c)
{
	bool boot = (word(c->in, 4) & 0xffff) == 1;
	uint32_t count = boot ? 3 : 5;

	if (fault == FAULT_MANY_PAGES)
		count = 0x7fffffff;
	if (fault == FAULT_NO_PAGES)
		count = -4;
	word_set(c->out, 0xc, count);
}

static void pages_get(const struct command *c)
{
	for (uint32_t i = 0; 0x18 + i * 8 <= c->inlen && page_count < PAGES_MAX; i++)
		pages[page_count++] = word_64(c->in, 0x10 + i * 8);
}

/* Return the newest pages. */
static void pages_return(const struct command *c)
{
	uint32_t asked = word(c->in, 0xc), count = 0;

	while (count < asked && page_count && 0x18 + count * 8 <= c->outlen) {
		uint64_t page = fault == FAULT_FOREIGN ? 0x123000 : pages[--page_count];

		word_set(c->out, 0x10 + count * 8, page >> 32);
		word_set(c->out, 0x14 + count * 8, page);
		count++;
	}
	word_set(c->out, 8, fault == FAULT_MORE ? 0x10000000 : count);
}

static void queue_answer(const struct command *c)
{
	unsigned int vector = word(c->in, 0x24) & 0xff;

	if (vector < VECTORS)
		queue_make(vector, memory_at(word_64(c->in, 0x110)),
			   word(c->in, 0x1c) >> 24 & 0x1f);
	word_set(c->out, 8, 9 + vector);
}

static void number_give(const struct command *c, unsigned int offset)
{
	static uint32_t last = 0x10;

	if (offset + 4 <= c->outlen)
		word_set(c->out, offset, last++);
}

static bool is_refused(void)
{
	static unsigned int count;

	return fault == FAULT_REFUSE && ++count == fault_number;
}

void firmware_run(const struct command *c)
{
	unsigned int opcode = word(c->in, 0) >> 16, mod = word(c->in, 4) & 0xffff;

	command_trace(c);
	if (is_refused()) {
		word_set(c->out, 0, (uint32_t)STATUS_REFUSED << 24);
		word_set(c->out, 4, 0xabcdef);
		return;
	}
	if (opcode == QUERY_ISSI)
		word_set(c->out, 0x6c, 2);
	else if (opcode == QUERY_CAPS)
		caps_answer(c);
	else if (opcode == QUERY_PAGES)
		pages_query(c);
	else if (opcode == MANAGE_PAGES && mod == GIVE)
		pages_get(c);
	else if (opcode == MANAGE_PAGES && mod == TAKE)
		pages_return(c);
	else if (opcode == ALLOC_UAR)
		word_set(c->out, 8, fault == FAULT_UAR ? 0xffffff : 3);
	else if (opcode == CREATE_EQ)
		queue_answer(c);
	else if (opcode == DESTROY_EQ && word(c->in, 8) == 9)
		queue_stop();
	else if (opcode == CREATE_PSV || opcode == CREATE_ELEMENT)
		number_give(c, 0x10);
	else if (opcode >= CREATE_MKEY)
		number_give(c, 8);
}
