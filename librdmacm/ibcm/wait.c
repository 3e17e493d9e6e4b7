/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waiting for an event. A handshake takes several messages, and a wake-up costs more than the work
 * for a message. Therefore a thread whose last wait was short polls for the next event first, for
 * as long as a wake-up takes. Messages in between wake no thread. A less busy thread sleeps at
 * once.
 */
#include <poll.h>
#include <sched.h>

#include "libibverbs/provider.h"
#include "librdmacm/channel.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/lock.h"

enum {
	LOOK_NS = 100000,
	MOMENT_NS = 300000, /* limit of a wait that polling might have made shorter */
	LOOKS_BEFORE_YIELD = 8,
};

static struct ibcm_dev *dev_any(void)
{
	struct ibcm_dev *dev;

	ibcm_lock();
	dev = ibcm_dev_first();
	ibcm_unlock();
	return dev;
}

/* Poll for an event. Return: whether there is one. */
static bool look(struct cm_channel *ch, struct ibcm_dev *dev, uint64_t until)
{
	for (unsigned int looks = 1; ibcm_now() < until; looks++) {
		verbs_gsi_poll(dev->verbs);
		if (ibcm_event_ready(ch))
			return true;
		if (!(looks % LOOKS_BEFORE_YIELD))
			sched_yield(); /* the process of the peer may need this processor */
	}
	verbs_gsi_leave(dev->verbs);
	return false;
}

int ibcm_wait_event(struct cm_channel *ch)
{
	struct pollfd waiting = { .fd = ch->ibcm_fd, .events = POLLIN };
	struct ibcm_dev *dev = dev_any();
	uint64_t begin = ibcm_now();
	int r = 0;

	/* one poll covers all devices of this process */
	if (!dev || ibcm_event_waited(ch) > MOMENT_NS || !look(ch, dev, begin + LOOK_NS))
		r = poll(&waiting, 1, -1) < 0 ? -errno : 0;
	ibcm_event_set_waited(ch, ibcm_now() - begin);
	return r;
}
