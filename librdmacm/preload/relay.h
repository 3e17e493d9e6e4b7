/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to relay.c, listener.c, datagram.c and door.c, in the process that has the RDMA sockets.
 *
 * A child inherits the numbers of RDMA sockets, but cannot use the RDMA of its parent. Each child
 * has a door, a Unix domain socket to its parent. Through it the child claims an RDMA socket when
 * it first uses it, and gets a Unix domain socket instead, which a thread of the parent relays. All
 * children share this one socket, and the programs that they start can have it, too.
 *
 * From the first claim of a connection or of a datagram socket on, the parent uses the Unix domain
 * socket as well. The kernel then orders what all of them read and write, as it does for a socket
 * of TCP.
 *
 * Another thread of the parent may be in the middle of a call when the socket moves to the relay.
 * Such a call fails with EBADF, and FD_CALL() makes it again.
 *
 * Threads: one for all doors, one for each relay. They are marked: see preload.h.
 * Locks: relays.lock protects all that is declared here. The locks of RDMA sockets may be taken
 * inside it, and those of the RDMA libraries inside these. pthread_atfork() handlers take it first.
 */
#ifndef LIBRDMACM_PRELOAD_RELAY_H
#define LIBRDMACM_PRELOAD_RELAY_H

#include <sys/queue.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

/* An RDMA socket that a child may claim. */
struct held {
	int name; /* its number in the child */
	int rs;	  /* its number here; -1: the connection has ended */
};

struct child {
	LIST_ENTRY(child) of_list;
	int door;
	struct held *held; /* connections that it has not claimed, and all listeners */
	unsigned int count;
};

struct relay {
	LIST_ENTRY(relay) of_list;
	int rs;	   /* -1: the relay has not begun */
	int end;   /* the Unix domain socket of the relay */
	int other; /* the end that is shared, as long as a child may claim it; -1: none may */
	int number;
	struct ways *ways; /* of a connection */
	/* Relay until no process has the other end, and all that they sent is passed on. */
	void (*run)(struct relay *r);
};

extern struct relays {
	pthread_mutex_t lock;
	pthread_cond_t ended; /* signalled at the end of a connection */
	LIST_HEAD(, child) children;
	LIST_HEAD(, relay) connections, listeners;
	pid_t process; /* the process with the threads that relay */
} relays;

/* Facts of an RDMA socket that a child claims. */
struct claimed {
	bool listens;
	bool is_datagram;
	bool is_bound;
	int ended; /* of rs_ended() */
	int flags; /* of F_GETFL */
	struct relay_names names;
};

/* Return the kind that the descriptors of a claimed socket get. */
static inline int claimed_kind(const struct claimed *claimed)
{
	return claimed->ended & RS_ENDED_NONE && !claimed->listens && !claimed->is_datagram
		       ? FD_NONE
	       : claimed->listens     ? FD_RELAYED_LISTENER
	       : claimed->is_datagram ? FD_RELAYED_DATAGRAM
				      : FD_RELAYED;
}

/* door.c */
int relay_thread(void *(*function)(void *), void *arg);
bool relay_pair(int type, int *ends);
void relay_names_get(int rs, struct relay_names *ret);
/* Return the relay whose end children share, or NULL. */
struct relay *relay_of_connection(int rs);
/* @ending: also a relay without children, whose thread has yet to see that. */
struct relay *relay_of_listener(int rs, bool ending);
/*
 * Unlist the relay and close its end in one step. The child of a fork closes the ends of all listed
 * relays, and a closed number may already belong to another file.
 */
void relay_remove(struct relay *r);
/* Return whether the child may claim the RDMA socket, or has claimed the listener. */
bool child_has(const struct child *c, int rs);
/* The connection has ended. */
void children_forget(int rs);

/*
 * relay.c: relay a connection or datagrams. The RDMA socket leaves its number to the Unix domain
 * socket. Return: the end that is shared, which the caller does not close, or -1. With the lock
 * held.
 */
int socket_share(int rs, const struct claimed *claimed);
/* Return the end of a connection that has ended, which the caller closes, or -1. */
int connection_ended(void);
/* Return a TCP socket for a child whose parent has no connection, which the caller closes, or -1.
 */
int connection_none(int rs, const struct claimed *claimed);
/* Relay an accepted connection for the process that gets *ret_end. Return: the relay, or NULL. */
struct relay *connection_relay(int rs, int *ret_end);

/* listener.c: as socket_share() */
int listener_share(int rs, const struct claimed *claimed);

/* datagram.c */
void datagrams_run(struct relay *r);

#endif
