/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host, the devices and the contexts of a process. */
#ifndef UROCE_HOST_OBJECTS_H
#define UROCE_HOST_OBJECTS_H

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
	uint64_t rests_full;   /* ns: do not claim a block for resting numbers before this time */
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
	LIST_HEAD(, uroce_import_socket) import_sockets;
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
	bool guardian_tried;			   /* protected by guardian_lock */
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
	struct uroce_import_socket
		*import_socket; /* other end of cmd_fd; NULL in an imported context */
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

#endif
