/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). If the ring is empty, a register write asks the device for completions that it
 * has held back, and the ring is read again. Most completions are plain: successful, and of the
 * same queue pair as the completion before. Their loop makes no function call. poll_rest() polls
 * the first completion that is not plain, and all completions after it.
 */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	POLL_CORRUPT = -1,
	WC_FLAGS_SAME = PVRDMA_WC_GRH | PVRDMA_WC_WITH_IMM,
	ROUNDS = 64, /* limit for a device that writes only invalid entries */
	/* pkey_index, slid, sl, dlid_path_bits and the padding behind them */
	WC_ADDRESS_BYTES = sizeof(struct ibv_wc) - offsetof(struct ibv_wc, pkey_index),
	/* Offset of the bits of the handle: the lower half of its lowest 32 bits. */
	CQE_NAME_OFFSET =
		offsetof(struct pvrdma_cqe, qp) + (__BYTE_ORDER == __LITTLE_ENDIAN ? 0 : 6),
};
_Static_assert(
	offsetof(struct pvrdma_cqe, dlid_path_bits) - offsetof(struct pvrdma_cqe, pkey_index) ==
			offsetof(struct ibv_wc, dlid_path_bits) -
				offsetof(struct ibv_wc, pkey_index) &&
		offsetof(struct pvrdma_cqe, pkey_index) + WC_ADDRESS_BYTES <=
			sizeof(struct pvrdma_cqe) &&
		offsetof(struct ibv_wc, imm_data) - offsetof(struct ibv_wc, byte_len) ==
			offsetof(struct pvrdma_cqe, imm_data) -
				offsetof(struct pvrdma_cqe, byte_len) &&
		offsetof(struct pvrdma_cqe, status) == offsetof(struct pvrdma_cqe, opcode) + 4 &&
		offsetof(struct ibv_wc, opcode) == offsetof(struct ibv_wc, status) + 4 &&
		offsetof(struct pvrdma_cqe, wc_flags) == offsetof(struct pvrdma_cqe, src_qp) + 4 &&
		offsetof(struct ibv_wc, wc_flags) == offsetof(struct ibv_wc, src_qp) + 4,
	"neighbours in the ring and in verbs");

/* IBV_WC_ opcodes, indexed by the device's opcodes. Programs cannot post other operations. */
static const uint8_t sent_opcodes[] = {
	[PVRDMA_WC_SEND] = IBV_WC_SEND,
	[PVRDMA_WC_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[PVRDMA_WC_RDMA_READ] = IBV_WC_RDMA_READ,
	[PVRDMA_WC_COMP_SWAP] = IBV_WC_COMP_SWAP,
	[PVRDMA_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[PVRDMA_WC_BIND_MW] = IBV_WC_BIND_MW,
	[PVRDMA_WC_LSO] = IBV_WC_TSO,
	[PVRDMA_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
};

static inline enum ibv_wc_opcode wc_opcode(uint32_t opcode)
{
	/* Receives have the numbers of verbs. Unknown opcodes are sends. */
	if (opcode - PVRDMA_WC_RECV <= PVRDMA_WC_RECV_RDMA_WITH_IMM - PVRDMA_WC_RECV)
		return (enum ibv_wc_opcode)opcode;
	return opcode < ARRAY_SIZE(sent_opcodes) ? (enum ibv_wc_opcode)sent_opcodes[opcode]
						 : IBV_WC_SEND;
}

/* Return the status. The device uses the numbers of verbs. */
static inline enum ibv_wc_status wc_status(uint32_t status)
{
	return likely(status <= PVRDMA_WC_GENERAL_ERR) ? (enum ibv_wc_status)status
						       : IBV_WC_GENERAL_ERR;
}

/* Translate flags. Two of them have other bits in verbs, and verbs do not have the rest. */
static inline unsigned int wc_flags(uint32_t flags)
{
	return (flags & WC_FLAGS_SAME) | (flags & PVRDMA_WC_WITH_INVALIDATE ? IBV_WC_WITH_INV : 0) |
	       (flags & PVRDMA_WC_IP_CSUM_OK ? IBV_WC_IP_CSUM_OK : 0);
}

/* Convert between two adjacent words in memory and a number with the first word in the lower half.
 */
static inline uint64_t both_turn(uint64_t both)
{
	return __BYTE_ORDER == __LITTLE_ENDIAN ? both : both << 32 | both >> 32;
}

/* Read two words of an entry once, because the device may still write to it. */
static inline uint64_t both_read(const void *first)
{
	return both_turn(*(const volatile uint64_t *)first);
}

static inline void both_write(void *first, uint64_t both)
{
	both = both_turn(both);
	memcpy(first, &both, sizeof(both));
}

/* Fill in @wc from a plain entry: a successful send or receive, whose opcodes differ in one bit,
 * with flags that verbs have at the same bits. Return: whether it is plain. If not, the contents of
 * @wc are not valid. */
static inline bool wc_read_plain(struct ibv_wc *wc, const struct pvrdma_cqe *cqe)
{
	uint64_t result = both_read(&cqe->opcode), source;

	if (unlikely(result & ~(uint64_t)PVRDMA_WC_RECV))
		return false;
	/* In verbs the status is the first of the two words. */
	both_write(&wc->status, result << 32);
	source = both_read(&cqe->src_qp);
	both_write(&wc->src_qp, source);
	return likely(source >> 32 <= WC_FLAGS_SAME);
}

static inline void wc_read_other(struct ibv_wc *wc, const struct pvrdma_cqe *cqe)
{
	const volatile struct pvrdma_cqe *once = cqe;

	wc->opcode = wc_opcode(once->opcode);
	wc->status = wc_status(once->status);
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = wc_flags(once->wc_flags);
}

/* Copy the fields that need no check, adjacent fields together. */
static inline void wc_read_rest(struct ibv_wc *wc, const struct pvrdma_cqe *cqe, uint32_t qpn)
{
	wc->wr_id = cqe->wr_id;
	/* This includes the immediate data, or the invalidated key. */
	memcpy(&wc->byte_len, &cqe->byte_len, sizeof(wc->byte_len) + sizeof(wc->imm_data));
	wc->vendor_err = 0;
	wc->qp_num = qpn;
	memcpy(&wc->pkey_index, &cqe->pkey_index, WC_ADDRESS_BYTES);
}

__attribute__((noinline, cold)) static int say_corrupt(struct pvrdma_cq *cq, uint32_t tail)
{
	if (!cq->said)
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: the device says it is at 0x%x, of a ring of %u entries",
			  cq->cqn, tail, cq->ring.entries);
	cq->said = true;
	return -EIO;
}

static inline int look(struct pvrdma_cq *cq)
{
	/* acquire: the device wrote the entries before it */
	uint32_t tail = atomic_load_explicit(&cq->ring.words->tail, memory_order_acquire);
	uint32_t mask = cq->ring.mask;
	uint32_t count = (tail - cq->ring.index) & mask;

	if (unlikely(tail > mask || count > cq->ring.entries))
		return say_corrupt(cq, tail);
	barrier_from_device();
	return count;
}

int pvrdma_cq_look(struct pvrdma_cq *cq)
{
	return look(cq);
}

/* Return whether the ring is empty, also after asking the device for held-back entries. *ret_tail:
 * the tail of the device, which the caller checks */
static inline bool is_empty(struct pvrdma_cq *cq, uint32_t *ret_tail)
{
	atomic_uint *word = &cq->ring.words->tail;

	/* acquire: the device wrote the entries before it */
	*ret_tail = atomic_load_explicit(word, memory_order_acquire);
	if (*ret_tail != cq->ring.index)
		return false;
	mmio_write_32(cq->uar + PVRDMA_UAR_CQ_OFFSET, cq->word_poll);
	/* acquire: as above */
	*ret_tail = atomic_load_explicit(word, memory_order_acquire);
	return *ret_tail == cq->ring.index;
}

__attribute__((noinline, cold)) static void say_unknown(struct pvrdma_cq *cq, uint64_t handle)
{
	if (!cq->said)
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: a completion of a queue pair that is not there, handle 0x%x",
			  cq->cqn, (unsigned int)(handle & PVRDMA_HANDLE_MASK));
	cq->said = true;
}

/* Read an entry. Return: whether its queue pair exists. */
static inline bool take(struct pvrdma_cq *cq, const struct pvrdma_cqe *cqe, struct ibv_wc *wc)
{
	uint64_t handle = ((const volatile struct pvrdma_cqe *)cqe)->qp;
	uint32_t name = handle & PVRDMA_HANDLE_MASK;

	if (unlikely(name != cq->last_name)) {
		uint32_t qpn;

		if (unlikely(!pvrdma_qpn_find(to_pctx(cq->vcq.cq.context), handle, &qpn))) {
			say_unknown(cq, handle);
			return false;
		}
		cq->last_name = name;
		cq->last_qpn = qpn;
	}
	wc_read_other(wc, cqe);
	wc_read_rest(wc, cqe, cq->last_qpn);
	verbs_data_wc(&cq->vcq.cq, wc);
	return true;
}

/* Return the entries before @index to the device. */
static inline void give_back(struct pvrdma_cq *cq, uint32_t index)
{
	cq->ring.index = index;
	/* release: the entries were read before the device has them */
	atomic_store_explicit(&cq->ring.words->head, index, memory_order_release);
}

/* Poll the remaining @left of @num_entries entries. The caller holds the lock, and this function
 * releases it. */
__attribute__((noinline)) static int poll_rest(struct pvrdma_cq *cq, int num_entries,
					       struct ibv_wc *wc, int left)
{
	int rounds = ROUNDS;
	uint32_t tail;

	do {
		uint32_t index = cq->ring.index;
		int count = look(cq);

		if (unlikely(count <= 0)) {
			/* Return the entries found so far; the next call reports the error. */
			left = count && left == num_entries ? left - POLL_CORRUPT : left;
			break;
		}
		do {
			if (likely(take(cq, pvrdma_ring_slot(&cq->ring, index), wc))) {
				wc++;
				left--;
			}
			index = pvrdma_ring_next(&cq->ring, index);
		} while (--count && left);
		give_back(cq, index);
	} while (left && --rounds && !is_empty(cq, &tail));
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

static inline bool take_plain(const struct pvrdma_cq *cq, const struct pvrdma_cqe *cqe,
			      struct ibv_wc *wc)
{
	uint32_t name = *(const volatile uint16_t *)((const char *)cqe + CQE_NAME_OFFSET);

	if (unlikely(name != cq->last_name) || unlikely(!wc_read_plain(wc, cqe)))
		return false;
	wc_read_rest(wc, cqe, cq->last_qpn);
	return true;
}

/* Poll a ring with tail @tail. The caller holds the lock, and this function releases it. It is not
 * inline, so that a poll of an empty ring saves no registers. */
__attribute__((noinline)) static int poll_found(struct pvrdma_cq *cq, int num_entries,
						struct ibv_wc *wc, uint32_t tail)
{
	uint32_t index = cq->ring.index;
	int left = num_entries;

	do {
		if (unlikely(tail > cq->ring.mask) ||
		    unlikely(((tail - index) & cq->ring.mask) > cq->ring.entries))
			return poll_rest(cq, num_entries, wc, left);
		barrier_from_device();
		do {
			const struct pvrdma_cqe *slots = (const struct pvrdma_cqe *)cq->ring.slots;

			if (unlikely(!take_plain(cq, &slots[index & (cq->ring.entries - 1)], wc))) {
				cq->ring.index = index;
				return poll_rest(cq, num_entries, wc, left);
			}
			wc++;
			index = (index + 1) & cq->ring.mask;
		} while (--left && index != tail);
		give_back(cq, index);
	} while (left && !is_empty(cq, &tail));
	spinlock_unlock(&cq->lock);
	return num_entries - left;
}

static inline int poll_locked(struct pvrdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t tail;

	if (likely(num_entries > 0) && !is_empty(cq, &tail))
		return poll_found(cq, num_entries, wc, tail);
	spinlock_unlock(&cq->lock);
	return 0;
}

__attribute__((noinline)) static int poll_waited(struct pvrdma_cq *cq, int num_entries,
						 struct ibv_wc *wc)
{
	spinlock_wait(&cq->lock);
	return poll_locked(cq, num_entries, wc);
}

int pvrdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct pvrdma_cq *cq = to_pcq(ibcq);

	/* The wait is in another function, so that a poll without contention saves no registers. */
	if (unlikely(!spinlock_try(&cq->lock)))
		return poll_waited(cq, num_entries, wc);
	return poll_locked(cq, num_entries, wc);
}
