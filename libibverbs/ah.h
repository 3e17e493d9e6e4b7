/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first 40 bytes of a UD receive: private to libibverbs. */
#ifndef LIBIBVERBS_AH_H
#define LIBIBVERBS_AH_H

#include <stdbool.h>

#include <infiniband/verbs.h>

/* The route back to the sender, by GIDs. flow_label has 20 bits in host order. */
struct ah_route {
	union ibv_gid local;  /* destination of the packet */
	union ibv_gid remote; /* its source */
	enum ibv_gid_type type;
	uint32_t flow_label;
	uint8_t traffic_class;
};

/*
 * @ethernet: link layer of the port; on InfiniBand the 40 bytes are always a GRH
 * Return: 0; -EPROTO: the bytes are not a header of RoCE.
 */
int ah_grh_parse(const struct ibv_grh *grh, bool ethernet, struct ah_route *ret_route);

#endif
