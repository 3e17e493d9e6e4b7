/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams that came to this process and belong to another one of this user. Connecting to that
 * process takes its progress thread's turn, and packets arrive where nothing may wait: so datagrams
 * wait here, few and for a short time, while the progress thread connects.
 */
#ifndef UROCE_FORWARD_H
#define UROCE_FORWARD_H

#include "providers/uroce/host/host.h"

struct uroce_forward;

int uroce_forward_new(struct uroce_forward **ret_forward);
void uroce_forward_free(struct uroce_forward *forward);

/* Let the progress thread connect to the process of @slot, or with 0 to every one. Threads: any,
 * with any lock. */
void uroce_forward_want(struct uroce_host *host, uint16_t slot);
/* In the progress thread, no lock held: connect to who was wanted. */
void uroce_forward_connect(struct uroce_host *host);

/*
 * Hand @length bytes of @packet (BTH on, no ICRC) to the process of @slot: now, or as soon as it is
 * connected. With 0 it is a MAD for who turns up to want it: uroce_gsi_again() decides. Under
 * progress_lock.
 */
void uroce_forward(struct uroce_host *host, uint16_t slot, const struct path_origin *from,
		   const void *packet, uint32_t length, uint64_t now);
/* gsi_route.c: try again with a MAD that waited, for the @last time perhaps. Return: done with it.
 */
bool uroce_gsi_again(struct uroce_host *host, const struct path_origin *from, const void *packet,
		     uint32_t length, bool last, uint64_t now);
/* What waited and can go, goes; what waited too long is dropped. Under progress_lock. */
void uroce_forward_run(struct uroce_host *host, uint64_t now);

static inline bool uroce_forward_waiting(const struct uroce_host *host)
{
	return host->forwards > 0;
}

/*
 * Before this process's end is one for its peers: what waits goes. Waits, half a second at most,
 * for processes that are there and have yet to connect; nobody else would tell them. The progress
 * thread runs; no lock of a pass is held.
 */
void uroce_forward_settle(struct uroce_host *host);

#endif
