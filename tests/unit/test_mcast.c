/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>

#include "tests/unit/fake.h"

static struct {
	const struct verbs_qp *qp;
	union ibv_gid gid;
	uint16_t lid;
	int calls;
	int result;
} seen;

static int fake_attach(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	seen.qp = qp;
	seen.gid = *gid;
	seen.lid = lid;
	seen.calls++;
	return seen.result;
}

static const struct verbs_ops ops = { .open_context = fake_open, .attach_mcast = fake_attach };
static const struct verbs_provider provider = { .name = "fake", .ops = &ops };
static struct verbs_qp qp = { .qp = { .qp_num = 0x17, .qp_type = IBV_QPT_UD } };

static union ibv_gid gid(const char *text)
{
	union ibv_gid g;

	assert_int_equal(inet_pton(AF_INET6, text, &g), 1);
	return g;
}

/* Attach, and check the errno and the words in the log. */
static void assert_refused(const char *group, int error, const char *words)
{
	union ibv_gid g = gid(group);
	struct capture capture;
	char *said;
	int r;

	capture_begin(&capture);
	r = ibv_attach_mcast(&qp.qp, &g, 0);
	said = capture_end(&capture);
	assert_int_equal(r, error);
	assert_contains(said, "fake0 qp 0x17: ibv_attach_mcast: ");
	assert_contains(said, words);
	free(said);
}

static void test_attach(void **state)
{
	const char *const groups[] = { "ff12::1", "::ffff:224.0.0.1", "::ffff:239.255.255.255" };

	for (int i = 0; i < ARRAY_SIZE(groups); i++) {
		union ibv_gid g = gid(groups[i]);

		assert_int_equal(ibv_attach_mcast(&qp.qp, &g, 0xc001), 0);
		assert_ptr_equal(seen.qp, &qp);
		assert_memory_equal(&seen.gid, &g, sizeof(g));
		assert_int_equal(seen.lid, 0xc001);
	}
	assert_int_equal(seen.calls, ARRAY_SIZE(groups));
}

static void test_not_a_group(void **state)
{
	assert_refused("fe80::1", EINVAL, "fe80::1 is not a multicast GID");
	assert_refused("::ffff:223.255.255.255", EINVAL, "is not a multicast GID");
	assert_refused("::ffff:240.0.0.0", EINVAL, "is not a multicast GID");
	assert_int_equal(seen.calls, 0);
}

static void test_not_ud(void **state)
{
	qp.qp.qp_type = IBV_QPT_RC;
	assert_refused("ff12::1", EINVAL, "only a UD QP");
	assert_int_equal(seen.calls, 0);
}

static void test_explained(void **state)
{
	seen.result = -ENOMEM;
	assert_refused("ff12::1", ENOMEM,
		       "group ff12::1 lid 0x0: Cannot allocate memory (no more "
		       "groups or members");
	assert_int_equal(seen.calls, 1);
}

static void test_unsupported(void **state)
{
	union ibv_gid g = gid("ff12::1");

	assert_int_equal(ibv_detach_mcast(&qp.qp, &g, 0), EOPNOTSUPP);
}

static int set_up(void **state)
{
	qp.qp.context = fake_context(&provider);
	return 0;
}

static int tear_down(void **state)
{
	return ibv_close_device(qp.qp.context);
}

static int reset(void **state)
{
	seen.calls = 0;
	seen.result = 0;
	qp.qp.qp_type = IBV_QPT_UD;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_attach, reset),
		cmocka_unit_test_setup(test_not_a_group, reset),
		cmocka_unit_test_setup(test_not_ud, reset),
		cmocka_unit_test_setup(test_explained, reset),
		cmocka_unit_test_setup(test_unsupported, reset),
	};

	setenv("VERBS_LOG_LEVEL", "1", 1);
	unsetenv("VERBS_LOG_FILE");
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
