/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Channels of events are pipes, so that read, poll and epoll on them are the kernel's own. */
#include "tests/adapters/lab/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/adapters/lab/shim/trace.h"

enum {
	MAX_CHANNELS = 256,
	MAX_FD = 4096
};

static struct channel {
	int reader, writer; /* the process has the reader; 0 and 0: free */
	bool async;	    /* a context's asynchronous events */
} channels[MAX_CHANNELS];
static atomic_bool is_channel[MAX_FD];
static int async_readers[MAX_FD]; /* by the descriptor of a context's commands */
static int context;		  /* of the command that is being carried out */

static struct channel *find(int reader)
{
	for (int i = 0; i < MAX_CHANNELS; i++) {
		if (channels[i].writer && channels[i].reader == reader)
			return &channels[i];
	}
	return NULL;
}

int event_channel_new(int *ret_fd)
{
	int fds[2];

	for (int i = 0; i < MAX_CHANNELS; i++) {
		if (channels[i].writer)
			continue;
		if (pipe2(fds, O_CLOEXEC))
			return errno;
		fcntl(fds[1], F_SETFL, O_NONBLOCK);
		if (fds[0] >= MAX_FD) {
			real_close(fds[0]);
			real_close(fds[1]);
			return EMFILE;
		}
		channels[i] = (struct channel){ .reader = fds[0], .writer = fds[1] };
		is_channel[fds[0]] = true;
		*ret_fd = fds[0];
		return 0;
	}
	return EMFILE;
}

int event_async_new(int *ret_fd)
{
	int r = event_channel_new(ret_fd);

	if (r)
		return r;
	find(*ret_fd)->async = true;
	async_readers[context] = *ret_fd;
	return 0;
}

void event_context(int fd)
{
	context = fd > 0 && fd < MAX_FD ? fd : 0;
}

int event_async_reader(void)
{
	return async_readers[context];
}

bool event_has(int fd)
{
	return fd >= 0 && fd < MAX_FD && atomic_load(&is_channel[fd]);
}

void event_close(int fd)
{
	struct channel *channel = find(fd);
	int writer;

	if (!channel)
		return;
	writer = channel->writer;
	*channel = (struct channel){ 0 };
	is_channel[fd] = false;
	real_close(writer);
}

void event_write(int reader, const void *record, size_t length)
{
	struct channel *channel = find(reader);

	if (channel && real_write(channel->writer, record, length) != (ssize_t)length)
		fprintf(stderr, "devices: an event is lost: nobody reads them\n");
}

void event_completion(struct object *cq)
{
	const struct ib_uverbs_comp_event_desc record = { .cq_handle = cq->user_handle };

	cq->events++;
	if (cq->channel < 0)
		return;
	trace_line("# event of %s", object_name(OBJECT_CQ, cq->handle));
	cq->event_count[0]++;
	event_write(cq->channel, &record, sizeof(record));
}

bool event_is_unread(const struct object *cq)
{
	struct pollfd channel = { .fd = cq->channel, .events = POLLIN };

	return cq->channel >= 0 && poll(&channel, 1, 0) > 0;
}

void event_async(struct object *object, int event)
{
	const struct ib_uverbs_async_event_desc record = {
		.element = object ? object->user_handle : 1,
		.event_type = event,
	};

	/* An event of an object that verbs do not know: only the device can report it. */
	if (object && object->by_device) {
		device->async_event(object, event);
		return;
	}
	if (object) {
		object->event_count[1]++;
		event_write(object->async_reader, &record, sizeof(record));
		return;
	}
	/* An event of the port or the device: write it to each context. */
	for (int i = 0; i < MAX_CHANNELS; i++) {
		if (channels[i].writer && channels[i].async)
			event_write(channels[i].reader, &record, sizeof(record));
	}
}

/* Take all records out of a pipe, and put back the ones that belong to other objects. The
 * descriptor is a second, non-blocking descriptor of the same pipe, because the process may read
 * at the same time. Return how many records belonged to the object. */
static uint32_t withdraw(int reader, uint64_t user_handle, size_t length)
{
	char path[64], record[2][16384];
	struct channel *channel = find(reader);
	uint32_t withdrawn = 0;
	ssize_t got, kept = 0;
	int fd;

	if (!channel)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader);
	fd = real_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	got = read(fd, record[0], sizeof(record[0]) / length * length);
	real_close(fd);
	for (ssize_t at = 0; at < got; at += length) {
		if (*(uint64_t *)(record[0] + at) == user_handle) {
			withdrawn++;
			continue;
		}
		__builtin_memcpy(record[1] + kept, record[0] + at, length);
		kept += length;
	}
	for (ssize_t at = 0; at < kept; at += length)
		real_write(channel->writer, record[1] + at, length);
	return withdrawn;
}

void event_withdraw(struct object *object)
{
	if (object->event_count[0])
		object->event_count[0] -= withdraw(object->channel, object->user_handle,
						   sizeof(struct ib_uverbs_comp_event_desc));
	if (object->event_count[1])
		object->event_count[1] -= withdraw(object->async_reader, object->user_handle,
						   sizeof(struct ib_uverbs_async_event_desc));
}
