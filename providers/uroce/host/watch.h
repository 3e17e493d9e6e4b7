/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Descriptors that the progress thread waits for, and what to do if one becomes readable. Any
 * thread may begin and end a watch at any time. Only the progress thread waits.
 *
 * Sockets are a separate set, which is waited for only while no poller polls sockets. A sender on
 * this host needs a quarter of a microsecond more for a packet to a socket that is waited for.
 */
#ifndef UROCE_WATCH_H
#define UROCE_WATCH_H

#include "providers/uroce/host/objects.h"

enum {
	/* hash buckets of watches, by descriptor: a process may have some thousand peers */
	WATCH_BUCKETS = 1024,
};

LIST_HEAD(watch_list, watch);

struct watch {
	LIST_ENTRY(watch) entry;       /* in its bucket, or in unwatched */
	LIST_ENTRY(watch) aside_entry; /* in sockets or in listeners */
	int fd;
	enum path_watch what;
	void *pointer;
	bool dead;  /* unwatched, but its event may be pending; under the lock */
	bool aside; /* not in its epoll set now */
};

struct uroce_watches {
	struct uroce_host *host;
	int control;	      /* epoll set of all descriptors but sockets */
	int all;	      /* epoll set of sockets and of control */
	pthread_mutex_t lock; /* protects the following members, except those of the thread */
	struct watch_list sockets;
	struct watch_list listeners;
	struct watch_list unwatched; /* ended watches, freed by the thread between two waits */
	/* ns: when the listener is tried again, 0: it is watched; used by the thread only */
	uint64_t listens_at;
	bool listener_said; /* the error of the listener was logged; used by the thread only */
	bool aside; /* sockets are not in their set; changed by the thread only, under the lock */
	struct watch_list buckets[WATCH_BUCKETS];
};

/* Results of a wait, a bit each. */
enum {
	WATCHES_CAME = 1 << 0,	 /* a socket became readable */
	WATCHES_ROUSED = 1 << 1, /* an event needs a pass */
};

/*
 * Start and end watching a descriptor, see path_events.watch. After the thread has ended,
 * uroce_watch_end() does nothing.
 */
int uroce_watch_begin(struct uroce_host *host, int fd, enum path_watch what, void *pointer);
void uroce_watch_end(struct uroce_host *host, int fd);
/*
 * Keep the watched descriptors unchanged during a fork. uroce_watches_forked() closes them in the
 * child.
 */
void uroce_watches_fork_begin(struct uroce_host *host);
void uroce_watches_fork_end(struct uroce_host *host);
void uroce_watches_forked(struct uroce_host *host);

int uroce_watches_new(struct uroce_host *host, struct uroce_watches **ret_watches);
/* Free the watches and close connections that are not admitted yet. The thread has ended. */
void uroce_watches_free(struct uroce_watches *watches);

/* Free watches that ended before the last wait. */
void uroce_watches_unwatched_free(struct uroce_watches *watches);
/* Set whether to wait for sockets. */
void uroce_watches_sockets(struct uroce_watches *watches, bool wanted);
/*
 * Wait up to @timeout_ms (-1: for ever) for all descriptors, or for all but sockets, and handle
 * events other than packets. Return: WATCHES_*.
 */
unsigned int uroce_watches_wait(struct uroce_watches *watches, int timeout_ms);
unsigned int uroce_watches_wait_rest(struct uroce_watches *watches, int timeout_ms);

#endif
