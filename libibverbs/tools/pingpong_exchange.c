/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The TCP connection of the ping-pong programs. The client sends its addresses. The server answers
 * with its own when it is ready to receive. The client sends "done" when it is ready, too. Each
 * address is 52 bytes of text with a terminating zero.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "pingpong.h"

#define PART_SECONDS 3

static const char done[] = "done";

void pp_address_print(const struct pp_dest *dest, char ret_text[PP_ADDRESS_SIZE])
{
	int n = snprintf(ret_text, PP_ADDRESS_SIZE, "%04x:%06x:%06x:", dest->lid, dest->qpn,
			 dest->psn);

	for (int i = 0; i < sizeof(dest->gid.raw); i++)
		n += snprintf(ret_text + n, PP_ADDRESS_SIZE - n, "%02x", dest->gid.raw[i]);
}

static int gid_parse(const char *text, union ibv_gid *ret_gid)
{
	for (int i = 0; i < sizeof(ret_gid->raw); i++) {
		unsigned int byte;

		if (!isxdigit(text[2 * i]) || sscanf(text + 2 * i, "%2x", &byte) != 1)
			return -EPROTO;
		ret_gid->raw[i] = byte;
	}
	return 0;
}

int pp_address_parse(const char text[PP_ADDRESS_SIZE], struct pp_dest *ret_dest)
{
	unsigned int lid, qpn, psn;
	char gid[33], copy[PP_ADDRESS_SIZE];
	struct pp_dest dest;

	memcpy(copy, text, sizeof(copy));
	copy[sizeof(copy) - 1] = 0;
	if (sscanf(copy, "%4x:%6x:%6x:%32[0-9a-fA-F]", &lid, &qpn, &psn, gid) != 4 ||
	    strlen(gid) != 32 || gid_parse(gid, &dest.gid))
		return -EPROTO;
	dest.lid = lid;
	dest.qpn = qpn;
	dest.psn = psn;
	*ret_dest = dest;
	return 0;
}

int pp_tcp_send(int fd, const void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += max_of(n, (ssize_t)0);
	}
	return 0;
}

/* -ECONNRESET: the peer closed the connection before @size bytes arrived. */
int pp_tcp_receive(int fd, void *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = recv(fd, (char *)data + at, size - at, 0);

		if (!n)
			return -ECONNRESET;
		if (n < 0 && errno != EINTR)
			return -errno;
		at += max_of(n, (ssize_t)0);
	}
	return 0;
}

static int addresses_send(struct pp *pp, int fd, unsigned int count)
{
	char text[PP_ADDRESS_SIZE];

	for (unsigned int i = 0; i < count; i++) {
		int r;

		pp_address_print(&pp->qps[i].local, text);
		r = pp_tcp_send(fd, text, sizeof(text));
		if (r < 0)
			return pp_fail(r, "Couldn't send local address");
	}
	return 0;
}

static int addresses_receive(struct pp *pp, int fd, unsigned int count)
{
	char text[PP_ADDRESS_SIZE];

	for (unsigned int i = 0; i < count; i++) {
		int r = pp_tcp_receive(fd, text, sizeof(text));

		if (r < 0)
			return pp_fail(r, "Couldn't read remote address%s",
				       r == -ECONNRESET
					       ? " (the other side gave up: see what it said)"
					       : "");
		if (pp_address_parse(text, &pp->qps[i].remote))
			return pp_fail(EPROTO, "Couldn't read remote address: '%.*s'",
				       (int)sizeof(text) - 1, text);
	}
	return 0;
}

int pp_tcp_connect(const struct pp_options *opt)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char service[8];
	int r, fd = -1;

	snprintf(service, sizeof(service), "%u", opt->tcp_port);
	r = getaddrinfo(opt->host, service, &hints, &list);
	if (r)
		return pp_fail(r == EAI_SYSTEM ? errno : 0, "%s for %s:%u", gai_strerror(r),
			       opt->host, opt->tcp_port);
	r = ECONNREFUSED;
	for (struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
		fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC, i->ai_protocol);
		if (fd >= 0 && connect(fd, i->ai_addr, i->ai_addrlen)) {
			r = errno;
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	return fd >= 0 ? fd : pp_fail(r, "Couldn't connect to %s:%u", opt->host, opt->tcp_port);
}

static int listen_on(const struct sockaddr *address, socklen_t length)
{
	_cleanup_close_ int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1, zero = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, address, length) || listen(fd, PP_QP_MAX))
		return -errno;
	return take_fd(&fd);
}

/* Listen for IPv6 and IPv4 in one socket, or only for IPv4 if there is no IPv6. */
int pp_tcp_listen(const struct pp_options *opt)
{
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(opt->tcp_port) };
	const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(opt->tcp_port) };
	int listener = listen_on((const struct sockaddr *)&v6, sizeof(v6));

	if (listener == -EAFNOSUPPORT || listener == -EADDRNOTAVAIL)
		listener = listen_on((const struct sockaddr *)&v4, sizeof(v4));
	if (listener < 0)
		return pp_fail(listener, "Couldn't listen to port %u", opt->tcp_port);
	return listener;
}

int pp_tcp_accept(int listener)
{
	int fd;

	do
		fd = accept(listener, NULL, NULL);
	while (fd < 0 && errno == EINTR);
	return fd >= 0 ? fd : pp_fail(errno, "accept() failed");
}

static int server_accept(const struct pp_options *opt)
{
	_cleanup_close_ int listener = pp_tcp_listen(opt);

	return listener < 0 ? listener : pp_tcp_accept(listener);
}

static int exchange_as_client(struct pp *pp, int fd, unsigned int count)
{
	int r = addresses_send(pp, fd, count);

	if (!r)
		r = addresses_receive(pp, fd, count);
	if (!r && pp_tcp_send(fd, done, sizeof(done)))
		r = pp_fail(errno, "client read/write: Couldn't send \"done\"");
	return r;
}

static int exchange_as_server(struct pp *pp, int fd, unsigned int count,
			      pp_connect_fn connect_server)
{
	char text[sizeof(done)];
	int r = addresses_receive(pp, fd, count);

	if (!r)
		r = connect_server(pp);
	if (!r)
		r = addresses_send(pp, fd, count);
	if (r < 0)
		return r;
	r = pp_tcp_receive(fd, text, sizeof(text));
	return r < 0 ? pp_fail(r, "Couldn't send/recv local address") : 0;
}

int pp_exchange(struct pp *pp, unsigned int count, pp_connect_fn connect_server)
{
	int fd = pp->opt.host ? pp_tcp_connect(&pp->opt) : server_accept(&pp->opt);

	if (fd < 0)
		return fd;
	pp->tcp = fd;
	return pp->opt.host ? exchange_as_client(pp, fd, count)
			    : exchange_as_server(pp, fd, count, connect_server);
}

void pp_part(struct pp *pp)
{
	struct timeval limit = { .tv_sec = PART_SECONDS };
	char byte;

	shutdown(pp->tcp, SHUT_WR);
	setsockopt(pp->tcp, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (recv(pp->tcp, &byte, 1, 0) > 0)
		;
}
