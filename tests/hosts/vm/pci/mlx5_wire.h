/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between this adapter and others: packets of RoCE v2 on the cable of its Ethernet port. A
 * queue pair sends one message at a time. The files of uroce (providers/uroce/wire) write and read
 * the headers.
 */
#ifndef PCI_MLX5_WIRE_H
#define PCI_MLX5_WIRE_H

#include "providers/uroce/wire/wire.h"
#include "tests/hosts/vm/pci/mlx5_message.h"

enum {
	WIRE_MTU = 4096,
};

/* The route of packets. */
struct wire_route {
	const struct hca_address *from; /* NULL: there is no route */
	uint8_t gid[16], mac[HCA_MAC];
	uint8_t class, hops;
	uint16_t port; /* UDP source port */
};

/* A received packet. */
struct wire_packet {
	struct uroce_hdr hdr;
	const uint8_t *payload;
	uint32_t length;
	const uint8_t *ip; /* its IP header, which is of version 6 or 4 */
	bool ipv6;
	uint8_t gid[16]; /* destination */
};

/* mlx5_wire.c */
void wire_send(const struct wire_route *route, const struct uroce_hdr *hdr, const uint8_t *payload,
	       uint32_t length);
/* Return the route of a queue pair's path, and the largest payload of its packets. */
struct wire_route wire_route_of(const struct hca_qp *qp);
uint32_t wire_mtu_of(const struct hca_qp *qp);
/* Send a frame to the cable (mlx5_frame.c). */
void hca_transmit(const uint8_t *bytes, size_t length);
/* Handle a frame. Return false if the frame is not RoCE v2. */
bool wire_receive(const uint8_t *frame, size_t length);

/* mlx5_requester.c */
/* Continue the message of a queue pair. Return a status, or -EAGAIN if the message is not complete
 * yet. */
int wire_message(struct message *m);
void wire_response(struct hca_qp *qp, const struct wire_packet *packet);

/* mlx5_responder.c */
void wire_request(struct hca_qp *qp, const struct wire_packet *packet);
/* Forget a queue pair's messages. */
void wire_forget(struct hca_qp *qp);

/* mlx5_datagram.c */
void wire_datagram(const struct wire_packet *packet);

#endif
