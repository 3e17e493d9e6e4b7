/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Ethernet address and VLAN of a GID: private to libibverbs. */
#ifndef LIBIBVERBS_NEIGH_H
#define LIBIBVERBS_NEIGH_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#define NEIGH_VLAN_NONE 0xffff

/*
 * @device: name for the log
 * @ifindex: the network interface of @sgid; 0: find it by its address
 */
struct neigh_query {
	const char *device;
	union ibv_gid sgid;
	union ibv_gid dgid;
	unsigned int ifindex;
	enum ibv_gid_type gid_type;
};

/* The next hop of packets to an address. */
struct neigh_hop {
	unsigned int ifindex;
	unsigned char type; /* RTN_* */
	int family;	    /* of @address */
	uint8_t address[16];
};

bool neigh_gid_is_v4(const union ibv_gid *gid);
bool neigh_gid_is_multicast(const union ibv_gid *gid);
bool neigh_gid_is_link_local(const union ibv_gid *gid);

struct sockaddr;
/* Return whether the address of an interface is the GID. */
bool neigh_sockaddr_is_gid(const struct sockaddr *address, const union ibv_gid *gid);

/* Query only the routing table of the kernel. Return: 0 or -errno, not logged. */
int neigh_first_hop(const struct neigh_query *query, struct neigh_hop *ret_hop);

/* Derive the Ethernet address of a multicast GID. */
void neigh_multicast_mac(const union ibv_gid *gid, enum ibv_gid_type type, uint8_t ret_mac[6]);

/* Derive the Ethernet address from which a link-local GID was made. Return: false if it was not
 * made from one. */
bool neigh_eui64_mac(const union ibv_gid *gid, uint8_t ret_mac[6]);

/*
 * Query the routing and neighbour tables of this network namespace. If they have no answer, ask the
 * neighbour for at most NEIGH_TIMEOUT_MS.
 * Return: 0; -EHOSTUNREACH no answer, -ENETUNREACH no route, -ENODEV no interface, ...; logged.
 */
#define NEIGH_TIMEOUT_MS 3500
int neigh_resolve(const struct neigh_query *query, uint8_t ret_mac[6], uint16_t *ret_vlan);

#endif
