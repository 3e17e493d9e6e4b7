/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams that came to this process and belong to another process of this user. Only the progress
 * thread connects to that process, and a receive pass must not wait. Therefore datagrams are kept
 * here, a limited number for a short time, while the progress thread connects.
 */
#ifndef UROCE_FORWARD_H
#define UROCE_FORWARD_H

#include "providers/uroce/host/objects.h"

struct uroce_forward;

int uroce_forward_new(struct uroce_forward **ret_forward);
void uroce_forward_free(struct uroce_forward *forward);

/*
 * Ask the progress thread to connect to the process of @slot, or to all processes if @slot is 0.
 * Any thread may call this function, and may hold any lock.
 */
void uroce_forward_want(struct uroce_host *host, uint16_t slot);
/* Connect to the requested processes. In the progress thread, no lock held. */
void uroce_forward_connect(struct uroce_host *host);

/*
 * Hand @length bytes of @packet (BTH on, no ICRC) to the process of @slot, now or as soon as it is
 * connected. @slot 0 is for a MAD whose process is not known yet; uroce_gsi_again() finds it. Under
 * progress_lock.
 */
void uroce_forward(struct uroce_host *host, uint16_t slot, const struct path_origin *from,
		   const void *packet, uint32_t length, uint64_t now);
/*
 * gsi_route.c: route a MAD that waited. @last: this is the last attempt. Return: true if the MAD
 * need not wait any longer.
 */
bool uroce_gsi_again(struct uroce_host *host, const struct path_origin *from, const void *packet,
		     uint32_t length, bool last, uint64_t now);
/*
 * Deliver waiting datagrams whose process is connected now, and drop datagrams that have waited
 * longer than allowed. Under progress_lock.
 */
void uroce_forward_run(struct uroce_host *host, uint64_t now);

static inline bool uroce_forward_waiting(const struct uroce_host *host)
{
	return host->forwards > 0;
}

/*
 * Deliver waiting datagrams before this process ends and peers notice that. Waits at most half a
 * second for existing processes that are not connected yet, because only this process can deliver
 * these datagrams. The progress thread runs; no lock of a pass is held.
 */
void uroce_forward_finish(struct uroce_host *host);

#endif
