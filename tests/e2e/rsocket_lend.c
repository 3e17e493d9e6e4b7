/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Large sends that wait: the device may read the program's own memory meanwhile. When the call
 * returns, however it ends, that is the program's again, and what it does there is not seen.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

enum {
	LARGE = 1 << 20,
	ROUNDS = 30,
	PIECE = 70000, /* that is received at once */
};

struct ends {
	int here, there, listener;
};

static struct ends ends_open(void)
{
	uint16_t port;
	struct ends e;

	e.listener = rt_rs_listener(&port);
	e.here = rt_rs_client(port);
	e.there = raccept(e.listener, NULL, NULL);
	CHECK(e.there >= 0);
	return e;
}

static void ends_close(struct ends *e)
{
	CHECK_OK(rclose(e->here));
	CHECK_OK(rclose(e->there));
	CHECK_OK(rclose(e->listener));
}

static uint8_t byte_at(uint64_t i)
{
	return i * 2654435761u >> 13;
}

static void pattern(uint8_t *to, uint64_t from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = byte_at(from + i);
}

struct receiver {
	pthread_t thread;
	int fd;
	unsigned int pause_us; /* between pieces */
	uint64_t got;
};

/* Until the end. */
static void *receive(void *arg)
{
	struct receiver *r = arg;
	uint8_t *bytes = malloc(PIECE);
	ssize_t n;

	while ((n = rrecv(r->fd, bytes, PIECE, 0)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] != byte_at(r->got + i))
				FAIL("byte %llu is 0x%x, not 0x%x",
				     (unsigned long long)(r->got + i), bytes[i],
				     byte_at(r->got + i));
		r->got += n;
		if (r->pause_us)
			usleep(r->pause_us);
	}
	CHECK_INT(n, 0);
	free(bytes);
	return NULL;
}

static void receiver_start(struct receiver *r, int fd, unsigned int pause_us)
{
	*r = (struct receiver){ .fd = fd, .pause_us = pause_us };
	CHECK_OK(pthread_create(&r->thread, NULL, receive, r));
}

/* All of it came, and nothing else. */
static void receiver_end(struct receiver *r, const struct ends *e, uint64_t sent)
{
	CHECK_OK(rshutdown(e->here, SHUT_WR));
	CHECK_OK(pthread_join(r->thread, NULL));
	CHECK(r->got == sent);
}

static void used_again(void)
{
	struct ends e = ends_open();
	uint8_t *bytes = malloc(LARGE);
	struct receiver r;
	uint64_t sent = 0;

	receiver_start(&r, e.there, 300);
	for (int i = 0; i < ROUNDS; i++) {
		size_t size = LARGE - i * 4567;

		pattern(bytes, sent, size);
		CHECK_INT(rsend(e.here, bytes, size, 0), size);
		memset(bytes, 0xee, LARGE);
		sent += size;
	}
	receiver_end(&r, &e, sent);
	free(bytes);
	ends_close(&e);
}

static void unmapped(void)
{
	struct ends e = ends_open();
	struct receiver r;
	uint64_t sent = 0;

	receiver_start(&r, e.there, 100);
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t *bytes = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(bytes != MAP_FAILED);
		pattern(bytes, sent, LARGE);
		CHECK_OK(mprotect(bytes, LARGE, PROT_READ));
		CHECK_INT(rwrite(e.here, bytes, LARGE), LARGE);
		CHECK_OK(munmap(bytes, LARGE));
		sent += LARGE;
	}
	receiver_end(&r, &e, sent);
	ends_close(&e);
}

static void pieces(void)
{
	static const size_t sizes[] = { 3, 400000, 1, 0, 200000, 65536, 131072, 9 };
	struct iovec iov[RT_COUNT(sizes)];
	struct ends e = ends_open();
	struct receiver r;
	uint64_t sent = 0;

	receiver_start(&r, e.there, 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = sent;

		for (unsigned int j = 0; j < RT_COUNT(sizes); j++) {
			iov[j] = (struct iovec){ malloc(sizes[j] + 1), sizes[j] };
			pattern(iov[j].iov_base, sent, sizes[j]);
			sent += sizes[j];
		}
		CHECK_INT(rwritev(e.here, iov, RT_COUNT(sizes)), sent - before);
		for (unsigned int j = 0; j < RT_COUNT(sizes); j++) {
			memset(iov[j].iov_base, 0xee, sizes[j]);
			free(iov[j].iov_base);
		}
	}
	receiver_end(&r, &e, sent);
	ends_close(&e);
}

static void nothing(int number)
{
}

/* As often as it is interrupted, what it says that it sent is what arrives. */
static void interrupted(void)
{
	struct sigaction action = { .sa_handler = nothing }, old;
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = {};
	struct ends e = ends_open();
	uint8_t *bytes = malloc(LARGE);
	struct receiver r;
	uint64_t sent = 0;

	receiver_start(&r, e.there, 5000);
	CHECK_OK(sigaction(SIGALRM, &action, &old));
	CHECK_OK(setitimer(ITIMER_REAL, &often, NULL));
	while (sent < 6 * LARGE) {
		ssize_t n;

		pattern(bytes, sent, LARGE);
		n = rsend(e.here, bytes, LARGE, 0);
		CHECK(n > 0 || errno == EINTR);
		memset(bytes, 0xee, LARGE);
		sent += n > 0 ? n : 0;
	}
	CHECK_OK(setitimer(ITIMER_REAL, &never, NULL));
	CHECK_OK(sigaction(SIGALRM, &old, NULL));
	receiver_end(&r, &e, sent);
	free(bytes);
	ends_close(&e);
}

/* Nobody receives: the call ends in time, and what it sent is there later. */
static void in_time(void)
{
	struct timeval time = { .tv_usec = 30000 };
	struct ends e = ends_open();
	uint8_t *bytes = malloc(LARGE);
	struct receiver r;
	uint64_t sent = 0;

	CHECK_OK(rsetsockopt(e.here, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)));
	for (;;) {
		ssize_t n;

		pattern(bytes, sent, LARGE);
		n = rsend(e.here, bytes, LARGE, 0);
		memset(bytes, 0xee, LARGE);
		if (n < 0)
			break;
		CHECK(n < LARGE);
		sent += n;
	}
	CHECK_INT(errno, EAGAIN);
	CHECK(sent > 0);
	receiver_start(&r, e.there, 0);
	receiver_end(&r, &e, sent);
	free(bytes);
	ends_close(&e);
}

static void *endless_send(void *arg)
{
	uint8_t *bytes = calloc(1, LARGE);
	ssize_t n;

	while ((n = rsend(*(int *)arg, bytes, LARGE, MSG_NOSIGNAL)) > 0)
		memset(bytes, 0xee, LARGE);
	CHECK(errno == EPIPE || errno == ECONNRESET);
	free(bytes);
	return NULL;
}

/* Either end ends it in the middle. */
static void ended(void)
{
	pthread_t thread;
	uint8_t byte;

	for (int i = 0; i < 6; i++) {
		struct ends e = ends_open();

		CHECK_OK(pthread_create(&thread, NULL, endless_send, &e.here));
		CHECK_INT(rrecv(e.there, &byte, 1, 0), 1);
		usleep(i * 1000);
		CHECK_OK(rshutdown(i & 1 ? e.here : e.there, SHUT_RDWR));
		CHECK_OK(pthread_join(thread, NULL));
		ends_close(&e);
	}
}

static const struct rt_case cases[] = {
	{ "used_again", used_again },	{ "unmapped", unmapped }, { "pieces", pieces },
	{ "interrupted", interrupted }, { "in_time", in_time },	  { "ended", ended },
};
RT_MAIN(cases)
