/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of cmtime share. */
#ifndef CMTIME_H
#define CMTIME_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * The instances of one run: clients and servers, which take each step together. One of them is the
 * controller, with a TCP connection to each other one; the others have one to it.
 */
struct cmtime_peers {
	int *fds;
	int count;    /* of fds */
	bool decides; /* this is the controller */
	struct sockaddr_storage *servers;
	int server_count;
};

/*
 * Meet the other instances. The first one to which @address is local becomes the controller.
 * @total: instances; @mine: where this one listens, NULL: it is a client
 * Return: 0, or -1, which is logged.
 */
int cmtime_peers_join(struct cmtime_peers *peers, const char *address, const char *port, int total,
		      const struct sockaddr *mine);
/* Wait until all instances are here. Return: 0; -1: one has gone. */
int cmtime_peers_wait(struct cmtime_peers *peers);
void cmtime_peers_leave(struct cmtime_peers *peers);

/* TCP: a thread takes connections at the address, and ends each when its client does. */
int cmtime_sockets_listen(const struct sockaddr *address, struct sockaddr_storage *ret_address);
int cmtime_socket_connect(const struct sockaddr *to, int *ret_fd);

#endif
