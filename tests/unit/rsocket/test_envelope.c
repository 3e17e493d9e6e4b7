/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headers in front of datagrams, in all builds of the library. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/envelope.h"
#include "tests/unit/unit.h"
#include "util/util.h"

#define PORT 0x1b9e

static union ds_name name_of(const char *text)
{
	union ds_name name = {};

	if (strchr(text, ':')) {
		name.v6.sin6_family = AF_INET6;
		name.v6.sin6_port = htons(PORT);
		assert_int_equal(inet_pton(AF_INET6, text, &name.v6.sin6_addr), 1);
	} else {
		name.v4.sin_family = AF_INET;
		name.v4.sin_port = htons(PORT);
		assert_int_equal(inet_pton(AF_INET, text, &name.v4.sin_addr), 1);
	}
	return name;
}

static const uint8_t header_v4[] = { 4, 8, 0x1b, 0x9e, 192, 0, 2, 1 };
static const uint8_t header_v6[] = { 6, 24, 0x1b, 0x9e, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8,
				     0, 0,  0,	  0,	0, 0, 0, 0, 0,	  0, 0,	   1 };
static const uint8_t udp_v4[] = { 0x55, 0x55, 0x55, 0x55, 4,   7, 16, 0,
				  0,	0x12, 0x34, 0x56, 192, 0, 2,  1 };
static const uint8_t udp_v6[] = {
	0x55, 0x55, 0x55, 0x55, 6, 0, 28, 0, 0, 0x12, 0x34, 0x56, 0x20, 1,
	0x0d, 0xb8, 0,	  0,	0, 0, 0,  0, 0, 0,    0,    0,	  0,	1
};

static void test_put(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1"), v6 = name_of("2001:db8::1");
	struct ds_udp_header header = { .op = DS_ANSWER, .qpn = 0x123456 };
	uint8_t bytes[DS_UDP_HEADER_MAX];

	assert_int_equal(ds_put_header(bytes, &v4), sizeof(header_v4));
	assert_memory_equal(bytes, header_v4, sizeof(header_v4));
	assert_int_equal(ds_put_header(bytes, &v6), sizeof(header_v6));
	assert_memory_equal(bytes, header_v6, sizeof(header_v6));
	assert_int_equal(ds_put_udp_header(bytes, &header, &v4), sizeof(udp_v4));
	assert_memory_equal(bytes, udp_v4, sizeof(udp_v4));
	header.op = DS_DATA;
	assert_int_equal(ds_put_udp_header(bytes, &header, &v6), sizeof(udp_v6));
	assert_memory_equal(bytes, udp_v6, sizeof(udp_v6));
}

static void test_get_header(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1"), v6 = name_of("2001:db8::1");
	union ds_name got;

	assert_int_equal(ds_get_header(header_v4, sizeof(header_v4), &got), 8);
	assert_true(ds_name_equal(&got, &v4));
	assert_int_equal(ds_get_header(header_v6, sizeof(header_v6), &got), 24);
	assert_true(ds_name_equal(&got, &v6));
	for (size_t i = 0; i < sizeof(header_v6); i++)
		assert_int_equal(ds_get_header(header_v6, i, &got), -EPROTO);
	for (size_t i = 0; i < sizeof(header_v4); i++)
		assert_int_equal(ds_get_header(header_v4, i, &got), -EPROTO);
}

/* One wrong byte in a header, and an IPv4 address in an IPv6 header. */
static void test_wrong_header(void **state)
{
	const union ds_name mapped = name_of("::ffff:192.0.2.1");
	static const struct {
		uint8_t version, length;
	} wrong[] = { { 4, 0 }, { 4, 7 }, { 4, 24 }, { 6, 8 }, { 6, 23 }, { 5, 8 }, { 0, 8 } };
	uint8_t bytes[100] = {};
	union ds_name got;

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		bytes[0] = wrong[i].version;
		bytes[1] = wrong[i].length;
		assert_int_equal(ds_get_header(bytes, sizeof(bytes), &got), -EPROTO);
	}
	ds_put_header(bytes, &mapped);
	assert_int_equal(ds_get_header(bytes, sizeof(bytes), &got), -EPROTO);
}

static void test_get_udp_header(void **state)
{
	const union ds_name v4 = name_of("198.51.100.1"), v6 = name_of("fe80::1");
	struct ds_udp_header got;

	assert_int_equal(ds_get_udp_header(udp_v4, sizeof(udp_v4), &v4, &got), 16);
	assert_int_equal(got.op, DS_ANSWER);
	assert_int_equal(got.qpn, 0x123456);
	assert_int_equal(ds_get_udp_header(udp_v6, sizeof(udp_v6), &v6, &got), 28);
	assert_int_equal(got.op, DS_DATA);
	/* of the other family than the network says */
	assert_int_equal(ds_get_udp_header(udp_v4, sizeof(udp_v4), &v6, &got), -EPROTO);
	assert_int_equal(ds_get_udp_header(udp_v6, sizeof(udp_v6), &v4, &got), -EPROTO);
	for (size_t i = 0; i < sizeof(udp_v4); i++)
		assert_int_equal(ds_get_udp_header(udp_v4, i, &v4, &got), -EPROTO);
	for (size_t i = 0; i < sizeof(udp_v6); i++)
		assert_int_equal(ds_get_udp_header(udp_v6, i, &v6, &got), -EPROTO);
}

static void test_wrong_udp_header(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1");
	static const struct {
		int at;
		uint8_t value;
	} wrong[] = { { 0, 0 }, { 3, 0 }, { 4, 6 },  { 4, 0 },	{ 5, 1 },
		      { 5, 6 }, { 5, 8 }, { 6, 15 }, { 6, 28 }, { 6, 0 } };
	static const struct {
		uint32_t qpn;
		bool right;
	} numbers[] = { { 0, false },	    { 1, false },	 { 2, true },
			{ 0xfffffe, true }, { 0xffffff, false }, { 0xff000000, false } };
	uint8_t bytes[sizeof(udp_v4)];
	struct ds_udp_header got;

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(bytes, udp_v4, sizeof(bytes));
		bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(ds_get_udp_header(bytes, sizeof(bytes), &v4, &got), -EPROTO);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		const uint32_t wire = htonl(numbers[i].qpn);

		memcpy(bytes, udp_v4, sizeof(bytes));
		memcpy(bytes + 8, &wire, 4);
		assert_int_equal(ds_get_udp_header(bytes, sizeof(bytes), &v4, &got),
				 numbers[i].right ? 16 : -EPROTO);
	}
}

static void test_network(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1"), v6 = name_of("2001:db8::1");
	uint8_t grh[DS_GRH_SIZE] = { [20] = 0x45, [21] = 0x12, [28] = 63 };
	int hops, class;

	ds_get_network(grh, &v4, &hops, &class);
	assert_int_equal(hops, 63);
	assert_int_equal(class, 0x12);
	memset(grh, 0, sizeof(grh));
	grh[0] = 0x6a;
	grh[1] = 0xb0;
	grh[7] = 255;
	ds_get_network(grh, &v6, &hops, &class);
	assert_int_equal(hops, 255);
	assert_int_equal(class, 0xab);
	/* an address of IPv4 in a GRH */
	ds_get_network(grh, &v4, &hops, &class);
	assert_int_equal(hops, 255);
	assert_int_equal(class, 0xab);
}

/* Headers that devices write in front: IPv4 behind 20 bytes, IPv6, or a GRH. */
static void test_sender(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1"), other = name_of("192.0.2.2"),
			    v6 = name_of("2001:db8::1"), other6 = name_of("2001:db8::2");
	uint8_t grh[DS_GRH_SIZE] = { [20] = 0x45 };

	memcpy(grh + 32, &v4.v4.sin_addr, 4);
	assert_true(ds_is_sender(grh, &v4));
	assert_false(ds_is_sender(grh, &other));
	assert_false(ds_is_sender(grh, &v6));
	/* an address of IPv4 in a GRH */
	memset(grh, 0, sizeof(grh));
	grh[18] = grh[19] = 0xff;
	memcpy(grh + 20, &v4.v4.sin_addr, 4);
	assert_true(ds_is_sender(grh, &v4));
	assert_false(ds_is_sender(grh, &other));
	memset(grh, 0, sizeof(grh));
	grh[0] = 0x60;
	memcpy(grh + 8, &v6.v6.sin6_addr, 16);
	assert_true(ds_is_sender(grh, &v6));
	assert_false(ds_is_sender(grh, &other6));
	assert_false(ds_is_sender(grh, &v4));
}

static void test_names(void **state)
{
	const union ds_name v4 = name_of("192.0.2.1"), mapped = name_of("::ffff:192.0.2.1");
	union ds_name name, a = name_of("fe80::1"), b = a;
	struct sockaddr_storage addr;

	/* An IPv4 address is recognised with sockets of both families. */
	assert_int_equal(ds_name_take(&mapped, sizeof(mapped), &name), 0);
	assert_true(ds_name_equal(&name, &v4));
	assert_int_equal(ds_name_hash(&name), ds_name_hash(&v4));
	assert_int_equal(ds_name_give(&v4, AF_INET6, &addr), sizeof(struct sockaddr_in6));
	assert_memory_equal(&addr, &mapped, sizeof(struct sockaddr_in6));
	assert_int_equal(ds_name_give(&v4, AF_INET, &addr), sizeof(struct sockaddr_in));
	assert_memory_equal(&addr, &v4, sizeof(struct sockaddr_in));
	/* Too short, or of an unknown family. */
	assert_int_equal(ds_name_take(&v4, 3, &name), -EINVAL);
	assert_int_equal(ds_name_take(NULL, 16, &name), -EINVAL);
	assert_int_equal(ds_name_take(&a, sizeof(struct sockaddr_in), &name), -EINVAL);
	addr.ss_family = AF_UNIX;
	assert_int_equal(ds_name_take(&addr, sizeof(addr), &name), -EAFNOSUPPORT);
	/* The link of a link-local address is compared if both are known. */
	a.v6.sin6_scope_id = 1;
	assert_true(ds_name_equal(&a, &b));
	b.v6.sin6_scope_id = 2;
	assert_false(ds_name_equal(&a, &b));
	b = a;
	ds_name_set_port(&b, htons(PORT + 1));
	assert_false(ds_name_equal(&a, &b));
	assert_true(ds_name_same_host(&a, &b));
	assert_int_equal(ds_payload_max(&v4), 2040);
	assert_int_equal(ds_payload_max(&a), 2024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_get_header),
		cmocka_unit_test(test_wrong_header),
		cmocka_unit_test(test_get_udp_header),
		cmocka_unit_test(test_wrong_udp_header),
		cmocka_unit_test(test_sender),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
