/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One of the two sides of a transfer between hosts: its device, two queue pairs, and the flows. */
#ifndef RDMA_DOCTOR_PEER_SIDE_H
#define RDMA_DOCTOR_PEER_SIDE_H

#include "rdma-doctor/loopback.h"
#include "rdma-doctor/peer.h"

struct peer_side {
	const struct doctor *doctor;
	int fd;		      /* TCP connection to the other side */
	struct loopback base; /* @from is the RC queue pair, @to the UD queue pair */
	struct peer_hello here, there;
	unsigned int netdev;		 /* index of the port's network interface; 0: unknown */
	unsigned int ud_posted, ud_next; /* receives that wait; place of the next completion */
};

/*
 * Open the device for the connection @fd: the wanted one, or one with the connection's address.
 * @name: its name. Return: NULL, or the verb that failed with errno set.
 */
const char *side_open(struct peer_side *side, const char *wanted, char *name, size_t size);
/* Connect to @there. Return: 0 or an errno. */
int side_connect(struct peer_side *side, const struct peer_hello *there);
void side_close(struct peer_side *side);

/* Post the receives of a flow. Return: 0 or an errno. */
int side_prepare(struct peer_side *side, const struct peer_flow *flow);
/* Send the datagrams or messages of a flow. */
void side_send(struct peer_side *side, const struct peer_flow *flow, struct peer_sent *ret_sent,
	       struct peer_report *report);
/* Receive the datagrams or messages of a flow, and the message SENT that ends it. Return: 0 or
 * -errno. */
int side_receive(struct peer_side *side, const struct peer_flow *flow, struct peer_report *report,
		 struct peer_sent *ret_sent);

/* Sums of the counters of this side: losses, drops and marks of the report. */
void side_count(const struct peer_side *side, struct peer_report *ret_sums);

#endif
