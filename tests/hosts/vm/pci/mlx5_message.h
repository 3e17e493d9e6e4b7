/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A message on its way from one queue pair of the adapter to another. */
#ifndef PCI_MLX5_MESSAGE_H
#define PCI_MLX5_MESSAGE_H

#include "tests/hosts/vm/pci/mlx5.h"

enum {
	HCA_GRH = 40,
};

struct message {
	struct hca_qp *from, *to;
	struct work *work;
	uint32_t srq; /* SRQ of the receiver, for XRC */
	uint32_t bytes;
	uint8_t grh[HCA_GRH]; /* GRH of a datagram */
	bool is_datagram, has_grh;
	uint8_t header_kind; /* of a datagram on an Ethernet port */
};

/* mlx5_queue.c */
/* Return whether the target has a receive. */
bool message_receive(const struct message *m, struct work *receive);
/* Give the message to a receive. Return the sender's status. */
enum ibv_wc_status message_deliver(const struct message *m, struct work *receive);
struct hca_qp *message_qp(uint32_t number);
bool message_is_ready(const struct hca_qp *qp);

/* mlx5_datagram.c */
enum ibv_wc_status message_datagram(struct message *m);

#endif
