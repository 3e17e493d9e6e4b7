/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Input from the peer of a stream over RDMA: the data of its connection, its immediates, and the
 * memory it grants, between the reads and writes of a program.
 *
 * An input is the length and the bytes of the connection's data, the size of our buffer, and a
 * list of steps.
 */
#include <stdlib.h>

#include "librdmacm/rsocket/credit.h"
#include "tests/fuzz/input.h"
#include "util/util.h"

enum {
	STEPS_MAX = 256,
	FLAG_VALID = 1 << 7, /* of the length: valid version and number of entries */
};

/* Checked even if assertions are compiled out. */
#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static struct rs_credit_out out;
static struct rs_credit_in in;
static bool failed; /* a socket that gave its connection up reads no more messages */

static void check(void)
{
	MUST(out.next_count <= RS_WIRE_ENTRIES);
	MUST(out.target.length || !out.next_count);
	MUST(in.consumed <= in.received);
	MUST(in.received <= in.granted);
	MUST(in.granted - in.consumed <= in.size);
	MUST(rs_credit_waiting(&in) <= in.size);
}

static void step_message(uint32_t imm, const struct rs_target *entry)
{
	switch (rs_wire_op(imm)) {
	case RS_WIRE_BYTES:
		failed = rs_credit_arrived(&in, rs_wire_value(imm)) < 0;
		break;
	case RS_WIRE_CREDIT:
		rs_credit_limit(&out, rs_wire_value(imm));
		failed = rs_credit_granted(&out, entry) < 0;
		break;
	default:
		break;
	}
}

static void step_peer(struct input *input)
{
	uint32_t imm = input_u32(input);
	const struct rs_target entry = {
		.addr = input_u64(input),
		.key = input_u32(input),
		.length = input_u32(input),
	};

	step_message(imm, &entry);
}

/* A send goes into the granted memory and uses it up. */
static void step_send(uint32_t want)
{
	uint32_t room = rs_credit_room(&out), length = min_of(want, room);
	const struct rs_target before = out.target;
	struct rs_target target;

	if (!length)
		return;
	MUST(room <= before.length);
	rs_credit_take(&out, length, &target);
	MUST(target.addr == before.addr && target.key == before.key);
	if (length < before.length)
		MUST(out.target.length == before.length - length);
}

static void step_read(uint32_t want)
{
	in.consumed += min_of(want, rs_credit_waiting(&in));
}

static void step_give(void)
{
	while (rs_credit_can_grant(&in) || rs_credit_is_due(&in)) {
		if (rs_credit_can_grant(&in)) {
			uint32_t offset = rs_credit_grant(&in);

			MUST(offset == 0 || offset == in.size / 2);
		}
		rs_credit_tell(&in);
	}
}

static int start(struct input *input)
{
	uint8_t data[256] = {}, again[RS_WIRE_DATA_SIZE], length = input_u8(input);
	struct rs_wire_data peer, back;

	input_bytes(input, data, RS_WIRE_DATA_SIZE);
	if (length & FLAG_VALID) {
		data[0] = 1;
		data[23] = RS_WIRE_ENTRIES;
		data[20] = data[21] = data[22] = 0;
		length = RS_WIRE_DATA_SIZE;
	}
	if (rs_wire_get_data(data, length, &peer) < 0)
		return -1;
	MUST(length >= RS_WIRE_DATA_SIZE && peer.list.length);
	rs_wire_put_data(again, &peer);
	MUST(rs_wire_get_data(again, sizeof(again), &back) == 0);
	MUST(back.credits == peer.credits && back.first.addr == peer.first.addr);
	in = (struct rs_credit_in){
		.size = 2 + 2 * (uint32_t)input_u16(input),
		.queue = 16 + input_u8(input),
	};
	rs_credit_start(&out, &in, &peer);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };

	failed = false;
	if (start(&input) < 0)
		return 0;
	for (unsigned int i = 0; i < STEPS_MAX && input.size && !failed; i++) {
		switch (input_u8(&input) % 5) {
		case 0:
			step_peer(&input);
			break;
		case 1:
			step_message(input_u16(&input), NULL);
			break;
		case 2:
			step_send(input_u32(&input));
			break;
		case 3:
			step_read(input_u16(&input));
			break;
		default:
			step_give();
		}
		check();
	}
	return 0;
}
