/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host of this process: create, free, and recognise a child that inherited it. */
#ifndef UROCE_HOST_PROCESS_H
#define UROCE_HOST_PROCESS_H

#include "providers/uroce/host/objects.h"

/*
 * Initialise the engine and the paths of a host, without slot, thread and sockets. Unit tests use
 * it as well.
 */
void uroce_host_init(struct uroce_host *host, uint64_t now);

/*
 * Return the engine of this process. The first call starts it. Each successful call needs a
 * uroce_host_put().
 */
int uroce_host_get(struct uroce_host **ret_host);
void uroce_host_put(struct uroce_host *host);
/* Return the network namespace of the calling thread. 0: unknown */
ino_t uroce_net_namespace(void);
/* The locks around a fork, for the provider's table. */
extern struct verbs_fork uroce_fork;
/*
 * Update the open devices from their interfaces now, if the process has an engine. The progress
 * thread does the same, but some time after a change. Without this call a new device list could be
 * newer than the open devices.
 */
void uroce_host_follow(void);
/*
 * Deliver what QPs of the context still owe their peers, because the context is being closed. NULL:
 * the process ends, so deliver for all QPs.
 */
void uroce_host_leave(struct uroce_host *host, const struct uroce_context *ctx);
/*
 * Return whether this process created the host. A child of fork() or clone() inherits the memory of
 * its parent's host, but neither thread nor slot. The locks in it may be held by threads that do
 * not exist in the child. Therefore every verb checks this before it takes a lock.
 */
static inline bool uroce_host_here(const struct uroce_host *host)
{
	return likely(atomic_load_explicit(host->here, memory_order_relaxed));
}

/* Return -EIO. The first call in a child logs the cause. */
int uroce_host_inherited(const struct uroce_host *host);
static inline int uroce_host_check(const struct uroce_host *host)
{
	return uroce_host_here(host) ? 0 : uroce_host_inherited(host);
}

#endif
