/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signal handlers that interrupt calls on sockets, and use sockets themselves. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* of siginterrupt() */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "socket_cases.h"

static struct ends ends;
static pthread_t main_thread;
static atomic_bool handled; /* the handler has run once */
static atomic_bool over;    /* the call has returned */
static atomic_long result;  /* result in the handler */
static void (*action)(void);

static void on_signal(int number)
{
	int error = errno;

	(void)number;
	if (!atomic_exchange(&handled, true))
		action();
	errno = error;
}

/* Send a signal repeatedly, because the first ones may come before the call sleeps. */
static void *signals_send(void *unused)
{
	const struct timespec pause = { .tv_nsec = 5000000 };

	(void)unused;
	while (!atomic_load(&over)) {
		pthread_kill(main_thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static pthread_t interrupt_begin(void (*what)(void), int flags)
{
	struct sigaction handler = { .sa_handler = on_signal, .sa_flags = flags };
	sigset_t set, old;
	pthread_t sender;

	action = what;
	main_thread = pthread_self();
	atomic_store(&handled, false);
	atomic_store(&over, false);
	sigaction(SIGUSR1, &handler, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	pthread_create(&sender, NULL, signals_send, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return sender;
}

static void interrupt_end(pthread_t sender)
{
	atomic_store(&over, true);
	pthread_join(sender, NULL);
	signal(SIGUSR1, SIG_IGN);
}

/* Call recv() and interrupt it by @what; the handler has no SA_RESTART. */
static ssize_t interrupted_recv(void (*what)(void))
{
	pthread_t sender = interrupt_begin(what, 0);
	char byte;
	ssize_t n;

	do {
		n = recv(ends.a, &byte, 1, 0);
	} while (n < 0 && errno == EINTR && !atomic_load(&handled));
	interrupt_end(sender);
	return n;
}

static void do_send(void)
{
	atomic_store(&result, send(ends.a, "from the handler", 16, MSG_NOSIGNAL));
}

static void case_handler_sends(void)
{
	ends = ends_open();
	CHECK_ERRNO(interrupted_recv(do_send), EINTR);
	CHECK(atomic_load(&result) == 16);
	CHECK(expect(ends.b, "from the handler"));
	CHECK(send(ends.b, "back", 4, 0) == 4 && expect(ends.a, "back"));
	ends_close(&ends);
}

static void do_close(void)
{
	atomic_store(&result, close(ends.a));
}

static void case_handler_closes(void)
{
	ends = ends_open();
	interrupted_recv(do_close);
	CHECK(atomic_load(&result) == 0);
	CHECK(is_at_end(ends.b));
	close(ends.b);
	close(ends.listener);
}

static void do_connect(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = ends.address;

	atomic_store(&result, connect(fd, (struct sockaddr *)&address, sizeof(address)));
	if (send(fd, "cancel", 6, MSG_NOSIGNAL) != 6)
		atomic_store(&result, -2);
	close(fd);
}

static void case_handler_connects(void)
{
	int fd;

	ends = ends_open();
	CHECK_ERRNO(interrupted_recv(do_connect), EINTR);
	CHECK(atomic_load(&result) == 0);
	fd = accept(ends.listener, NULL, NULL);
	CHECK(fd >= 0 && expect(fd, "cancel") && is_at_end(fd));
	close(fd);
	ends_close(&ends);
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		exit(7); /* with what exit() calls */
	atomic_store(&result, child_status(pid));
}

/* Another child uses the connection, so that the process relays for it. */
static void case_handler_forks(void)
{
	int ready[2];
	pid_t user;
	char byte;

	ends = ends_open();
	CHECK(pipe(ready) == 0);
	user = fork();
	if (user == 0) {
		send(ends.a, "child", 5, 0);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		_exit(recv(ends.a, &byte, 1, 0) == 1 && byte == 'e' ? 0 : 2);
	}
	CHECK(read(ready[0], &byte, 1) == 1 && expect(ends.b, "child"));
	{
		struct ends of_child = ends;

		ends = ends_open();
		CHECK_ERRNO(interrupted_recv(do_fork), EINTR);
		CHECK(atomic_load(&result) == 7);
		ends_close(&ends);
		ends = of_child;
	}
	CHECK(send(ends.b, "e", 1, 0) == 1 && child_status(user) == 0);
	close(ready[0]);
	close(ready[1]);
	ends_close(&ends);
}

/* ---- handlers that do not return ---- */

static sigjmp_buf place;

static void do_jump(void)
{
	siglongjmp(place, 1);
}

static void wait_recv(void)
{
	char byte;

	recv(ends.a, &byte, 1, 0);
}

static void wait_poll(void)
{
	becomes(ends.a, POLLIN);
}

static void wait_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends.a, &set);
	select(ends.a + 1, &set, NULL, NULL, NULL);
}

static int poller;

static void wait_epoll(void)
{
	struct epoll_event event;

	epoll_wait(poller, &event, 1, -1);
}

static void wait_accept(void)
{
	accept(ends.listener, NULL, NULL);
}

static void jump_out_of(void (*wait)(void))
{
	static pthread_t sender; /* a local variable may have changed after sigsetjmp() */

	if (sigsetjmp(place, 1) == 0) {
		sender = interrupt_begin(do_jump, 0);
		while (!atomic_load(&handled))
			wait();
		CHECK(!"the handler jumped");
	} else {
		interrupt_end(sender);
	}
}

static void case_handler_jumps(void)
{
	static void (*const waits[])(void) = { wait_recv, wait_poll, wait_select, wait_epoll,
					       wait_accept };

	SKIP_WITH_THREAD_SANITIZER("ThreadSanitizer does not follow a jump out of a handler");
	for (unsigned int i = 0; i < SIZE(waits); i++) {
		struct epoll_event event = { .events = EPOLLIN };

		ends = ends_open();
		poller = epoll_create1(0);
		CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, ends.a, &event) == 0);
		for (int times = 0; times < 3; times++) {
			jump_out_of(waits[i]);
			CHECK(send(ends.a, "go", 2, 0) == 2 && expect(ends.b, "go"));
			CHECK(send(ends.b, "on", 2, 0) == 2);
			CHECK(epoll_wait(poller, &event, 1, PATIENCE_MS) == 1);
			CHECK(becomes(ends.a, POLLIN) && expect(ends.a, "on"));
		}
		close(poller);
		close(ends.a);
		CHECK(is_at_end(ends.b));
		close(ends.b);
		close(ends.listener);
	}
}

/* ---- signals at any moment ---- */

#define STORM 3000

static int side[2]; /* a second connection, for the handler */
static atomic_int sent;

static void storm_signal(int number)
{
	int error = errno;

	(void)number;
	if (send(side[0], "s", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1)
		atomic_fetch_add(&sent, 1);
	errno = error;
}

static void *storm_send(void *unused)
{
	(void)unused;
	for (int i = 0; i < STORM && !atomic_load(&over); i++) {
		pthread_kill(main_thread, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

static void *echo(void *unused)
{
	char bytes[256];
	ssize_t n;

	(void)unused;
	while ((n = recv(ends.b, bytes, sizeof(bytes), 0)) > 0)
		if (send(ends.b, bytes, n, 0) != n)
			break;
	return NULL;
}

static void *side_count(void *unused)
{
	char bytes[256];
	long count = 0, n;

	(void)unused;
	while ((n = recv(side[1], bytes, sizeof(bytes), 0)) > 0)
		count += n;
	return (void *)count;
}

static void case_handler_storm(void)
{
	struct sigaction handler = { .sa_handler = storm_signal, .sa_flags = SA_RESTART };
	pthread_t echoes, counts, storms;
	struct ends second = ends_open();
	sigset_t set;
	void *count;

	ends = ends_open();
	side[0] = second.a;
	side[1] = second.b;
	main_thread = pthread_self();
	atomic_store(&sent, 0);
	atomic_store(&over, false);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR1, &handler, NULL);
	pthread_create(&echoes, NULL, echo, NULL);
	pthread_create(&counts, NULL, side_count, NULL);
	pthread_create(&storms, NULL, storm_send, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	for (int i = 0; i < 2000 && !case_failed; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%08d", i);
		CHECK(send(ends.a, text, 8, 0) == 8 && expect(ends.a, text));
	}
	atomic_store(&over, true);
	pthread_join(storms, NULL);
	signal(SIGUSR1, SIG_IGN);
	close(second.a);
	pthread_join(counts, &count);
	CHECK(atomic_load(&sent) > 0 && (long)count == atomic_load(&sent));
	close(ends.a);
	pthread_join(echoes, NULL);
	close(ends.b);
	close(ends.listener);
	close(second.b);
	close(second.listener);
}

/* ---- signals without a handler ---- */

static void *ignored_send(void *unused)
{
	(void)unused;
	while (!atomic_load(&over)) {
		pthread_kill(main_thread, SIGCHLD);
		usleep(20);
	}
	return NULL;
}

/* Speak late, so that the reader sleeps. */
static void *late_say(void *unused)
{
	(void)unused;
	while (!atomic_load(&over)) {
		usleep(100);
		if (send(ends.b, "x", 1, MSG_NOSIGNAL) != 1)
			break;
	}
	return NULL;
}

/*
 * An ignored SIGCHLD ends no call, even if another signal has a handler that would end the call.
 */
static void case_handler_of_another(void)
{
	struct sigaction handler = { .sa_handler = on_signal };
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);
	pthread_t signals, says;
	char byte;

	ends = ends_open();
	main_thread = pthread_self();
	atomic_store(&over, false);
	CHECK(sigaction(SIGUSR1, &handler, NULL) == 0);
	CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends.a, &event) == 0);
	pthread_create(&signals, NULL, ignored_send, NULL);
	pthread_create(&says, NULL, late_say, NULL);
	for (int i = 0; i < 2000 && !case_failed; i++) {
		if (i % 2)
			CHECK(epoll_wait(epoll, &event, 1, i % 4 == 1 ? -1 : 60000) == 1);
		CHECK(recv(ends.a, &byte, 1, 0) == 1);
	}
	atomic_store(&over, true);
	pthread_join(signals, NULL);
	pthread_join(says, NULL);
	signal(SIGUSR1, SIG_IGN);
	close(epoll);
	ends_close(&ends);
}

/* ---- the kernel's report on handlers ---- */

static volatile sig_atomic_t came_value, came_code;

static void with_info(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	came_value = info->si_value.sival_int;
	came_code = info->si_code;
}

static void without_info(int number)
{
	came_value = -number;
}

static void case_handler_actions(void)
{
	struct sigaction action_in = { .sa_sigaction = with_info, .sa_flags = SA_SIGINFO }, old;

	SKIP_WITH_THREAD_SANITIZER("ThreadSanitizer delays signals");
	sigemptyset(&action_in.sa_mask);
	sigaddset(&action_in.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &action_in, NULL) == 0);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_sigaction == with_info);
	CHECK(old.sa_flags & SA_SIGINFO && sigismember(&old.sa_mask, SIGUSR2) == 1);
	CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 42 }) == 0);
	CHECK(came_value == 42 && came_code == SI_QUEUE);
	CHECK(signal(SIGUSR1, without_info) == old.sa_handler);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == without_info &&
	      old.sa_flags & SA_RESTART && !(old.sa_flags & SA_SIGINFO));
	CHECK(raise(SIGUSR1) == 0 && came_value == -SIGUSR1);
	CHECK(siginterrupt(SIGUSR1, 1) == 0 && sigaction(SIGUSR1, NULL, &old) == 0 &&
	      !(old.sa_flags & SA_RESTART) && old.sa_handler == without_info);
	siginterrupt(SIGUSR1, 0);
	action_in = (struct sigaction){ .sa_handler = without_info, .sa_flags = SA_RESETHAND };
	CHECK(sigaction(SIGUSR1, &action_in, NULL) == 0 && raise(SIGUSR1) == 0);
	CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
	CHECK(signal(SIGUSR1, SIG_IGN) == SIG_DFL && signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	CHECK_ERRNO(sigaction(SIGKILL, &action_in, NULL), EINVAL);
	CHECK_ERRNO(sigaction(1000, &action_in, NULL), EINVAL);
}

const struct case_row handler_cases[] = {
	{ "handler_sends", case_handler_sends },
	{ "handler_closes", case_handler_closes },
	{ "handler_connects", case_handler_connects },
	{ "handler_forks", case_handler_forks },
	{ "handler_jumps", case_handler_jumps },
	{ "handler_storm", case_handler_storm },
	{ "handler_actions", case_handler_actions },
	{ "handler_of_another", case_handler_of_another },
	{},
};
