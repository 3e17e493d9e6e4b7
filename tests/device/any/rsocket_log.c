/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The log names the RDMA device of a socket, which programs cannot tell from TCP. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

static void says_once(const char *text)
{
	const char *first = strstr(rt_log_text(), text);

	if (!first)
		FAIL("the log does not say \"%s\" but:\n%s", text, rt_log_text());
	CHECK(!strstr(first + 1, text));
}

/* Each end of a stream has a line with its descriptor. */
static void stream(void)
{
	int listener, client, server;
	char line[40], byte = 'x';
	uint16_t port;

	rt_log_capture();
	listener = rt_rs_listener(&port);
	client = rt_rs_client(port);
	server = raccept(listener, NULL, NULL);
	CHECK(server >= 0);
	CHECK_INT(rsend(client, &byte, 1, 0), 1);
	CHECK_INT(rrecv(server, &byte, 1, 0), 1);
	snprintf(line, sizeof(line), "rsocket %d: RDMA by ", client);
	says_once(line);
	snprintf(line, sizeof(line), "rsocket %d: RDMA by ", server);
	says_once(line);
	snprintf(line, sizeof(line), ":%u\n", port);
	says_once(line); /* the client's peer */
	CHECK_OK(rclose(server));
	CHECK_OK(rclose(client));
	CHECK_OK(rclose(listener));
}

enum {
	LONG_MS = 60000
};

/* The first datagrams of two sockets go by UDP. The line appears when the route is known. */
static void datagrams(void)
{
	struct sockaddr_storage name = rt_cm_address(0);
	int server, client, ms = 0;
	socklen_t size = sizeof(name);
	char line[60], byte = 'x';

	rt_log_capture();
	server = rsocket(name.ss_family, SOCK_DGRAM, 0);
	client = rsocket(name.ss_family, SOCK_DGRAM, 0);
	CHECK(server >= 0 && client >= 0);
	CHECK_OK(rbind(server, (struct sockaddr *)&name, rt_rs_size(&name)));
	CHECK_OK(rgetsockname(server, (struct sockaddr *)&name, &size));
	CHECK_OK(rconnect(client, (struct sockaddr *)&name, rt_rs_size(&name)));
	snprintf(line, sizeof(line), "rsocket %d: datagrams: RDMA by ", client);
	for (; ms < LONG_MS && !strstr(rt_log_text(), line); ms += 10) {
		CHECK_INT(rsend(client, &byte, 1, 0), 1);
		CHECK_INT(rrecv(server, &byte, 1, 0), 1);
		usleep(10000);
	}
	for (int i = 0; i < 10; i++) {
		CHECK_INT(rsend(client, &byte, 1, 0), 1);
		CHECK_INT(rrecv(server, &byte, 1, 0), 1);
	}
	says_once(line);
	CHECK_OK(rclose(client));
	CHECK_OK(rclose(server));
}

static const struct rt_case cases[] = {
	{ "stream", stream },
	{ "datagrams", datagrams },
};
RT_MAIN(cases)
