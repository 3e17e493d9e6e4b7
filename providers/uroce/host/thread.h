/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The progress thread: what it watches and how it is woken. */
#ifndef UROCE_THREAD_H
#define UROCE_THREAD_H

#include <stdbool.h>

struct uroce_host;
struct uroce_thread;

/* What a watched descriptor is, and so what its readiness means. */
enum thread_watch {
	THREAD_BELL,	 /* a peer or another thread of the process rings */
	THREAD_LISTENER, /* uroce_shm_accept() */
	THREAD_GUEST,  /* uroce_shm_guest(): a connection that has said nothing yet; its descriptor
			  is  the thread's */
	THREAD_PEER,   /* uroce_shm_conn_ready(); pointer: struct shm_peer */
	THREAD_SOCKET, /* UDP: progress receives it; not watched while pollers are at work. pointer:
			  struct uroce_dev */
	THREAD_ADDRESSES, /* interfaces changed: uroce_gids_refresh() of every device */
};

int uroce_thread_start(struct uroce_host *host);
void uroce_thread_stop(struct uroce_host *host);
int uroce_thread_watch(struct uroce_thread *thread, int fd, enum thread_watch what, void *pointer);
void uroce_thread_unwatch(struct uroce_thread *thread, int fd);

#endif
