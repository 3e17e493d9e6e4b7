/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the ping-pong programs that need no device: addresses as text, and data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "libibverbs/tools/pingpong_data.c"
#include "libibverbs/tools/pingpong_exchange.c"

int pp_fail(int error, const char *fmt, ...)
{
	return -abs(error);
}

/* ---- addresses ---- */

static const struct pp_dest dest = {
	.lid = 0x12,
	.qpn = 0xabcdef,
	.psn = 0x000001,
	.gid.raw = { [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1 },
};

static const char dest_text[] = "0012:abcdef:000001:00000000000000000000ffffc0000201";

static void test_address(void **state)
{
	char text[PP_ADDRESS_SIZE];
	struct pp_dest back;

	pp_address_print(&dest, text);
	assert_string_equal(text, dest_text);
	assert_int_equal(sizeof(text), 52);
	assert_int_equal(pp_address_parse(text, &back), 0);
	assert_int_equal(back.lid, dest.lid);
	assert_int_equal(back.qpn, dest.qpn);
	assert_int_equal(back.psn, dest.psn);
	assert_memory_equal(&back.gid, &dest.gid, 16);
}

static void assert_not_address(const char *text)
{
	char padded[PP_ADDRESS_SIZE] = {};
	struct pp_dest back = { .qpn = 7 };

	memcpy(padded, text, min_of(strlen(text), sizeof(padded)));
	assert_int_equal(pp_address_parse(padded, &back), -EPROTO);
	assert_int_equal(back.qpn, 7);
}

static void test_no_address(void **state)
{
	assert_not_address("");
	assert_not_address("GET / HTTP/1.1\r\nHost: 127.0.0.1:18515\r\nUser-Agent: curl/7");
	assert_not_address("0012:abcdef:000001:");
	assert_not_address("0012:abcdef:000001:00000000000000000000ffffc000020");
	assert_not_address("0012:abcdef:000001:00000000000000000000ffffc00002xx");
	assert_not_address("0012:abcdef0:00001:00000000000000000000ffffc0000201");
	assert_not_address("0012-abcdef-000001-00000000000000000000ffffc0000201");
}

/* ---- data ---- */

static void test_data(void **state)
{
	static uint8_t data[10000], right[sizeof(data)];

	pp_data_fill(right, sizeof(right));
	for (size_t size = 1; size <= sizeof(data); size = size * 3 + 1) {
		pp_data_fill(data, size);
		assert_int_equal(pp_data_check(data, size, right), size);
		for (size_t i = 0; i < size; i += 1 + size / 7) {
			data[i] ^= 0x10;
			assert_int_equal(pp_data_check(data, size, right), i);
			data[i] ^= 0x10;
		}
	}
}

/* An empty buffer is never taken for a message of any release. */
static void test_data_scrubbed(void **state)
{
	static uint8_t data[10000], message[sizeof(data)];

	pp_data_scrub(data, sizeof(data));
	pp_data_fill(message, sizeof(message));
	for (size_t i = 0; i < sizeof(data); i++)
		assert_true(data[i] != message[i]);
	assert_int_equal(pp_data_check(data, sizeof(data), message), 0);
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0x7b), 0);
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0), 0);
}

static void test_data_plain(void **state)
{
	static uint8_t data[10000];

	memset(data, 0x7b, sizeof(data));
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0x7b), 0);
	data[0] = 0;
	/* Pages of 64 KiB, and pages of 4 KiB. */
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0x7b), sizeof(data));
	data[4096] = data[8192] = 0;
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0x7b), sizeof(data));
	data[4097] = 0;
	assert_int_equal(pp_data_check_plain(data, sizeof(data), 0x7b), 4097);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),	   cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_data),	   cmocka_unit_test(test_data_scrubbed),
		cmocka_unit_test(test_data_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
