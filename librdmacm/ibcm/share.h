/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The limit of requests for each host. Call these functions under the lock. */
#ifndef IBCM_SHARE_H
#define IBCM_SHARE_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct ibcm_id;

/* Count the identifier for its peer's host while it is a request and not yet a connection. */
void ibcm_share_update(struct ibcm_id *iid);
void ibcm_share_leave(struct ibcm_id *iid);
/*
 * Return whether a further request of that host is accepted, and whether it would be the host's
 * only request.
 */
bool ibcm_share_allows(const union ibv_gid *gid);
bool ibcm_share_is_first(const union ibv_gid *gid);

#endif
