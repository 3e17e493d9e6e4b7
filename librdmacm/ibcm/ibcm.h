/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user-space connection manager: what its files share.
 *
 *   mad.c, state*.c	messages and states, pure
 *   ibcm.c		operations of the backend, by identifier
 *   addr.c		local addresses, ports, routes
 *   port.c		ports and who has them, also in other processes
 *   manager.c		the lock, devices, deadlines; the thread
 *   dispatch.c		messages in
 *   interfaces.c	interfaces and addresses that come and go
 *   probe.c		messages out, so that a host where nobody is says so
 *   guard.c		messages out when this process cannot send any more
 *   send.c		messages out
 *   listen.c		listeners
 *   park.c		requests nobody listens for yet
 *   event.c		channels and the events that wait in them
 *   table.c		communication ids, and connections by what the peer calls them
 *   share.c		how much of that each host may have
 *
 * One lock for everything, ibcm_lock(). Operations of the provider are called under it; nothing of
 * the core is, but memory of an identifier is read and written.
 */
#ifndef IBCM_IBCM_H
#define IBCM_IBCM_H

#include "librdmacm/cm.h"
#include "librdmacm/ibcm/state.h"
#include "libibverbs/provider.h"

struct ibcm_port;

/* A device whose QP1 is open. Never closed, as devices of the core are not. */
struct ibcm_dev {
	LIST_ENTRY(ibcm_dev) entry;
	struct cm_device *cm;
	struct ibv_context *verbs;
	int fd;
	LIST_HEAD(, ibcm_prober) probers;
};

/* Which of our addresses. */
struct ibcm_local {
	struct cm_device *cm;
	uint8_t index; /* of the GID */
	union ibv_gid gid;
};

/* How far the program has taken an identifier. */
enum ibcm_step {
	STEP_NEW,
	STEP_BOUND,
	STEP_ADDR, /* the other side's address is resolved */
	STEP_ROUTE,
	STEP_CONNECT, /* its connection's state says the rest */
	STEP_LISTEN,
	STEP_ENDED, /* destroyed: no operation is allowed any more */
};

struct ibcm_record;

struct ibcm_id {
	struct cm_id *id; /* NULL: nobody took the request yet, or the program is done with it */
	atomic_bool detached; /* the latter: only its time wait is left */
	bool held;	      /* nevertheless cm_id.ibcm still points to it */
	bool silent;	      /* a request nobody has accepted: nothing is reported about it */
	struct ibcm_channel *channel; /* NULL: detached, or it was closed */
	LIST_ENTRY(ibcm_id) channel_entry;
	TAILQ_HEAD(ibcm_records, ibcm_record)
	records;		      /* events in the channel about it, oldest first */
	_Atomic(enum ibcm_step) step; /* written by another thread only when that destroys it */
	uint16_t ps;
	bool ud;
	struct ibcm_conn conn;
	uint32_t psn; /* the peer's first */
	struct ibcm_dev *dev;
	struct ibcm_local local; /* cm NULL: any */
	union ibv_gid remote_gid;
	struct sockaddr_storage src, dst;
	uint32_t qkey;
	uint32_t reported; /* events handed out about it */
	bool removed;	   /* with its device: it has no events any more but the one that says so */
	LIST_ENTRY(ibcm_id) entry; /* of all */
	/* listener */
	int backlog;
	int waiting; /* requests in its channel */
	LIST_ENTRY(ibcm_id) listen_entry;
	/* options */
	bool reuseaddr;
	bool afonly, afonly_set; /* without the option it depends on the address */
	uint8_t tos;
	bool ack_timeout_set;
	uint8_t ack_timeout;
	struct ibcm_port *port;
	/* table.c; under a key from connect or arrival on */
	bool in_table, by_peer;
	bool counted; /* share.c */
	/* guard.c: somebody speaks for it; the state in which it has what he says */
	bool guarded;
	enum ibcm_state word_of;
	LIST_ENTRY(ibcm_id) peer_entry, qpn_entry;
	uint32_t heap_place; /* 1 ...; 0: not in the heap */
};

struct ibcm_mc {
	struct cm_mc *mc;
	uint32_t reported;
};

/* --- manager.c --- */

void ibcm_lock(void);
void ibcm_unlock(void);
uint64_t ibcm_now(void);
uint32_t ibcm_random(void);
/* Open QP1 of the device, and have the thread listen to it. Without the lock. */
int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev);
/* The same of all devices of ours. */
int ibcm_dev_get_all(struct ibcm_dev **ret_any);
/* Of a list of all open ones. Under the lock. */
struct ibcm_dev *ibcm_dev_first(void);
/* Forked after the first use of a device; -EIO, said in the log. */
bool ibcm_is_child(void);
int ibcm_child_refuse(void);
/* The thread looks at what is in the error queue of @fd: ibcm_probe_read(). */
int ibcm_watch_errors(struct ibcm_dev *dev, int fd);
/* Before it is closed: a forked child has it, too, and would keep the watch. */
void ibcm_unwatch_errors(int fd);
/* The upper byte of this process's communication ids. */
uint16_t ibcm_prefix(void);
/* The thread looks what is due; the second, unless it does so before @deadline (0: never). */
void ibcm_wake(void);
void ibcm_wake_by(uint64_t deadline);

/* --- interfaces.c; without the lock --- */

/*
 * Bring the list of devices in line with the interfaces and addresses of this moment. Costs one
 * system call when none has changed.
 */
void ibcm_interfaces_follow(void);
/* The same, the first time: before the list of devices is read. */
void ibcm_interfaces_begin(void);
/* The thread: the same, and open new devices if a listener on any address wants them. */
void ibcm_interfaces_serve(void);
/* Whether such a listener waits for ibcm_interfaces_serve(). */
bool ibcm_interfaces_wanted(void);
/* Readable after a change; -1: the system does not report changes. */
int ibcm_interfaces_fd(void);
/* Around fork(), before all other locks. */
void ibcm_interfaces_fork_begin(void);
void ibcm_interfaces_fork_end(void);

/* --- send.c; under the lock --- */

/* What cannot be sent at all is repeated like what was lost, until the peer is unreachable. */
void ibcm_send(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad);
void ibcm_id_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/* Once more what the device had no room for. Return: whether some is left. */
bool ibcm_send_retry(void);

/* --- probe.c; under the lock --- */

/* Send, and hear if nobody receives there. -ENOENT: it is for this host, and not sent. */
int ibcm_probe_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/* Hosts said that nobody receives there. */
void ibcm_probe_read(struct ibcm_dev *dev);

/* --- guard.c --- */

/*
 * Before the first message to its peer, and without the lock: whether somebody will speak for the
 * connection when this process is killed. Then it is guarded, and its last word kept up to date.
 */
bool ibcm_guard_begin(const struct ibcm_id *iid);
/* After any step; and when there is nothing to be said any more. Under the lock. */
void ibcm_guard_update(struct ibcm_id *iid);
void ibcm_guard_end(struct ibcm_id *iid);

/* --- listen.c; under the lock --- */

void ibcm_listener_add(struct ibcm_id *iid);
void ibcm_listener_remove(struct ibcm_id *iid);
/* Whether one listens on any address, and so on devices that appear later. */
bool ibcm_listener_on_any(void);
/* One on the very address before one on any. NULL: nobody. */
struct ibcm_id *ibcm_listener_find(uint64_t service_id, const union ibv_gid *gid,
				   sa_family_t family);
uint64_t ibcm_service_id(const struct ibcm_id *iid);
/* What verbs_gsi_listen() is told about the listener's address. */
const union ibv_gid *ibcm_listener_gid(const struct ibcm_id *iid);

/* --- answered.c; under the lock --- */

/* @data was the answer to the request that @iid was made for, and the end of it. */
void ibcm_answered_add(const struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN]);
/* The answer that a request had within the last ten seconds; NULL: none. @id, @tid: the peer's. */
const uint8_t *ibcm_answered_find(const union ibv_gid *gid, uint32_t id, uint64_t tid);

/* --- park.c; under the lock --- */

/*
 * A request for a service nobody listens on: keep it for a moment. @id: what the peer calls it;
 * @of_socket: not longer than it takes to ask all processes. False: no memory, or they were asked.
 */
bool ibcm_park(struct ibcm_dev *dev, const struct verbs_gsi_mad *mad, uint32_t id, bool of_socket);
/* The peer gave up. Return: whether there was one. */
bool ibcm_park_withdraw(const union ibv_gid *gid, uint32_t id);
/* Whether somebody listens by now; who waited long enough is refused. Return: when to look again; 0
 * need not be. */
uint64_t ibcm_park_look(uint64_t now);

/* --- table.c; all under the lock --- */

/* The process that gave a communication id, among those of its host: see verbs_gsi_open(). */
static inline uint16_t ibcm_id_prefix(uint32_t id)
{
	return id >> (32 - VERBS_GSI_PREFIX_BITS);
}

/* Give the connection a communication id. @prefix: its first bits. -EUSERS: too many. */
int ibcm_table_add(struct ibcm_id *iid, uint16_t prefix);
void ibcm_table_remove(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find(uint32_t local_id);
/* Find it by what the peer calls it, and by its QP, too, from now on. */
void ibcm_table_add_peer(struct ibcm_id *iid);
void ibcm_table_remove_peer(struct ibcm_id *iid);
struct ibcm_id *ibcm_table_find_peer(const union ibv_gid *gid, uint64_t guid, uint32_t remote_id);
struct ibcm_id *ibcm_table_find_qpn(const union ibv_gid *gid, uint64_t guid, uint32_t qpn);
/* Of what others choose, with a seed they do not know. */
uint32_t ibcm_hash(const union ibv_gid *gid, uint64_t guid, uint32_t number);
/* Communication ids that are left. */
uint32_t ibcm_table_room(void);
/* Call @fn for each; it may remove the one it gets. */
void ibcm_table_each(void (*fn)(struct ibcm_id *iid, void *arg), void *arg);

/* Deadlines: bring the heap in line with conn.deadline. -ENOMEM leaves it without. */
int ibcm_heap_update(struct ibcm_id *iid);
/* The one due first; NULL: none. */
struct ibcm_id *ibcm_heap_first(void);

/* --- share.c: what one host's requests may take; under the lock --- */

/* Count the identifier with its peer's host while it is a request and no connection. */
void ibcm_share_update(struct ibcm_id *iid);
void ibcm_share_leave(struct ibcm_id *iid);
/* Whether a further request of that host is taken; whether it would be the only one. */
bool ibcm_share_allows(const union ibv_gid *gid);
bool ibcm_share_is_first(const union ibv_gid *gid);

/* --- port.c --- */

/*
 * Take @port (host order) for the identifier's port space at iid->local; 0: choose one. @shown:
 * other processes must not have it either; an identifier that only connects does without.
 * -EADDRINUSE, -EADDRNOTAVAIL (conflict with a wildcard or of one), -EACCES (below 1024).
 */
int ibcm_port_take(struct ibcm_id *iid, uint16_t port, bool shown, uint16_t *ret_port);
void ibcm_port_drop(struct ibcm_id *iid);
/*
 * Who listens shares the port with nobody, reuseaddr or not: EADDRINUSE, EADDRNOTAVAIL. Without the
 * lock.
 */
int ibcm_port_listen(struct ibcm_id *iid);

/* --- addr.c --- */

void ibcm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *ret_gid);
bool ibcm_gid_is_ipv4(const union ibv_gid *gid);
/*
 * Which device has the address, of those that the last ibcm_interfaces_follow() has found.
 * -EADDRNOTAVAIL: none of ours. Without the lock.
 */
int ibcm_local_find(const struct sockaddr *addr, struct ibcm_local *ret_local);
/* Call @fn with each of our addresses. Without the lock. */
int ibcm_local_each(int (*fn)(const struct ibcm_local *local, void *arg), void *arg);
bool ibcm_serves(const struct sockaddr *addr);
int ibcm_bind_addr(struct cm_id *id, const struct sockaddr *addr);
int ibcm_resolve_addr(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		      int timeout_ms);
int ibcm_resolve_route(struct cm_id *id, int timeout_ms);
int ibcm_query_addr(struct cm_id *id);
int ibcm_query_route(struct cm_id *id);
/* How packets get to the peer. */
struct ibv_ah_attr ibcm_ah_attr(const struct ibcm_id *iid);
/* 4.096 us << n: a packet's life, as both sides' timeouts count it. */
uint8_t ibcm_packet_life_time(const struct ibcm_id *iid);
uint8_t ibcm_path_mtu(const struct ibcm_id *iid);
uint8_t ibcm_path_rate(const struct ibcm_id *iid);

/* --- dispatch.c; under the lock --- */

void ibcm_arrived(struct ibcm_dev *dev, const struct verbs_gsi_mad *from);
/* A request that was parked. Return: done with it. @last: nobody waits for a listener any longer.
 */
bool ibcm_request_again(struct ibcm_dev *dev, const struct verbs_gsi_mad *from, bool last);
/* Send and report what a step brought about; bring the deadline in line. */
void ibcm_run(struct ibcm_id *iid, const struct ibcm_out *out, const struct ibcm_mad *mad);
struct ibcm_id *ibcm_id_new(struct ibcm_channel *channel, uint16_t ps, bool ud);
/* Memory of an identifier nobody needs any more: no program, no time wait. */
void ibcm_id_release(struct ibcm_id *iid);
void ibcm_id_release_ended(struct ibcm_id *iid);

/* --- ibcm.c --- */

/* The program is done with it, or its channel is; under the lock. */
void ibcm_id_end(struct ibcm_id *iid);

/* --- wait.c --- */

/* Until there may be an event. Threads: any number. */
int ibcm_wait_event(struct cm_channel *ch);

/* --- event.c --- */

int ibcm_open_channel(struct cm_channel *ch, int *ret_fd);
/* Ends the identifiers that are in it, too. */
void ibcm_close_channel(struct cm_channel *ch);
/* Where the events of an identifier go; @channel NULL: nowhere any more. */
void ibcm_channel_set(struct ibcm_id *iid, struct ibcm_channel *channel);
int ibcm_get_event(struct cm_channel *ch, struct cm_event *ev);
/* Whether ibcm_get_event() would not sleep; how long, ns, the program slept for the last one. */
bool ibcm_event_ready(struct cm_channel *ch);
uint64_t ibcm_event_waited(struct cm_channel *ch);
void ibcm_event_set_waited(struct cm_channel *ch, uint64_t ns);
/* A new event about @iid; under the lock. NULL: no memory, which is said, or no channel. */
struct cm_event *ibcm_event_new(struct ibcm_id *iid, enum rdma_cm_event_type type, int status);
/* The event of a request to listener @iid: @child is its new identifier. */
struct cm_event *ibcm_event_request(struct ibcm_id *iid, struct ibcm_id *child);
struct cm_event *ibcm_event_group(struct ibcm_id *iid, struct ibcm_mc *mc,
				  enum rdma_cm_event_type type, int status);
/* No more events about it (about @mc, when it is not NULL); requests among them are refused. */
void ibcm_events_drop(struct ibcm_id *iid, struct ibcm_mc *mc);
void ibcm_events_move(struct ibcm_id *iid, struct ibcm_channel *to);
/* Refuse a request and forget it. */
void ibcm_request_refuse(struct ibcm_id *child);

/* --- mcast.c --- */

int ibcm_join(struct cm_mc *mc);
int ibcm_leave(struct cm_mc *mc, uint32_t *ret_events);

#endif
