/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two sides in two processes, which know of each other only what a socket told them. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt.h"

#define ROUNDS 50
#define LENGTH 3000
#define FLOOD  20000 /* more than the path to a process holds */
#define FEWER  1000  /* number of messages on a device whose requests cost a system call or more */

struct peer {
	struct rt_dev *dev;
	struct rt_side side;
	struct rt_address remote;
	int socket;
	pid_t child; /* the other; 0 in the child itself */
};

static struct peer peer_open(int socket, const struct rt_options *options)
{
	struct peer p = { .dev = rt_open(), .socket = socket };
	struct rt_address mine;

	p.side = rt_side_open(p.dev, options, NULL);
	mine = rt_side_address(&p.side);
	p.remote = rt_exchange(socket, &mine);
	rt_side_connect(&p.side, &p.remote);
	/* Send only after both are ready. */
	rt_exchange(socket, &mine);
	return p;
}

static void peer_close(struct peer *p)
{
	struct rt_address mine = rt_side_address(&p->side);

	rt_exchange(p->socket, &mine);
	rt_side_close(&p->side);
	rt_close(p->dev);
}

static void post_send(struct peer *p, size_t offset)
{
	struct ibv_sge sge = rt_sge(&p->side, offset, LENGTH);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&p->side, &wr);
}

static void send_small(struct peer *p)
{
	struct ibv_sge sge = rt_sge(&p->side, 0, 8);
	struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

	POST(&p->side, &wr);
	EXPECT(&p->side, 1, IBV_WC_SEND);
}

/* Wait for @sent sends and @received receives, in any order. */
static void expect(struct peer *p, int sent, int received)
{
	while (sent || received) {
		struct ibv_wc wc = rt_wait(&p->side);

		CHECK_INT(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id == 1)
			CHECK(sent-- > 0);
		else
			CHECK(received-- > 0);
	}
}

/* One process starts; the other answers with the data that it got. */
static void ping_pong(struct peer *p, bool first)
{
	rt_recv(&p->side, 2, 8192, LENGTH);
	rt_exchange(p->socket, &p->remote);
	for (int i = 0; i < ROUNDS; i++) {
		if (first) {
			rt_fill(p->side.buf.p, LENGTH, i);
			post_send(p, 0);
		}
		/* The next message may overtake the completion of our last answer. */
		expect(p, first || i > 0, 1);
		VERIFY(p->side.buf.p + 8192, LENGTH, i);
		memcpy(p->side.buf.p, p->side.buf.p + 8192, LENGTH);
		rt_recv(&p->side, 2, 8192, LENGTH);
		if (!first)
			post_send(p, 0);
	}
	expect(p, !first, 0);
}

/* One process writes to the other and reads from it; the other only waits. */
static void one_sided(struct peer *p, bool first)
{
	struct ibv_sge from = rt_sge(&p->side, 0, LENGTH), to = rt_sge(&p->side, 8192, LENGTH);
	struct ibv_send_wr write = rt_wr(IBV_WR_RDMA_WRITE, 1, &from);
	struct ibv_send_wr read = rt_wr(IBV_WR_RDMA_READ, 2, &to);

	for (int i = 0; first && i < ROUNDS; i++) {
		rt_fill(p->side.buf.p, LENGTH, i);
		write.wr.rdma.remote_addr = read.wr.rdma.remote_addr = p->remote.addr + i;
		write.wr.rdma.rkey = read.wr.rdma.rkey = p->remote.rkey;
		POST(&p->side, &write);
		EXPECT(&p->side, 1, IBV_WC_RDMA_WRITE);
		POST(&p->side, &read);
		EXPECT(&p->side, 2, IBV_WC_RDMA_READ);
		VERIFY(p->side.buf.p + 8192, LENGTH, i);
	}
	rt_exchange(p->socket, &p->remote);
	if (!first)
		VERIFY(p->side.buf.p + ROUNDS - 1, LENGTH, ROUNDS - 1);
}

/* Connect the same queue pair again with the same numbers. */
static void connect_anew(struct peer *p)
{
	rt_qp_state(p->side.qp, IBV_QPS_RESET);
	rt_side_init(&p->side);
	/* Earlier messages would find this receive, and must not. */
	rt_recv(&p->side, 2, 8192, LENGTH);
	rt_side_rtr(&p->side, &p->remote);
	rt_side_rts(&p->side);
}

/* A message of UC may be lost: a played device loses some if its process gets no processor. uroce
 * loses none between processes of a host. */
static bool may_lose(const struct peer *p)
{
	return p->side.qp->qp_type == IBV_QPT_UC &&
	       strncmp(ibv_get_device_name(p->dev->ctx->device), "uroce", 5) != 0;
}

/* Send until the other process tells that a message has arrived. It has one receive. */
static void send_until_told(struct peer *p)
{
	struct pollfd answer = { .fd = p->socket, .events = POLLIN };
	char told;

	do {
		post_send(p, 0);
		expect(p, 1, 0);
	} while (poll(&answer, 1, may_lose(p) ? 100 : -1) == 0);
	CHECK_INT(recv(p->socket, &told, 1, 0), 1);
}

/* @messages are sent to a stopped process, and their connection ends before it continues: they
 * must not arrive in the next connection. */
static void reconnected_after(struct peer *p, bool first, int rounds, int messages)
{
	char go = 0;

	rt_skip_iwarp(p->dev, "its queue pairs are connected once");
	for (int i = 0; i < rounds; i++) {
		rt_exchange(p->socket, &p->remote);
		if (first) {
			CHECK_OK(kill(p->child, SIGSTOP));
			CHECK_INT(waitpid(p->child, NULL, WUNTRACED), p->child);
			rt_fill(p->side.buf.p, LENGTH, 2 * i);
			post_send(p, 0);
			for (int j = 1; j < messages; j++)
				send_small(p);
			connect_anew(p);
			CHECK_INT(send(p->socket, &go, 1, MSG_NOSIGNAL), 1);
			CHECK_OK(kill(p->child, SIGCONT));
		} else {
			CHECK_INT(recv(p->socket, &go, 1, 0), 1);
			connect_anew(p);
		}
		rt_exchange(p->socket, &p->remote);
		if (first) {
			rt_fill(p->side.buf.p, LENGTH, 2 * i + 1);
			send_until_told(p);
		} else {
			expect(p, 0, 1);
			VERIFY(p->side.buf.p + 8192, LENGTH, 2 * i + 1);
			CHECK_INT(send(p->socket, &go, 1, MSG_NOSIGNAL), 1);
		}
	}
}

static void reconnected(struct peer *p, bool first)
{
	reconnected_after(p, first, ROUNDS, 1);
}

static void reconnected_flooded(struct peer *p, bool first)
{
	reconnected_after(p, first, 3, may_lose(p) ? FEWER : FLOOD);
}

static void run(const struct rt_options *options, void (*body)(struct peer *p, bool first))
{
	int sockets[2], status;
	struct peer p;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		alarm(RT_SECONDS);
	close(sockets[!pid]);
	p = peer_open(sockets[!!pid], options);
	p.child = pid;
	body(&p, !!pid);
	peer_close(&p);
	if (!pid)
		_exit(0);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void rc_ping_pong(void)
{
	run(NULL, ping_pong);
}

static void rc_one_sided(void)
{
	run(NULL, one_sided);
}

static void uc_ping_pong(void)
{
	static const struct rt_options uc = { .type = IBV_QPT_UC };

	run(&uc, ping_pong);
}

static void srq_ping_pong(void)
{
	static const struct rt_options srq = { .srq = true };

	run(&srq, ping_pong);
}

static void rc_reconnected(void)
{
	run(NULL, reconnected);
}

static void uc_reconnected(void)
{
	static const struct rt_options uc = { .type = IBV_QPT_UC };

	run(&uc, reconnected);
}

/* As many messages as the path to the process holds. */
static void uc_reconnected_flooded(void)
{
	static const struct rt_options uc = { .type = IBV_QPT_UC };

	run(&uc, reconnected_flooded);
}

/* A peer is killed: the survivor's send fails after its retries. */
static void dead_peer(void)
{
	static const struct rt_options impatient = { .retry_cnt = 1, .timeout = 10 };
	int sockets[2];
	struct peer p;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid = fork();
	CHECK(pid >= 0);
	close(sockets[!pid]);
	p = peer_open(sockets[!!pid], &impatient);
	if (!pid)
		_exit(0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	post_send(&p, 0);
	EXPECT_STATUS(&p.side, 1, IBV_WC_RETRY_EXC_ERR);
	rt_side_close(&p.side);
	rt_close(p.dev);
}

/* The device is opened by root and used by an ordinary user, as by a server that drops its
 * privileges. */
static void changed_user(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_pair pair = rt_pair_open(dev, NULL);

	if (setuid(65534))
		rt_skip("only root can become another user (%m)");
	for (int i = 0; i < 20; i++) {
		struct ibv_sge sge = rt_sge(&pair.a, 0, LENGTH);
		struct ibv_send_wr wr = rt_wr(IBV_WR_SEND, 1, &sge);

		rt_fill(pair.a.buf.p, LENGTH, i);
		rt_recv(&pair.b, 2, 0, LENGTH);
		POST(&pair.a, &wr);
		EXPECT(&pair.a, 1, IBV_WC_SEND);
		EXPECT(&pair.b, 2, IBV_WC_RECV);
		VERIFY(pair.b.buf.p, LENGTH, i);
	}
	rt_pair_close(&pair);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "changed_user", changed_user },
	{ "rc_ping_pong", rc_ping_pong },
	{ "rc_one_sided", rc_one_sided },
	{ "uc_ping_pong", uc_ping_pong },
	{ "srq_ping_pong", srq_ping_pong },
	{ "dead_peer", dead_peer },
	{ "rc_reconnected", rc_reconnected },
	{ "uc_reconnected", uc_reconnected },
	{ "uc_reconnected_flooded", uc_reconnected_flooded },
};
RT_MAIN(cases)
