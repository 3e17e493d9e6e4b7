/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choice of an entry of a GID table, on tables that programs have met. */
#include <net/if.h>

#include "tests/unit/fake_device.h"

#include "libibverbs/gid_choice.h"

#define V4(d)                                                              \
	{                                                                  \
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = (d) } \
	}
#define LOCAL(d)                                  \
	{                                         \
		.raw = { 0xfe, 0x80, [15] = (d) } \
	}
#define GLOBAL(d)                                             \
	{                                                     \
		.raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = (d) } \
	}
#define ENTRY(where, what, kind, interface)                                         \
	{                                                                           \
		.gid = what, .gid_index = where, .port_num = 1, .gid_type = (kind), \
		.ndev_ifindex = (interface),                                        \
	}
#define V1 IBV_GID_TYPE_ROCE_V1
#define V2 IBV_GID_TYPE_ROCE_V2

/* ---- the host ---- */

static unsigned int down, elsewhere; /* interfaces */
static uint8_t not_mine, not_led;    /* last bytes of GIDs */

static int fake_link_flags(unsigned int ifindex)
{
	if (ifindex == elsewhere)
		return -ENODEV;
	return ifindex == down ? IFF_UP : IFF_UP | IFF_RUNNING;
}

static bool fake_has_address(const union ibv_gid *gid)
{
	return gid->raw[15] != not_mine;
}

static bool fake_has_route(const struct ibv_gid_entry *entry, const union ibv_gid *peer)
{
	return entry->gid.raw[15] != not_led;
}

static const struct gid_host host = {
	.link_flags = fake_link_flags,
	.has_address = fake_has_address,
	.has_route = fake_has_route,
};

static int setup(void **state)
{
	down = elsewhere = 99;
	not_mine = not_led = 99;
	return 0;
}

static int best_for(const union ibv_gid *peer, const struct ibv_gid_entry *entries, size_t count,
		    uint32_t port)
{
	const struct ibv_gid_entry *e = gid_choose(entries, count, port, peer, &host);

	return e ? (int)e->gid_index : -1;
}

static int best(const struct ibv_gid_entry *entries, size_t count)
{
	return best_for(NULL, entries, count, 1);
}

/* The usual table: each address as v1 and v2, the link-local ones first. */
static const struct ibv_gid_entry usual[] = {
	ENTRY(0, LOCAL(1), V1, 2), ENTRY(1, LOCAL(1), V2, 2),  ENTRY(2, V4(2), V1, 2),
	ENTRY(3, V4(2), V2, 2),	   ENTRY(4, GLOBAL(3), V1, 3), ENTRY(5, GLOBAL(3), V2, 3),
};

/* ---- without a peer ---- */

static void test_usual(void **state)
{
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 3);
	assert_int_equal(best(usual, 3), 1);
	assert_int_equal(best(usual, 1), 0);
	assert_int_equal(best(usual, 0), -1);
	assert_int_equal(best_for(NULL, usual, ARRAY_SIZE(usual), 2), -1);
}

static void test_link_down(void **state)
{
	down = 2;
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 5);
	/* Everything is down: return the best of the rest. */
	assert_int_equal(best(usual, 4), 3);
}

/* A container sees the table of the whole device. */
static void test_other_namespace(void **state)
{
	elsewhere = 2;
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 5);
	elsewhere = 3;
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 3);
	/* An interface that is down here is better than one that is up in another namespace. */
	elsewhere = 2;
	down = 3;
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 5);
}

/* The device still has the entry, but the interface no longer has the address. */
static void test_foreign_address(void **state)
{
	not_mine = 2;
	assert_int_equal(best(usual, ARRAY_SIZE(usual)), 5);
	assert_int_equal(best(usual, 4), 1);
}

static void test_order_of_table(void **state)
{
	struct ibv_gid_entry reversed[ARRAY_SIZE(usual)];

	for (int i = 0; i < ARRAY_SIZE(usual); i++)
		reversed[i] = usual[ARRAY_SIZE(usual) - 1 - i];
	assert_int_equal(best(reversed, ARRAY_SIZE(reversed)), 3);
}

static void test_unknown_interface(void **state)
{
	const struct ibv_gid_entry table[] = { ENTRY(0, LOCAL(1), V2, 2), ENTRY(7, V4(1), V2, 0) };

	down = 2;
	assert_int_equal(best(table, ARRAY_SIZE(table)), 7);
}

/* Filters for ::ffff: find no entry in these tables. */
static void test_one_family(void **state)
{
	const struct ibv_gid_entry local[] = { ENTRY(0, LOCAL(1), V2, 2) };
	const struct ibv_gid_entry v6[] = { ENTRY(0, LOCAL(1), V1, 2), ENTRY(1, LOCAL(1), V2, 2),
					    ENTRY(4, GLOBAL(3), V1, 2),
					    ENTRY(5, GLOBAL(3), V2, 2) };

	assert_int_equal(best(local, 1), 0);
	assert_int_equal(best(v6, ARRAY_SIZE(v6)), 5);
}

/* No address vector can name the better entry. */
static void test_large_index(void **state)
{
	const struct ibv_gid_entry table[] = { ENTRY(255, LOCAL(1), V2, 2),
					       ENTRY(256, V4(2), V2, 2) };

	assert_int_equal(best(table, ARRAY_SIZE(table)), 255);
}

static void test_infiniband(void **state)
{
	const struct ibv_gid_entry table[] = { ENTRY(0, LOCAL(1), IBV_GID_TYPE_IB, 0),
					       ENTRY(1, LOCAL(2), IBV_GID_TYPE_IB, 0) };

	not_mine = 1;
	assert_int_equal(best(table, ARRAY_SIZE(table)), 0);
	assert_int_equal(gid_flaws(&table[0], &table[1].gid, &host), 0);
}

/* ---- with a peer ---- */

static void test_peer(void **state)
{
	const union ibv_gid v4 = V4(9), v6 = GLOBAL(9), local = LOCAL(9);

	assert_int_equal(best_for(&v4, usual, ARRAY_SIZE(usual), 1), 3);
	assert_int_equal(best_for(&v6, usual, ARRAY_SIZE(usual), 1), 5);
	assert_int_equal(best_for(&local, usual, ARRAY_SIZE(usual), 1), 1);
}

static void test_no_route(void **state)
{
	const struct ibv_gid_entry two[] = { ENTRY(0, V4(1), V2, 2), ENTRY(1, V4(2), V2, 3) };
	const union ibv_gid peer = V4(9);

	not_led = 1;
	assert_int_equal(best_for(&peer, two, ARRAY_SIZE(two), 1), 1);
	assert_int_equal(gid_flaws(&two[0], &peer, &host), IBV_GID_FLAW_NO_ROUTE);
	assert_int_equal(gid_flaws(&two[0], NULL, &host), 0);
}

static void test_flaws(void **state)
{
	const struct ibv_gid_entry bad = ENTRY(0, LOCAL(1), V1, 2);
	const union ibv_gid peer = V4(9);

	down = 2;
	not_mine = 1;
	assert_int_equal(gid_flaws(&bad, &peer, &host),
			 IBV_GID_FLAW_LINK_DOWN | IBV_GID_FLAW_NO_ADDRESS | IBV_GID_FLAW_ROCE_V1 |
				 IBV_GID_FLAW_OTHER_FAMILY | IBV_GID_FLAW_LINK_LOCAL);
	elsewhere = 2;
	assert_int_equal(gid_flaws(&bad, NULL, &host), IBV_GID_FLAW_NO_INTERFACE |
							       IBV_GID_FLAW_ROCE_V1 |
							       IBV_GID_FLAW_LINK_LOCAL);
	for (uint32_t flaw = 1; flaw <= IBV_GID_FLAW_NO_INTERFACE; flaw <<= 1)
		assert_string_not_equal(ibv_gid_flaw_str(flaw), "unknown");
	assert_string_equal(ibv_gid_flaw_str(IBV_GID_FLAW_NO_INTERFACE << 1), "unknown");
}

/* ---- the public functions ---- */

static ssize_t table_query(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max)
{
	const struct fake_device *fake = fake_of(ctx);
	size_t count = 0;

	for (int i = 0; i < ARRAY_SIZE(fake->gids) && count < max; i++)
		if (fake->gids[i].port_num)
			entries[count++] = fake->gids[i];
	return count;
}

static void test_public(void **state)
{
	struct ibv_context *ctx = *state;
	struct fake_device *fake = fake_of(ctx);
	uint32_t index = 77, flaws = 77;

	assert_int_equal(ibv_best_gid(ctx, 1, NULL, &index), EOPNOTSUPP);
	fake->ops.query_gid_table = table_query;
	fake_log_take();

	assert_int_equal(ibv_best_gid(ctx, 9, NULL, &index), EINVAL);
	assert_logged("ibv_best_gid: port 9 does not exist");
	assert_int_equal(ibv_best_gid(ctx, 1, NULL, NULL), EINVAL);
	assert_logged("ibv_best_gid: gid_index is NULL");
	assert_int_equal(ibv_gid_flaws(ctx, 1, 2, NULL, &flaws), ENODATA);
	assert_int_equal(flaws, 77);
	assert_int_equal(ibv_best_gid(ctx, 1, NULL, &index), 0);
	assert_int_equal(ibv_gid_flaws(ctx, 1, index, NULL, &flaws), 0);
	memset(fake->gids, 0, sizeof(fake->gids));
	fake_log_take();
	assert_int_equal(ibv_best_gid(ctx, 1, NULL, &index), ENODATA);
	assert_logged("ibv_best_gid: port 1: its GID table is empty");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_usual, setup),
		cmocka_unit_test_setup(test_link_down, setup),
		cmocka_unit_test_setup(test_other_namespace, setup),
		cmocka_unit_test_setup(test_foreign_address, setup),
		cmocka_unit_test_setup(test_order_of_table, setup),
		cmocka_unit_test_setup(test_unknown_interface, setup),
		cmocka_unit_test_setup(test_one_family, setup),
		cmocka_unit_test_setup(test_large_index, setup),
		cmocka_unit_test_setup(test_infiniband, setup),
		cmocka_unit_test_setup(test_peer, setup),
		cmocka_unit_test_setup(test_no_route, setup),
		cmocka_unit_test_setup(test_flaws, setup),
		cmocka_unit_test_setup_teardown(test_public, fake_setup, fake_teardown),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
