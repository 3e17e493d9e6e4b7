/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which entry of a RoCE port's GID table a program should use when its user named none. In this
 * order: the network interface is up, and in this namespace; RoCE v2 before v1; an address that
 * routers forward before a link-local one; the lowest index.
 */
#ifndef LIBIBVERBS_TOOLS_GID_PICK_H
#define LIBIBVERBS_TOOLS_GID_PICK_H

#include <stdbool.h>

#include <infiniband/verbs.h>

/* @ifindex: not 0. Return: whether the interface can be used. */
typedef bool (*gid_pick_link_fn)(unsigned int ifindex);

/* Return: the best of @entries on @port_num, NULL when there is none. */
const struct ibv_gid_entry *gid_pick_best(const struct ibv_gid_entry *entries, size_t count,
					  uint8_t port_num, gid_pick_link_fn link_is_up);

/* Return: the index in the port's table; -ENODATA when it is empty, or another -errno. */
int gid_pick(struct ibv_context *context, uint8_t port_num);

#endif
