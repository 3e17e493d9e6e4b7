/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way of a message of the connection manager to another host is looked up once, because a
 * lookup reads all addresses and routes of this host. The result expires soon. */
#include "tests/unit/unit.h"

#include "providers/uroce/host/gsi.h"

#define SECOND 1000000000ull

static struct gsi_paths paths;
static uint64_t now;
static unsigned int lookups;
static int lookup_fails;

int __wrap_uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr,
			    uint32_t dest_qpn, struct uroce_av *ret_av);
uint64_t __wrap_uroce_now(void);

int __wrap_uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr,
			    uint32_t dest_qpn, struct uroce_av *ret_av)
{
	lookups++;
	if (lookup_fails)
		return lookup_fails;
	*ret_av = (struct uroce_av){ .sgid_index = attr->grh.sgid_index };
	ret_av->route.traffic_class = attr->grh.traffic_class;
	ret_av->route.sgid.raw[15] = attr->grh.sgid_index;
	return 0;
}

uint64_t __wrap_uroce_now(void)
{
	return now;
}

static int setup(void **state)
{
	paths = (struct gsi_paths){ .lock = PTHREAD_MUTEX_INITIALIZER };
	now = SECOND;
	lookups = 0;
	lookup_fails = 0;
	return 0;
}

/* Return a message from our address @local to the host @remote. */
static struct verbs_gsi_mad mad_to(uint8_t local, uint8_t remote)
{
	return (struct verbs_gsi_mad){ .port_num = 1,
				       .sgid_index = local,
				       .local_gid = { .raw = { [15] = local } },
				       .remote_gid = { .raw = { [14] = 1, [15] = remote } } };
}

static void expect_lookups(const struct verbs_gsi_mad *mad, unsigned int count)
{
	struct uroce_av av;

	assert_int_equal(uroce_gsi_path(NULL, &paths, mad, &av), 0);
	assert_int_equal(av.sgid_index, mad->sgid_index);
	assert_int_equal(av.route.traffic_class, mad->traffic_class);
	assert_int_equal(lookups, count);
}

static void test_once(void **state)
{
	struct verbs_gsi_mad mad = mad_to(3, 2);

	for (int i = 0; i < 1000; i++)
		expect_lookups(&mad, 1);
}

static void test_not_for_long(void **state)
{
	struct verbs_gsi_mad mad = mad_to(3, 2);

	expect_lookups(&mad, 1);
	now += SECOND - 1;
	expect_lookups(&mad, 1);
	now++;
	expect_lookups(&mad, 2);
}

/* Another host, own address or type of service has another way. */
static void test_others(void **state)
{
	struct verbs_gsi_mad mad = mad_to(3, 2), host = mad_to(3, 5), address = mad_to(4, 2),
			     service = mad;

	service.traffic_class = 8;
	expect_lookups(&mad, 1);
	expect_lookups(&host, 2);
	expect_lookups(&address, 3);
	expect_lookups(&service, 4);
	/* the number of the address may belong to another address by now */
	mad.local_gid.raw[15] = 9;
	expect_lookups(&mad, 5);
}

static void test_no_way(void **state)
{
	struct verbs_gsi_mad mad = mad_to(3, 2);
	struct uroce_av av;

	lookup_fails = -ENETUNREACH;
	assert_int_equal(uroce_gsi_path(NULL, &paths, &mad, &av), -ENETUNREACH);
	lookup_fails = 0;
	expect_lookups(&mad, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_once, setup),
		cmocka_unit_test_setup(test_not_for_long, setup),
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_no_way, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
