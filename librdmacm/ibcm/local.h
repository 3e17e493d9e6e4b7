/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of this host. */
#ifndef IBCM_LOCAL_H
#define IBCM_LOCAL_H

#include <stdbool.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

struct cm_device;

/* An address of this host. */
struct ibcm_local {
	struct cm_device *cm;
	uint8_t index; /* index of the GID */
	union ibv_gid gid;
};

void ibcm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *ret_gid);
bool ibcm_gid_is_ipv4(const union ibv_gid *gid);
/*
 * Find the device with the address. Search the devices that the last ibcm_interfaces_follow() has
 * found. -EADDRNOTAVAIL: no device has it. Without the lock.
 */
int ibcm_local_find(const struct sockaddr *addr, struct ibcm_local *ret_local);
/* Call @fn with each address of this host. Without the lock. */
int ibcm_local_each(int (*fn)(const struct ibcm_local *local, void *arg), void *arg);

#endif
