/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identifiers, and the results of a step of their connections. Call the functions under the lock.
 */
#ifndef IBCM_ID_H
#define IBCM_ID_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/state.h"

struct cm_id;
struct ibcm_channel;
struct ibcm_dev;
struct ibcm_mc;
struct ibcm_port;
struct ibcm_record;

/* How far the program has taken an identifier. */
enum ibcm_step {
	STEP_NEW,
	STEP_BOUND,
	STEP_ADDR, /* the other side's address is resolved */
	STEP_ROUTE,
	STEP_CONNECT, /* see the state of the connection */
	STEP_LISTEN,
	STEP_ENDED, /* destroyed: no operation is allowed any more */
};

struct ibcm_id {
	struct cm_id *id; /* NULL: a request that the program has not taken yet, or detached */
	/* the program has destroyed the identifier, and only the time wait is left */
	atomic_bool detached;
	bool held;   /* detached, but cm_id.ibcm still points to the identifier */
	bool silent; /* a request that is not accepted yet: no events are reported */
	struct ibcm_channel *channel; /* NULL: detached, or the channel was closed */
	LIST_ENTRY(ibcm_id) channel_entry;
	TAILQ_HEAD(ibcm_records, ibcm_record)
	records; /* events about this identifier in the channel, oldest first */
	/* written by another thread only when it destroys the identifier */
	_Atomic(enum ibcm_step) step;
	uint16_t ps;
	bool ud;
	struct ibcm_conn conn;
	uint32_t psn; /* first PSN of the peer's packets */
	struct ibcm_dev *dev;
	struct ibcm_local local; /* cm NULL: any */
	union ibv_gid remote_gid;
	struct sockaddr_storage src, dst;
	uint32_t qkey;
	uint32_t reported; /* number of events about the identifier that the program got */
	/* the device has been removed; DEVICE_REMOVAL is the last event */
	bool removed;
	LIST_ENTRY(ibcm_id) entry; /* in the list of all identifiers */
	/* listener */
	int backlog;
	int waiting; /* number of requests in the channel */
	LIST_ENTRY(ibcm_id) listen_entry;
	/* options */
	bool reuseaddr;
	/* afonly_set: the program has set the option; otherwise the address decides */
	bool afonly, afonly_set;
	uint8_t tos;
	bool ack_timeout_set;
	uint8_t ack_timeout;
	struct ibcm_port *port;
	/*
	 * in_table: has a communication id; by_peer: can be found by the id of the peer (table.c)
	 */
	bool in_table, by_peer;
	bool counted; /* share.c */
	/* the guardian has a last word for the connection, made in state @word_of (guard.c) */
	bool guarded;
	enum ibcm_state word_of;
	LIST_ENTRY(ibcm_id) peer_entry, qpn_entry;
	uint32_t heap_place; /* index from 1 on; 0: not in the heap */
};

struct ibcm_id *ibcm_id_new(struct ibcm_channel *channel, uint16_t ps, bool ud);
/* Send the messages and report the event of a step, and update the deadline. */
void ibcm_run(struct ibcm_id *iid, const struct ibcm_out *out, const struct ibcm_mad *mad);
/* Free an identifier that neither the program nor the time wait needs any more. */
void ibcm_id_release(struct ibcm_id *iid);
void ibcm_id_release_ended(struct ibcm_id *iid);
/* End an identifier, because the program destroys it or closes its channel. */
void ibcm_id_end(struct ibcm_id *iid);
/*
 * Drop the events about @iid. If @mc is not NULL, drop only the events about @mc. Refuse requests
 * among them.
 */
void ibcm_events_drop(struct ibcm_id *iid, struct ibcm_mc *mc);
/* Refuse a request and forget it. */
void ibcm_request_refuse(struct ibcm_id *child);
void ibcm_ids_remove_device(const struct ibcm_dev *dev);

#endif
