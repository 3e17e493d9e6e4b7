/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA sockets that processes share. */
#ifndef LIBRDMACM_PRELOAD_SHARE_H
#define LIBRDMACM_PRELOAD_SHARE_H

#include <stdbool.h>
#include <sys/socket.h>

void relay_start(void); /* call it in processes that may fork */
/*
 * Call it after each call that may open a device. The first use of a device registers the RDMA
 * libraries' handlers of fork(). Before a fork, the handler that was registered last runs first.
 * The lock of the relays must be taken first, therefore its handler must be registered last.
 */
enum start_place {
	START_BIND,
	START_LISTEN,
	START_CONNECT,
	START_PLACES
};
void relay_start_late(enum start_place place);
void relay_lock(void);
void relay_unlock(void);
/* Wait while a child claims a socket. Return whether @rs is not the RDMA socket of @fd any more. */
bool relay_has_moved(int fd, int rs);

/* The RDMA socket has another number, with the lock held. No relay has it. */
void relay_renumber(int rs, int to);
/* Return whether a relay has the listener, with the lock held. */
bool relay_has_listener(int rs);

/* relay.c: options of a connection that this process relays. @relay: 0: another process does. */
int relay_option_set(int relay, int level, int name, const void *value, socklen_t size);
int relay_option_get(int relay, int level, int name, void *value, socklen_t *size);
/*
 * Let the relay reset the connection after the last process has closed it. Return: a new socket
 * with the same options, or -1.
 */
int relay_reset(int relay);
bool relay_is_over(int relay); /* both ends have ended, and this process knows it */

#endif
