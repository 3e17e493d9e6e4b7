/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef UROCE_PATH_UDP_H
#define UROCE_PATH_UDP_H

#include "providers/uroce/dev.h"

/* The UDP path of a device. Sockets come and go with its addresses (gid.c). */
int uroce_udp_open(struct uroce_dev *dev);
void uroce_udp_close(struct uroce_dev *dev);
/* A socket for the address of one GID slot. -EADDRINUSE: somebody else has port 4791 there, said in the log. */
int uroce_udp_bind(struct uroce_dev *dev, unsigned int gid_index);
void uroce_udp_unbind(struct uroce_dev *dev, unsigned int gid_index);
/* The same from one socket: a GID's, or with @multicast a group's. */
unsigned int uroce_udp_receive(struct uroce_dev *dev, int fd, const union ibv_gid *multicast, unsigned int budget,
			       uint64_t now);
/* Receive up to @budget datagrams from every socket of a GID. Under progress_lock. Return: datagrams. */
unsigned int uroce_udp_poll(struct uroce_dev *dev, unsigned int budget, uint64_t now);

#endif
