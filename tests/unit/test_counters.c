/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of flows. */
#include "tests/unit/fake_device.h"

static int result;

/* Arguments of the operations. */
static struct {
	const struct ibv_counter_attach_attr *attr;
	const struct ibv_flow *flow;
	const struct verbs_counters *counters;
	uint32_t count, flags;
} seen;

static int create(struct verbs_counters *counters, const struct verbs_create_counters *in)
{
	counters->handle = 5;
	return result;
}

static int destroy(struct verbs_counters *counters)
{
	return result;
}

static int attach(struct verbs_counters *counters, const struct ibv_counter_attach_attr *attr,
		  struct ibv_flow *flow)
{
	seen.counters = counters;
	seen.attr = attr;
	seen.flow = flow;
	return result;
}

static int read_values(struct verbs_counters *counters, uint64_t *values, uint32_t count,
		       uint32_t flags)
{
	seen.count = count;
	seen.flags = flags;
	for (uint32_t i = 0; i < count; i++)
		values[i] = 42 + i;
	return result;
}

static void test_counters(void **state)
{
	struct verbs_ops *ops = &fake_of(*state)->ops;
	struct ibv_counters_init_attr init = { .comp_mask = 1 };
	struct ibv_counter_attach_attr attr = { .index = 2 };
	struct ibv_flow flow = { .context = *state };
	struct ibv_counters *counters;
	uint64_t value, values[3] = {};

	result = 0;
	assert_null(ibv_create_counters(*state, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("ibv_create_counters: not supported");
	ops->create_counters = create;
	ops->destroy_counters = destroy;
	assert_null(ibv_create_counters(*state, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("ibv_create_counters: comp_mask 0x1: no bit is defined yet");
	assert_null(ibv_create_counters(*state, NULL));
	assert_int_equal(errno, EINVAL);
	fake_log_take();
	init.comp_mask = 0;
	result = -ENOMEM;
	assert_null(ibv_create_counters(*state, &init));
	assert_int_equal(errno, ENOMEM);
	assert_logged("ibv_create_counters: Cannot allocate memory");
	result = 0;
	counters = ibv_create_counters(*state, &init);
	assert_non_null(counters);
	assert_ptr_equal(counters->context, *state);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &attr, &flow), EOPNOTSUPP);
	assert_logged("ibv_attach_counters_point_flow: not supported");
	assert_int_equal(ibv_read_counters(counters, &value, 1, 0), EOPNOTSUPP);
	assert_logged("ibv_read_counters: not supported");
	ops->attach_counters_point_flow = attach;
	ops->read_counters = read_values;
	assert_int_equal(ibv_attach_counters_point_flow(counters, &attr, &flow), 0);
	assert_ptr_equal(&seen.counters->counters, counters);
	assert_ptr_equal(seen.attr, &attr);
	assert_ptr_equal(seen.flow, &flow);
	assert_int_equal(
		ibv_read_counters(counters, values, 2, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.flags, IBV_READ_COUNTERS_ATTR_PREFER_CACHED);
	assert_int_equal(values[0], 42);
	assert_int_equal(values[1], 43);
	assert_int_equal(values[2], 0);
	assert_log_empty();
	assert_int_equal(ibv_attach_counters_point_flow(counters, NULL, &flow), EINVAL);
	assert_logged("attr is NULL");
	assert_int_equal(ibv_read_counters(counters, NULL, 1, 0), EINVAL);
	assert_logged("counters_value is NULL");
	attr.comp_mask = 8;
	assert_int_equal(ibv_attach_counters_point_flow(counters, &attr, &flow), EOPNOTSUPP);
	assert_logged("counters 5: ibv_attach_counters_point_flow: comp_mask 0x8");
	attr.comp_mask = 0;
	result = -EINVAL;
	assert_int_equal(ibv_attach_counters_point_flow(counters, &attr, &flow), EINVAL);
	assert_logged(
		"counters 5: ibv_attach_counters_point_flow: description 0, index 2: Invalid");
	assert_int_equal(ibv_read_counters(counters, &value, 1, 4), EINVAL);
	assert_logged("counters 5: ibv_read_counters: 1 values, flags 0x4: Invalid");
	assert_int_equal(ibv_destroy_counters(counters), EINVAL);
	assert_logged("ibv_destroy_counters: counters 5");
	result = 0;
	assert_int_equal(ibv_destroy_counters(counters), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counters, fake_setup, fake_teardown),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
