/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Channels, and the events in them. */
#ifndef IBCM_EVENT_H
#define IBCM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

struct cm_channel;
struct cm_event;
struct ibcm_channel;
struct ibcm_id;
struct ibcm_mc;

int ibcm_channel_new(struct ibcm_channel **ret_channel, int *ret_fd);
/* Free a channel without events and identifiers. */
void ibcm_channel_free(struct ibcm_channel *channel);
/* Return an identifier with events in the channel, or NULL. Under the lock. */
struct ibcm_id *ibcm_channel_first(struct ibcm_channel *channel);
/* Set the channel for the events of an identifier; NULL: no events any more. */
void ibcm_channel_set(struct ibcm_id *iid, struct ibcm_channel *channel);
int ibcm_get_event(struct cm_channel *ch, struct cm_event *ev);
/*
 * Return whether there is an event. Also return how long, in ns, the program waited for the last
 * one.
 */
bool ibcm_event_ready(struct cm_channel *ch);
uint64_t ibcm_event_waited(struct cm_channel *ch);
void ibcm_event_set_waited(struct cm_channel *ch, uint64_t ns);
/*
 * Make an event about @iid. Under the lock. NULL: there is no memory, which is logged, or no
 * channel.
 */
struct cm_event *ibcm_event_new(struct ibcm_id *iid, enum rdma_cm_event_type type, int status);
/* Make the event of a request to listener @iid. @child: its new identifier. */
struct cm_event *ibcm_event_request(struct ibcm_id *iid, struct ibcm_id *child);
struct cm_event *ibcm_event_group(struct ibcm_id *iid, struct ibcm_mc *mc,
				  enum rdma_cm_event_type type, int status);
void ibcm_event_private(struct cm_event *ev, const uint8_t *data, uint32_t length);
/*
 * ibcm_event_drop(): drop an event about @iid, or about @mc if @mc is not NULL.
 * ibcm_channel_drop(): drop any event of the channel. If *ret_child is not NULL afterwards, the
 * event was a request, and the caller must refuse the request. Return: whether there was an event.
 */
bool ibcm_event_drop(struct ibcm_id *iid, struct ibcm_mc *mc, struct ibcm_id **ret_child);
bool ibcm_channel_drop(struct ibcm_channel *channel, struct ibcm_id **ret_child);
void ibcm_events_move(struct ibcm_id *iid, struct ibcm_channel *to);

#endif
