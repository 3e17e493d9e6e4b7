/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths to other hosts. */
#ifndef IBCM_PATH_H
#define IBCM_PATH_H

#include <stdint.h>

#include <infiniband/verbs.h>

struct cm_id;
struct ibcm_id;

int ibcm_query_route(struct cm_id *id);
/* Return the address vector to the peer. */
struct ibv_ah_attr ibcm_ah_attr(const struct ibcm_id *iid);
/* Return n of a packet's life time, 4.096 us << n, for the timeouts of both sides. */
uint8_t ibcm_packet_life_time(const struct ibcm_id *iid);
uint8_t ibcm_path_mtu(const struct ibcm_id *iid);
uint8_t ibcm_path_rate(const struct ibcm_id *iid);

#endif
