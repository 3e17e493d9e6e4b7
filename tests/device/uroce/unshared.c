/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread that leaves the network namespace of its open device: existing connections work, and a
 * connection that cannot work is refused. */
#include <sched.h>

#include "tests/lib/rt_child.h"

enum {
	LENGTH = 64,
};

static struct rt_side side_connected(int socket)
{
	struct rt_side side = rt_side_open(rt_open(), NULL, NULL);
	struct rt_address self = rt_side_address(&side), peer = rt_exchange(socket, &self);

	rt_side_connect(&side, &peer);
	rt_recv(&side, 2, LENGTH, LENGTH);
	rt_exchange(socket, &self);
	return side;
}

static void message(struct rt_side *side)
{
	struct ibv_sge sge = rt_sge(side, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(side->buf.p, LENGTH, 1);
	POST(side, &wr);
	for (int i = 0; i < 2; i++)
		CHECK_INT(rt_wait(side).status, IBV_WC_SUCCESS);
	VERIFY(side->buf.p + LENGTH, LENGTH, 1);
}

static void side_end(struct rt_side *side)
{
	struct rt_dev *dev = side->dev;

	rt_side_close(side);
	rt_close(dev);
}

static void leave_namespace(void)
{
	if (unshare(CLONE_NEWNET))
		rt_skip("the kernel allows this user no network namespace");
}

static void answer(int socket, int unused)
{
	struct rt_side side = side_connected(socket);
	struct rt_address self = rt_side_address(&side);

	message(&side);
	rt_exchange(socket, &self);
	side_end(&side);
}

static void connected(void)
{
	struct rt_child peer = rt_child_start(answer, 0);
	struct rt_side side = side_connected(peer.socket);
	struct rt_address self = rt_side_address(&side);

	leave_namespace();
	message(&side);
	rt_exchange(peer.socket, &self);
	rt_child_finish(&peer);
	side_end(&side);
}

static void idle(int socket, int unused)
{
	struct rt_side side = rt_side_open(rt_open(), NULL, NULL);
	struct rt_address self = rt_side_address(&side);

	rt_exchange(socket, &self);
	rt_exchange(socket, &self);
	side_end(&side);
}

static void unconnected(void)
{
	struct rt_child child = rt_child_start(idle, 0);
	struct rt_side side = rt_side_open(rt_open(), NULL, NULL);
	struct rt_address self = rt_side_address(&side), peer = rt_exchange(child.socket, &self);

	leave_namespace();
	rt_side_init(&side);
	CHECK_INT(rt_side_try_rtr(&side, &peer), ENETUNREACH);
	rt_exchange(child.socket, &self);
	rt_child_finish(&child);
	side_end(&side);
}

static const struct rt_case cases[] = {
	{ "connected", connected },
	{ "unconnected", unconnected },
};
RT_MAIN(cases)
