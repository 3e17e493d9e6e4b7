/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What lives beyond one QP: the process's engine, its devices and contexts.
 *
 *   struct uroce_host     one per process: slot among the processes of this host, QP and key
 *                         tables, timers, progress thread, shared-memory lanes
 *   struct uroce_dev      one per network interface in use: GIDs, UDP path, port state
 *   struct uroce_context  one per ibv_open_device()
 *
 * Progress. uroce_progress() is the only receiver; whoever gets progress_lock by trylock does the
 * pass. Pollers call it when their CQ is empty. The thread has two states:
 *
 *   asleep    no poller was seen for a tick: it waits in epoll on every socket and on its wake-up
 *             descriptor; peers ring it because the board says "sleeping"
 *   watching  pollers are at work: it leaves packets to them and only looks once a tick whether
 *             they still are
 *
 * An idle process therefore costs no processor time, and a busy poller is never disturbed.
 */
#ifndef UROCE_DEV_H
#define UROCE_DEV_H

#include <net/if.h>

#include "providers/uroce/uroce.h"

enum {
	UROCE_GID_MAX = 64,	  /* slots of a GID table */
	UROCE_QP_INDEX_BITS = 16, /* QPN: slot of the process << 16 | index */
};

struct uroce_capture;
struct uroce_faults;
struct uroce_forward;
struct uroce_keys;
struct uroce_shm;
struct uroce_thread;

struct uroce_host {
	/* The receive side of all paths, acks, timers' expiry. Trylock only. */
	struct uroce_lock progress_lock;
	struct uroce_qp_list acks; /* QPs that owe an acknowledgement; under progress_lock */
	bool acks_urgent;	   /* one of them does not wait for a pass without a packet */
	unsigned int idle_passes;  /* of these, in a row */
	struct uroce_lock blocked_lock;
	struct uroce_qp_list blocked; /* QPs a path refused a packet of; under blocked_lock */
	atomic_bool any_blocked;      /* written under it */
	struct uroce_wheel wheel;
	/* QP1s that something came for in a pass whose maker hands it over; under progress_lock */
	SLIST_HEAD(, uroce_gsi) gsi_came;
	bool gsi_attended; /* such a pass is going on */

	uint8_t slot; /* 1..255, unique among this user's uroce processes in this network namespace
		       */
	pid_t pid;    /* to notice use after fork */
	struct uroce_keys *keys;
	/* [index of the QPN]; read under progress_lock */
	_Atomic(struct uroce_qp *) *qps;
	atomic_uint qp_count; /* written under lock */
	uint32_t next_qpn;
	atomic_uint next_handle; /* of CQs and SRQs */
	pthread_mutex_t lock;	 /* open and close: devices, QP numbers */
	LIST_HEAD(, uroce_dev) devices;
	LIST_HEAD(, uroce_cq) pending_cqs; /* events a full pipe refused; under blocked_lock */
	atomic_bool cqs_pending;
	struct uroce_shm *shm;	       /* path_shm.c */
	struct uroce_forward *forward; /* forward.c */
	struct uroce_thread *thread;   /* thread.c */
	struct uroce_faults *faults;   /* fault.h; NULL: none are wanted */
	struct uroce_capture *capture; /* capture.h; NULL: none is wanted */
	bool udp_only; /* no packets through shared memory, not even to processes of this host */
	atomic_uint udp_interest;  /* QPs that pollers must look at sockets for */
	_Atomic uint64_t wakes_at; /* when the sleeping thread wakes, ns; 0: it is awake */
	atomic_uint poll_epoch;	   /* moves with every progress pass of a poller */
	atomic_uint poller_passes; /* since the last time somebody armed a CQ */
	int refs;
};

/* What came to a UDP socket lately, and so how it is best asked: udp_receive.c. Under
 * progress_lock. */
struct uroce_pace {
	unsigned int idle; /* polls since something came */
	unsigned int hits; /* polls before that at which something came, in a row */
	unsigned int lone; /* polls that found something since the last stream */
	bool joins;	   /* datagrams */
};

struct uroce_gid {
	union ibv_gid gid;
	bool valid;
	int socket; /* bound to this address, port 4791; negative: none, the error of the last try
		     */
	struct uroce_pace pace;
};

struct uroce_dev {
	LIST_ENTRY(uroce_dev) entry;
	struct uroce_host *host;
	char name[IBV_SYSFS_NAME_MAX];
	char netdev[IF_NAMESIZE];
	int ifindex;
	/* These change while others read them. */
	atomic_uint link_mtu; /* bytes of the interface */
	atomic_bool link_up;
	bool removed;		   /* the interface is gone; the progress thread's */
	atomic_uchar speed, width; /* as ibv_port_attr has them */
	bool is_loopback;
	atomic_bool shows_headers; /* sockets tell class and hop limit of what comes */
	uint8_t mac[6];
	pthread_mutex_t lock;		      /* GID table, contexts, multicast groups */
	struct uroce_gid gids[UROCE_GID_MAX]; /* changed under lock and progress_lock */
	unsigned int capture_interface;	      /* its number in the capture file + 1; 0: none yet */
	struct uroce_path *udp;
	struct uroce_path *wire; /* what engine and AHs get: udp, or the faults in front of it */
	struct uroce_gsi *gsi;	 /* NULL until somebody wants QP1; set under progress_lock */
	struct uroce_qp_counters counters; /* of QPs that are gone; under host->lock */
	LIST_HEAD(, uroce_group) groups;   /* changed under lock and progress_lock */
	LIST_HEAD(, uroce_context) contexts;
	int refs;
};

struct uroce_context {
	struct verbs_context vctx;
	struct uroce_dev *dev;
	LIST_ENTRY(uroce_context) entry;
	struct uroce_pipe async;    /* its read end is async_fd */
	pthread_mutex_t event_lock; /* writers of the pipe */
};

/* Engine state of a host, without slot, thread and paths: what a unit test of the engine needs too.
 */
static inline void uroce_host_init(struct uroce_host *host, uint64_t now)
{
	TAILQ_INIT(&host->acks);
	TAILQ_INIT(&host->blocked);
	LIST_INIT(&host->pending_cqs);
	uroce_wheel_init(&host->wheel, now);
}

/* --- host.c: this process --- */

/* The process's engine, started at the first call. Each successful call needs a uroce_host_put().
 */
int uroce_host_get(struct uroce_host **ret_host);
void uroce_host_put(struct uroce_host *host);
/* The context is closed, or with NULL the process ends: peers get what its QPs still owe them. */
void uroce_host_leave(struct uroce_host *host, const struct uroce_context *ctx);
/* -EIO in a forked child, which has neither thread nor slot: said in the log once. */
int uroce_host_check(const struct uroce_host *host);

/* --- uroce.c --- */
int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev);
void uroce_dev_put(struct uroce_dev *dev);

/* --- device.c --- */

/* Payload bytes of the largest packet the interface takes. */
uint32_t uroce_dev_mtu(const struct uroce_dev *dev);

/* --- counters.c --- */

/* What a QP that goes has counted stays with its device. Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp);
/* The device is closed: one line of what was counted, at level info. */
void uroce_counters_log(struct uroce_dev *dev);

/* --- progress.c --- */

/*
 * One pass over what arrived, what is owed and what is due. Return: packets handled; 0 also when
 * another thread is in it. Never blocks. Threads: any, without any lock held.
 */
unsigned int uroce_progress(struct uroce_host *host);
/* The same with progress_lock held; @sockets: look at UDP sockets too; @poller: called again at
 * once. */
unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller);
/* Passes over everything that has arrived, by sockets that were silent as well, until nothing is
 * left, or others keep sending. Waits for progress_lock. */
void uroce_progress_drain(struct uroce_host *host);
/* By somebody who posts and may not poll soon: one more poller where there are pollers. */
void uroce_progress_posted(struct uroce_host *host);
/* A poller made a pass: the thread leaves packets to it for a while. */
void uroce_thread_poller_seen(struct uroce_host *host);
/* Whether it does. */
bool uroce_thread_watches(const struct uroce_host *host);
/* A CQ was armed: its owner is about to sleep, packets are the thread's again. */
void uroce_thread_poller_leaves(struct uroce_host *host);
/* Events a full pipe refused: try again. */
void uroce_cq_events_retry(struct uroce_host *host);
/* Something needs the thread: a timer was armed earlier than it sleeps, a packet is blocked. */
void uroce_thread_wake(struct uroce_host *host);
/* CLOCK_MONOTONIC, ns. */
uint64_t uroce_now(void);

/*
 * A packet came in, unpacked: find its QP, check it belongs there, hand it to responder or
 * completer.
 * @sgid: where it came from; connected QPs accept only their peer. NULL: the path vouches for it.
 * Called with progress_lock held.
 */
void uroce_rx(struct uroce_host *host, struct uroce_packet *pkt, const union ibv_gid *sgid,
	      uint64_t now);

/* The same for a packet out of @peer's ring: connected QPs accept only what comes from their own
 * peer. */
void uroce_rx_peer(struct uroce_host *host, struct uroce_packet *pkt, const void *peer,
		   uint64_t now);
/* Whether @qpn is an RC QP whose peer is at @sgid. Called with progress_lock held. */
bool uroce_rx_expected(struct uroce_host *host, uint32_t qpn, const union ibv_gid *sgid);

/* --- qp.c --- */

/* The QP of a number of this process, or NULL. Under progress_lock, and valid as long as that is
 * held. */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn);
/*
 * Before QPs go, @only one or those of a context, or with NULL all: what has arrived for them is
 * executed and acknowledged, as a device would have done in time. Their peers may wait for nothing
 * else. Waits a little for a peer that leaves no room.
 */
void uroce_qps_settle(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only);
/* The context closes without destroying them, and its device may go. No lock held. */
void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx);
/* Every QP connected through @peer of @path: its process is gone. Under progress_lock. */
void uroce_qp_peer_dead(struct uroce_host *host, const struct uroce_path *path, const void *peer);

/* --- gid.c --- */

/* Read the interface's addresses, MTU and state into the device; events for what changed. */
int uroce_gids_refresh(struct uroce_dev *dev);
/* Read away what the watching socket has to say. */
void uroce_gids_drain(int fd);
/* rtnetlink socket that becomes readable when any interface changes. */
int uroce_gids_watch(int *ret_fd);

/* --- ah.c --- */

/* Resolve @attr into @ret_av: which path, which socket address, which MTU. @dest_qpn: 0 for an AH.
 */
int uroce_av_resolve(struct uroce_dev *dev, const struct ibv_ah_attr *attr, uint32_t dest_qpn,
		     struct uroce_av *ret_av);

/*
 * A datagram to @qpn along @av, the post's own copy: an AH names only a host, and which process of
 * this host a datagram is for is known here. Turns to shared memory when that process is connected.
 * Threads: any, with any lock.
 */
void uroce_av_for_qpn(struct uroce_av *av, uint32_t qpn);

/*
 * The 40 bytes a UD receive buffer starts with, for a packet of @length bytes (BTH to padding) sent
 * along @av: a GRH, or for IPv4 20 unused bytes and the IPv4 header.
 */
void uroce_grh_fill(const struct uroce_av *av, uint32_t length, uint8_t ret_grh[40]);

/* --- gsi.c, mcast.c --- */

/* A datagram for QP1: to the connection manager of the process it is for. Under progress_lock. */
void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid);
/*
 * uroce_progress_pass() over everything, by somebody without any lock but progress_lock, which is
 * released: what came for QP1 is handed to its taker then.
 */
unsigned int uroce_gsi_pass(struct uroce_host *host);
/* A process is gone: news for the connection manager. Under progress_lock. */
void uroce_gsi_peer_gone(struct uroce_host *host, uint8_t slot);
/* The manager hears that the device's interface is gone. */
void uroce_gsi_removed(struct uroce_dev *dev);
void uroce_gsi_free(struct uroce_gsi *gsi);
/* Receive from the sockets of the device's groups. Under progress_lock. */
unsigned int uroce_mcast_poll(struct uroce_dev *dev, unsigned int budget);
/* Multicast: to every attached QP. */
void uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *pkt);

/* --- shorthands for the engine --- */

/* The QP owes an acknowledgement, which leaves along with a packet or at the end of a progress pass
 * that has nothing else to do. */
static inline void uroce_ack_enlist(struct uroce_qp *qp)
{
	if (qp->on_acks)
		return;
	qp->on_acks = true;
	TAILQ_INSERT_TAIL(&qp->host->acks, qp, ack_entry);
}

/* The same at the end of this pass, unless acks_run() sees why it may wait. */
static inline void uroce_ack_later(struct uroce_qp *qp)
{
	uroce_ack_enlist(qp);
	qp->host->acks_urgent = true;
}

/* The path is full: progress runs the QP again. */
static inline void uroce_blocked(struct uroce_qp *qp)
{
	struct uroce_host *host = qp->host;

	uroce_lock(&host->blocked_lock);
	if (!qp->on_blocked) {
		qp->on_blocked = true;
		TAILQ_INSERT_TAIL(&host->blocked, qp, blocked_entry);
		atomic_store_explicit(&host->any_blocked, true, memory_order_relaxed);
	}
	uroce_unlock(&host->blocked_lock);
	/* A thread that sleeps must come back for this. It says so, then looks for such QPs. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&host->wakes_at, memory_order_relaxed))
		uroce_thread_wake(host);
}

static inline bool uroce_any_blocked(struct uroce_host *host)
{
	return atomic_load_explicit(&host->any_blocked, memory_order_relaxed);
}

#endif
