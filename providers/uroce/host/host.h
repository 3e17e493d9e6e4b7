/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that is shared by several QPs: the engine, the devices and the contexts of a process.
 *
 * - struct uroce_host: one per process. It has the process's slot among the processes of this host,
 *   the QP numbers, the engine, the progress thread and the rings of shared memory.
 * - struct uroce_dev: one per network interface in use, with GIDs, UDP path and port state.
 * - struct uroce_context: one per ibv_open_device().
 *
 * Files:
 *
 * - host.c, device.c, interface.c: create and destroy these three.
 * - interface_list.c: chooses the interfaces that have a device.
 * - progress.c, thread.c, watch.c: receive passes, and the descriptors that the thread waits for.
 * - receive.c: brings a packet to its QP.
 * - express.c: short way of the most frequent send.
 * - gid.c, av.c, mcast.c: addresses, that is GIDs, address vectors and multicast groups.
 * - xrc.c: XRC domains, and SRQs by number.
 * - qpn.c: QP numbers.
 * - former.c: the end of peers.
 * - show.c: shows peers the state of QPs and regions.
 * - counters.c: packet counters of QPs and devices.
 * - gsi.c, gsi_route.c, gsi_path.c: QP1.
 * - forward.c: datagrams for other processes of this host.
 * - guardian.c, spawn.c: the program that sends last messages after this process was killed.
 * - event.c, fault_event.c: asynchronous events, and events that a fault rule raises.
 *
 * Progress. uroce_progress() is the only receiver. Pollers call it when their CQ is empty. Received
 * packets are divided into strands by the number of the destination QP, so that pollers of CQs of
 * different strands do not wait for each other. Sockets, timers and packets without a QP belong to
 * the first strand. A thread takes a strand by trylock and makes its pass. A poller visits the
 * strands of its CQ's QPs first, and other strands only if no other thread polls them.
 *
 * Threads that change the lists of a pass wait for a lock: for progress_lock, which is the lock of
 * the first strand, to change sockets, devices or groups; for the locks of all strands to remove a
 * peer or a QP.
 *
 * The progress thread has two states:
 *
 * - asleep: no poller was seen for a tick. The thread waits in epoll for every socket and for its
 *   wake-up descriptor. Peers ring that descriptor because the board says "sleeping".
 * - watching: pollers are active. The thread leaves packets to them and only checks once a tick
 *   whether they are still active.
 *
 * An idle process therefore costs no processor time, and a busy poller is never disturbed.
 *
 * Locks, in the order in which they are taken:
 *
 * - the_lock (host.c): the host of this process.
 * - host->xrc_lock: handles of XRC receive QPs.
 * - host->lock: lists of devices and of XRC domains, numbers of QPs and SRQs.
 * - dev->lock: GID table, contexts, multicast groups.
 * - host->guardian_lock: start of the guardian.
 * - progress_lock and the locks of the other strands: the receive side, one pass of a strand.
 *   path_host_stop() (path/path.h) takes all of them.
 * - gsi->lock (gsi.c): received MADs. UROCE_LEAF_SERVICES (gsi_route.c): services on the board.
 * - the locks of the engine: qp->lock first, see engine/engine.h.
 * - watches->lock (watch.c): watched descriptors. ctx->event_lock: writers of a context's pipe.
 *
 * Threads: the application's threads, and one progress thread that thread.c starts.
 *
 * Includes: every room below. Included by: verbs, uroce.c.
 */
#ifndef UROCE_HOST_H
#define UROCE_HOST_H

#include <net/if.h>

#include "providers/uroce/engine/engine.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/udp/udp.h"
#include "providers/uroce/host/import.h"

struct strict_context;
struct uroce_capture;
struct uroce_faults;
struct uroce_forward;
struct uroce_guardian;
struct uroce_thread;
struct uroce_watches;

/* QP number that is free but not reused yet, because a peer may still know it. See qpn.c. */
struct uroce_resting {
	uint64_t until; /* ns; 0: may be used */
	uint32_t next;	/* index of the strand's next resting number, which became free later */
};

/* Resting numbers of a strand, as a list of indices. The first has rested longest. */
struct uroce_rest {
	uint32_t first, last;
	uint32_t count;
};

struct uroce_host {
	struct path_host paths;
	struct uroce_engine engine;
	/*
	 * QP1s that received a MAD in a pass of uroce_gsi_pass(), which hands it over; under
	 * progress_lock
	 */
	SLIST_HEAD(, uroce_gsi) gsi_came;
	bool gsi_attended; /* uroce_gsi_pass() makes the current pass; under progress_lock */

	pid_t pid;
	atomic_uint *here; /* 0 in a forked child; see uroce_host_here() */
	ino_t net;	   /* network namespace of the thread that started the host; 0: unknown */
	/* [index of the QPN]; read with a strand locked */
	_Atomic(struct uroce_qp *) *qps;
	atomic_uint qp_count; /* written under lock */
	uint32_t next_qpn;
	/* [index of the QPN]; under lock, like the next four members */
	struct uroce_resting *resting;
	struct uroce_rest rests[PATH_STRANDS];
	uint64_t rests_full;   /* ns: until then no further block is claimed to let numbers rest */
	uint16_t parts_looked; /* parts of the first block that part_look() has checked, a bit each
				*/
	uint32_t next_srqn;
	atomic_uint next_handle; /* next handle of a CQ or SRQ */
	pthread_mutex_t lock;	 /* devices, QP numbers */
	LIST_HEAD(, uroce_dev) devices;
	LIST_HEAD(, uroce_domain) domains; /* XRC; under lock */
	/*
	 * Sockets that take import requests, and objects that other processes may import; under
	 * lock.
	 */
	LIST_HEAD(, uroce_door) doors;
	LIST_HEAD(, uroce_pd) pds;
	LIST_HEAD(, uroce_dm) dms;
	pthread_mutex_t xrc_lock; /* protects the lists of handles of XRC receive QPs */
	struct uroce_shm *shm;
	struct uroce_keys_watch regions; /* upcalls that show regions to peers; see show.c */
	struct uroce_forward *forward;
	struct uroce_thread *thread;   /* NULL before it starts and after it ended */
	struct uroce_watches *watches; /* NULL together with thread */
	struct uroce_faults *faults;   /* NULL: no fault rules */
	pthread_mutex_t guardian_lock;
	bool guardian_tried;			   /* under guardian_lock */
	_Atomic(struct uroce_guardian *) guardian; /* NULL: not started */
	/* number of QPs whose packets arrive by sockets; 0: pollers skip sockets */
	atomic_uint udp_interest;
	atomic_uint poller_passes; /* passes of pollers since a CQ was last armed */
	atomic_bool watching;	   /* the thread leaves packets to active pollers */
	unsigned int forwards;	   /* number of datagrams waiting in forward; under progress_lock */
	atomic_uint next_strand;   /* next strand for a CQ, modulo PATH_STRANDS */
	atomic_bool strands_used;  /* a strand other than the first has QPs */
	uint32_t strand_qps[PATH_STRANDS]; /* number of QPs of each strand; under lock */
	int refs;
	struct uroce_epoch {
		/* incremented by every pass of a poller */
		alignas(2 * PATH_LINE) atomic_uint epoch;
	} epochs[PATH_STRANDS];
};

static inline unsigned int uroce_strand_epoch(const struct uroce_host *host, unsigned int strand)
{
	return atomic_load_explicit(&host->epochs[strand].epoch, memory_order_relaxed);
}

struct uroce_gid {
	union ibv_gid gid;
	bool valid;
};

struct uroce_dev {
	LIST_ENTRY(uroce_dev) entry;
	struct uroce_host *host;
	char name[IBV_SYSFS_NAME_MAX];
	char netdev[IF_NAMESIZE];
	atomic_int ifindex; /* atomic: changes while other threads read it */
	/* Atomic: these change while other threads read them. */
	atomic_uint link_mtu; /* bytes of the interface */
	atomic_bool link_up;
	bool removed;		   /* the interface is gone; under host->lock */
	bool left_out_logged;	   /* addresses without a GID were logged; under lock */
	atomic_uchar speed, width; /* encoded as in ibv_port_attr */
	bool is_loopback;
	uint8_t mac[6];
	pthread_mutex_t lock;		      /* GID table, contexts, multicast groups */
	struct uroce_gid gids[UROCE_GID_MAX]; /* changed under lock and progress_lock */
	/* gids[0] is not an address of the interface, see av.c; changed under lock */
	bool stand_in;
	struct uroce_path *udp;
	/* path for the engine and for AHs: udp, or the fault path in front of it */
	struct uroce_path *wire;
	struct uroce_gsi *gsi;		   /* NULL until QP1 is opened; set under progress_lock */
	struct uroce_qp_counters counters; /* sums of destroyed QPs; under host->lock */
	LIST_HEAD(, uroce_group) groups;   /* changed under lock and progress_lock */
	LIST_HEAD(, uroce_context) contexts;
	int refs;
};

struct uroce_context {
	struct verbs_context vctx;
	struct uroce_dev *dev;
	LIST_ENTRY(uroce_context) entry;
	struct uroce_pipe async;    /* async_fd is its read end */
	pthread_mutex_t event_lock; /* writers of the pipe */
	struct uroce_door *door;    /* other end of cmd_fd; NULL in an imported context */
	/*
	 * In an imported context: the original context, if it belongs to this process. Otherwise
	 * @owner is the connection to the process that owns the original.
	 */
	const struct ibv_context *origin;
	struct uroce_owner *owner;
	struct strict_context *strict; /* NULL: strict mode is off */
};

/*
 * Count one more object (@change 1) or one less (-1) in the protection domain of @pd, which may be
 * a parent domain or an imported view of it.
 */
static inline void uroce_pd_use(const struct ibv_pd *pd, int change)
{
	struct ibv_pd *protection = verbs_pd_protection((struct ibv_pd *)pd);

	atomic_fetch_add_explicit(&((struct uroce_pd *)protection)->users, change,
				  memory_order_relaxed);
}

/* --- import.c; its messages are in import.h --- */

/* Handle a message on @fd: a context's import socket, or the connection of an importing process. */
void uroce_import_ready(struct uroce_host *host, int fd);
void uroce_doors_forked(struct uroce_host *host);

/* --- from a member to its container --- */

static inline struct uroce_host *path_host_host(struct path_host *paths)
{
	return container_of(paths, struct uroce_host, paths);
}

static inline struct uroce_host *engine_host(struct uroce_engine *engine)
{
	return container_of(engine, struct uroce_host, engine);
}

static inline struct uroce_host *qp_host(const struct uroce_qp *qp)
{
	return engine_host(qp->engine);
}

static inline struct uroce_context *to_uctx(const struct ibv_context *ctx)
{
	return (struct uroce_context *)to_vctx((struct ibv_context *)ctx);
}

static inline struct uroce_dev *ctx_dev(const struct ibv_context *ctx)
{
	return to_uctx(ctx)->dev;
}

static inline struct uroce_host *ctx_host(const struct ibv_context *ctx)
{
	return ctx_dev(ctx)->host;
}

/* --- host.c: this process --- */

/*
 * Initialise the engine and the paths of a host, without slot, thread and sockets. Unit tests use
 * it as well.
 */
void uroce_host_init(struct uroce_host *host, uint64_t now);

/*
 * Return the engine of this process. The first call starts it. Each successful call needs a
 * uroce_host_put().
 */
int uroce_host_get(struct uroce_host **ret_host);
void uroce_host_put(struct uroce_host *host);
/* Return the network namespace of the calling thread. 0: unknown */
ino_t uroce_net_namespace(void);
/* The locks around a fork, for the provider's table. */
extern struct verbs_fork uroce_fork;
/*
 * Update the open devices from their interfaces now, if the process has an engine. The progress
 * thread does the same, but some time after a change. Without this call a new device list could be
 * newer than the open devices.
 */
void uroce_host_follow(void);
/*
 * Deliver what QPs of the context still owe their peers, because the context is being closed. NULL:
 * the process ends, so deliver for all QPs.
 */
void uroce_host_leave(struct uroce_host *host, const struct uroce_context *ctx);
/*
 * Return whether this process created the host. A child of fork() or clone() inherits the memory of
 * its parent's host, but neither thread nor slot. The locks in it may be held by threads that do
 * not exist in the child. Therefore every verb checks this before it takes a lock.
 */
static inline bool uroce_host_here(const struct uroce_host *host)
{
	return likely(atomic_load_explicit(host->here, memory_order_relaxed));
}

/* Return -EIO. The first call in a child logs the cause. */
int uroce_host_inherited(const struct uroce_host *host);
static inline int uroce_host_check(const struct uroce_host *host)
{
	return uroce_host_here(host) ? 0 : uroce_host_inherited(host);
}

/* --- interface.c --- */

/*
 * Implement the provider's list_devices(): every usable interface, lo last, or the interfaces that
 * UROCE=policy:names lists.
 */
int uroce_list_devices(struct verbs_device_list *list);

/* --- device.c --- */

/*
 * Return the device of this process. The first call opens it. Each successful call needs a
 * uroce_dev_put().
 */
int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev);
void uroce_dev_put(struct uroce_dev *dev);

/* Return the payload size in bytes of the largest packet that the interface takes. */
uint32_t uroce_dev_mtu(const struct uroce_dev *dev);

/* Return the same size as an ibv_mtu. */
enum ibv_mtu uroce_dev_active_mtu(const struct uroce_dev *dev);
/*
 * Receive IP headers together with datagrams from now on, because receive buffers of UD QPs show
 * them.
 */
void uroce_dev_headers_show(struct uroce_dev *dev);

/* --- counters.c --- */

/* Counter name of received datagrams with a wrong ICRC. Only devices have this counter. */
#define UROCE_COUNTER_WRONG_ICRC "rcvd_icrc_err"

/* Add the counters of a QP that is being destroyed to its device. Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp);
/* Read the counters of one QP, or the sum of all QPs that the device ever had. */
void uroce_counters_of_qp(struct uroce_qp *qp, struct uroce_qp_counters *ret);
void uroce_counters_of_dev(struct uroce_dev *dev, struct uroce_qp_counters *ret);
/* Number, names and values of the fields of struct uroce_qp_counters. */
unsigned int uroce_counters_count(void);
const char *uroce_counters_name(unsigned int i);
uint64_t uroce_counters_value(const struct uroce_qp_counters *counters, unsigned int i);
/* Return how many datagrams with a wrong ICRC the device's sockets received. */
uint64_t uroce_counters_wrong_icrc(const struct uroce_dev *dev);
/* Log the counters of a device that is being closed, in one line at level info. */
void uroce_counters_log(struct uroce_dev *dev);

/* --- gid.c --- */

/* Read the interface's addresses, MTU and state into the device, and raise events for changes. */
int uroce_gids_refresh(struct uroce_dev *dev);
/* Discard pending messages of the watching socket. */
void uroce_gids_drain(int fd);
/* Open an rtnetlink socket that becomes readable when any interface changes. */
int uroce_gids_watch(int *ret_fd);

/* --- av.c --- */

/* Resolve @attr into @ret_av: path, socket address and MTU. @dest_qpn: 0 for an AH. */
int uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr, uint32_t dest_qpn,
		     struct uroce_av *ret_av);

/*
 * Complete @av, the post's copy of an AH, for a datagram to @qpn. An AH names only a host, and the
 * QP number shows which process of this host the datagram is for. If that process is connected, the
 * datagram goes through shared memory. Under the lock of the QP, whose WQE keeps the peer's struct.
 */
void uroce_av_for_qpn(struct uroce_av *av, uint32_t qpn);
/* Return whether a queue pair with this number may exist at the destination. Takes system calls. */
bool uroce_av_may_have(const struct uroce_av *av, uint32_t qpn);

/* --- gsi.c, mcast.c --- */

/* Bring a datagram for QP1 to the connection manager of its process. Under progress_lock. */
void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid);
/*
 * Make a uroce_progress_pass() with sockets, release the locks and hand received MADs to their
 * taker. The caller holds progress_lock, or the locks of all strands, and no other lock.
 */
unsigned int uroce_gsi_pass(struct uroce_host *host);
/* Report to the connection manager that the process of @slot has gone. Under progress_lock. */
void uroce_gsi_peer_gone(struct uroce_host *host, uint16_t slot);
/* Report to the connection manager that the device's interface has gone. */
void uroce_gsi_removed(struct uroce_dev *dev);
void uroce_gsi_free(struct uroce_gsi *gsi);
/* Receive from the sockets of the device's multicast groups. Under progress_lock. */
unsigned int uroce_mcast_poll(struct uroce_dev *dev, unsigned int budget);
/* Deliver a multicast packet to every attached QP. */
void uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *pkt);

/* --- event.c --- */

/* The upcalls of the engine. */
extern const struct engine_events uroce_engine_events;
int uroce_event_open(struct uroce_context *ctx);
void uroce_event_close(struct uroce_context *ctx);
/* Raise a port event in every context of the device. */
void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type);
/* Drop unread events of an object that is being destroyed, and subtract them from @raised. */
void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised);

/* --- fault_event.c --- */

struct fault_rule;
/* Raise the events of fault rules whose time has come. In the progress thread, no lock held. */
void uroce_fault_events(struct uroce_host *host);
/* Raise the event of @rule now, because a request was posted to @qp. No lock held. */
void uroce_fault_fire(const struct fault_rule *rule, struct uroce_qp *qp);

/* --- operations of the provider that the host implements --- */

/* mcast.c */
int uroce_attach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);
int uroce_detach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* gsi.c */
int uroce_gsi_open(struct ibv_context *ctx, const struct verbs_gsi_taker *taker, int *ret_fd,
		   uint16_t *ret_prefix);
int uroce_gsi_listen(struct ibv_context *ctx, uint64_t service_id, const union ibv_gid *gid,
		     bool on);
int uroce_gsi_send(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
int uroce_gsi_recv(struct ibv_context *ctx, struct verbs_gsi_mad *ret_mad);
int uroce_gsi_probe(struct ibv_context *ctx, const struct verbs_gsi_mad *mad, int *fd);
int uroce_gsi_offer(struct ibv_context *ctx, const struct verbs_gsi_mad *mad);
void uroce_gsi_poll(struct ibv_context *ctx);
void uroce_gsi_leave(struct ibv_context *ctx);

/* guardian.c */
int uroce_gsi_guard(struct ibv_context *ctx, const union ibv_gid *remote);
int uroce_gsi_last_word(struct ibv_context *ctx, uint16_t index, const struct verbs_gsi_mad *mad);

#include "providers/uroce/host/number.h"
#include "providers/uroce/host/progress.h"

#endif
