/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring between two processes, both ends here: where records go, and by which way payloads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "providers/uroce/express.h"
#include "providers/uroce/shm_ring.h"

enum {
	SMALL = 64, /* bytes of data */
	LARGE = 4096,
	NEAR_NS = 500, /* what LARGE takes between neighbours, */
	FAR_NS = 2500, /* and from far away */
};

static struct {
	struct uroce_host host;
	struct uroce_shm shm;
	struct shm_board board;
	struct shm_peer peer;
	struct shm_ring *ring;
	uint32_t sent, taken; /* records, each filled with its number */
	uint64_t now, copy_ns;
} t;

uint64_t __wrap_uroce_now(void);
bool __wrap_uroce_express_receive(struct shm_peer *peer, const struct shm_record *record,
				  uint32_t length);

/* A clock that goes on when it is looked at, by what a copy takes. */
uint64_t __wrap_uroce_now(void)
{
	t.now += t.copy_ns;
	return t.now;
}

/* What was taken from the ring: nothing else was written over it. */
bool __wrap_uroce_express_receive(struct shm_peer *peer, const struct shm_record *record,
				  uint32_t length)
{
	uint32_t number;

	memcpy(&number, record->data, sizeof(number));
	assert_int_equal(number, t.taken);
	memcpy(&number, record->data + length - sizeof(number), sizeof(number));
	assert_int_equal(number, t.taken);
	t.taken++;
	return true;
}

static int setup(void **state)
{
	memset(&t, 0, sizeof(t));
	t.ring = aligned_alloc(SHM_LINE, sizeof(*t.ring));
	if (!t.ring)
		return -1;
	memset(t.ring, 0, sizeof(*t.ring));
	t.shm.host = &t.host;
	t.peer = (struct shm_peer){ .shm = &t.shm,
				    .board = &t.board,
				    .tx = t.ring,
				    .rx = t.ring,
				    .tx_open = SHM_OPEN,
				    .tx_span = SHM_RING_BYTES,
				    .tx_stamp = 7,
				    .rx_stamp = 7 };
	return 0;
}

static int teardown(void **state)
{
	free(t.ring);
	return 0;
}

static bool record_send(uint32_t length)
{
	struct shm_record *record = shm_record_begin(&t.peer, length);

	if (!record)
		return false;
	record->kind = SHM_PACKET;
	memcpy(record->data, &t.sent, sizeof(t.sent));
	memcpy(record->data + length - sizeof(t.sent), &t.sent, sizeof(t.sent));
	shm_record_commit(&t.peer, record, length);
	t.sent++;
	return true;
}

static void records_take(void)
{
	while (uroce_shm_poll_peer(&t.peer, 0))
		;
	assert_int_equal(t.taken, t.sent);
}

static uint32_t place(void)
{
	return t.peer.tx_head & SHM_RING_MASK;
}

/* The highest place that so many records of @length reached when the consumer keeps up. */
static uint32_t highest_place(uint32_t records, uint32_t length)
{
	uint32_t highest = 0;

	for (uint32_t i = 0; i < records; i++) {
		assert_true(record_send(length));
		highest = max_of(highest, place());
		records_take();
	}
	return highest;
}

static void test_small_laps(void **state)
{
	assert_in_range(highest_place(100000, SMALL), SHM_LAP, SHM_LAP + SHM_LAP_RECORD);
}

/*
 * Large ones come to use all of it, for lines that are no longer in the caches of either are
 * quicker to have; but not at once.
 */
static void test_large_no_laps(void **state)
{
	assert_in_range(highest_place(1000, LARGE), SHM_OPEN - LARGE, 2 * SHM_OPEN);
	assert_in_range(highest_place(50000, LARGE), SHM_RING_BYTES - 2 * LARGE, SHM_RING_BYTES);
}

/* A burst takes what it needs, without waiting. */
static void test_burst(void **state)
{
	for (uint32_t bytes = 0; bytes < SHM_RING_BYTES / 2; bytes += LARGE)
		assert_true(record_send(LARGE));
	records_take();
}

/* A consumer that has not kept up: the lap goes on. */
static void test_lap_not_consumed(void **state)
{
	for (uint32_t bytes = 0; bytes < 2 * SHM_LAP; bytes += SHM_LINE)
		assert_true(record_send(SMALL));
	assert_true(place() >= 2 * SHM_LAP);
	records_take();
}

/* Of the ring's part that is used no record leaves the end, and a full one takes no more. */
static void span_check(uint32_t span, uint32_t length)
{
	t.peer.tx_span = span;
	for (int lap = 0; lap < 5; lap++) {
		uint32_t before = t.sent;

		while (record_send(length))
			assert_true(place() <= span);
		assert_in_range((t.sent - before) * shm_record_lines(length) * SHM_LINE,
				span - 3 * shm_record_lines(length) * SHM_LINE, span);
		assert_false(record_send(length));
		/* room for some: not for long */
		for (int i = 0; i < 7; i++)
			assert_true(uroce_shm_poll_peer(&t.peer, 0));
		for (int i = 0; i < 5; i++)
			assert_true(record_send(length));
		records_take();
	}
}

static void test_whole(void **state)
{
	span_check(SHM_RING_BYTES, LARGE);
	span_check(SHM_RING_BYTES, 700);
}

static void test_part(void **state)
{
	span_check(SHM_SPAN, LARGE);
	span_check(SHM_SPAN, SHM_SEGMENT);
	span_check(SHM_SPAN, 600);
}

/* --- the way of a payload --- */

static uint32_t copies_past(uint32_t copies, uint32_t length)
{
	static uint8_t from[LARGE], to[LARGE];
	uint32_t past = 0;

	for (uint32_t i = 0; i < copies; i++) {
		past += t.peer.tx_past && t.peer.tx_blind;
		from[i % length]++;
		assert_int_equal(uroce_shm_record_copy(&t.peer, to, from, length), 0);
		assert_memory_equal(to, from, length);
	}
	return past;
}

static void test_neighbours(void **state)
{
	t.copy_ns = NEAR_NS;
	assert_int_equal(copies_past(1000, LARGE), 0);
	/* not for each copy is the clock looked at */
	assert_in_range(t.now, 2 * NEAR_NS, 1000 * NEAR_NS / 4);
}

static void test_far_away(void **state)
{
	t.copy_ns = FAR_NS;
	assert_in_range(copies_past(1000, LARGE), 950, 999);
	/* one of the two moved */
	t.copy_ns = NEAR_NS;
	assert_in_range(copies_past(1000, LARGE), 0, 200);
	assert_int_equal(copies_past(1000, LARGE), 0);
	t.copy_ns = FAR_NS;
	assert_in_range(copies_past(1000, LARGE), 900, 999);
}

/* What is short says nothing about the distance, and memory that is gone neither. */
static void test_says_nothing(void **state)
{
	static uint8_t from[LARGE];

	t.copy_ns = FAR_NS;
	assert_int_equal(copies_past(1000, 1000), 0);
	assert_int_equal(t.now, 0);
	assert_int_equal(uroce_shm_record_copy(&t.peer, NULL, from, LARGE), -EFAULT);
	assert_false(t.peer.tx_past);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_small_laps, setup, teardown),
	cmocka_unit_test_setup_teardown(test_large_no_laps, setup, teardown),
	cmocka_unit_test_setup_teardown(test_burst, setup, teardown),
	cmocka_unit_test_setup_teardown(test_lap_not_consumed, setup, teardown),
	cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
	cmocka_unit_test_setup_teardown(test_part, setup, teardown),
	cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
	cmocka_unit_test_setup_teardown(test_far_away, setup, teardown),
	cmocka_unit_test_setup_teardown(test_says_nothing, setup, teardown),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
