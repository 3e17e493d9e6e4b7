/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event descriptors are pipes that carry the kernel's records, so that the library reads them like
 * a kernel device's. A record names its object by address, so unread records are removed when their
 * object is destroyed.
 */
#ifndef UROCE_EVENT_H
#define UROCE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct uroce_context;
struct uroce_dev;

int uroce_event_open(struct uroce_context *ctx);
void uroce_event_close(struct uroce_context *ctx);
/*
 * Raise a port event in every context of the device. The element of the event is the port number.
 */
void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type);
/* Drop unread events of an object that is being destroyed, and subtract them from @raised. */
void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised);

#endif
