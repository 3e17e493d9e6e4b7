/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to librdmacm: declarations shared by its files and the two backends.
 *
 * An identifier belongs to one of two backends: ucma, the kernel's connection manager on
 * /dev/infiniband/rdma_cm, or ibcm, the connection manager of this library on QP1 of user-space
 * devices. The choice is made when a local address is known (addr.c). Until then an identifier has
 * no backend. The public functions (one file a noun) check their arguments and call the backend's
 * operation of the same name. They also do the common part: QP transitions, synchronous waiting,
 * counting events, explaining errors.
 *
 * Functions and operations return 0 or a negative errno. The public functions convert it.
 *
 * Locks, in the order they are taken. No lock of the core is held while an operation of a backend
 * runs, and no operation may call a public rdma_ function.
 *
 *   cm_devices.lock    list of devices, their contexts and default PDs (device.c)
 *   posted_lock        posted events of channels with two backends (posted.c)
 *   channels_lock      the identifiers of each channel (channel.c)
 *   a backend's locks  see the backend
 *   cm_id.lock         of one identifier: event counters, unacknowledged events, groups; ucma: its
 *                      creation. Leaf.
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

/*
 * Return @r if it is not negative, otherwise set errno to -@r and return -1. For public functions.
 */
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
 * A device of the list of libibverbs. An open device is never freed, because programs may keep
 * contexts without a limit.
 * @user: a user-space device, served by ibcm; otherwise a kernel device, served by ucma
 */
struct cm_device {
	LIST_ENTRY(cm_device) entry;
	struct ibv_device *device;
	struct ibv_context *verbs; /* NULL until it is needed; see cm_device_open() */
	__be64 guid;
	int index; /* RDMA device index; -1 unknown */
	bool user;
	bool gone; /* missing in the last list of devices */
	/* default PD of all identifiers; opened together with @verbs */
	struct ibv_pd *pd;
	struct ibv_xrcd *xrcd;	     /* default XRC domain; NULL until first needed */
	uint8_t max_initiator_depth; /* outstanding reads and atomics per QP, at most 255 */
	uint8_t max_responder_resources;
	_Atomic(uint8_t) link_layer[8]; /* indexed by port_num - 1; 0: not queried yet */
};

/*
 * Read the list of devices again. Add new devices, and mark missing devices as gone. Return: 0 even
 * if some devices cannot be used, which is logged.
 */
int cm_devices_refresh(void);

/*
 * Call @fn for each present device until it returns non-zero. The caller may have refreshed the
 * list before. @fn may open devices. Return: the last result of @fn, or 0 without a device.
 */
int cm_devices_each(int (*fn)(struct cm_device *dev, void *arg), void *arg);

/* Open the device unless it is open. Afterwards dev->verbs, dev->pd and the limits are set. */
int cm_device_open(struct cm_device *dev);

/* Return the default XRC domain of an open device, which the first call opens. */
int cm_device_xrcd(struct cm_device *dev, struct ibv_xrcd **ret_xrcd);

/* Find and open the device that the kernel names: by @index unless it is -1, otherwise by @guid. */
int cm_device_find(__be64 guid, int index, struct cm_device **ret_dev);

/* Return the device of a context, or NULL if this library did not open the context. */
struct cm_device *cm_device_of(struct ibv_context *verbs);

/* Return IBV_LINK_LAYER_* of a port, queried once; UNSPECIFIED if the query fails. */
int cm_device_link_layer(struct cm_device *dev, uint8_t port_num);

/* ------------------------------------------------------------------ channels (channel.c) */

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

/* ------------------------------------------------------------------ identifiers (id.c) */

/*
 * An identifier. The public part is first.
 *
 * The parts that a backend fills, and when (by query_addr, query_route and events):
 *   after bind_addr to an address, ADDR_RESOLVED, CONNECT_REQUEST:
 *     id.route.addr (both addresses with ports, ibaddr), dev by cm_id_set_device(), id.port_num
 *   after ROUTE_RESOLVED, CONNECT_REQUEST: paths by cm_id_set_paths()
 */
struct cm_id {
	struct rdma_cm_id id;
	const struct cm_backend_ops *backend; /* NULL until an address decides */
	uint32_t handle;		      /* ucma: the kernel's number of the identifier */
	atomic_bool in_kernel;		      /* ucma: handle is valid */
	struct ibcm_id *ibcm;		      /* part of ibcm */
	struct cm_device *dev;		      /* NULL until known */
	bool sync; /* created without a channel: calls wait for their event */
	bool listening;
	/*
	 * The channel was destroyed, together with the backend's part. The program can only destroy
	 * the identifier, which is now in a channel that never opens.
	 */
	bool closed;
	uint32_t closed_reported; /* events handed out until the channel was destroyed */
	LIST_ENTRY(cm_id) entry;  /* cm_channel.ids */
	/* this side failed after the other side accepted: ignore later events */
	bool connect_failed;

	/*
	 * A wildcard address is bound on both backends: the identifier itself is on one backend,
	 * and a hidden identifier is on the other. @twin of the visible identifier is the hidden
	 * one. @front of the hidden identifier is the visible one. Events of the hidden identifier
	 * are reported for its front.
	 */
	struct cm_id *twin;
	struct cm_id *front;

	/* Options set before the choice of the backend, and applied after it (option.c). */
	struct cm_option *options;

	/* Parameters of the connection (conn.c). */
	uint8_t initiator_depth;
	uint8_t responder_resources;
	struct ibv_ece local_ece;
	struct ibv_ece remote_ece; /* ECE options of the last request or answer */
	uint32_t qp_num;	   /* number of a QP that the program created */
	bool srq;
	int backlog;

	/* attributes for the QPs of requests to a passive endpoint; ep.c */
	struct ibv_qp_init_attr *ep_attr;
	struct rdma_addrinfo *addrinfo; /* rdma_resolve_addrinfo()'s result; addrinfo.c */
	void *connect_data; /* private data of the rdma_addrinfo that the endpoint was made from */
	uint8_t connect_len;

	/*
	 * Under lock. An event is counted when the program gets it, and again when the program
	 * acknowledges it.
	 */
	pthread_mutex_t lock;
	/* ucma: paths of a route whose event has not been read yet */
	struct ibv_sa_path_rec *early_paths;
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

/* Return the identifier that the program knows. */
static inline struct cm_id *cm_id_visible(struct cm_id *id)
{
	return id->front ? id->front : id;
}

/*
 * Return whether the identifier is for datagrams: it looks up a QP number (SIDR) instead of
 * connecting.
 */
static inline bool cm_id_is_ud(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static inline struct cm_channel *cm_id_channel(const struct cm_id *id)
{
	return to_cm_channel(id->id.channel);
}

/* Open the device, and set dev, id.verbs and the limits. */
int cm_id_set_device(struct cm_id *id, struct cm_device *dev);

/* Replace the path records of id.route by copies. */
int cm_id_set_paths(struct cm_id *id, const struct ibv_sa_path_rec *paths, int num_paths);

/*
 * id.c: cm_id_alloc() allocates the memory only. cm_id_create() also attaches the backend, if the
 * channel has only one.
 */
int cm_id_alloc(struct cm_channel *ch, void *context, enum rdma_port_space ps,
		enum ibv_qp_type qp_type, struct cm_id **ret_id);
void cm_id_free(struct cm_id *id);
int cm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		 enum ibv_qp_type qp_type, struct cm_id **ret_id);
int cm_id_destroy(struct cm_id *id);
/* @to NULL: make the identifier synchronous, with its own hidden channel. */
int cm_id_migrate(struct cm_id *id, struct cm_channel *to);
/* Choose the backend that serves the local address @src, or both for a wildcard. */
int cm_id_choose(struct cm_id *id, const struct sockaddr *src);
int cm_id_choose_both(struct cm_id *id);
/* Undo the choice. */
int cm_id_choose_none(struct cm_id *id);
/*
 * Check that the identifier has a backend. -EINVAL: not yet; -EBADF: it is closed. Errors are
 * logged.
 */
int cm_need_backend(struct cm_id *id, const char *who);
/* Log that the backend does not support @what, and return -EOPNOTSUPP. */
int cm_unsupported(struct cm_id *id, const char *what);

/* addr.c */
int cm_addr_bind(struct cm_id *id, const struct sockaddr *addr);
int cm_addr_resolve(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		    int timeout_ms);
int cm_route_resolve(struct cm_id *id, int timeout_ms);

/*
 * service.c: RAI_SA. cm_service_resolve() starts, and waits if the identifier is synchronous.
 * cm_service_getaddrinfo() asks through each InfiniBand port.
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

/*
 * qp.c: states of the identifier's QP. cm_qp_to_error() does nothing without a QP, or with a UD QP.
 */
int cm_qp_create(struct cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init);
int cm_qp_to_rts(struct cm_id *id);
int cm_qp_to_error(struct cm_id *id);

/* conn.c: move the QP to RTS and confirm, on the active side after the other side's answer. */
int cm_conn_complete(struct cm_id *id);

/* mcast.c: attach the QP after MULTICAST_JOIN; free all groups of an identifier. */
int cm_mc_joined(struct cm_mc *mc, const struct ibv_ah_attr *attr);
void cm_groups_free(struct cm_id *id);

/* Log one line about an identifier: "rdma_cm id 0x... (192.0.2.1:7471 to 192.0.2.2:7471): ..." */
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
 * - event.event, event.status as in rdma_cma.h. For REJECTED the status is the IBTA reason,
 *   positive.
 * - event.param of CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED: .conn or .ud (by
 *   cm_id_is_ud()). Its private_data points to @private_data. Like in the kernel, the depths are
 *   those of this side: responder_resources is the other side's initiator_depth, and the reverse.
 * - UD: ESTABLISHED on the asking side has ah_attr, qp_num, qkey.
 * - Groups: ah_attr, qp_num 0xffffff, qkey.
 * - id: the identifier of the event. For CONNECT_REQUEST the listener (or its twin).
 * - mc: the group, for MULTICAST_JOIN and MULTICAST_ERROR. Then id is mc->id.
 * - new_handle, new_ibcm: only for CONNECT_REQUEST. The core makes an identifier with cm_id.handle
 *   and .ibcm from them. If that fails, it calls drop_request() with them.
 * - ece: of CONNECT_REQUEST and CONNECT_RESPONSE.
 */
struct cm_event {
	struct rdma_cm_event event; /* public, first */
	struct cm_id *id;
	struct cm_mc *mc;
	uint32_t new_handle;
	struct ibcm_id *new_ibcm;
	struct ibv_ece ece;
	uint8_t private_data[RDMA_MAX_PRIVATE_DATA];

	bool posted;		     /* the event comes from posted.c and not from a backend */
	TAILQ_ENTRY(cm_event) entry; /* cm_id.unacked, cm_channel.posted */
};

static inline struct cm_event *to_cm_event(struct rdma_cm_event *event)
{
	return (struct cm_event *)event;
}

/*
 * event.c. Wait until *@acked, of the identifier or one of its groups, reaches @reported. After a
 * while, log the missing event.
 */
void cm_events_wait(struct cm_id *id, const uint32_t *acked, uint32_t reported, const char *who);
/* Return the number of the backend's events that the core handed out for the identifier. */
uint32_t cm_events_given(struct cm_id *id);
/* Count an event as acknowledged while the program still uses it: rdma_get_request(). */
void cm_event_count_early(struct cm_event *ev);
/* Wait for the event of a started operation, if the identifier is synchronous. */
int cm_sync_wait(struct cm_id *id);
/* Acknowledge the event of the last call. */
void cm_sync_drop_event(struct cm_id *id);

/* ------------------------------------------------------------------ multicast (mcast.c) */

/*
 * Membership in a group.
 * @handle, @ibcm: as in cm_id. @mgid, @mlid: set by the core from ah_attr of the MULTICAST_JOIN
 * event.
 */
struct cm_mc {
	LIST_ENTRY(cm_mc) entry; /* cm_id.groups */
	struct cm_id *id;
	void *context; /* value of the program */
	struct sockaddr_storage addr;
	uint32_t join_flags; /* enum rdma_cm_mc_join_flags */
	uint32_t handle;
	struct ibcm_mc *ibcm;
	union ibv_gid mgid;
	uint16_t mlid;
	bool attached;	       /* the QP receives packets of the group */
	uint32_t events_acked; /* under id->lock */
};

/* ------------------------------------------------------------------ backends */

/*
 * Arguments of connect and accept. Depths include the defaults and the limits of the device.
 * Private data is that of the program. A backend adds or removes its own header.
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

/* Attributes for the transition of a QP to attr.qp_state; @mask as for ibv_modify_qp(). */
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
	uint64_t id; /* host order; 0: use the name */
	char name[64];
};

/*
 * Operations of a backend, named after the public calls. A NULL member means "not supported": the
 * caller gets EOPNOTSUPP, and the log says so. All operations except open_channel and serves get
 * objects of this backend.
 *
 * Operations that take time return at once, and an event reports their end. If the call fails,
 * there is no event. The backend logs the reason.
 */
struct cm_backend_ops {
	const char *name; /* "kernel's" or "user-space", before "connection manager" in messages */

	/*
	 * Return whether this backend has a device for the local address @addr (never a wildcard; a
	 * loopback address belongs to the backend that can use it). Called only for ibcm, if both
	 * backends exist. The kernel gets all other addresses.
	 */
	bool (*serves)(const struct sockaddr *addr);

	/*
	 * Set @ch's member of this backend. *ret_fd: the descriptor to wait on, readable while an
	 * event waits. close_channel closes it, and also ends the backend's part of the identifiers
	 * in the channel. -ENODEV: this backend has no device on this machine (no kernel module, or
	 * no user-space device).
	 */
	int (*open_channel)(struct cm_channel *ch, int *ret_fd);
	void (*close_channel)(struct cm_channel *ch);

	/*
	 * Take the next event. -EAGAIN: there is no event. Only ucma may sleep here, and only if
	 * the channel's descriptor is the descriptor of ucma. O_NONBLOCK of the program then
	 * applies.
	 */
	int (*get_event)(struct cm_channel *ch, struct cm_event *ev);
	/*
	 * Sleep until there may be an event, on a channel that has no other backend. Not called if
	 * get_event of the backend sleeps itself.
	 */
	int (*wait_event)(struct cm_channel *ch);

	/*
	 * create_id: id.ps, id.qp_type and id.channel are set.
	 *
	 * destroy_id: no more events come after the return. *ret_events: number of events that
	 * get_event ever handed out with this identifier as ev->id (a CONNECT_REQUEST counts for
	 * the listener, an event of a group for both). The core waits for their acknowledgement,
	 * then calls forget_id. Until then the program may use the identifier: operations on it
	 * fail with -EINVAL.
	 *
	 * drop_request: refuse a CONNECT_REQUEST that gets no answer, and free new_handle or
	 * new_ibcm.
	 *
	 * migrate_id: later events go to @to, and waiting events move there. *ret_events as above.
	 * id.channel changes after the return.
	 */
	int (*create_id)(struct cm_id *id);
	int (*destroy_id)(struct cm_id *id, uint32_t *ret_events);
	void (*forget_id)(struct cm_id *id);
	void (*drop_request)(struct cm_channel *ch, struct cm_event *ev);
	int (*migrate_id)(struct cm_id *id, struct cm_channel *to, uint32_t *ret_events);

	/*
	 * bind_addr: a wildcard binds only the port; port 0 chooses an ephemeral port. After the
	 * return the core calls query_addr.
	 *
	 * resolve_addr: ends with ADDR_RESOLVED or ADDR_ERROR. @src may be NULL.
	 *
	 * resolve_route: ends with ROUTE_RESOLVED or ROUTE_ERROR.
	 *
	 * query_addr, query_route: fill the members listed at cm_id from the backend's knowledge.
	 * They are called with the event in hand, before the program sees it. After the bind of a
	 * wildcard, query_addr only sets the address with its port.
	 */
	int (*bind_addr)(struct cm_id *id, const struct sockaddr *addr);
	int (*resolve_addr)(struct cm_id *id, const struct sockaddr *src,
			    const struct sockaddr *dst, int timeout_ms);
	int (*resolve_route)(struct cm_id *id, int timeout_ms);
	int (*query_addr)(struct cm_id *id);
	int (*query_route)(struct cm_id *id);

	/*
	 * accept: passive side. On the active side @conn is NULL: confirm the answer (RTU). The
	 * core then reports ESTABLISHED on the active side itself. ESTABLISHED of the passive side
	 * is an event of the backend, as are both sides' DISCONNECTED.
	 *
	 * disconnect: on either side; also answers a disconnect request. Disconnected already: 0.
	 *
	 * init_qp_attr: one or two states at once, named by attr.qp_state (INIT, RTR or RTS). RTR
	 * and RTS need the request (passive) or the answer (active).
	 */
	int (*listen)(struct cm_id *id, int backlog);
	int (*connect)(struct cm_id *id, const struct cm_conn *conn);
	int (*accept)(struct cm_id *id, const struct cm_conn *conn);
	int (*reject)(struct cm_id *id, const struct cm_reject *reject);
	int (*disconnect)(struct cm_id *id);
	int (*notify)(struct cm_id *id, enum ibv_event_type event);
	int (*init_qp_attr)(struct cm_id *id, struct cm_qp_attr *attrs, int count);

	/*
	 * join: ends with MULTICAST_JOIN or MULTICAST_ERROR. leave: *ret_events is the number of
	 * events of the group that get_event handed out. The core attaches and detaches the QP.
	 */
	int (*join)(struct cm_mc *mc);
	int (*leave)(struct cm_mc *mc, uint32_t *ret_events);

	int (*set_option)(struct cm_id *id, int level, int optname, const void *value,
			  size_t length);

	/* rdma_resolve_addrinfo() with RAI_SA, rdma_query_addrinfo() and rdma_write_cm_event(). */
	int (*resolve_service)(struct cm_id *id, const struct cm_service *service);
	int (*query_services)(struct cm_id *id, struct rdma_addrinfo **ret_info);
	int (*write_event)(struct cm_id *id, enum rdma_cm_event_type event, int status,
			   uint64_t arg);
};

extern const struct cm_backend_ops ucma_ops;
/* Weak, because a build without ibcm/ has only the kernel's connection manager. */
extern const struct cm_backend_ops ibcm_ops __attribute__((weak));

#endif
