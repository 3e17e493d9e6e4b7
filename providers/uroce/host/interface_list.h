/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The devices of this machine. */
#ifndef UROCE_HOST_INTERFACE_LIST_H
#define UROCE_HOST_INTERFACE_LIST_H

#include "providers/uroce/host/objects.h"

/*
 * Implement the provider's list_devices(): every usable interface, lo last, or the interfaces that
 * UROCE=policy:names lists.
 */
int uroce_list_devices(struct verbs_device_list *list);

#endif
