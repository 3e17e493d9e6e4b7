/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring between two processes, with both ends here: places of records, and ways to copy
 * payloads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/path/shm/shm.h"

enum {
	SMALL = 64, /* bytes of data */
	LARGE = 4096,
	NEAR_NS = 100,	/* duration of a copy of LARGE bytes between neighbours, */
	FAR_NS = 600,	/* from a distant processor, */
	OWN_NS = 50,	/* and in the processor's own memory */
	CLOCK_NS = 900, /* it may be a system call */
};

static struct {
	struct path_host host;
	struct uroce_shm shm;
	struct shm_board board;
	struct shm_peer peer;
	struct shm_ring ring;
	uint8_t *data;
	uint32_t sent, taken; /* records, each filled with its number */
	uint64_t now, copy_ns, own_ns;
	const void *copied_to; /* payload source that counts as local, not in the ring */
	uint32_t looks, past;
	bool ring_gone;
	int gone; /* peers that were dropped */
} t;

uint64_t __wrap_uroce_now(void);
int __real_uroce_copy(void *dst, const void *src, size_t length);
int __wrap_uroce_copy(void *dst, const void *src, size_t length);
int __real_uroce_copy_past(void *dst, const void *src, size_t length);
int __wrap_uroce_copy_past(void *dst, const void *src, size_t length);

/* Return a time that advances with each call and with each copy. */
uint64_t __wrap_uroce_now(void)
{
	t.looks++;
	t.now += CLOCK_NS;
	return t.now;
}

int __wrap_uroce_copy(void *dst, const void *src, size_t length)
{
	bool ring = (uint8_t *)dst >= t.data && (uint8_t *)dst < t.data + SHM_RING_BYTES;

	/* a payload always comes from far away, which says nothing about the ring */
	t.now += (ring ? t.copy_ns : src == t.copied_to ? t.own_ns : FAR_NS) * length / LARGE;
	if (!ring)
		t.copied_to = dst;
	if (ring && t.ring_gone)
		return -EFAULT;
	return __real_uroce_copy(dst, src, length);
}

int __wrap_uroce_copy_past(void *dst, const void *src, size_t length)
{
	t.past++;
	return __real_uroce_copy_past(dst, src, length);
}

/* A record was taken from the ring: check that no other record overwrote it. */
static bool taken(struct path_host *host, const void *peer, unsigned int strand,
		  const uint8_t *data, uint32_t length, uint32_t ack)
{
	uint32_t number;

	memcpy(&number, data, sizeof(number));
	assert_int_equal(number, t.taken);
	memcpy(&number, data + length - sizeof(number), sizeof(number));
	assert_int_equal(number, t.taken);
	t.taken++;
	return true;
}

static const struct path_events events = { .peer_bytes = taken };

static int setup(void **state)
{
	memset(&t, 0, sizeof(t));
	t.own_ns = OWN_NS;
	t.data = aligned_alloc(SHM_LINE, SHM_RING_BYTES);
	if (!t.data)
		return -1;
	memset(t.data, 0, SHM_RING_BYTES);
	t.host.events = &events;
	t.shm.host = &t.host;
	t.peer = (struct shm_peer){ .shm = &t.shm,
				    .first_page = &t.board.first_page,
				    .ring_bytes = SHM_RING_BYTES,
				    .link.peer = &t.peer,
				    .link.wide_bytes = SHM_RING_BYTES,
				    .link.tx_bytes = SHM_RING_BYTES,
				    .link.tx_room = SHM_RING_BYTES,
				    .link.rx_bytes = SHM_RING_BYTES,
				    .link.tx = &t.ring,
				    .link.tx_data = t.data,
				    .link.rx = &t.ring,
				    .link.rx_data = t.data,
				    .link.tx_open = SHM_OPEN,
				    .link.tx_span = SHM_RING_BYTES,
				    .link.tx_stamp = 7,
				    .link.rx_stamp = 7 };
	return 0;
}

static int teardown(void **state)
{
	free(t.data);
	return 0;
}

static bool record_send(uint32_t length)
{
	struct shm_record *record = shm_record_begin(&t.peer.link, length);

	if (!record)
		return false;
	record->kind = SHM_PACKET;
	memcpy(record->data, &t.sent, sizeof(t.sent));
	memcpy(record->data + length - sizeof(t.sent), &t.sent, sizeof(t.sent));
	shm_record_commit(&t.peer.link, record, length);
	t.sent++;
	return true;
}

static void records_take(void)
{
	while (uroce_shm_poll_link(&t.peer.link, 0))
		;
	assert_int_equal(t.taken, t.sent);
}

static uint32_t place(void)
{
	return shm_ring_place(t.peer.link.tx_bytes, t.peer.link.tx_head);
}

static uint32_t unread(uint32_t *mark, bool anew)
{
	const struct uroce_av av = { .peer = &t.peer };

	return uroce_shm_ops.unread(&t.shm.path, &av, 0, mark, anew);
}

/* Records behind the mark do not count. The peer has read all bytes before an old mark. */
static void test_unread(void **state)
{
	uint32_t line = shm_record_lines(SMALL) * SHM_LINE, mark = 0;

	assert_int_equal(unread(&mark, true), 0);
	assert_true(record_send(SMALL) && record_send(SMALL));
	assert_int_equal(unread(&mark, true), 2 * line);
	assert_true(record_send(SMALL));
	assert_int_equal(unread(&mark, false), 2 * line);
	assert_true(uroce_shm_poll_link(&t.peer.link, 0));
	assert_int_equal(unread(&mark, false), line);
	records_take();
	assert_int_equal(unread(&mark, false), 0);
	assert_true(record_send(SMALL));
	assert_int_equal(unread(&mark, false), 0);
	t.peer.dead = true;
	assert_int_equal(unread(&mark, true), 0);
}

/* Return the highest place that so many records of @length reached if the consumer keeps up. */
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
	assert_in_range(highest_place(100000, SMALL), SHM_WRAP, SHM_WRAP + SHM_WRAP_RECORD);
}

/* Long records come to use the whole ring, because lines outside of both caches are quicker to
 * write; but not at once. */
static void test_large_no_laps(void **state)
{
	assert_in_range(highest_place(1000, LARGE), SHM_OPEN - LARGE, 2 * SHM_OPEN);
	assert_in_range(highest_place(50000, LARGE), SHM_RING_BYTES - 2 * LARGE, SHM_RING_BYTES);
}

/* Short records use a part of the ring again after a stream of long records of any length. */
static void test_laps_again(void **state)
{
	t.peer.link.tx_wrap = t.peer.link.tx_head - (1u << 31) - 1;
	assert_in_range(highest_place(100000, SMALL), SHM_WRAP, SHM_WRAP + SHM_WRAP_RECORD);
}

static uint32_t burst(uint32_t length)
{
	uint32_t bytes = 0;

	while (record_send(length))
		bytes += shm_record_lines(length) * SHM_LINE;
	records_take();
	return bytes;
}

/* The first bursts get most of the part of the ring in use, and later ones half a MiB. */
static void test_bursts(void **state)
{
	assert_int_equal(highest_place(1, LARGE), shm_record_lines(LARGE) * SHM_LINE);
	assert_true(burst(LARGE) >= SHM_OPEN - 2 * LARGE);
	for (int i = 0; i < 5; i++)
		burst(LARGE);
	assert_in_range(burst(LARGE), SHM_SPAN - 3 * LARGE, SHM_SPAN + SHM_SPAN / 8);
}

/* Bursts that begin in the middle get it too, and wrap around to their own beginning. */
static void test_bursts_over_the_end(void **state)
{
	for (int i = 0; i < 5; i++) {
		while (place() < t.peer.link.tx_open / 4 * 3 ||
		       place() > t.peer.link.tx_open - LARGE)
			highest_place(1, LARGE);
		burst(LARGE);
	}
	assert_in_range(burst(LARGE), SHM_SPAN - 3 * LARGE, SHM_SPAN + SHM_SPAN / 8);
}

/* The consumer is still in the round before: no record overwrites it, and more memory would not
 * help. */
static void test_behind(void **state)
{
	uint32_t open;

	while (place() <= t.peer.link.tx_open - shm_record_lines(LARGE) * SHM_LINE)
		highest_place(1, LARGE);
	while (record_send(LARGE))
		;
	while (record_send(700))
		;
	open = t.peer.link.tx_open;
	assert_false(record_send(SHM_SEGMENT));
	assert_int_equal(t.peer.link.tx_open, open);
	records_take();
}

/* Growth may not be enough. */
static void test_span_almost_open(void **state)
{
	t.peer.link.tx_span = SHM_SPAN;
	t.peer.link.tx_open = SHM_SPAN - SHM_LINE;
	while (record_send(LARGE))
		assert_true(place() <= SHM_SPAN);
	assert_int_equal(t.peer.link.tx_open, SHM_SPAN);
	records_take();
}

/* A short record before a wrap does not leave a ring without room. */
static void test_lap_end_leaves_room(void **state)
{
	for (uint32_t i = 0; i < 1000; i++) {
		for (uint32_t j = 0; j < i % 40; j++) {
			assert_true(record_send(LARGE));
			records_take();
		}
		assert_true(record_send(SMALL));
		assert_true(record_send(LARGE));
		records_take();
	}
}

static uint64_t random_next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* In every order of sending and taking, all records arrive in order, and an empty ring has room. */
static void any_run(uint64_t seed, unsigned int pace)
{
	uint64_t random = seed * 88172645463325252;

	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t r = random_next(&random);

		if (!record_send(BTH_LEN + 1 + (r >> 8) % (r & 1 ? 600 : 8180))) {
			assert_true(t.sent != t.taken);
			uroce_shm_poll_link(&t.peer.link, 0);
		}
		/* the consumer keeps up at times, and falls behind at others */
		for (uint32_t n = i / pace % 2 ? 2 : (r >> 32) % 4 / 3; n; n--)
			uroce_shm_poll_link(&t.peer.link, 0);
	}
	records_take();
}

static void any_check(void **state, uint32_t span)
{
	for (uint64_t seed = 1; seed <= 500; seed++) {
		teardown(state);
		setup(state);
		t.peer.link.tx_span = span;
		any_run(seed, 1 + seed % 50);
	}
}

static void test_any(void **state)
{
	any_check(state, SHM_RING_BYTES);
}

static void test_any_part(void **state)
{
	any_check(state, SHM_SPAN);
}

/* The ring does not wrap if the consumer has not kept up. */
static void test_lap_not_consumed(void **state)
{
	for (uint32_t bytes = 0; bytes < 2 * SHM_WRAP; bytes += SHM_LINE)
		assert_true(record_send(SMALL));
	assert_true(place() >= 2 * SHM_WRAP);
	records_take();
}

/* No record crosses the end of the part in use, and a full part takes no record. */
static void span_check(uint32_t span, uint32_t length)
{
	t.peer.link.tx_open = t.peer.link.tx_span = span;
	for (int wrap = 0; wrap < 5; wrap++) {
		uint32_t before = t.sent;

		while (record_send(length))
			assert_true(place() <= span);
		assert_in_range((t.sent - before) * shm_record_lines(length) * SHM_LINE,
				span - 3 * shm_record_lines(length) * SHM_LINE, span);
		assert_false(record_send(length));
		/* room for some records, but not for long */
		for (int i = 0; i < 7; i++)
			assert_true(uroce_shm_poll_link(&t.peer.link, 0));
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

/* Copy and return how many of the copies went past the caches. */
static uint32_t copies_past(uint32_t copies, uint32_t length)
{
	static uint8_t from[LARGE];
	uint8_t *to = t.data + SHM_LINE;
	uint32_t before = t.past;

	for (uint32_t i = 0; i < copies; i++) {
		from[i % length]++;
		assert_int_equal(uroce_shm_record_copy(&t.peer.link, to, from, length), 0);
		assert_memory_equal(to, from, length);
	}
	return t.past - before;
}

static void test_neighbours(void **state)
{
	t.peer.link.tx_known = SHM_OPEN;
	t.copy_ns = NEAR_NS;
	assert_int_equal(copies_past(1000, LARGE), 0);
	/* the clock is not read for each copy */
	assert_in_range(t.looks, 6 * 50, 6 * 70);
}

static void test_far_away(void **state)
{
	t.peer.link.tx_known = SHM_OPEN;
	t.copy_ns = FAR_NS;
	assert_in_range(copies_past(1000, LARGE), 950, 999);
	/* one of the two sides moved to another processor */
	t.copy_ns = NEAR_NS;
	assert_in_range(copies_past(1000, LARGE), 0, 200);
	assert_int_equal(copies_past(1000, LARGE), 0);
	t.copy_ns = FAR_NS;
	assert_in_range(copies_past(1000, LARGE), 900, 999);
}

/* A copy takes long, but so does a local copy: the processor is slow or emulated. */
static void test_slow_processor(void **state)
{
	t.peer.link.tx_known = SHM_OPEN;
	t.copy_ns = FAR_NS;
	t.own_ns = FAR_NS / 2;
	assert_int_equal(copies_past(1000, LARGE), 0);
}

/* One copy took long, as if the thread had lost its processor. */
static void test_far_once(void **state)
{
	t.peer.link.tx_known = SHM_OPEN;
	t.copy_ns = FAR_NS;
	assert_int_equal(copies_past(1, LARGE), 0);
	t.copy_ns = NEAR_NS;
	assert_int_equal(copies_past(100, LARGE), 0);
}

/* Short records, unmapped payloads and new memory do not count as measurements of the distance. */
static void test_says_nothing(void **state)
{
	static uint8_t from[LARGE];

	uroce_copy_init(); /* the test runner has replaced the handlers */
	t.copy_ns = FAR_NS;
	assert_int_equal(copies_past(1000, LARGE), 0);
	t.peer.link.tx_known = SHM_LINE + LARGE - 1;
	assert_int_equal(copies_past(1000, LARGE), 0);
	t.peer.link.tx_known = SHM_OPEN;
	assert_int_equal(copies_past(1000, 2000), 0);
	assert_int_equal(t.looks, 0);
	assert_in_range(copies_past(1000, LARGE), 950, 999);
	t.peer.link.tx_blind = 0;
	assert_int_equal(uroce_shm_record_copy(&t.peer.link, t.data, NULL, LARGE), -EFAULT);
	assert_true(t.peer.link.tx_past);
	assert_int_equal(uroce_shm_record_copy(&t.peer.link, t.data, from, LARGE), 0);
}

/* The system cannot provide a page of the ring: no record is written to it. */
static void test_ring_gone(void **state)
{
	static uint8_t from[LARGE];

	t.peer.link.tx_known = SHM_OPEN;
	t.ring_gone = true;
	assert_int_equal(uroce_shm_record_copy(&t.peer.link, t.data, from, LARGE), -EFAULT);
	t.peer.link.tx_blind = 1;
	assert_int_equal(uroce_shm_record_copy(&t.peer.link, t.data, from, LARGE), -EFAULT);
}

/* --- streams --- */

/* Make a pass of a poller or of the thread. The test is both sides of the link: a record it sent
 * itself counts as an answer only if @answered. Return the number of records. */
static unsigned int pass(bool poller, bool answered)
{
	if (!answered)
		t.peer.link.rx_answered = t.peer.link.tx_stamp;
	return uroce_shm_poll(&t.shm, 0, 100, poller ? 0 : t.now);
}

/* Return how often of 100 times, each @gap ns after the one before, a poller finds both of two
 * records. */
static unsigned int found_at_once(uint32_t length, bool answered, uint64_t gap)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < 100; i++) {
		assert_true(record_send(length));
		assert_true(record_send(length));
		t.now += gap;
		pass(true, answered);
		found += t.taken == t.sent;
		if (gap) /* it is slow: there is nothing to wait for */
			assert_int_equal(t.peer.link.rx_rest, 0);
	}
	pass(false, answered);
	assert_int_equal(t.taken, t.sent);
	return found;
}

/* Send until a poller leaves the stream alone, then once more. */
static void stream_until_rest(void)
{
	for (int i = 0; i < 1000 && !t.peer.link.rx_rest; i++) {
		assert_true(record_send(LARGE));
		assert_true(record_send(LARGE));
		pass(true, false);
	}
	assert_int_not_equal(t.peer.link.rx_rest, 0);
	assert_int_equal(t.taken, t.sent);
	assert_true(record_send(LARGE));
}

static int setup_stream(void **state)
{
	int r = setup(state);

	LIST_INSERT_HEAD(&t.shm.links[0], &t.peer.link, entry);
	return r;
}

/* A poller reads a stream of long records only now and then, and everything else always. */
static void test_stream_rests(void **state)
{
	assert_int_equal(found_at_once(SMALL, false, 0), 100);
	assert_int_equal(found_at_once(LARGE, true, 0), 100);
	assert_int_equal(found_at_once(LARGE, false, 10000), 100);
	assert_in_range(found_at_once(LARGE, false, 0), 1, 99);
	/* The first answers end the rest. */
	found_at_once(LARGE, true, 0);
	assert_int_equal(found_at_once(LARGE, true, 0), 100);
}

/* The rest is short, and a thread that may go to sleep reads the stream. */
static void test_stream_wakes(void **state)
{
	stream_until_rest();
	pass(true, false);
	assert_int_equal(t.sent - t.taken, 1);
	pass(true, false);
	assert_int_equal(t.sent - t.taken, 0);
	stream_until_rest();
	pass(false, false);
	assert_int_equal(t.sent - t.taken, 0);
}

/* --- the first rings --- */

static size_t mapped; /* of the lane, at first */

static void gone(struct path_host *host, struct uroce_path *path, const void *peer, uint16_t slot)
{
	t.gone++;
}

/* A lane of which only the first page is mapped and the rest can follow, seen from both sides. */
static int first_begin(uint32_t ring_bytes)
{
	static const struct path_events both = { .peer_bytes = taken, .peer_gone = gone };
	size_t size = shm_lane_size(ring_bytes);
	int fd;

	memset(&t, 0, sizeof(t));
	mapped = uroce_maps_again() ? SHM_PAGE : size;
	fd = memfd_create("lane", 0);
	if (fd < 0 || ftruncate(fd, size))
		return -1;
	t.host.events = &both;
	t.shm.host = &t.host;
	uroce_lock(&t.host.progress_lock);
	t.peer = (struct shm_peer){ .shm = &t.shm,
				    .first_page = &t.board.first_page,
				    .ring_bytes = ring_bytes,
				    .link.tx_span = ring_bytes };
	t.peer.lane = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (t.peer.lane == MAP_FAILED)
		return -1;
	if (mapped == size)
		t.peer.wide = t.peer.lane;
	t.peer.lane->ring[1].seed = 7;
	uroce_shm_rings_begin(&t.peer, 1, 1);
	return 0;
}

static int setup_first(void **state)
{
	return first_begin(SHM_SPAN);
}

/* The lane belongs to one of few peers. */
static int setup_first_of_few(void **state)
{
	return first_begin(SHM_RING_BYTES);
}

static int teardown_first(void **state)
{
	if (t.peer.wide && t.peer.wide != t.peer.lane)
		munmap(t.peer.wide, shm_lane_size(t.peer.ring_bytes));
	return munmap(t.peer.lane, mapped);
}

static void test_first_suffices(void **state)
{
	for (int i = 0; i < 1000; i++) {
		assert_true(record_send(SMALL));
		records_take();
	}
	assert_int_equal(t.peer.link.tx_bytes, SHM_FIRST);
	assert_true(!t.peer.wide || t.peer.wide == t.peer.lane);
}

/* One of few peers that gets much traffic has the wide ring, whatever it has not read yet. */
static void test_first_of_few(void **state)
{
	for (uint32_t unread = 0; unread < SHM_FIRST / 2 / SHM_LINE - 1; unread++) {
		assert_int_equal(setup_first_of_few(state), 0);
		for (int i = 0; i < 300; i++) {
			assert_true(record_send(SMALL));
			if (t.sent - t.taken > unread)
				assert_true(uroce_shm_poll_link(&t.peer.link, 0));
		}
		assert_int_equal(t.peer.link.tx_bytes, SHM_FIRST);
		for (int i = 0; i < 700; i++) {
			assert_true(record_send(SMALL));
			if (t.sent - t.taken > unread)
				uroce_shm_poll_link(&t.peer.link, 0);
		}
		assert_int_equal(t.peer.link.tx_bytes, SHM_RING_BYTES);
		records_take();
		assert_int_equal(t.peer.link.rx_bytes, SHM_RING_BYTES);
		highest_place(1000, SMALL);
		assert_in_range(highest_place(10000, SMALL), SHM_WRAP, SHM_WRAP + SHM_WRAP_RECORD);
		assert_int_equal(teardown_first(state), 0);
	}
	assert_int_equal(setup_first(state), 0);
}

/* Records that the consumer has not read stay in the first ring. */
static void test_first_burst(void **state)
{
	for (int i = 0; i < 100; i++)
		assert_true(record_send(SMALL));
	assert_non_null(t.peer.wide);
	assert_int_equal(t.peer.link.rx_bytes, SHM_FIRST);
	records_take();
	assert_int_equal(t.peer.link.rx_bytes, SHM_SPAN);
	for (int i = 0; i < 1000; i++) {
		assert_true(record_send(i % 2 ? SMALL : LARGE));
		records_take();
	}
}

/* The first ring may end at any place. */
static void test_first_any(void **state)
{
	for (uint32_t before = 0; before < 3 * SHM_FIRST / SHM_LINE; before++) {
		for (uint32_t unread = 0; unread <= SHM_FIRST / SHM_LINE; unread++) {
			assert_int_equal(setup_first(state), 0);
			for (uint32_t i = 0; i < before; i++) {
				assert_true(record_send(SMALL));
				records_take();
			}
			for (uint32_t i = 0; i < unread; i++)
				assert_true(record_send(SMALL));
			assert_true(record_send(LARGE));
			assert_int_equal(t.peer.link.tx_bytes, SHM_SPAN);
			records_take();
			assert_int_equal(teardown_first(state), 0);
		}
	}
	assert_int_equal(setup_first(state), 0);
}

/* The switch to a wide ring happens only once. */
static void test_first_lie(void **state)
{
	struct shm_record *record;

	assert_true(record_send(LARGE));
	records_take();
	record = shm_record_tx(&t.peer.link);
	record->kind = SHM_MOVE;
	shm_record_stamp(&t.peer.link, record);
	assert_false(uroce_shm_poll_link(&t.peer.link, 0));
	assert_int_equal(t.gone, 1);
	assert_true(uroce_shm_peer_dead(&t.peer));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_first_suffices, setup_first, teardown_first),
	cmocka_unit_test_setup_teardown(test_first_of_few, setup_first, teardown_first),
	cmocka_unit_test_setup_teardown(test_first_burst, setup_first, teardown_first),
	cmocka_unit_test_setup_teardown(test_first_any, setup_first, teardown_first),
	cmocka_unit_test_setup_teardown(test_first_lie, setup_first, teardown_first),
	cmocka_unit_test_setup_teardown(test_stream_rests, setup_stream, teardown),
	cmocka_unit_test_setup_teardown(test_stream_wakes, setup_stream, teardown),
	cmocka_unit_test_setup_teardown(test_small_laps, setup, teardown),
	cmocka_unit_test_setup_teardown(test_large_no_laps, setup, teardown),
	cmocka_unit_test_setup_teardown(test_laps_again, setup, teardown),
	cmocka_unit_test_setup_teardown(test_bursts, setup, teardown),
	cmocka_unit_test_setup_teardown(test_bursts_over_the_end, setup, teardown),
	cmocka_unit_test_setup_teardown(test_behind, setup, teardown),
	cmocka_unit_test_setup_teardown(test_span_almost_open, setup, teardown),
	cmocka_unit_test_setup_teardown(test_lap_end_leaves_room, setup, teardown),
	cmocka_unit_test_setup_teardown(test_unread, setup, teardown),
	cmocka_unit_test_setup_teardown(test_any, setup, teardown),
	cmocka_unit_test_setup_teardown(test_any_part, setup, teardown),
	cmocka_unit_test_setup_teardown(test_lap_not_consumed, setup, teardown),
	cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
	cmocka_unit_test_setup_teardown(test_part, setup, teardown),
	cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
	cmocka_unit_test_setup_teardown(test_far_away, setup, teardown),
	cmocka_unit_test_setup_teardown(test_slow_processor, setup, teardown),
	cmocka_unit_test_setup_teardown(test_far_once, setup, teardown),
	cmocka_unit_test_setup_teardown(test_says_nothing, setup, teardown),
	cmocka_unit_test_setup_teardown(test_ring_gone, setup, teardown),
};

int main(void)
{
	uroce_copy_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
