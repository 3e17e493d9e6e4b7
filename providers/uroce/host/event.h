/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Asynchronous events, and events that a fault rule raises. */
#ifndef UROCE_HOST_EVENT_H
#define UROCE_HOST_EVENT_H

#include "providers/uroce/host/objects.h"

/* engine_events.c: the upcalls of the engine */
extern const struct engine_events uroce_engine_events;
/*
 * Put an event into the context's pipe. @raised counts the events of an object that are in the
 * pipe, because destroying the object waits for them. It is NULL for events of the port.
 */
void uroce_event_put(struct uroce_context *ctx, uint64_t element, enum ibv_event_type type,
		     uint32_t *raised);
int uroce_event_open(struct uroce_context *ctx);
void uroce_event_close(struct uroce_context *ctx);
/* Raise a port event in every context of the device. */
void uroce_event_port(struct uroce_dev *dev, enum ibv_event_type type);
/* Drop unread events of an object that is being destroyed, and subtract them from @raised. */
void uroce_event_purge(struct uroce_context *ctx, const void *object, uint32_t *raised);

/* --- fault_event.c --- */

struct fault_rule;
/* Raise the events of fault rules whose time has come. In the progress thread, no lock held. */
void uroce_fault_events(struct uroce_host *host);
/* Raise the event of @rule now, because a request was posted to @qp. No lock held. */
void uroce_fault_fire(const struct fault_rule *rule, struct uroce_qp *qp);

#endif
