/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/loop_pieces.h"

#include <string.h>

void pieces_add(struct pieces *p, uint64_t address, uint32_t length, uint32_t key, bool plain)
{
	p->at[p->count].address = address;
	p->at[p->count].length = length;
	p->at[p->count].key = key;
	p->at[p->count++].plain = plain;
}

void pieces_add_work(struct pieces *p, const struct work *work)
{
	for (int i = 0; i < work->wr.num_sge; i++)
		pieces_add(p, work->sge[i].addr, work->sge[i].length, work->sge[i].lkey,
			   work->wr.send_flags & IBV_SEND_INLINE);
}

uint64_t pieces_length(const struct pieces *p)
{
	uint64_t length = 0;

	for (int i = p->next; i < p->count; i++)
		length += p->at[i].length;
	return length;
}

/* Return the next bytes, at most *length. NULL: a key does not allow the access. */
static uint8_t *next_bytes(struct pieces *p, size_t *length)
{
	size_t together = *length;
	uint8_t *at;

	while (p->next < p->count && !p->at[p->next].length)
		p->next++;
	if (p->next == p->count)
		return NULL;
	at = p->at[p->next].plain
		     ? (uint8_t *)(uintptr_t)p->at[p->next].address
		     : loop_adapter.memory(p->at[p->next].key, p->pd, p->qp, p->at[p->next].address,
					   p->at[p->next].length, p->access, &together);
	if (*length > p->at[p->next].length)
		*length = p->at[p->next].length;
	if (*length > together)
		*length = together;
	return at;
}

static void advance(struct pieces *p, size_t length)
{
	p->at[p->next].address += length;
	p->at[p->next].length -= length;
}

enum side pieces_move(struct pieces *source, struct pieces *target, uint64_t length)
{
	while (length) {
		size_t n = length;
		const uint8_t *from = next_bytes(source, &n);
		uint8_t *to = from ? next_bytes(target, &n) : NULL;

		if (!from)
			return SOURCE;
		if (!to)
			return TARGET;
		memcpy(to, from, n);
		advance(source, n);
		advance(target, n);
		length -= n;
	}
	return NEITHER;
}
