/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MSG_PEEK, MSG_WAITALL and MSG_DONTWAIT of streams, also beside a waiting thread. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define PIECE	 100
#define QUIET_MS 500
#define TOTAL	 (8 << 20) /* more than all buffers of a connection hold */

static int here, there;

static void pair_open(void)
{
	uint16_t port;
	int listening = rt_rs_listener(&port);

	there = rt_rs_client(port);
	here = raccept(listening, NULL, NULL);
	CHECK(here >= 0);
	CHECK_OK(rclose(listening));
}

static void pair_close(void)
{
	CHECK_OK(rclose(here));
	CHECK_OK(rclose(there));
}

static void piece_send(uint32_t number)
{
	uint8_t bytes[PIECE];

	rt_fill(bytes, PIECE, number);
	CHECK_INT(rsend(there, bytes, PIECE, 0), PIECE);
}

static void *second_send(void *arg)
{
	usleep(20000);
	piece_send(2);
	return NULL;
}

/* MSG_PEEK with MSG_WAITALL waits for all bytes and removes none. */
static void peek_all(void)
{
	uint8_t bytes[2 * PIECE];
	pthread_t thread;

	pair_open();
	piece_send(1);
	CHECK_OK(pthread_create(&thread, NULL, second_send, NULL));
	for (int i = 0; i < 3; i++) {
		memset(bytes, 0, sizeof(bytes));
		CHECK_INT(rrecv(here, bytes, sizeof(bytes), i < 2 ? MSG_PEEK | MSG_WAITALL : 0),
			  sizeof(bytes));
		VERIFY(bytes, PIECE, 1);
		VERIFY(bytes + PIECE, PIECE, 2);
	}
	CHECK_OK(pthread_join(thread, NULL));
	/* less than all, and the end */
	piece_send(3);
	CHECK_OK(rshutdown(there, SHUT_WR));
	CHECK_INT(rrecv(here, bytes, sizeof(bytes), MSG_PEEK | MSG_WAITALL), PIECE);
	VERIFY(bytes, PIECE, 3);
	pair_close();
}

static size_t fill(void)
{
	static uint8_t bytes[1 << 16];
	struct pollfd p = { .fd = there, .events = POLLOUT };
	size_t sent = 0;
	ssize_t n;

	do {
		while ((n = rsend(there, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
			sent += n;
		CHECK_INT(errno, EAGAIN);
	} while (rpoll(&p, 1, QUIET_MS) == 1);
	return sent;
}

static void *total_send(void *arg)
{
	uint8_t *bytes = malloc(TOTAL);

	rt_fill(bytes, TOTAL, 7);
	CHECK_INT(rsend(there, bytes, TOTAL, 0), TOTAL);
	free(bytes);
	return NULL;
}

/* A call does not wait for more than the buffer can hold. */
static void peek_more_than_fits(void)
{
	uint8_t *bytes = malloc(TOTAL);
	pthread_t thread;
	ssize_t seen;

	pair_open();
	CHECK_OK(pthread_create(&thread, NULL, total_send, NULL));
	seen = rrecv(here, bytes, TOTAL, MSG_PEEK | MSG_WAITALL);
	CHECK(seen > 0 && seen < TOTAL);
	CHECK_INT(rrecv(here, bytes, TOTAL, MSG_WAITALL), TOTAL);
	VERIFY(bytes, TOTAL, 7);
	CHECK_OK(pthread_join(thread, NULL));
	pair_close();
	free(bytes);
}

static void peek_pieces(void)
{
	uint8_t bytes[PIECE] = {};
	struct iovec parts[3] = { { bytes, 10 }, { bytes + 10, 0 }, { bytes + 10, PIECE - 10 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 3 };
	struct pollfd p;

	pair_open();
	p = (struct pollfd){ .fd = here, .events = POLLIN };
	piece_send(1);
	CHECK_INT(rpoll(&p, 1, -1), 1);
	CHECK_INT(rrecvmsg(here, &msg, MSG_PEEK), PIECE);
	VERIFY(bytes, PIECE, 1);
	memset(bytes, 0, sizeof(bytes));
	CHECK_INT(rrecvmsg(here, &msg, 0), PIECE);
	VERIFY(bytes, PIECE, 1);
	pair_close();
}

/* More pieces than the messages that a peer accepts before it reads: they are sent together. */
static void many_pieces(void)
{
	enum {
		PIECES = 1000,
		LENGTH = 60,
	};
	static uint8_t bytes[PIECES * LENGTH], got[PIECES * LENGTH];
	static struct iovec parts[PIECES + 1];
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = PIECES + 1 };

	rt_fill(bytes, sizeof(bytes), 3);
	for (int i = 0; i < PIECES; i++)
		parts[i] = (struct iovec){ bytes + i * LENGTH, LENGTH };
	parts[PIECES] = (struct iovec){ NULL, 0 };
	pair_open();
	CHECK_INT(rsendmsg(there, &msg, MSG_DONTWAIT), sizeof(bytes));
	CHECK_INT(rrecv(here, got, sizeof(got), MSG_WAITALL), sizeof(got));
	VERIFY(got, sizeof(got), 3);
	parts[0] = parts[PIECES]; /* none before, none behind */
	CHECK_INT(rsendmsg(there, &(struct msghdr){ .msg_iov = parts, .msg_iovlen = 2 }, 0),
		  LENGTH);
	CHECK_INT(rrecv(here, got, LENGTH, MSG_WAITALL), LENGTH);
	CHECK(!memcmp(got, bytes + LENGTH, LENGTH));
	pair_close();
}

/* ---- beside a thread that waits ---- */

static atomic_bool waits;

static void *wait_for_piece(void *arg)
{
	uint8_t bytes[PIECE];

	atomic_store(&waits, true);
	CHECK_INT(rrecv(here, bytes, PIECE, MSG_WAITALL), PIECE);
	return NULL;
}

static void *wait_for_room(void *arg)
{
	static uint8_t bytes[1 << 20];

	atomic_store(&waits, true);
	CHECK_INT(rsend(there, bytes, sizeof(bytes), 0), sizeof(bytes));
	return NULL;
}

static pthread_t waiter(void *(*run)(void *))
{
	pthread_t thread;

	atomic_store(&waits, false);
	CHECK_OK(pthread_create(&thread, NULL, run, NULL));
	while (!atomic_load(&waits))
		sched_yield();
	usleep(20000); /* asleep by now; if not, the case tests nothing and passes */
	return thread;
}

static void expect_nothing(void)
{
	char byte;

	CHECK_INT(rrecv(here, &byte, 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
}

static void impatient_receiver(void)
{
	uint8_t bytes[PIECE] = {};
	pthread_t thread;
	ssize_t n;
	char byte;

	pair_open();
	thread = waiter(wait_for_piece);
	expect_nothing();
	piece_send(1);
	CHECK_OK(pthread_join(thread, NULL));
	/* and during a transfer, unless it has not begun yet */
	thread = waiter(wait_for_piece);
	CHECK_INT(rsend(there, bytes, 40, 0), 40);
	usleep(20000);
	n = rrecv(here, &byte, 1, MSG_DONTWAIT);
	CHECK(n == 1 || errno == EAGAIN);
	piece_send(1);
	CHECK_OK(pthread_join(thread, NULL));
	pair_close();
}

static void impatient_sender(void)
{
	static uint8_t bytes[1 << 16];
	pthread_t thread;

	pair_open();
	fill();
	thread = waiter(wait_for_room);
	CHECK_INT(rsend(there, "x", 1, MSG_DONTWAIT), -1);
	CHECK_INT(errno, EAGAIN);
	for (size_t got = 0; got < 1 << 20;) {
		ssize_t n = rrecv(here, bytes, sizeof(bytes), 0);

		CHECK(n > 0);
		got += n;
	}
	CHECK_OK(pthread_join(thread, NULL));
	pair_close();
}

static const struct rt_case cases[] = {
	{ "peek_all", peek_all },
	{ "peek_more_than_fits", peek_more_than_fits },
	{ "peek_pieces", peek_pieces },
	{ "many_pieces", many_pieces },
	{ "impatient_receiver", impatient_receiver },
	{ "impatient_sender", impatient_sender },
};
RT_MAIN(cases)
