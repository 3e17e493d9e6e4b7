/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The controller of cmtime -C, and the instances that begin steps together. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "cmtime.h"
#include "tool.h"
#include "util/util.h"

enum {
	TRIES = 600, /* attempts to find the controller, one each tenth of a second */
};

/* Description that an instance sends of itself. Both ends are this program. */
struct hello {
	uint32_t listens;
	struct sockaddr_storage address;
};

static int all_write(int fd, const void *bytes, size_t size)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		bytes = (const char *)bytes + n;
		size -= n;
	}
	return 0;
}

static int all_read(int fd, void *bytes, size_t size)
{
	return recv(fd, bytes, size, MSG_WAITALL) == (ssize_t)size ? 0 : -1;
}

/* ---- finding each other ---- */

/* Return: a listening socket; -1 if this host does not have the address, or the port is in use. */
static int controller_listen(const struct addrinfo *at, int total)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, at->ai_addr, at->ai_addrlen) && !listen(fd, total))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Try again, because the controller may start a little later. */
static int controller_connect(const struct addrinfo *at)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && !connect(fd, at->ai_addr, at->ai_addrlen))
			return fd;
		if (fd >= 0)
			close(fd);
		usleep(100000);
	}
	return -1;
}

static void server_add(struct cmtime_peers *peers, const struct hello *hello)
{
	if (hello->listens)
		peers->servers[peers->server_count++] = hello->address;
}

/* As the controller: collect all servers, and send the list to all instances. */
static int instances_gather(struct cmtime_peers *peers, int listener, int total,
			    const struct hello *own)
{
	struct hello hello;

	server_add(peers, own);
	while (peers->count < total - 1) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0 || all_read(fd, &hello, sizeof(hello)))
			return tool_perror("", "an instance did not join");
		server_add(peers, &hello);
		peers->fds[peers->count++] = fd;
	}
	for (int i = 0; i < peers->count; i++)
		if (all_write(peers->fds[i], &peers->server_count, sizeof(peers->server_count)) ||
		    all_write(peers->fds[i], peers->servers,
			      peers->server_count * sizeof(*peers->servers)))
			return tool_perror("", "an instance did not join");
	return 0;
}

static int instance_join(struct cmtime_peers *peers, int fd, int total, const struct hello *own)
{
	peers->fds[peers->count++] = fd;
	if (all_write(fd, own, sizeof(*own)) ||
	    all_read(fd, &peers->server_count, sizeof(peers->server_count)) ||
	    peers->server_count < 0 || peers->server_count > total ||
	    all_read(fd, peers->servers, peers->server_count * sizeof(*peers->servers)))
		return tool_perror("", "the controller did not answer");
	return 0;
}

static int meet(struct cmtime_peers *peers, const struct addrinfo *at, int total,
		const struct hello *own)
{
	int fd = controller_listen(at, total), r;

	if (fd >= 0) {
		peers->decides = true;
		r = instances_gather(peers, fd, total, own);
		close(fd);
		return r;
	}
	fd = controller_connect(at);
	return fd < 0 ? tool_perror("", "no controller") : instance_join(peers, fd, total, own);
}

int cmtime_peers_join(struct cmtime_peers *peers, const char *address, const char *port, int total,
		      const struct sockaddr *mine)
{
	struct hello own = { .listens = mine != NULL };
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *at;
	int r = getaddrinfo(address, port, &hints, &at);

	if (r) {
		fprintf(stderr, "-C %s: %s\n", address, gai_strerror(r));
		return -1;
	}
	if (mine)
		memcpy(&own.address, mine,
		       mine->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						   : sizeof(struct sockaddr_in));
	*peers = (struct cmtime_peers){
		.fds = calloc(total, sizeof(*peers->fds)),
		.servers = calloc(total, sizeof(*peers->servers)),
	};
	r = peers->fds && peers->servers ? meet(peers, at, total, &own) : -1;
	freeaddrinfo(at);
	return r;
}

/* ---- common steps ---- */

int cmtime_peers_wait(struct cmtime_peers *peers)
{
	char word = 0;
	int r = 0;

	if (!peers->decides)
		r = all_write(peers->fds[0], &word, sizeof(word)) ||
		    all_read(peers->fds[0], &word, sizeof(word));
	for (int i = 0; peers->decides && i < peers->count && !r; i++)
		r = all_read(peers->fds[i], &word, sizeof(word));
	for (int i = 0; peers->decides && i < peers->count && !r; i++)
		r = all_write(peers->fds[i], &word, sizeof(word));
	return r ? tool_perror("", "an instance has gone") : 0;
}

void cmtime_peers_leave(struct cmtime_peers *peers)
{
	for (int i = 0; i < peers->count; i++)
		close(peers->fds[i]);
	free(peers->fds);
	free(peers->servers);
}
