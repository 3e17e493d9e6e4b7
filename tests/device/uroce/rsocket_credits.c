/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Credits of a stream over RDMA leave receives for the messages that need no credit. */
#include <poll.h>

#include <infiniband/uroce.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define COUNTERS_MAX 128
#define A_MOMENT_MS  50
#define MESSAGES     300 /* over half of a queue: the peer learns of new receives */

static uint64_t counter(struct rt_dev *dev, const char *name)
{
	struct uroce_counter counters[COUNTERS_MAX];
	int count = uroce_query_counters(dev->ctx, NULL, counters, COUNTERS_MAX);

	for (int i = 0; i < count; i++)
		if (!strcmp(counters[i].name, name))
			return counters[i].value;
	FAIL("there is no counter %s", name);
}

/* Send single bytes, up to @most. Return the number sent. */
static int bytes_send(int fd, int most)
{
	int sent = 0;

	while (sent < most && rsend(fd, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	return sent;
}

static void bytes_receive(int fd, int count)
{
	char byte;

	for (int i = 0; i < count; i++)
		CHECK_INT(rrecv(fd, &byte, 1, 0), 1);
}

/* One end spends all its credits, and also has to send messages about credits, while the other
 * end does not poll. No message meets the other end without a receive: it would be repeated
 * after 0.65 s. */
static void both_ways(void)
{
	struct rt_dev *dev = rt_open();
	uint16_t port;
	int listening = rt_rs_listener(&port), here = rt_rs_client(port);
	int there = raccept(listening, NULL, NULL), sent = 0;
	struct pollfd p = { .fd = here, .events = POLLOUT };

	CHECK(there >= 0);
	CHECK_INT(rsend(there, "x", 1, 0), 1);
	CHECK_INT(bytes_send(there, MESSAGES - 1), MESSAGES - 1);
	do /* the send queue may be full for a moment */
		sent += bytes_send(here, INT32_MAX);
	while (rpoll(&p, 1, A_MOMENT_MS) == 1);
	CHECK(sent > MESSAGES);
	bytes_receive(there, sent);
	bytes_receive(here, MESSAGES);
	CHECK_INT(counter(dev, "send_rnr_err"), 0);
	CHECK_OK(rclose(here));
	CHECK_OK(rclose(there));
	CHECK_OK(rclose(listening));
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "both_ways", both_ways },
};
RT_MAIN(cases)
