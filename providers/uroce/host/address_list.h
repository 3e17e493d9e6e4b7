/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The addresses of an interface in the order in which every process sees them. */
#ifndef UROCE_ADDRESS_LIST_H
#define UROCE_ADDRESS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	UROCE_ADDRESSES_MAX = 128, /* of one interface */
};

struct uroce_addresses {
	/* Link-local ones of IPv6 first, then all others: each kind by age, IPv4 before IPv6 of the
	 * same age. */
	union ibv_gid gid[UROCE_ADDRESSES_MAX];
	unsigned int link_local; /* how many of those */
	unsigned int count;	 /* of all */
};

/*
 * What the interface has by now. An address that is still looked for elsewhere (duplicate address
 * detection) is there, one that was found elsewhere is not. @loopback: 127.0.0.1 and ::1 are there
 * whether it is up or not.
 */
int uroce_addresses_read(int ifindex, bool loopback, struct uroce_addresses *ret);
bool uroce_addresses_have(const struct uroce_addresses *list, const union ibv_gid *gid);

/* What was read, and the order of it: for the reader and its test. */
struct uroce_found {
	union ibv_gid gid;
	uint32_t created; /* hundredths of seconds */
};
void uroce_addresses_order(const struct uroce_found *found, unsigned int count,
			   struct uroce_addresses *ret);

#endif
