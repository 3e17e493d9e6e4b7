/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events wait in their channel until the program takes them. Until then the channel's descriptor is
 * readable.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/mcast.h"
#include "util/log.h"

struct ibcm_record {
	TAILQ_ENTRY(ibcm_record) entry, about_entry;
	struct ibcm_id *about;
	struct ibcm_id *child; /* identifier of a request */
	struct ibcm_mc *mc;
	struct cm_event ev;
};

struct ibcm_channel {
	TAILQ_HEAD(, ibcm_record) records;
	LIST_HEAD(, ibcm_id) ids; /* identifiers with events in this channel */
	int fd;
	uint64_t waited; /* ns: waiting time for the last event */
};

int ibcm_channel_new(struct ibcm_channel **ret_channel, int *ret_fd)
{
	struct ibcm_channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return -ENOMEM;
	TAILQ_INIT(&channel->records);
	LIST_INIT(&channel->ids);
	channel->waited = UINT64_MAX;
	/*
	 * Calls here never block, because each read follows a write. Therefore the program may set
	 * O_NONBLOCK.
	 */
	channel->fd = eventfd(0, EFD_CLOEXEC);
	if (channel->fd < 0) {
		int r = -errno;

		free(channel);
		return r;
	}
	*ret_channel = channel;
	*ret_fd = channel->fd;
	return 0;
}

void ibcm_channel_free(struct ibcm_channel *channel)
{
	close(channel->fd);
	free(channel);
}

struct ibcm_id *ibcm_channel_first(struct ibcm_channel *channel)
{
	return LIST_FIRST(&channel->ids);
}

void ibcm_channel_set(struct ibcm_id *iid, struct ibcm_channel *channel)
{
	if (iid->channel)
		LIST_REMOVE(iid, channel_entry);
	iid->channel = channel;
	if (channel)
		LIST_INSERT_HEAD(&channel->ids, iid, channel_entry);
}

/* --- putting; a forked child shares the descriptor with its parent --- */

static void record_put(struct ibcm_channel *channel, struct ibcm_record *record)
{
	uint64_t one = 1;

	if (TAILQ_EMPTY(&channel->records) && !ibcm_is_child())
		(void)!write(channel->fd, &one, sizeof(one));
	TAILQ_INSERT_TAIL(&channel->records, record, entry);
	TAILQ_INSERT_TAIL(&record->about->records, record, about_entry);
}

static void record_remove(struct ibcm_channel *channel, struct ibcm_record *record)
{
	uint64_t count;

	TAILQ_REMOVE(&channel->records, record, entry);
	TAILQ_REMOVE(&record->about->records, record, about_entry);
	if (TAILQ_EMPTY(&channel->records) && !ibcm_is_child())
		(void)!read(channel->fd, &count, sizeof(count));
}

static struct ibcm_record *record_new(struct ibcm_id *iid, enum rdma_cm_event_type type, int status)
{
	struct ibcm_record *record;

	if (!iid->channel)
		return NULL;
	record = calloc(1, sizeof(*record));
	if (!record) {
		log_err("rdma_cm: no memory for an event (%s)", rdma_event_str(type));
		return NULL;
	}
	record->about = iid;
	record->ev.event.event = type;
	record->ev.event.status = status;
	record_put(iid->channel, record);
	return record;
}

struct cm_event *ibcm_event_new(struct ibcm_id *iid, enum rdma_cm_event_type type, int status)
{
	struct ibcm_record *record = record_new(iid, type, status);

	return record ? &record->ev : NULL;
}

void ibcm_event_private(struct cm_event *ev, const uint8_t *data, uint32_t length)
{
	memcpy(ev->private_data, data, length);
	ev->event.param.conn.private_data_len = length;
}

struct cm_event *ibcm_event_request(struct ibcm_id *iid, struct ibcm_id *child)
{
	struct ibcm_record *record = record_new(iid, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	if (!record)
		return NULL;
	record->child = child;
	iid->waiting++;
	return &record->ev;
}

struct cm_event *ibcm_event_group(struct ibcm_id *iid, struct ibcm_mc *mc,
				  enum rdma_cm_event_type type, int status)
{
	struct ibcm_record *record = record_new(iid, type, status);

	if (!record)
		return NULL;
	record->mc = mc;
	return &record->ev;
}

/* --- taking --- */

static void record_hand_out(struct ibcm_record *record, struct cm_event *ev)
{
	*ev = record->ev;
	ev->id = record->about->id;
	/* Both members of the union begin with the private data. */
	ev->event.param.conn.private_data =
		ev->event.param.conn.private_data_len ? ev->private_data : NULL;
	/* an event of a group counts both for the identifier and for the group */
	record->about->reported++;
	if (record->mc) {
		ev->mc = record->mc->mc;
		record->mc->reported++;
	}
	if (record->child) {
		ev->new_ibcm = record->child;
		record->about->waiting--;
	}
}

int ibcm_get_event(struct cm_channel *ch, struct cm_event *ev)
{
	struct ibcm_record *record;

	if (ibcm_is_child())
		return ibcm_child_refuse();
	ibcm_lock();
	if (!ch->ibcm) { /* another thread destroyed the channel */
		ibcm_unlock();
		return -EBADF;
	}
	record = TAILQ_FIRST(&ch->ibcm->records);
	if (record) {
		record_remove(ch->ibcm, record);
		record_hand_out(record, ev);
	}
	ibcm_unlock();
	free(record);
	return record ? 0 : -EAGAIN;
}

bool ibcm_event_ready(struct cm_channel *ch)
{
	bool ready;

	ibcm_lock();
	ready = !ch->ibcm || !TAILQ_EMPTY(&ch->ibcm->records);
	ibcm_unlock();
	return ready;
}

uint64_t ibcm_event_waited(struct cm_channel *ch)
{
	uint64_t waited;

	ibcm_lock();
	waited = ch->ibcm ? ch->ibcm->waited : UINT64_MAX;
	ibcm_unlock();
	return waited;
}

void ibcm_event_set_waited(struct cm_channel *ch, uint64_t ns)
{
	ibcm_lock();
	if (ch->ibcm)
		ch->ibcm->waited = ns;
	ibcm_unlock();
}

/* --- dropping and moving --- */

static struct ibcm_id *record_drop(struct ibcm_channel *channel, struct ibcm_record *record)
{
	struct ibcm_id *child = record->child;

	record_remove(channel, record);
	if (child)
		record->about->waiting--;
	free(record);
	return child;
}

bool ibcm_event_drop(struct ibcm_id *iid, struct ibcm_mc *mc, struct ibcm_id **ret_child)
{
	struct ibcm_record *record;

	if (!iid->channel)
		return false;
	TAILQ_FOREACH(record, &iid->records, about_entry) {
		if (mc && record->mc != mc)
			continue;
		*ret_child = record_drop(iid->channel, record);
		return true;
	}
	return false;
}

bool ibcm_channel_drop(struct ibcm_channel *channel, struct ibcm_id **ret_child)
{
	struct ibcm_record *record = TAILQ_FIRST(&channel->records);

	if (!record)
		return false;
	*ret_child = record_drop(channel, record);
	return true;
}

void ibcm_events_move(struct ibcm_id *iid, struct ibcm_channel *to)
{
	struct ibcm_channel *from = iid->channel;
	struct ibcm_record *record, *last = TAILQ_LAST(&iid->records, ibcm_records);

	if (from == to)
		return;
	for (bool more = last; more;) {
		record = TAILQ_FIRST(&iid->records);
		more = record != last;
		record_remove(from, record);
		if (record->child)
			ibcm_channel_set(record->child, to);
		record_put(to, record);
	}
	ibcm_channel_set(iid, to);
}
