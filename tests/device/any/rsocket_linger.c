/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data sent before a close, to a peer that does not read at that moment. */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define SIZE	30000 /* less than the buffers of a connection hold */
#define LONG_MS 60000

/* ---- the peer: stops after connecting, and then reads all ---- */

static void take_all(int fd)
{
	static uint8_t bytes[SIZE];
	char byte;

	CHECK_INT(rrecv(fd, bytes, SIZE, MSG_WAITALL), SIZE);
	VERIFY(bytes, SIZE, 1);
	CHECK_INT(rrecv(fd, &byte, 1, 0), 0);
}

static void stopped(int socket, int takes)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;
	struct pollfd p;

	rt_tell(socket, port);
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	p = (struct pollfd){ .fd = fd, .events = POLLOUT };
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	rt_tell(socket, 1);
	raise(SIGSTOP);
	if (takes)
		take_all(fd);
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

/* Return a socket whose peer is stopped. */
static int connected(struct rt_child *child)
{
	int fd = rt_rs_client(rt_hear(child->socket)), status;

	rt_hear(child->socket);
	CHECK_INT(waitpid(child->pid, &status, WUNTRACED), child->pid);
	CHECK(WIFSTOPPED(status));
	return fd;
}

static void all_send(int fd)
{
	static uint8_t bytes[SIZE];

	rt_fill(bytes, SIZE, 1);
	CHECK_INT(rsend(fd, bytes, SIZE, 0), SIZE);
}

/* ---- the cases ---- */

/* Whether the number @fd does not name the file of @same any more. A thread of the library may
 * have reused the number at once. */
static bool is_free(int fd, int same)
{
	long order = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, fd, same);

	return order < 0 ? errno == EBADF : order != 0;
}

/* Close does not wait for the peer, which gets all data when it continues. */
static void close_before_delivery(int flags)
{
	struct rt_child child = rt_child_start(stopped, 1);
	int fd = connected(&child), same = dup(fd);

	CHECK(same >= 0);
	all_send(fd);
	CHECK_OK(rfcntl(fd, F_SETFL, flags));
	CHECK_OK(rclose(fd));
	CHECK(is_free(fd, same));
	CHECK_OK(close(same));
	CHECK_INT(rsend(fd, "x", 1, 0), -1);
	CHECK_INT(errno, EBADF);
	CHECK_OK(kill(child.pid, SIGCONT));
	rt_child_finish(&child);
}

static void delivered_later(void)
{
	close_before_delivery(0);
}

static void nonblocking(void)
{
	close_before_delivery(O_NONBLOCK);
}

static void sender(int socket, int arg)
{
	int fd = rt_rs_client(rt_hear(socket));

	CHECK_OK(rfcntl(fd, F_SETFL, O_NONBLOCK));
	rt_hear(socket);
	all_send(fd);
	CHECK_OK(rclose(fd));
	rt_tell(socket, 1);
}

/* So does a process that calls exit() after the close. */
static void delivered_by_exit(void)
{
	struct rt_child peer = rt_child_start(stopped, 1), child = rt_child_start(sender, 0);
	int status;

	rt_tell(child.socket, rt_hear(peer.socket));
	rt_hear(peer.socket);
	CHECK_INT(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	rt_tell(child.socket, 1);
	rt_hear(child.socket);
	usleep(50000); /* in exit() by now; if not, the case tests nothing and passes */
	CHECK_OK(kill(peer.pid, SIGCONT));
	rt_child_finish(&peer);
	rt_child_finish(&child);
}

static bool forked;

/* AddressSanitizer calls this before it checks for leaks. In a child it would wait for a lock
 * that a thread of the parent held. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return forked;
}

/* A child does not deliver data of its parent's sockets, and does not wait for that. */
static void nothing_to_wait_for(void)
{
	struct rt_child child = rt_child_start(stopped, 1);
	int fd = connected(&child), status;
	pid_t pid;

	all_send(fd);
	CHECK_OK(rfcntl(fd, F_SETFL, O_NONBLOCK));
	CHECK_OK(rclose(fd));
	pid = fork();
	if (pid == 0) {
		forked = true;
		exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK_OK(kill(child.pid, SIGCONT));
	rt_child_finish(&child);
}

static struct linger linger_of(int fd)
{
	struct linger linger = {};
	socklen_t size = sizeof(linger);

	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size));
	CHECK_INT(size, sizeof(linger));
	return linger;
}

static void option(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	struct rt_child child = rt_child_start(stopped, 0);
	int fd = connected(&child);

	CHECK_INT(linger_of(fd).l_onoff, 0);
	CHECK_INT(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(int)), -1);
	CHECK_INT(errno, EINVAL);
	linger.l_linger = 7;
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	CHECK_INT(linger_of(fd).l_linger, 7);
	linger.l_linger = 0;
	CHECK_OK(rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	CHECK_INT(linger_of(fd).l_onoff, 1);
	all_send(fd);
	CHECK_OK(rclose(fd)); /* and no thread waits any more */
	CHECK_OK(kill(child.pid, SIGCONT));
	rt_child_finish(&child);
}

static const struct rt_case cases[] = {
	{ "delivered_later", delivered_later },
	{ "nonblocking", nonblocking },
	{ "delivered_by_exit", delivered_by_exit },
	{ "nothing_to_wait_for", nothing_to_wait_for },
	{ "option", option },
};
RT_MAIN(cases)
