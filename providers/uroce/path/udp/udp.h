/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE v2: packets in UDP datagrams to port 4791. One socket for each address of the interface.
 *
 * Sending gathers packets in a buffer until flush. Packets of one size to one destination leave as
 * one large send, which the kernel or the interface segments (UDP_SEGMENT). Receiving takes
 * datagrams that the kernel joined in the same way (UDP_GRO).
 *
 *   path_udp.c     opening and closing of its sockets
 *   udp_send.c     the send side
 *   udp_poll.c     the receive side: polling of sockets
 *   udp_receive.c  the receive side: handling of datagrams
 *   udp_flow.c     separate sockets for packets between two processes
 *   udp_probe.c    packets that test whether a host receives RoCE
 *   udp_steer.c    the choice of a process among those that share the port
 *   udp_socket.c udp_number.c udp_group.c
 *                  options and properties of such sockets
 *
 * Locks: uroce_udp.lock protects the send side. To change state of both sides, take it and
 * progress_lock.
 *
 * Threads: any thread sends. The holder of progress_lock receives.
 *
 * Includes: path/path.h, wire, base. Included by: host.
 */
#ifndef UROCE_UDP_H
#define UROCE_UDP_H

#include <net/if.h>

#include "providers/uroce/path/path.h"

/* The interface of the path. */
struct udp_link {
	char name[IBV_SYSFS_NAME_MAX]; /* of the device, for the log */
	char netdev[IF_NAMESIZE];
	atomic_int ifindex; /* index of the interface; a new interface of the same name has another
			       index */
};

/* Make the path of a device. Sockets come and go with its addresses. -ENOMEM. */
int uroce_udp_open(struct path_host *host, const struct udp_link *link,
		   struct uroce_path **ret_udp);
void uroce_udp_close(struct uroce_path *udp);
/* Note the new index of an interface that was created again. */
void uroce_udp_reindex(struct uroce_path *udp, int ifindex);

/*
 * Open a socket for @gid in slot @index of the GID table. -EADDRINUSE: port 4791 of this address
 * belongs to another user (logged once). One caller at a time; no other lock is held.
 */
int uroce_udp_bind(struct uroce_path *udp, unsigned int index, const union ibv_gid *gid);
void uroce_udp_unbind(struct uroce_path *udp, unsigned int index);
/* Return whether the GID slot has a socket. */
bool uroce_udp_is_bound(const struct uroce_path *udp, unsigned int index);

/*
 * Receive traffic class and hop limit of the IP header with each datagram from now on. A UD receive
 * buffer and a capture show them. This costs an eighth of a microsecond a datagram. Under
 * progress_lock.
 */
void uroce_udp_headers_show(struct uroce_path *udp);
/* Return whether datagrams arrive with these values. Takes no lock. */
bool uroce_udp_headers_shown(const struct uroce_path *udp);

/* Receive up to @budget datagrams from every socket of a GID. Under progress_lock. Return: number
 * of datagrams. */
unsigned int uroce_udp_poll(struct uroce_path *udp, unsigned int budget);
/*
 * Open a socket that receives datagrams to multicast @group. The caller watches and closes the
 * socket. The kernel joins the group by IGMP or MLD. Each process of the host that joined gets a
 * copy.
 */
int uroce_udp_join(const struct uroce_path *udp, const union ibv_gid *group, int *ret_fd);
/* Receive up to @budget datagrams from that socket. Under progress_lock. */
unsigned int uroce_udp_receive(struct uroce_path *udp, int fd, const union ibv_gid *group,
			       unsigned int budget);
/*
 * Count an RC packet that another process received and forwarded. @from: its source. After many
 * such packets, open a connected socket for that source. Under progress_lock. Return: false if the
 * address does not belong to this path.
 */
bool uroce_udp_passed_on(struct uroce_path *udp, const struct path_origin *from);
/*
 * Send @length bytes of @packet (from BTH, without ICRC) from socket @fd of the caller. If @fd is
 * negative, make a socket first. If the host does not receive there, the error queue of @fd reports
 * it.
 */
int uroce_udp_probe(const struct uroce_av *av, int ifindex, const void *packet, uint32_t length,
		    int *fd);
/* Note that a socket became readable while the thread slept: the next poll polls all sockets. */
void uroce_udp_ready(struct uroce_path *udp);
/* Return the number of datagrams with a wrong ICRC. */
uint64_t uroce_udp_wrong(const struct uroce_path *udp);

#endif
