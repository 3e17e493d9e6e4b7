/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Properties of UDP that a datagram socket has: its port, its options, its flags, and broadcast. */
#include <netinet/in.h>

#include <rdma/rsocket.h>

#include "tests/lib/rt_cm.h"
#include "tests/lib/rt_rsocket.h"

#define FAILS(call, number)                 \
	do {                                \
		CHECK_INT((call), -1);      \
		CHECK_INT(errno, (number)); \
	} while (0)

static struct sockaddr *any(struct sockaddr_storage *name)
{
	return (struct sockaddr *)name;
}

static struct sockaddr_storage name_of(int fd)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);

	CHECK_OK(rgetsockname(fd, any(&name), &size));
	return name;
}

static uint16_t port_of(const struct sockaddr_storage *name)
{
	return ntohs(name->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)name)->sin6_port
						 : ((struct sockaddr_in *)name)->sin_port);
}

/* Open a socket at the device's address. */
static int socket_bound(void)
{
	struct sockaddr_storage name = rt_cm_address(0);
	int fd = rsocket(name.ss_family, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rbind(fd, any(&name), rt_rs_size(&name)));
	return fd;
}

/* Open a socket at all IPv4 addresses. */
static int socket_everywhere(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0);
	CHECK_OK(rbind(fd, (struct sockaddr *)&name, sizeof(name)));
	return fd;
}

/* ---- its port ---- */

/* Receive a byte; return its sender. */
static struct sockaddr_storage expect_byte(int fd)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char byte;

	CHECK_INT(rrecvfrom(fd, &byte, 1, 0, any(&from), &size), 1);
	return from;
}

/* An unbound socket gets a port on its first send, and keeps it after its peer was removed. */
static void port_without_peer(void)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC }, to, from;
	int a, b = socket_bound();
	uint16_t port;

	to = name_of(b);
	a = rsocket(to.ss_family, SOCK_DGRAM, 0);
	CHECK(a >= 0);
	CHECK_OK(rconnect(a, any(&to), rt_rs_size(&to)));
	from = name_of(a);
	port = port_of(&from);
	for (int i = 0; i < 20; i++) {
		CHECK_INT(rsend(a, "x", 1, 0), 1);
		from = expect_byte(b);
		CHECK_INT(port_of(&from), port);
		CHECK_INT(rsendto(b, "y", 1, 0, any(&from), rt_rs_size(&from)), 1);
		expect_byte(a);
	}
	CHECK_OK(rconnect(a, any(&none), sizeof(struct sockaddr)));
	for (int i = 0; i < 20; i++) {
		CHECK_INT(rsendto(a, "x", 1, 0, any(&to), rt_rs_size(&to)), 1);
		from = expect_byte(b);
		CHECK_INT(port_of(&from), port);
		from = name_of(a);
		CHECK_INT(port_of(&from), port);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* ---- options ---- */

static int option_set(int fd, int level, int name, int value)
{
	return rsetsockopt(fd, level, name, &value, sizeof(value));
}

/* Options that would change the form of messages are refused, because the form belongs to the
 * library. */
static void options_of_form(void)
{
	static const int socket_options[] = { SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING,
					      SO_RXQ_OVFL,  SO_PASSCRED,    SO_PEEK_OFF };
	static const int v4[] = { IP_RECVORIGDSTADDR, IP_RECVERR };
	static const int v6[] = { IPV6_RECVORIGDSTADDR, IPV6_RECVERR };
	int a = rsocket(AF_INET, SOCK_DGRAM, 0), b = rsocket(AF_INET6, SOCK_DGRAM, 0);

	for (int i = 0; i < RT_COUNT(socket_options); i++)
		FAILS(option_set(a, SOL_SOCKET, socket_options[i], 1), ENOPROTOOPT);
	for (int value = 0; value < 2; value++) {
		for (int i = 0; i < RT_COUNT(v4); i++)
			FAILS(option_set(a, IPPROTO_IP, v4[i], value), ENOPROTOOPT);
		for (int i = 0; i < RT_COUNT(v6); i++)
			FAILS(option_set(b, IPPROTO_IPV6, v6[i], value), ENOPROTOOPT);
	}
	/* UDP handles these options */
	CHECK_OK(option_set(a, SOL_SOCKET, SO_BROADCAST, 1));
	CHECK_OK(option_set(a, SOL_SOCKET, SO_REUSEADDR, 1));
	CHECK_OK(option_set(a, SOL_SOCKET, SO_REUSEPORT, 1));
	CHECK_OK(option_set(a, SOL_SOCKET, SO_PRIORITY, 3));
	CHECK_OK(option_set(a, IPPROTO_IP, IP_TTL, 9));
	CHECK_OK(option_set(a, IPPROTO_IP, IP_MULTICAST_LOOP, 1));
	CHECK_OK(option_set(b, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	CHECK_OK(option_set(b, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9));
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* ---- broadcast ---- */

static void broadcast(void)
{
	int a = socket_everywhere(), b = socket_everywhere();
	struct sockaddr_storage name = name_of(b);
	struct sockaddr_in all = { .sin_family = AF_INET,
				   .sin_port = htons(port_of(&name)),
				   .sin_addr.s_addr = htonl(0x7fffffff) };

	/* without the option broadcast is refused */
	FAILS(rsendto(a, "x", 1, 0, (struct sockaddr *)&all, sizeof(all)), EACCES);
	CHECK_OK(option_set(a, SOL_SOCKET, SO_BROADCAST, 1));
	for (int i = 0; i < 10; i++) {
		CHECK_INT(rsendto(a, "x", 1, 0, (struct sockaddr *)&all, sizeof(all)), 1);
		expect_byte(b);
	}
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* ---- flags ---- */

static void flags(void)
{
	int a = socket_bound(), b = socket_bound();
	struct sockaddr_storage to = name_of(b);
	char byte;

	CHECK_OK(rconnect(a, any(&to), rt_rs_size(&to)));
	/* pieces would become one datagram */
	FAILS(rsend(a, "x", 1, MSG_MORE), EOPNOTSUPP);
	CHECK_INT(rsend(a, "x", 1, 0), 1);
	/* the error queue is always empty */
	FAILS(rrecv(b, &byte, 1, MSG_ERRQUEUE), EAGAIN);
	CHECK_INT(rrecv(b, &byte, 1, 0), 1);
	CHECK_OK(rclose(a));
	CHECK_OK(rclose(b));
}

/* ---- no device ---- */

/* A socket can be created without a device; a call that needs one reports that it is missing. */
static void no_device(void)
{
	bool none = getenv("UROCE"); /* with UROCE set, uroce is the only device */
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(9),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in everywhere = { .sin_family = AF_INET };
	int fd;

	CHECK_OK(setenv("UROCE", "off", 1));
	fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0);
	CHECK_OK(option_set(fd, SOL_SOCKET, SO_BROADCAST, 1));
	if (none) {
		FAILS(rbind(fd, (struct sockaddr *)&everywhere, sizeof(everywhere)), ENODEV);
		FAILS(rsendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), ENODEV);
	}
	CHECK_OK(rclose(fd));
}

static const struct rt_case cases[] = {
	{ "port_without_peer", port_without_peer },
	{ "options_of_form", options_of_form },
	{ "broadcast", broadcast },
	{ "flags", flags },
	{ "no_device", no_device },
};
RT_MAIN(cases)
