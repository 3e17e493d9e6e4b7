/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending messages, and keeping the messages that the device had no room for. */
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/send.h"
#include "librdmacm/ibcm/wake.h"
#include "util/log.h"

enum {
	RETRY_TRIES = 1000, /* attempts after which the message counts as lost */
	RETRY_STUCK = 128,  /* failures in a row after which the other messages are not tried */
	UNSENT_MAX = 65536, /* limit of kept messages; further messages count as lost */
};

/* A message that the device had no room for. */
struct unsent {
	TAILQ_ENTRY(unsent) entry;
	struct ibcm_dev *dev;
	unsigned int tries;
	struct verbs_gsi_mad mad;
};

static TAILQ_HEAD(, unsent) unsent_list = TAILQ_HEAD_INITIALIZER(unsent_list);
static unsigned int unsent_count;

static void send_later(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad)
{
	struct unsent *unsent = unsent_count < UNSENT_MAX ? malloc(sizeof(*unsent)) : NULL;

	if (!unsent) /* counts as lost */
		return;
	*unsent = (struct unsent){ .dev = dev, .mad = *mad };
	if (TAILQ_EMPTY(&unsent_list))
		ibcm_wake();
	TAILQ_INSERT_TAIL(&unsent_list, unsent, entry);
	unsent_count++;
}

void ibcm_send(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad)
{
	int r = verbs_gsi_send(dev->verbs, mad);

	if (r == -EAGAIN)
		send_later(dev, mad);
	else if (r < 0)
		log_info("%s: a message of the connection manager was not sent: %s",
			 dev->cm->device->name, strerror(-r));
}

bool ibcm_send_retry(void)
{
	struct unsent *unsent, *next;
	unsigned int stuck = 0;

	for (unsent = TAILQ_FIRST(&unsent_list); unsent && stuck < RETRY_STUCK; unsent = next) {
		next = TAILQ_NEXT(unsent, entry);
		if (verbs_gsi_send(unsent->dev->verbs, &unsent->mad) == -EAGAIN &&
		    ++unsent->tries < RETRY_TRIES) {
			stuck++;
			continue;
		}
		TAILQ_REMOVE(&unsent_list, unsent, entry);
		unsent_count--;
		free(unsent);
	}
	return !TAILQ_EMPTY(&unsent_list);
}

void ibcm_id_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN])
{
	struct verbs_gsi_mad mad = {
		.port_num = 1,
		.sgid_index = iid->local.index,
		.traffic_class = iid->tos,
		.local_gid = iid->local.gid,
		.remote_gid = iid->remote_gid,
	};

	memcpy(mad.data, data, sizeof(mad.data));
	ibcm_send(iid->dev, &mad);
}
