/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first request of an idle queue, by stores into the doorbell page instead of a doorbell: a
 * word that describes it, and then the request as in the ring, or the packet with inline data. The
 * ring also has the request, and the adapter can read it there.
 */
#include "providers/qedr/wqe.h"

enum {
	DPM_SIZE_MASK = 0x3f, /* words of eight bytes */
	DPM_PACKET = 1 << 6,
	DPM_OPCODE_SHIFT = 8,
	DPM_BYTES_SHIFT = 16,
	DPM_ACKNOWLEDGE = 1 << 28,
	DPM_SOLICITED = 1 << 29,
	DPM_SIGNALED = 1 << 30,
	WORDS_MAX = 1 + DPM_SIZE_MASK,
};

/* Opcodes of packets by verbs opcode; 0: the request is no packet of a known opcode. */
static const uint8_t packet_opcodes[] = {
	[IBV_WR_SEND] = 0x04,	       [IBV_WR_SEND_WITH_IMM] = 0x05,
	[IBV_WR_RDMA_WRITE] = 0x0a,    [IBV_WR_RDMA_WRITE_WITH_IMM] = 0x0b,
	[IBV_WR_SEND_WITH_INV] = 0x17,
};

static char *put(char *to, const void *from, size_t length)
{
	memcpy(to, from, length);
	return to + length;
}

/* Write what a packet has behind its first header, which the adapter makes. Return its bytes. */
static uint32_t packet_put(char *start, const struct ibv_send_wr *wr, uint32_t length)
{
	char *to = start;
	const __be64 address = htobe64(wr->wr.rdma.remote_addr);
	const __be32 words[2] = { htobe32(wr->wr.rdma.rkey), htobe32(length) };
	const __be32 key = htobe32(wr->invalidate_rkey);

	if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		to = put(to, &address, sizeof(address));
		to = put(to, words, sizeof(words));
	}
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		to = put(to, &wr->imm_data, sizeof(wr->imm_data));
	else if (wr->opcode == IBV_WR_SEND_WITH_INV)
		to = put(to, &key, sizeof(key));
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			to = put(to, (const char *)(uintptr_t)wr->sg_list[i].addr,
				 wr->sg_list[i].length);
	return to - start;
}

static uint32_t packet_flags(const struct qedr_dpm *dpm, const struct ibv_send_wr *wr,
			     bool signaled)
{
	return DPM_PACKET | (uint32_t)packet_opcodes[wr->opcode] << DPM_OPCODE_SHIFT |
	       (dpm->acknowledged || signaled ? DPM_ACKNOWLEDGE : 0) |
	       (wr->send_flags & IBV_SEND_SOLICITED ? DPM_SOLICITED : 0) |
	       (signaled ? DPM_SIGNALED : 0);
}

/* Write a request for a device that reads words of eight bytes in reverse order. */
static void list_put(uint64_t *to, const uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] = __builtin_bswap64(words[i]);
}

/* Store all words, and let the processor write them in pieces that the adapter takes. */
static void words_store(struct qedr_context *ctx, const uint64_t *words, uint32_t count)
{
	char *to = ctx->doorbells.base;
	uint32_t bytes = 0;

	barrier_wc_start();
	for (uint32_t i = 0; i < count; i++, to += sizeof(*words)) {
		mmio_write_64(to, words[i]);
		bytes += sizeof(*words);
		if (bytes < ctx->dpm.piece && i + 1 < count)
			continue;
		bytes = 0;
		barrier_wc_flush();
	}
}

bool qedr_dpm_post(struct qedr_qp *qp, const struct ibv_send_wr *wr, const uint64_t *request,
		   uint32_t size, uint16_t number)
{
	struct qedr_context *ctx = to_qctx(qp->vqp.qp.context);
	const struct qedr_dpm *dpm = &ctx->dpm;
	const struct qedr_sent *sent = &qp->sq.sent[(uint16_t)(number - 1) & qp->sq.mask];
	uint64_t words[WORDS_MAX] = {};
	uint32_t count = size * ELEMENT_WORDS, flags = 0;

	if (wr->send_flags & IBV_SEND_INLINE) {
		if (!qp->sq.dpm_data || sent->length > dpm->data_most)
			return false;
		flags = packet_put((char *)&words[1], wr, sent->length) << DPM_BYTES_SHIFT;
		count = ((flags >> DPM_BYTES_SHIFT) + sizeof(*words) - 1) / sizeof(*words);
		flags |= packet_flags(dpm, wr, sent->signaled);
	} else {
		if (!dpm->lists || sent->length > dpm->list_most)
			return false;
		list_put(&words[1], request, count);
	}
	count++;
	if (count * sizeof(*words) > ctx->doorbells.length || !spinlock_try(&ctx->dpm_lock))
		return false;
	words[0] = htole64(qp->sq.icid | (uint32_t)number << 16 | (uint64_t)(flags | count) << 32);
	words_store(ctx, words, count);
	spinlock_unlock(&ctx->dpm_lock);
	return true;
}
