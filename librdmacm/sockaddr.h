/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket addresses of the families that the connection manager supports: AF_INET, AF_INET6, AF_IB.
 */
#ifndef LIBRDMACM_SOCKADDR_H
#define LIBRDMACM_SOCKADDR_H

#include <stdbool.h>
#include <sys/socket.h>
#include <linux/types.h>

#define CM_ADDR_TEXT 80 /* bytes that cm_addr_text() needs */

/* Return the size of the address in bytes; 0 for other families. */
socklen_t cm_addr_size(const struct sockaddr *addr);
bool cm_addr_is_any(const struct sockaddr *addr);
/*
 * Return whether the address is loopback (127.0.0.0/8, ::1). Each host has these addresses, so no
 * device has them.
 */
bool cm_addr_is_loopback(const struct sockaddr *addr);
bool cm_addr_is_multicast(const struct sockaddr *addr);
__be16 cm_addr_port(const struct sockaddr *addr);
void cm_addr_set_port(struct sockaddr *addr, __be16 port);

/* Write "192.0.2.1:7471", "[fe80::1%eth0]:0", or "nothing" for a zero address. Return: @text. */
const char *cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT]);

/* Find the local address that the routing table chooses for @dst. No packet is sent. */
int cm_addr_source_for(const struct sockaddr *dst, struct sockaddr_storage *ret_src);

#endif
