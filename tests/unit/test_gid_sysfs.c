/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs and P_Keys from sysfs, as on kernels before 5.10: the kernel of this test has no GID method.
 */
#include <endian.h>

#include "tests/unit/fake.h"

#include "libibverbs/uverbs/uverbs.h"

static char sysfs[PATH_MAX];
static unsigned int ioctls;

int ioctl(int fd, unsigned long request, ...);
int ioctl(int fd, unsigned long request, ...)
{
	ioctls++;
	errno = EPROTONOSUPPORT;
	return -1;
}

static int query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.phys_port_cnt = 1;
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	*attr = (struct ibv_port_attr){ .active_mtu = IBV_MTU_1024,
					.link_layer = IBV_LINK_LAYER_ETHERNET,
					.gid_tbl_len = 4,
					.pkey_tbl_len = 1 };
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = fake_open,
	.query_device = query_device,
	.query_port = query_port,
	.query_gid = uverbs_query_gid,
	.query_gid_table = uverbs_query_gid_table,
	.query_pkey = uverbs_query_pkey,
};
static const struct verbs_provider provider = { .name = "fake", .ops = &ops };

static void gid_write(unsigned int index, const char *gid, const char *type, const char *netdev)
{
	static const char *const files[] = { "gids", "gid_attrs/types", "gid_attrs/ndevs" };
	const char *text[] = { gid, type, netdev };
	char name[64];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "fake0/ports/1/%s/%u", files[i], index);
		if (text[i])
			file_write(sysfs, name, text[i]);
	}
}

static int setup(void **state)
{
	struct ibv_context *ctx = fake_context(&provider);

	folder_make(sysfs);
	snprintf(ctx->device->ibdev_path, sizeof(ctx->device->ibdev_path), "%.200s/fake0", sysfs);
	gid_write(0, "fe80:0000:0000:0000:0000:00ff:fe00:0001\n", "IB/RoCE v1\n", "lo\n");
	gid_write(1, "0000:0000:0000:0000:0000:ffff:c000:0201\n", "RoCE v2\n", "nowhere\n");
	gid_write(2, "0000:0000:0000:0000:0000:0000:0000:0000\n", NULL, NULL);
	gid_write(3, "2001:0db8:0000:0000:0000:0000:0000:0001\n", "RoCE v2\n", NULL);
	file_write(sysfs, "fake0/ports/1/pkeys/0", "0xffff\n");
	ioctls = 0;
	*state = ctx;
	return 0;
}

static int teardown(void **state)
{
	folder_remove(sysfs);
	return ibv_close_device(*state);
}

static void test_entry(void **state)
{
	struct ibv_gid_entry entry;

	assert_int_equal(ibv_query_gid_ex(*state, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V1);
	assert_true(entry.gid.global.subnet_prefix == htobe64(0xfe80000000000000));
	assert_true(entry.gid.global.interface_id == htobe64(0x000000fffe000001));
	assert_int_equal(entry.ndev_ifindex, 1);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entry.gid_index, 1);
	assert_int_equal(entry.ndev_ifindex, 0);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 2, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 4, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_gid_ex(*state, 2, 0, &entry, 0), EINVAL);
	assert_int_equal(ioctls, 1); /* the kernel's answer is remembered */
}

static void test_table(void **state)
{
	struct ibv_gid_entry entries[4];

	assert_int_equal(ibv_query_gid_table(*state, entries, 4, 0), 3);
	assert_int_equal(entries[2].gid_index, 3);
	assert_int_equal(entries[2].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(ibv_query_gid_table(*state, entries, 3, 0), 3);
	assert_int_equal(ibv_query_gid_table(*state, entries, 2, 0), -EINVAL);
}

static void test_damaged(void **state)
{
	struct ibv_gid_entry entry;

	gid_write(0, "fe80::1\n", NULL, NULL);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 0, &entry, 0), EINVAL);
	gid_write(0, "", NULL, NULL);
	assert_int_equal(ibv_query_gid_ex(*state, 1, 0, &entry, 0), EINVAL);
}

static void test_pkey(void **state)
{
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(*state, 1, 0, &pkey), 0);
	assert_int_equal(pkey, htobe16(0xffff));
	assert_int_equal(ibv_query_pkey(*state, 1, 1, &pkey), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_pkey(*state, 1, -1, &pkey), -1);
	file_write(sysfs, "fake0/ports/1/pkeys/0", "0x10000\n");
	assert_int_equal(ibv_query_pkey(*state, 1, 0, &pkey), -1);
	file_write(sysfs, "fake0/ports/1/pkeys/0", "x\n");
	assert_int_equal(ibv_query_pkey(*state, 1, 0, &pkey), -1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_entry),
		CASE(test_table),
		CASE(test_damaged),
		CASE(test_pkey),

	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
