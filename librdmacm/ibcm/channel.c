/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open and close event channels for the backend. */
#include <errno.h>

#include "librdmacm/channel.h"
#include "librdmacm/device.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/lock.h"

static int user_device(struct cm_device *dev, void *arg)
{
	return dev->user;
}

int ibcm_open_channel(struct cm_channel *ch, int *ret_fd)
{
	int r;

	ibcm_devices_serve(&ibcm_loop);
	ibcm_interfaces_begin();
	r = cm_devices_each(user_device, NULL);
	if (r <= 0)
		return r < 0 ? r : -ENODEV;
	return ibcm_channel_new(&ch->ibcm, ret_fd);
}

void ibcm_close_channel(struct cm_channel *ch)
{
	struct ibcm_channel *channel = ch->ibcm;
	struct ibcm_id *iid;

	ibcm_lock();
	while (ibcm_channel_drop(channel, &iid))
		if (iid)
			ibcm_request_refuse(iid);
	while ((iid = ibcm_channel_first(channel)))
		ibcm_id_end(iid);
	ch->ibcm = NULL;
	ibcm_unlock();
	ibcm_channel_free(channel);
}
