/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The order of the addresses of an interface. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/host/address_list.h"

static struct uroce_found found[UROCE_ADDRESSES_MAX];
static unsigned int count;

static union ibv_gid gid(const char *text)
{
	union ibv_gid r;

	assert_int_equal(inet_pton(AF_INET6, text, r.raw), 1);
	return r;
}

static void add(const char *text, uint32_t created)
{
	found[count++] = (struct uroce_found){ .gid = gid(text), .created = created };
}

static int start(void **state)
{
	count = 0;
	return 0;
}

static void expect(const struct uroce_addresses *list, unsigned int index, const char *text)
{
	union ibv_gid expected = gid(text);

	assert_true(index < list->count);
	assert_memory_equal(&list->gid[index], &expected, sizeof(expected));
}

/* The order in the kernel's answer does not matter. */
static void test_age(void **state)
{
	struct uroce_addresses list;

	add("::ffff:10.0.0.9", 300);
	add("::ffff:10.0.0.1", 100);
	add("2001:db8::1", 200);
	add("fe80::2", 50);
	add("fe80::1", 40);
	uroce_addresses_order(found, count, &list);
	assert_int_equal(list.count, 5);
	assert_int_equal(list.link_local, 2);
	expect(&list, 0, "fe80::1");
	expect(&list, 1, "fe80::2");
	expect(&list, 2, "::ffff:10.0.0.1");
	expect(&list, 3, "2001:db8::1");
	expect(&list, 4, "::ffff:10.0.0.9");
}

/* Addresses created within a hundredth of a second: IPv4 first, whose oldest the kernel lists
 * first, then IPv6, whose oldest it lists last. */
static void test_same_age(void **state)
{
	struct uroce_addresses list;

	add("2001:db8::2", 7);
	add("::ffff:10.0.0.2", 7);
	add("2001:db8::1", 7);
	add("::ffff:10.0.0.1", 7);
	uroce_addresses_order(found, count, &list);
	assert_int_equal(list.link_local, 0);
	expect(&list, 0, "::ffff:10.0.0.2");
	expect(&list, 1, "::ffff:10.0.0.1");
	expect(&list, 2, "2001:db8::1");
	expect(&list, 3, "2001:db8::2");
}

/* The kernel counts hundredths of seconds in 32 bits, which wrap after 497 days. */
static void test_wrap(void **state)
{
	struct uroce_addresses list;

	add("::ffff:10.0.0.2", 5);
	add("::ffff:10.0.0.1", 0xfffffff0);
	uroce_addresses_order(found, count, &list);
	expect(&list, 0, "::ffff:10.0.0.1");
}

static void test_twice(void **state)
{
	struct uroce_addresses list;

	add("::ffff:10.0.0.2", 5);
	add("::ffff:10.0.0.2", 6);
	uroce_addresses_order(found, count, &list);
	assert_int_equal(list.count, 1);
}

static void test_many(void **state)
{
	struct uroce_addresses list;
	char text[INET6_ADDRSTRLEN];

	while (count < UROCE_ADDRESSES_MAX) {
		snprintf(text, sizeof(text), "2001:db8::%x", count + 1);
		add(text, 1000 - count);
	}
	uroce_addresses_order(found, count, &list);
	assert_int_equal(list.count, UROCE_ADDRESSES_MAX);
	expect(&list, UROCE_ADDRESSES_MAX - 1, "2001:db8::1");
	uroce_addresses_order(found, 0, &list);
	assert_int_equal(list.count, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_age, start),
		cmocka_unit_test_setup(test_same_age, start),
		cmocka_unit_test_setup(test_wrap, start),
		cmocka_unit_test_setup(test_twice, start),
		cmocka_unit_test_setup(test_many, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
