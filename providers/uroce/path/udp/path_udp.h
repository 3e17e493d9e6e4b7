/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RoCE v2: packets in UDP datagrams to port 4791. One socket for each address of the interface.
 *
 * Sending gathers packets in a buffer until flush: those of one size to one destination leave as
 * one large send that the kernel, or the interface, cuts up (UDP_SEGMENT). Receiving takes what the
 * kernel joined the same way (UDP_GRO).
 */
#ifndef UROCE_PATH_UDP_H
#define UROCE_PATH_UDP_H

#include "providers/uroce/host/dev.h"

/* The UDP path of a device. Sockets come and go with its addresses (gid.c). */
int uroce_udp_open(struct uroce_dev *dev);
void uroce_udp_close(struct uroce_dev *dev);

/*
 * A socket for the address of one GID slot. -EADDRINUSE: somebody else has port 4791 there; said in
 * the log once. dev->lock is held, or nobody else has the device yet.
 */
int uroce_udp_bind(struct uroce_dev *dev, unsigned int gid_index);
void uroce_udp_unbind(struct uroce_dev *dev, unsigned int gid_index);

/*
 * From now on what is received comes with class and hop limit of its IP header, which a UD receive
 * buffer and a capture show, and which costs each datagram an eighth of a microsecond. Under
 * progress_lock.
 */
void uroce_udp_headers_show(struct uroce_dev *dev);

/* Receive up to @budget datagrams from every socket of a GID. Under progress_lock. Return:
 * datagrams. */
unsigned int uroce_udp_poll(struct uroce_dev *dev, unsigned int budget);
/* The same from one socket, bound to @dgid, which may be a multicast group. */
unsigned int uroce_udp_receive(struct uroce_dev *dev, int fd, const union ibv_gid *dgid,
			       unsigned int budget);
/*
 * Another process passed on an RC packet that had come to its socket. If that goes on, it is time
 * for one that gets them. Under progress_lock.
 */
void uroce_udp_passed_on(struct uroce_host *host, const union ibv_gid *sgid,
			 const union ibv_gid *dgid, uint16_t port);
/* A socket became readable while the thread slept: the next poll looks at all of them. */
void uroce_udp_ready(struct uroce_dev *dev);

#endif
