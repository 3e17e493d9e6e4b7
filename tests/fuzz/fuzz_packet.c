/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams from the network, with all code behind them: segments of one large receive, ICRC,
 * wire format, dispatch, responder and completer.
 *
 * An input is a list of messages: control byte, flags, length, size of its segments, bytes. A
 * bit requests values that a fuzzer cannot find: a right ICRC, a QP's number, its next PSN, a
 * region's key.
 */
#include <endian.h>
#include <stdlib.h>

#include "tests/fuzz/victim.h"

enum {
	MESSAGE_MAX = 16384,
	TO_GSI = 4,
	TO_GROUP = 5,
	TO_OTHER_PROCESS = 6,
	TO_ANY = 7,
	TARGET_MASK = 7,
	CONTROL_POST = 1 << 3,
	CONTROL_TIME = 1 << 4,
	FLAG_PSN = 1 << 0, /* the PSN that the responder expects */
	FLAG_UNA = 1 << 1, /* the oldest one the requester waits for */
	FLAG_KEY = 1 << 2, /* the region's, at the RETH's place */
	FLAG_ICRC = 1 << 3,
	FLAG_STRANGER = 1 << 4,
	FLAG_SEGMENTS = 1 << 5,
	FLAG_VERSION = 1 << 6, /* valid BTH version and padding */
};

static uint8_t message[MESSAGE_MAX];

static void put24(uint8_t *p, uint32_t value)
{
	p[0] = value >> 16;
	p[1] = value >> 8;
	p[2] = value;
}

static uint32_t target_qpn(unsigned int target)
{
	switch (target) {
	case TO_GSI:
		return 1;
	case TO_GROUP:
		return 0xffffff;
	case TO_OTHER_PROCESS:
		return victim_peer_qpn(0);
	default:
		return victim_qpn(target);
	}
}

/* Fill in the fields that @flags names, in one packet of a message. @number: its index, for its PSN
 * and ICRC. */
static void packet_complete(uint8_t *p, uint32_t length, unsigned int target, uint8_t flags,
			    uint16_t number)
{
	bool xrc = target == TO_ANY && length >= BTH_LEN + ICRC_LEN &&
		   victim_xrc_address(p, length - ICRC_LEN);
	const struct uroce_qp *qp = xrc			  ? victim.xrc.shared
				    : target < VICTIM_QPS ? &victim.qp[target]
							  : &victim.qp[0];
	uint32_t reth = BTH_LEN + (xrc ? XRC_ETH_LEN : 0);
	uint32_t rkey = htobe32(victim.mr.vmr.ibv_mr.rkey), crc;
	struct uroce_icrc icrc;

	if (length < BTH_LEN + ICRC_LEN)
		return;
	if (target != TO_ANY)
		put24(p + 5, target_qpn(target));
	if (flags & FLAG_PSN)
		put24(p + 9, psn_add(qp->resp.psn, number));
	else if (flags & FLAG_UNA)
		put24(p + 9, psn_add(qp->req.una, number));
	if (flags & FLAG_VERSION)
		p[1] &= 0xc0;
	if ((flags & FLAG_KEY) && length >= reth + RETH_LEN + ICRC_LEN)
		memcpy(p + reth + 8, &rkey, sizeof(rkey));
	if (!(flags & FLAG_ICRC))
		return;
	uroce_icrc_init(&icrc, &victim.address[1], &victim.address[0]);
	crc = htole32(uroce_icrc_compute(&icrc, number, p, length - ICRC_LEN));
	memcpy(p + length - ICRC_LEN, &crc, sizeof(crc));
}

static void message_receive(struct input *in, unsigned int target)
{
	uint8_t flags = input_u8(in);
	uint32_t length = input_u16(in) % MESSAGE_MAX;
	uint16_t segment = flags & FLAG_SEGMENTS ? input_u16(in) : 0, number = 0;

	if (!length)
		return;
	input_bytes(in, message, length);
	for (uint32_t at = 0, part; at < length; at += part) {
		part = min_of(segment ? segment : length, length - at);
		packet_complete(message + at, part, target, flags, number++);
	}
	victim.datagram = message;
	victim.datagram_length = length;
	victim.segment = segment;
	victim.stranger = flags & FLAG_STRANGER;
	victim.control = *in;
	victim.udp.ready = true; /* as the descriptor would report */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	victim_begin(false, size && data[size - 1] & 2);
	for (int i = 0; i < 64 && in.size; i++) {
		uint8_t control = input_u8(&in);

		if (control & CONTROL_POST)
			victim_post(control % VICTIM_QPS, &in);
		message_receive(&in, control & TARGET_MASK);
		victim_progress(control & CONTROL_TIME ? input_u16(&in) * 10000ull : 1000);
		/* The datagram was received, and then handled or dropped. */
		if (victim.datagram_length)
			abort();
	}
	victim_end();
	return 0;
}
