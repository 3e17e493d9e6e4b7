/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What lives beyond one QP: the process's engine, its devices and contexts.
 *
 *   struct uroce_host     one per process: slot among the processes of this host, QP numbers,
 * engine, progress thread, lanes of shared memory struct uroce_dev      one per network interface
 * in use: GIDs, UDP path, port state struct uroce_context  one per ibv_open_device()
 *
 *   host.c device.c interface.c   their lives
 *   progress.c thread.c watch.c   who receives, and when; what the thread waits for
 *   receive.c express.c           where a packet goes; the short way of what is sent most
 *   gid.c av.c mcast.c            addresses: GIDs, address vectors, multicast groups
 *   xrc.c                         XRC domains, and SRQs by number
 *   qpn.c show.c counters.c       numbers of QPs, what peers see of them, what is counted
 *   gsi.c gsi_route.c gsi_path.c forward.c
 *                                 QP1, and what is for other processes of this host
 *   guardian.c spawn.c            what is said for this process when it is gone, and by whom
 *   event.c fault_event.c         asynchronous events; those that a fault rule raises
 *
 * Progress. uroce_progress() is the only receiver. Pollers call it when their CQ is empty. What is
 * received is divided into strands by the number of the QP that it is for, so that pollers of CQs
 * of different strands do not wait for each other; sockets, timers and what is for no QP are the
 * first one's. Whoever gets a strand by trylock does its pass. A poller looks at the strands of its
 * CQ's QPs first, and at others only when nobody polls those. Those who change what a pass walks
 * wait: for progress_lock, the first strand's, if it is sockets, devices or groups, for all strands
 * if it is peers or a QP that goes. The thread has two states:
 *
 *   asleep    no poller was seen for a tick: it waits in epoll on every socket and on its wake-up
 *             descriptor; peers ring it because the board says "sleeping"
 *   watching  pollers are at work: it leaves packets to them and only looks once a tick whether
 *             they still are
 *
 * An idle process therefore costs no processor time, and a busy poller is never disturbed.
 *
 * Locks, in the order they are taken:
 *
 *   the_lock (host.c)     the process has one host
 *   host->xrc_lock        handles of XRC receive QPs
 *   host->lock            devices and XRC domains come and go; numbers of QPs and SRQs
 *   dev->lock             GID table, contexts, multicast groups
 *   host->guardian_lock   the guardian is started
 *   progress_lock, strands
 *                         the receive side: one pass of a strand; all: path_host_stop()
 * (path/path.h) gsi->lock (gsi.c), UROCE_LEAF_SERVICES (gsi_route.c) the engine's engine/engine.h:
 * qp->lock first watches->lock (watch.c), ctx->event_lock watched descriptors; writers of a
 * context's pipe
 *
 * Threads: the application's, and one of its own that thread.c starts.
 * Includes: every room below. Included by: verbs, uroce.c.
 */
#ifndef UROCE_HOST_H
#define UROCE_HOST_H

#include <net/if.h>

#include "providers/uroce/engine/engine.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/udp/udp.h"
#include "providers/uroce/host/import.h"

struct uroce_capture;
struct uroce_faults;
struct uroce_forward;
struct uroce_guardian;
struct uroce_thread;
struct uroce_watches;

/* A number of no QP that a peer may still know: qpn.c. */
struct uroce_resting {
	uint64_t until; /* ns; 0: it does not rest */
	uint32_t next;	/* the index of the strand's next one, which rests longer */
};

/* Those of a strand: indices, the first has rested longest. */
struct uroce_rest {
	uint32_t first, last;
	uint32_t count;
};

struct uroce_host {
	struct path_host paths;
	struct uroce_engine engine;
	/* QP1s that something came for in a pass whose maker hands it over; under progress_lock */
	SLIST_HEAD(, uroce_gsi) gsi_came;
	bool gsi_attended; /* such a pass is going on */

	pid_t pid;
	atomic_uint *here; /* not 0 in this process alone: see uroce_host_here() */
	/* [index of the QPN]; read under a strand */
	_Atomic(struct uroce_qp *) *qps;
	atomic_uint qp_count; /* written under lock */
	uint32_t next_qpn;
	struct uroce_resting *resting; /* [index of the QPN]; under lock, as what follows */
	struct uroce_rest rests[PATH_STRANDS];
	bool rests_full; /* no further blocks are claimed for numbers that rest */
	uint32_t next_srqn;
	atomic_uint next_handle; /* of CQs and SRQs */
	pthread_mutex_t lock;	 /* open and close: devices, QP numbers */
	LIST_HEAD(, uroce_dev) devices;
	LIST_HEAD(, uroce_domain) domains; /* XRC; under lock */
	/* What other processes may import, and where they ask; under lock. */
	LIST_HEAD(, uroce_door) doors;
	LIST_HEAD(, uroce_pd) pds;
	LIST_HEAD(, uroce_dm) dms;
	pthread_mutex_t xrc_lock; /* handles of XRC receive QPs come and go */
	struct uroce_shm *shm;
	struct uroce_keys_watch regions; /* shows them to peers: show.c */
	struct uroce_forward *forward;
	struct uroce_thread *thread;   /* NULL before it starts and after it ended */
	struct uroce_watches *watches; /* NULL as the thread */
	struct uroce_faults *faults;   /* NULL: none are wanted */
	pthread_mutex_t guardian_lock;
	bool guardian_tried;			   /* under it */
	_Atomic(struct uroce_guardian *) guardian; /* NULL: there is none */
	atomic_uint udp_interest;		   /* QPs that pollers must look at sockets for */
	atomic_uint poller_passes;		   /* since the last time somebody armed a CQ */
	atomic_bool watching;	  /* pollers are at work: the thread leaves packets to them */
	unsigned int forwards;	  /* datagrams that wait in forward; under progress_lock */
	atomic_uint next_strand;  /* for a CQ */
	atomic_bool strands_used; /* others than the first */
	uint32_t strand_qps[PATH_STRANDS]; /* QPs of each; under lock */
	int refs;
	struct uroce_epoch {
		alignas(2 * PATH_LINE) atomic_uint epoch; /* moves with every pass of a poller */
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
	atomic_int ifindex; /* changes while others read it */
	/* These change while others read them. */
	atomic_uint link_mtu; /* bytes of the interface */
	atomic_bool link_up;
	bool removed;		   /* the interface is gone; the progress thread's */
	atomic_uchar speed, width; /* as ibv_port_attr has them */
	bool is_loopback;
	uint8_t mac[6];
	pthread_mutex_t lock;		      /* GID table, contexts, multicast groups */
	struct uroce_gid gids[UROCE_GID_MAX]; /* changed under lock and progress_lock */
	bool stand_in; /* gids[0] is no address of the interface: av.c; under lock */
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
	struct uroce_door *door;    /* the other end of cmd_fd; NULL of an imported one */
	/* Of an imported one: the context it was imported of, if that is this process's, else the
	 * way to the process that has it. */
	const struct ibv_context *origin;
	struct uroce_owner *owner;
};

/* One more object (@change 1) or one less (-1) of the protection domain that @pd is or stands for.
 */
static inline void uroce_pd_use(const struct ibv_pd *pd, int change)
{
	struct ibv_pd *protection = verbs_pd_protection((struct ibv_pd *)pd);

	atomic_fetch_add_explicit(&((struct uroce_pd *)protection)->users, change,
				  memory_order_relaxed);
}

/* --- import.c; its messages are in import.h --- */

/* A door, or who came through one, has something to say. */
void uroce_import_ready(struct uroce_host *host, int fd);
void uroce_doors_forked(struct uroce_host *host);

/* --- from what lies inside to the whole --- */

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

/* Engine and paths of a host, without slot, thread and sockets: what a unit test needs too. */
void uroce_host_init(struct uroce_host *host, uint64_t now);

/* The process's engine, started at the first call. Each successful call needs a uroce_host_put().
 */
int uroce_host_get(struct uroce_host **ret_host);
void uroce_host_put(struct uroce_host *host);
/*
 * Bring the open devices in line with their interfaces now, if the process has an engine: its
 * thread does so too, but some time after the change. A list of devices that is made now must not
 * know more than they do.
 */
void uroce_host_follow(void);
/* The context is closed, or with NULL the process ends: peers get what its QPs still owe them. */
void uroce_host_leave(struct uroce_host *host, const struct uroce_context *ctx);
/*
 * Whether this process made the host. A child of fork() or clone() inherits the memory of what its
 * parent has opened, but neither thread nor slot. The locks in it may be held by threads that the
 * child has not. Every verb asks before it takes one.
 */
static inline bool uroce_host_here(const struct uroce_host *host)
{
	return likely(atomic_load_explicit(host->here, memory_order_relaxed));
}

/* -EIO, which the first such call of a child logs. */
int uroce_host_inherited(const struct uroce_host *host);
static inline int uroce_host_check(const struct uroce_host *host)
{
	return uroce_host_here(host) ? 0 : uroce_host_inherited(host);
}

/* --- interface.c --- */

/* The provider's list_devices(): every usable interface, lo last; or those UROCE=policy:names
 * names. */
int uroce_list_devices(struct verbs_device_list *list);

/* --- device.c --- */

/* The device of this process, opened if it is the first time. Each call needs a uroce_dev_put(). */
int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev);
void uroce_dev_put(struct uroce_dev *dev);

/* Payload bytes of the largest packet the interface takes. */
uint32_t uroce_dev_mtu(const struct uroce_dev *dev);

/* ibv_mtu of the same. */
enum ibv_mtu uroce_dev_active_mtu(const struct uroce_dev *dev);
/* Receive buffers of a UD QP show the IP headers of what comes: from now on. */
void uroce_dev_headers_show(struct uroce_dev *dev);

/* --- counters.c --- */

/* Of a device alone: datagrams whose ICRC was wrong. */
#define UROCE_COUNTER_WRONG_ICRC "rcvd_icrc_err"

/* What a QP that goes has counted stays with its device. Under host->lock. */
void uroce_counters_keep(struct uroce_qp *qp);
/* Those of one QP; and the sum of a device, of all QPs it ever had. */
void uroce_counters_of_qp(struct uroce_qp *qp, struct uroce_qp_counters *ret);
void uroce_counters_of_dev(struct uroce_dev *dev, struct uroce_qp_counters *ret);
/* The names of their fields, in this order. */
unsigned int uroce_counters_count(void);
const char *uroce_counters_name(unsigned int i);
uint64_t uroce_counters_value(const struct uroce_qp_counters *counters, unsigned int i);
/* Datagrams with a wrong ICRC that came by its sockets. */
uint64_t uroce_counters_wrong_icrc(const struct uroce_dev *dev);
/* The device is closed: one line of what was counted, at level info. */
void uroce_counters_log(struct uroce_dev *dev);

/* --- progress.c --- */

/*
 * By a poller of @cq, which is empty: one pass over what arrived, is owed and due of its strands,
 * and of those that nobody else polls. @cq: NULL, the first strand alone. Return: packets handled;
 * 0 also when another thread is in it. Never blocks. Threads: any, without any lock held.
 */
unsigned int uroce_progress(struct uroce_host *host, struct uroce_cq *cq);
/* By the thread: a pass of a strand that nobody polls, unless somebody is in it. */
void uroce_progress_visit(struct uroce_host *host, unsigned int strand);
/* A pass of the first strand, which is held, or of all if those are; @sockets: look at UDP sockets
 * too;
 * @poller: called again at once. */
unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller);
/* Passes over everything that has arrived, by sockets that were silent as well, until nothing is
 * left, or others keep sending. Waits for progress_lock. */
void uroce_progress_drain(struct uroce_host *host);
/* The same with so many passes that all that lay in full rings was taken, also while others keep
 * sending. */
void uroce_progress_drain_full(struct uroce_host *host);
/* By somebody who posts and may not poll soon: one more poller where there are pollers. */
void uroce_progress_posted(struct uroce_host *host);
/* --- watch.c --- */

/* See path_events.watch. Without a thread nothing is watched, and nothing is to be unwatched. */
int uroce_watch_begin(struct uroce_host *host, int fd, enum path_watch what, void *pointer);
void uroce_watch_end(struct uroce_host *host, int fd);
/* Around a fork: what is watched stays as it is; then, in the child, is closed. */
void uroce_watches_fork_begin(struct uroce_host *host);
void uroce_watches_fork_end(struct uroce_host *host);
void uroce_watches_forked(struct uroce_host *host);

/* --- thread.c --- */

/* Start it, and end it; host->shm is there. */
int uroce_thread_start(struct uroce_host *host);
void uroce_thread_stop(struct uroce_host *host);
/* Whether the thread leaves packets to pollers. */
static inline bool uroce_thread_watches(const struct uroce_host *host)
{
	return atomic_load_explicit(&host->watching, memory_order_relaxed);
}

/* The thread may have to learn that there is a poller. */
void uroce_thread_poller_came(struct uroce_host *host);

/* A poller made a pass of the strand: the thread leaves packets to it for a while. */
static inline void uroce_thread_poller_seen(struct uroce_host *host, unsigned int strand)
{
	atomic_store_explicit(&host->epochs[strand].epoch, uroce_strand_epoch(host, strand) + 1,
			      memory_order_relaxed);
	if (unlikely(!uroce_thread_watches(host)))
		uroce_thread_poller_came(host);
}

/* A CQ was armed: its owner is about to sleep, packets are the thread's again. */
void uroce_thread_poller_leaves(struct uroce_host *host);
/* Something needs the thread: a timer was armed earlier than it sleeps, a packet is blocked. */
void uroce_thread_wake(struct uroce_host *host);

/* --- guardian.c --- */

/* Its end is the guardian's, too; NULL: there is none. */
void uroce_guardian_free(struct uroce_guardian *guardian);
/* In a child after a fork, which is nobody it speaks for. */
void uroce_guardian_forked(const struct uroce_guardian *guardian);

/* --- receive.c --- */

/* The upcalls of the host's paths. */
extern const struct path_events uroce_path_events;
/* Send what is posted, by the short way if it may. Under qp->lock. */
void uroce_qp_run(struct uroce_qp *qp, uint64_t now);

/* express.c: whether the QP may take it at all: decided with its address vector. */
bool uroce_express_possible(const struct uroce_qp *qp);

/* --- show.c: what peers of this host see of this process --- */

/* Show the QP as its state is now. Under qp->lock. */
void uroce_qp_show(struct uroce_qp *qp);
/*
 * If peers were shown that they may do more than they may now: show nothing until
 * uroce_qp_fence() has returned. Under qp->lock. Return: whether that is so.
 */
bool uroce_qp_hide_lost(struct uroce_qp *qp);
/*
 * Until @peer_qpn's process, which the QP is or was connected to, no longer does what it began when
 * the QP allowed it: copies to or from this process's memory. Waits for a process that is stopped
 * in the middle. No lock held.
 */
void uroce_qp_fence(struct uroce_qp *qp, uint32_t peer_qpn);
/* Show the regions of the process from now on. */
void uroce_regions_show(struct uroce_host *host);

/* --- qpn.c --- */

/* A number for the QP, by which it can be found from then on. -ENOMEM: all are taken; -EMFILE and
 * the like. Said. */
int uroce_qpn_alloc(struct uroce_qp *qp);
/* What is for it comes by sockets, whatever its strand: who polls its CQs looks at the first. */
void uroce_qp_network_join(struct uroce_qp *qp);

/* The QP of a number of this process, or NULL. Under a strand, and valid as long as that is held.
 */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn);
/* The first QP whose index is at least *@index, which is set to it; NULL: none. Under host->lock or
 * a strand, and valid as long as that is held. */
struct uroce_qp *uroce_qp_next(struct uroce_host *host, uint32_t *index);
/*
 * Before QPs go, @only one or those of a context, or with NULL all: what has arrived for them is
 * executed and acknowledged, as a device would have done in time. Their peers may wait for nothing
 * else. Waits a little for a peer that leaves no room.
 */
void uroce_qps_settle(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only);
/* From here on no packet, timer or peer finds the QP, nobody its number, and a poll none of its
 * completions: adapters take these along, and programs free what a completion's wr_id leads to when
 * they destroy a QP. */
void uroce_qp_withdraw(struct uroce_qp *qp);
/* The context closes without destroying them, and its device may go. No lock held. */
void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx);
/* Every QP connected through @peer of @path: its process is gone. Under a strand. */
void uroce_qps_peer_gone(struct uroce_host *host, const struct uroce_path *path, const void *peer);

/* --- xrc.c --- */

/*
 * The XRC domain of a device and a file, -1 for one of its own; @flags: of ibv_open_xrcd(). Each
 * call needs a uroce_domain_put(). Return: 0; -EBADF, -EAGAIN, -EINVAL as the kernel has them;
 * -EOPNOTSUPP: another process has it, which is said in the log as well when it can be made again.
 */
int uroce_domain_get(struct ibv_context *ctx, int fd, int flags, struct uroce_domain **ret_domain);
void uroce_domain_put(struct uroce_domain *domain);
/* In a forked child: the claims are its parent's. Under host->lock. */
void uroce_domains_forked(struct uroce_host *host);

/* A number for an XRC SRQ, by which packets find it from then on. -ENOMEM: all are taken. */
int uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq);
/* No packet finds it any more, and no QP has begun anything with it. No lock held. */
void uroce_srqn_free(struct uroce_host *host, struct uroce_srq *srq);

/* --- gid.c --- */

/* Read the interface's addresses, MTU and state into the device; events for what changed. */
int uroce_gids_refresh(struct uroce_dev *dev);
/* Read away what the watching socket has to say. */
void uroce_gids_drain(int fd);
/* rtnetlink socket that becomes readable when any interface changes. */
int uroce_gids_watch(int *ret_fd);

/* --- av.c --- */

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

/* --- gsi.c, mcast.c --- */

/* A datagram for QP1: to the connection manager of the process it is for. Under progress_lock. */
void uroce_gsi_packet(struct uroce_host *host, const struct uroce_packet *pkt,
		      const union ibv_gid *sgid);
/*
 * uroce_progress_pass() over everything, by somebody without any lock but progress_lock, or all
 * strands, which are released: what came for QP1 is handed to its taker then.
 */
unsigned int uroce_gsi_pass(struct uroce_host *host);
/* A process is gone: news for the connection manager. Under progress_lock. */
void uroce_gsi_peer_gone(struct uroce_host *host, uint16_t slot);
/* The manager hears that the device's interface is gone. */
void uroce_gsi_removed(struct uroce_dev *dev);
void uroce_gsi_free(struct uroce_gsi *gsi);
/* Receive from the sockets of the device's groups. Under progress_lock. */
unsigned int uroce_mcast_poll(struct uroce_dev *dev, unsigned int budget);
/* Multicast: to every attached QP. */
void uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *pkt);

/* --- event.c --- */

/* The upcalls of the engine. */
extern const struct engine_events uroce_engine_events;
int uroce_event_open(struct uroce_context *ctx);
void uroce_event_close(struct uroce_context *ctx);
/* An event of the port of every context of the device. */
void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type);
/* The object is going: unread events of it vanish, and no longer count in @raised. */
void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised);

/* --- fault_event.c --- */

struct fault_rule;
/* Events whose time has come. In the progress thread, no lock held. */
void uroce_fault_events(struct uroce_host *host);
/* The event of @rule now, for @qp was posted to. No lock held. */
void uroce_fault_fire(const struct fault_rule *rule, struct uroce_qp *qp);

/* --- operations of the provider that are the host's own --- */

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

#endif
