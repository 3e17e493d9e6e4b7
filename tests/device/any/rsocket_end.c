/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of streams over RDMA: of one direction, during a transfer, by a kill, by another
 * thread. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_child.h"
#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define PIECE	  50000
#define TOTAL	  (3u << 20) /* more than all buffers of a connection hold */
#define LONG_MS	  60000
#define EVENTS_MS 5000
#define QUIET_MS  500 /* time in which a peer acknowledges everything */

static uint8_t byte_at(size_t i)
{
	return i * 2654435761u >> 11;
}

/* Send up to @total bytes, or until a failure. Return the number of bytes sent. */
static size_t pattern_send(int fd, size_t total)
{
	static __thread uint8_t bytes[PIECE];
	size_t sent = 0;

	while (sent < total) {
		size_t size = total - sent < PIECE ? total - sent : PIECE;
		ssize_t n;

		for (size_t i = 0; i < size; i++)
			bytes[i] = byte_at(sent + i);
		n = rsend(fd, bytes, size, MSG_NOSIGNAL);
		if (n < 0)
			break;
		sent += n;
	}
	return sent;
}

/* Receive up to @total bytes, or until the end or an error. Return the number of bytes received. */
static size_t pattern_receive(int fd, size_t total)
{
	static __thread uint8_t bytes[PIECE];
	size_t got = 0;

	while (got < total) {
		size_t most = total - got < PIECE ? total - got : PIECE;
		ssize_t n = rrecv(fd, bytes, most, 0);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(got + i))
				FAIL("byte %zu is 0x%x, not 0x%x", got + i, bytes[i],
				     byte_at(got + i));
		got += n;
	}
	return got;
}

static void expect_end(int fd)
{
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 0);
}

static void expect_no_send(int fd)
{
	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, EPIPE);
}

/* Fill the free room. Return the number of bytes that fit now. */
static size_t fill_some(int fd, size_t sent)
{
	static uint8_t bytes[PIECE];
	size_t before = sent;
	ssize_t n;

	for (;;) {
		for (size_t i = 0; i < PIECE; i++)
			bytes[i] = byte_at(sent + i);
		n = rsend(fd, bytes, PIECE, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			break;
		sent += n;
	}
	CHECK_INT(errno, EAGAIN);
	return sent - before;
}

/* Send until no more bytes fit, also after bytes on their way have arrived, which makes room in
 * the send buffer. Return the number of bytes sent. */
static size_t fill(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	size_t sent = 0;

	do
		sent += fill_some(fd, sent);
	while (rpoll(&p, 1, QUIET_MS) == 1);
	return sent;
}

/* ---- the other process ---- */

enum role {
	ROLE_SINK,	 /* reads a little, and closes when it is told */
	ROLE_DEAF,	 /* never reads; waits for its end */
	ROLE_FULL,	 /* sends until nothing more fits, and waits for its end */
	ROLE_STOPPED,	 /* sends something and stops */
	ROLE_ENDED,	 /* ends its direction and stops */
	ROLE_ENDS_FIRST, /* ends its direction, then receives TOTAL bytes */
	ROLE_ENDS_LAST,	 /* receives TOTAL bytes and the end, then sends TOTAL bytes */
	ROLE_EXITS,	 /* sends TOTAL, and exits with all open */
};

static void role_play(int socket, int fd, int role)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	switch (role) {
	case ROLE_SINK:
		CHECK_INT(pattern_receive(fd, 1000), 1000);
		rt_hear(socket);
		break;
	case ROLE_DEAF:
		for (;;)
			pause();
	case ROLE_FULL:
		CHECK_INT(rpoll(&p, 1, LONG_MS), 1); /* data may still be on its way */
		CHECK(fill(fd) > 0);
		rt_tell(socket, 1);
		for (;;)
			pause();
	case ROLE_ENDED:
		CHECK_OK(rshutdown(fd, SHUT_WR));
		/* fall through */
	case ROLE_STOPPED:
		rt_tell(socket, 1);
		raise(SIGSTOP);
		break;
	case ROLE_ENDS_FIRST:
		CHECK_OK(rshutdown(fd, SHUT_WR));
		CHECK_INT(pattern_receive(fd, TOTAL), TOTAL);
		expect_end(fd);
		expect_no_send(fd);
		break;
	case ROLE_ENDS_LAST:
		CHECK_INT(pattern_receive(fd, TOTAL), TOTAL);
		expect_end(fd);
		CHECK_INT(pattern_send(fd, TOTAL), TOTAL);
		CHECK_OK(rshutdown(fd, SHUT_WR));
		expect_no_send(fd);
		expect_end(fd);
		break;
	case ROLE_EXITS:
		CHECK_INT(pattern_send(fd, TOTAL), TOTAL);
		exit(0);
	}
}

static void server(int socket, int role)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd;

	rt_tell(socket, port);
	fd = raccept(listening, NULL, NULL);
	CHECK(fd >= 0);
	role_play(socket, fd, role);
	CHECK_OK(rclose(fd));
	CHECK_OK(rclose(listening));
}

static int connected(enum role role, struct rt_child *ret_child)
{
	*ret_child = rt_child_start(server, role);
	return rt_rs_client(rt_hear(ret_child->socket));
}

/* ---- one direction ---- */

static void peer_ends_first(void)
{
	struct rt_child child;
	int fd = connected(ROLE_ENDS_FIRST, &child);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };

	expect_end(fd);
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK_INT(p.revents, POLLIN | POLLRDHUP); /* no POLLHUP: one direction is open */
	CHECK_INT(pattern_send(fd, TOTAL), TOTAL);
	CHECK_OK(rshutdown(fd, SHUT_WR));
	expect_no_send(fd);
	expect_end(fd);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void peer_ends_last(void)
{
	struct rt_child child;
	int fd = connected(ROLE_ENDS_LAST, &child);

	CHECK_INT(pattern_send(fd, TOTAL), TOTAL);
	CHECK_OK(rshutdown(fd, SHUT_WR));
	CHECK_INT(pattern_receive(fd, TOTAL), TOTAL);
	expect_end(fd);
	/* As on TCP, there is no connection any more after both ends. */
	CHECK_INT(rshutdown(fd, SHUT_WR), -1);
	CHECK_INT(errno, ENOTCONN);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* ---- during a transfer ---- */

static void *endless_sender(void *arg)
{
	int fd = *(int *)arg;

	pattern_send(fd, SIZE_MAX);
	CHECK(errno == EPIPE || errno == ECONNRESET || errno == ETIMEDOUT || errno == EIO);
	return NULL;
}

/* A sender, with or without room, learns that its peer closed. */
static void closed_while_sending(void)
{
	struct rt_child child;
	int fd = connected(ROLE_SINK, &child);
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, endless_sender, &fd));
	rt_tell(child.socket, 1);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void deaf_peer_closed(void)
{
	struct rt_child child;
	int fd = connected(ROLE_SINK, &child);
	pthread_t thread;

	fill(fd);
	CHECK_OK(pthread_create(&thread, NULL, endless_sender, &fd));
	rt_tell(child.socket, 1);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

static void deaf_peer_killed(void)
{
	struct rt_child child;
	int fd = connected(ROLE_DEAF, &child);
	pthread_t thread;

	fill(fd);
	CHECK_OK(pthread_create(&thread, NULL, endless_sender, &fd));
	rt_child_kill(&child);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(fd));
}

/* A receiver that reads late gets the bytes sent before the sender was killed, and then an
 * error. The last bytes may be missing. */
static void full_peer_killed(void)
{
	struct rt_child child;
	int fd = connected(ROLE_FULL, &child);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char byte;

	rt_hear(child.socket);
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	rt_child_kill(&child);
	errno = 0;
	CHECK(pattern_receive(fd, SIZE_MAX) > 0);
	CHECK_INT(errno, ECONNRESET);
	CHECK_INT(rrecv(fd, &byte, 1, 0), 0); /* the error is reported once */
	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, EPIPE);
	CHECK_OK(rclose(fd));
}

/*
 * Return a stream whose peer was killed with a message to it under way, once both have arrived that
 * report this: the failed message, and the end of the connection. On a busy machine the call that
 * is to ask for an event of the message may end before that, or its event belongs to an earlier
 * message. Therefore wait for the hang-up as well.
 */
static int unanswered(enum role role)
{
	struct rt_child child;
	int fd = connected(role, &child), status;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct epoll_event events[2];

	rt_hear(child.socket);
	CHECK_INT(waitpid(child.pid, &status, WUNTRACED), child.pid);
	CHECK(WIFSTOPPED(status));
	if (role == ROLE_ENDED)
		expect_end(fd);
	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), 1);
	p.events = POLLPRI; /* no news, but the wait asks for an event of the next completion */
	CHECK_INT(rpoll(&p, 1, 1), 0);
	rt_child_kill(&child);
	for (int ms = 0; ms < EVENTS_MS && epoll_wait(fd, events, 2, LONG_MS) < 2; ms++)
		usleep(1000);
	p.events = 0;
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	return fd;
}

/* The process has ended, and its host has not vanished: no ETIMEDOUT. */
static void unanswered_send(void)
{
	int fd = unanswered(ROLE_STOPPED);

	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, ECONNRESET);
	expect_end(fd); /* the error is reported once */
	expect_no_send(fd);
	CHECK_OK(rclose(fd));
}

static void unanswered_receive(void)
{
	int fd = unanswered(ROLE_STOPPED);
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), -1);
	CHECK_INT(errno, ECONNRESET);
	expect_end(fd);
	expect_no_send(fd);
	CHECK_OK(rclose(fd));
}

static void unanswered_poll(void)
{
	int fd = unanswered(ROLE_STOPPED), error;
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP };
	socklen_t size = sizeof(error);

	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK_INT(p.revents, POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, ECONNRESET);
	CHECK_OK(rclose(fd));
}

/* A peer that has ended its direction lacks no data: this is no error. */
static void unanswered_after_end(void)
{
	int fd = unanswered(ROLE_ENDED);

	expect_end(fd);
	expect_no_send(fd);
	CHECK_OK(rclose(fd));
}

static void unready_server(int socket, int unused)
{
	uint16_t port;
	int listening = rt_rs_listener(&port);

	rt_tell(socket, port);
	rt_hear(socket);
	CHECK(listening >= 0);
}

/*
 * The peer exits before it learns that its answer has arrived: the ready message, which follows the
 * request, is lost. This side is connected, therefore its calls do not report a refused connect.
 */
static void exited_unready_peer(void)
{
	struct rt_child child = rt_child_start(unready_server, 0);
	char byte;
	int fd;

	CHECK_OK(setenv("UROCE_FAULTS", "drop=2+:0x64", 1)); /* datagrams */
	fd = rt_rs_client(rt_hear(child.socket));
	rt_tell(child.socket, 1);
	CHECK_INT(rrecv(fd, &byte, 1, 0), -1);
	CHECK_INT(errno, ECONNRESET);
	expect_end(fd);
	expect_no_send(fd);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* As with the kernel: the streams of a process that exits end in order. */
static void exited_peer(void)
{
	struct rt_child child;
	int fd = connected(ROLE_EXITS, &child);

	CHECK_INT(pattern_receive(fd, TOTAL), TOTAL);
	expect_end(fd);
	CHECK_OK(rclose(fd));
	rt_child_finish(&child);
}

/* Close while the peer has no room: the bytes that it took so far arrive. */
static void *late_reader(void *arg)
{
	int fd = *(int *)arg;
	size_t *got = (size_t *)((int *)arg + 2);

	*got = pattern_receive(fd, SIZE_MAX);
	expect_end(fd);
	return NULL;
}

struct pair {
	int here, there;
	size_t count;
};

static struct pair pair_new(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port);
	struct pair pair = { .there = rt_rs_client(port) };

	pair.here = raccept(listening, NULL, NULL);
	CHECK(pair.here >= 0);
	CHECK_OK(rclose(listening));
	return pair;
}

static void closed_when_full(void)
{
	struct pair pair = pair_new();
	size_t sent = fill(pair.there);
	pthread_t thread;

	CHECK_OK(rclose(pair.there));
	CHECK_OK(pthread_create(&thread, NULL, late_reader, &pair));
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_INT(pair.count, sent);
	CHECK_OK(rclose(pair.here));
}

/* ---- by another thread ---- */

static void *receiver(void *arg)
{
	const struct pair *pair = arg;
	char byte;

	CHECK(rrecv(pair->here, &byte, 1, 0) <= 0);
	return NULL;
}

static void *poller(void *arg)
{
	const struct pair *pair = arg;
	struct pollfd p = { .fd = pair->here, .events = POLLIN };

	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK(p.revents & POLLIN);
	return NULL;
}

static void *sender(void *arg)
{
	struct pair *pair = arg;

	endless_sender(&pair->here);
	return NULL;
}

static void *accepter(void *arg)
{
	int fd = raccept(*(int *)arg, NULL, NULL);

	CHECK(fd >= 0);
	CHECK_OK(rclose(fd));
	CHECK_INT(raccept(*(int *)arg, NULL, NULL), -1);
	CHECK_INT(errno, EINVAL);
	return NULL;
}

/* If a thread shuts a socket down, threads that wait for it learn that. */
static void shut_down_by_thread(void)
{
	void *(*const functions[])(void *) = { receiver, receiver, poller, sender };
	struct pair pair = pair_new();
	pthread_t threads[RT_COUNT(functions)];

	for (int i = 0; i < RT_COUNT(functions); i++)
		CHECK_OK(pthread_create(&threads[i], NULL, functions[i], &pair));
	usleep(20000);
	CHECK_OK(rshutdown(pair.here, SHUT_RDWR));
	for (int i = 0; i < RT_COUNT(functions); i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	CHECK_OK(rclose(pair.here));
	CHECK_OK(rclose(pair.there));
}

static void refused_at(uint16_t port)
{
	struct sockaddr_storage address = rt_cm_address(port);
	int fd = rsocket(address.ss_family, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK_INT(rconnect(fd, (struct sockaddr *)&address, rt_rs_size(&address)), -1);
	CHECK_INT(errno, ECONNREFUSED);
	CHECK_OK(rclose(fd));
}

/* Return a non-blocking connect in progress. If the answer comes during the call, try again. */
static int connect_refused_later(const struct sockaddr_storage *address)
{
	for (;;) {
		int fd = rsocket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

		CHECK(fd >= 0);
		CHECK_INT(rconnect(fd, (const struct sockaddr *)address, rt_rs_size(address)), -1);
		if (errno == EINPROGRESS)
			return fd;
		CHECK_INT(errno, ECONNREFUSED);
		CHECK_OK(rclose(fd));
	}
}

/* The error of a non-blocking connect is reported once. */
static void refused_later(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), fd, error = 0;
	struct sockaddr_storage address = rt_cm_address(port);
	struct pollfd p = { .events = POLLOUT };
	socklen_t size = sizeof(error);

	CHECK_OK(rclose(listening));
	fd = p.fd = connect_refused_later(&address);
	CHECK_INT(rpoll(&p, 1, LONG_MS), 1);
	CHECK_INT(p.revents, POLLOUT | POLLERR | POLLHUP);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, ECONNREFUSED);
	CHECK_OK(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
	CHECK_INT(error, 0);
	CHECK_INT(rsend(fd, "x", 1, MSG_NOSIGNAL), -1);
	CHECK_INT(errno, EPIPE);
	CHECK_OK(rclose(fd));
}

/* The same, although the peer reads neither data nor the end. */
static void shut_down_with_stopped_peer(void)
{
	void *(*const functions[])(void *) = { receiver, poller, sender };
	pthread_t threads[RT_COUNT(functions)];
	struct rt_child child;
	struct pair pair = { .here = connected(ROLE_STOPPED, &child) };
	int status;

	rt_hear(child.socket);
	CHECK_INT(waitpid(child.pid, &status, WUNTRACED), child.pid);
	CHECK(WIFSTOPPED(status));
	for (int i = 0; i < RT_COUNT(functions); i++)
		CHECK_OK(pthread_create(&threads[i], NULL, functions[i], &pair));
	usleep(20000);
	CHECK_OK(rshutdown(pair.here, SHUT_RDWR));
	for (int i = 0; i < RT_COUNT(functions); i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	rt_child_kill(&child);
	CHECK_OK(rclose(pair.here));
}

static void listener_shut_down_by_thread(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port), waiting;
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, accepter, &listening));
	usleep(20000);
	CHECK_OK(rshutdown(listening, SHUT_WR)); /* has no effect on a listener */
	waiting = rt_rs_client(port);
	expect_end(waiting); /* the connection was accepted, and closed */
	CHECK_OK(rshutdown(listening, SHUT_RDWR));
	CHECK_OK(pthread_join(thread, NULL));
	refused_at(port);
	CHECK_OK(rclose(waiting));
	CHECK_OK(rclose(listening));
}

/* ---- both directions of one socket, in threads of their own ---- */

#define WRITERS 3

static void *letters_write(void *arg)
{
	struct pair *pair = arg;
	char text[64];

	for (int i = 0; i < 2000; i++) {
		memset(text, 'a' + i % 26, sizeof(text));
		CHECK_INT(rsend(pair->here, text, sizeof(text), 0), sizeof(text));
	}
	return NULL;
}

static void *letters_read(void *arg)
{
	struct pair *pair = arg;
	char text[64];

	for (int i = 0; i < 2000; i++) {
		CHECK_INT(rrecv(pair->there, text, sizeof(text), MSG_WAITALL), sizeof(text));
		for (size_t j = 1; j < sizeof(text); j++)
			CHECK_INT(text[j], text[0]); /* of one writer, and by one reader */
	}
	return NULL;
}

static void many_threads(void)
{
	struct pair ahead = pair_new(), back = { ahead.there, ahead.here, 0 };
	pthread_t threads[4 * WRITERS];

	for (int i = 0; i < WRITERS; i++) {
		CHECK_OK(pthread_create(&threads[4 * i], NULL, letters_write, &ahead));
		CHECK_OK(pthread_create(&threads[4 * i + 1], NULL, letters_read, &ahead));
		CHECK_OK(pthread_create(&threads[4 * i + 2], NULL, letters_write, &back));
		CHECK_OK(pthread_create(&threads[4 * i + 3], NULL, letters_read, &back));
	}
	for (int i = 0; i < 4 * WRITERS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
	CHECK_OK(rclose(ahead.here));
	CHECK_OK(rclose(ahead.there));
}

/* ---- MSG_WAITALL ---- */

static void *total_sender(void *arg)
{
	struct pair *pair = arg;

	CHECK_INT(pattern_send(pair->there, TOTAL + 10), TOTAL + 10);
	CHECK_OK(rshutdown(pair->there, SHUT_WR));
	return NULL;
}

/* More than the buffer holds, and less than was asked for at the end. */
static void wait_all(void)
{
	struct pair pair = pair_new();
	uint8_t *bytes = malloc(TOTAL);
	pthread_t thread;

	CHECK_OK(pthread_create(&thread, NULL, total_sender, &pair));
	CHECK_INT(rrecv(pair.here, bytes, TOTAL, MSG_WAITALL), TOTAL);
	for (size_t i = 0; i < TOTAL; i++)
		CHECK_INT(bytes[i], byte_at(i));
	CHECK_INT(rrecv(pair.here, bytes, 100, MSG_WAITALL), 10);
	CHECK_INT(rrecv(pair.here, bytes, 100, MSG_WAITALL), 0);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(rclose(pair.here));
	CHECK_OK(rclose(pair.there));
	free(bytes);
}

static const struct rt_case cases[] = {
	{ "refused_later", refused_later },
	{ "peer_ends_first", peer_ends_first },
	{ "peer_ends_last", peer_ends_last },
	{ "closed_while_sending", closed_while_sending },
	{ "deaf_peer_closed", deaf_peer_closed },
	{ "deaf_peer_killed", deaf_peer_killed },
	{ "full_peer_killed", full_peer_killed },
	{ "unanswered_send", unanswered_send },
	{ "unanswered_receive", unanswered_receive },
	{ "unanswered_poll", unanswered_poll },
	{ "unanswered_after_end", unanswered_after_end },
	{ "exited_unready_peer", exited_unready_peer },
	{ "exited_peer", exited_peer },
	{ "closed_when_full", closed_when_full },
	{ "shut_down_by_thread", shut_down_by_thread },
	{ "shut_down_with_stopped_peer", shut_down_with_stopped_peer },
	{ "listener_shut_down_by_thread", listener_shut_down_by_thread },
	{ "many_threads", many_threads },
	{ "wait_all", wait_all },
};
RT_MAIN(cases)
