/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections by IP address. Ordered as a program uses them: types, event channels, identifiers,
 * addresses and routes, queue pairs, connections, multicast, events, options, address look-up,
 * devices.
 *
 * What holds for every function unless its comment says otherwise:
 *
 *   Return: 0 or a pointer; -1 or NULL with errno set.
 *   Asynchronous and synchronous: an identifier made with a channel starts an operation and reports
 *   its end as an event of that channel. One made without a channel waits inside the call; the
 *   event is then at id->event, valid until the next call on the identifier.
 *   Ownership: what a create, get or join function returns belongs to the caller until the function
 *   that undoes it succeeded. Addresses and parameters are only read during the call.
 *   Threads: different identifiers may be used by different threads at once, also when they share a
 *   channel; one identifier by one thread at a time, apart from reading and acknowledging events.
 *   Errors: ENODEV no RDMA device serves the address; EINVAL the identifier is not in a state for
 *   that; EOPNOTSUPP the device's connection manager does not do that; ENOMEM. The cause stands in
 *   the log (VERBS_LOG_LEVEL).
 */
#ifndef RDMA_CMA_H
#define RDMA_CMA_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <infiniband/sa.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ types */

/*
 * What happened to an identifier. The comments say which side gets the event, and what is in
 * rdma_cm_event.status and .param. Without such a word, status is 0 and param is empty.
 */
enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,  /* rdma_resolve_addr() succeeded */
	RDMA_CM_EVENT_ADDR_ERROR,     /* status: negative errno */
	RDMA_CM_EVENT_ROUTE_RESOLVED, /* rdma_resolve_route() succeeded */
	RDMA_CM_EVENT_ROUTE_ERROR,    /* status: negative errno */
	/* listener: event->id is new and the program's; param: what the other side asked for */
	RDMA_CM_EVENT_CONNECT_REQUEST,
	/* client without a QP on its identifier: answer with rdma_establish(); param */
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR, /* status: negative errno */
	RDMA_CM_EVENT_UNREACHABLE,   /* no answer; status: negative errno */
	/* status: the reason, see rdma_reject_str(); param: private data of the other side */
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED, /* param: private data of the other side */
	RDMA_CM_EVENT_DISCONNECTED,
	/* destroy the identifier and everything else on that device */
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN,  /* param.ud: address, QP number and Q_Key of the group */
	RDMA_CM_EVENT_MULTICAST_ERROR, /* status: negative errno */
	/* the address moved to other hardware; the connection goes on if it can */
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,	 /* the QP may be used for another connection */
	RDMA_CM_EVENT_ADDRINFO_RESOLVED, /* rdma_resolve_addrinfo() succeeded */
	RDMA_CM_EVENT_ADDRINFO_ERROR,	 /* status: negative errno */
	RDMA_CM_EVENT_USER,	/* from rdma_write_cm_event(); status and param.arg as there */
	RDMA_CM_EVENT_INTERNAL, /* of the library; programs never see it */
};

/* Kinds of services; bytes 4 and 5 of the service id. */
enum rdma_port_space {
	RDMA_PS_IPOIB = 0x0002, /* the multicast groups of IP over InfiniBand; UD */
	RDMA_PS_TCP = 0x0106,	/* connected */
	RDMA_PS_UDP = 0x0111,	/* datagrams */
	RDMA_PS_IB = 0x013F,	/* any service id, AF_IB addresses */
};

/* A service id made of port space and port, host order. */
#define RDMA_IB_IP_PS_MASK   0xFFFFFFFFFFFF0000ULL
#define RDMA_IB_IP_PORT_MASK 0x000000000000FFFFULL
#define RDMA_IB_IP_PS_TCP    0x0000000001060000ULL
#define RDMA_IB_IP_PS_UDP    0x0000000001110000ULL
#define RDMA_IB_PS_IB	     0x00000000013F0000ULL

/* Q_Key of RDMA_PS_UDP queue pairs and groups. */
#define RDMA_UDP_QKEY 0x01234567

/* The addresses below IP. */
struct rdma_ib_addr {
	union ibv_gid sgid;
	union ibv_gid dgid;
	__be16 pkey;
};

struct rdma_addr {
	__extension__ union {
		struct sockaddr src_addr;
		struct sockaddr_in src_sin;
		struct sockaddr_in6 src_sin6;
		struct sockaddr_storage src_storage;
	};
	__extension__ union {
		struct sockaddr dst_addr;
		struct sockaddr_in dst_sin;
		struct sockaddr_in6 dst_sin6;
		struct sockaddr_storage dst_storage;
	};
	union {
		struct rdma_ib_addr ibaddr;
	} addr;
};

/* @path_rec: @num_paths of them, the library's; set when the route has been resolved. */
struct rdma_route {
	struct rdma_addr addr;
	struct ibv_sa_path_rec *path_rec;
	int num_paths;
};

/**
 * struct rdma_event_channel - where events of identifiers arrive
 * @fd: readable when an event waits; for poll, select and epoll, and for O_NONBLOCK, which
 * makes rdma_get_cm_event() fail with EAGAIN instead of waiting. Nothing else may be done with it.
 */
struct rdma_event_channel {
	int fd;
};

/**
 * struct rdma_cm_id - one end of a communication, as a socket is
 *
 * Members are the library's to set and the program's to read, @context apart.
 * @verbs: the device, set when an address was bound or resolved to one
 * @channel: as given to rdma_create_id(); synchronous identifiers have a hidden one
 * @qp, @pd, @srq, @send_cq, @recv_cq and the channels: set by rdma_create_qp() and
 * rdma_create_srq()
 * @event: last event of a synchronous identifier
 */
struct rdma_cm_id {
	struct ibv_context *verbs;
	struct rdma_event_channel *channel;
	void *context;
	struct ibv_qp *qp;
	struct rdma_route route;
	enum rdma_port_space ps;
	uint8_t port_num;
	struct rdma_cm_event *event;
	struct ibv_comp_channel *send_cq_channel;
	struct ibv_cq *send_cq;
	struct ibv_comp_channel *recv_cq_channel;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	enum ibv_qp_type qp_type;
};

/* Values of responder_resources and initiator_depth: the maximum that both sides support. */
enum {
	RDMA_MAX_RESP_RES = 0xFF,
	RDMA_MAX_INIT_DEPTH = 0xFF
};

/**
 * struct rdma_conn_param - parameters of a connection
 * @private_data_len: bytes; at most 56 with RDMA_PS_TCP towards an IP address, more arrive padded
 * @responder_resources: RDMA reads and atomics of the other side served at once
 * @initiator_depth: RDMA reads and atomics of this side outstanding at once
 * @flow_control: whether the hardware controls the flow of receives
 * @retry_count: how often the transport sends again without an answer; up to 7
 * @rnr_retry_count: how often it does when the receiver is not ready; 7 for ever
 * @srq, @qp_num: looked at only when the identifier has no QP of its own
 */
struct rdma_conn_param {
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count; /* rdma_accept() ignores it */
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint32_t qp_num;
};

/* How to reach the other side's datagram QP, or a group. */
struct rdma_ud_param {
	const void *private_data;
	uint8_t private_data_len;
	struct ibv_ah_attr ah_attr;
	uint32_t qp_num;
	uint32_t qkey;
};

/**
 * struct rdma_cm_event - something happened to @id
 * @listen_id: the listener, with RDMA_CM_EVENT_CONNECT_REQUEST; else NULL
 * @param: .conn for connected port spaces, .ud for datagrams and multicast, .arg for
 * RDMA_CM_EVENT_USER. Private data lives as long as the event. For events of a group
 * param.ud.private_data is the context given to rdma_join_multicast().
 */
struct rdma_cm_event {
	struct rdma_cm_id *id;
	struct rdma_cm_id *listen_id;
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;
		uint64_t arg;
	} param;
};

/* ai_flags */
#define RAI_PASSIVE	0x00000001 /* the result is for the listening side */
#define RAI_NUMERICHOST 0x00000002 /* node is an address, not a name */
#define RAI_NOROUTE	0x00000004 /* do not look up a route */
#define RAI_FAMILY	0x00000008 /* with AF_IB and RAI_NUMERICHOST: node is a GID */
#define RAI_SA		0x00000010 /* service is a record of the subnet administrator */
#define RAI_DNS		0x00000020 /* ask as getaddrinfo(3) does; rdma_resolve_addrinfo() only */

/**
 * struct rdma_addrinfo - a result of rdma_getaddrinfo(), or what is asked of it
 * @ai_route, @ai_route_len: array of struct ibv_path_data and its bytes, or NULL
 * @ai_connect, @ai_connect_len: private data to connect with and its bytes, or NULL
 */
struct rdma_addrinfo {
	int ai_flags; /* OR of RAI_* */
	int ai_family;
	int ai_qp_type;
	int ai_port_space;
	socklen_t ai_src_len;
	socklen_t ai_dst_len;
	struct sockaddr *ai_src_addr;
	struct sockaddr *ai_dst_addr;
	char *ai_src_canonname;
	char *ai_dst_canonname;
	size_t ai_route_len;
	void *ai_route;
	size_t ai_connect_len;
	void *ai_connect;
	struct rdma_addrinfo *ai_next;
};

/* Which members of struct rdma_cm_join_mc_attr_ex count. */
enum rdma_cm_join_mc_attr_mask {
	RDMA_CM_JOIN_MC_ATTR_ADDRESS = 1 << 0,
	RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS = 1 << 1,
	RDMA_CM_JOIN_MC_ATTR_RESERVED = 1 << 2,
};

enum rdma_cm_mc_join_flags {
	RDMA_MC_JOIN_FLAG_FULLMEMBER,	       /* send and receive */
	RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, /* send; the QP is not attached */
	RDMA_MC_JOIN_FLAG_RESERVED,
};

struct rdma_cm_join_mc_attr_ex {
	uint32_t comp_mask;  /* OR of rdma_cm_join_mc_attr_mask; both are needed */
	uint32_t join_flags; /* one of rdma_cm_mc_join_flags */
	struct sockaddr *addr;
};

/* ------------------------------------------------------------------ event channels */

/**
 * rdma_create_event_channel() - a place for events of any number of identifiers
 *
 * Return: the channel; NULL with errno ENODEV when neither the kernel's connection manager nor a
 * user-space device is there, EACCES, EMFILE.
 */
struct rdma_event_channel *rdma_create_event_channel(void);

/**
 * rdma_destroy_event_channel() - close a channel
 *
 * Its identifiers must be destroyed or migrated and its events acknowledged before.
 */
void rdma_destroy_event_channel(struct rdma_event_channel *channel);

/* ------------------------------------------------------------------ identifiers */

/**
 * rdma_create_id() - a new identifier
 * @channel: NULL for a synchronous one
 * @context: becomes (*id)->context; the library does not look at it
 */
int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps);

/**
 * rdma_destroy_id() - end an identifier and whatever it is doing
 *
 * Its QP must have been destroyed. Waits until every event about it has been acknowledged: an event
 * that nobody acknowledges makes this call wait for ever, and the log says which event it is.
 */
int rdma_destroy_id(struct rdma_cm_id *id);

/**
 * rdma_create_ep() - an identifier for an address, and its QP
 * @res: from rdma_getaddrinfo(). With RAI_PASSIVE it gets bound, else address and route are
 * resolved. All of its members are used, those after ai_next not.
 * @pd: NULL for the device's default one
 * @qp_init_attr: NULL for no QP. On the passive side: what the QPs that rdma_get_request() makes
 * are to be like.
 *
 * The identifier is synchronous; rdma_migrate_id() to a channel makes it asynchronous.
 */
int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr);

/** rdma_destroy_ep() - end an identifier together with its QP, SRQ and completion queues */
void rdma_destroy_ep(struct rdma_cm_id *id);

/**
 * rdma_migrate_id() - move an identifier to another channel
 * @channel: NULL makes it synchronous
 *
 * Events that were not read yet move along. Waits until those that were read are acknowledged.
 */
int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);

/* ------------------------------------------------------------------ addresses and routes */

/**
 * rdma_bind_addr() - choose the local address
 * @addr: of any family; a wildcard address binds the port only, port 0 lets one be chosen
 *
 * Succeeds with id->verbs set unless @addr is a wildcard. Errors: EADDRINUSE, EADDRNOTAVAIL, ENODEV
 * no RDMA device has the address, EACCES a port below 1024.
 */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);

/**
 * rdma_resolve_addr() - find the device, and the addresses below IP, for a destination
 * @src_addr: NULL to let the routing table choose; else bound first
 * @timeout_ms: milliseconds
 *
 * Ends with RDMA_CM_EVENT_ADDR_RESOLVED, id->verbs being set, or RDMA_CM_EVENT_ADDR_ERROR.
 */
int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr, struct sockaddr *dst_addr,
		      int timeout_ms);

/**
 * rdma_resolve_route() - find the path to the resolved address
 * @timeout_ms: milliseconds
 *
 * Ends with RDMA_CM_EVENT_ROUTE_RESOLVED or RDMA_CM_EVENT_ROUTE_ERROR. Not needed before
 * rdma_join_multicast() and on the passive side.
 */
int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

/** rdma_get_src_port(), rdma_get_dst_port() - port of the local or the other address; 0 unset */
__be16 rdma_get_src_port(struct rdma_cm_id *id);
__be16 rdma_get_dst_port(struct rdma_cm_id *id);

/** rdma_get_local_addr() - the local address; its family is 0 before one was chosen */
static inline struct sockaddr *rdma_get_local_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.src_addr;
}

/** rdma_get_peer_addr() - the other side's address; its family is 0 before there is one */
static inline struct sockaddr *rdma_get_peer_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.dst_addr;
}

/* ------------------------------------------------------------------ queue pairs */

/**
 * rdma_create_qp() - a QP for the identifier, ready for receives; a UD one for sends, too
 * @pd: NULL for the device's default one
 * @qp_init_attr: cap is updated to what was granted; without send_cq or recv_cq the identifier
 * gets completion queues and channels of its own
 *
 * The library takes the QP through its states as the connection proceeds.
 */
int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
/** rdma_create_qp_ex() - the same with extended attributes; the PD, if any, stands in them */
int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr);

/** rdma_destroy_qp() - destroy the identifier's QP and the queues made for it */
void rdma_destroy_qp(struct rdma_cm_id *id);

/**
 * rdma_init_qp_attr() - attributes for a program that takes its own QP through the states
 * @qp_attr: qp_state says which state it is about; the rest is written
 * @qp_attr_mask: what ibv_modify_qp() needs besides
 */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr, int *qp_attr_mask);

/* ------------------------------------------------------------------ connections */

/**
 * rdma_connect() - ask the other side for a connection, or for its datagram QP
 * @conn_param: NULL for the largest values that work
 *
 * Ends with ESTABLISHED (CONNECT_RESPONSE when the identifier has no QP), REJECTED, UNREACHABLE or
 * CONNECT_ERROR.
 */
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/**
 * rdma_establish() - confirm RDMA_CM_EVENT_CONNECT_RESPONSE
 *
 * Only for identifiers without a QP: with one the library confirms.
 */
int rdma_establish(struct rdma_cm_id *id);

/**
 * rdma_listen() - let connection requests arrive
 * @backlog: requests waiting to be read; 0 for the system's limit
 *
 * Bound to a wildcard address the identifier serves all devices.
 */
int rdma_listen(struct rdma_cm_id *id, int backlog);

/**
 * rdma_get_request() - wait for a connection request of a synchronous listener
 * @id: the new identifier; rdma_accept() or rdma_reject() it. It has a QP when the listener came
 * from rdma_create_ep() with QP attributes.
 */
int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);

/**
 * rdma_accept() - agree to a connection request
 * @conn_param: NULL for what the other side asked for, as far as the device can
 *
 * Connected port spaces end with RDMA_CM_EVENT_ESTABLISHED; a synchronous identifier waits for it.
 */
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/** rdma_reject() - refuse a connection request; up to 148 bytes of private data go back */
int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);

/** rdma_reject_ece() - refuse because of the options offered (enhanced connection establishment) */
int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len);

/**
 * rdma_notify() - tell the connection manager of an event of the QP
 * @event: IBV_EVENT_COMM_EST: data arrived before the connection was complete, so it is complete.
 * Others are ignored.
 */
int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event);

/** rdma_disconnect() - end the connection; the QP goes to the error state */
int rdma_disconnect(struct rdma_cm_id *id);

/** rdma_set_local_ece() - options to offer with rdma_connect() or rdma_accept(), without a QP */
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/** rdma_get_remote_ece() - options the other side offered in its request or answer */
int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/* ------------------------------------------------------------------ multicast */

/**
 * rdma_join_multicast() - become a member of a group and attach the QP, if there is one
 * @context: comes back in the events about the group, as param.ud.private_data
 *
 * Ends with RDMA_CM_EVENT_MULTICAST_JOIN or RDMA_CM_EVENT_MULTICAST_ERROR.
 */
int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context);
/** rdma_join_multicast_ex() - the same with the kind of membership */
int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *mc_join_attr,
			   void *context);

/** rdma_leave_multicast() - leave a group, or stop joining it */
int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/* ------------------------------------------------------------------ events */

/**
 * rdma_get_cm_event() - take the next event, waiting for one
 * @event: the caller's until rdma_ack_cm_event()
 *
 * Errors: EAGAIN the channel is non-blocking and empty; EINTR.
 */
int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event);

/** rdma_ack_cm_event() - give an event back; each one exactly once */
int rdma_ack_cm_event(struct rdma_cm_event *event);

/** rdma_event_str() - name of an event, never NULL */
const char *rdma_event_str(enum rdma_cm_event_type event);

/**
 * rdma_reject_str() - the reason of RDMA_CM_EVENT_REJECTED in words, never NULL
 * @status: rdma_cm_event.status: the reason's number on InfiniBand and RoCE, a negative errno on
 * iWARP
 *
 * Source: IBTA vol. 1, communication management (chapter 12), reject reasons.
 */
const char *rdma_reject_str(int status);

/**
 * rdma_write_cm_event() - put an event that the program defines into the identifier's channel
 * @event: RDMA_CM_EVENT_USER
 * @status, @arg: come back as rdma_cm_event.status and .param.arg
 */
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
			uint64_t arg);

/* ------------------------------------------------------------------ options */

/* Levels. */
enum {
	RDMA_OPTION_ID = 0,
	RDMA_OPTION_IB = 1
};

/* Options of RDMA_OPTION_ID, with the type of their value. */
enum {
	RDMA_OPTION_ID_TOS = 0,	       /* uint8_t: type of service, as IP_TOS */
	RDMA_OPTION_ID_REUSEADDR = 1,  /* int: as SO_REUSEADDR */
	RDMA_OPTION_ID_AFONLY = 2,     /* int: as IPV6_V6ONLY */
	RDMA_OPTION_ID_ACK_TIMEOUT = 3 /* uint8_t: 4.096 us * 2^value, at most 31 */
};

/* Options of RDMA_OPTION_IB. */
enum {
	RDMA_OPTION_IB_PATH = 1 /* struct ibv_path_data[]: instead of rdma_resolve_route() */
};

/** rdma_set_option() - @optlen is in bytes and that of the type above */
int rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen);

/* ------------------------------------------------------------------ address look-up */

/**
 * rdma_getaddrinfo() - addresses, and perhaps a route, for a node and a service
 * @node, @service: as for getaddrinfo(3); one may be NULL
 * @hints: NULL for a connected service, active side
 * @res: list, released by rdma_freeaddrinfo()
 *
 * Return: 0; -1 with errno; another value when getaddrinfo(3) failed, for gai_strerror(3).
 */
int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res);

void rdma_freeaddrinfo(struct rdma_addrinfo *res);

/**
 * rdma_resolve_addrinfo() - the same, ended by an event
 * @hints: RAI_DNS or no flag: as rdma_getaddrinfo(). RAI_SA: ask the subnet administrator for the
 * service, whose id or name is @service; @node must be NULL.
 *
 * Ends with RDMA_CM_EVENT_ADDRINFO_RESOLVED or RDMA_CM_EVENT_ADDRINFO_ERROR.
 */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
			  const struct rdma_addrinfo *hints);

/** rdma_query_addrinfo() - what rdma_resolve_addrinfo() found; released by rdma_freeaddrinfo() */
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);

/* ------------------------------------------------------------------ devices */

/**
 * rdma_get_devices() - the devices that can be connected through, open
 * @num_devices: their number, or NULL
 *
 * The contexts are the library's and those that identifiers get as id->verbs. The list ends with
 * NULL and is released by rdma_free_devices().
 */
struct ibv_context **rdma_get_devices(int *num_devices);

void rdma_free_devices(struct ibv_context **list);

#ifdef __cplusplus
}
#endif

#endif
