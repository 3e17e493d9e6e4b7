/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UDP sockets as RoCE needs them. */
#ifndef UROCE_UDP_SOCKET_H
#define UROCE_UDP_SOCKET_H

#include "providers/uroce/path/udp/udp_path.h"

/*
 * Source ports of flows (udp_flow.h). Linux assigns such ports to any program. RC packets of most
 * other RoCE devices come from ports 0xc000 and up.
 */
enum {
	UROCE_FLOW_PORT_MIN = 0x8000,
	UROCE_FLOW_PORTS = 0x4000,
};

/*
 * Make an unbound socket of @family. It never fragments, never blocks, accepts packets without UDP
 * checksum (the ICRC covers more) and joins datagrams of equal length from one sender. Multicast
 * leaves by the interface of @udp.
 */
int uroce_udp_socket(const struct uroce_udp *udp, int family, int *ret_fd);

/* Receive class and hop limit of the IP header with each datagram from now on. */
void uroce_udp_socket_show_header(int fd, bool ipv4);
/*
 * Choose whether datagrams of one size and sender may be joined (UDP_GRO). The kernel reports the
 * sizes of joined datagrams only while joining is on. Therefore, if a datagram has arrived, joining
 * stays on after @join = false. Return: whether joining is on.
 */
bool uroce_udp_socket_join(int fd, bool join);

/*
 * Make such a socket, bound to @gid and port 4791, shared with other processes of this user and
 * steered (uroce_udp_steer()). Return: 0; -EADDRINUSE: the port belongs to another user. Not
 * logged.
 */
int uroce_udp_socket_bound(const struct uroce_udp *udp, const union ibv_gid *gid, int *ret_fd);

/*
 * udp_steer.c: steer datagrams among the sockets that share the port of @fd. A datagram goes to the
 * process whose slot its QP number names. A message of the connection manager goes to the process
 * of its id. The kernel's order of the sockets limits this.
 */
void uroce_udp_steer(int fd);

/* Make a socket connected to @to. Its source is the address of @from and a port of flows. */
int uroce_udp_socket_connected(const struct uroce_udp *udp, const union uroce_address *from,
			       const union uroce_address *to, int *ret_fd);

/*
 * Make a socket with port 4791 of address @to, connected to @from. It gets the datagrams that
 * arrive from there by the device's interface; the sockets that share the port do not. Older
 * kernels sometimes deliver datagrams of other senders as well.
 */
int uroce_udp_socket_connected_back(const struct uroce_udp *udp, const union uroce_address *to,
				    const union uroce_address *from, int *ret_fd);

/* Close the socket. A child that inherited it no longer gets datagrams from @from, either. */
void uroce_udp_socket_forget(int fd, const union uroce_address *from);

/*
 * Find out the next IPv4 identification of a connected socket. The kernel counts a large send like
 * a single datagram and does not report the number. Return: 0; -EOPNOTSUPP: cannot be found out.
 */
int uroce_udp_socket_number(int fd, uint16_t *ret_id);

/* Return the owner of the port for the log, as static text. */
const char *uroce_udp_port_owner(const union ibv_gid *gid);

#endif
