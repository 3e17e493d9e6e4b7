/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests for a service without a listener yet. A program may tell its peer the port before it
 * listens there, so the peer's request may arrive first. Such a request waits for a moment, and the
 * first process of this host that listens gets it. The number of waiting requests is limited, in
 * total and for each host. The oldest request is refused first. The request of a socket waits only
 * until all processes that existed at its arrival were checked.
 */
#include "librdmacm/ibcm/ibcm.h"

#include <string.h>

enum {
	PARKED_MAX = 256,
	PARKED_OF_HOST = 16,
};
/* ns a request waits: much less than 4.3 s, after which the peer repeats it */
#define GRACE  1000000000ull
#define SOCKET 3000000000ull /* ns: limit of the check of all processes on a busy host */
#define LOOK   4000000ull    /* ns between two checks for a listener */

struct parked {
	TAILQ_ENTRY(parked) entry;
	struct ibcm_dev *dev;
	uint32_t id; /* id of the peer */
	uint64_t until;
	bool of_socket; /* refused as soon as no process listens */
	struct verbs_gsi_mad mad;
};

static TAILQ_HEAD(, parked) lot = TAILQ_HEAD_INITIALIZER(lot); /* oldest first */
static unsigned int count;

static void take_out(struct parked *p)
{
	TAILQ_REMOVE(&lot, p, entry);
	count--;
}

static void refuse(struct parked *p, ibcm_again_fn *again)
{
	take_out(p);
	again(p->dev, &p->mad, true);
	free(p);
}

static bool is_of(const struct parked *p, const union ibv_gid *gid)
{
	return !memcmp(&p->mad.remote_gid, gid, sizeof(*gid));
}

static struct parked *find(const union ibv_gid *gid, uint32_t id)
{
	struct parked *p;

	TAILQ_FOREACH(p, &lot, entry)
		if (p->id == id && is_of(p, gid))
			return p;
	return NULL;
}

/* Return the request to refuse in favour of a new one, or NULL if there is room. */
static struct parked *in_the_way(const union ibv_gid *gid)
{
	struct parked *p, *oldest = NULL;
	unsigned int of_host = 0;

	TAILQ_FOREACH(p, &lot, entry) {
		if (!is_of(p, gid))
			continue;
		of_host++;
		if (!oldest)
			oldest = p;
	}
	if (of_host >= PARKED_OF_HOST)
		return oldest;
	return count >= PARKED_MAX ? TAILQ_FIRST(&lot) : NULL;
}

bool ibcm_park(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad, uint32_t id, bool of_socket,
	       ibcm_again_fn *again)
{
	uint64_t now = ibcm_now();
	struct parked *p, *old;

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
	*p = (struct parked){
		.dev = dev,
		.id = id,
		.until = now + (of_socket ? SOCKET : GRACE),
		.of_socket = of_socket,
		.mad = *mad,
	};
	/* the device may have searched all processes after the request had arrived */
	if (!p->mad.arrived)
		p->mad.arrived = now;
	TAILQ_INSERT_TAIL(&lot, p, entry);
	count++;
	ibcm_wake_by(of_socket ? now : now + LOOK);
	return true;
}

bool ibcm_park_withdraw(const union ibv_gid *gid, uint32_t id)
{
	struct parked *p = find(gid, id);

	if (!p)
		return false;
	take_out(p);
	free(p);
	return true;
}

/* Try to settle a request. Return: whether it need not wait any more. */
static bool settle(const struct parked *p, uint64_t now, ibcm_again_fn *again)
{
	int r = verbs_gsi_offer(p->dev->verbs, &p->mad);
	bool last = now >= p->until || (p->of_socket && r == -ENOENT);

	return !r || again(p->dev, &p->mad, last);
}

uint64_t ibcm_park_look(uint64_t now, ibcm_again_fn *again)
{
	struct parked *p, *next;

	for (p = TAILQ_FIRST(&lot); p; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (!settle(p, now, again))
			continue;
		take_out(p);
		free(p);
	}
	return count ? now + LOOK : 0;
}
