/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Streams over RDMA whose two ends shut down at the same time: each learns of the other's end.
 * The window is short, so that each case is repeated many times. */
#include <pthread.h>
#include <stdatomic.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

enum {
	ROUNDS = 100,
	ROUNDS_IN_GUEST = 10, /* a virtual machine may take a second for each */
	DELAY_MAX = 4000,     /* turns of an empty loop */
	BYTES = 100,
};

struct pair {
	int listener, client, server;
	uint16_t port;
	unsigned int seed;
	pthread_barrier_t go;
};

static int rounds(void)
{
	return rt_cm_is_kernel() ? ROUNDS_IN_GUEST : ROUNDS;
}

static struct pair pair_listen(void)
{
	struct pair pair = { .seed = 1 };

	pair.listener = rt_rs_listener(&pair.port);
	CHECK_OK(pthread_barrier_init(&pair.go, NULL, 2));
	return pair;
}

static void pair_connect(struct pair *pair)
{
	pair->client = rt_rs_client(pair->port);
	pair->server = raccept(pair->listener, NULL, NULL);
	CHECK(pair->server >= 0);
}

static void expect_end(int fd)
{
	char byte;

	CHECK_INT(rrecv(fd, &byte, 1, 0), 0);
}

static void delay(unsigned int turns)
{
	for (volatile unsigned int i = 0; i < turns; i++)
		;
}

/* ---- both ends, at a random moment ---- */

static void *server_ends(void *arg)
{
	struct pair *pair = arg;

	pthread_barrier_wait(&pair->go);
	CHECK_OK(rshutdown(pair->server, SHUT_WR));
	expect_end(pair->server);
	return NULL;
}

static void both(void)
{
	struct pair pair = pair_listen();

	for (int i = 0; i < rounds(); i++) {
		pthread_t thread;

		pair_connect(&pair);
		CHECK_OK(pthread_create(&thread, NULL, server_ends, &pair));
		pthread_barrier_wait(&pair.go);
		delay(rand_r(&pair.seed) % DELAY_MAX);
		CHECK_OK(rshutdown(pair.client, SHUT_WR));
		expect_end(pair.client);
		CHECK_OK(pthread_join(thread, NULL));
		CHECK_OK(rclose(pair.client));
		CHECK_OK(rclose(pair.server));
	}
	CHECK_OK(rclose(pair.listener));
}

/* ---- in one thread ---- */

static void twice(void)
{
	struct pair pair = pair_listen();
	char byte;

	for (int i = 0; i < rounds(); i++) {
		pair_connect(&pair);
		CHECK_OK(rshutdown(pair.client, SHUT_WR));
		CHECK_INT(rsend(pair.server, "x", 1, 0), 1);
		CHECK_INT(rrecv(pair.client, &byte, 1, 0), 1);
		CHECK_OK(rshutdown(pair.client, SHUT_WR));
		CHECK_OK(rshutdown(pair.server, SHUT_RDWR));
		expect_end(pair.client);
		CHECK_OK(rclose(pair.client));
		CHECK_OK(rclose(pair.server));
	}
	CHECK_OK(rclose(pair.listener));
}

/* ---- data, shutdown and close of one end, beside the shutdown of the other ---- */

static void *client_closes(void *arg)
{
	struct pair *pair = arg;
	uint8_t bytes[BYTES] = {};

	pthread_barrier_wait(&pair->go);
	CHECK_INT(rsend(pair->client, bytes, BYTES, 0), BYTES);
	CHECK_OK(rshutdown(pair->client, SHUT_WR));
	CHECK_OK(rclose(pair->client));
	return NULL;
}

static void closed(void)
{
	struct pair pair = pair_listen();
	uint8_t bytes[BYTES];

	for (int i = 0; i < rounds(); i++) {
		pthread_t thread;

		pair_connect(&pair);
		CHECK_OK(pthread_create(&thread, NULL, client_closes, &pair));
		pthread_barrier_wait(&pair.go);
		delay(rand_r(&pair.seed) % DELAY_MAX);
		CHECK_OK(rshutdown(pair.server, SHUT_WR));
		CHECK_INT(rrecv(pair.server, bytes, BYTES, MSG_WAITALL), BYTES);
		expect_end(pair.server);
		CHECK_OK(pthread_join(thread, NULL));
		CHECK_OK(rclose(pair.server));
	}
	CHECK_OK(rclose(pair.listener));
}

static const struct rt_case cases[] = {
	{ "both shut down", both },
	{ "one thread, shut down twice", twice },
	{ "one closes", closed },
};
RT_MAIN(cases)
