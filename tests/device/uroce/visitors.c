/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A server that runs for long, and clients that connect, send one message and exit. The server's
 * memory does not grow with the number of clients, and its queue pair that was connected to a
 * client that has gone stays usable as such. */
#include <malloc.h>
#include <sys/wait.h>

#include "tests/lib/rt_child.h"

/* The allocator counts bytes. Sanitizers replace the allocator and find uses of freed memory. */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTED __GLIBC_PREREQ(2, 33)
#else
#define COUNTED 0
#endif

enum {
	FIRST = 30,	      /* clients before the first look: tables have their size */
	CLIENTS = FIRST + 60, /* bytes per client that are not freed add up */
	MORE_MAX = 24 * 1024, /* 60 former peers are 44 KiB */
	MORE = 1,	      /* server: another client may come */
	ENOUGH,
	GONE,
};

static size_t bytes_used(void)
{
#if COUNTED
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

static const struct rt_options datagrams = { .type = IBV_QPT_UD };

/* --- the clients --- */

static void client(int socket)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_side ud = rt_side_open(dev, &datagrams, NULL);
	struct rt_address mine = rt_side_address(&side), server;
	struct ibv_sge sge = rt_sge(&side, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	server = rt_exchange(socket, &mine);
	rt_side_connect(&side, &server);
	rt_side_connect(&ud, &server);
	rt_recv(&ud, 2, 0, 128);
	mine = rt_side_address(&ud);
	rt_exchange(socket, &mine);
	POST(&side, &wr);
	EXPECT(&side, 1, IBV_WC_SEND);
	EXPECT(&ud, 2, IBV_WC_RECV);
	_exit(0);
}

static void clients(int socket, int arg)
{
	while (rt_hear(socket) == MORE) {
		pid_t parent = getpid(), pid = fork();
		int status;

		CHECK(pid >= 0);
		if (!pid) {
			rt_child_bind(parent);
			client(socket);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, arg);
		rt_tell(socket, GONE);
	}
}

/* --- the server --- */

/* Send datagrams: with @builds one by one by ibv_wr_*(), otherwise by ibv_post_send(). */
static void datagram_post(struct rt_side *ud, struct ibv_ah *ah, const struct rt_address *to,
			  bool builds)
{
	struct ibv_sge sge = rt_sge(ud, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 3, &sge);

	if (!builds) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to->qpn;
		wr.wr.ud.remote_qkey = RT_QKEY;
		POST(ud, &wr);
		return;
	}
	ibv_wr_start(ud->qpx);
	ud->qpx->wr_id = 3;
	ud->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ud->qpx);
	ibv_wr_set_ud_addr(ud->qpx, ah, to->qpn, RT_QKEY);
	ibv_wr_set_sge(ud->qpx, sge.lkey, sge.addr, sge.length);
	CHECK_OK(ibv_wr_complete(ud->qpx));
}

static void datagram_send(struct rt_side *ud, const struct rt_address *to, bool builds)
{
	struct ibv_ah_attr attr = rt_ah_attr(ud->dev, to);
	struct ibv_ah *ah = ibv_create_ah(ud->dev->pd, &attr);

	CHECK(ah);
	datagram_post(ud, ah, to, builds);
	EXPECT(ud, 3, IBV_WC_SEND);
	CHECK_OK(ibv_destroy_ah(ah));
}

/* Serve one client; return the side that was connected to it. */
static struct rt_side serve(int socket, struct rt_dev *dev, struct rt_side *ud, bool builds)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address mine = rt_side_address(&side), peer, peer_ud;

	rt_tell(socket, MORE);
	peer = rt_exchange(socket, &mine);
	rt_side_connect(&side, &peer);
	rt_recv(&side, 4, 0, 64);
	peer_ud = rt_exchange(socket, &mine);
	datagram_send(ud, &peer_ud, builds);
	EXPECT(&side, 4, IBV_WC_RECV);
	CHECK_INT(rt_hear(socket), GONE);
	return side;
}

static void fails(struct rt_side *side)
{
	struct ibv_sge sge = rt_sge(side, 0, 64);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 5, &sge);

	POST(side, &wr);
	CHECK(rt_wait(side).status);
	rt_side_close(side);
}

static void come_and_go(void)
{
	const struct rt_options builder = { .type = IBV_QPT_UD, .send_ops = IBV_QP_EX_WITH_SEND };
	struct rt_child child = rt_child_start(clients, 0);
	struct rt_dev *dev = rt_open();
	struct rt_side ud = rt_side_open(dev, &builder, NULL), first;
	struct rt_address mine = rt_side_address(&ud);
	size_t before = 0, after;

	rt_side_connect(&ud, &mine);
	first = serve(child.socket, dev, &ud, true);
	for (int i = 1; i < CLIENTS; i++) {
		struct rt_side side = serve(child.socket, dev, &ud, i & 1);

		rt_side_close(&side);
		if (i == FIRST)
			before = bytes_used();
	}
	after = bytes_used();
	if (after > before + MORE_MAX)
		FAIL("%d clients left %zu bytes", CLIENTS - FIRST, after - before);
	fails(&first);
	rt_tell(child.socket, ENOUGH);
	rt_child_finish(&child);
	rt_side_close(&ud);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "come_and_go", come_and_go },
};
RT_MAIN(cases)
