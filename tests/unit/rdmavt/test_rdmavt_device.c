/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities of the kernel's driver that its user-space part does not serve. */
#include "providers/rdmavt/rdmavt.h"
#include "tests/unit/fake_kernel.h"

static void test_invalidation_is_not_advertised(void **state)
{
	const struct verbs_ops *ops = &rvt_ops;
	const uint32_t flags = IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_SHUTDOWN_PORT;
	const struct ib_uverbs_ex_query_device_resp resp = {
		.base.device_cap_flags = flags,
		.device_cap_flags_ex = flags,
	};
	const struct verbs_query_device in = {};
	struct ibv_device_attr_ex attr;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(ops->query_device(*state, &in, &attr), 0);
	assert_int_equal(attr.orig_attr.device_cap_flags, IBV_DEVICE_SHUTDOWN_PORT);
	assert_int_equal(attr.device_cap_flags_ex, IBV_DEVICE_SHUTDOWN_PORT);
	kernel.error = ENODEV;
	assert_int_equal(ops->query_device(*state, &in, &attr), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_invalidation_is_not_advertised, kernel_setup,
						fake_teardown),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
