/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ping by RDMA. The client sends the address of its data. The server reads the data and confirms
 * this by a message. Then the client sends the address of its target. The server writes the data
 * there and confirms this by a message.
 */
#ifndef LIBRDMACM_TOOLS_RPING_H
#define LIBRDMACM_TOOLS_RPING_H

#include "tool.h"

#define RPING_RESOLVE_MS 2000

/* States in the order in which they are reached. Their numbers are printed. */
enum rping_state {
	CONNECT_REQUEST = 2,
	ADDR_RESOLVED,
	ROUTE_RESOLVED,
	CONNECTED,
	RDMA_READ_ADV, /* the client has sent the address to read from, */
	RDMA_READ_COMPLETE,
	RDMA_WRITE_ADV, /* where to write */
	RDMA_WRITE_COMPLETE,
	DISCONNECTED,
	ERROR,
};

/* On the wire. */
struct rping_message {
	uint64_t addr; /* big-endian, like the other members */
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
	char *source, *sink; /* memory that the peer reads and writes; the server has only @sink */
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
 * rping_conn.c: one connection. Unless documented otherwise, the functions return 0, or -1 after
 * they have logged the failure and set the state to ERROR.
 */
int rping_open(struct rping *ping);
void rping_close(struct rping *ping);
struct rdma_conn_param rping_conn_param(const struct rping *ping);

/* Handle one CM event or all present completions. */
int rping_take(struct rping *ping);
int rping_take_event(struct rping *ping);
/* Wait for a state. Return: 0; -1: the connection ended before. */
int rping_wait(struct rping *ping, enum rping_state state, const char *name);

/* Send the address of a buffer to the peer. @mr NULL: confirm that data was read or written. */
int rping_send(struct rping *ping, const struct ibv_mr *mr);
int rping_post_rdma(struct rping *ping, int kind, uint32_t length);
/* Move a queue pair of -q to RTS. */
int rping_modify_to_rts(struct rping *ping);

int rping_fail(struct rping *ping, const char *call);
void rping_trace(const char *fmt, ...) _printf_(1, 2);

#endif
