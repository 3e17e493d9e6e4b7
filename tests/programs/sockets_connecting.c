/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Results of calls on sockets while they connect. The listener's queue is full, so that a
 * connect lasts until a connection is accepted. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sockets_states.h"

#define ASKED	(POLLIN | POLLOUT | POLLPRI | POLLRDHUP)
#define WAITING 8 /* more connections than the queue of listen(fd, 0) holds, by TCP or RDMA */

struct full {
	struct sockaddr_in address;
	int listener;
	int waiting[WAITING], count; /* the last one's connect is under way */
	pthread_t caller;
};

static int connect_to(int fd, const struct sockaddr_in *address)
{
	return connect(fd, (const struct sockaddr *)address, sizeof(*address));
}

/* Connect until a connect does not complete. */
static void fill(struct full *f)
{
	for (f->count = 0; f->count < WAITING;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		f->waiting[f->count++] = fd;
		if (connect_to(fd, &f->address) < 0 && errno != EINPROGRESS)
			die("connect");
		if (poll(&p, 1, 300) == 0)
			return;
		if (p.revents & POLLERR)
			die("connect, before the queue is full");
	}
	die("a queue that is never full");
}

static struct full full_open(void)
{
	struct full f = { .listener = listener_open(&f.address, 0), .caller = pthread_self() };

	fill(&f);
	return f;
}

/* Accept all, so that there is room again. */
static void accept_all(struct full *f)
{
	for (int i = 0; i < f->count; i++) {
		struct pollfd p = { .fd = f->listener, .events = POLLIN };

		if (poll(&p, 1, 10000) == 1)
			close(accept(f->listener, NULL, NULL));
	}
}

static void full_close(struct full *f)
{
	for (int i = 0; i < f->count; i++)
		close(f->waiting[i]);
	if (f->listener >= 0)
		close(f->listener);
}

static int error_of(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}

/* Complete the connection and transfer a byte. Earlier connections end. */
static void finish(struct full *f, int fd)
{
	struct sockaddr_in peer;
	char byte = 'x';
	int b = -1;

	accept_all(f);
	news_await(fd, POLLOUT);
	events_say("poll at last", poll_now(fd, ASKED));
	error_say("error at last", error_of(fd));
	say("connect at last", connect_to(fd, &f->address));
	say("connect once more", connect_to(fd, &f->address));
	fcntl(fd, F_SETFL, 0);
	say("getpeername at last",
	    getpeername(fd, (struct sockaddr *)&peer, &(socklen_t){ sizeof(peer) }));
	say("send at last", send(fd, &byte, 1, MSG_NOSIGNAL));
	news_await(f->listener, POLLIN);
	fcntl(f->listener, F_SETFL, O_NONBLOCK);
	b = accept(f->listener, NULL, NULL);
	say("received", recv(b, &byte, 1, 0));
	close(b);
	close(fd);
}

static void ask_connecting(int fd, const struct full *f)
{
	struct sockaddr_in other = f->address;
	char byte = 'x';

	other.sin_port = htons(1);
	events_say("poll", poll_now(fd, ASKED));
	error_say("error", error_of(fd));
	say("getpeername",
	    getpeername(fd, (struct sockaddr *)&other, &(socklen_t){ sizeof(other) }));
	say("send", send(fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
	say("receive", recv(fd, &byte, 1, MSG_DONTWAIT));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	say("connect again", connect_to(fd, &f->address));
	say("listen", listen(fd, 1));
	say("bind", bind(fd, (struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET },
			 sizeof(other)));
}

enum {
	NO_SIGNALS = -1,
};

/* A connect that is ended before it completes, and its result. @flags: of the signal handler */
static void unfinished(const char *how, int type, const struct timeval *time, int flags, bool again)
{
	struct full f = full_open();
	int fd = socket(AF_INET, type, 0);

	state = how;
	if (time)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, time, sizeof(*time));
	if (flags != NO_SIGNALS)
		handler_set(flags);
	alarms(flags != NO_SIGNALS);
	say("connect", connect_to(fd, &f.address));
	if (again)
		say("connect again, waiting", connect_to(fd, &f.address));
	alarms(false);
	ask_connecting(fd, &f);
	finish(&f, fd);
	full_close(&f);
}

void part_connecting(void)
{
	const struct timeval little = { .tv_usec = 200000 }, much = { .tv_sec = 60 };

	unfinished("connecting without waiting", SOCK_STREAM | SOCK_NONBLOCK, NULL, NO_SIGNALS,
		   false);
	unfinished("connecting for a time", SOCK_STREAM, &little, NO_SIGNALS, true);
	unfinished("connecting, interrupted", SOCK_STREAM, NULL, 0, true);
	unfinished("connecting for a time, interrupted", SOCK_STREAM, &much, SA_RESTART, false);
}

static void *accept_later(void *arg)
{
	usleep(500000);
	accept_all(arg);
	return NULL;
}

/* Handlers with SA_RESTART, and a program that calls connect() again itself. */
void part_connecting_resumed(void)
{
	struct full f = full_open();
	int fd = socket(AF_INET, SOCK_STREAM, 0), r, rounds = 0;
	pthread_t other;

	state = "connecting, resumed";
	handler_set(SA_RESTART);
	pthread_create(&other, NULL, accept_later, &f);
	alarms(true);
	say("connect", connect_to(fd, &f.address));
	alarms(false);
	pthread_join(other, NULL);
	close(fd);
	full_close(&f);

	f = full_open();
	state = "connecting, interrupted again and again";
	handler_set(0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	pthread_create(&other, NULL, accept_later, &f);
	alarms(true);
	do {
		r = connect_to(fd, &f.address);
	} while (r < 0 && errno == EINTR && ++rounds < 1000);
	say("connect", r);
	alarms(false);
	pthread_join(other, NULL);
	close(fd);
	full_close(&f);
}

/* ---- ended by this process ---- */

static void *connect_now(void *arg)
{
	const struct full *f = arg;
	int fd = f->waiting[f->count - 1];

	if (connect_to(fd, &f->address) == 0)
		return NULL;
	return (void *)(intptr_t)errno;
}

static int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Check that another connect works as before. */
static void another_connects(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address, 8), fd = socket(AF_INET, SOCK_STREAM, 0);

	say("another connects", connect_to(fd, &address));
	close(fd);
	close(listener);
}

static void ended(const char *how, void (*end)(struct full *f, int fd))
{
	int before = descriptors(), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct full f = full_open(), threads;
	pthread_t thread;
	void *error;

	state = how;
	f.waiting[f.count++] = fd;
	threads = f;
	pthread_create(&thread, NULL, connect_now, &threads);
	usleep(200000);
	f.caller = thread;
	end(&f, fd);
	pthread_join(thread, &error);
	if (error == PTHREAD_CANCELED)
		printf("%s: cancelled\n", state);
	else
		error_say("connect", (int)(intptr_t)error);
	if (f.waiting[f.count - 1] >= 0) {
		events_say("poll", poll_now(fd, ASKED));
		error_say("error", error_of(fd));
	} else {
		f.count--;
	}
	full_close(&f);
	another_connects();
	for (int i = 0; i < 100 && descriptors() > before; i++)
		usleep(20000);
	say("more descriptors", descriptors() > before);
}

static void by_shutdown(struct full *f, int fd)
{
	(void)f;
	say("shutdown", shutdown(fd, SHUT_RDWR));
}

static void by_shutdown_of_writing(struct full *f, int fd)
{
	(void)f;
	say("shutdown", shutdown(fd, SHUT_WR));
}

static void by_cancel(struct full *f, int fd)
{
	(void)fd;
	pthread_cancel(f->caller);
}

/* TCP continues the connect, and the connection ends after it was established. */
static void by_close(struct full *f, int fd)
{
	say("close", close(fd));
	f->waiting[f->count - 1] = -1;
	f->count--;
	accept_all(f);
	f->count++;
}

/* ThreadSanitizer does not see the locks that the cleanup of a cancelled thread takes. */
#ifdef __SANITIZE_THREAD__
#define CANCELS_ARE_THEIRS true
#else
#define CANCELS_ARE_THEIRS false
#endif

void part_connecting_ended(void)
{
	ended("connecting, shut down", by_shutdown);
	ended("connecting, shut down for writing", by_shutdown_of_writing);
	if (CANCELS_ARE_THEIRS)
		printf("connecting, cancelled: skipped: a sanitizer does not bear it\n");
	else
		ended("connecting, cancelled", by_cancel);
	ended("connecting, closed", by_close);
}

/* ---- ended by the peer ---- */

/* Start a process that listens; return its address in *ret. */
static pid_t listening_start(struct sockaddr_in *ret)
{
	int p[2];
	pid_t pid;

	if (pipe(p) < 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(p[1], STDOUT_FILENO);
		execl("/proc/self/exe", "sockets_states", "listen_by_itself", NULL);
		_exit(99);
	}
	close(p[1]);
	if (read(p[0], ret, sizeof(*ret)) != sizeof(*ret))
		die("a process that listens");
	close(p[0]);
	return pid;
}

static void peer_dies(const char *how, int number, bool waits)
{
	struct full f = { .listener = -1 };
	pid_t pid = listening_start(&f.address);
	pthread_t thread;
	void *error = NULL;
	int fd;

	state = how;
	fill(&f);
	fd = f.waiting[f.count - 1];
	if (waits) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		f.waiting[f.count++] = fd;
		pthread_create(&thread, NULL, connect_now, &f);
		usleep(200000);
	}
	kill(pid, number);
	waitpid(pid, NULL, 0);
	if (waits) {
		pthread_join(thread, &error);
		error_say("connect", (int)(intptr_t)error);
	} else {
		news_await(fd, POLLOUT);
		events_say("poll", poll_now(fd, ASKED));
		error_say("error", error_of(fd));
	}
	full_close(&f);
}

void part_connecting_peer_dies(void)
{
	peer_dies("connecting, peer killed", SIGKILL, true);
	peer_dies("connecting, peer exits", SIGTERM, true);
	peer_dies("connecting without waiting, peer killed", SIGKILL, false);
	peer_dies("connecting without waiting, peer exits", SIGTERM, false);
}

static void leave(int number)
{
	exit(number);
}

void part_listen(void)
{
	struct sockaddr_in address;

	signal(SIGTERM, leave);
	listener_open(&address, 0);
	if (write(STDOUT_FILENO, &address, sizeof(address)) != sizeof(address))
		die("write");
	close(STDOUT_FILENO);
	for (;;)
		pause();
}
