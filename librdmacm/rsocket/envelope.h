/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Headers in front of the program's datagrams, and addresses. Pure: bytes in, values out.
 *
 * A datagram goes to a queue pair once its number is known. Its header names the sender. Until then
 * the datagram goes by UDP, and its header holds the number of the sender's queue pair. The
 * receiver answers with the same header and no data.
 */
#ifndef RSOCKET_ENVELOPE_H
#define RSOCKET_ENVELOPE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define DS_MESSAGE_MAX	  2048	/* bytes of a datagram over RDMA, its header included */
#define DS_UDP_MAX	  65535 /* limit of a UDP datagram in bytes */
#define DS_HEADER_MAX	  24
#define DS_UDP_HEADER_MAX 28
#define DS_GRH_SIZE	  40 /* bytes that a device writes in front of a datagram */

/* An address of IPv4 or IPv6. An IPv4 address is never mapped to IPv6 here. */
union ds_name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Convert a socket address. -EINVAL, -EAFNOSUPPORT: it is no address of IPv4 or IPv6. */
int ds_name_take(const void *addr, size_t size, union ds_name *ret_name);
/* Convert to the form for a socket of @domain. Return: the size of the address. */
socklen_t ds_name_give(const union ds_name *name, int domain, struct sockaddr_storage *ret_addr);
bool ds_name_equal(const union ds_name *a, const union ds_name *b);
/* Return whether the hosts are the same. Ports may differ. */
bool ds_name_same_host(const union ds_name *a, const union ds_name *b);
bool ds_name_is_any(const union ds_name *name);
uint32_t ds_name_hash(const union ds_name *name);
/* In network order. */
uint16_t ds_name_port(const union ds_name *name);
void ds_name_set_port(union ds_name *name, uint16_t port);

/* Return the largest datagram from that address, in bytes. */
static inline size_t ds_payload_max(const union ds_name *own)
{
	return DS_MESSAGE_MAX - (own->any.sa_family == AF_INET6 ? 24 : 8);
}

/* ---- over RDMA ---- */

/* Return: bytes of the header. */
size_t ds_put_header(uint8_t to[DS_HEADER_MAX], const union ds_name *own);
/* Return: bytes of the header, at most @length; -EPROTO: there is no valid header. */
int ds_get_header(const void *from, size_t length, union ds_name *ret_sender);
/*
 * Return whether the packet came from the host that its header names. The device wrote the
 * network's sender into @grh. For devices on Ethernet.
 */
bool ds_is_sender(const uint8_t grh[DS_GRH_SIZE], const union ds_name *sender);
/* Read the hop limit and the traffic class. */
void ds_get_network(const uint8_t grh[DS_GRH_SIZE], const union ds_name *sender, int *ret_hops,
		    int *ret_class);

/* ---- over UDP ---- */

enum ds_op {
	DS_DATA = 0,   /* a datagram follows, and the receiver must answer */
	DS_ANSWER = 7, /* nothing follows */
};

struct ds_udp_header {
	enum ds_op op;
	uint32_t qpn; /* QPN of the sender */
};

size_t ds_put_udp_header(uint8_t to[DS_UDP_HEADER_MAX], const struct ds_udp_header *header,
			 const union ds_name *own);
/*
 * Read the header of a message from @sender. The address of the sender comes from the network, not
 * from the header. Return: bytes of the header, at most @length; -EPROTO: no header, or the number
 * of a queue pair that takes no datagrams.
 */
int ds_get_udp_header(const void *from, size_t length, const union ds_name *sender,
		      struct ds_udp_header *ret_header);

#endif
