/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each host may make this process keep. A request costs its sender one packet and this side an
 * identifier, so a host's requests that have not become connections are counted, and it may have
 * half as many of them as there are places left: one host then holds a third of all places, and
 * each further one still finds some. Hosts are counted by a hash that only this process knows.
 */
#include "librdmacm/ibcm/ibcm.h"

enum {
	SHARES = 256,
};

static uint32_t held[SHARES];

static uint32_t *share_of(const union ibv_gid *gid)
{
	return &held[ibcm_hash(gid, 0, 0) % SHARES];
}

/* Established connections are the program's own decision. */
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
	if (now)
		++*share_of(&iid->remote_gid);
	else
		--*share_of(&iid->remote_gid);
	iid->counted = now;
}

void ibcm_share_leave(struct ibcm_id *iid)
{
	if (iid->counted)
		--*share_of(&iid->remote_gid);
	iid->counted = false;
}

bool ibcm_share_allows(const union ibv_gid *gid)
{
	return *share_of(gid) < (ibcm_table_room() + 1) / 2;
}

bool ibcm_share_is_first(const union ibv_gid *gid)
{
	return !*share_of(gid);
}
