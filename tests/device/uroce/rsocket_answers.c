/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that answers a message sends only the answer, without a separate acknowledgement
 * before it. */
#include <limits.h>

#include <infiniband/uroce.h>
#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"
#include "tests/device/uroce/net.h"

#define COUNTERS_MAX 128
#define ROUNDS	     200
#define TRIES	     50

static uint64_t packets_sent(struct rt_dev *dev)
{
	struct uroce_counter counters[COUNTERS_MAX];
	int count = uroce_query_counters(dev->ctx, NULL, counters, COUNTERS_MAX);

	for (int i = 0; i < count; i++)
		if (!strcmp(counters[i].name, "sent_pkts"))
			return counters[i].value;
	FAIL("there is no counter of packets");
}

/* Receive without sleeping, because a sleeping thread is woken only after the acknowledgement
 * was sent. */
static void byte_receive(int fd)
{
	ssize_t n;
	char byte;

	while ((n = rrecv(fd, &byte, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		;
	CHECK_INT(n, 1);
}

static void byte_send(int fd)
{
	CHECK_INT(rsend(fd, "x", 1, 0), 1);
}

static void ask(int socket, int arg)
{
	struct rt_dev *dev = rt_open();
	int fd = rt_rs_client(rt_hear(socket));

	for (int i = 0; i < ROUNDS; i++) {
		byte_send(fd);
		byte_receive(fd);
	}
	CHECK_OK(rclose(fd));
	rt_close(dev);
}

/* Answer in a process of its own, as the asking side does, so that each try begins with new
 * objects. Report the packets of this number of answers. */
static void answer(int socket, int arg)
{
	struct rt_child child = rt_child_start(ask, 0);
	struct rt_dev *dev = rt_open();
	uint64_t before, sent;
	int listening, fd;
	uint16_t port;

	listening = rt_rs_listener(&port);
	rt_tell(child.socket, port);
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	before = packets_sent(dev);
	for (int i = 0; i < ROUNDS; i++) {
		byte_receive(fd);
		byte_send(fd);
	}
	sent = packets_sent(dev) - before;
	rt_child_finish(&child);
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
	rt_close(dev);
	rt_tell(socket, sent);
}

/* An acknowledgement is a packet of its own on a network, and may stand for several messages. If
 * the program is late because it lost its processor, the device's thread sends an
 * acknowledgement meanwhile and does not withhold the next ones. On a busy machine several tries
 * are needed until no such packet is seen. */
static void answers(void)
{
	int sent = INT_MAX;

	net_own();
	setenv("UROCE_PATH", "udp", 1);
	for (int i = 0; i < TRIES && sent >= ROUNDS * 3 / 2; i++) {
		struct rt_child child = rt_child_start(answer, 0);

		sent = rt_hear(child.socket);
		rt_child_finish(&child);
	}
	if (sent >= ROUNDS * 3 / 2)
		FAIL("%d answers took %d packets, again and again", ROUNDS, sent);
}

static const struct rt_case cases[] = {
	{ "answers", answers },
};
RT_MAIN(cases)
