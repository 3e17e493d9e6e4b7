/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to epoll.c, watch.c and ready.c: the poller of repoll_create(), and its watches.
 *
 * The program's descriptor is an epoll of the kernel. In it are the program's other descriptors,
 * with the data of the program, and an inner epoll with the descriptors of the sockets. A socket on
 * the ready list is polled by each wait. For any other socket the armed CQ makes the inner epoll
 * readable. A CQ is armed before the poller sleeps, and after several polls of its socket that
 * found nothing. Therefore an idle socket costs nothing, even if other sockets are busy.
 *
 * A socket that the program removes stays in the kernel's epoll until the kernel has an event for
 * it. Programs often add a socket again a moment later, and adding an epoll to an epoll is slow.
 *
 * Locks: a socket's lock before a poller's. A watch is on its socket's list under the socket's lock
 * and on the ready list under the poller's. It holds a reference to its socket.
 */
#ifndef LIBRDMACM_RSOCKET_POLLER_H
#define LIBRDMACM_RSOCKET_POLLER_H

#include <sys/epoll.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

struct rs_watch {
	LIST_ENTRY(rs_watch) of_socket;
	TAILQ_ENTRY(rs_watch) of_poller;
	struct rs_poller *poller;
	struct rs_socket *socket;
	int entry; /* the descriptor that the program added, which may be a duplicate */
	atomic_int refs;
	bool queued, gone;
	/* the program removed the watch, and only the kernel's epoll still has the socket */
	bool removed;
	struct epoll_event event;
	uint32_t seen;	   /* s->changes at the last report, for EPOLLET */
	bool fresh;	   /* no event was reported since the watch was added or changed */
	unsigned int vain; /* polls since the last report */
};

struct rs_poller {
	struct rs_file file;
	int inner;
	int wake; /* an eventfd in @inner */
	pthread_mutex_t lock;
	TAILQ_HEAD(, rs_watch) ready;
	unsigned int ready_count;
	struct rs_watch **watches; /* by @entry */
	int size;
	unsigned int waiters;
	/* alternates between sockets and kernel if there is room for one event */
	atomic_uint turn;
	atomic_bool outer; /* poll() or another epoll waits for the descriptor of the poller */
	/* threads wait that began before the epoll was a poller; @waiters does not count them */
	atomic_bool early;
};

/* Put the reference to a poller. */
static inline void rs_poller_put(struct rs_poller *p)
{
	rs_file_put(&p->file);
}

/* watch.c */
/* Put the reference to a watch. */
void rs_watch_put(struct rs_watch *w);
/* Put a watch on the ready list, or take it off. With the poller's lock held. */
void rs_watch_queue(struct rs_watch *w);
void rs_watch_unqueue(struct rs_watch *w);
/* Wake the threads that sleep, so that they poll the ready list. With the poller's lock held. */
void rs_poller_wake(struct rs_poller *p);
/*
 * Remove the watch, with the poller's lock held. It also leaves the kernel's epoll, so that the
 * socket can be added again. The caller then calls rs_watch_end() without locks.
 */
void rs_watch_forget(struct rs_poller *p, struct rs_watch *w);
void rs_watch_end(struct rs_watch *w);
/* Remove all watches of a poller. */
void rs_watches_clear(struct rs_poller *p);
/* Serve an EPOLL_CTL_ operation. The function consumes the reference to the socket in any case. */
int rs_watch_control(struct rs_poller *p, int op, struct rs_socket *s, int entry,
		     const struct epoll_event *event);

/* ready.c */
/* Return the length of the ready list. */
unsigned int rs_ready_count(struct rs_poller *p);
/*
 * Poll each watch of the ready list once. @arm: arm the CQs of watches without an event. Return:
 * the number of events.
 */
int rs_ready_look(struct rs_poller *p, struct epoll_event *events, int max, bool arm);
/*
 * Keep the descriptor readable as long as repoll_wait() would find events, because poll() or
 * another epoll waits for it.
 */
void rs_ready_announce(struct rs_poller *p);

#endif
