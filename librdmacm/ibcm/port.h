/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ports and their owners, also in other processes. */
#ifndef IBCM_PORT_H
#define IBCM_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct ibcm_id;

/*
 * Take @port (host order) for the identifier's port space at iid->local; 0: choose one. @shown:
 * also reserve the port against other processes. An identifier that only connects does not need
 * this. -EADDRINUSE, -EADDRNOTAVAIL (a wildcard conflicts), -EACCES (below 1024).
 */
int ibcm_port_take(struct ibcm_id *iid, uint16_t port, bool shown, uint16_t *ret_port);
void ibcm_port_drop(struct ibcm_id *iid);
/*
 * Make the port exclusive. A listener does not share its port, whatever reuseaddr is. -EADDRINUSE,
 * -EADDRNOTAVAIL. Without the lock.
 */
int ibcm_port_listen(struct ibcm_id *iid);

#endif
