/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Children end with their parent if it fails. Each child has the only writing end of a pipe, and
 * writes to it if it is still alive long after its parent has gone. Values that a child reports
 * arrive unchanged: a process number, for example, may have 22 bits. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/lib/rt_child.h"

enum {
	LONG_AFTER = 120, /* seconds */
	NOBODY = 65534,
};

static int pipe_of_child[2];

static void live_on(void)
{
	close(pipe_of_child[0]);
	for (int i = 0; i < LONG_AFTER; i++)
		sleep(1);
	CHECK(write(pipe_of_child[1], "!", 1) == 1);
}

static void plain(int socket, int arg)
{
	rt_tell(socket, 0);
	live_on();
}

static void as_nobody(int socket, int arg)
{
	CHECK_OK(setuid(NOBODY));
	rt_child_bind(arg);
	rt_tell(socket, 0);
	live_on();
}

/* Bind to the parent only after it has gone. */
static void late(int socket, int arg)
{
	rt_tell(socket, 0);
	while (getppid() == arg)
		usleep(1000);
	rt_child_bind(arg);
	live_on();
}

/* Act as the parent in a separate process, and fail as soon as the child runs. */
static void parent_fails(void (*run)(int socket, int arg))
{
	struct rt_child child;

	close(pipe_of_child[0]);
	CHECK(freopen("/dev/null", "w", stdout)); /* the failure is expected */
	child = rt_child_start(run, getpid());
	rt_hear(child.socket);
	FAIL("as it is to");
}

static void child_is_gone(void)
{
	char byte;

	close(pipe_of_child[1]);
	CHECK_INT(read(pipe_of_child[0], &byte, 1), 0);
}

static void child_of_failed(void (*run)(int socket, int arg))
{
	int status;
	pid_t pid;

	CHECK_OK(pipe2(pipe_of_child, O_CLOEXEC));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		parent_fails(run);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	child_is_gone();
}

static void failed(void)
{
	child_of_failed(plain);
}

static void other_credentials(void)
{
	if (geteuid())
		rt_skip("who is not root already has no credentials to change");
	child_of_failed(as_nobody);
}

static void gone_before(void)
{
	pid_t parent;

	CHECK_OK(pipe2(pipe_of_child, O_CLOEXEC));
	fflush(stdout);
	parent = fork();
	CHECK(parent >= 0);
	if (!parent) {
		int sockets[2];

		/* Not by rt_child_start(), which binds the child at once. */
		parent = getpid();
		CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
		if (fork()) {
			rt_hear(sockets[0]);
			_exit(0);
		}
		late(sockets[1], parent);
		_exit(0);
	}
	CHECK(waitpid(parent, NULL, 0) == parent);
	child_is_gone();
}

static void number_say(int socket, int arg)
{
	rt_tell(socket, arg);
}

static void number_heard(void)
{
	const int number = 4194303;
	struct rt_child child = rt_child_start(number_say, number);

	CHECK_INT(rt_hear(child.socket), number);
	rt_child_finish(&child);
}

static const struct rt_case cases[] = {
	{ "failed", failed },
	{ "other_credentials", other_credentials },
	{ "gone_before", gone_before },
	{ "number_heard", number_heard },
};
RT_MAIN(cases)
