/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/envelope.h"
#include "util/util.h"

#define UDP_TAG	   0x55555555u
#define QPN_FIRST  2	     /* 0 and 1 belong to the subnet and connection managers */
#define QPN_LAST   0xfffffeu /* 0xffffff addresses a multicast group */
#define GRH_SENDER 8
#define IPV4_START 20 /* offset in the GRH of an IPv4 header, which is at the end */

/* Header over RDMA. The rest depends on the version: 4 bytes, or flow information and 16 bytes. */
struct wire_header {
	uint8_t version;
	uint8_t length;
	uint16_t port;
	union {
		uint8_t v4[4];
		struct {
			uint32_t flow;
			uint8_t addr[16];
		} v6;
	};
};

/* Over UDP. */
struct wire_udp_header {
	uint32_t tag;
	uint8_t version;
	uint8_t op;
	uint8_t length;
	uint8_t reserved;
	uint32_t qpn;	  /* the lower 24 bits */
	uint8_t addr[16]; /* of IPv4: 4 */
};

enum {
	HEADER_V4 = 8,
	HEADER_V6 = 24,
	UDP_HEADER_V4 = 16,
	UDP_HEADER_V6 = 28,
};

_Static_assert(sizeof(struct wire_header) == HEADER_V6, "as on the wire");
_Static_assert(sizeof(struct wire_udp_header) == UDP_HEADER_V6, "as on the wire");

static bool is_v6(const union ds_name *name)
{
	return name->any.sa_family == AF_INET6;
}

static uint8_t version_of(const union ds_name *name)
{
	return is_v6(name) ? 6 : 4;
}

/* ---- names ---- */

int ds_name_take(const void *addr, size_t size, union ds_name *ret_name)
{
	union ds_name name = {};

	if (!addr || size < sizeof(name.v4))
		return -EINVAL;
	memcpy(&name, addr, min_of(size, sizeof(name)));
	if (name.any.sa_family == AF_INET) {
		*ret_name = (union ds_name){ .v4 = { .sin_family = AF_INET,
						     .sin_port = name.v4.sin_port,
						     .sin_addr = name.v4.sin_addr } };
		return 0;
	}
	if (name.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (size < sizeof(name.v6))
		return -EINVAL;
	if (IN6_IS_ADDR_V4MAPPED(&name.v6.sin6_addr)) {
		*ret_name = (union ds_name){ .v4 = { .sin_family = AF_INET,
						     .sin_port = name.v6.sin6_port } };
		memcpy(&ret_name->v4.sin_addr, &name.v6.sin6_addr.s6_addr[12], 4);
		return 0;
	}
	*ret_name = name;
	return 0;
}

socklen_t ds_name_give(const union ds_name *name, int domain, struct sockaddr_storage *ret_addr)
{
	struct sockaddr_in6 mapped = {
		.sin6_family = AF_INET6,
		.sin6_port = name->v4.sin_port,
		.sin6_addr.s6_addr = { [10] = 0xff, [11] = 0xff },
	};

	*ret_addr = (struct sockaddr_storage){};
	if (is_v6(name)) {
		memcpy(ret_addr, &name->v6, sizeof(name->v6));
		return sizeof(name->v6);
	}
	if (domain != AF_INET6) {
		memcpy(ret_addr, &name->v4, sizeof(name->v4));
		return sizeof(name->v4);
	}
	memcpy(&mapped.sin6_addr.s6_addr[12], &name->v4.sin_addr, 4);
	memcpy(ret_addr, &mapped, sizeof(mapped));
	return sizeof(mapped);
}

bool ds_name_same_host(const union ds_name *a, const union ds_name *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (!is_v6(a))
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr);
}

/*
 * Return whether the links may be the same. If two known links differ, the same link-local address
 * means two hosts.
 */
static bool same_link(const union ds_name *a, const union ds_name *b)
{
	return !is_v6(a) || !a->v6.sin6_scope_id || !b->v6.sin6_scope_id ||
	       a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

bool ds_name_equal(const union ds_name *a, const union ds_name *b)
{
	return ds_name_same_host(a, b) && ds_name_port(a) == ds_name_port(b) && same_link(a, b);
}

bool ds_name_is_any(const union ds_name *name)
{
	return is_v6(name) ? IN6_IS_ADDR_UNSPECIFIED(&name->v6.sin6_addr)
			   : name->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

uint32_t ds_name_hash(const union ds_name *name)
{
	uint32_t words[4] = {}, hash = ds_name_port(name);

	if (is_v6(name))
		memcpy(words, &name->v6.sin6_addr, 16);
	else
		memcpy(words, &name->v4.sin_addr, 4);
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
		hash = (hash ^ words[i]) * 0x9e3779b1u;
	return hash ^ hash >> 16;
}

uint16_t ds_name_port(const union ds_name *name)
{
	return is_v6(name) ? name->v6.sin6_port : name->v4.sin_port;
}

void ds_name_set_port(union ds_name *name, uint16_t port)
{
	if (is_v6(name))
		name->v6.sin6_port = port;
	else
		name->v4.sin_port = port;
}

/* ---- over RDMA ---- */

size_t ds_put_header(uint8_t to[DS_HEADER_MAX], const union ds_name *own)
{
	struct wire_header header = {
		.version = version_of(own),
		.length = is_v6(own) ? HEADER_V6 : HEADER_V4,
		.port = ds_name_port(own),
	};

	if (is_v6(own)) {
		header.v6.flow = own->v6.sin6_flowinfo;
		memcpy(header.v6.addr, &own->v6.sin6_addr, 16);
	} else {
		memcpy(header.v4, &own->v4.sin_addr, 4);
	}
	memcpy(to, &header, header.length);
	return header.length;
}

int ds_get_header(const void *from, size_t length, union ds_name *ret_sender)
{
	struct wire_header header = {};

	memcpy(&header, from, min_of(length, sizeof(header)));
	if (header.length > length)
		return -EPROTO;
	if (header.version == 4 && header.length == HEADER_V4) {
		*ret_sender =
			(union ds_name){ .v4 = { .sin_family = AF_INET, .sin_port = header.port } };
		memcpy(&ret_sender->v4.sin_addr, header.v4, 4);
		return HEADER_V4;
	}
	if (header.version == 6 && header.length == HEADER_V6) {
		*ret_sender = (union ds_name){ .v6 = { .sin6_family = AF_INET6,
						       .sin6_port = header.port,
						       .sin6_flowinfo = header.v6.flow } };
		memcpy(&ret_sender->v6.sin6_addr, header.v6.addr, 16);
		return IN6_IS_ADDR_V4MAPPED(&ret_sender->v6.sin6_addr) ? -EPROTO : HEADER_V6;
	}
	return -EPROTO;
}

bool ds_is_sender(const uint8_t grh[DS_GRH_SIZE], const union ds_name *sender)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *gid = grh + GRH_SENDER, *ipv4 = grh + IPV4_START;

	if (is_v6(sender))
		return !memcmp(gid, &sender->v6.sin6_addr, 16);
	if (ipv4[0] >> 4 == 4 && !memcmp(ipv4 + 12, &sender->v4.sin_addr, 4))
		return true;
	return !memcmp(gid, mapped, sizeof(mapped)) &&
	       !memcmp(gid + sizeof(mapped), &sender->v4.sin_addr, 4);
}

void ds_get_network(const uint8_t grh[DS_GRH_SIZE], const union ds_name *sender, int *ret_hops,
		    int *ret_class)
{
	const uint8_t *ipv4 = grh + IPV4_START;

	if (!is_v6(sender) && ipv4[0] >> 4 == 4) {
		*ret_class = ipv4[1];
		*ret_hops = ipv4[8];
	} else {
		*ret_class = (grh[0] << 4 | grh[1] >> 4) & 0xff;
		*ret_hops = grh[7];
	}
}

/* ---- over UDP ---- */

size_t ds_put_udp_header(uint8_t to[DS_UDP_HEADER_MAX], const struct ds_udp_header *header,
			 const union ds_name *own)
{
	struct wire_udp_header wire = {
		.tag = htobe32(UDP_TAG),
		.version = version_of(own),
		.op = header->op,
		.length = is_v6(own) ? UDP_HEADER_V6 : UDP_HEADER_V4,
		.qpn = htobe32(header->qpn),
	};

	if (is_v6(own))
		memcpy(wire.addr, &own->v6.sin6_addr, 16);
	else
		memcpy(wire.addr, &own->v4.sin_addr, 4);
	memcpy(to, &wire, wire.length);
	return wire.length;
}

int ds_get_udp_header(const void *from, size_t length, const union ds_name *sender,
		      struct ds_udp_header *ret_header)
{
	const uint8_t size = is_v6(sender) ? UDP_HEADER_V6 : UDP_HEADER_V4;
	struct wire_udp_header wire = {};
	uint32_t qpn;

	if (length < size)
		return -EPROTO;
	memcpy(&wire, from, size);
	qpn = be32toh(wire.qpn) & 0xffffff;
	if (wire.tag != htobe32(UDP_TAG) || wire.version != version_of(sender) ||
	    wire.length != size || (wire.op != DS_DATA && wire.op != DS_ANSWER) ||
	    qpn < QPN_FIRST || qpn > QPN_LAST)
		return -EPROTO;
	*ret_header = (struct ds_udp_header){ .op = wire.op, .qpn = qpn };
	return size;
}
