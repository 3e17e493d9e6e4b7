/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The format of requests and completions. A request begins with its position in the ring, which is
 * little-endian. All other words of requests are big-endian. Words of a completion are big-endian,
 * except for the words with an index and the time. The second word of a request is its head.
 * Lengths of a list may be repeated in front of the list.
 */
#ifndef IONIC_WQE_H
#define IONIC_WQE_H

#include "providers/ionic/ionic.h"

enum {
	AT_HEAD = 8,	/* operation, number of entries, flags, and immediate data or a key */
	AT_BODY = 16,	/* remote address, or number of an address handle and queue pair */
	AT_TARGET = 24, /* key and length */
	AT_LIST = 32,
	AT_BEHIND_LENGTHS = 64, /* list with the lengths in front */
	AT_ATOMIC_SGE = 48,	/* version 1 */
	AT_ATOMIC_LKEY = 40,	/* version 2: follows the lower half of the compared number */
	AT_ATOMIC_ADDRESS = 48,
	AT_BIND_KEY = 32,
	WQE_MIN = 64,
	SGE_BYTES = 16,
	LENGTHS_BYTES = 32,
	LENGTHS_32 = 8, /* up to 8 lengths have 32 bits; more have 16 bits */
	EXPRESS_BYTES = 8,
	SPEC_NONE = 2, /* lists of up to 2 entries have no lengths in front */
};
#define LENGTH_MAX (1u << 31)

/* Shifts and bits of the head word. */
enum {
	HEAD_OP_SHIFT = 56,
	HEAD_COUNT_SHIFT = 48,
	HEAD_FLAGS_SHIFT = 32,
};
#define HEAD_FENCE	(1ull << 32)
#define HEAD_SOLICITED	(1ull << 33)
#define HEAD_INLINE	(1ull << 34)
#define HEAD_SIGNALED	(1ull << 35)
#define HEAD_COLOR	(1ull << 36)
#define HEAD_LENGTHS_32 (1ull << 44)
#define HEAD_LENGTHS_16 (2ull << 44)

/* Bits of a bind request. */
enum {
	BIND_WRITE = 1 << 1,
	BIND_READ = 1 << 2,
	BIND_ATOMIC = 1 << 3,
	BIND_ZERO_BASED = 1 << 5,
	BIND_WINDOW = 1 << 14,
	BIND_TYPE_2 = 1 << 15, /* type 2: the key can be invalidated */
	BIND_FLAGS_SHIFT = 16,
};

/* Completions. */
enum {
	CQE_BYTES = 32,
	CQE_SHIFT = 5,
	CQE_INDEX = 0,	     /* index of a receive, with the time */
	CQE_MESSAGES = 4,    /* number of completed messages */
	CQE_SOURCE = 8,	     /* queue pair and kind of a received message */
	CQE_SENT_INDEX = 16, /* index of a local request, with the time */
	CQE_VLAN = 18,
	CQE_IMM = 20,
	CQE_LENGTH = 24, /* length, or the cause of a failure */
	CQE_WORD = 28,
	CQE_SOURCE_MASK = 0xffffff,
	CQE_KIND_SHIFT = 24,
	CQE_KIND_MASK = 0x1f,
	CQE_TIME_SHIFT = 16,
	CQE_PRIORITY_SHIFT = 13, /* place of the priority in a VLAN tag */
};

/* The last word of a completion. */
enum {
	WORD_COLOR = 1 << 0,
	WORD_ERROR = 1 << 1,
	WORD_TYPE_SHIFT = 5,
	WORD_TYPE_MASK = 7,
	WORD_NUMBER_SHIFT = 8,
	TYPE_RECEIVE = 1,
	TYPE_MESSAGES = 2, /* all messages up to a number */
	TYPE_LOCAL = 3,
	STATUS_FLUSHED = 4,
};

/* Kinds of received messages. */
enum {
	RECEIVED_SEND,
	RECEIVED_SEND_INV,
	RECEIVED_SEND_IMM,
	RECEIVED_WRITE_IMM,
};

FLAT void word_write(char *at, uint64_t value)
{
	*(uint64_t *)(void *)at = htobe64(value);
}

FLAT uint32_t word_32(const char *at)
{
	return be32toh(*(const volatile uint32_t *)(const void *)at);
}

/* Write an entry of a list. */
FLAT void sge_write(char *at, uint64_t address, uint32_t length, uint32_t lkey)
{
	word_write(at, address);
	word_write(at + 8, (uint64_t)length << 32 | lkey);
}

/* Clear the bytes of an earlier request that follow the first @extent bytes. */
FLAT void place_clear(char *wqe, uint32_t *old_extent, uint32_t extent)
{
	if (unlikely(*old_extent > extent))
		memset(wqe + extent, 0, *old_extent - extent);
	*old_extent = extent;
}

/*
 * Write a list with the lengths in front. More than 8 lengths have 16 bits each. The caller has
 * checked that they fit. Return: the bit of this form for the head word.
 */
FLAT uint64_t spec_write(char *wqe, const struct ibv_sge *sge, uint32_t count)
{
	char *at = wqe + AT_BEHIND_LENGTHS;
	bool wide = count <= LENGTHS_32;

	memset(wqe + AT_LIST, 0, LENGTHS_BYTES);
	for (uint32_t i = 0; i < count; i++, at += SGE_BYTES) {
		if (wide)
			((uint32_t *)(void *)(wqe + AT_LIST))[i] = htobe32(sge[i].length);
		else
			((uint16_t *)(void *)(wqe + AT_LIST))[i] = htobe16(sge[i].length);
		sge_write(at, sge[i].addr, sge[i].length, sge[i].lkey);
	}
	return wide ? HEAD_LENGTHS_32 : HEAD_LENGTHS_16;
}

/* Return the bytes of a request with a list. */
FLAT uint32_t list_extent(uint32_t count, uint32_t spec)
{
	bool together = spec > SPEC_NONE && count > SPEC_NONE;

	return (together ? AT_BEHIND_LENGTHS : AT_LIST) + count * SGE_BYTES;
}

/* Write a list, with the lengths in front if possible. Return: the bit of the form for the head
 * word. */
FLAT uint64_t list_write(char *wqe, const struct ibv_sge *sge, uint32_t count, uint32_t spec)
{
	char *at = wqe + AT_LIST;

	if (unlikely(spec > SPEC_NONE) && count > SPEC_NONE)
		return spec_write(wqe, sge, count);
	for (uint32_t i = 0; i < count; i++, at += SGE_BYTES)
		sge_write(at, sge[i].addr, sge[i].length, sge[i].lkey);
	return 0;
}

/* Return whether the total length is allowed, and whether each length fits into its 16 or 32 bits.
 */
FLAT bool lengths_fit(const struct ibv_sge *sge, uint32_t count, uint32_t spec,
		      uint32_t *ret_length)
{
	uint64_t length = 0;
	uint32_t all = 0;

	for (uint32_t i = 0; i < count; i++) {
		length += sge[i].length;
		all |= sge[i].length;
	}
	*ret_length = length;
	return length <= LENGTH_MAX &&
	       (count <= LENGTHS_32 || spec <= SPEC_NONE || all <= UINT16_MAX);
}

/* Write the position. It is the last store of a request, because a device without a doorbell for
 * each queue, such as the one of tests/adapters/lab, recognises a request by it. */
FLAT void position_write(char *wqe, uint32_t position)
{
	atomic_signal_fence(memory_order_release);
	*(volatile uint64_t *)(void *)wqe = htole64((uint64_t)position);
}

/* Return whether the device has written the next entry. *@ret_word: its last word */
FLAT bool cqe_look(const struct ionic_cq_ring *ring, uint32_t *ret_word)
{
	*ret_word = word_32(ring->next + CQE_WORD);
	return (*ret_word & WORD_COLOR) == ring->color;
}

/* Advance past the next entry. */
FLAT void ring_advance(struct ionic_cq_ring *ring)
{
	ring->next += CQE_BYTES;
	ring->until_report--;
	if (unlikely(ring->next == ring->end)) {
		ring->next = ring->base;
		ring->color ^= WORD_COLOR;
	}
}

#endif
