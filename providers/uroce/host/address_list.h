/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of an interface in the order in which every process sees them. */
#ifndef UROCE_ADDRESS_LIST_H
#define UROCE_ADDRESS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	UROCE_ADDRESSES_MAX = 256, /* addresses of one interface: as many as GIDs */
};

struct uroce_addresses {
	/*
	 * IPv6 link-local addresses first, then all others. Both kinds are sorted by age, IPv4
	 * before IPv6 of the same age.
	 */
	union ibv_gid gid[UROCE_ADDRESSES_MAX];
	unsigned int link_local; /* number of link-local addresses, at the beginning of gid */
	unsigned int count;	 /* number of all addresses */
	unsigned int left_out;	 /* further addresses, for which there is no room */
};

/*
 * Read the interface's present addresses. An address whose duplicate address detection is still
 * running is included; an address that was found to be a duplicate is not. @loopback: add 127.0.0.1
 * and ::1, whether the interface is up or not.
 */
int uroce_addresses_read(int ifindex, bool loopback, struct uroce_addresses *ret);
bool uroce_addresses_have(const struct uroce_addresses *list, const union ibv_gid *gid);

/* Sorting of the addresses that were read. Public for the unit test. */
struct uroce_found {
	union ibv_gid gid;
	uint32_t created; /* hundredths of seconds */
};
void uroce_addresses_order(const struct uroce_found *found, unsigned int count,
			   struct uroce_addresses *ret);

#endif
