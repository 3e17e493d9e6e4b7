/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP connections, for a comparison with those of the connection manager: cmtime -C -S. */
#include <netinet/in.h>
#include <pthread.h>
#include <unistd.h>

#include "cmtime.h"
#include "tool.h"

static socklen_t size_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

/* Accept connections, and end each one when its client ends it. */
static void *accept_all(void *arg)
{
	int listener = *(int *)arg, fd;
	char byte;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (recv(fd, &byte, sizeof(byte), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

int cmtime_sockets_listen(const struct sockaddr *address, struct sockaddr_storage *ret_address)
{
	static int listener;
	socklen_t size = sizeof(*ret_address);
	pthread_t thread;

	listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, address, size_of(address)) || listen(listener, 1024) ||
	    getsockname(listener, (struct sockaddr *)ret_address, &size))
		return tool_perror("", "failure trying to listen");
	if (pthread_create(&thread, NULL, accept_all, &listener))
		return tool_perror("", "failure starting a thread");
	pthread_detach(thread);
	return 0;
}

int cmtime_socket_connect(const struct sockaddr *to, int *ret_fd)
{
	*ret_fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return *ret_fd < 0 || connect(*ret_fd, to, size_of(to))
		       ? tool_perror("", "failure connecting")
		       : 0;
}
