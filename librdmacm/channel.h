/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event channels, and the events that the library or the program writes into them. */
#ifndef LIBRDMACM_CHANNEL_H
#define LIBRDMACM_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>

struct cm_event;
struct cm_id;
struct ibcm_channel;

/*
 * @channel.fd is the descriptor to wait for: with one backend the descriptor of that backend, with
 * two an epoll of both. Descriptors of backends must be readable as long as an event waits.
 */
struct cm_channel {
	struct rdma_event_channel channel; /* public, first */
	/* descriptor of the kernel's connection manager; -1: not open */
	int ucma_fd;
	int ibcm_fd;		   /* descriptor of ibcm; -1: not open */
	struct ibcm_channel *ibcm; /* ibcm's own */
	/* source that is asked first for the next event, so that all sources get their turn */
	unsigned int turn;
	int posted_fd;		       /* readable while posted is not empty; -1: never used */
	TAILQ_HEAD(, cm_event) posted; /* posted.c */
	LIST_HEAD(, cm_id) ids;	       /* identifiers with events here, also hidden ones */
	LIST_ENTRY(cm_channel) entry;  /* list of destroyed channels */
};

static inline struct cm_channel *to_cm_channel(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

/* Return whether the channel has both backends, so that an address decides between them. */
static inline bool cm_channel_is_mixed(const struct cm_channel *ch)
{
	return ch->ucma_fd >= 0 && ch->ibcm_fd >= 0;
}

int cm_channel_create(struct cm_channel **ret_channel);
/* Destroy the channel. Its remaining identifiers are closed: see cm_id.closed. */
void cm_channel_destroy(struct cm_channel *ch);
/* Add an identifier to a channel, or remove it. -EBADF: the channel is destroyed. */
int cm_channel_enter(struct cm_channel *ch, struct cm_id *id);
void cm_channel_leave(struct cm_id *id);
/*
 * posted.c: if there are two backends, events that the library or the program writes wait in the
 * channel, because an identifier may have no backend yet. They are counted separately from a
 * backend's events. drop: remove unread events of @id. move: move them to @to, before id.channel
 * changes.
 */
int cm_posted_put(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);
int cm_posted_take(struct cm_channel *ch, struct cm_event *ev);
void cm_posted_drop(struct cm_id *id);
void cm_posted_move(struct cm_id *id, struct cm_channel *to);
void cm_posted_close(struct cm_channel *ch);

/* Take the next event of any backend. Sleep for it unless the channel is O_NONBLOCK (-EAGAIN). */
int cm_channel_next(struct cm_channel *ch, struct cm_event *ev);

#endif
