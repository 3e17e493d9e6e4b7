/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE v2: packets in UDP datagrams to port 4791. One socket for each address of the interface.
 *
 * Sending gathers packets in a buffer until flush: those of one size to one destination leave as
 * one large send that the kernel, or the interface, cuts up (UDP_SEGMENT). Receiving takes what the
 * kernel joined the same way (UDP_GRO).
 *
 *   path_udp.c     its sockets' comings and goings
 *   udp_send.c     the side that sends
 *   udp_poll.c     the side that receives: its sockets
 *   udp_receive.c  and what comes by them
 *   udp_flow.c     sockets of their own for what two processes send each other
 *   udp_probe.c    packets that find out whether anybody is there
 *   udp_steer.c    which of the processes that share the port gets a datagram
 *   udp_socket.c udp_number.c udp_group.c
 *                  what such sockets are asked of the system
 *
 * Locks: uroce_udp.lock, the send side; what changes for both sides is changed under it and
 * progress_lock. Threads: any sends; the holder of progress_lock receives.
 * Includes: path/path.h, wire, base. Included by: host.
 */
#ifndef UROCE_UDP_H
#define UROCE_UDP_H

#include <net/if.h>

#include "providers/uroce/path/path.h"

/* The interface that the path leads by. */
struct udp_link {
	char name[IBV_SYSFS_NAME_MAX]; /* of the device, for the log */
	char netdev[IF_NAMESIZE];
	atomic_int ifindex; /* a new interface of the same name has another one */
};

/* The path of a device. Sockets come and go with its addresses. -ENOMEM. */
int uroce_udp_open(struct path_host *host, const struct udp_link *link,
		   struct uroce_path **ret_udp);
void uroce_udp_close(struct uroce_path *udp);
/* The interface was made anew, and has another index. */
void uroce_udp_reindex(struct uroce_path *udp, int ifindex);

/*
 * A socket for @gid in slot @index of the GID table. -EADDRINUSE: somebody else has port 4791
 * there; said in the log once. The caller lets in one at a time; no other lock is held.
 */
int uroce_udp_bind(struct uroce_path *udp, unsigned int index, const union ibv_gid *gid);
void uroce_udp_unbind(struct uroce_path *udp, unsigned int index);
/* Whether the slot has a socket. */
bool uroce_udp_is_bound(const struct uroce_path *udp, unsigned int index);

/*
 * From now on what is received comes with class and hop limit of its IP header, which a UD receive
 * buffer and a capture show, and which costs each datagram an eighth of a microsecond. Under
 * progress_lock.
 */
void uroce_udp_headers_show(struct uroce_path *udp);
/* Whether it does; without a lock. */
bool uroce_udp_headers_shown(const struct uroce_path *udp);

/* Receive up to @budget datagrams from every socket of a GID. Under progress_lock. Return:
 * datagrams. */
unsigned int uroce_udp_poll(struct uroce_path *udp, unsigned int budget);
/*
 * A socket that receives what is sent to multicast @group; the caller watches and closes it. The
 * kernel joins the group by IGMP or MLD. Each process of the host that joined gets its own copy.
 */
int uroce_udp_join(const struct uroce_path *udp, const union ibv_gid *group, int *ret_fd);
/* Receive up to @budget datagrams from that socket. Under progress_lock. */
unsigned int uroce_udp_receive(struct uroce_path *udp, int fd, const union ibv_gid *group,
			       unsigned int budget);
/*
 * Another process passed on an RC packet that had come to its socket, @from says how. If that goes
 * on, it is time for a socket that gets them. Under progress_lock. Return: false when the address
 * is not of this path.
 */
bool uroce_udp_passed_on(struct uroce_path *udp, const struct path_origin *from);
/*
 * Send @length bytes of @packet (BTH on, no ICRC) from the caller's socket @fd, which is made when
 * it is negative, for packets from that address. That nobody receives there is then in its error
 * queue.
 */
int uroce_udp_probe(const struct uroce_av *av, int ifindex, const void *packet, uint32_t length,
		    int *fd);
/* A socket became readable while the thread slept: the next poll looks at all of them. */
void uroce_udp_ready(struct uroce_path *udp);
/* Datagrams that came with a wrong ICRC. */
uint64_t uroce_udp_wrong(const struct uroce_path *udp);

#endif
