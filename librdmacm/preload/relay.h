/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to relay.c, listener.c, datagram.c, child.c, channel.c, atfork.c and exit.c. Their
 * threads run in the process that owns the RDMA sockets.
 *
 * A child inherits the numbers of RDMA sockets, but cannot use the RDMA resources of its parent.
 * Each child has a channel, a Unix domain socket to its parent. The first use of an RDMA socket in
 * the child claims the socket: the child sends a request through the channel. The parent answers
 * with another Unix domain socket, and a thread of the parent, the relay, moves the data between
 * both sockets. All children share this Unix domain socket, and programs that they start can
 * inherit it.
 *
 * After the first claim of a connection or of a datagram socket, the parent uses the Unix domain
 * socket as well. The kernel then orders the reads and writes of all processes, as for a socket of
 * TCP.
 *
 * Another thread of the parent may be in a call while the socket moves to the relay. Such a call
 * fails with EBADF, and FD_CALL() repeats the call.
 *
 * Threads: one for all channels, one for each relay. They are marked: see preload.h.
 *
 * Locks: relays.lock protects everything that this header declares. The order is: relays.lock,
 * locks of RDMA sockets, locks of the RDMA libraries. pthread_atfork() handlers take relays.lock
 * first.
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
	int channel;
	struct held *held; /* connections that it has not claimed, and all listeners */
	unsigned int count;
};

struct relay {
	LIST_ENTRY(relay) of_list;
	int rs;	   /* -1: the relay has not begun */
	int end;   /* the Unix domain socket of the relay */
	int other; /* the end that is shared, as long as a child may claim it; -1: none may */
	int number;
	struct ways *ways; /* the two directions of a connection */
	/* Relay until no process has the other end, and all data of the processes are passed on. */
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
	int ended; /* result of rs_ended() */
	int flags; /* result of F_GETFL */
	struct relay_names names;
};

/* Return the FD_ kind for the descriptors of a claimed socket. */
static inline int claimed_kind(const struct claimed *claimed)
{
	return claimed->ended & RS_ENDED_NONE && !claimed->listens && !claimed->is_datagram
		       ? FD_NONE
	       : claimed->listens     ? FD_RELAYED_LISTENER
	       : claimed->is_datagram ? FD_RELAYED_DATAGRAM
				      : FD_RELAYED;
}

/* child.c */
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
/* The rest of child.c, with the lock held. Return the child with that channel, or NULL. */
struct child *child_find(int channel);
/* Add a child with copies of @held. Return: false: there is no memory. */
bool child_add(int channel, const struct held *held, unsigned int count);
/*
 * Close the channel of a child, and drop the child. *ret_last: its sockets without another holder;
 * the caller frees the list. Return: their number.
 */
unsigned int child_end(struct child *c, struct held **ret_last);
/* Return what the child holds by that name, or NULL. */
struct held *held_find(const struct child *c, int name);
/* Drop a hold. Return: the RDMA socket to close, or -1. */
int held_drop(struct child *c, struct held *h);

/* channel.c, with the lock held. Start the thread, if it does not run. */
void channels_begin(void);
/* Let the thread poll the channels of new children. */
void channels_wake(void);
/* Forget the thread in a child, because it runs in the parent. */
void channels_drop(void);

/*
 * relay.c: relay a connection or a datagram socket, with the lock held. The Unix domain socket gets
 * the number of the RDMA socket. Return: the shared end, which the caller must not close, or -1.
 */
int socket_share(int rs, const struct claimed *claimed);
/* Return the end of a connection that has ended, which the caller closes, or -1. */
int connection_ended(void);
/* Return a TCP socket for a child if the claimed socket has no connection, or -1. The caller closes
 * the TCP socket. */
int connection_none(int rs, const struct claimed *claimed);
/* Relay an accepted connection for the process that gets *ret_end. Return: the relay, or NULL. */
struct relay *connection_relay(int rs, int *ret_end);

/* listener.c: as socket_share() */
int listener_share(int rs, const struct claimed *claimed);

/* datagram.c */
void datagrams_run(struct relay *r);

#endif
