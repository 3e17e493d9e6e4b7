/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A started program inherits no descriptor, from the moment on at which this process continues:
 * a socket's name is free as soon as this process has closed the socket. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "tests/unit/unit.h"

#include "providers/uroce/host/spawn.h"

enum {
	DESCRIPTORS = 3000, /* below the socket's: closing them takes a while */
	ROUNDS = 20,
};

static int bound(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "rdma-unit-spawn-%d", getpid());
	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&name, sizeof(name)))
		fail_msg("the name is not free: %s", strerror(errno));
	return fd;
}

static void test_nothing_is_held(void **state)
{
	static char name[] = "true";
	char *const arguments[] = { name, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	const int files[] = { null, null, null };

#ifdef SYS_close_range
	if (syscall(SYS_close_range, ~0u, ~0u, 0) && errno == ENOSYS)
		skip();
#endif
	for (int i = 0; i < DESCRIPTORS; i++)
		if (fcntl(null, F_DUPFD_CLOEXEC, 3) < 0)
			break;
	for (int i = 0; i < ROUNDS; i++) {
		fd = bound();
		assert_int_equal(uroce_spawn("/bin/true", arguments, files, 3), 0);
		close(fd);
	}
	close(bound());
}

static int more_descriptors(void **state)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_is_held, more_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
