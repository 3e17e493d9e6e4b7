/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ping by RDMA. The client tells the server where its data is; the server reads it, and says so
 * with a message; the client tells where it wants it; the server writes it there, and says so.
 */
#ifndef LIBRDMACM_TOOLS_RPING_H
#define LIBRDMACM_TOOLS_RPING_H

#include "tool.h"

#define RPING_RESOLVE_MS 2000

/* In this order; the numbers are printed. */
enum rping_state {
	CONNECT_REQUEST = 2,
	ADDR_RESOLVED,
	ROUTE_RESOLVED,
	CONNECTED,
	RDMA_READ_ADV, /* the client told where to read, */
	RDMA_READ_COMPLETE,
	RDMA_WRITE_ADV, /* where to write */
	RDMA_WRITE_COMPLETE,
	DISCONNECTED,
	ERROR,
};

/* On the wire. */
struct rping_message {
	uint64_t addr; /* big-endian, as the others */
	uint32_t rkey;
	uint32_t size;
};

/* wr_id */
enum {
	SEND = 1,
	RECV,
	READ,
	WRITE
};

struct rping {
	const char *side; /* "client" or "server" */
	enum rping_state state;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listen, *id, *request;
	struct ibv_pd *pd;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct rping_message send, recv;
	char *source, *sink; /* the client reads from the first; the server has only the second */
	struct ibv_mr *send_mr, *recv_mr, *source_mr, *sink_mr;
	uint64_t remote_addr;
	uint32_t remote_rkey, remote_size;
};

struct rping_options {
	bool client, server, verbose, validate, debug, persistent, own_qp;
	int port, count, size;
	const char *address, *local_address;
};

extern struct rping_options rping_opt; /* rping.c */

/*
 * rping_conn.c: one connection. Unless said otherwise the functions return 0, or -1 after they have
 * said what failed and set the state to ERROR.
 */
int rping_open(struct rping *ping);
void rping_close(struct rping *ping);
struct rdma_conn_param rping_conn_param(const struct rping *ping);

/* One CM event or the completions there are. */
int rping_take(struct rping *ping);
int rping_take_event(struct rping *ping);
/* Return: 0 when the state has come, -1 when the connection ended before. */
int rping_wait(struct rping *ping, enum rping_state state, const char *name);

/* Tell the peer a place, or (NULL) that its data was read or written. */
int rping_send(struct rping *ping, const struct ibv_mr *mr);
int rping_post_rdma(struct rping *ping, int kind, uint32_t length);
/* A queue pair of -q. */
int rping_modify_to_rts(struct rping *ping);

int rping_fail(struct rping *ping, const char *call);
void rping_trace(const char *fmt, ...) _printf_(1, 2);

#endif
