/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listeners. Call these functions under the lock. */
#ifndef IBCM_LISTEN_H
#define IBCM_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

struct ibcm_id;

void ibcm_listener_add(struct ibcm_id *iid);
void ibcm_listener_remove(struct ibcm_id *iid);
/*
 * Return whether an identifier listens on any address, and therefore on devices that appear later.
 */
bool ibcm_listener_on_any(void);
/*
 * Return the listener on that address; if there is none, the listener on any address; otherwise
 * NULL.
 */
struct ibcm_id *ibcm_listener_find(uint64_t service_id, const union ibv_gid *gid,
				   sa_family_t family);
uint64_t ibcm_service_id(const struct ibcm_id *iid);
/* Return the GID that verbs_gsi_listen() gets for the listener. */
const union ibv_gid *ibcm_listener_gid(const struct ibcm_id *iid);

#endif
