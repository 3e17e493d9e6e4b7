/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every way to compute a CRC has the result of the definition. */
#include "tests/unit/unit.h"

#include "providers/uroce/wire/crc.h"
#include "util/util.h"

enum {
	LENGTH_MAX = 10000, /* more than twice the bytes that are folded at a time */
	OFFSET_MAX = 16,
	TRIES = 2000,
};

static uint8_t data[OFFSET_MAX + LENGTH_MAX];

static int data_fill(void **state)
{
	srandom(1);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = random();
	return 0;
}

/* Compute the CRC bit by bit. */
static uint32_t crc_defined(uint32_t crc, const uint8_t *from, size_t length)
{
	crc = ~crc;
	for (size_t i = 0; i < length; i++) {
		crc ^= from[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void check(uint32_t crc, const uint8_t *from, size_t length)
{
	uint32_t expected = crc_defined(crc, from, length);

	assert_int_equal(uroce_crc32_table(crc, from, length), expected);
	assert_int_equal(uroce_crc32_fold(crc, from, length), expected);
	assert_int_equal(uroce_crc32(crc, from, length), expected);
}

/* All lengths from 0 to well past the beginning of folding, at every alignment. */
static void test_short(void **state)
{
	for (size_t length = 0; length < 700; length++)
		for (size_t offset = 0; offset < OFFSET_MAX; offset++)
			check(random(), data + offset, length);
}

static void test_random(void **state)
{
	for (int i = 0; i < TRIES; i++)
		check((uint32_t)random() << 1 ^ random(), data + random() % OFFSET_MAX,
		      random() % (LENGTH_MAX + 1));
}

/* Computed in parts, the CRC equals that of the whole. */
static void test_parts(void **state)
{
	for (int i = 0; i < TRIES / 10; i++) {
		size_t length = random() % LENGTH_MAX, first = random() % (length + 1);
		uint32_t crc = uroce_crc32_fold(0, data, first);

		crc = uroce_crc32_fold(crc, data + first, length - first);
		assert_int_equal(crc, crc_defined(0, data, length));
	}
}

/* The check value of this CRC, and data with one bit changed. */
static void test_known(void **state)
{
	static const uint8_t digits[] = "123456789";
	uint32_t whole = uroce_crc32_fold(0, data, 4096);

	assert_int_equal(uroce_crc32(0, digits, 9), 0xcbf43926);
	assert_int_equal(uroce_crc32_fold(0, digits, 9), 0xcbf43926);
	assert_int_equal(uroce_crc32_table(0, digits, 9), 0xcbf43926);
	for (size_t bit = 0; bit < 8 * 4096; bit += 7) {
		data[bit / 8] ^= 1 << bit % 8;
		assert_int_not_equal(uroce_crc32_fold(0, data, 4096), whole);
		data[bit / 8] ^= 1 << bit % 8;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, data_fill, NULL);
}
