/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* UDP sockets as RoCE needs them. */
#ifndef UROCE_UDP_SOCKET_H
#define UROCE_UDP_SOCKET_H

#include "providers/uroce/dev.h"

/*
 * A socket of @family, not bound: never fragments, never blocks, takes packets without UDP checksum
 * (the ICRC covers more) and joins equal datagrams of one sender. Multicast leaves by @dev.
 */
int uroce_udp_socket(const struct uroce_dev *dev, int family, int *ret_fd);

/* From now on each datagram comes with class and hop limit of its IP header. */
void uroce_udp_socket_show_header(int fd, bool ipv4);
/*
 * Whether datagrams of one size and sender may come as one (UDP_GRO). How long each was is told
 * only while they may: so they still may after this if something came in the meantime. Return:
 * whether they may.
 */
bool uroce_udp_socket_join(int fd, bool join);

/*
 * The same, bound to @gid, port 4791, together with other processes of this user; a datagram is
 * steered to the process whose slot its QP number names, as far as the kernel's order of sockets
 * allows. Return: 0; -EADDRINUSE: the port is somebody else's. Not logged.
 */
int uroce_udp_socket_bound(const struct uroce_dev *dev, const union ibv_gid *gid, int *ret_fd);

/* Who has the port, for the log. Return: static text. */
const char *uroce_udp_port_owner(const union ibv_gid *gid);

#endif
