/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices: open, close, MTU. */
#ifndef UROCE_HOST_DEVICE_H
#define UROCE_HOST_DEVICE_H

#include "providers/uroce/host/objects.h"

/*
 * Return the device of this process. The first call opens it. Each successful call needs a
 * uroce_dev_put().
 */
int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev);
void uroce_dev_put(struct uroce_dev *dev);

/* Return the payload size in bytes of the largest packet that the interface takes. */
uint32_t uroce_dev_mtu(const struct uroce_dev *dev);

/* Return the same size as an ibv_mtu. */
enum ibv_mtu uroce_dev_active_mtu(const struct uroce_dev *dev);
/*
 * Receive IP headers together with datagrams from now on, because receive buffers of UD QPs show
 * them.
 */
void uroce_dev_headers_show(struct uroce_dev *dev);

#endif
