/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The texts and rates that scripts rely on: a table of facts, and the results of the
 * distribution's library for every value, if it is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdio.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "util/enum.h"
#include "util/util.h"

typedef const char *(*name_fn)(int value);
typedef int (*number_fn)(int value);

static const char *node_type(int value)
{
	return ibv_node_type_str(value);
}

static const char *port_state(int value)
{
	return ibv_port_state_str(value);
}

static const char *event_type(int value)
{
	return ibv_event_type_str(value);
}

static const char *wc_status(int value)
{
	return ibv_wc_status_str(value);
}

static int rate_to_mult(int value)
{
	return ibv_rate_to_mult(value);
}

static int rate_to_mbps(int value)
{
	return ibv_rate_to_mbps(value);
}

static int mult_to_rate(int value)
{
	return mult_to_ibv_rate(value);
}

static int mbps_to_rate(int value)
{
	return mbps_to_ibv_rate(value);
}

static const struct {
	const char *symbol;
	name_fn ours;
	int first, last; /* of the enum: each has a text of its own */
	const char *first_text, *last_text;
} names[] = {
	{ "ibv_node_type_str", node_type, IBV_NODE_CA, IBV_NODE_UNSPECIFIED,
	  "InfiniBand channel adapter", "unspecified" },
	{ "ibv_port_state_str", port_state, IBV_PORT_NOP, IBV_PORT_ACTIVE_DEFER,
	  "no state change (NOP)", "active defer" },
	{ "ibv_event_type_str", event_type, IBV_EVENT_CQ_ERR, IBV_EVENT_DEVICE_SPEED_CHANGE,
	  "CQ error", "device speed change" },
	{ "ibv_wc_status_str", wc_status, IBV_WC_SUCCESS, IBV_WC_TM_RNDV_INCOMPLETE, "success",
	  "TM software rendezvous" },
};

static const struct {
	const char *symbol;
	number_fn ours;
	int last;
} numbers[] = {
	{ "ibv_rate_to_mult", rate_to_mult, IBV_RATE_1200_GBPS },
	{ "ibv_rate_to_mbps", rate_to_mbps, IBV_RATE_1200_GBPS },
	{ "mult_to_ibv_rate", mult_to_rate, 1000 },
	{ "mbps_to_ibv_rate", mbps_to_rate, 1300000 },
};

static void test_every_value_has_a_text(void **state)
{
	for (int i = 0; i < ARRAY_SIZE(names); i++) {
		for (int v = names[i].first; v <= names[i].last; v++)
			assert_string_not_equal(names[i].ours(v), "unknown");
		assert_string_equal(names[i].ours(names[i].first), names[i].first_text);
		assert_string_equal(names[i].ours(names[i].last), names[i].last_text);
	}
}

static void test_other_values_are_unknown(void **state)
{
	for (int i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(names[i].ours(names[i].first - 1), "unknown");
		assert_string_equal(names[i].ours(names[i].last + 1), "unknown");
		assert_string_equal(names[i].ours(INT32_MIN), "unknown");
		assert_string_equal(names[i].ours(INT32_MAX), "unknown");
	}
}

/* Release 44 does not have this function. The opcodes have a gap. */
static void test_opcodes(void **state)
{
	for (int v = IBV_WR_RDMA_WRITE; v <= IBV_WR_DRIVER1; v++)
		assert_string_not_equal(ibv_wr_opcode_str(v), "unknown");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_RDMA_WRITE), "rdma-write");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_SEND_WITH_INV), "send-with-inv");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_DRIVER1), "driver1");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_DRIVER1 + 1), "unknown");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_FLUSH - 1), "unknown");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_FLUSH), "flush");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE), "atomic-write");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_ATOMIC_WRITE + 1), "unknown");
}

static void test_rates_go_back_and_forth(void **state)
{
	for (int rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_1200_GBPS; rate++) {
		assert_true(ibv_rate_to_mbps(rate) >= 2500);
		assert_int_equal(mbps_to_ibv_rate(ibv_rate_to_mbps(rate)), rate);
		if (ibv_rate_to_mult(rate) > 0)
			assert_int_equal(mult_to_ibv_rate(ibv_rate_to_mult(rate)), rate);
	}
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	assert_int_equal(ibv_rate_to_mbps(-1), -1);
	assert_int_equal(mult_to_ibv_rate(-1), IBV_RATE_MAX);
	assert_int_equal(mult_to_ibv_rate(0), IBV_RATE_MAX);
	assert_int_equal(mbps_to_ibv_rate(2501), IBV_RATE_MAX);
}

/* Facts of IBTA rates that need no other library. */
static void test_rate_facts(void **state)
{
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_120_GBPS), 48);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_14_GBPS), 14062);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(mbps_to_ibv_rate(206250), IBV_RATE_200_GBPS);
	assert_int_equal(mult_to_ibv_rate(11), IBV_RATE_28_GBPS);
}

static void test_same_as_the_distribution(void **state)
{
	void *library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		print_message("no other libibverbs here to compare with\n");
		return;
	}
	for (int i = 0; i < ARRAY_SIZE(names); i++) {
		name_fn theirs = dlsym(library, names[i].symbol);

		assert_non_null(theirs);
		for (int v = names[i].first - 3; v <= names[i].last + 3; v++)
			if (v != names[i].last ||
			    strcmp(theirs(v), "unknown")) /* of later releases */
				assert_string_equal(names[i].ours(v), theirs(v));
	}
	for (int i = 0; i < ARRAY_SIZE(numbers); i++) {
		number_fn theirs = dlsym(library, numbers[i].symbol);

		assert_non_null(theirs);
		for (int v = -3; v <= numbers[i].last + 3; v++)
			assert_int_equal(numbers[i].ours(v), theirs(v));
	}
	dlclose(library);
}

static void test_enum_name_hole(void **state)
{
	static const char *const table[] = { "a", NULL, "c" };

	assert_string_equal(enum_name(table, 3, 2, "?"), "c");
	assert_string_equal(enum_name(table, 3, 1, "?"), "?");
	assert_string_equal(enum_name(table, 3, 3, "?"), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value_has_a_text),
		cmocka_unit_test(test_other_values_are_unknown),
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_rates_go_back_and_forth),
		cmocka_unit_test(test_rate_facts),
		cmocka_unit_test(test_same_as_the_distribution),
		cmocka_unit_test(test_enum_name_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
