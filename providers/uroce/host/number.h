/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of queue pairs and XRC SRQs, from the time that peers know them to their end. */
#ifndef UROCE_NUMBER_H
#define UROCE_NUMBER_H

#include "providers/uroce/host/host.h"

/* --- show.c --- */

/* Show peers the present state of the QP. Under qp->lock. */
void uroce_qp_show(struct uroce_qp *qp);
/*
 * Hide the QP if peers were shown more rights than it grants now. Under qp->lock. Return: whether
 * it was hidden; then call uroce_qp_fence() before the QP is shown again.
 */
bool uroce_qp_hide_lost(struct uroce_qp *qp);
/*
 * Wait until the process of @peer_qpn, the QP's present or former peer, has finished the copies
 * that it began by permission of the QP, to or from memory of this process. If that process is
 * stopped in the middle of a copy, wait until it continues or ends. No lock held.
 */
void uroce_qp_fence(struct uroce_qp *qp, uint32_t peer_qpn);
/* Show the memory regions of this process to peers from now on. */
void uroce_regions_show(struct uroce_host *host);

/* --- qpn.c --- */

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
void uroce_qps_settle(struct uroce_host *host, const struct uroce_context *ctx,
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

/* --- former.c --- */

/*
 * Fail every QP that is connected to @peer of @path, because that process has gone. The caller has
 * a strand locked.
 */
void uroce_qps_peer_gone(struct uroce_host *host, const struct uroce_path *path, const void *peer);
/*
 * Free the structs of former peers that no address vector names, if there are enough of them. Only
 * for the thread that watches, between two waits, because pending events name peers.
 */
void uroce_former_peers_free(struct uroce_host *host);

/* --- xrc.c --- */

/*
 * Return the XRC domain of a device and the file @fd, or a new domain without a file if @fd is -1.
 * @flags are those of ibv_open_xrcd(). Each successful call needs a uroce_domain_put(). Return: 0;
 * -EBADF, -EAGAIN, -EINVAL like the kernel; -EOPNOTSUPP if another process has the domain, which is
 * logged. With O_CREAT a separate domain is made instead, with a warning.
 */
int uroce_domain_get(struct ibv_context *ctx, int fd, int flags, struct uroce_domain **ret_domain);
void uroce_domain_put(struct uroce_domain *domain);
/* Close the claims in a forked child, because they belong to its parent. Under host->lock. */
void uroce_domains_forked(struct uroce_host *host);

/*
 * Assign a number to an XRC SRQ. Packets find the SRQ by it from then on. -ENOMEM: all numbers are
 * taken.
 */
int uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq);
/*
 * Free the number of an XRC SRQ, and make all QPs drop receives that they took from it. No lock
 * held.
 */
void uroce_srqn_free(struct uroce_host *host, struct uroce_srq *srq);

#endif
