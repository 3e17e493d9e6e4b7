/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The limit of identifiers for each host. A request costs its sender one packet and this side an
 * identifier. Therefore a host's requests that have not become connections are counted. A host may
 * have half as many of them as there are free places. Then one host holds at most a third of all
 * places, and each further host still finds free places.
 *
 * Hosts are counted in a count-min sketch. Each host has a counter in every row, chosen by a byte
 * of its hash, and holds at most the smallest of the four counters. Another host shares one of them
 * by chance, but not all four. Only this process knows the hash.
 */
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/share.h"
#include "librdmacm/ibcm/table.h"
#include "util/util.h"

enum {
	ROWS = sizeof(uint32_t), /* a hash's bytes */
	SHARES = 256,		 /* a byte's values */
};

static uint32_t held[ROWS][SHARES];

static void share_add(const union ibv_gid *gid, int n)
{
	uint32_t hash = ibcm_hash(gid, 0, 0);

	for (unsigned int row = 0; row < ROWS; row++, hash /= SHARES)
		held[row][hash % SHARES] += n;
}

static uint32_t share_held(const union ibv_gid *gid)
{
	uint32_t hash = ibcm_hash(gid, 0, 0), least = UINT32_MAX;

	for (unsigned int row = 0; row < ROWS; row++, hash /= SHARES)
		least = min_of(least, held[row][hash % SHARES]);
	return least;
}

/*
 * Return whether the identifier counts. Established connections do not count, because the program
 * has accepted them.
 */
static bool counts(const struct ibcm_id *iid)
{
	return iid->in_table && !iid->conn.active && iid->conn.state != IBCM_IDLE &&
	       iid->conn.state != IBCM_ESTABLISHED && iid->conn.state != IBCM_DREQ_SENT;
}

void ibcm_share_update(struct ibcm_id *iid)
{
	bool now = counts(iid);

	if (now == iid->counted)
		return;
	share_add(&iid->remote_gid, now ? 1 : -1);
	iid->counted = now;
}

void ibcm_share_leave(struct ibcm_id *iid)
{
	if (iid->counted)
		share_add(&iid->remote_gid, -1);
	iid->counted = false;
}

bool ibcm_share_allows(const union ibv_gid *gid)
{
	return share_held(gid) < (ibcm_table_room() + 1) / 2;
}

bool ibcm_share_is_first(const union ibv_gid *gid)
{
	return !share_held(gid);
}
