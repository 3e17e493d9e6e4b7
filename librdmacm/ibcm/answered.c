/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that have got their only answer: refused requests, and requests of datagram services. No
 * other data of them is kept. A copy of such a request may still arrive: a request is sent up to
 * three times within two seconds, and an answer may get lost. A copy gets the same answer, and the
 * program does not see the copy.
 */
#include <string.h>

#include "librdmacm/ibcm/ibcm.h"

enum {
	SETS = 1 << 11,
	WAYS = 4, /* entries of a set, of which the oldest is replaced */
};
#define MEMORY 10000000000ull /* ns: long enough for the copy that follows after 4.3 s */

struct answered {
	union ibv_gid gid;
	uint32_t id; /* the peer's */
	uint64_t tid;
	uint64_t until; /* 0: unused */
	uint8_t data[IBCM_MAD_LEN];
};

static struct answered all[SETS][WAYS];

static struct answered *set_of(const union ibv_gid *gid, uint32_t id)
{
	return all[ibcm_hash(gid, 0, id) % SETS];
}

static bool is_request(const struct answered *a, const union ibv_gid *gid, uint32_t id,
		       uint64_t tid)
{
	return a->id == id && a->tid == tid && !memcmp(&a->gid, gid, sizeof(*gid));
}

void ibcm_answered_add(const struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN])
{
	const struct ibcm_conn *conn = &iid->conn;
	struct answered *set = set_of(&iid->remote_gid, conn->remote_id), *oldest = set;

	for (unsigned int i = 1; i < WAYS; i++)
		if (set[i].until < oldest->until)
			oldest = &set[i];
	oldest->gid = iid->remote_gid;
	oldest->id = conn->remote_id;
	oldest->tid = conn->tid;
	oldest->until = ibcm_now() + MEMORY;
	memcpy(oldest->data, data, sizeof(oldest->data));
}

const uint8_t *ibcm_answered_find(const union ibv_gid *gid, uint32_t id, uint64_t tid)
{
	const struct answered *set = set_of(gid, id);
	uint64_t now = ibcm_now();

	for (unsigned int i = 0; i < WAYS; i++)
		if (set[i].until > now && is_request(&set[i], gid, id, tid))
			return set[i].data;
	return NULL;
}
