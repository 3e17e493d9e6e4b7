/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests for a service without a listener yet. A program may tell its peer the port before it
 * listens there, so the peer's request may arrive first. Such a request waits for a moment, and the
 * first process of this host that listens gets it. The number of waiting requests is limited, in
 * total and for each host. The oldest request is refused first. The request of a socket waits only
 * until all processes that existed at its arrival were checked.
 */
#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/pending.h"
#include "librdmacm/ibcm/wake.h"

#include <stdlib.h>
#include <string.h>

enum {
	PENDING_MAX = 256,
	PENDING_OF_HOST = 16,
};
/* ns a request waits: much less than 4.3 s, after which the peer repeats it */
#define GRACE  1000000000ull
#define SOCKET 3000000000ull /* ns: limit of the check of all processes on a busy host */
#define LOOK   4000000ull    /* ns between two checks for a listener */

struct pending {
	TAILQ_ENTRY(pending) entry;
	struct ibcm_dev *dev;
	uint32_t id; /* id of the peer */
	uint64_t until;
	bool of_socket; /* refused as soon as no process listens */
	struct verbs_gsi_mad mad;
};

static TAILQ_HEAD(, pending) pending_list = TAILQ_HEAD_INITIALIZER(pending_list); /* oldest first */
static unsigned int count;

static void pending_remove(struct pending *p)
{
	TAILQ_REMOVE(&pending_list, p, entry);
	count--;
}

static void refuse(struct pending *p, ibcm_again_fn *again)
{
	pending_remove(p);
	again(p->dev, &p->mad, true);
	free(p);
}

static bool is_of(const struct pending *p, const union ibv_gid *gid)
{
	return !memcmp(&p->mad.remote_gid, gid, sizeof(*gid));
}

static struct pending *find(const union ibv_gid *gid, uint32_t id)
{
	struct pending *p;

	TAILQ_FOREACH(p, &pending_list, entry)
		if (p->id == id && is_of(p, gid))
			return p;
	return NULL;
}

/* Return the request to refuse in favour of a new one, or NULL if there is room. */
static struct pending *in_the_way(const union ibv_gid *gid)
{
	struct pending *p, *oldest = NULL;
	unsigned int of_host = 0;

	TAILQ_FOREACH(p, &pending_list, entry) {
		if (!is_of(p, gid))
			continue;
		of_host++;
		if (!oldest)
			oldest = p;
	}
	if (of_host >= PENDING_OF_HOST)
		return oldest;
	return count >= PENDING_MAX ? TAILQ_FIRST(&pending_list) : NULL;
}

bool ibcm_pending_add(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad, uint32_t id,
		      bool of_socket, ibcm_again_fn *again)
{
	uint64_t now = ibcm_now();
	struct pending *p, *old;

	if (find(&mad->remote_gid, id))
		return true;
	/* all processes were searched after the request had arrived */
	if (of_socket && mad->arrived && verbs_gsi_offer(dev->verbs, mad) == -ENOENT)
		return false;
	old = in_the_way(&mad->remote_gid);
	if (old)
		refuse(old, again);
	p = malloc(sizeof(*p));
	if (!p)
		return false;
	*p = (struct pending){
		.dev = dev,
		.id = id,
		.until = now + (of_socket ? SOCKET : GRACE),
		.of_socket = of_socket,
		.mad = *mad,
	};
	/* the device may have searched all processes after the request had arrived */
	if (!p->mad.arrived)
		p->mad.arrived = now;
	TAILQ_INSERT_TAIL(&pending_list, p, entry);
	count++;
	ibcm_wake_by(of_socket ? now : now + LOOK);
	return true;
}

bool ibcm_pending_withdraw(const union ibv_gid *gid, uint32_t id)
{
	struct pending *p = find(gid, id);

	if (!p)
		return false;
	pending_remove(p);
	free(p);
	return true;
}

/* Offer a request to the processes of this host, or handle it here. Return: whether it is done. */
static bool pending_try(const struct pending *p, uint64_t now, ibcm_again_fn *again)
{
	int r = verbs_gsi_offer(p->dev->verbs, &p->mad);
	bool last = now >= p->until || (p->of_socket && r == -ENOENT);

	return !r || again(p->dev, &p->mad, last);
}

uint64_t ibcm_pending_run(uint64_t now, ibcm_again_fn *again)
{
	struct pending *p, *next;

	for (p = TAILQ_FIRST(&pending_list); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (!pending_try(p, now, again))
			continue;
		pending_remove(p);
		free(p);
	}
	return count ? now + LOOK : 0;
}
