/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets for other processes that wait when this process ends. The test decides which processes
 * exist and which connect. */
#include "providers/uroce/host/forward.h"
#include "tests/unit/uroce/fixture.h"

enum {
	SLOT = 5,
	LENGTH = 64,
	COUNT = 3,
	MS = 1000000,
	LONG = 10000, /* ms: much longer than any wait */
};

static unsigned int connects_after; /* number of tries before a hand-over succeeds; 0: never */
static unsigned int tries, handed, asked;
static bool there;
static uint64_t now_ns;
static struct shm_lane *lane; /* lane of a peer that sends its last message after this many ms: */
static unsigned int ready_after;

uint64_t __wrap_uroce_now(void);
uint64_t __wrap_uroce_now(void)
{
	return now_ns;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	now_ns += time->tv_nsec;
	assert_true(now_ns / MS < LONG);
	assert_int_equal(fx.host.paths.progress_lock.word, 0);
	if (lane && now_ns / MS >= ready_after)
		atomic_store(&lane->last.word, SHM_DONE);
	return 0;
}

int __wrap_uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
			     const void *packet, uint32_t length);
int __wrap_uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
			     const void *packet, uint32_t length)
{
	tries++;
	if (slot != SLOT || !connects_after || tries < connects_after)
		return -ENOENT;
	assert_int_equal(((const uint8_t *)packet)[0], handed);
	assert_int_equal(length, LENGTH);
	handed++;
	return 0;
}

bool __wrap_uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot);
bool __wrap_uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot)
{
	asked++;
	return there && slot == SLOT;
}

static void begin(unsigned int waiting, uint16_t slot)
{
	static const struct path_origin from = { .passed_on = 1 };
	uint8_t packet[LENGTH] = {};

	tries = handed = asked = connects_after = 0;
	there = true;
	now_ns = MS;
	assert_int_equal(uroce_forward_new(&fx.host.forward), 0);
	fx.shm.wake_fd = -1;
	for (; packet[0] < waiting; packet[0]++)
		uroce_forward(&fx.host, slot, &from, packet, LENGTH, now_ns);
	assert_int_equal(uroce_forward_waiting(&fx.host), waiting > 0);
	tries = 0;
}

/* Run until all is handed over; return the milliseconds it took. */
static unsigned int finish(void)
{
	uint64_t begun = now_ns;

	uroce_unlock(&fx.host.paths.progress_lock);
	uroce_forward_finish(&fx.host);
	uroce_lock(&fx.host.paths.progress_lock);
	return (now_ns - begun) / MS;
}

static void end(void)
{
	uroce_forward_free(fx.host.forward);
	fx.host.forward = NULL;
}

static void test_nothing(void **state)
{
	begin(0, SLOT);
	assert_int_equal(finish(), 0);
	assert_int_equal(asked, 0);
	end();
}

/* Packets are handed over in order, as soon as the process has connected. */
static void test_connects(void **state)
{
	begin(COUNT, SLOT);
	connects_after = 20 * COUNT + 1;
	assert_int_equal(finish(), 20);
	assert_int_equal(handed, COUNT);
	assert_true(asked < 20);
	end();
}

/* A process that has gone is looked for once and not waited for. */
static void test_dead(void **state)
{
	begin(COUNT, SLOT);
	there = false;
	assert_int_equal(finish(), 0);
	assert_int_equal(asked, 1);
	assert_false(uroce_forward_waiting(&fx.host));
	end();
}

/* A stopped process delays the end only briefly, with any number of packets for it. */
static void test_silent(void **state)
{
	unsigned int took;

	begin(COUNT, SLOT);
	took = finish();
	assert_true(took > 100 && took < 1000);
	assert_int_equal(handed, 0);
	assert_false(uroce_forward_waiting(&fx.host));
	end();
}

static void run_at(uint64_t ms)
{
	uroce_forward_run(&fx.host, ms * MS);
}

/* A slow process loses no packet. A process that has gone is given up. */
static void test_slow(void **state)
{
	begin(1, SLOT);
	for (uint64_t ms = 1; ms < 20000; ms += 500)
		run_at(ms);
	assert_true(uroce_forward_waiting(&fx.host));
	connects_after = tries + 1;
	run_at(20500);
	assert_int_equal(handed, 1);
	assert_false(uroce_forward_waiting(&fx.host));
	end();

	begin(1, SLOT);
	there = false;
	run_at(900);
	assert_true(uroce_forward_waiting(&fx.host));
	run_at(1100);
	assert_false(uroce_forward_waiting(&fx.host));
	end();
}

static struct shm_peer *peer_new(void)
{
	struct shm_peer *peer = uroce_zeros(sizeof(*peer), alignof(struct shm_peer));

	lane = peer->lane = uroce_zeros(sizeof(*lane), alignof(struct shm_lane));
	peer->shm = &fx.shm;
	peer->slot = SLOT;
	LIST_INSERT_HEAD(&fx.shm.peers, peer, entry);
	atomic_store(&fx.shm.by_slot[SLOT], peer);
	return peer;
}

static void peer_free(struct shm_peer *peer)
{
	LIST_REMOVE(peer, entry);
	atomic_store(&fx.shm.by_slot[SLOT], NULL);
	free(lane);
	lane = NULL;
	free(peer);
}

/* A process without a connection to this process would never read a packet passed to it. */
static void test_becoming(void **state)
{
	struct shm_peer *peer = peer_new();

	begin(0, SLOT);
	ready_after = 11;
	assert_int_equal(finish(), 0); /* no packet was handed to the peer yet */
	peer->handed = true;
	assert_int_equal(finish(), 10);
	peer->ready = false;
	ready_after = LONG;
	atomic_store(&lane->last.word, 0);
	assert_true(finish() < 1000);
	peer->dead = true;
	assert_int_equal(finish(), 0);
	end();
	peer_free(peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),	 cmocka_unit_test(test_connects),
		cmocka_unit_test(test_dead),	 cmocka_unit_test(test_silent),
		cmocka_unit_test(test_becoming), cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
