/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of queue pairs: the first number of a process is random, and the number of a queue
 * pair that was connected is not reused by any process as long as its peer may know it.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/lib/rt_child.h"

enum {
	PROCESSES = 8,
	BLOCK = 1024,	    /* numbers of a process, which follow each other */
	CONNECTIONS = 3000, /* more than a block has numbers */
	NUMBERS = 1 << 24,
	MANY = 600,    /* two processes together use more numbers than a block has */
	RESTARTS = 40, /* more than a block has parts */
	SIZE = 64,
	PSN = 100, /* first one of both connections, as many programs choose it */
};

static void first_is_random(void)
{
	uint32_t number[PROCESSES];
	int same = 0;

	for (int i = 0; i < PROCESSES; i++) {
		int ends[2], status;
		pid_t pid;

		CHECK_OK(pipe(ends));
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			struct rt_side side = rt_side_open(rt_open(), NULL, NULL);

			CHECK(write(ends[1], &side.qp->qp_num, sizeof(*number)) == sizeof(*number));
			_exit(0);
		}
		CHECK(read(ends[0], &number[i], sizeof(*number)) == sizeof(*number));
		CHECK(waitpid(pid, &status, 0) == pid && !status);
		close(ends[0]);
		close(ends[1]);
		same += number[i] % BLOCK == number[0] % BLOCK;
	}
	/* Equal by chance once in 2^70 runs. */
	CHECK(same < PROCESSES);
}

static void rests(void)
{
	static bool used[NUMBERS];
	struct rt_dev *dev = rt_open();

	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);
		struct rt_address self = rt_side_address(&side);

		if (used[self.qpn])
			FAIL("number 0x%x came again after %d connections", self.qpn, i);
		used[self.qpn] = true;
		rt_side_connect(&side, &self);
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* Numbers that no peer knows are reused next, because blocks are few. */
static void unknown_need_no_rest(void)
{
	struct rt_dev *dev = rt_open();
	int before = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);

		rt_side_close(&side);
		before = i ? before : rt_use().descriptors;
	}
	CHECK_INT(rt_use().descriptors, before);
	rt_close(dev);
}

/* If no further block can be allocated, a number rests only as long as others are free. */
static void rests_end_early(void)
{
	struct rt_dev *dev = rt_open();
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = rt_use().descriptors + 4;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	for (int i = 0; i < CONNECTIONS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);
		struct rt_address self = rt_side_address(&side);

		rt_side_connect(&side, &self);
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* --- numbers of a process that was killed --- */

enum heir {
	NO_CHILD,
	FORKED,	    /* the C library sees the fork, and the child closes inherited descriptors */
	FORKED_RAW, /* the child keeps inherited descriptors and mappings */
};

/* Start a child that outlives this process. Report its number. */
static void leave_child(int socket, enum heir heir)
{
	pid_t pid = heir == FORKED ? fork() : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	CHECK(pid >= 0);
	while (!pid)
		pause();
	rt_tell(socket, pid);
}

/* Report the numbers of many connected queue pairs, and keep these. */
static void many(int socket, int heir)
{
	struct rt_dev *dev = rt_open();

	for (int i = 0; i < MANY; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);
		struct rt_address self = rt_side_address(&side);

		rt_side_connect(&side, &self);
		rt_tell(socket, self.qpn);
	}
	if (heir)
		leave_child(socket, heir);
	pause();
}

/* Kill a process with many connected queue pairs. Check that no earlier process of the case had one
 * of their numbers. Return the pid of the child that lives on; 0: none. */
static pid_t process_kill(enum heir heir)
{
	static bool used[NUMBERS];
	struct rt_child child = rt_child_start(many, heir);
	pid_t left;

	for (int i = 0; i < MANY; i++) {
		uint32_t qpn = rt_hear(child.socket);

		if (used[qpn])
			FAIL("number 0x%x came again in the next process", qpn);
		used[qpn] = true;
	}
	left = heir ? rt_hear(child.socket) : 0;
	rt_child_kill(&child);
	return left;
}

static void rest_after_kill(void)
{
	for (int round = 0; round < 2; round++)
		process_kill(NO_CHILD);
}

/* The numbers of a killed process rest while its child lives, and after the child has ended. */
static void rest_beside(enum heir heir)
{
	pid_t child = process_kill(heir);

	process_kill(NO_CHILD);
	CHECK_OK(kill(child, SIGKILL));
	process_kill(NO_CHILD);
}

static void rest_beside_child(void)
{
	rest_beside(FORKED);
}

static void rest_beside_raw_child(void)
{
	rest_beside(FORKED_RAW);
}

static struct rt_address connect_to(struct rt_side *side, int socket)
{
	struct rt_address self = rt_side_address(side), peer = rt_exchange(socket, &self);

	rt_side_connect(side, &peer);
	rt_exchange(socket, &self);
	return peer;
}

/* Connect a queue pair with one of the parent, until the parent ends this process. */
static void former(int socket, int unused)
{
	struct rt_side side = rt_side_open(rt_open(), NULL, NULL);

	side.psn = PSN;
	connect_to(&side, socket);
	pause();
}

/* Open queue pairs until one has the number @qpn. Without one, return the last. */
static struct rt_side side_with(struct rt_dev *dev, uint32_t qpn)
{
	struct rt_side side = rt_side_open(dev, NULL, NULL);

	for (int i = 1; i < BLOCK && side.qp->qp_num != qpn; i++)
		side = rt_side_open(dev, NULL, NULL);
	return side;
}

/* Receive one message with the number of the former process if it is to be had. */
static void successor(int socket, int unused)
{
	uint32_t qpn = rt_hear(socket);
	struct rt_side side = side_with(rt_open(), qpn);

	side.psn = PSN;
	connect_to(&side, socket);
	rt_recv(&side, 2, 0, SIZE);
	rt_tell(socket, qpn);
	EXPECT(&side, 2, IBV_WC_RECV);
	VERIFY(side.buf.p, SIZE, 2);
	rt_hear(socket);
	/* Do not look for leaks, because the queue pairs with other numbers are still open. */
	_exit(0);
}

static void send_to(struct rt_side *side, int seed)
{
	struct ibv_sge sge = rt_sge(side, 0, SIZE);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	rt_fill(side->buf.p, SIZE, seed);
	POST(side, &wr);
}

/* The former peer of a killed process sends once more. The next process does not receive it. */
static void former_peer_reaches_nobody(void)
{
	struct rt_child first = rt_child_start(former, 0), second = rt_child_start(successor, 0);
	struct rt_dev *dev = rt_open();
	struct rt_side old = rt_side_open(dev, NULL, NULL), new = rt_side_open(dev, NULL, NULL);
	uint32_t qpn;

	old.psn = new.psn = PSN;
	qpn = connect_to(&old, first.socket).qpn;
	rt_child_kill(&first);
	rt_tell(second.socket, qpn);
	connect_to(&new, second.socket);
	rt_hear(second.socket);
	send_to(&old, 1);
	CHECK(rt_wait(&old).status != IBV_WC_SUCCESS);
	send_to(&new, 2);
	EXPECT(&new, 1, IBV_WC_SEND);
	rt_tell(second.socket, qpn);
	rt_child_finish(&second);
	rt_side_close(&old);
	rt_side_close(&new);
	rt_close(dev);
}

static void former_later(int socket, int unused)
{
	rt_hear(socket);
	former(socket, unused);
}

/* More processes than a block has parts open the device one after another. All reach the parent. */
static void restarts(void)
{
	struct rt_child children[RESTARTS];
	struct rt_dev *dev;

	for (int i = 0; i < RESTARTS; i++)
		children[i] = rt_child_start(former_later, 0);
	dev = rt_open();
	for (int i = 0; i < RESTARTS; i++) {
		struct rt_side side = rt_side_open(dev, NULL, NULL);

		side.psn = PSN;
		rt_tell(children[i].socket, i);
		connect_to(&side, children[i].socket);
		rt_child_kill(&children[i]);
		rt_side_close(&side);
	}
	rt_close(dev);
}

/* --- further blocks --- */

/* Connect a queue pair of the first block, offer one of a further block, and stop. */
static void stopping(int socket, int unused)
{
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL);
	uint32_t first = side.qp->qp_num;
	struct rt_address further;

	connect_to(&side, socket);
	while (side.qp->qp_num / BLOCK == first / BLOCK)
		side = rt_side_open(dev, NULL, NULL);
	further = rt_side_address(&side);
	rt_exchange(socket, &further);
	raise(SIGSTOP);
}

/* A peer is stopped. It need not answer for the number of a further block. */
static void further_of_stopped(void)
{
	struct rt_child child = rt_child_start(stopping, 0);
	struct rt_dev *dev = rt_open();
	struct rt_side side = rt_side_open(dev, NULL, NULL), next = rt_side_open(dev, NULL, NULL);
	struct rt_address self = rt_side_address(&next), further;
	int status;

	connect_to(&side, child.socket);
	further = rt_exchange(child.socket, &self);
	CHECK(waitpid(child.pid, &status, WUNTRACED) == child.pid && WIFSTOPPED(status));
	rt_side_connect(&next, &further);
	rt_child_kill(&child);
	rt_side_close(&side);
	rt_side_close(&next);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "first_is_random", first_is_random },
	{ "rests", rests },
	{ "unknown_need_no_rest", unknown_need_no_rest },
	{ "rests_end_early", rests_end_early },
	{ "rest_after_kill", rest_after_kill },
	{ "rest_beside_child", rest_beside_child },
	{ "rest_beside_raw_child", rest_beside_raw_child },
	{ "former_peer_reaches_nobody", former_peer_reaches_nobody },
	{ "restarts", restarts },
	{ "further_of_stopped", further_of_stopped },
};
RT_MAIN(cases)
