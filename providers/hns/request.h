/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of send requests that ibv_post_send() and ibv_wr_*() share. */
#ifndef HNS_REQUEST_H
#define HNS_REQUEST_H

#include "providers/hns/wqe.h"

enum {
	SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE,
	HAS_IMM = 1,
	HAS_INV = 2,
	HAS_REMOTE = 4,
	HAS_ATOMIC = 8,
	IS_READ = 16,
};

struct send_op {
	uint8_t opcode;
	uint8_t has;
	bool known;
};

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = { OP_WRITE, HAS_REMOTE, true },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { OP_WRITE_IMM, HAS_REMOTE | HAS_IMM, true },
	[IBV_WR_SEND] = { OP_SEND, 0, true },
	[IBV_WR_SEND_WITH_IMM] = { OP_SEND_IMM, HAS_IMM, true },
	[IBV_WR_RDMA_READ] = { OP_READ, HAS_REMOTE | IS_READ, true },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { OP_CMP_SWAP, HAS_REMOTE | HAS_ATOMIC, true },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { OP_FETCH_ADD, HAS_REMOTE | HAS_ATOMIC, true },
	[IBV_WR_SEND_WITH_INV] = { OP_SEND_INV, HAS_INV, true },
};

/* Bits of the first word, by IBV_SEND_ flags. */
#define FLAG_BITS(flags)                                    \
	(((flags)&IBV_SEND_FENCE ? WQE_ORDERED : 0) |       \
	 ((flags)&IBV_SEND_SIGNALED ? WQE_SIGNALED : 0) |   \
	 ((flags)&IBV_SEND_SOLICITED ? WQE_SOLICITED : 0) | \
	 ((flags)&IBV_SEND_INLINE ? WQE_INLINE : 0))

static const uint16_t flag_bits[SEND_FLAGS + 1] = {
	FLAG_BITS(0),  FLAG_BITS(1),  FLAG_BITS(2),  FLAG_BITS(3),  FLAG_BITS(4),  FLAG_BITS(5),
	FLAG_BITS(6),  FLAG_BITS(7),  FLAG_BITS(8),  FLAG_BITS(9),  FLAG_BITS(10), FLAG_BITS(11),
	FLAG_BITS(12), FLAG_BITS(13), FLAG_BITS(14), FLAG_BITS(15),
};
#undef FLAG_BITS

FLAT char *wqe_at(const struct hns_sq *sq, uint32_t head)
{
	return sq->ring + ((size_t)(head & sq->mask) << WQE_SHIFT);
}

/* Return the owner's bit of the request with this index. The bit changes with each wrap. */
FLAT uint32_t owner_bit(const struct hns_sq *sq, uint32_t head)
{
	return head & (sq->mask + 1) ? 0 : WQE_OWNER;
}

FLAT char *segment_at(const struct hns_sq *sq, uint32_t index)
{
	return sq->segments + (size_t)(index & sq->segment_mask) * SEGMENT;
}

/* Write the first word. Its owner's bit passes the request to the device. */
FLAT void first_put(const struct hns_sq *sq, char *wqe, uint32_t first)
{
	if (sq->owned)
		barrier_to_device();
	put_32(wqe, first);
}

FLAT void remote_put(char *wqe, uint64_t address, uint32_t key)
{
	put_32(wqe + AT_KEY, key);
	put_64(wqe + AT_ADDRESS, address);
}

/* Write the entries of a request whose length is not 0. Return their number. *@ret_used: number of
 * entries that are in the ring of segments, from the next free place on */
FLAT uint32_t list_put(const struct hns_sq *sq, char *wqe, const struct ibv_sge *sge,
		       uint32_t count, uint32_t *ret_used)
{
	uint32_t inside = sq->datagrams ? 0 : INSIDE, n = 0;

	for (; count; count--, sge++) {
		char *at = n < inside ? wqe + AT_DATA + (size_t)n * SEGMENT
				      : segment_at(sq, sq->segment + n - inside);

		if (unlikely(!sge->length))
			continue;
		segment_put(at, sge->addr, sge->length, sge->lkey);
		n++;
	}
	*ret_used = n > inside ? n - inside : 0;
	return n;
}

/* Copy inline data behind the first @at bytes into the ring of segments. */
static inline void segments_copy(const struct hns_sq *sq, uint32_t at, const char *from,
				 uint32_t length)
{
	uint32_t size = sq->segment_count * SEGMENT;
	uint32_t offset = ((sq->segment & sq->segment_mask) * SEGMENT + at) & (size - 1);
	uint32_t first = min_of(length, size - offset);

	memcpy(sq->segments + offset, from, first);
	if (length > first)
		memcpy(sq->segments, from + first, length - first);
}

/* Write the words that name the destination of a datagram. */
static inline void datagram_put(const struct hns_sq *sq, char *wqe, const struct hns_ah *ah,
				uint32_t remote_qpn, uint32_t remote_qkey)
{
	put_32(wqe + AT_KEY, (uint32_t)ah->sport << 16);
	put_32(wqe + AT_UD_QKEY, remote_qkey & 1u << 31 ? sq->qkey : remote_qkey);
	put_32(wqe + AT_UD_QPN, remote_qpn & HNS_NUMBER_MASK);
	memcpy(wqe + AT_DATA, ah->words, sizeof(ah->words));
}

/* Set the number of segments. Keep the lower part of the word, which has a domain or an SRQ. */
FLAT void count_set(char *wqe, uint32_t count)
{
	put_32(wqe + AT_COUNT, (get_32(wqe + AT_COUNT) & HNS_NUMBER_MASK) | count << COUNT_SHIFT);
}

/* Copy @length bytes of inline data, at most 8, into the unused parts of the words of a datagram.
 */
static inline void scattered_put(char *wqe, const char *bytes, uint32_t length)
{
	uint64_t data =
		length == sizeof(data) ? kit_bytes_load_64(bytes) : kit_bytes_load(bytes, length);

	put_32(wqe + AT_LENGTH, length | (uint32_t)(data & 0xffff) << 16);
	count_set(wqe, data >> 16 & 0xff);
	put_32(wqe + AT_SEGMENT, data >> 24 & 0xffffff);
	put_32(wqe + AT_KEY, (get_32(wqe + AT_KEY) & 0xffff0000) | (uint32_t)(data >> 48));
}

/* Set the service level of the next doorbells. */
FLAT void sl_set(struct hns_sq *sq, uint8_t sl)
{
	sq->tag = (sq->tag & ~((uint64_t)7 << HNS_DB_SL_SHIFT)) | (uint64_t)sl << HNS_DB_SL_SHIFT;
}

/* Write the whole request into the page of the queue pair. The first word also gets the index and
 * the service level. */
static inline void direct_put(const struct hns_sq *sq, char *wqe, uint32_t head)
{
	uint32_t sl = sq->tag >> HNS_DB_SL_SHIFT & 7;
	uint32_t first = get_32(wqe) | WQE_DIRECT | (head & 0xffff) << DIRECT_INDEX_SHIFT |
			 (sl & 3) << 5 | (sl >> 2) << 13;

	put_32(wqe, first);
	barrier_to_device();
	mmio_copy_64(sq->direct, wqe);
}

/* Announce requests up to @head, and release the lock. @only: the request, if it is the only one
 * and may be written into the page; otherwise NULL */
FLAT void sq_ring(struct hns_sq *sq, uint32_t head, char *only)
{
	sq->head = head;
	if (only && unlikely(sq->direct)) {
		direct_put(sq, only, head);
	} else {
		/* The requests must be visible before the register announces them. */
		barrier_to_device();
		hns_doorbell_ring(sq->doorbell, sq->tag | (uint64_t)(head & 0xffff)
								  << HNS_DB_INDEX_SHIFT);
	}
	*(volatile uint32_t *)sq->record = head & 0xffff;
	spinlock_unlock(&sq->lock);
}

#endif
