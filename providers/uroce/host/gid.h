/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs of a device: the addresses of its interface. */
#ifndef UROCE_HOST_GID_H
#define UROCE_HOST_GID_H

#include "providers/uroce/host/objects.h"

/* Read the interface's addresses, MTU and state into the device, and raise events for changes. */
int uroce_gids_refresh(struct uroce_dev *dev);
/* Discard pending messages of the watching socket. */
void uroce_gids_drain(int fd);
/* Open an rtnetlink socket that becomes readable when any interface changes. */
int uroce_gids_watch(int *ret_fd);

#endif
