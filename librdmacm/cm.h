/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to librdmacm: what its files and the two backends share.
 *
 * An identifier belongs to one of two backends: ucma, the kernel's connection manager on
 * /dev/infiniband/rdma_cm, or ibcm, our own on QP1 of user-space devices. The choice is made when a
 * local address is known (addr.c); until then an identifier has none. The public functions (one
 * file a noun) check, call the backend's operation of the same name, and do what is the same for
 * both: QP transitions, synchronous waiting, counting events, explaining errors.
 *
 * Return convention: 0 or a negative errno, in operations, too. The public edge converts.
 *
 * Locks, in the order they are taken. No lock of the core is held while an operation of a backend
 * runs, and no operation may call a public rdma_ function.
 *
 *   cm_init_lock	first use of the library (device.c)
 *   cm_devices.lock	list of devices, their contexts and default PDs (device.c)
 *   posted_lock	events in channels that are no backend's (posted.c)
 *   channels_lock	which identifiers a channel has (channel.c)
 *   a backend's own	as it likes
 *   cm_id.lock		of one identifier: event counters, unacknowledged events, groups; ucma: its
 *			creation. Leaf.
 */
#ifndef LIBRDMACM_CM_H
#define LIBRDMACM_CM_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_abi.h>

#include "util/log.h"
#include "util/util.h"

#define CM_EXPORT __attribute__((visibility("default")))

/* The public edge: 0 or more as it is, a negative errno as -1 and errno. */
static inline int ret_neg1(int r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -1;
}

struct cm_backend_ops;
struct cm_channel;
struct cm_event;
struct cm_id;
struct ibcm_channel;
struct ibcm_id;
struct ibcm_mc;

/* ------------------------------------------------------------------ devices (device.c) */

/*
 * A device the library has seen. Never freed: programs keep contexts as long as they like.
 * @user: a user-space device, served by ibcm; else a kernel device, served by ucma
 */
struct cm_device {
	LIST_ENTRY(cm_device) entry;
	struct ibv_device *device;
	struct ibv_context *verbs; /* NULL until first needed; see cm_device_open() */
	__be64 guid;
	int index; /* RDMA device index; -1 unknown */
	bool user;
	bool gone;		     /* not in the last list */
	struct ibv_pd *pd;	     /* default PD of all identifiers; there once verbs is */
	struct ibv_xrcd *xrcd;	     /* default XRC domain; NULL until first needed */
	uint8_t max_initiator_depth; /* outstanding reads and atomics per QP, at most 255 */
	uint8_t max_responder_resources;
	_Atomic(uint8_t) link_layer[8]; /* [port_num - 1]; 0 not asked yet */
};

/*
 * Read the list of devices again. New ones are added, lost ones marked gone.
 * Return: 0; a device that cannot be used is said in the log, and does not fail the others.
 */
int cm_devices_refresh(void);

/*
 * Call @fn for each device that is there until it returns non-zero; the list may have been
 * refreshed by the caller. Return: what @fn returned last, 0 when there is no device. @fn may open
 * devices.
 */
int cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg);

/* Open the device unless it is: afterwards dev->verbs, dev->pd and the limits are set. */
int cm_device_open(struct cm_device *dev);

/* The default XRC domain of an open device: opened at the first call, and kept. */
int cm_device_xrcd(struct cm_device *dev, struct ibv_xrcd **ret_xrcd);

/* The open device the kernel speaks of: by @index when it knows one (else -1), or by @guid. */
int cm_device_find(__be64 guid, int index, struct cm_device **ret_dev);

/* The device of a context; NULL when it is not one of ours. */
struct cm_device *cm_device_of(struct ibv_context *verbs);

/* IBV_LINK_LAYER_*, asked once a port; UNSPECIFIED when it cannot be told. */
int cm_device_link_layer(struct cm_device *dev, uint8_t port_num);

/* ------------------------------------------------------------------ channels (channel.c) */

/*
 * @channel.fd is what there is to wait for: the only backend's own descriptor when there is one
 * backend, an epoll of both when there are two. Descriptors that backends return must be readable
 * as long as an event waits.
 */
struct cm_channel {
	struct rdma_event_channel channel; /* public, first */
	int ucma_fd;			   /* of the kernel's connection manager; -1: not open */
	int ibcm_fd;			   /* of ibcm; -1: not open */
	struct ibcm_channel *ibcm;	   /* ibcm's own */
	unsigned int turn;		   /* who is asked first for the next event: fairness */
	int posted_fd;			   /* readable while posted is not empty; -1: never used */
	TAILQ_HEAD(, cm_event) posted;	   /* posted.c */
	LIST_HEAD(, cm_id) ids;		   /* which report here, hidden ones as well */
	LIST_ENTRY(cm_channel) entry;	   /* of those destroyed */
};

static inline struct cm_channel *to_cm_channel(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

/* Whether both backends are there, so that an address has to choose. */
static inline bool cm_channel_is_mixed(const struct cm_channel *ch)
{
	return ch->ucma_fd >= 0 && ch->ibcm_fd >= 0;
}

int cm_channel_create(struct cm_channel **ret_channel);
/* Identifiers that are left are closed as well: see cm_id.closed. */
void cm_channel_destroy(struct cm_channel *ch);
/* An identifier comes to a channel, and leaves it. -EBADF: it was destroyed meanwhile. */
int cm_channel_enter(struct cm_channel *ch, struct cm_id *id);
void cm_channel_leave(struct cm_id *id);
/*
 * posted.c: where there are two backends, events that the library or the program itself writes wait
 * in the channel, as an identifier may have no backend yet. They are counted apart from a
 * backend's. drop: those nobody read yet. move: the same to @to, before id.channel changes.
 */
int cm_posted_put(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);
int cm_posted_take(struct cm_channel *ch, struct cm_event *ev);
void cm_posted_drop(struct cm_id *id);
void cm_posted_move(struct cm_id *id, struct cm_channel *to);
void cm_posted_close(struct cm_channel *ch);

/* The next event of any backend; sleeps for one unless the channel is O_NONBLOCK (-EAGAIN). */
int cm_channel_next(struct cm_channel *ch, struct cm_event *ev);

/* ------------------------------------------------------------------ identifiers (id.c) */

/*
 * One identifier. The public part is first.
 *
 * What a backend fills and when (query_addr, query_route and the events say it again):
 *   after bind_addr to an address, ADDR_RESOLVED, CONNECT_REQUEST:
 *     id.route.addr (both addresses with ports, ibaddr), dev by cm_id_set_device(), id.port_num
 *   after ROUTE_RESOLVED, CONNECT_REQUEST: paths by cm_id_set_paths()
 */
struct cm_id {
	struct rdma_cm_id id;
	const struct cm_backend_ops *backend; /* NULL until an address chose it */
	uint32_t handle;		      /* ucma: the kernel's number of the identifier */
	atomic_bool in_kernel;		      /* ucma: handle is there */
	struct ibcm_id *ibcm;		      /* ibcm: its own part */
	struct cm_device *dev;		      /* NULL until known */
	bool sync; /* made without a channel: calls wait for their event */
	bool listening;
	/*
	 * Its channel was destroyed, and with it all that the backend had of it: what is left is to
	 * be destroyed. It is in a channel that never opens.
	 */
	bool closed;
	uint32_t closed_reported; /* events handed out until then */
	LIST_ENTRY(cm_id) entry;  /* cm_channel.ids */
	bool connect_failed; /* on this side, after the other one accepted: what follows is noise */

	/*
	 * A wildcard address is bound on both backends: the identifier itself is on one, a hidden
	 * one on the other. @twin is the hidden one of a visible one, @front the reverse. Events of
	 * the hidden one are reported about its front.
	 */
	struct cm_id *twin;
	struct cm_id *front;

	/* Options set before there was a backend, replayed when one is chosen (option.c). */
	struct cm_option *options;

	/* Parameters of the connection (conn.c). */
	uint8_t initiator_depth;
	uint8_t responder_resources;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece; /* of the last request or answer */
	uint32_t qp_num;	   /* of a program's own QP */
	bool srq;
	int backlog;

	struct ibv_qp_init_attr *ep_attr; /* of a passive endpoint: QPs of its requests; ep.c */
	struct rdma_addrinfo *addrinfo;	  /* rdma_resolve_addrinfo()'s result; addrinfo.c */
	void *connect_data; /* private data of the rdma_addrinfo an endpoint was made from */
	uint8_t connect_len;

	/* Under lock. An event counts when the program got it, and again when it gave it back. */
	pthread_mutex_t lock;
	struct ibv_sa_path_rec *early_paths; /* ucma: of a route whose event was not read yet */
	int num_early_paths;
	pthread_cond_t acked;
	uint32_t events_acked;
	uint32_t posted_given; /* under the lock of posted.c */
	uint32_t posted_acked;
	TAILQ_HEAD(, cm_event) unacked;
	LIST_HEAD(, cm_mc) groups;
};

static inline struct cm_id *to_cm_id(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}

/* The identifier the program knows. */
static inline struct cm_id *cm_id_visible(struct cm_id *id)
{
	return id->front ? id->front : id;
}

/* Datagram services look up a QP number (SIDR) instead of connecting. */
static inline bool cm_id_is_ud(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static inline struct cm_channel *cm_id_channel(const struct cm_id *id)
{
	return to_cm_channel(id->id.channel);
}

/* Set dev, id.verbs and limits that follow from them; opens the device. */
int cm_id_set_device(struct cm_id *id, struct cm_device *dev);

/* Replace id.route's path records by copies. */
int cm_id_set_paths(struct cm_id *id, const struct ibv_sa_path_rec *paths, int num_paths);

/* id.c: memory alone; with the backend if the channel has one only; with everything. */
int cm_id_alloc(struct cm_channel *ch, void *context, enum rdma_port_space ps,
		enum ibv_qp_type qp_type, struct cm_id **ret_id);
void cm_id_free(struct cm_id *id);
int cm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **ret_id);
int cm_id_destroy(struct cm_id *id);
/* @to NULL: a hidden channel of its own, synchronous. */
int cm_id_migrate(struct cm_id *id, struct cm_channel *to);
/* The backend that serves the local address @src; both, for a wildcard. */
int cm_id_choose(struct cm_id *id, const struct sockaddr *src);
int cm_id_choose_both(struct cm_id *id);
/* Back to none. */
int cm_id_choose_none(struct cm_id *id);
/* -EINVAL, said in the log, when the identifier has no backend yet; -EBADF when it is closed. */
int cm_need_backend(struct cm_id *id, const char *who);
/* -EOPNOTSUPP, said in the log. */
int cm_unsupported(struct cm_id *id, const char *what);

/* addr.c */
int cm_addr_bind(struct cm_id *id, const struct sockaddr *addr);
int cm_addr_resolve(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		    int timeout_ms);
int cm_route_resolve(struct cm_id *id, int timeout_ms);

/*
 * service.c: RAI_SA. resolve begins, and waits if the identifier is synchronous; getaddrinfo asks
 * through each InfiniBand port.
 */
int cm_service_resolve(struct cm_id *id, const char *service);
int cm_service_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			   struct rdma_addrinfo **ret_info);

/* explain.c: log why @addr failed with @r. */
void cm_explain_addr(struct cm_id *id, const struct sockaddr *addr, int r);

/* option.c */
int cm_option_set(struct cm_id *id, int level, int name, const void *value, size_t length);
int cm_options_replay(struct cm_id *id);
void cm_options_free(struct cm_id *id);

/* qp.c: states of the identifier's QP; without one, or a UD one, to_error does nothing. */
int cm_qp_create(struct cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init);
int cm_qp_to_rts(struct cm_id *id);
int cm_qp_to_error(struct cm_id *id);

/* conn.c: the active side's QP and confirmation after the other side's answer. */
int cm_conn_complete(struct cm_id *id);

/* mcast.c: attach after MULTICAST_JOIN; forget all groups of an identifier that goes. */
int cm_mc_joined(struct cm_mc *mc, const struct ibv_ah_attr *attr);
void cm_groups_free(struct cm_id *id);

/* One line about an identifier: "rdma_cm id 0x... (192.0.2.1:7471 to 192.0.2.2:7471): ..." */
#define cm_err(id, fmt, ...)   cm_log(LOG_LEVEL_ERR, id, fmt, ##__VA_ARGS__)
#define cm_warn(id, fmt, ...)  cm_log(LOG_LEVEL_WARN, id, fmt, ##__VA_ARGS__)
#define cm_info(id, fmt, ...)  cm_log(LOG_LEVEL_INFO, id, fmt, ##__VA_ARGS__)
#define cm_debug(id, fmt, ...) cm_log(LOG_LEVEL_DEBUG, id, fmt, ##__VA_ARGS__)
void cm_log(enum log_level level, const struct cm_id *id, const char *fmt, ...) _printf_(3, 4);

/* ------------------------------------------------------------------ events */

/*
 * An event, from the backend to the program. The core allocates it zeroed, a backend's get_event
 * fills the first group of members, the core the rest.
 *
 * Filled by get_event:
 *   event.event, event.status as rdma_cma.h says; for REJECTED the IBTA reason, positive
 *   event.param: of CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED: .conn or .ud (by
 *     cm_id_is_ud()). Its private_data points to @private_data. responder_resources and
 *     initiator_depth are seen from this side, as the kernel has them: responder_resources is
 *     the other side's initiator_depth, and the reverse.
 *     UD: ESTABLISHED on the asking side has ah_attr, qp_num, qkey. Groups: ah_attr, qp_num
 *     0xffffff, qkey
 *   id: whom it is about; the listener (or its twin) for CONNECT_REQUEST
 *   mc: the group, for MULTICAST_JOIN and MULTICAST_ERROR; id is then mc->id
 *   new_handle, new_ibcm: CONNECT_REQUEST only: becomes cm_id.handle, .ibcm of the identifier that
 *     the core makes. When it cannot, it calls drop_request() with them.
 *   ece: of CONNECT_REQUEST and CONNECT_RESPONSE
 */
struct cm_event {
	struct rdma_cm_event event; /* public, first */
	struct cm_id *id;
	struct cm_mc *mc;
	uint32_t new_handle;
	struct ibcm_id *new_ibcm;
	struct ibv_ece ece;
	uint8_t private_data[RDMA_MAX_PRIVATE_DATA];

	bool posted;		     /* posted.c, not a backend */
	TAILQ_ENTRY(cm_event) entry; /* cm_id.unacked, cm_channel.posted */
};

static inline struct cm_event *to_cm_event(struct rdma_cm_event *event)
{
	return (struct cm_event *)event;
}

/*
 * event.c. Wait until *@acked, of the identifier or one of its groups, is @reported; when that
 * takes long, the log says which event is missing.
 */
void cm_events_wait(struct cm_id *id, const uint32_t *acked, uint32_t reported, const char *who);
/* How many events of a backend about the identifier were handed out, as far as the core knows. */
uint32_t cm_events_given(struct cm_id *id);
/* Count an event as acknowledged although the program still looks at it: rdma_get_request(). */
void cm_event_count_early(struct cm_event *ev);
/* Synchronous identifiers: wait for the event of what was started; asynchronous ones: nothing. */
int cm_sync_wait(struct cm_id *id);
/* Give back the event of the last call. */
void cm_sync_drop_event(struct cm_id *id);

/* ------------------------------------------------------------------ multicast (mcast.c) */

/*
 * Membership in one group.
 * @handle, @ibcm: as in cm_id. @mgid, @mlid: set by the core from the MULTICAST_JOIN event's
 * ah_attr.
 */
struct cm_mc {
	LIST_ENTRY(cm_mc) entry; /* cm_id.groups */
	struct cm_id *id;
	void *context; /* the program's */
	struct sockaddr_storage addr;
	uint32_t join_flags; /* enum rdma_cm_mc_join_flags */
	uint32_t handle;
	struct ibcm_mc *ibcm;
	union ibv_gid mgid;
	uint16_t mlid;
	bool attached;	       /* the QP receives from it */
	uint32_t events_acked; /* under id->lock */
};

/* ------------------------------------------------------------------ backends */

/*
 * What connect and accept get. Depths are final: defaults and device limits have been applied.
 * Private data is as given by the program: a backend adds or strips its own header.
 */
struct cm_conn {
	uint32_t qp_num;
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	bool srq;
	struct ibv_ece ece;
};

/* What takes a QP to attr.qp_state; @mask as for ibv_modify_qp(). */
struct cm_qp_attr {
	struct ibv_qp_attr attr;
	int mask;
};

struct cm_reject {
	uint8_t reason; /* IBTA reject reason; 0: consumer (28), with private data */
	const void *private_data;
	uint8_t private_data_len;
};

struct cm_service {  /* rdma_resolve_addrinfo() with RAI_SA */
	uint64_t id; /* host order; 0 when the name counts */
	char name[64];
};

/*
 * Operations of a backend, named after the public calls. A NULL member means "not supported": the
 * caller sees EOPNOTSUPP, said once in the log. All of them except open_channel and serves get what
 * belongs to this backend.
 *
 * Operations that start something return at once; what they started ends as an event. When they
 * fail, no event comes. The reason goes to the log by who knows it first: the backend.
 */
struct cm_backend_ops {
	const char *name; /* "kernel's" or "user-space", before "connection manager" in messages */

	/*
	 * Whether this backend has a device for the local address @addr (never a wildcard; a
	 * loopback address is for the one that can). Asked of ibcm only, when both backends are
	 * there: what it does not claim is the kernel's.
	 */
	bool (*serves)(const struct sockaddr *addr);

	/*
	 * Set @ch's member of this backend. *ret_fd: to wait on, readable while an event waits;
	 * closed by close_channel, which ends what the backend has of the identifiers in it, too.
	 * -ENODEV: this backend has nothing to work with on this machine (the kernel module is not
	 * there; there is no user-space device).
	 */
	int (*open_channel)(struct cm_channel *ch, int *ret_fd);
	void (*close_channel)(struct cm_channel *ch);

	/*
	 * Take the next event. -EAGAIN: none. Only ucma may sleep in it, and only when its
	 * descriptor is the channel's (the program's O_NONBLOCK then counts).
	 */
	int (*get_event)(struct cm_channel *ch, struct cm_event *ev);
	/*
	 * Sleep until there may be an event, on a channel that has no other backend. Not called of
	 * a backend whose get_event sleeps itself.
	 */
	int (*wait_event)(struct cm_channel *ch);

	/*
	 * create_id: id.ps, id.qp_type and id.channel are set. destroy_id: no more events
	 * about it after the return; *ret_events: how many get_event ever handed out about it as
	 * ev->id (a CONNECT_REQUEST counts for the listener, an event of a group for both). The
	 * core waits for their acknowledgement, then calls forget_id. Until then the program may
	 * use the identifier: operations on it fail with -EINVAL. drop_request: refuse a
	 * CONNECT_REQUEST nobody will answer and free new_handle or new_ibcm. migrate_id: later
	 * events go to @to, those waiting move along; *ret_events as above; id.channel changes
	 * after the return.
	 */
	int (*create_id)(struct cm_id *id);
	int (*destroy_id)(struct cm_id *id, uint32_t *ret_events);
	void (*forget_id)(struct cm_id *id);
	void (*drop_request)(struct cm_channel *ch, struct cm_event *ev);
	int (*migrate_id)(struct cm_id *id, struct cm_channel *to, uint32_t *ret_events);

	/*
	 * bind_addr: a wildcard binds the port alone; port 0 chooses one, ephemeral. On return the
	 * core calls query_addr. resolve_addr: @src may be NULL; ends with ADDR_RESOLVED or
	 * ADDR_ERROR. resolve_route: ends with ROUTE_RESOLVED or ROUTE_ERROR.
	 * query_addr, query_route: fill what cm_id says above from the backend's knowledge. They
	 * are called with the event in hand, before the program sees it; query_addr after bind of a
	 * wildcard sets the address with its port only.
	 */
	int (*bind_addr)(struct cm_id *id, const struct sockaddr *addr);
	int (*resolve_addr)(struct cm_id *id, const struct sockaddr *src,
			    const struct sockaddr *dst, int timeout_ms);
	int (*resolve_route)(struct cm_id *id, int timeout_ms);
	int (*query_addr)(struct cm_id *id);
	int (*query_route)(struct cm_id *id);

	/*
	 * accept: passive side; @conn NULL on the active one: the answer is confirmed (RTU).
	 * When the confirmation is out the core reports ESTABLISHED on the active side itself; the
	 * passive side's ESTABLISHED is an event of the backend, as are both sides' DISCONNECTED.
	 * disconnect: on either side; also answers a disconnect request. Disconnected already: 0.
	 * init_qp_attr: one or two states at once; attr.qp_state (INIT, RTR or RTS) says which.
	 * RTR and RTS need the request (passive) or the answer (active).
	 */
	int (*listen)(struct cm_id *id, int backlog);
	int (*connect)(struct cm_id *id, const struct cm_conn *conn);
	int (*accept)(struct cm_id *id, const struct cm_conn *conn);
	int (*reject)(struct cm_id *id, const struct cm_reject *reject);
	int (*disconnect)(struct cm_id *id);
	int (*notify)(struct cm_id *id, enum ibv_event_type event);
	int (*init_qp_attr)(struct cm_id *id, struct cm_qp_attr *attrs, int count);

	/*
	 * join: ends with MULTICAST_JOIN or MULTICAST_ERROR. leave: *ret_events: how many events
	 * about the group get_event handed out. The core attaches and detaches the QP.
	 */
	int (*join)(struct cm_mc *mc);
	int (*leave)(struct cm_mc *mc, uint32_t *ret_events);

	int (*set_option)(struct cm_id *id, int level, int optname, const void *value,
			  size_t length);

	/* rdma_resolve_addrinfo() with RAI_SA, and its result; rdma_write_cm_event(). */
	int (*resolve_service)(struct cm_id *id, const struct cm_service *service);
	int (*query_services)(struct cm_id *id, struct rdma_addrinfo **ret_info);
	int (*write_event)(struct cm_id *id, enum rdma_cm_event_type event, int status,
			   uint64_t arg);
};

extern const struct cm_backend_ops ucma_ops;
/* Weak: a build without ibcm/ has the kernel's connection manager only. */
extern const struct cm_backend_ops ibcm_ops __attribute__((weak));

#endif
