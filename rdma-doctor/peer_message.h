/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between rdma-doctor --peer and rdma-doctor --serve, over TCP. Each message has the same
 * size. Neither side trusts the other: a message is copied, checked, and then used.
 *
 * client            server
 * HELLO      ->
 *            <-     HELLO           both connect their queue pairs
 * FLOW       ->                     describes one transfer
 *            <-     READY           the server has posted receives, or begins to send
 * SENT       <->                    the sender has sent all
 *            <-     REPORT          about the server's side
 * ... more of FLOW
 * BYE        ->
 *
 * The server may answer with SORRY and a text, and end.
 */
#ifndef RDMA_DOCTOR_PEER_MESSAGE_H
#define RDMA_DOCTOR_PEER_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define PEER_TCP_PORT "18516"
#define PEER_TEXT     96

enum peer_type {
	PEER_HELLO = 1,
	PEER_FLOW,
	PEER_READY,
	PEER_SENT,
	PEER_REPORT,
	PEER_BYE,
	PEER_SORRY,
	PEER_TYPES,
};

/* HELLO: @text is the name of the device. */
struct peer_hello {
	uint32_t rc_qpn, ud_qpn;
	uint32_t mtu;	     /* enum ibv_mtu */
	uint32_t link_layer; /* IBV_LINK_LAYER_* */
	uint32_t lid;
	uint32_t roce; /* enum ibv_gid_type of a RoCE port */
	uint32_t rkey; /* of PEER_LOAD_BYTES that the peer may write to */
	uint32_t address_high, address_low;
	uint8_t gid[16];
};

enum peer_flow_kind {
	FLOW_DATAGRAMS,
	FLOW_LOAD, /* RDMA writes for a while, to the server */
	FLOW_KINDS,
};

struct peer_flow {
	uint32_t kind;
	uint32_t from_server;
	uint32_t number; /* of this flow, in each datagram */
	uint32_t count, bytes;
	uint32_t traffic_class;
};

/* SENT: messages that were sent, and the status of the sender: 0, or enum ibv_wc_status. */
struct peer_sent {
	uint32_t count, status;
};

struct peer_report {
	uint32_t arrived, damaged;
	uint32_t has_header; /* the next two are known */
	uint32_t traffic_class, hop_limit;
	/* duration of the flow, and the part of it in which the process did not run */
	uint32_t ms, stalled_ms;
	uint32_t losses, drops, marks; /* increase of the counters of these kinds */
	/* Of the load: PEER_PFC_KNOWN and the priorities with PFC; and 1 + the priority of DSCP 26.
	 * The text of the message is the reason if PFC is not known. */
	uint32_t pfc, priority;
};

#define PEER_PFC_KNOWN 0x100

struct peer_message {
	enum peer_type type;
	char text[PEER_TEXT];
	union {
		uint32_t words[13];
		struct peer_hello hello;
		struct peer_flow flow;
		struct peer_sent sent;
		struct peer_report report;
	};
};

enum {
	PEER_WIRE_BYTES = 8 + PEER_TEXT + 52,
};

/* Convert. peer_message_parse() returns 0 or -EPROTO. */
void peer_message_format(const struct peer_message *message, uint8_t wire[PEER_WIRE_BYTES]);
int peer_message_parse(const uint8_t wire[PEER_WIRE_BYTES], struct peer_message *ret_message);

/* Send a message, or receive a message of @type within ten seconds. Return 0 or -errno. If a SORRY
 * arrives, the error is -ECONNREFUSED, and @ret_message has its text. */
int peer_message_send(int fd, const struct peer_message *message);
int peer_message_receive(int fd, enum peer_type type, struct peer_message *ret_message);
/* Return whether a message can be received without waiting. */
bool peer_message_waits(int fd);

#endif
