/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connects of streams over RDMA to a port without a listener, on the same host: each is refused,
 * and costs few system calls, which a tracer counts. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

enum {
	CALLS_MAX = 100, /* of all threads, for one connect on an idle host */
	FEW = 4,
	MANY = 14,
};

static uint16_t port_free(void)
{
	uint16_t port;

	CHECK_OK(rclose(rt_rs_listener(&port)));
	return port;
}

static void connect_refused(const struct sockaddr_storage *address)
{
	int fd = rsocket(address->ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_INT(rconnect(fd, (const struct sockaddr *)address, rt_rs_size(address)), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_OK(rclose(fd));
}

static void refused(void)
{
	struct sockaddr_storage address = rt_cm_address(port_free());

	for (int i = 0; i < MANY; i++)
		connect_refused(&address);
}

/* Refused and accepted connects in turn: none is refused by mistake. */
static void in_turn(void)
{
	struct sockaddr_storage closed = rt_cm_address(port_free());
	uint16_t port;
	int listener = rt_rs_listener(&port);

	for (int i = 0; i < (rt_cm_is_kernel() ? FEW : 20 * MANY); i++) {
		int client, server;

		connect_refused(&closed);
		client = rt_rs_client(port);
		server = raccept(listener, NULL, NULL);
		CHECK(server >= 0);
		CHECK_OK(rclose(client));
		CHECK_OK(rclose(server));
	}
	CHECK_OK(rclose(listener));
}

/* ---- counting ---- */

static void traced(int connects, int sockets)
{
	struct sockaddr_storage address;

	CHECK_OK(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	raise(SIGSTOP);
	address = rt_cm_address(port_free());
	for (int i = 0; i < connects; i++)
		connect_refused(&address);
	for (int i = 0; i < sockets; i++)
		CHECK_OK(rclose(rsocket(address.ss_family, SOCK_STREAM, 0)));
	_exit(0);
}

/* Let the thread @tid run to its next system call, with the signal that stopped it. */
static void go_on(pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (sig == (SIGTRAP | 0x80) || sig == SIGTRAP || sig == SIGSTOP)
		sig = 0;
	ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)sig);
}

/*
 * Return the number of system calls that all threads of a process make for this number of connects.
 */
static int count_calls(int connects, int sockets)
{
	pid_t child = fork(), tid;
	int status, stops = 0;

	CHECK(child >= 0);
	if (!child)
		traced(connects, sockets);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFSTOPPED(status));
	CHECK_OK(ptrace(PTRACE_SETOPTIONS, child, NULL,
			PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
	for (tid = child;; tid = waitpid(-1, &status, __WALL)) {
		CHECK(tid > 0);
		if (WIFSTOPPED(status)) {
			stops += WSTOPSIG(status) == (SIGTRAP | 0x80);
			go_on(tid, status);
		} else if (tid == child) {
			CHECK_INT(status, 0);
			return stops / 2; /* at its begin and at its end */
		}
	}
}

static void cheap(void)
{
	int connects = rt_cm_is_kernel() ? MANY : 5 * MANY;
	/* the same number of sockets in both, so that only the connects differ */
	int few = count_calls(FEW, connects - FEW), many = count_calls(connects, 0);
	int each = (many - few) / (connects - FEW);

	printf("  %d system calls for each refused connect\n", each);
	if (rt_cm_is_kernel())
		return;
	/* threads that wait poll repeatedly, the longer the busier the host is */
	CHECK(each <= 4 * CALLS_MAX);
}

static const struct rt_case cases[] = {
	{ "refused", refused },
	{ "in turn with accepted ones", in_turn },
	{ "few system calls", cheap },
};
RT_MAIN(cases)
