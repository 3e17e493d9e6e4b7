/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of QPs, from the time that peers know them to their end. */
#ifndef UROCE_HOST_QPN_H
#define UROCE_HOST_QPN_H

#include "providers/uroce/host/objects.h"

/* Return the process's block that contains the index; 0: none. */
static inline uint16_t uroce_qpn_block(const struct uroce_host *host, uint32_t index)
{
	return atomic_load_explicit(&host->paths.blocks[index >> UROCE_QPN_BLOCK_BITS],
				    memory_order_relaxed);
}

/*
 * Assign a number to the QP. Packets find the QP by it from then on. Logs errors. Return: -ENOMEM
 * if all numbers are taken, -EMFILE and other errors of claiming another slot.
 */
int uroce_qpn_alloc(struct uroce_qp *qp);
/* Let pollers of the QP's CQs also poll the first strand, because its packets arrive by sockets. */
void uroce_qp_network_join(struct uroce_qp *qp);

/*
 * Return the QP with this number, or NULL. The caller has a strand locked; the QP is valid as long
 * as it is.
 */
struct uroce_qp *uroce_qp_find(struct uroce_host *host, uint32_t qpn);
/*
 * Find the first QP whose index is at least *@index, and set *@index to its index. Return NULL if
 * there is none. Under host->lock or with a strand locked; the QP is valid as long as the lock is
 * held.
 */
struct uroce_qp *uroce_qp_next(struct uroce_host *host, uint32_t *index);
/*
 * Execute and acknowledge the requests that have arrived for QPs, before the QPs are destroyed. An
 * adapter would have done so earlier, and peers may be waiting for these acknowledgements. The QPs
 * are @only, or all of @ctx, or all if both are NULL. Waits a little for a peer whose ring is full.
 */
void uroce_qps_finish(struct uroce_host *host, const struct uroce_context *ctx,
		      struct uroce_qp *only);
/*
 * End the QP: packets, timers and peers no longer find it, its number is freed, and its completions
 * are removed from the CQs. Adapters discard these completions too, because programs that destroy a
 * QP free the memory behind their wr_id.
 */
void uroce_qp_withdraw(struct uroce_qp *qp);
/*
 * Withdraw the QPs of a context that is closed before its QPs are destroyed, because its device may
 * go. No lock held.
 */
void uroce_qps_withdraw(struct uroce_host *host, const struct uroce_context *ctx);

#endif
