/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of verbs_more.h: objects report their creation attributes, and the choice of the
 * GID that reaches a peer. */
#include <infiniband/verbs_more.h>

#include "tests/lib/rt.h"

static const uint32_t all =
	IBV_MR_ATTR_ADDR | IBV_MR_ATTR_LENGTH | IBV_MR_ATTR_IOVA | IBV_MR_ATTR_ACCESS;

static void mr_is(struct ibv_mr *mr, uint32_t mask, const void *addr, uint64_t length,
		  uint64_t iova, uint32_t access, uint32_t kind)
{
	struct ibv_mr_attr attr;

	memset(&attr, 0xee, sizeof(attr));
	CHECK_OK(ibv_query_mr(mr, &attr));
	CHECK_INT(attr.comp_mask, mask);
	CHECK(attr.addr == addr);
	CHECK_INT(attr.length, length);
	CHECK_INT(attr.iova, iova);
	CHECK_INT(attr.access, access);
	CHECK_INT(attr.kind, kind);
	CHECK_INT(attr.lkey, mr->lkey);
	CHECK_INT(attr.rkey, mr->rkey);
	CHECK(attr.pd == mr->pd);
}

/* The attributes are right after a re-registration too. */
static void query_mr(void)
{
	struct rt_dev *dev = rt_open();
	size_t size = 3 * 4096;
	uint8_t *p = aligned_alloc(4096, size);
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, p + 5, 1000, RT_ACCESS);
	struct ibv_mr *moved = ibv_reg_mr_iova(dev->pd, p, size, 0x70000, IBV_ACCESS_LOCAL_WRITE);
	uintptr_t at = (uintptr_t)p;

	CHECK(p && mr && moved);
	mr_is(mr, all, p + 5, 1000, at + 5, RT_ACCESS, IBV_MR_KIND_MEMORY);
	mr_is(moved, all, p, size, 0x70000, IBV_ACCESS_LOCAL_WRITE, IBV_MR_KIND_MEMORY);
	if (!ibv_rereg_mr(moved, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL,
			  p + 4096, 100, IBV_ACCESS_REMOTE_READ))
		mr_is(moved, all, p + 4096, 100, at + 4096, IBV_ACCESS_REMOTE_READ,
		      IBV_MR_KIND_MEMORY);
	CHECK_OK(ibv_dereg_mr(moved));
	CHECK_OK(ibv_dereg_mr(mr));
	free(p);
	rt_close(dev);
}

/* An optional flag may be granted or not, but the query returns the flags that were requested
 * last. */
static void query_mr_optional(void)
{
	struct rt_dev *dev = rt_open();
	static uint8_t bytes[4096];
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, bytes, sizeof(bytes),
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	struct ibv_mr_attr attr;

	CHECK(mr);
	CHECK_OK(ibv_query_mr(mr, &attr));
	CHECK_INT(attr.access & ~IBV_ACCESS_RELAXED_ORDERING, IBV_ACCESS_LOCAL_WRITE);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_close(dev);
}

static void query_mr_dm(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(dev->ctx, &attr);
	struct ibv_mr *mr;

	if (!dm)
		rt_skip("the device has no memory of its own");
	mr = ibv_reg_dm_mr(dev->pd, dm, 1024, 512, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	mr_is(mr, all & ~IBV_MR_ATTR_ADDR, NULL, 512, 0,
	      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE, IBV_MR_KIND_DM);
	CHECK_OK(ibv_dereg_mr(mr));
	CHECK_OK(ibv_free_dm(dm));
	rt_close(dev);
}

/* An older program's struct is shorter, a newer one's longer. */
static void query_mr_sizes(void)
{
	struct rt_dev *dev = rt_open();
	static uint8_t bytes[4096];
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, bytes, sizeof(bytes), 0);
	uint8_t room[sizeof(struct ibv_mr_attr) + 8];
	const size_t shorter = offsetof(struct ibv_mr_attr, lkey);

	CHECK(mr);
	memset(room, 0xee, sizeof(room));
	CHECK_OK(_ibv_query_mr(mr, (struct ibv_mr_attr *)(void *)room, shorter));
	CHECK_INT(room[shorter], 0xee);
	CHECK_OK(_ibv_query_mr(mr, (struct ibv_mr_attr *)(void *)room, sizeof(room)));
	CHECK_INT(room[sizeof(room) - 1], 0);
	CHECK_INT(_ibv_query_mr(NULL, (struct ibv_mr_attr *)(void *)room, shorter), EINVAL);
	CHECK_OK(ibv_dereg_mr(mr));
	rt_close(dev);
}

static void query_ah(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_address self = { .gid = dev->gid, .lid = dev->port.lid };
	struct ibv_ah_attr given = rt_ah_attr(dev, &self), got;
	struct ibv_ah *ah[3];

	for (int i = 0; i < RT_COUNT(ah); i++) {
		given.grh.flow_label = 0x12340 + i;
		given.sl = i;
		ah[i] = ibv_create_ah(dev->pd, &given);
		CHECK(ah[i]);
	}
	for (int i = 0; i < RT_COUNT(ah); i++) {
		given.grh.flow_label = 0x12340 + i;
		given.sl = i;
		memset(&got, 0xee, sizeof(got));
		CHECK_OK(ibv_query_ah(ah[i], &got));
		CHECK(!memcmp(&got, &given, sizeof(got)));
		CHECK_OK(ibv_destroy_ah(ah[i]));
	}
	CHECK_INT(ibv_query_ah(NULL, &got), EINVAL);
	rt_close(dev);
}

/* The chosen GID reaches the device's own address, and has no flaw that forbids it. */
static void best_gid(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_gid_entry entry;
	uint32_t index, flaws;

	CHECK_OK(ibv_best_gid(dev->ctx, dev->port_num, &dev->gid, &index));
	CHECK_OK(ibv_query_gid_ex(dev->ctx, dev->port_num, index, &entry, 0));
	CHECK_OK(ibv_gid_flaws(dev->ctx, dev->port_num, index, &dev->gid, &flaws));
	CHECK_INT(flaws & ~IBV_GID_FLAW_LINK_LOCAL, 0);
	CHECK_OK(ibv_best_gid(dev->ctx, dev->port_num, NULL, &index));
	CHECK_INT(ibv_best_gid(dev->ctx, 99, NULL, &index), EINVAL);
	CHECK_INT(ibv_gid_flaws(dev->ctx, dev->port_num, 1000000, NULL, &flaws), EINVAL);
	rt_close(dev);
}

/* A table that is too small is reported, not filled partly. */
static void gid_table_room(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_gid_entry entries[64];
	ssize_t count = ibv_query_gid_table(dev->ctx, entries, RT_COUNT(entries), 0);

	CHECK(count > 0);
	CHECK_INT(ibv_query_gid_table(dev->ctx, entries, count, 0), count);
	CHECK_INT(ibv_query_gid_table(dev->ctx, entries, count - 1, 0), -EINVAL);
	CHECK_INT(ibv_query_gid_table(dev->ctx, entries, 0, 0), -EINVAL);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "query_mr", query_mr },
	{ "query_mr_optional", query_mr_optional },
	{ "query_mr_dm", query_mr_dm },
	{ "query_mr_sizes", query_mr_sizes },
	{ "query_ah", query_ah },
	{ "best_gid", best_gid },
	{ "gid_table_room", gid_table_room },
};
RT_MAIN(cases)
