/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>

#include "tests/unit/fake.h"

/* Exported for programs that declare it themselves: 0 is IB or RoCE v1, 1 is RoCE v2. */
int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port_num, unsigned int index, int *type);

/* Index 0: v1, 1: v2, 2: empty, 3: IB; no more. */
static int query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	static const int type[] = { IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2, 0,
				    IBV_GID_TYPE_IB };

	if (port_num != 1 || index > 3)
		return -EINVAL;
	if (index == 2)
		return -ENODATA;
	*entry = (struct ibv_gid_entry){ .gid_index = index,
					 .port_num = 1,
					 .gid_type = type[index],
					 .ndev_ifindex = 5,
					 .gid.raw[15] = index + 1 };
	return 0;
}

static ssize_t query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max)
{
	size_t count = 0;

	for (uint32_t i = 0; i < 4; i++) {
		struct ibv_gid_entry entry;

		if (query_gid(ctx, 1, i, &entry))
			continue;
		if (count == max)
			return -EINVAL;
		entries[count++] = entry;
	}
	return count;
}

static int query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	attr->active_mtu = IBV_MTU_1024;
	attr->pkey_tbl_len = 3;
	return 0;
}

static int query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *pkey)
{
	if (index < 0 || index > 2)
		return -EINVAL;
	*pkey = htobe16(0x8000 + index);
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = fake_open,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_gid_table = query_gid_table,
	.query_pkey = query_pkey,
};
static const struct verbs_provider provider = { .name = "fake", .ops = &ops };

static int setup(void **state)
{
	*state = fake_context(&provider);
	return 0;
}

static int teardown(void **state)
{
	return ibv_close_device(*state);
}

static void test_gid(void **state)
{
	const union ibv_gid zero = {};
	union ibv_gid gid;

	assert_int_equal(ibv_query_gid(*state, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[15], 2);
	assert_int_equal(ibv_query_gid(*state, 1, 2, &gid), 0);
	assert_memory_equal(&gid, &zero, sizeof(gid));
	errno = 0;
	assert_int_equal(ibv_query_gid(*state, 1, 4, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_gid(*state, 1, -1, &gid), -1);
	assert_int_equal(ibv_query_gid(*state, 2, 0, &gid), -1);
}

static void test_gid_type(void **state)
{
	int type = -1;

	assert_int_equal(ibv_query_gid_type(*state, 1, 0, &type), 0);
	assert_int_equal(type, 0);
	assert_int_equal(ibv_query_gid_type(*state, 1, 1, &type), 0);
	assert_int_equal(type, 1);
	assert_int_equal(ibv_query_gid_type(*state, 1, 2, &type), 0);
	assert_int_equal(type, 0);
	assert_int_equal(ibv_query_gid_type(*state, 1, 3, &type), 0);
	assert_int_equal(type, 0);
	assert_int_equal(ibv_query_gid_type(*state, 1, 9, &type), -1);
}

static void test_gid_ex(void **state)
{
	struct {
		struct ibv_gid_entry entry;
		uint64_t later;
	} longer = { .later = 9 };
	struct ibv_gid_entry entry;

	assert_int_equal(ibv_query_gid_ex(*state, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.ndev_ifindex, 5);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 2, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 4, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(*state, 257, 0, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 1, &entry, 1), EINVAL);
	assert_int_equal(_ibv_query_gid_ex(*state, 1, 1, &entry, 0, 16), EINVAL);
	assert_int_equal(_ibv_query_gid_ex(*state, 1, 1, &longer.entry, 0, sizeof(longer)), 0);
	assert_int_equal(longer.entry.gid_index, 1);
	assert_int_equal(longer.later, 0);
}

static void test_gid_table(void **state)
{
	struct {
		struct ibv_gid_entry entry;
		uint64_t later;
	} longer[3] = { [2].later = 9 };
	struct ibv_gid_entry entries[4];

	assert_int_equal(ibv_query_gid_table(*state, entries, 4, 0), 3);
	assert_int_equal(entries[2].gid_index, 3);
	assert_int_equal(ibv_query_gid_table(*state, entries, 2, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(*state, entries, 4, 1), -EINVAL);
	assert_int_equal(_ibv_query_gid_table(*state, entries, 4, 0, 8), -EINVAL);
	assert_int_equal(_ibv_query_gid_table(*state, &longer[0].entry, 3, 0, sizeof(longer[0])),
			 3);
	assert_int_equal(longer[2].entry.gid_index, 3);
	assert_int_equal(longer[2].later, 0);
}

static void test_pkey(void **state)
{
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(*state, 1, 2, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0x8002);
	assert_int_equal(ibv_query_pkey(*state, 1, 3, &pkey), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_get_pkey_index(*state, 1, htobe16(0x8001)), 1);
	assert_int_equal(ibv_get_pkey_index(*state, 1, htobe16(0x7fff)), -1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_gid),	      CASE(test_gid_type), CASE(test_gid_ex),
		CASE(test_gid_table), CASE(test_pkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
