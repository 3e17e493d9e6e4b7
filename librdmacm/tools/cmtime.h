/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of cmtime share. */
#ifndef CMTIME_H
#define CMTIME_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * The instances of one run: clients and servers, which take each step together. One of them is the
 * controller. The controller has a TCP connection to each other instance.
 */
struct cmtime_peers {
	int *fds;
	int count;    /* entries of fds */
	bool decides; /* this instance is the controller */
	struct sockaddr_storage *servers;
	int server_count;
};

/*
 * Connect to the other instances. The first instance for which @address is local becomes the
 * controller.
 * @total: instances; @mine: where this one listens, NULL: it is a client
 * Return: 0, or -1, which is logged.
 */
int cmtime_peers_join(struct cmtime_peers *peers, const char *address, const char *port, int total,
		      const struct sockaddr *mine);
/* Wait until all instances are ready. Return: 0; -1: an instance has ended. */
int cmtime_peers_wait(struct cmtime_peers *peers);
void cmtime_peers_leave(struct cmtime_peers *peers);

/*
 * Listen by TCP: a thread accepts connections at the address. It ends a connection when its client
 * ends it.
 */
int cmtime_sockets_listen(const struct sockaddr *address, struct sockaddr_storage *ret_address);
int cmtime_socket_connect(const struct sockaddr *to, int *ret_fd);

#endif
