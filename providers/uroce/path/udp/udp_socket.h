/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UDP sockets as RoCE needs them. */
#ifndef UROCE_UDP_SOCKET_H
#define UROCE_UDP_SOCKET_H

#include "providers/uroce/path/udp/udp_path.h"

/*
 * Source ports of flows (udp_flow.h). Linux gives such ports to anybody; RC packets of most other
 * RoCE devices come from 0xc000 on.
 */
enum {
	UROCE_FLOW_PORT_MIN = 0x8000,
	UROCE_FLOW_PORTS = 0x4000,
};

/*
 * A socket of @family, not bound: never fragments, never blocks, takes packets without UDP checksum
 * (the ICRC covers more) and joins equal datagrams of one sender. Multicast leaves by the
 * interface of @udp.
 */
int uroce_udp_socket(const struct uroce_udp *udp, int family, int *ret_fd);

/* From now on each datagram comes with class and hop limit of its IP header. */
void uroce_udp_socket_show_header(int fd, bool ipv4);
/*
 * Whether datagrams of one size and sender may come as one (UDP_GRO). How long each was is told
 * only while they may: so they still may after this if something came in the meantime. Return:
 * whether they may.
 */
bool uroce_udp_socket_join(int fd, bool join);

/*
 * The same, bound to @gid, port 4791, together with other processes of this user, and steered
 * (below). Return: 0; -EADDRINUSE: the port is somebody else's. Not logged.
 */
int uroce_udp_socket_bound(const struct uroce_udp *udp, const union ibv_gid *gid, int *ret_fd);

/*
 * udp_steer.c: of the sockets that share @fd's port, a datagram comes to that of the process whose
 * slot its QP number names, and a message of the connection manager to that of the process whose id
 * it is for; as far as the kernel's order of sockets allows.
 */
void uroce_udp_steer(int fd);

/* The same, connected to @to; its own port of @from's address is a flow's. */
int uroce_udp_socket_connected(const struct uroce_udp *udp, const union uroce_address *from,
			       const union uroce_address *to, int *ret_fd);

/*
 * The same, port 4791 of address @to, connected to @from: it gets what comes from there by the
 * device's interface, and the sockets that share the port do not. Now and then something from
 * elsewhere is among it, as older kernels do.
 */
int uroce_udp_socket_connected_back(const struct uroce_udp *udp, const union uroce_address *to,
				    const union uroce_address *from, int *ret_fd);

/* Close it. A child that inherited it no longer gets what comes from @from, either. */
void uroce_udp_socket_forget(int fd, const union uroce_address *from);

/*
 * A connected socket of IPv4 numbers what it sends, a large send like a single datagram, and does
 * not say how. Return: 0 and the identification of what is sent next; -EOPNOTSUPP: it cannot be
 * told.
 */
int uroce_udp_socket_number(int fd, uint16_t *ret_id);

/* Who has the port, for the log. Return: static text. */
const char *uroce_udp_port_owner(const union ibv_gid *gid);

#endif
