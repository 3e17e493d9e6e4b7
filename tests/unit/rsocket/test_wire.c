/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The bytes that all builds of the library have in common. */
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/wire.h"
#include "tests/unit/unit.h"
#include "util/util.h"

static const uint8_t known[RS_WIRE_DATA_SIZE] = {
	1,
	2 | (__BYTE_ORDER == __BIG_ENDIAN),
	1,
	0x80,
	0,
	0,
	0,
	0,
	/* list */ 0x11,
	0x12,
	0x13,
	0x14,
	0x15,
	0x16,
	0x17,
	0x18,
	0x21,
	0x22,
	0x23,
	0x24,
	0,
	0,
	0,
	2,
	/* first */ 0x31,
	0x32,
	0x33,
	0x34,
	0x35,
	0x36,
	0x37,
	0x38,
	0x41,
	0x42,
	0x43,
	0x44,
	0,
	1,
	0,
	0,
};

static const struct rs_wire_data meaning = {
	.credits = 384,
	.list = { 0x1112131415161718, 0x21222324, 2 },
	.first = { 0x3132333435363738, 0x41424344, 65536 },
};

static void test_put(void **state)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];

	rs_wire_put_data(bytes, &meaning);
	assert_memory_equal(bytes, known, sizeof(known));
}

static void test_get(void **state)
{
	struct rs_wire_data data;

	assert_int_equal(rs_wire_get_data(known, sizeof(known), &data), 0);
	assert_int_equal(data.credits, 384);
	assert_int_equal(data.list.addr, meaning.list.addr);
	assert_int_equal(data.list.key, meaning.list.key);
	assert_int_equal(data.list.length, 2);
	assert_int_equal(data.first.addr, meaning.first.addr);
	assert_int_equal(data.first.length, 65536);
	assert_false(data.swapped);
	assert_false(data.speaks);
	assert_false(data.ends);
}

static void test_speaks(void **state)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rs_wire_data data = meaning;

	data.speaks = true;
	rs_wire_put_data(bytes, &data);
	assert_int_equal(bytes[1] ^ known[1], 4);
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), 0);
	assert_true(data.speaks);
}

static void test_ends(void **state)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rs_wire_data data = meaning;

	data.ends = true;
	rs_wire_put_data(bytes, &data);
	assert_int_equal(bytes[1] ^ known[1], 8);
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), 0);
	assert_true(data.ends);
}

static void test_refused(void **state)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rs_wire_data data;

	assert_int_equal(rs_wire_get_data(known, sizeof(known) - 1, &data), -EPROTO);
	memcpy(bytes, known, sizeof(bytes));
	bytes[0] = 2;
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), -EPROTO);
	bytes[0] = 1;
	bytes[23] = 0; /* a list without entries, which would lead to a division by 0 */
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), -EPROTO);
	bytes[23] = 17;
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), -EPROTO);
	bytes[23] = 2;
	bytes[1] ^= 1;
	assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), 0);
	assert_true(data.swapped);
}

static void test_entry(void **state)
{
	const struct rs_target target = { 0x0102030405060708, 0x0a0b0c0d, 0x11121314 };
	struct rs_wire_entry entry = rs_wire_entry(&target, false);

	assert_int_equal(entry.addr, 0x0102030405060708);
	entry = rs_wire_entry(&target, true);
	assert_int_equal(entry.addr, 0x0807060504030201);
	assert_int_equal(entry.key, 0x0d0c0b0a);
	assert_int_equal(entry.length, 0x14131211);
}

static void test_immediate(void **state)
{
	assert_int_equal(rs_wire_imm(RS_WIRE_BYTES, 5), 5);
	assert_int_equal(rs_wire_imm(RS_WIRE_CREDIT, 0x1234), 0x80001234);
	assert_int_equal(rs_wire_imm(RS_WIRE_CONTROL, RS_WIRE_SHUTDOWN), 0xe0000002);
	assert_int_equal(rs_wire_op(0xe0000002), RS_WIRE_CONTROL);
	assert_int_equal(rs_wire_value(0xe0000002), RS_WIRE_SHUTDOWN);
}

/* The byte with the greatest possible number of mappings. */
static void test_mappings(void **state)
{
	static const struct {
		unsigned int wanted, said;
		uint8_t byte;
	} counts[] = {
		{ 0, 0, 0 },	       { 1, 1, 1 },
		{ 128, 128, 128 },     { 255, 128, 128 },
		{ 256, 256, 129 },     { 1000, 768, 131 },
		{ 32767, 32512, 255 }, { 100000, 32512, 255 },
	};
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rs_wire_data data = meaning;

	for (unsigned int i = 0; i < ARRAY_SIZE(counts); i++) {
		assert_int_equal(rs_wire_mappings_fit(counts[i].wanted), counts[i].said);
		data.mappings = counts[i].said;
		rs_wire_put_data(bytes, &data);
		assert_int_equal(bytes[7], counts[i].byte);
		assert_int_equal(rs_wire_get_data(bytes, sizeof(bytes), &data), 0);
		assert_int_equal(data.mappings, counts[i].said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),	  cmocka_unit_test(test_get),
		cmocka_unit_test(test_speaks),	  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_entry),
		cmocka_unit_test(test_immediate), cmocka_unit_test(test_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
