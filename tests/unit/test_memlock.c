/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locked memory is blamed only if the figures prove it. */
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "libibverbs/explain.h"
#include "tests/unit/fake_device.h"
#include "util/place.h"

static void test_parse(void **state)
{
	struct memlock_facts facts = {};

	memlock_parse("Name:\tVmPin: trick\nVmLck:\t     100 kB\nVmPin:\t    2048 kB\n"
		      "CapEff:\t0000000000004000\n",
		      &facts);
	assert_int_equal(facts.locked, 100 * 1024);
	assert_int_equal(facts.pinned, 2048 * 1024);
	assert_true(facts.ipc_lock);
	memlock_parse("Name:\tx\nCapEff:\tffffffffffffbfff\n", &facts);
	assert_int_equal(facts.pinned, 0);
	assert_false(facts.ipc_lock);
}

static void test_cause(void **state)
{
	struct memlock_facts facts = { .limit = 8192, .pinned = 4096 };

	assert_false(memlock_is_cause(&facts, 4096));
	assert_true(memlock_is_cause(&facts, 4097));
	assert_true(memlock_is_cause(&facts, UINT64_MAX));
	facts.limit = UINT64_MAX;
	assert_false(memlock_is_cause(&facts, UINT64_MAX));
	facts = (struct memlock_facts){ .limit = 0 };
	assert_true(memlock_is_cause(&facts, 0));
}

static void test_low(void **state)
{
	struct memlock_facts facts = { .limit = 65536 };

	assert_true(memlock_is_low(&facts, 65536));
	assert_false(memlock_is_low(&facts, 65535));
	facts.ipc_lock = true;
	assert_false(memlock_is_low(&facts, 65536));
}

/* Run @act twice in a child without privilege and with this limit. Return the log. */
static const char *unprivileged(rlim_t bytes, void (*act)(void))
{
	struct rlimit limit = { bytes, bytes };
	int status;
	pid_t pid;

	fake_log_take();
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || (!geteuid() && setuid(65534)))
			_exit(1);
		act();
		act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return fake_log_take();
}

static void register_a_page(void)
{
	struct text why = {};

	explain_memlock(&why, "ibv_reg_mr", 4096, -ENOMEM);
	log_err("failed%s", why.chars);
}

/* The figures do not explain the failure, because a device pins more than was requested. A low
 * limit does. */
static void test_low_is_named(void **state)
{
	const char *said = unprivileged(65536, register_a_page);

	assert_non_null(strstr(said, "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes; "));
	assert_non_null(strstr(said, "failed; RLIMIT_MEMLOCK is only 65536 bytes\n"));
	assert_string_equal(unprivileged(1 << 20, register_a_page), "failed\nfailed\n");
}

static bool container;

bool place_is_container(const char *root)
{
	return container;
}

/* The advice for containers needs proof of a container: the file may be a left-over of an image. */
static void test_place(void **state)
{
	container = true;
	assert_non_null(strstr(unprivileged(32768, memlock_warn_low), "start the container with"));
	container = false;
	assert_null(strstr(unprivileged(32768, memlock_warn_low), "container"));
}

/* A warning is logged once, before any failure, if the limit allows hardly any registration. */
static void test_warning(void **state)
{
	const char *said = unprivileged(32768, memlock_warn_low);

	assert_non_null(strstr(said,
			       "libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes. This will "
			       "severely limit memory registrations: "));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	assert_string_equal(unprivileged(32769, memlock_warn_low), "");
}

/* A process gets one notice, from the verb that fails first. Failures without this cause are
 * silent. */
static void test_notice(void **state)
{
	static char memory[65536];
	struct rlimit limit = { 4096, RLIM_INFINITY };
	struct ibv_pd *pd = fake_pd(*state);
	const char *log;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	fake_of(*state)->result[FAKE_REG_MR] = -EINVAL;
	assert_null(ibv_reg_mr(pd, memory, sizeof(memory), 0));
	assert_null(strstr(fake_log_take(), "RLIMIT_MEMLOCK"));
	fake_of(*state)->result[FAKE_REG_MR] = -ENOMEM;
	assert_null(ibv_reg_mr(pd, memory, 1, 0));
	assert_null(ibv_reg_mr(pd, memory, sizeof(memory), 0));
	assert_int_equal(errno, ENOMEM);
	assert_logged("libibverbs: Warning: RLIMIT_MEMLOCK is 4096 bytes; ");
	assert_null(ibv_reg_mr(pd, memory, sizeof(memory), 0));
	log = fake_log_take();
	assert_null(strstr(log, "Warning"));
	assert_non_null(strstr(log, "Cannot allocate memory; RLIMIT_MEMLOCK is 4096 bytes, of "
				    "which 0 are pinned"));
	ibv_dealloc_pd(pd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_cause),
		cmocka_unit_test(test_low),
		cmocka_unit_test(test_low_is_named),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_warning),
		cmocka_unit_test_setup_teardown(test_notice, fake_setup, fake_teardown),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
