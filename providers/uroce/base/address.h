/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversions between GIDs and IP addresses: ::ffff:a.b.c.d is an IPv4 address (annex A17), any
 * other GID an IPv6 address.
 */
#ifndef UROCE_ADDRESS_H
#define UROCE_ADDRESS_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include <infiniband/verbs.h>

union uroce_address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static inline bool uroce_gid_is_ipv4(const union ibv_gid *gid)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)gid->raw);
}

static inline bool uroce_gid_is_multicast(const union ibv_gid *gid)
{
	return uroce_gid_is_ipv4(gid) ? (gid->raw[12] & 0xf0) == 0xe0 : gid->raw[0] == 0xff;
}

/*
 * Return the canonical form of a GID. ff0e::ffff:a.b.c.d is another form of the IPv4 group a.b.c.d.
 */
static inline union ibv_gid uroce_gid_canonical(const union ibv_gid *gid)
{
	static const uint8_t group[12] = { 0xff, 0x0e, [10] = 0xff, 0xff };
	union ibv_gid r = *gid;

	if (!memcmp(r.raw, group, sizeof(group)) && (r.raw[12] & 0xf0) == 0xe0)
		r.raw[0] = r.raw[1] = 0;
	return r;
}

static inline socklen_t uroce_address_length(const union uroce_address *address)
{
	return address->sa.sa_family == AF_INET ? sizeof(address->in) : sizeof(address->in6);
}

/* Return whether two addresses are equal. Ignore the port. */
bool uroce_address_equal(const union uroce_address *a, const union uroce_address *b);

/* Return the port. IPv4 and IPv6 have it in the same place. */
static inline uint16_t uroce_address_port(const union uroce_address *address)
{
	return ntohs(address->in.sin_port);
}

static inline void uroce_address_set_port(union uroce_address *address, uint16_t port)
{
	address->in.sin_port = htons(port);
}

/* Convert a GID. @ifindex: the interface of link-local addresses, unicast and multicast. */
void uroce_address_from_gid(const union ibv_gid *gid, uint16_t port, unsigned int ifindex,
			    union uroce_address *ret_address);
void uroce_address_to_gid(const union uroce_address *address, union ibv_gid *ret_gid);

/*
 * Return whether an interface of this network namespace has the address. -errno: the system does
 * not answer.
 */
int uroce_address_is_own(const union uroce_address *address);

/*
 * Check that the routing table leads from @from to @to. Return: 0, or -ENETUNREACH, -EHOSTUNREACH,
 * ...
 */
int uroce_address_route(const union uroce_address *from, const union uroce_address *to);

#endif
