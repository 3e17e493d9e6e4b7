/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events of the kernel's connection manager that consist of any bytes. The object of an event is
 * not fuzzed, because the kernel repeats an address of this process.
 *
 * An input is a list of events: control byte, then the kernel's record.
 */
#include <errno.h>
#include <stdlib.h>

#include "librdmacm/channel.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/mcast.h"
#include "librdmacm/ucma/command.h"
#include "tests/fuzz/input.h"

enum {
	EVENTS_MAX = 32,
	FLAG_UD = 1 << 0,     /* about a datagram service */
	FLAG_NOBODY = 1 << 1, /* about an identifier that is still being created */
};

#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static struct input *input;
static struct cm_id id;
static struct cm_mc group = { .id = &id };
static unsigned int left;

static bool is_of_group(uint32_t type)
{
	return type == RDMA_CM_EVENT_MULTICAST_JOIN || type == RDMA_CM_EVENT_MULTICAST_ERROR;
}

/* Replaces librdmacm/ucma/command.c. */
int ucma_command(int fd, uint32_t number, void *command, size_t size, size_t out)
{
	const struct ucma_abi_get_event *cmd = command;
	struct ucma_abi_event_resp *event = (void *)(uintptr_t)cmd->response;
	uint8_t flags;

	MUST(number == UCMA_CMD_GET_EVENT && size == sizeof(*cmd) && out == sizeof(*event));
	if (!left || !input->size)
		return -EAGAIN;
	left--;
	flags = input_u8(input);
	input_bytes(input, event, sizeof(*event));
	id.id.qp_type = flags & FLAG_UD ? IBV_QPT_UD : IBV_QPT_RC;
	event->uid = (uintptr_t)(is_of_group(event->event) ? (void *)&group : (void *)&id);
	if (flags & FLAG_NOBODY)
		event->uid = 0;
	return 0;
}

/* Any length fits, because it is a byte and the room is larger. */
_Static_assert(sizeof(((struct cm_event *)0)->private_data) > UINT8_MAX, "");

static void check_data(const struct cm_event *ev, const void *data, uint8_t length)
{
	MUST(data == (length ? ev->private_data : NULL));
}

static void check(const struct cm_event *ev)
{
	const struct rdma_cm_event *event = &ev->event;

	MUST(ev->id == &id && event->event <= RDMA_CM_EVENT_INTERNAL);
	MUST(ev->mc == (is_of_group(event->event) ? &group : NULL));
	if (event->event == RDMA_CM_EVENT_USER || event->event == RDMA_CM_EVENT_INTERNAL)
		return;
	if (ev->mc || id.id.qp_type == IBV_QPT_UD)
		check_data(ev, event->param.ud.private_data, event->param.ud.private_data_len);
	else
		check_data(ev, event->param.conn.private_data, event->param.conn.private_data_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data, .size = size };
	struct cm_channel channel = {};

	input = &in;
	left = EVENTS_MAX;
	for (;;) {
		struct cm_event ev = {};
		int r = ucma_get_event(&channel, &ev);

		MUST(!r || r == -EAGAIN);
		if (r < 0)
			return 0;
		check(&ev);
	}
}
