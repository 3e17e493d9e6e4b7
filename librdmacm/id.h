/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identifiers, and the functions of the core that change them. */
#ifndef LIBRDMACM_ID_H
#define LIBRDMACM_ID_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>

#include "librdmacm/channel.h"

struct cm_backend_ops;
struct cm_device;
struct cm_event;
struct cm_mc;
struct cm_option;
struct ibcm_id;

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

#endif
