/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The engine of this process: created with its first open device, freed with the last. */
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/forward.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/guardian.h"
#include "providers/uroce/host/import_socket.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/progress.h"
#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/receive.h"
#include "providers/uroce/host/show.h"
#include "providers/uroce/host/thread.h"
#include "providers/uroce/host/watch.h"
#include "providers/uroce/host/xrc.h"
#include "util/env.h"

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_host *the_host;

/* --- fork detection --- */

static atomic_uint always = 1; /* for a host without the page below, as in unit tests */

/*
 * Create the word @here in a page that the kernel clears in a child, even if the C library does not
 * see the fork.
 */
static int here_new(struct uroce_host *host)
{
	void *page = mmap(NULL, sizeof(*host->here), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	/* Linux before 4.14 has no such pages. There only fork_child() clears the word. */
	(void)madvise(page, sizeof(*host->here), MADV_WIPEONFORK);
	host->here = page;
	atomic_store(host->here, 1);
	return 0;
}

static void here_free(struct uroce_host *host)
{
	if (host->here != &always)
		munmap(host->here, sizeof(*host->here));
}

/* --- create and free --- */

static void host_free(struct uroce_host *host)
{
	if (host->thread) {
		uroce_forward_finish(host);
		uroce_thread_stop(host);
	}
	if (host->shm)
		uroce_shm_close(host->shm);
	uroce_guardian_free(host->guardian);
	uroce_forward_free(host->forward);
	if (host->engine.keys)
		uroce_keys_free(host->engine.keys);
	if (host->faults)
		uroce_faults_free(host->faults);
	if (host->paths.capture)
		uroce_capture_free(host->paths.capture);
	free(host->engine.srqs);
	free(host->resting);
	free(host->qps);
	pthread_mutex_destroy(&host->guardian_lock);
	pthread_mutex_destroy(&host->xrc_lock);
	pthread_mutex_destroy(&host->lock);
	here_free(host);
	free(host);
}

/*
 * Read UROCE_PATH and UROCE_FAULTS. Packet faults are possible on the UDP path only, so they imply
 * it.
 */
static int host_wishes(struct uroce_host *host)
{
	const char *path = env_get_filled(ENV_UROCE_PATH);
	int r = uroce_faults_new(&host->faults);

	if (!r)
		r = uroce_capture_new(&host->paths.capture);
	if (r < 0)
		return r;
	host->paths.udp_only =
		(path && !strcmp(path, "udp")) || (host->faults && host->faults->packets);
	host->paths.any_namespace = path && !strcmp(path, "user");
	if (!path || !strcmp(path, "auto") || !strcmp(path, "udp") || host->paths.any_namespace)
		return 0;
	log_init();
	log_notice(
		"uroce: Error: UROCE_PATH: '%s' is not auto, user or udp. Nothing is opened; see uroce(7)",
		path);
	return -EINVAL;
}

void uroce_host_init(struct uroce_host *host, uint64_t now)
{
	host->here = &always;
	host->paths.events = &uroce_path_events;
	uroce_engine_init(&host->engine, &uroce_engine_events, now);
}

/* Return the name of the device by which the QP sends, or, without a QP, the connection manager. */
static const char *device_of(struct path_host *paths, const struct uroce_qp *qp)
{
	const struct uroce_dev *dev = qp ? qp->dev : LIST_FIRST(&path_host_host(paths)->devices);

	return dev ? dev->name : NULL;
}

/* Add a capture and faults if they are configured. */
static void decorate(struct uroce_host *host)
{
	if (host->paths.capture)
		uroce_capture_path(host->paths.capture, &host->shm->path, device_of);
	if (!host->faults)
		return;
	host->faults->host = &host->paths;
	host->faults->engine = &host->engine;
	/* Let pollers poll the sockets, and therefore also packets that a fault holds back. */
	atomic_fetch_add(&host->udp_interest, 1);
}

static int host_new(struct uroce_host **ret_host)
{
	struct uroce_host *host = uroce_zeros(sizeof(*host), alignof(struct uroce_host));
	struct shm_peer *self;
	int r;

	if (!host)
		return -ENOMEM;
	uroce_host_init(host, uroce_now());
	pthread_mutex_init(&host->lock, NULL);
	pthread_mutex_init(&host->xrc_lock, NULL);
	pthread_mutex_init(&host->guardian_lock, NULL);
	host->pid = getpid();
	host->net = uroce_net_namespace();
	host->qps = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*host->qps));
	host->resting = calloc(1 << UROCE_QP_INDEX_BITS, sizeof(*host->resting));
	r = here_new(host);
	if (!r)
		r = host_wishes(host);
	if (!r)
		r = host->qps && host->resting ? uroce_keys_new(&host->engine.keys) : -ENOMEM;
	if (!r && (getrandom(&host->next_qpn, sizeof(host->next_qpn), 0) < 0 ||
		   getrandom(&host->next_srqn, sizeof(host->next_srqn), 0) < 0))
		r = uroce_call_failed("getrandom");
	if (!r)
		r = uroce_forward_new(&host->forward);
	if (!r)
		r = uroce_shm_open(&host->paths, &host->shm);
	if (!r) {
		decorate(host);
		uroce_regions_show(host);
		r = uroce_thread_start(host);
	}
	/* Connect the process to itself now, so that no thread waits for that under a lock. */
	if (!r)
		r = uroce_shm_peer(host->shm, host->paths.slot, &self);
	if (r < 0) {
		host_free(host);
		return r;
	}
	*ret_host = host;
	return 0;
}

/* --- fork --- */

static void fork_begin(void)
{
	pthread_mutex_lock(&the_lock);
	if (the_host) {
		pthread_mutex_lock(&the_host->lock);
		uroce_watches_fork_begin(the_host);
	}
	uroce_leaf_locks_hold(true);
}

static void fork_parent(void)
{
	if (the_host) {
		uroce_watches_fork_end(the_host);
		pthread_mutex_unlock(&the_host->lock);
	}
}

/*
 * Leave the parent's host in the child, which has the parent's memory but neither its thread nor
 * its slot. The child creates its own host.
 */
static void fork_child(void)
{
	if (the_host) {
		atomic_store(the_host->here, 0);
		uroce_watches_forked(the_host);
		uroce_domains_forked(the_host);
		uroce_import_sockets_forked(the_host);
		uroce_guardian_forked(the_host->guardian);
		pthread_mutex_unlock(&the_host->lock);
	}
	the_host = NULL;
}

static void fork_end(bool child)
{
	uroce_leaf_locks_hold(false);
	if (child)
		fork_child();
	else
		fork_parent();
	pthread_mutex_unlock(&the_lock);
}

struct verbs_fork uroce_fork = {
	.begin = fork_begin,
	.end = fork_end,
};

int uroce_host_get(struct uroce_host **ret_host)
{
	int r = 0;

	pthread_mutex_lock(&the_lock);
	/* This process is a child, and the C library did not see the fork. */
	if (the_host && !uroce_host_here(the_host))
		the_host = NULL;
	if (!the_host)
		r = host_new(&the_host);
	if (!r) {
		the_host->refs++;
		*ret_host = the_host;
	}
	pthread_mutex_unlock(&the_lock);
	return r;
}

void uroce_host_put(struct uroce_host *host)
{
	pthread_mutex_lock(&the_lock);
	if (--host->refs == 0 && uroce_host_here(host)) {
		if (the_host == host)
			the_host = NULL;
		host_free(host);
	}
	pthread_mutex_unlock(&the_lock);
}

void uroce_host_follow(void)
{
	struct uroce_host *host;
	struct uroce_dev *dev;

	pthread_mutex_lock(&the_lock);
	host = the_host && uroce_host_here(the_host) ? the_host : NULL;
	if (host)
		host->refs++;
	pthread_mutex_unlock(&the_lock);
	if (!host)
		return;
	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_gids_refresh(dev);
	pthread_mutex_unlock(&host->lock);
	uroce_host_put(host);
}

void uroce_host_leave(struct uroce_host *host, const struct uroce_context *ctx)
{
	if (!uroce_host_here(host))
		return;
	uroce_qps_finish(host, ctx, NULL);
	if (ctx) {
		uroce_qps_withdraw(host, ctx);
		return;
	}
	uroce_progress_drain(host);
	uroce_forward_finish(host);
}

/*
 * Deliver at exit, because a program may end without destroying its objects. Its peers expect
 * acknowledgements of requests whose data the program has seen.
 */
__attribute__((destructor)) static void process_ends(void)
{
	if (!pthread_mutex_trylock(&the_lock)) {
		if (the_host)
			uroce_host_leave(the_host, NULL);
		pthread_mutex_unlock(&the_lock);
	}
}
