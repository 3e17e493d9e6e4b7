/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Duplicates of descriptors, and the numbers that sockets take. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket_cases.h"

static void case_duplicates(void)
{
	struct ends e = ends_open();
	int copy = dup(e.a), high = fcntl(e.a, F_DUPFD, 300), more, plain;

	CHECK(copy >= 0 && high >= 300);
	more = fcntl(high, F_DUPFD_CLOEXEC, 400);
	CHECK(more >= 400 && fcntl(more, F_GETFD) == FD_CLOEXEC && !fcntl(high, F_GETFD));
	CHECK(close(e.a) == 0); /* the first one first */
	CHECK(say(copy, "1") && say(high, "2") && say(more, "3"));
	CHECK(expect(e.b, "123"));
	CHECK(fcntl(high, F_SETFL, O_NONBLOCK) == 0 && fcntl(copy, F_GETFL) & O_NONBLOCK);
	CHECK(close(high) == 0 && close(more) == 0);
	CHECK(is_quiet(e.b));
	/* A file that replaces the last duplicate ends the connection. */
	plain = open("/dev/null", O_RDWR);
	CHECK(dup2(plain, copy) == copy);
	CHECK(is_at_end(e.b));
	CHECK(say(copy, "to nobody"));
	/* Put the accepted socket in a file's place. */
	CHECK(dup3(e.b, plain, O_CLOEXEC) == plain && fcntl(plain, F_GETFD) == FD_CLOEXEC);
	CHECK(dup2(e.b, e.b) == e.b);
	CHECK_ERRNO(dup3(e.b, e.b, 0), EINVAL);
	CHECK(close(e.b) == 0);
	CHECK(is_at_end(plain));
	CHECK_ERRNO(close(e.b), EBADF);
	close(plain);
	close(copy);
	close(e.listener);
}

/* Take the lowest free numbers repeatedly. */
struct grabber {
	atomic_int wanted; /* a number that always belongs to the program; -1: end */
	atomic_bool got;
};

static void *numbers_grab(void *arg)
{
	struct grabber *g = arg;
	int wanted;

	while ((wanted = atomic_load(&g->wanted)) >= 0) {
		int fd = open("/dev/null", O_RDONLY);

		if (fd == wanted && fd == atomic_load(&g->wanted))
			atomic_store(&g->got, true);
		else if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* A descriptor that cannot be duplicated replaces none. */
static void case_dup2_of_none(void)
{
	struct ends e = ends_open();

	CHECK_ERRNO(dup2(999, e.a), EBADF);
	CHECK_ERRNO(dup3(e.b, e.a, 1), EINVAL);
	CHECK(say(e.a, "is there") && expect(e.b, "is there"));
	ends_close(&e);
}

/* A number that dup2() replaces is free at no moment. */
static void case_dup2_at_once(void)
{
	struct grabber g = { .wanted = 99999 };
	int plain = open("/dev/null", O_RDONLY);
	pthread_t other;
	char byte;

	pthread_create(&other, NULL, numbers_grab, &g);
	for (int round = 0; round < 100 && !atomic_load(&g.got); round++) {
		struct ends e = ends_open();
		int copy = dup(e.b);

		atomic_store(&g.wanted, e.a);
		CHECK(dup2(plain, e.a) == e.a);
		atomic_store(&g.wanted, copy);
		CHECK(dup2(plain, copy) == copy);
		atomic_store(&g.wanted, e.b);
		CHECK(dup2(plain, e.b) == e.b);
		atomic_store(&g.wanted, 99999);
		CHECK(copy >= 0 && read(e.a, &byte, 1) == 0 && read(e.b, &byte, 1) == 0);
		close(copy);
		ends_close(&e);
	}
	CHECK(!atomic_load(&g.got));
	atomic_store(&g.wanted, -1);
	pthread_join(other, NULL);
	close(plain);
}

static void case_copies_of_listener(void)
{
	struct ends e = ends_open();
	int copy = dup(e.listener), a = socket(AF_INET, SOCK_STREAM, 0), b;

	CHECK(close(e.listener) == 0);
	CHECK(connect(a, (struct sockaddr *)&e.address, sizeof(e.address)) == 0);
	b = accept(copy, NULL, NULL);
	CHECK(b >= 0 && say(a, "x") && expect(b, "x"));
	close(a);
	close(b);
	e.listener = copy;
	ends_close(&e);
}

static void case_close_range(void)
{
	struct ends e = ends_open();
	int far = fcntl(e.a, F_DUPFD, 700);

	CHECK(close(e.a) == 0);
	CHECK(close_range(700, 710, 0) == 0);
	CHECK(is_at_end(e.b));
	CHECK_ERRNO(write(far, "x", 1), EBADF);
	far = open("/dev/null", O_RDONLY);
	CHECK(dup2(far, 701) == 701 && close_range(700, 710, CLOSE_RANGE_CLOEXEC) == 0);
	CHECK(fcntl(701, F_GETFD) == FD_CLOEXEC && close(701) == 0);
	close(far);
	close(e.b);
	close(e.listener);
}

/* Each connection takes only one number, because programs index tables of connections by it. */
static void case_numbers(void)
{
	struct sockaddr_in address;
	int listener = listener_open(&address), ends[24];

	for (unsigned int i = 0; i < SIZE(ends); i += 2) {
		ends[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(connect(ends[i], (struct sockaddr *)&address, sizeof(address)) == 0);
		ends[i + 1] = accept(listener, NULL, NULL);
		CHECK(say(ends[i], "x") && expect(ends[i + 1], "x"));
	}
	for (unsigned int i = 0; i < SIZE(ends); i++) {
		CHECK(ends[i] >= 0 && ends[i] < (int)SIZE(ends) + 16);
		close(ends[i]);
	}
	close(listener);
}

const struct case_row descriptor_cases[] = {
	{ "duplicates", case_duplicates },
	{ "dup2_at_once", case_dup2_at_once },
	{ "dup2_of_none", case_dup2_of_none },
	{ "copies_of_listener", case_copies_of_listener },
	{ "close_range", case_close_range },
	{ "numbers", case_numbers },
	{},
};
