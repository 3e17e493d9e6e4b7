/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Receiving packets by pollers and by the progress thread, which also watches descriptors. */
#ifndef UROCE_PROGRESS_H
#define UROCE_PROGRESS_H

#include "providers/uroce/host/host.h"

/* --- progress.c --- */

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

/* --- watch.c --- */

/*
 * Start and end watching a descriptor, see path_events.watch. After the thread has ended,
 * uroce_watch_end() does nothing.
 */
int uroce_watch_begin(struct uroce_host *host, int fd, enum path_watch what, void *pointer);
void uroce_watch_end(struct uroce_host *host, int fd);
/*
 * Keep the watched descriptors unchanged during a fork. uroce_watches_forked() closes them in the
 * child.
 */
void uroce_watches_fork_begin(struct uroce_host *host);
void uroce_watches_fork_end(struct uroce_host *host);
void uroce_watches_forked(struct uroce_host *host);

/* --- thread.c --- */

/* Start and stop the progress thread. host->shm must exist. */
int uroce_thread_start(struct uroce_host *host);
void uroce_thread_stop(struct uroce_host *host);
/* Return whether the thread leaves packets to pollers. */
static inline bool uroce_thread_watches(const struct uroce_host *host)
{
	return atomic_load_explicit(&host->watching, memory_order_relaxed);
}

/* Count a poller's pass, and wake the thread if it must begin to watch. */
void uroce_thread_poller_came(struct uroce_host *host);

/* Record a poller's pass of the strand: the thread leaves packets to pollers for a while. */
static inline void uroce_thread_poller_seen(struct uroce_host *host, unsigned int strand)
{
	atomic_store_explicit(&host->epochs[strand].epoch, uroce_strand_epoch(host, strand) + 1,
			      memory_order_relaxed);
	if (unlikely(!uroce_thread_watches(host)))
		uroce_thread_poller_came(host);
}

/* Give packets back to the thread, because a CQ was armed and its owner is about to sleep. */
void uroce_thread_poller_leaves(struct uroce_host *host);
/*
 * Wake the thread, for example because a timer was armed that is due before the end of its sleep.
 */
void uroce_thread_wake(struct uroce_host *host);

/* --- guardian.c --- */

/* Free @guardian, which may be NULL. Closing its pipe also ends the guardian process. */
void uroce_guardian_free(struct uroce_guardian *guardian);
/* Close the pipe in a forked child, because the guardian waits for the end of the parent only. */
void uroce_guardian_forked(const struct uroce_guardian *guardian);

/* --- receive.c --- */

/* The upcalls of the host's paths. */
extern const struct path_events uroce_path_events;
/* Send posted requests, by the short way (express.c) if possible. Under qp->lock. */
void uroce_qp_run(struct uroce_qp *qp, uint64_t now);

/* Return whether the QP may ever use the short way. Decided when its address vector is set. */
bool uroce_express_possible(const struct uroce_qp *qp);

#endif
