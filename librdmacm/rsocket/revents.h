/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The events that poll() reports. */
#ifndef LIBRDMACM_RSOCKET_REVENTS_H
#define LIBRDMACM_RSOCKET_REVENTS_H

#include "librdmacm/rsocket/socket.h"

/* Return POLL* of the socket now; with @lock held */
short rs_revents(struct rs_socket *s, short events);

#endif
