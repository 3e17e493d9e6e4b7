/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Effects on the peer of a process that leaves with sockets open: in each state, in each way. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets_states.h"

#define SMALL 5000 /* bytes that any buffer takes */

static const char *const ways[] = { "exit", "_exit", "SIGKILL", "exec", "exec with it open" };

enum {
	BY_EXIT,
	BY__EXIT,
	BY_SIGKILL,
	BY_EXEC,
	BY_EXEC_OPEN,
	WAYS
};

static const char *const situations[] = { "connected",	       "data sent",
					  "data unread",       "half closed here",
					  "half closed there", "accepted by nobody",
					  "listening",	       "connecting" };

enum {
	CONNECTED,
	SENT,
	UNREAD,
	CLOSED_HERE,
	CLOSED_THERE,
	UNACCEPTED,
	LISTENING,
	CONNECTING,
	SITUATIONS
};

/* ---- the process that leaves ---- */

static void leave(int way)
{
	switch (way) {
	case BY_EXIT:
		exit(0);
	case BY_SIGKILL:
		raise(SIGKILL);
		/* fall through */
	case BY_EXEC:
	case BY_EXEC_OPEN:
		execlp("sleep", "sleep", "0.3", NULL);
		/* fall through */
	default:
		_exit(0);
	}
}

static int leaver_connect(const struct sockaddr_in *address, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	    !(flags & SOCK_NONBLOCK && errno == EINPROGRESS))
		die("connect, to leave");
	return fd;
}

/* Read the address of the parent's listener from stdin, and write an own address to stdout. */
void part_leave(void)
{
	static const char bytes[SMALL];
	int situation = atoi(getenv("SITUATION")), way = atoi(getenv("WAY")), fd;
	struct sockaddr_in address, own;
	char byte;

	if (read(STDIN_FILENO, &address, sizeof(address)) != sizeof(address))
		die("an address");
	if (situation == CONNECTING) {
		leaver_connect(&address, SOCK_NONBLOCK | (way == BY_EXEC_OPEN ? 0 : SOCK_CLOEXEC));
		leave(way);
	}
	if (situation >= UNACCEPTED) {
		fd = listener_open(&own, 8);
		if (way != BY_EXEC_OPEN)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (write(STDOUT_FILENO, &own, sizeof(own)) != sizeof(own))
			die("write");
		read(STDIN_FILENO, &byte, 1); /* the parent has connected */
		leave(way);
	}
	fd = leaver_connect(&address, way == BY_EXEC_OPEN ? 0 : SOCK_CLOEXEC);
	if (situation == SENT && send(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("send");
	if (situation == CLOSED_HERE)
		shutdown(fd, SHUT_WR);
	read(STDIN_FILENO, &byte, 1); /* the parent has accepted and done its part */
	if (situation == UNREAD)
		news_await(fd, POLLIN);
	if (situation == CLOSED_THERE && recv(fd, &byte, 1, 0) != 0)
		die("the end");
	leave(way);
}

/* ---- the process that stays ---- */

struct leaver {
	pid_t pid;
	int in, out;
};

static void variable_set(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static struct leaver leaver_start(int situation, int way)
{
	struct leaver l;
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe");
	variable_set("SITUATION", situation);
	variable_set("WAY", way);
	l.pid = fork();
	if (l.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/proc/self/exe", "sockets_states", "leave_by_itself", NULL);
		_exit(99);
	}
	close(in[0]);
	close(out[1]);
	l.in = in[1];
	l.out = out[0];
	return l;
}

static void leaver_end(struct leaver *l)
{
	int status = 0;

	waitpid(l->pid, &status, 0);
	close(l->in);
	close(l->out);
}

/* Print everything that arrives, and how the stream ends. */
static void rest_say(int fd)
{
	const struct timeval time = { .tv_sec = 20 };
	static char bytes[SMALL];
	long got = 0;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		got += n;
	say("end", n);
	say("bytes before it", got);
	say("send", send(fd, bytes, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET);
}

static void stay_connected(int situation, int way)
{
	static const char bytes[SMALL];
	struct sockaddr_in address;
	int listener = listener_open(&address, 8), fd;
	struct leaver l = leaver_start(situation, way);

	if (write(l.in, &address, sizeof(address)) != sizeof(address))
		die("write");
	fd = accept(listener, NULL, NULL);
	if (situation == UNREAD && send(fd, bytes, SMALL, 0) != SMALL)
		die("send");
	if (situation == CLOSED_THERE)
		shutdown(fd, SHUT_WR);
	if (write(l.in, "x", 1) != 1)
		die("write");
	rest_say(fd);
	leaver_end(&l);
	close(fd);
	close(listener);
}

static void stay_connecting(int situation, int way)
{
	struct sockaddr_in address = {};
	struct leaver l = leaver_start(situation, way);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (write(l.in, &address, sizeof(address)) != sizeof(address) ||
	    read(l.out, &address, sizeof(address)) != sizeof(address))
		die("a process that listens");
	if (situation == UNACCEPTED)
		say("connect", connect(fd, (struct sockaddr *)&address, sizeof(address)));
	if (write(l.in, "x", 1) != 1)
		die("write");
	if (situation == UNACCEPTED) {
		rest_say(fd);
		leaver_end(&l);
	} else {
		leaver_end(&l);
		say("connect", connect(fd, (struct sockaddr *)&address, sizeof(address)));
	}
	close(fd);
}

/* Return the bytes of the next connection that has data. Earlier connections may have gone too
 * soon to be accepted. */
static long next_bytes(int listener)
{
	static char bytes[SMALL];
	long got = 0;

	while (!got) {
		int fd = accept(listener, NULL, NULL);
		ssize_t n;

		if (fd < 0)
			die("accept");
		while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
			got += n;
		close(fd);
	}
	return got;
}

/* A process that leaves in the middle of a connect does not hinder others. */
static void stay_listening(int way)
{
	struct sockaddr_in address;
	int listener = listener_open(&address, 8);
	struct leaver l = leaver_start(CONNECTING, way);

	if (write(l.in, &address, sizeof(address)) != sizeof(address))
		die("write");
	leaver_end(&l);
	l = leaver_start(SENT, BY_EXIT);
	if (write(l.in, &address, sizeof(address)) != sizeof(address) || write(l.in, "x", 1) != 1)
		die("write");
	say("bytes of the next one", next_bytes(listener));
	leaver_end(&l);
	close(listener);
}

void part_leaving(void)
{
	static char how[64];

	for (int situation = 0; situation < SITUATIONS; situation++) {
		for (int way = 0; way < WAYS; way++) {
			snprintf(how, sizeof(how), "%s, %s", situations[situation], ways[way]);
			state = how;
			if (situation == CONNECTING)
				stay_listening(way);
			else if (situation < UNACCEPTED)
				stay_connected(situation, way);
			else
				stay_connecting(situation, way);
		}
	}
}
