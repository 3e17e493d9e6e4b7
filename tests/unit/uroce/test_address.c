/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs as socket addresses. */
#include <arpa/inet.h>

#include "tests/unit/unit.h"

#include "providers/uroce/base/base.h"

enum {
	IFINDEX = 7,
};

/* A link-local address names its interface: without one the system refuses it. */
static void test_scope(void **state)
{
	static const struct {
		const char *text;
		unsigned int scope;
	} rows[] = {
		{ "2001:db8::1", 0 },		{ "fe80::1", IFINDEX }, { "ff02::1", IFINDEX },
		{ "ff01:0:2:c985::", IFINDEX }, { "ff05::1", 0 },	{ "ff0e::1", 0 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(rows); i++) {
		union uroce_address address;
		union ibv_gid gid;

		assert_int_equal(inet_pton(AF_INET6, rows[i].text, &gid), 1);
		uroce_address_from_gid(&gid, 4791, IFINDEX, &address);
		assert_int_equal(address.sa.sa_family, AF_INET6);
		assert_int_equal(address.in6.sin6_scope_id, rows[i].scope);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
