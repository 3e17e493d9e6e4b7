/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passes that receive packets, by pollers and by the progress thread. */
#ifndef UROCE_HOST_PROGRESS_H
#define UROCE_HOST_PROGRESS_H

#include "providers/uroce/host/objects.h"

/*
 * Make a pass over the strands of @cq, whose poller found it empty, and over strands that no other
 * thread polls. A pass handles received packets, owed acknowledgements and due timers. If @cq is
 * NULL the pass is of the first strand only. Return: the number of handled packets; 0 also if
 * another thread makes the pass. Never blocks. Threads: any, without any lock held.
 */
unsigned int uroce_progress(struct uroce_host *host, struct uroce_cq *cq);
/*
 * Make a pass of a strand that has no poller, unless another thread makes one. Called by the
 * progress thread.
 */
void uroce_progress_visit(struct uroce_host *host, unsigned int strand);
/*
 * Make a pass of the first strand, or of all strands if the caller holds all locks. @sockets: poll
 * UDP sockets too. @poller: the caller will make another pass at once. The caller holds
 * progress_lock.
 */
unsigned int uroce_progress_pass(struct uroce_host *host, bool sockets, bool poller);
/*
 * Make passes until nothing is left to receive, but at most DRAIN_PASSES, because peers may keep
 * sending. Sockets that were silent are polled too. Waits for the locks of all strands.
 */
void uroce_progress_drain(struct uroce_host *host);
/*
 * Like uroce_progress_drain(), but with enough passes to empty full rings while peers keep sending.
 */
void uroce_progress_drain_full(struct uroce_host *host);
/*
 * Make a pass on behalf of a thread that posted and may not poll soon. While pollers are active the
 * pass counts as a pass of a poller.
 */
void uroce_progress_posted(struct uroce_host *host);

#endif
