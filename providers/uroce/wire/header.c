/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/wire/header.h"

static_assert(FETH_LEN + RETH_LEN <= ATOMIC_ETH_LEN && RETH_LEN + IMM_LEN <= ATOMIC_ETH_LEN,
	      "UROCE_HEADER_MAX covers every opcode");

/* BTH byte 1: solicited, migration state, pad count, transport version (0). */
enum {
	BTH_SOLICITED = 0x80,
	BTH_MIGRATED = 0x40,
	BTH_PAD_SHIFT = 4,
	BTH_PAD_MASK = 3,
	BTH_VERSION_MASK = 0x0f,
	BTH_BECN = 0x40,	 /* in byte 4: a notification of congestion */
	PKEY_PARTITION = 0x7fff, /* the upper bit tells a full member from a limited one */
};
#define BTH_ACK_REQ 0x80000000u

/*
 * Write the bytes behind the BTH of a congestion notification. Its BTH has the congestion bit and
 * no migration state: annex A17.9.3.
 */
static uint8_t *pack_cnp(uint8_t *p)
{
	uint8_t *bth = p - BTH_LEN;

	bth[1] &= ~BTH_MIGRATED;
	bth[BTH_RESERVED] = BTH_BECN;
	memset(p, 0, CNP_LEN);
	return p + CNP_LEN;
}

static uint8_t *pack_extensions(const struct uroce_hdr *hdr, pkt_flags_t flags, uint8_t *p)
{
	if (flags & PKT_DETH) {
		p = put32(p, hdr->qkey);
		p = put32(p, hdr->src_qpn & QPN_MASK);
	}
	if (flags & PKT_XRC_ETH)
		p = put32(p, hdr->srqn & QPN_MASK);
	if (flags & PKT_FETH)
		p = put32(p, (uint32_t)hdr->flush_level << 4 | hdr->flush_type);
	if (flags & PKT_RETH) {
		p = put64(p, hdr->va);
		p = put32(p, hdr->rkey);
		p = put32(p, hdr->dma_len);
	}
	if (flags & PKT_ATOMIC_ETH) {
		p = put64(p, hdr->va);
		p = put32(p, hdr->rkey);
		p = put64(p, hdr->swap_add);
		p = put64(p, hdr->compare);
	}
	if (flags & PKT_AETH)
		p = put32(p, (uint32_t)hdr->syndrome << 24 | (hdr->msn & PSN_MASK));
	if (flags & PKT_ATOMIC_ACK)
		p = put64(p, hdr->orig);
	if (flags & PKT_IMM) {
		memcpy(p, &hdr->imm, IMM_LEN);
		p += IMM_LEN;
	}
	if (flags & PKT_IETH)
		p = put32(p, hdr->invalidate_rkey);
	if (unlikely(flags & PKT_CNP))
		p = pack_cnp(p);
	return p;
}

unsigned int uroce_wire_pack(const struct uroce_hdr *hdr, uint32_t payload_len, uint8_t *buf)
{
	pkt_flags_t flags = hdr_flags(hdr);
	uint8_t *p = buf;

	*p++ = hdr->opcode;
	*p++ = (hdr->solicited ? BTH_SOLICITED : 0) | BTH_MIGRATED |
	       uroce_wire_pad(payload_len) << BTH_PAD_SHIFT;
	p = put16(p, hdr->pkey);
	p = put32(p, hdr->dest_qpn & QPN_MASK);
	p = put32(p, (hdr->ack_req ? BTH_ACK_REQ : 0) | (hdr->psn & PSN_MASK));
	if (flags & ~(PKT_VALID | PKT_REQUEST | PKT_START | PKT_END | PKT_SEND | PKT_RWQE |
		      PKT_CQE | PKT_PAYLOAD))
		p = pack_extensions(hdr, flags, p);
	return p - buf;
}

static void unpack_extensions(const uint8_t *p, pkt_flags_t flags, struct uroce_hdr *hdr)
{
	if (flags & PKT_DETH) {
		hdr->qkey = get32(p);
		hdr->src_qpn = get32(p + 4) & QPN_MASK;
		p += DETH_LEN;
	}
	if (flags & PKT_XRC_ETH) {
		hdr->srqn = get32(p) & QPN_MASK;
		p += XRC_ETH_LEN;
	}
	if (flags & PKT_FETH) {
		hdr->flush_type = get32(p) & 0x0f;
		hdr->flush_level = get32(p) >> 4 & 0x03;
		p += FETH_LEN;
	}
	if (flags & PKT_RETH) {
		hdr->va = get64(p);
		hdr->rkey = get32(p + 8);
		hdr->dma_len = get32(p + 12);
		p += RETH_LEN;
	}
	if (flags & PKT_ATOMIC_ETH) {
		hdr->va = get64(p);
		hdr->rkey = get32(p + 8);
		hdr->swap_add = get64(p + 12);
		hdr->compare = get64(p + 20);
		p += ATOMIC_ETH_LEN;
	}
	if (flags & PKT_AETH) {
		hdr->syndrome = p[0];
		hdr->msn = get32(p) & PSN_MASK;
		p += AETH_LEN;
	}
	if (flags & PKT_ATOMIC_ACK) {
		hdr->orig = get64(p);
		p += ATOMIC_ACK_LEN;
	}
	if (flags & PKT_IMM) {
		memcpy(&hdr->imm, p, IMM_LEN);
		p += IMM_LEN;
	}
	if (flags & PKT_IETH)
		hdr->invalidate_rkey = get32(p);
}

/*
 * Return whether the P_Key belongs to the default partition. This port is a full member, so the key
 * of a limited member matches, too.
 */
static bool pkey_matches(uint16_t pkey)
{
	return ((pkey ^ UROCE_PKEY_DEFAULT) & PKEY_PARTITION) == 0;
}

int uroce_wire_unpack(const uint8_t *buf, size_t len, struct uroce_hdr *hdr,
		      uint32_t *ret_payload_len)
{
	const struct uroce_opcode *op;
	unsigned int pad;

	if (len < BTH_LEN)
		return -EBADMSG;
	op = &uroce_opcodes[buf[0]];
	pad = buf[1] >> BTH_PAD_SHIFT & BTH_PAD_MASK;
	if (!op->flags || (buf[1] & BTH_VERSION_MASK) || len < op->header_len + pad)
		return -EBADMSG;
	if (!(op->flags & PKT_PAYLOAD) && len != op->header_len)
		return -EBADMSG;
	if ((len & 3) || !pkey_matches(get16(buf + 2)))
		return -EBADMSG;
	hdr->opcode = buf[0];
	hdr->solicited = buf[1] & BTH_SOLICITED;
	hdr->pkey = get16(buf + 2);
	hdr->dest_qpn = get32(buf + 4) & QPN_MASK;
	hdr->ack_req = buf[8] & 0x80;
	hdr->psn = get32(buf + 8) & PSN_MASK;
	unpack_extensions(buf + BTH_LEN, op->flags, hdr);
	*ret_payload_len = len - op->header_len - pad;
	return op->header_len;
}
