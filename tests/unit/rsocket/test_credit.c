/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The window: two ends that exchange credits as messages do, and a peer that sends wrong credits.
 */
#include <errno.h>

#include "librdmacm/rsocket/credit.h"
#include "tests/unit/unit.h"

#define SIZE  4096
#define QUEUE 16

struct end {
	struct rs_credit_out out;
	struct rs_credit_in in;
};

static void start(struct end *end)
{
	const struct rs_wire_data peer = {
		.credits = QUEUE,
		.list = { 1, 1, RS_WIRE_ENTRIES },
		.first = { 0, 7, SIZE / 2 },
	};

	*end = (struct end){ .in = { .size = SIZE, .queue = QUEUE } };
	rs_credit_start(&end->out, &end->in, &peer);
}

/* Pass the credits that @from grants to @to. */
static void grant(struct end *from, struct end *to)
{
	while (rs_credit_can_grant(&from->in) || rs_credit_is_due(&from->in)) {
		struct rs_target half = {};

		if (rs_credit_can_grant(&from->in)) {
			half.addr = rs_credit_grant(&from->in);
			half.key = 7;
			half.length = SIZE / 2;
		}
		rs_credit_limit(&to->out, rs_credit_tell(&from->in));
		assert_int_equal(rs_credit_granted(&to->out, &half), 0);
	}
}

/* A stream of many times the buffer: each byte follows the one before, in the ring. */
static void test_stream(void **state)
{
	struct end sender, receiver;
	uint64_t total = 0;

	start(&sender);
	start(&receiver);
	grant(&receiver, &sender);
	for (unsigned int i = 0; i < 200000; i++) {
		uint32_t room = rs_credit_room(&sender.out), length = 1 + i * 7 % 700;
		struct rs_target target;

		if (room) {
			length = length < room ? length : room;
			rs_credit_take(&sender.out, length, &target);
			assert_int_equal(target.addr, total % SIZE);
			assert_int_equal(rs_credit_arrived(&receiver.in, length), 0);
			total += length;
		}
		if (!room || i % 3 == 0)
			receiver.in.consumed += rs_credit_waiting(&receiver.in);
		grant(&receiver, &sender);
	}
	assert_true(total > 1000ull * SIZE);
}

/* After a few bytes at the start, each grant is filled by the same number of messages. */
static void test_no_crumbs(void **state)
{
	enum {
		MESSAGES = 4
	};
	struct rs_credit_out out = { .limit = 1000,
				     .target = { .length = MESSAGES * RS_MESSAGE_MAX } };
	struct rs_target target, more = { .length = MESSAGES * RS_MESSAGE_MAX };
	unsigned int messages = 0;

	rs_credit_take(&out, 16, &target);
	assert_int_equal(rs_credit_granted(&out, &more), 0);
	while (rs_credit_room(&out)) {
		assert_in_range(rs_credit_room(&out), RS_MESSAGE_MAX - 16, RS_MESSAGE_MAX);
		rs_credit_take(&out, rs_credit_room(&out), &target);
		messages++;
	}
	assert_int_equal(messages, 2 * MESSAGES);
}

/* A peer that does not read stops the sender at the size of the buffer or at the number of
 * messages. */
static void test_full(void **state)
{
	struct end sender, receiver;
	struct rs_target target;
	uint32_t sent = 0, room;

	start(&sender);
	start(&receiver);
	grant(&receiver, &sender);
	while ((room = rs_credit_room(&sender.out))) {
		rs_credit_take(&sender.out, room, &target);
		assert_int_equal(rs_credit_arrived(&receiver.in, room), 0);
		sent += room;
		grant(&receiver, &sender);
	}
	assert_int_equal(sent, SIZE);
	start(&sender);
	for (sent = 0; rs_credit_room(&sender.out); sent++)
		rs_credit_take(&sender.out, 1, &target);
	assert_int_equal(sent, QUEUE - RS_CONTROL_MAX); /* a receive is left for each control */
}

static void test_lies(void **state)
{
	const struct rs_target target = { 0, 7, 1 };
	struct end end;

	start(&end);
	assert_int_equal(rs_credit_arrived(&end.in, SIZE / 2 + 1), -EPROTO);
	assert_int_equal(rs_credit_arrived(&end.in, SIZE / 2), 0);
	assert_int_equal(rs_credit_arrived(&end.in, 1), -EPROTO);
	/* More memory than a list has. */
	assert_int_equal(rs_credit_granted(&end.out, &target), 0);
	assert_int_equal(rs_credit_granted(&end.out, &target), 0);
	assert_int_equal(rs_credit_granted(&end.out, &target), -EPROTO);
	/* A number behind the known one is outdated. */
	rs_credit_limit(&end.out, QUEUE - 1);
	assert_int_equal(end.out.limit, QUEUE);
	rs_credit_limit(&end.out, (uint16_t)-5);
	assert_int_equal(end.out.limit, QUEUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_no_crumbs),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
