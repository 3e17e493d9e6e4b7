/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects that other processes import from this process: its end of the connections. */
#ifndef UROCE_HOST_IMPORT_SOCKET_H
#define UROCE_HOST_IMPORT_SOCKET_H

#include "providers/uroce/host/objects.h"

/* Handle a message on @fd: a context's import socket, or the connection of an importing process. */
void uroce_import_ready(struct uroce_host *host, int fd);
void uroce_import_sockets_forked(struct uroce_host *host);

#endif
