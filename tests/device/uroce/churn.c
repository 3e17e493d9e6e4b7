/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device is opened and closed while datagrams arrive at its socket. The progress thread may
 * handle a datagram while another thread closes that socket. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "tests/lib/rt.h"

enum {
	ROUNDS = 200,
	PORT = 4791,
};

static void *send_always(void *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const atomic_bool *stop = arg;

	CHECK(fd >= 0);
	while (!atomic_load_explicit(stop, memory_order_relaxed))
		(void)!sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
	return NULL;
}

static void datagrams_meanwhile(void)
{
	atomic_bool stop = false;
	pthread_t sender;

	CHECK_OK(pthread_create(&sender, NULL, send_always, &stop));
	for (int i = 0; i < ROUNDS; i++)
		rt_close(rt_open());
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	CHECK_OK(pthread_join(sender, NULL));
}

static const struct rt_case cases[] = {
	{ "datagrams_meanwhile", datagrams_meanwhile },
};
RT_MAIN(cases)
