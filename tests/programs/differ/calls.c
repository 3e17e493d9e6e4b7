// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Calls that make, name, set and end sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "end.h"

/* A constant of the sockets' interface, by the name that plans give it. */
struct constant {
	const char *name;
	int value;
};

#define OPTION(level_, name_)                                    \
	{                                                        \
		.name = #name_, .level = level_, .number = name_ \
	}

/* In the order of sizes: an int, a struct linger, a struct timeval. */
static const struct option {
	const char *name;
	int level, number;
	enum {
		INT,
		LINGER,
		TIME
	} kind;
} options[] = {
	OPTION(SOL_SOCKET, SO_REUSEADDR),
	OPTION(SOL_SOCKET, SO_REUSEPORT),
	OPTION(SOL_SOCKET, SO_KEEPALIVE),
	OPTION(SOL_SOCKET, SO_OOBINLINE),
	OPTION(SOL_SOCKET, SO_BROADCAST),
	OPTION(SOL_SOCKET, SO_RCVBUF),
	OPTION(SOL_SOCKET, SO_SNDBUF),
	OPTION(SOL_SOCKET, SO_RCVLOWAT),
	OPTION(SOL_SOCKET, SO_SNDLOWAT),
	OPTION(SOL_SOCKET, SO_PRIORITY),
	OPTION(SOL_SOCKET, SO_TYPE),
	OPTION(SOL_SOCKET, SO_DOMAIN),
	OPTION(SOL_SOCKET, SO_PROTOCOL),
	OPTION(SOL_SOCKET, SO_ACCEPTCONN),
	OPTION(SOL_SOCKET, SO_ERROR),
	OPTION(SOL_SOCKET, SO_DONTROUTE),
	OPTION(IPPROTO_TCP, TCP_NODELAY),
	OPTION(IPPROTO_TCP, TCP_CORK),
	OPTION(IPPROTO_TCP, TCP_KEEPIDLE),
	OPTION(IPPROTO_TCP, TCP_KEEPINTVL),
	OPTION(IPPROTO_TCP, TCP_KEEPCNT),
	OPTION(IPPROTO_TCP, TCP_SYNCNT),
	OPTION(IPPROTO_TCP, TCP_LINGER2),
	OPTION(IPPROTO_TCP, TCP_DEFER_ACCEPT),
	OPTION(IPPROTO_TCP, TCP_QUICKACK),
	OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),
	OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT),
	OPTION(IPPROTO_IP, IP_TOS),
	OPTION(IPPROTO_IP, IP_TTL),
	OPTION(IPPROTO_IP, IP_MTU_DISCOVER),
	OPTION(IPPROTO_IP, IP_FREEBIND),
	{ "SO_LINGER", SOL_SOCKET, SO_LINGER, LINGER },
	{ "SO_RCVTIMEO", SOL_SOCKET, SO_RCVTIMEO, TIME },
	{ "SO_SNDTIMEO", SOL_SOCKET, SO_SNDTIMEO, TIME },
	{ "NONE", SOL_SOCKET, 9999, INT },
};

static const struct option *option_find(const char *name)
{
	for (unsigned int i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return &options[sizeof(options) / sizeof(options[0]) - 1];
}

/* setopt SLOT NAME VALUE [SIZE] */
static void make_setopt(const struct words *words, struct answer *ret)
{
	const struct option *option = option_find(string(words, 1));
	int value = number(words, 2);
	struct linger linger = { value != 0, value };
	struct timeval time = { value / 1000, value % 1000 * 1000 };
	const void *bytes[] = { &value, &linger, &time };
	const socklen_t sizes[] = { sizeof(value), sizeof(linger), sizeof(time) };
	socklen_t size = words->count > 3 ? number(words, 3) : sizes[option->kind];

	answer_result(ret, setsockopt(slot_fd(words, 0), option->level, option->number,
				      bytes[option->kind], size));
}

/* getopt SLOT NAME [SIZE] */
static void make_getopt(const struct words *words, struct answer *ret)
{
	const struct option *option = option_find(string(words, 1));
	int got[8] = {};
	socklen_t size = words->count > 2 ? number(words, 2) : (long)sizeof(got);

	answer_result(ret,
		      getsockopt(slot_fd(words, 0), option->level, option->number, got, &size));
	if (!ret->result && option->kind == TIME)
		answer_add(ret, "%ld.%06ld", ((long *)got)[0], ((long *)got)[1]);
	else if (!ret->result)
		answer_add(ret, "%d %d of %d", got[0], option->kind == LINGER ? got[1] : 0,
			   (int)size);
}

/* socket SLOT stream|dgram [nonblock] */
static void make_socket(const struct words *words, struct answer *ret)
{
	int type = strcmp(string(words, 1), "dgram") ? SOCK_STREAM : SOCK_DGRAM;
	int flags = strcmp(string(words, 2), "nonblock") ? 0 : SOCK_NONBLOCK;
	int fd = socket(AF_INET, type | flags, 0);

	answer_result(ret, fd < 0 ? fd : 0);
	slot_set(words, 0, fd);
}

static struct sockaddr_in address_of(const char *host, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(strcmp(host, "any") ? INADDR_LOOPBACK : INADDR_ANY),
	};
}

/* bind SLOT any|lo PORT */
static void make_bind(const struct words *words, struct answer *ret)
{
	struct sockaddr_in address = address_of(string(words, 1), number(words, 2));

	answer_result(ret, bind(slot_fd(words, 0), (void *)&address, sizeof(address)));
}

/* connect SLOT PORT; port -1: to no peer */
static void make_connect(const struct words *words, struct answer *ret)
{
	struct sockaddr_in address = address_of("lo", number(words, 1));

	if (number(words, 1) < 0)
		address.sin_family = AF_UNSPEC;
	answer_result(ret, connect(slot_fd(words, 0), (void *)&address, sizeof(address)));
}

/* listen SLOT BACKLOG */
static void make_listen(const struct words *words, struct answer *ret)
{
	answer_result(ret, listen(slot_fd(words, 0), number(words, 1)));
}

static void address_add(struct answer *answer, const struct sockaddr_in *address, socklen_t size)
{
	char host[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host));
	answer_add(answer, " %d bytes, family %d, %s port %d", (int)size, address->sin_family, host,
		   ntohs(address->sin_port));
}

/* accept SLOT NEW [nonblock] */
static void make_accept(const struct words *words, struct answer *ret)
{
	struct sockaddr_in address = {};
	socklen_t size = sizeof(address);
	int flags = strcmp(string(words, 2), "nonblock") ? 0 : SOCK_NONBLOCK;
	int fd = accept4(slot_fd(words, 0), (void *)&address, &size, flags);

	answer_result(ret, fd < 0 ? fd : 0);
	if (fd >= 0) {
		slot_set(words, 1, fd);
		address_add(ret, &address, size);
	}
}

static void make_getsockname(const struct words *words, struct answer *ret)
{
	struct sockaddr_in address = {};
	socklen_t size = sizeof(address);

	answer_result(ret, getsockname(slot_fd(words, 0), (void *)&address, &size));
	if (!ret->result)
		address_add(ret, &address, size);
}

static void make_getpeername(const struct words *words, struct answer *ret)
{
	struct sockaddr_in address = {};
	socklen_t size = sizeof(address);

	answer_result(ret, getpeername(slot_fd(words, 0), (void *)&address, &size));
	if (!ret->result)
		address_add(ret, &address, size);
}

/* shutdown SLOT 0|1|2 */
static void make_shutdown(const struct words *words, struct answer *ret)
{
	answer_result(ret, shutdown(slot_fd(words, 0), number(words, 1)));
}

static void make_close(const struct words *words, struct answer *ret)
{
	answer_result(ret, close(slot_fd(words, 0)));
	slot_set(words, 0, -1);
}

/* dup SLOT NEW */
static void make_dup(const struct words *words, struct answer *ret)
{
	int fd = dup(slot_fd(words, 0));

	answer_result(ret, fd < 0 ? fd : 0);
	if (fd >= 0)
		slot_set(words, 1, fd);
}

/* dup2 SLOT OVER: the descriptor of slot OVER becomes one of SLOT. */
static void make_dup2(const struct words *words, struct answer *ret)
{
	int over = slot_fd(words, 1), fd = dup2(slot_fd(words, 0), over);

	answer_result(ret, fd < 0 ? fd : fd != over);
	if (fd >= 0)
		slot_set(words, 1, fd);
}

/* nonblock SLOT 0|1 */
static void make_nonblock(const struct words *words, struct answer *ret)
{
	int fd = slot_fd(words, 0), flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		flags = fcntl(fd, F_SETFL,
			      number(words, 1) ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
	answer_result(ret, flags);
	if (flags >= 0)
		answer_add(ret, "flags %x", fcntl(fd, F_GETFL));
}

static void make_fionread(const struct words *words, struct answer *ret)
{
	int bytes = -1;

	answer_result(ret, ioctl(slot_fd(words, 0), FIONREAD, &bytes));
	if (!ret->result)
		answer_add(ret, "%d", bytes);
}

const struct call socket_calls[] = {
	{ "socket", make_socket },
	{ "bind", make_bind },
	{ "listen", make_listen },
	{ "connect", make_connect },
	{ "accept", make_accept },
	{ "getsockname", make_getsockname },
	{ "getpeername", make_getpeername },
	{ "setopt", make_setopt },
	{ "getopt", make_getopt },
	{ "shutdown", make_shutdown },
	{ "close", make_close },
	{ "dup", make_dup },
	{ "dup2", make_dup2 },
	{ "nonblock", make_nonblock },
	{ "fionread", make_fionread },
	{},
};
