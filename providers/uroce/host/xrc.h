/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and numbers of XRC SRQs. */
#ifndef UROCE_HOST_XRC_H
#define UROCE_HOST_XRC_H

#include "providers/uroce/host/objects.h"

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
