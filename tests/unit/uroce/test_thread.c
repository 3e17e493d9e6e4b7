/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The progress thread when the process has no descriptor left. */
#include <sys/socket.h>

#include "tests/unit/unit.h"

#include "providers/uroce/host/host.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	TURNED_AWAY = 4,
	LEAST_MS = 40,
};

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

/* Between two tries it sleeps; and when there is a descriptor again who waits is let in. */
static void test_no_descriptors(void **state)
{
	struct uroce_host *host;
	int conn;

	assert_int_equal(uroce_host_get(&host), 0);
	conn = shm_slot_connect(host->shm, host->paths.slot);
	assert_true(conn >= 0);
	while (atomic_load(&calls) <= TURNED_AWAY)
		usleep(1000);
	for (int i = 1; i < TURNED_AWAY; i++)
		assert_true(refused_at[i] - refused_at[i - 1] >= LEAST_MS * 1000000ull);
	close(conn);
	uroce_host_put(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
