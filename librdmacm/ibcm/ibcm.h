/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user-space connection manager: declarations shared by its files.
 *
 *   mad.c, state*.c  messages and states, pure
 *   lock.c           the lock, the clock
 *   wake.c           what wakes the thread
 *   device.c         devices in use
 *   table.c          communication ids, and connections by the ids of peers; deadlines
 *   share.c          the limit of identifiers for each host
 *   answered.c       requests that were answered and get no other answer
 *   listen.c         listeners
 *   local.c, path.c  addresses of this host; paths to others
 *   interfaces.c     interfaces and addresses that come and go
 *   port.c           ports and their owners, also in other processes
 *   guard.c          messages out after this process was killed
 *   send.c           messages out
 *   probe.c          messages out that a host without a receiver refuses
 *   event.c          channels, and the events in them
 *   pending.c        requests that wait for a listener
 *   id.c             identifiers, and the results of a step
 *   request.c        requests in
 *   dispatch.c       messages in
 *   loop.c           the thread
 *   addr.c, attr.c, mcast.c, wait.c, channel.c, ibcm.c  operations of the backend
 *
 * A file calls only files above it in this list, and its neighbours in a line:
 * tests/contract/rooms/ibcm.plan.
 *
 * One lock protects everything: ibcm_lock(). Operations of the provider are called under it. The
 * core is not called under it, but memory of an identifier is read and written.
 */
#ifndef IBCM_IBCM_H
#define IBCM_IBCM_H

#include "librdmacm/cm.h"
#include "librdmacm/ibcm/state.h"
#include "libibverbs/provider.h"

struct ibcm_port;

/* A device with an open QP1. It is never closed, like the devices of the core. */
struct ibcm_dev {
	LIST_ENTRY(ibcm_dev) entry;
	struct cm_device *cm;
	struct ibv_context *verbs;
	int fd;
	bool watched; /* the thread waits for @fd; under the lock of opening */
	LIST_HEAD(, ibcm_prober) probers;
};

/* An address of this host. */
struct ibcm_local {
	struct cm_device *cm;
	uint8_t index; /* index of the GID */
	union ibv_gid gid;
};

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

struct ibcm_record;

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

struct ibcm_mc {
	struct cm_mc *mc;
	uint32_t reported;
};

/* --- lock.c --- */

void ibcm_lock(void);
bool ibcm_lock_try(void);
void ibcm_unlock(void);
/* Take and release the lock around fork(). @child: this process is the child, and its parent ran
 * the thread. */
void ibcm_lock_fork_begin(void);
void ibcm_lock_fork_end(bool child);
uint64_t ibcm_now(void);
uint32_t ibcm_random(void);
/*
 * Return whether this process was forked after the first use of a device. ibcm_child_refuse() logs
 * that and returns -EIO.
 */
bool ibcm_is_child(void);
int ibcm_child_refuse(void);

/* --- wake.c --- */

enum {
	IBCM_WAKE_MAX = 16
};

int ibcm_wake_open(void);
void ibcm_wake_close(void);
/* Let the thread wake when @fd is readable, or when it has an error. */
int ibcm_wake_watch(int fd, void *what);
int ibcm_wake_watch_errors(int fd, void *what);
/*
 * Call before @fd is closed. Otherwise the watch would stay, because a forked child has the
 * descriptor, too.
 */
void ibcm_wake_unwatch(int fd);
/* Wait in the thread. Return: the number of descriptors in @ready, each by its @what. */
int ibcm_wake_wait(void *ready[IBCM_WAKE_MAX], int timeout_ms);
/* Set the time in ns at which the thread wakes without a signal; 0: the thread is awake. Under the
 * lock. */
void ibcm_wake_set(uint64_t at);
/*
 * Wake the thread to check deadlines. ibcm_wake_by() does nothing if the thread wakes before
 * @deadline (0: never).
 */
void ibcm_wake(void);
void ibcm_wake_by(uint64_t deadline);

/* --- device.c --- */

/* Functions of loop.c that device.c calls. */
struct ibcm_loop {
	int (*start)(void);	    /* start the thread, if it does not run */
	bool (*arrived)(void *dev); /* handle a message in the device's thread */
	void (*fork_watch)(void);
};

extern const struct ibcm_loop ibcm_loop;

/* Set the functions of loop.c. Call this before the first device is opened. */
void ibcm_devices_serve(const struct ibcm_loop *loop);
/* Open QP1 of the device, and let the thread poll it. Without the lock. */
int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev);
/* Open QP1 of all devices in the same way. */
int ibcm_dev_get_all(struct ibcm_dev **ret_any);
/* Return the first open device of the list. Under the lock. */
struct ibcm_dev *ibcm_dev_first(void);
/* Return the upper byte of the communication ids of this process. */
uint16_t ibcm_prefix(void);
/* Take and release the lock of opening around fork(). */
void ibcm_devices_fork_begin(void);
void ibcm_devices_fork_end(void);

/* --- interfaces.c; without the lock --- */

/*
 * Update the list of devices from the present interfaces and addresses. This costs one system call
 * if there was no change.
 */
void ibcm_interfaces_follow(void);
/* Do this for the first time, before the list of devices is read. */
void ibcm_interfaces_begin(void);
/* Do this in the thread, which also opens new devices for listeners on any address. */
void ibcm_interfaces_serve(void);
/* Return whether such a listener waits for ibcm_interfaces_serve(). */
bool ibcm_interfaces_wanted(void);
/* Return a descriptor that is readable after a change; -1: the system does not report changes. */
int ibcm_interfaces_fd(void);
/* Take and release the lock around fork(), before all other locks. */
void ibcm_interfaces_fork_begin(void);
void ibcm_interfaces_fork_end(void);

/* --- send.c; under the lock --- */

/*
 * Send a message. If sending fails, the message counts as lost: it is repeated until the peer
 * counts as unreachable.
 */
void ibcm_send(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad);
void ibcm_id_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/* Send again the messages that the device had no room for. Return: whether some are left. */
bool ibcm_send_retry(void);

/* --- probe.c; under the lock --- */

/*
 * Send a message so that a host without a receiver refuses it. -ENOENT: the message is for this
 * host, and was not sent.
 */
int ibcm_probe_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
typedef void ibcm_refused_fn(const union ibv_gid *local, const union ibv_gid *remote);
/* Call @refused for each refusal that a host has sent. */
void ibcm_probe_read(struct ibcm_dev *dev, ibcm_refused_fn *refused);

/* --- guard.c --- */

/*
 * Start to guard a connection. Call before the first message to its peer, and without the lock.
 * Return: whether a guardian will send its last word when this process is killed. The last word is
 * kept up to date.
 */
bool ibcm_guard_begin(const struct ibcm_id *iid);
/* Update the last word after any step, or drop it at the end. Under the lock. */
void ibcm_guard_update(struct ibcm_id *iid);
void ibcm_guard_end(struct ibcm_id *iid);

/* --- listen.c; under the lock --- */

void ibcm_listener_add(struct ibcm_id *iid);
void ibcm_listener_remove(struct ibcm_id *iid);
/*
 * Return whether an identifier listens on any address, and therefore on devices that appear later.
 */
bool ibcm_listener_on_any(void);
/*
 * Return the listener on that address; if there is none, the listener on any address; otherwise
 * NULL.
 */
struct ibcm_id *ibcm_listener_find(uint64_t service_id, const union ibv_gid *gid,
				   sa_family_t family);
uint64_t ibcm_service_id(const struct ibcm_id *iid);
/* Return the GID that verbs_gsi_listen() gets for the listener. */
const union ibv_gid *ibcm_listener_gid(const struct ibcm_id *iid);

/* --- answered.c; under the lock --- */

/* Store @data as the only answer to the request of @iid. */
void ibcm_answered_add(const struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/*
 * Return the answer that was sent to a request within the last ten seconds, or NULL. @id, @tid:
 * numbers of the peer.
 */
const uint8_t *ibcm_answered_find(const union ibv_gid *gid, uint32_t id, uint64_t tid);

/* --- pending.c; under the lock --- */

/*
 * Handle a pending request again. Return: true if the request is done, false if it must wait
 * further. @last: answer the request even without a listener.
 */
typedef bool ibcm_again_fn(struct ibcm_dev *dev, const struct verbs_gsi_mad *from, bool last);
/*
 * Keep a request without a listener for a moment. @id: the peer's communication id; @of_socket:
 * keep it only until all processes were searched. Return: false if there is no memory, or if all
 * processes were searched before.
 */
bool ibcm_pending_add(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad, uint32_t id,
		      bool of_socket, ibcm_again_fn *again);
/* Drop the request, because the peer gave up. Return: whether there was a request. */
bool ibcm_pending_withdraw(const union ibv_gid *gid, uint32_t id);
/*
 * Search listeners for the pending requests, and refuse the requests that have waited long enough.
 * Return: time of the next search; 0: none.
 */
uint64_t ibcm_pending_run(uint64_t now, ibcm_again_fn *again);

/* --- table.c; all under the lock --- */

/*
 * Return the prefix of a communication id. It shows which process of the host assigned the id: see
 * verbs_gsi_open().
 */
static inline uint16_t ibcm_id_prefix(uint32_t id)
{
	return id >> (32 - VERBS_GSI_PREFIX_BITS);
}

/*
 * Assign a communication id to the connection. @prefix: its first bits. -EUSERS: there are too many
 * connections.
 */
int ibcm_table_add(struct ibcm_id *iid, uint16_t prefix);
void ibcm_table_remove(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find(uint32_t local_id);
/* From now on the connection can be found by the peer's id and by its QP. */
void ibcm_table_add_peer(struct ibcm_id *iid);
void ibcm_table_remove_peer(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find_peer(const union ibv_gid *gid, uint64_t guid, uint32_t remote_id);
struct ibcm_id *ibcm_table_find_qpn(const union ibv_gid *gid, uint64_t guid, uint32_t qpn);
/* Hash values that peers choose, with a secret seed. */
uint32_t ibcm_hash(const union ibv_gid *gid, uint64_t guid, uint32_t number);
/* Return the number of unused communication ids. */
uint32_t ibcm_table_room(void);
/* Call @fn for each connection. @fn may remove it. */
void ibcm_table_each(void (*fn)(struct ibcm_id *iid, void *arg), void *arg);

/* Update the heap of deadlines from conn.deadline. -ENOMEM: the connection has no deadline. */
int ibcm_heap_update(struct ibcm_id *iid);
/* Return the identifier with the earliest deadline, or NULL. */
struct ibcm_id *ibcm_heap_first(void);

/* --- share.c: the limit of each host's requests; under the lock --- */

/* Count the identifier for its peer's host while it is a request and not yet a connection. */
void ibcm_share_update(struct ibcm_id *iid);
void ibcm_share_leave(struct ibcm_id *iid);
/*
 * Return whether a further request of that host is accepted, and whether it would be the host's
 * only request.
 */
bool ibcm_share_allows(const union ibv_gid *gid);
bool ibcm_share_is_first(const union ibv_gid *gid);

/* --- port.c --- */

/*
 * Take @port (host order) for the identifier's port space at iid->local; 0: choose one. @shown:
 * also reserve the port against other processes. An identifier that only connects does not need
 * this. -EADDRINUSE, -EADDRNOTAVAIL (a wildcard conflicts), -EACCES (below 1024).
 */
int ibcm_port_take(struct ibcm_id *iid, uint16_t port, bool shown, uint16_t *ret_port);
void ibcm_port_drop(struct ibcm_id *iid);
/*
 * Make the port exclusive. A listener does not share its port, whatever reuseaddr is. -EADDRINUSE,
 * -EADDRNOTAVAIL. Without the lock.
 */
int ibcm_port_listen(struct ibcm_id *iid);

/* --- local.c --- */

void ibcm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *ret_gid);
bool ibcm_gid_is_ipv4(const union ibv_gid *gid);
/*
 * Find the device with the address. Search the devices that the last ibcm_interfaces_follow() has
 * found. -EADDRNOTAVAIL: no device has it. Without the lock.
 */
int ibcm_local_find(const struct sockaddr *addr, struct ibcm_local *ret_local);
/* Call @fn with each address of this host. Without the lock. */
int ibcm_local_each(int (*fn)(const struct ibcm_local *local, void *arg), void *arg);

/* --- path.c --- */

int ibcm_query_route(struct cm_id *id);
/* Return the address vector to the peer. */
struct ibv_ah_attr ibcm_ah_attr(const struct ibcm_id *iid);
/* Return n of a packet's life time, 4.096 us << n, for the timeouts of both sides. */
uint8_t ibcm_packet_life_time(const struct ibcm_id *iid);
uint8_t ibcm_path_mtu(const struct ibcm_id *iid);
uint8_t ibcm_path_rate(const struct ibcm_id *iid);

/* --- addr.c --- */

bool ibcm_serves(const struct sockaddr *addr);
int ibcm_bind_addr(struct cm_id *id, const struct sockaddr *addr);
int ibcm_resolve_addr(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		      int timeout_ms);
int ibcm_resolve_route(struct cm_id *id, int timeout_ms);
int ibcm_query_addr(struct cm_id *id);

/* --- id.c; under the lock --- */

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

/* --- request.c; under the lock --- */

ibcm_again_fn ibcm_request_again;

/* --- dispatch.c; under the lock --- */

void ibcm_arrived(struct ibcm_dev *dev, const struct verbs_gsi_mad *from);
ibcm_refused_fn ibcm_refused;

/* --- wait.c --- */

/* Wait until there may be an event. Any number of threads may wait. */
int ibcm_wait_event(struct cm_channel *ch);

/* --- channel.c --- */

int ibcm_open_channel(struct cm_channel *ch, int *ret_fd);
/* Close the channel, and end its identifiers. */
void ibcm_close_channel(struct cm_channel *ch);

/* --- event.c --- */

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

/* --- attr.c --- */

int ibcm_init_qp_attr(struct cm_id *id, struct cm_qp_attr *attrs, int count);

/* --- mcast.c --- */

int ibcm_join(struct cm_mc *mc);
int ibcm_leave(struct cm_mc *mc, uint32_t *ret_events);

#endif
