/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles with a kernel that numbers them, and with an older one that needs the whole
 * address. */
#include <sys/socket.h>

#include "tests/unit/rxe/fake.h"

static struct {
	uint32_t ah_num;
	int query_gid, resolve; /* results */
	union ibv_gid sgid;
	int destroyed;
} kernel;

int uverbs_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in)
{
	struct rxe_create_ah_resp *resp = in->udata->out;

	assert_int_equal(in->udata->out_len, 8);
	assert_int_equal(resp->ah_num, 0);
	resp->ah_num = kernel.ah_num;
	return 0;
}

int uverbs_destroy_ah(struct ibv_ah *ah)
{
	kernel.destroyed++;
	return 0;
}

int uverbs_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *ret_entry)
{
	assert_int_equal(index, 4);
	ret_entry->gid = kernel.sgid;
	return kernel.query_gid;
}

int verbs_resolve_eth_l2(struct ibv_context *ctx, const struct ibv_ah_attr *attr,
			 uint8_t ret_mac[6], uint16_t *ret_vlan)
{
	memcpy(ret_mac, "\2\3\4\5\6\7", 6);
	return kernel.resolve;
}

static const union ibv_gid ipv4_a = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 } };
static const union ibv_gid ipv4_b = { .raw = { [10] = 0xff, 0xff, 192, 0, 2, 9 } };
static const union ibv_gid ipv6_a = { .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };
static const union ibv_gid ipv6_b = { .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 9 } };

static int create(struct fake *f, struct rxe_ah *ah, const union ibv_gid *dgid)
{
	struct ibv_ah_attr attr = {
		.grh = { .dgid = *dgid,
			 .flow_label = 0x12345,
			 .sgid_index = 4,
			 .hop_limit = 64,
			 .traffic_class = 8 },
		.is_global = 1,
		.port_num = 1,
	};
	struct verbs_create_ah in = { .attr = &attr };

	*ah = (struct rxe_ah){ .ah.context = &f->vctx.context };
	kernel.destroyed = 0;
	return rxe_create_ah(&ah->ah, &in);
}

static void test_numbered(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, 0);
	struct rxe_ah ah;

	kernel.ah_num = 7;
	kernel.query_gid = -EIO;
	assert_int_equal(create(f, &ah, &ipv4_b), 0);
	assert_int_equal(ah.ah_num, 7);
	fake_free(f);
}

static void test_av_ipv4(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, 0);
	struct rxe_ah ah;
	const uint8_t *av = (const uint8_t *)&ah.av;

	kernel.ah_num = 0;
	kernel.query_gid = kernel.resolve = 0;
	kernel.sgid = ipv4_a;
	assert_int_equal(create(f, &ah, &ipv4_b), 0);
	assert_int_equal(sizeof(ah.av), 88);
	assert_memory_equal(av, "\1\1\2\3\4\5\6\7", 8);
	assert_memory_equal(av + 8, &ipv4_b, 16);
	assert_memory_equal(av + 24, "\x45\x23\1\0\4\x40\x8", 7);
	assert_memory_equal(av + 32, "\0\0\0\0\xc0\0\2\1\0\0\0\0\0\0\0\0", 16);
	assert_memory_equal(av + 60, "\0\0\0\0\xc0\0\2\x9\0\0\0\0\0\0\0\0", 16);
	fake_free(f);
}

/* An IPv4 group has two forms as a GID; messages to both go over IPv4. */
static void test_av_ipv4_group(void **state)
{
	static const union ibv_gid groups[] = {
		{ .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } },
		{ .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } },
	};
	struct fake *f = fake_create(IBV_QPT_UD, 0);
	struct rxe_ah ah;

	kernel.ah_num = 0;
	kernel.query_gid = kernel.resolve = 0;
	kernel.sgid = ipv4_a;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(create(f, &ah, &groups[i]), 0);
		assert_int_equal(ah.av.network_type, RXE_NETWORK_TYPE_IPV4);
		assert_memory_equal(&ah.av.dgid_addr._sockaddr_in.sin_addr, &groups[i].raw[12], 4);
	}
	fake_free(f);
}

static void test_av_ipv6(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, 0);
	struct rxe_ah ah;
	const uint8_t *av = (const uint8_t *)&ah.av;

	kernel.sgid = ipv6_a;
	assert_int_equal(create(f, &ah, &ipv6_b), 0);
	assert_int_equal(av[1], 2);
	assert_int_equal(ah.av.sgid_addr._sockaddr_in6.sin6_family, AF_INET6);
	assert_memory_equal(av + 32 + 8, &ipv6_a, 16);
	assert_memory_equal(av + 60 + 8, &ipv6_b, 16);
	fake_free(f);
}

/* Without an address there is no handle, and the kernel's handle is destroyed. */
static void test_fails(void **state)
{
	struct fake *f = fake_create(IBV_QPT_UD, 0);
	struct rxe_ah ah;

	kernel.query_gid = -ENODATA;
	assert_int_equal(create(f, &ah, &ipv6_b), -ENODATA);
	assert_int_equal(kernel.destroyed, 1);
	kernel.query_gid = 0;
	kernel.resolve = -EHOSTUNREACH;
	assert_int_equal(create(f, &ah, &ipv6_b), -EHOSTUNREACH);
	assert_int_equal(kernel.destroyed, 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbered),      cmocka_unit_test(test_av_ipv4),
		cmocka_unit_test(test_av_ipv4_group), cmocka_unit_test(test_av_ipv6),
		cmocka_unit_test(test_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
