/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A message on its way from one queue pair of the adapter to another. */
#ifndef PCI_LOOP_MESSAGE_H
#define PCI_LOOP_MESSAGE_H

#include "tests/hosts/vm/pci/loop.h"

enum {
	LOOP_GRH = 40,
};

struct message {
	struct loop_qp *from, *to;
	struct work *work;
	uint32_t srq; /* the receiver's, by XRC */
	uint32_t bytes;
	uint8_t grh[LOOP_GRH]; /* GRH of a datagram */
	bool is_datagram, has_grh;
};

/* loop.c */
/* Return whether the target has a receive. */
bool message_receive(const struct message *m, struct work *receive);
/* Give the message to a receive. Return the sender's status. */
enum ibv_wc_status message_deliver(const struct message *m, struct work *receive);
bool message_is_ready(const struct loop_qp *qp);

/* loop_datagram.c */
enum ibv_wc_status message_datagram(struct message *m);

#endif
