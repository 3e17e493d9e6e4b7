/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The progress thread if the process has no free descriptor, and beside pollers of other
 * strands. */
#include <sys/socket.h>

#include "tests/unit/unit.h"

#include "providers/uroce/host/host.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	TURNED_AWAY = 4,
	LEAST_MS = 40,
	SEEN = 1000000, /* passes of a poller, which take some ticks of the thread */
};

#define PATIENCE 10000000000ull /* ns: it comes at once or never */

static atomic_uint calls;
static uint64_t refused_at[TURNED_AWAY];

int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	unsigned int i = atomic_load(&calls);

	if (i < TURNED_AWAY)
		refused_at[i] = uroce_now();
	atomic_store(&calls, i + 1);
	if (i >= TURNED_AWAY)
		return __real_accept4(fd, address, length, flags);
	errno = EMFILE;
	return -1;
}

/* The thread sleeps between two tries; as soon as a descriptor is free, the waiting peer is
 * accepted. */
static void test_no_descriptors(void **state)
{
	struct uroce_host *host;
	int conn;

	assert_int_equal(uroce_host_get(&host), 0);
	conn = shm_slot_connect(host->paths.slot);
	assert_true(conn >= 0);
	while (atomic_load(&calls) <= TURNED_AWAY)
		usleep(1000);
	for (int i = 1; i < TURNED_AWAY; i++)
		assert_true(refused_at[i] - refused_at[i - 1] >= LEAST_MS * 1000000ull);
	close(conn);
	uroce_host_put(host);
}

static atomic_bool flood;

unsigned int __real_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now);
unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now);
unsigned int __wrap_uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
				   uint64_t now)
{
	return __real_uroce_shm_poll(shm, strand, budget, now) + atomic_load(&flood);
}

/* A peer sends without end: connecting peers are accepted all the same, and the thread can be
 * stopped. */
static void test_flood(void **state)
{
	struct uroce_host *host;
	uint64_t end = uroce_now() + PATIENCE;
	unsigned int before;
	int conn;

	assert_int_equal(uroce_host_get(&host), 0);
	atomic_store(&flood, true);
	uroce_thread_wake(host);
	usleep(1000);
	before = atomic_load(&calls);
	conn = shm_slot_connect(host->paths.slot);
	assert_true(conn >= 0);
	while (atomic_load(&calls) == before && uroce_now() < end)
		usleep(1000);
	atomic_store(&flood, atomic_load(&calls) > before);
	close(conn);
	uroce_host_put(host);
	assert_true(atomic_load(&flood)); /* the test did not have to end it */
	atomic_store(&flood, false);
}

static unsigned int passes_of(struct uroce_host *host, unsigned int strand)
{
	struct uroce_lock *lock = path_strand_lock(&host->paths, strand);
	unsigned int passes;

	uroce_lock(lock);
	passes = host->engine.strands[strand].idle_passes;
	uroce_unlock(lock);
	return passes;
}

static void polled_for_long(struct uroce_host *host, unsigned int strand)
{
	for (int i = 0; i < SEEN; i++)
		uroce_thread_poller_seen(host, strand);
}

/* A poller of one strand is active and never runs another one: the thread runs it and goes on
 * watching. */
static void strand_deserted(struct uroce_host *host, unsigned int polled, unsigned int deserted)
{
	uint64_t end = uroce_now() + PATIENCE;
	unsigned int passes = 0;
	bool watches = false, visited = false;

	while (!visited) {
		assert_true(uroce_now() < end);
		if (!watches) {
			polled_for_long(host, polled);
			passes = passes_of(host, deserted);
		}
		visited = watches && passes_of(host, deserted) != passes;
		watches = uroce_thread_watches(host);
		visited &= watches;
		uroce_thread_poller_seen(host, polled);
	}
	uroce_thread_poller_leaves(host);
}

static void test_deserted(void **state)
{
	struct uroce_host *host;

	assert_int_equal(uroce_host_get(&host), 0);
	atomic_store(&host->strands_used, true);
	for (unsigned int polled = 0; polled < PATH_STRANDS; polled++)
		for (unsigned int other = 0; other < PATH_STRANDS; other++)
			if (other != polled)
				strand_deserted(host, polled, other);
	uroce_host_put(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptors),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_deserted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
