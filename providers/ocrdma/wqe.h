/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of the rings: words of 32 bits, little-endian. Some words of a request are not written,
 * and the adapter does not read them.
 */
#ifndef OCRDMA_WQE_H
#define OCRDMA_WQE_H

#include "providers/ocrdma/ocrdma.h"

#define FLAT	 __attribute__((always_inline)) static inline
#define SEPARATE __attribute__((noinline))

/* The first word of a request. */
enum {
	OP_SEND = 0x00,
	OP_WRITE = 0x06,
	OP_READ = 0x0c,
	REQUEST_SIGNALED = 1 << 5,
	REQUEST_FENCE = 1 << 7,
	REQUEST_SOLICITED = 1 << 9,
	REQUEST_IMM = 1 << 10,
	REQUEST_VLAN = 1 << 11,
	REQUEST_LIST = 1 << 16, /* otherwise inline data */
	SIZE_SHIFT = 18,
	SIZE_UNIT = 8,
};

/* Bytes of a request. */
enum {
	HEADER = 16,
	UD_BYTES = 16,
	REMOTE_BYTES = 16,
	ENTRY = 16, /* bytes of a list entry */
};

/* Words of a request. */
enum {
	AT_TAG = 1, /* of a receive */
	AT_IMM = 2,
	AT_LENGTH = 3,
	AT_BODY = 4,
};

FLAT uint32_t size_word(uint32_t bytes)
{
	return bytes / SIZE_UNIT << SIZE_SHIFT;
}

/* Write two words, of which @second is the upper half of @both. */
FLAT void words_put(uint32_t *to, uint64_t both)
{
	both = htole64(both);
	memcpy(to, &both, sizeof(both));
}

FLAT void address_put(uint32_t *to, uint64_t address)
{
	words_put(to, address >> 32 | address << 32);
}

FLAT void entry_put(uint32_t *to, const struct ibv_sge *sge)
{
	address_put(to, sge->addr);
	words_put(to + 2, (uint64_t)sge->length << 32 | sge->lkey);
}

/* Write a list, which is never empty. Return its bytes. */
FLAT uint32_t list_put(uint32_t *to, const struct ibv_sge *list, int count)
{
	if (unlikely(!count)) {
		memset(to, 0, ENTRY);
		return ENTRY;
	}
	for (int i = 0; i < count; i++)
		entry_put(to + i * (ENTRY / 4), &list[i]);
	return count * ENTRY;
}

FLAT uint64_t list_length(const struct ibv_sge *list, int count)
{
	uint64_t length = 0;

	for (int i = 0; i < count; i++)
		length += list[i].length;
	return length;
}

FLAT uint32_t *slot_of(char *ring, uint32_t index, uint32_t stride)
{
	return (uint32_t *)(void *)(ring + (size_t)index * stride);
}

/* Write a receive. @tag: 0 in a queue of one queue pair */
FLAT void receive_put(uint32_t *to, uint32_t tag, const struct ibv_recv_wr *wr)
{
	uint32_t bytes = HEADER + list_put(to + AT_BODY, wr->sg_list, wr->num_sge);

	words_put(to, (uint64_t)tag << 32 | size_word(bytes) | REQUEST_LIST | REQUEST_SIGNALED);
	to[AT_LENGTH] = htole32((uint32_t)list_length(wr->sg_list, wr->num_sge));
}

/* Announce a request. */
FLAT void announce(char *doorbell, __le32 announcement)
{
	barrier_to_device();
	mmio_write_32(doorbell, announcement);
}

/* Return how many requests fit into a ring of @mask + 1 entries, of which one stays empty. */
FLAT uint32_t ring_room(uint32_t head, const atomic_uint *tail, uint32_t mask)
{
	/* acquire: pairs with the release of the polling thread, which has read the entries */
	return mask - (head - atomic_load_explicit(tail, memory_order_acquire));
}

enum {
	CQE_BYTES = 16,
	CQE_ID_MASK = 0xffff, /* of the third word */
	CQE_TAG_SHIFT = 16,
	/* the last word */
	CQE_RECEIVE = 1 << 29,
	CQE_IMM = 1 << 28,
	CQE_WRITE_IMM = 1 << 27,
	CQE_STATUS_SHIFT = 16,
	CQE_STATUS_MASK = 0xff,
	CQE_UD_STATUS_SHIFT = 24,
	CQE_UD_STATUS_MASK = 7,
	CQE_UD_SOURCE_MASK = 0xffffff,
	CQE_UD_LENGTH_SHIFT = 16,
	CQE_UD_PKEY_MASK = 0xffff,
};
#define CQE_VALID (1u << 31)

struct oc_cqe {
	__le32 index_imm; /* index of a send, immediate data of a receive */
	__le32 length;
	__le32 number; /* of the queue pair; 0: the entry is consumed */
	__le32 flags;
};
_Static_assert(sizeof(struct oc_cqe) == CQE_BYTES, "as the adapter writes it");

/* Return the last word of an entry. */
FLAT uint32_t cqe_flags(const struct oc_cqe *cqe)
{
	return le32toh(((const volatile struct oc_cqe *)cqe)->flags);
}

/* Return whether the adapter has written the entry. */
FLAT bool cqe_is_valid(uint32_t flags, uint32_t phase)
{
	return !((flags ^ phase) & CQE_VALID);
}

/* The word of a doorbell of a completion queue. */
enum {
	CQ_DOORBELL = 0x120,
	CQ_POPPED_SHIFT = 16,
	CQ_POPPED_MOST = 0x1fff,
};
#define CQ_ARM	     (1u << 29)
#define CQ_SOLICITED (1u << 31)

#endif
