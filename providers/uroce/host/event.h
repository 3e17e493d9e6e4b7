/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event descriptors are pipes that carry the kernel's records, so that the library's readers know
 * no difference. A record names its object by address: when the object goes, what is still unread
 * of it is taken out again.
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
/* An event of the port of every context of the device: @element is the port number. */
void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type);
/* The object is going: unread events of it vanish, and no longer count in @raised. */
void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised);

#endif
