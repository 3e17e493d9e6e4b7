/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes that leave:
 *
 * - A process ends right after its last message, without destroying its objects: its peer learns
 *   that all arrived.
 *
 * - A process destroys its QP while messages to it are unread: they are acknowledged, as a
 *   device would have done.
 *
 * - A process closes a device with a QP and lives on: the QP is gone.
 *
 * - A process ends with a datagram for another process: that process gets the datagram.
 *
 * - A forked child tries to destroy objects of its parent.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

enum {
	ROUNDS = 20,
	PASSES = 10, /* of a datagram from process to process */
	MESSAGES = 5,
	LENGTH = 100,
	LOOKS = 1000,
};

static const struct rt_options impatient = { .retry_cnt = 1, .timeout = 10 };

/* Open a side on a device of its own, connected to the process behind @socket. */
static struct rt_side side_connected(int socket, const struct rt_options *options)
{
	struct rt_side side = rt_side_open(rt_open(), options, NULL);
	struct rt_address address = rt_side_address(&side);

	address = rt_exchange(socket, &address);
	rt_side_connect(&side, &address);
	return side;
}

static void side_end(struct rt_side *side)
{
	struct rt_dev *dev = side->dev;

	rt_side_close(side);
	rt_close(dev);
}

/* Wait until both processes have come to this point. */
static void meet(int socket)
{
	struct rt_address nothing = {};

	rt_exchange(socket, &nothing);
}

static void post_receives(struct rt_side *side)
{
	for (int i = 0; i < MESSAGES; i++)
		rt_recv(side, i, i * LENGTH, LENGTH);
}

/* Poll until the progress thread leaves packets to this poller. */
static void poll_a_while(struct rt_side *side)
{
	struct ibv_wc wc;

	for (int i = 0; i < LOOKS; i++)
		CHECK_INT(ibv_poll_cq(side->cq, 1, &wc), 0);
}

static void destroy_unread(int socket)
{
	struct rt_side side = side_connected(socket, NULL);
	struct rt_dev *dev = side.dev;

	post_receives(&side);
	poll_a_while(&side);
	meet(socket);
	meet(socket); /* the peer has posted */
	rt_side_close(&side);
	meet(socket);
	rt_close(dev);
	exit(0);
}

static void receive(int socket, bool closes)
{
	struct rt_side side = side_connected(socket, NULL);

	post_receives(&side);
	meet(socket);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&side, i, IBV_WC_RECV);
	if (closes)
		ibv_close_device(side.dev->ctx);
	exit(0);
}

static void post_all(struct rt_side *side)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = rt_sge(side, 0, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, i, &sge);

		POST(side, &wr);
	}
}

static void send_all(int socket)
{
	struct rt_side side = side_connected(socket, &impatient);

	meet(socket);
	post_all(&side);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&side, i, IBV_WC_SEND);
	side_end(&side);
}

static void send_and_wait(int socket)
{
	struct rt_side side = side_connected(socket, &impatient);

	meet(socket);
	post_all(&side);
	meet(socket);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(&side, i, IBV_WC_SEND);
	meet(socket);
	side_end(&side);
}

/* Close the context while a second one is open, so that only the first one's objects go. */
static void close_and_stay(int socket)
{
	struct rt_side side = side_connected(socket, NULL);
	struct rt_dev *other = rt_open();

	post_receives(&side);
	memset(side.buf.p, 0xee, MESSAGES * LENGTH);
	CHECK_OK(ibv_close_device(side.dev->ctx));
	meet(socket);
	meet(socket); /* the peer has tried */
	for (int i = 0; i < MESSAGES * LENGTH; i++)
		CHECK_INT(side.buf.p[i], 0xee);
	rt_close(other);
	exit(0);
}

static void send_in_vain(int socket)
{
	struct rt_side side = side_connected(socket, &impatient);
	struct ibv_sge sge = rt_sge(&side, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	meet(socket);
	POST(&side, &wr);
	EXPECT_STATUS(&side, 1, IBV_WC_RETRY_EXC_ERR);
	meet(socket);
	side_end(&side);
}

static void run_pair(void (*child)(int socket), void (*parent)(int socket))
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
		child(sockets[0]);
	parent(sockets[1]);
	close(sockets[1]);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static void receive_and_exit(int socket)
{
	receive(socket, false);
}

static void receive_and_close(int socket)
{
	receive(socket, true);
}

static void exits(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_pair(receive_and_exit, send_all);
}

static void closes_device(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_pair(receive_and_close, send_all);
}

static void destroys_unread(void)
{
	for (int i = 0; i < ROUNDS; i++)
		run_pair(destroy_unread, send_and_wait);
}

static void closes_and_stays(void)
{
	run_pair(close_and_stay, send_in_vain);
}

/* A child cannot destroy an inherited QP: rings, keys and sockets belong to the parent. */
static void child_destroys(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);
	struct ibv_sge sge = rt_sge(&pair.a, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	pid_t pid;
	int status;

	rt_recv(&pair.b, 2, 0, LENGTH);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		alarm(RT_SECONDS);
		_exit(ibv_destroy_qp(pair.b.qp) == EIO ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	POST(&pair.a, &wr);
	EXPECT(&pair.a, 1, IBV_WC_SEND);
	EXPECT(&pair.b, 2, IBV_WC_RECV);
	rt_pair_close(&pair);
	rt_close(dev);
}

/* --- a datagram for another process --- */

/* The kernel gives a datagram to the process whose index among the sockets of the port is the
 * slot. If a process leaves, the last socket takes its index. Therefore, if the first of three
 * has gone and a new process has its slot, the third gets the datagrams of the new one. */
enum {
	FIRST,
	SECOND,
	THIRD,
	FOURTH,
	LOCALS,
};

/* Return the family of a number's slot, which equals the slot of the process. A number has a
 * further slot if the numbers of the first slot rest after the end of many processes. */
static unsigned int slot_of(uint32_t qpn)
{
	return qpn >> 10 & 0xff;
}

struct local {
	pid_t pid;
	int socket;
};

static const struct rt_options datagrams = { .type = IBV_QPT_UD };

/* Report readiness, and end when told to. */
static void local_stay(int socket)
{
	struct rt_dev *dev = rt_open();

	meet(socket);
	meet(socket);
	rt_close(dev);
	exit(0);
}

static void local_receive(int socket)
{
	struct rt_side side = rt_side_open(rt_open(), &datagrams, NULL);
	struct rt_address address = rt_side_address(&side);

	CHECK_INT(slot_of(address.qpn), FIRST + 1);
	rt_side_init(&side);
	rt_side_rtr(&side, &address);
	rt_recv(&side, 1, 0, 1000);
	rt_exchange(socket, &address);
	EXPECT(&side, 1, IBV_WC_RECV);
	meet(socket);
	side_end(&side);
	exit(0);
}

/* Send to a process that this one does not know, and leave. */
static void local_send(int socket, bool closes)
{
	struct rt_side side = rt_side_open(rt_open(), &datagrams, NULL);
	struct rt_address address = rt_side_address(&side);
	struct ibv_sge sge = rt_sge(&side, 0, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);
	struct ibv_ah_attr attr;

	CHECK_INT(slot_of(address.qpn), THIRD + 1);
	rt_side_init(&side);
	rt_side_rtr(&side, &address);
	rt_side_rts(&side);
	meet(socket);
	address = rt_exchange(socket, &address); /* the receiver's */
	attr = rt_ah_attr(side.dev, &address);
	wr.wr.ud.ah = ibv_create_ah(side.dev->pd, &attr);
	CHECK(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = address.qpn;
	wr.wr.ud.remote_qkey = RT_QKEY;
	POST(&side, &wr);
	EXPECT(&side, 1, IBV_WC_SEND);
	CHECK_OK(ibv_destroy_ah(wr.wr.ud.ah));
	if (closes)
		side_end(&side);
	exit(0);
}

static void local_send_and_exit(int socket)
{
	local_send(socket, false);
}

static void local_send_and_close(int socket)
{
	local_send(socket, true);
}

static struct local local_start(void (*run)(int socket))
{
	struct local local;
	int sockets[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	local = (struct local){ .pid = fork(), .socket = sockets[1] };
	CHECK(local.pid >= 0);
	close(sockets[!local.pid]);
	if (local.pid)
		return local;
	alarm(RT_SECONDS);
	run(sockets[0]);
	exit(1);
}

/* End the process, which must still be there and must have succeeded. */
static void local_end(const struct local *local)
{
	int status;

	close(local->socket);
	CHECK_INT(waitpid(local->pid, &status, 0), local->pid);
	CHECK_INT(status, 0);
}

static void pass_on(void (*send)(int socket))
{
	struct local locals[LOCALS];
	struct rt_address address = {};

	locals[FIRST] = local_start(local_stay);
	meet(locals[FIRST].socket);
	locals[SECOND] = local_start(local_stay);
	meet(locals[SECOND].socket);
	locals[THIRD] = local_start(send);
	meet(locals[THIRD].socket);
	meet(locals[FIRST].socket);
	local_end(&locals[FIRST]);
	locals[FOURTH] = local_start(local_receive);
	address = rt_exchange(locals[FOURTH].socket, &address);
	rt_exchange(locals[THIRD].socket, &address);
	local_end(&locals[THIRD]);
	meet(locals[FOURTH].socket);
	local_end(&locals[FOURTH]);
	meet(locals[SECOND].socket);
	local_end(&locals[SECOND]);
}

static void passes_on_and_exits(void)
{
	for (int i = 0; i < PASSES; i++)
		pass_on(local_send_and_exit);
}

static void passes_on_and_closes(void)
{
	for (int i = 0; i < PASSES; i++)
		pass_on(local_send_and_close);
}

static const struct rt_case cases[] = {
	{ "child_destroys", child_destroys },
	{ "exits", exits },
	{ "closes_device", closes_device },
	{ "destroys_unread", destroys_unread },
	{ "closes_and_stays", closes_and_stays },
	{ "passes_on_and_exits", passes_on_and_exits },
	{ "passes_on_and_closes", passes_on_and_closes },
};
RT_MAIN(cases)
