/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations of a backend. */
#ifndef LIBRDMACM_BACKEND_H
#define LIBRDMACM_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

struct cm_channel;
struct cm_event;
struct cm_id;
struct cm_mc;

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
