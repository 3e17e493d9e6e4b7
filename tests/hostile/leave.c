/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process that ends right after it has seen its last message, without destroying anything: its
 * peer learns that all arrived. */
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	ROUNDS = 20,
	MESSAGES = 5,
	LENGTH = 100,
};

static void receive(int socket, bool closes)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	struct rt_address address = rt_side_address(&side);

	address = rt_exchange(socket, &address);
	rt_side_connect(&side, &address);
	for (int i = 0; i < MESSAGES; i++)
		rt_recv(&side, i, i * LENGTH, LENGTH);
	rt_exchange(socket, &address);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&side, i, IBV_WC_RECV);
	if (closes)
		ibv_close_device(dev->ctx);
	exit(0);
}

static void send_all(int socket)
{
	static const struct rt_options impatient = { .retry_cnt = 1, .timeout = 10 };
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, &impatient, NULL);
	struct rt_address address = rt_side_address(&side);

	address = rt_exchange(socket, &address);
	rt_side_connect(&side, &address);
	rt_exchange(socket, &address);
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = rt_sge(&side, 0, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		POST(&side, &wr);
	}
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&side, i, IBV_WC_SEND);
	rt_side_close(&side);
	rt_close(dev);
}

static void leave(bool closes)
{
	int sockets[2], status;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		alarm(RT_SECONDS);
	close(sockets[!pid]);
	if (!pid)
		receive(sockets[0], closes);
	send_all(sockets[1]);
	close(sockets[1]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void exits(void)
{
	for (int i = 0; i < ROUNDS; i++)
		leave(false);
}

static void closes_device(void)
{
	for (int i = 0; i < ROUNDS; i++)
		leave(true);
}

static const struct rt_case cases[] = {
	{ "exits", exits },
	{ "closes_device", closes_device },
};
RT_MAIN(cases)
