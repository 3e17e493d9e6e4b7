/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt_child.h"

void rt_tell(int socket, uint32_t word)
{
	CHECK(write(socket, &word, sizeof(word)) == sizeof(word));
}

uint32_t rt_hear(int socket)
{
	uint32_t word;

	CHECK(read(socket, &word, sizeof(word)) == sizeof(word));
	return word;
}

void rt_child_bind(pid_t parent)
{
	CHECK_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
	/* The parent may have ended already. getppid() returns 0 for a parent in another PID
	 * namespace. */
	if (getppid() && getppid() != parent)
		_exit(1);
}

struct rt_child rt_child_start(void (*run)(int socket, int arg), int arg)
{
	pid_t parent = getpid();
	struct rt_child child;
	int sockets[2];

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	child.pid = fork();
	CHECK(child.pid >= 0);
	child.socket = sockets[child.pid ? 0 : 1];
	close(sockets[child.pid ? 1 : 0]);
	if (!child.pid) {
		rt_child_bind(parent);
		run(child.socket, arg);
		exit(0);
	}
	return child;
}

void rt_child_finish(struct rt_child *child)
{
	int status;

	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(child->socket);
}

void rt_child_kill(struct rt_child *child)
{
	int status;

	CHECK_OK(kill(child->pid, SIGKILL));
	CHECK(waitpid(child->pid, &status, 0) == child->pid);
	close(child->socket);
}
