/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completions of irdma: 32 bytes, and 32 more in the next entry if there are immediate data. The
 * third generation has entries of 64 bytes. The process announces in a shadow area in memory how
 * far it has polled, and arms the queue there.
 */
#include "tests/adapters/lab/device/irdma.h"
#include "tests/adapters/lab/device/bytes.h"

#include <string.h>
#include "tests/adapters/lab/shim/shim.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	SHADOW_ARM = 8, /* word of 32 bits */
	ARM_NEXT = 1 << 14,
	ARM_SOLICITED = 1 << 15,
	SELECT_MASK = (1 << 14) - 1,
	MAJOR_FLUSH = 1,
	MAJOR_GENERAL = 2,
	BTH_SEND = 0x04,
	BTH_WRITE_IMM = 0x0b,
	IWARP_RECEIVE = 0x3e,
	GEN3_RECEIVE = 0x03,
	WORDS = 8,
};
#define VALID	   (1ull << 63)
#define IMM_VALID  (1ull << 62)
#define QUEUE_SEND (1ull << 62)
#define ERROR	   (1ull << 55)
#define STAG_VALID (1ull << 53)
#define OF_SRQ	   (1ull << 52)
#define EXTENDED   (1ull << 50)

/* ---- the ring */

static uint32_t shadow(const struct object *cq, int word)
{
	return le32toh(__atomic_load_n(&cq->ring.record[word], __ATOMIC_ACQUIRE));
}

/* Return the number of entries that the process has not polled. It polls earlier rings first. */
static uint32_t unread(const struct object *cq)
{
	const struct irdma_played_cq *played = cq->device;
	uint32_t written = cq->produced - played->base, head = shadow(cq, 0);

	if ((shadow(cq, SHADOW_ARM) & SELECT_MASK) != (played->resizes & SELECT_MASK))
		return written;
	return (written % cq->ring.entries + cq->ring.entries - head % cq->ring.entries) %
	       cq->ring.entries;
}

/* A completion may need two entries. */
uint32_t irdma_room(struct object *cq)
{
	return (cq->ring.entries - 1 - unread(cq)) / (irdma_generation() < 3 ? 2 : 1);
}

/* Clear the arming in memory, so that the next arming is visible. The number of armings does not
 * matter. */
bool irdma_armed(struct object *cq, struct arm *ret_arm)
{
	uint32_t word = shadow(cq, SHADOW_ARM), raw = htole32(word);

	if (!(word & (ARM_NEXT | ARM_SOLICITED)))
		return false;
	if (!__atomic_compare_exchange_n(&cq->ring.record[SHADOW_ARM], &raw,
					 htole32(word & ~(ARM_NEXT | ARM_SOLICITED)), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false; /* the process arms it again */
	*ret_arm = (struct arm){ .solicited = !(word & ARM_NEXT),
				 .consumed = cq->produced - unread(cq) };
	return true;
}

static uint8_t *slot_at(const struct object *cq, uint32_t position)
{
	return cq->ring.base + (size_t)(position % cq->ring.entries) * cq->ring.stride;
}

static uint64_t phase(const struct object *cq, uint32_t position)
{
	return position / cq->ring.entries % 2 ? 0 : VALID;
}

/* Write half an entry into a trace. Its second word may be an address. */
static void trace_half(uint8_t *at, const uint64_t *words)
{
	trace_device_hides(at + 8, &words[1], sizeof(words[1]));
	trace_device_writes(at, &words[0], sizeof(words[0]));
	trace_device_writes(at + 16, &words[2], 2 * sizeof(words[2]));
}

/* Write half an entry, whose last word gets the phase bit. */
static void write_half(uint8_t *at, uint64_t *words, uint64_t valid)
{
	uint64_t last = htole64((words[3] & ~VALID) | valid);

	for (int i = 0; i < 3; i++)
		words[i] = htole64(words[i]);
	words[3] = last;
	words[3] = last;
	if (!model_on()) {
		trace_half(at, words);
		return;
	}
	memcpy(at, words, 3 * sizeof(*words));
	__atomic_store_n((uint64_t *)(void *)at + 3, last, __ATOMIC_RELEASE);
}

/* Write an entry of eight words, the latter four first. */
static void write_entry(struct object *cq, uint64_t *words)
{
	const struct irdma_played_cq *played = cq->device;
	uint32_t position = cq->produced - played->base;

	if (irdma_generation() > 2) {
		write_half(slot_at(cq, position) + IRDMA_QUANTUM, words + 4, phase(cq, position));
	} else if (words[3] & EXTENDED) {
		write_half(slot_at(cq, position + 1), words + 4, phase(cq, position + 1));
		cq->produced++;
	}
	write_half(slot_at(cq, position), words, phase(cq, position));
	cq->produced++;
}

void irdma_entry(struct object *cq, const void *bytes, size_t length)
{
	uint64_t words[WORDS] = { 0 };

	memcpy(words, bytes, length < sizeof(words) ? length : sizeof(words));
	for (int i = 0; i < WORDS; i++)
		words[i] = le64toh(words[i]);
	write_entry(cq, words);
}

/* ---- completions */

static uint32_t error_of(enum ibv_wc_status status)
{
	static const uint8_t codes[] = {
		[IBV_WC_WR_FLUSH_ERR] = 1,     [IBV_WC_LOC_PROT_ERR] = 2,
		[IBV_WC_LOC_ACCESS_ERR] = 2,   [IBV_WC_REM_ACCESS_ERR] = 3,
		[IBV_WC_LOC_QP_OP_ERR] = 4,    [IBV_WC_REM_OP_ERR] = 5,
		[IBV_WC_LOC_LEN_ERR] = 6,      [IBV_WC_FATAL_ERR] = 7,
		[IBV_WC_RETRY_EXC_ERR] = 8,    [IBV_WC_MW_BIND_ERR] = 9,
		[IBV_WC_REM_INV_REQ_ERR] = 10, [IBV_WC_RNR_RETRY_EXC_ERR] = 11,
	};

	if (!status)
		return 0;
	if (status < sizeof(codes) && codes[status])
		return MAJOR_FLUSH << 16 | codes[status];
	return MAJOR_GENERAL << 16 | status;
}

static unsigned receive_op(const struct ibv_wc *wc)
{
	bool written = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM;

	if (irdma_generation() > 2)
		return written ? IRDMA_OP_WRITE : GEN3_RECEIVE;
	if (irdma_is_iwarp())
		return IWARP_RECEIVE + written;
	return written ? BTH_WRITE_IMM : BTH_SEND;
}

/* Write the completion of a request that begins at quantum @first, which is that of a failure if
 * @error. */
static void write_sent(struct object *cq, const struct object *qp, uint16_t first, unsigned op,
		       uint32_t error)
{
	const struct irdma_played_qp *played = qp->device;
	uint64_t words[WORDS] = {
		[1] = played->cookie,
		[2] = (uint64_t)qp->number << 32,
		[3] = QUEUE_SEND | (uint64_t)op << 56 | (error ? ERROR : 0) |
		      (uint64_t)first << 32 | error,
	};

	write_entry(cq, words);
}

/* Write the completion of a receive of the queue pair's own queue. */
static void write_received(struct object *cq, const struct completion *c, uint32_t error)
{
	const struct irdma_played_qp *played = c->qp->device;
	const struct ibv_wc *wc = c->wc;
	uint32_t quanta = c->srq ? 0 : c->qp->rq.stride / IRDMA_QUANTUM;
	bool immediate = wc->wc_flags & IBV_WC_WITH_IMM && !error;
	bool invalidated = wc->wc_flags & IBV_WC_WITH_INV && !error;
	uint64_t words[WORDS] = {
		[0] = wc->byte_len,
		[1] = played->cookie,
		[2] = (uint64_t)c->qp->number << 32 | (invalidated ? wc->invalidated_rkey
						       : c->qp->qp_type == IBV_QPT_UD ? wc->src_qp
										      : 0),
		[3] = (uint64_t)receive_op(wc) << 56 | (error ? ERROR : 0) |
		      (invalidated ? STAG_VALID : 0) | (uint64_t)(c->id * quanta & 0x7fff) << 32 |
		      error,
	};

	if (immediate) {
		words[3] |= EXTENDED;
		words[4] = be32toh(wc->imm_data);
		words[7] = IMM_VALID;
	}
	if (c->srq) {
		words[3] |= OF_SRQ | EXTENDED;
		words[1] = ((const struct irdma_played_srq *)c->srq->device)->wr_ids[c->id];
		words[5] = played->cookie;
	}
	write_entry(cq, words);
}

/* One completion of a failure stands for all requests that are posted by the time it is polled.
 * The third generation has one for each. */
static bool is_told(const struct object *qp, bool over, bool *lost)
{
	if (!over || !model_on() || irdma_generation() > 2)
		return false;
	*lost = true;
	return true;
}

void irdma_complete(struct object *cq, const struct completion *c)
{
	struct irdma_played_qp *played = c->qp->device;
	uint32_t error = error_of(c->wc->status);

	if (!c->receive) {
		played->last_send = c->id;
		if (is_told(c->qp, played->send_over, &played->send_lost))
			return;
		played->send_over = error;
		write_sent(cq, c->qp, c->id, c->note, error);
		return;
	}
	played->last_receive = c->id;
	if (!c->srq && is_told(c->qp, played->receive_over, &played->receive_lost))
		return;
	played->receive_over = error && !c->srq;
	write_received(cq, c, error);
}

void irdma_flush_again(struct object *qp, bool sends, bool receives)
{
	struct irdma_played_qp *played = qp->device;
	const struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
	const struct completion c = { .qp = qp, .receive = true, .wc = &wc };

	if (irdma_generation() > 2 || !model_on())
		return;
	model_settle();
	if (sends && played->send_lost)
		write_sent(qp->send_cq, qp, played->last_send, IRDMA_OP_SEND,
			   error_of(IBV_WC_WR_FLUSH_ERR));
	if (receives && played->receive_lost)
		write_received(qp->recv_cq, &c, error_of(IBV_WC_WR_FLUSH_ERR));
	played->send_lost &= !sends;
	played->receive_lost &= !receives;
}
