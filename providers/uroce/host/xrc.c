/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XRC domains, and SRQs by number. A domain belongs to one device and to one file or none; the
 * contexts of a process share it. Only one process receives in the domain of a file. Another
 * process that asks for the file's domain gets an error, or a separate domain of its own. A bound
 * abstract socket marks the process that has the domain, and the kernel removes it whenever that
 * process ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/xrc.h"

struct uroce_domain {
	LIST_ENTRY(uroce_domain) entry;
	struct uroce_dev *dev;
	dev_t fs; /* device and inode number of its file */
	ino_t inode;
	bool has_file;
	/* bound socket; -1 without a file, or if another process has the file's domain */
	int claim;
	int refs; /* under host->lock */
};

/* --- domains --- */

static struct uroce_domain *domain_find(struct uroce_dev *dev, const struct stat *st)
{
	struct uroce_domain *domain;

	LIST_FOREACH(domain, &dev->host->domains, entry)
		if (domain->has_file && domain->dev == dev && domain->fs == st->st_dev &&
		    domain->inode == st->st_ino)
			return domain;
	return NULL;
}

/*
 * Claim the domain of a file by binding a socket to its name, until the socket is closed. Return:
 * -EADDRINUSE if another process has the domain.
 */
static int claim_bind(const struct uroce_dev *dev, const struct stat *st, int *ret_fd)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n;

	if (fd < 0)
		return -errno;
	/* The leading zero byte makes an abstract name. */
	n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
		     "uroce-xrcd-%u-%s-%u:%u-%llu", geteuid(), dev->netdev, major(st->st_dev),
		     minor(st->st_dev), (unsigned long long)st->st_ino);
	if (n < 0 || n >= (int)sizeof(address.sun_path) - 1)
		return -ENAMETOOLONG;
	if (bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 1 + n))
		return -errno;
	*ret_fd = take_fd(&fd);
	return 0;
}

/*
 * Handle a file whose domain another process has. O_EXCL fails. Without O_CREAT the process would
 * have to join that domain and is refused. With O_CREAT it gets a separate domain, which suffices
 * for programs whose QPs deliver to their own SRQs.
 */
static int claim_missed(struct ibv_context *ctx, const struct stat *st, int flags)
{
	if (flags & O_EXCL)
		return -EINVAL;
	if (flags & O_CREAT) {
		verbs_warn(ctx,
			   "ibv_open_xrcd: another process has the domain of file %u:%u inode %llu "
			   "open: processes cannot share one on this device, this one gets one of "
			   "its own",
			   major(st->st_dev), minor(st->st_dev), (unsigned long long)st->st_ino);
		return 0;
	}
	verbs_err(ctx,
		  "ibv_open_xrcd: another process has the domain of file %u:%u inode %llu open: "
		  "processes cannot share one on this device, and O_CREAT, for one of its own, was "
		  "not given",
		  major(st->st_dev), minor(st->st_dev), (unsigned long long)st->st_ino);
	return -EOPNOTSUPP;
}

static int claim_take(struct ibv_context *ctx, const struct stat *st, int flags, int *ret_fd)
{
	int r = claim_bind(ctx_dev(ctx), st, ret_fd);

	return r == -EADDRINUSE ? claim_missed(ctx, st, flags) : r;
}

static int domain_new(struct ibv_context *ctx, const struct stat *st, int flags,
		      struct uroce_domain **ret_domain)
{
	struct uroce_domain *domain;
	int claim = -1, r = 0;

	if (st)
		r = claim_take(ctx, st, flags, &claim);
	if (!r && st && !(flags & O_CREAT))
		r = -EAGAIN;
	domain = r < 0 ? NULL : calloc(1, sizeof(*domain));
	if (!domain) {
		if (claim >= 0)
			close(claim);
		return r < 0 ? r : -ENOMEM;
	}
	domain->dev = ctx_dev(ctx);
	domain->claim = claim;
	domain->has_file = st;
	if (st) {
		domain->fs = st->st_dev;
		domain->inode = st->st_ino;
	}
	LIST_INSERT_HEAD(&domain->dev->host->domains, domain, entry);
	*ret_domain = domain;
	return 0;
}

int uroce_domain_get(struct ibv_context *ctx, int fd, int flags, struct uroce_domain **ret_domain)
{
	struct uroce_host *host = ctx_host(ctx);
	struct uroce_domain *domain = NULL;
	struct stat st;
	int r = 0;

	if (fd != -1 && fstat(fd, &st))
		return -errno;
	pthread_mutex_lock(&host->lock);
	if (fd != -1)
		domain = domain_find(ctx_dev(ctx), &st);
	if (domain && flags & O_EXCL)
		r = -EINVAL;
	else if (!domain)
		r = domain_new(ctx, fd == -1 ? NULL : &st, flags, &domain);
	if (!r) {
		domain->refs++;
		*ret_domain = domain;
	}
	pthread_mutex_unlock(&host->lock);
	return r;
}

void uroce_domain_put(struct uroce_domain *domain)
{
	struct uroce_host *host = domain->dev->host;
	bool last;

	pthread_mutex_lock(&host->lock);
	last = --domain->refs == 0;
	if (last)
		LIST_REMOVE(domain, entry);
	pthread_mutex_unlock(&host->lock);
	if (!last)
		return;
	if (domain->claim >= 0)
		close(domain->claim);
	free(domain);
}

void uroce_domains_forked(struct uroce_host *host)
{
	struct uroce_domain *domain;

	LIST_FOREACH(domain, &host->domains, entry) {
		if (domain->claim >= 0)
			close(domain->claim);
		domain->claim = -1;
	}
}

/* --- SRQs by number --- */

static int srqs_get(struct uroce_host *host)
{
	_Atomic(struct uroce_srq *) *srqs;

	if (atomic_load_explicit(&host->engine.srqs, memory_order_relaxed))
		return 0;
	srqs = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*srqs));
	/* Pairs with uroce_xrc_srq(). */
	atomic_store_explicit(&host->engine.srqs, srqs, memory_order_release);
	return srqs ? 0 : -ENOMEM;
}

static int srqn_take(struct uroce_host *host, struct uroce_srq *srq)
{
	for (uint32_t i = 0; i < 1 << UROCE_QP_INDEX_BITS; i++) {
		uint32_t index = uroce_srqn_index(host->next_srqn++);

		if (atomic_load_explicit(&host->engine.srqs[index], memory_order_relaxed))
			continue;
		/* Only this process reads the number. The bits above the index are never 0. */
		srq->vsrq.srq_num =
			(host->paths.slot % UINT8_MAX + 1u) << UROCE_QP_INDEX_BITS | index;
		atomic_store_explicit(&host->engine.srqs[index], srq, memory_order_release);
		return 0;
	}
	return -ENOMEM;
}

int uroce_srqn_alloc(struct uroce_host *host, struct uroce_srq *srq)
{
	int r;

	pthread_mutex_lock(&host->lock);
	r = srqs_get(host);
	if (!r)
		r = srqn_take(host, srq);
	pthread_mutex_unlock(&host->lock);
	return r;
}

/*
 * Make all QPs drop receives of the SRQ. The caller holds progress_lock, so no other thread
 * receives a packet or destroys a QP.
 */
static void qps_forget(struct uroce_host *host, const struct uroce_srq *srq)
{
	struct uroce_qp *qp;

	for (uint32_t i = 0; (qp = uroce_qp_next(host, &i)); i++) {
		uroce_lock(&qp->lock);
		uroce_xrc_srq_forget(qp, srq);
		uroce_unlock(&qp->lock);
	}
}

void uroce_srqn_free(struct uroce_host *host, struct uroce_srq *srq)
{
	pthread_mutex_lock(&host->lock);
	atomic_store_explicit(&host->engine.srqs[uroce_srqn_index(srq->vsrq.srq_num)], NULL,
			      memory_order_release);
	pthread_mutex_unlock(&host->lock);
	uroce_lock(&host->paths.progress_lock);
	qps_forget(host, srq);
	uroce_unlock(&host->paths.progress_lock);
}
