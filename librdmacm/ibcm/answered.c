/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that have got their only answer: refused requests, and requests of datagram services. No
 * other data of them is kept. A copy of such a request may still arrive: a request is sent up to
 * three times within two seconds, and an answer may get lost. A copy gets the same answer, and the
 * program does not see the copy.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/ibcm/answered.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/table.h"

enum {
	BUCKETS = 1 << 11,
	ANSWERED_MAX = 1 << 13, /* beyond it the oldest is forgotten */
};
#define MEMORY 10000000000ull /* ns: long enough for the copy that follows after 4.3 s */

struct answered {
	TAILQ_ENTRY(answered) by_age;
	LIST_ENTRY(answered) in_bucket;
	union ibv_gid gid;
	uint32_t id; /* the peer's */
	uint64_t tid;
	uint64_t until;
	uint8_t data[IBCM_MAD_LEN];
};

static LIST_HEAD(, answered) buckets[BUCKETS];
static TAILQ_HEAD(, answered) ages = TAILQ_HEAD_INITIALIZER(ages); /* the oldest is the first */
static unsigned int count;

static void forget(struct answered *a)
{
	TAILQ_REMOVE(&ages, a, by_age);
	LIST_REMOVE(a, in_bucket);
	count--;
	free(a);
}

/* Memory is used only for requests of the last seconds. */
static void forget_old(uint64_t now)
{
	struct answered *oldest;

	while ((oldest = TAILQ_FIRST(&ages)) && (oldest->until <= now || count == ANSWERED_MAX))
		forget(oldest);
}

/* If there is no memory, a copy of the request counts as a new request. */
void ibcm_answered_add(const struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN])
{
	const struct ibcm_conn *conn = &iid->conn;
	uint64_t now = ibcm_now();
	struct answered *a;

	forget_old(now);
	a = malloc(sizeof(*a));
	if (!a)
		return;
	a->gid = iid->remote_gid;
	a->id = conn->remote_id;
	a->tid = conn->tid;
	a->until = now + MEMORY;
	memcpy(a->data, data, sizeof(a->data));
	LIST_INSERT_HEAD(&buckets[ibcm_hash(&a->gid, 0, a->id) % BUCKETS], a, in_bucket);
	TAILQ_INSERT_TAIL(&ages, a, by_age);
	count++;
}

const uint8_t *ibcm_answered_find(const union ibv_gid *gid, uint32_t id, uint64_t tid)
{
	uint64_t now = ibcm_now();
	struct answered *a;

	LIST_FOREACH(a, &buckets[ibcm_hash(gid, 0, id) % BUCKETS], in_bucket)
		if (a->until > now && a->id == id && a->tid == tid &&
		    !memcmp(&a->gid, gid, sizeof(*gid)))
			return a->data;
	return NULL;
}
