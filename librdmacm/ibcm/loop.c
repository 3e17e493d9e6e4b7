/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread of the connection manager. The device's thread handles messages of QP1 if the lock is
 * free. The thread of this file handles all other messages and the deadlines, and sleeps in
 * between. Therefore connections make progress even if the program makes no calls.
 */
#include <time.h>
#include <unistd.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/dispatch.h"
#include "librdmacm/ibcm/guard.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/pending.h"
#include "librdmacm/ibcm/probe.h"
#include "librdmacm/ibcm/send.h"
#include "librdmacm/ibcm/table.h"
#include "librdmacm/ibcm/wake.h"
#include "util/thread.h"
#include "util/util.h"

enum {
	BATCH = 64,	     /* limit of messages from one device before the lock is released */
	RETRY_MS = 1,	     /* between attempts to send while the device has no room */
	SLEEP_MAX = 60000,   /* ms */
	GOODBYE_TRIES = 100, /* attempts to get the lock, one each millisecond */
};

static pid_t started_by; /* process that started the thread; 0: none yet */

/* --- the thread --- */

/* Receive a batch, under the lock. Return: whether all messages were received. */
static bool dev_receive(struct ibcm_dev *dev)
{
	struct verbs_gsi_mad mad;

	for (int i = 0; i < BATCH; i++) {
		if (verbs_gsi_recv(dev->verbs, &mad))
			return true;
		ibcm_arrived(dev, &mad);
	}
	return false;
}

/*
 * Receive in the device's thread, so that the manager's thread need not wake. Never wait for the
 * lock here, because its holder may be waiting for this thread.
 */
static bool dev_arrived(void *arg)
{
	bool all;

	if (!ibcm_lock_try())
		return false;
	all = dev_receive(arg);
	ibcm_unlock();
	return all;
}

/*
 * Handle a timeout. Before a request is repeated, check whether the kernel has found the neighbour.
 * The kernel gives up after three seconds, earlier than this timeout.
 */
static void step_timeout(struct ibcm_id *iid, uint64_t now, struct ibcm_out *out)
{
	if (ibcm_state_is_asking(&iid->conn) &&
	    verbs_neigh_failed(&iid->local.gid, &iid->remote_gid))
		ibcm_state_unreachable(&iid->conn, now, out);
	else
		ibcm_state_timeout(&iid->conn, now, out);
}

static void deadlines_run(uint64_t now)
{
	struct ibcm_id *iid;

	while ((iid = ibcm_heap_first()) && iid->conn.deadline <= now) {
		struct ibcm_out out = {};

		step_timeout(iid, now, &out);
		ibcm_run(iid, &out, NULL);
	}
}

/* Return the earlier of two times; 0: never. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Do all work that is due, under the lock. Return: the next deadline; 0: none. */
static uint64_t all_run(uint64_t now)
{
	struct ibcm_id *first;
	uint64_t due = ibcm_pending_run(now, ibcm_request_again);

	deadlines_run(now);
	if (ibcm_send_retry())
		due = earlier(due, now + RETRY_MS * 1000000ull);
	first = ibcm_heap_first();
	return earlier(due, first ? first->conn.deadline : 0);
}

/* Return the milliseconds until the next deadline; -1: none. */
static int thread_prepare(void)
{
	uint64_t now = ibcm_now(), due;
	int timeout = -1;

	ibcm_lock();
	ibcm_wake_set(0);
	due = all_run(now);
	if (due)
		timeout = due <= now ? 0 : min_of((due - now) / 1000000 + 1, (uint64_t)SLEEP_MAX);
	ibcm_wake_set(timeout < 0 ? UINT64_MAX : now + timeout * 1000000ull);
	ibcm_unlock();
	return timeout;
}

/* Serve a readable descriptor. @what: its device, or NULL for the descriptor of interface changes
 */
static void thread_ready(struct ibcm_dev *what)
{
	if (!what) {
		ibcm_interfaces_serve();
		return;
	}
	ibcm_lock();
	ibcm_probe_read(what, ibcm_refused);
	dev_receive(what);
	ibcm_unlock();
}

static void *thread_main(void *arg)
{
	for (;;) {
		void *ready[IBCM_WAKE_MAX];
		int n = ibcm_wake_wait(ready, thread_prepare());

		for (int i = 0; i < n; i++)
			thread_ready(ready[i]);
		if (ibcm_interfaces_wanted())
			ibcm_interfaces_serve();
	}
	return NULL;
}

/* --- fork --- */

static void fork_prepare(void)
{
	ibcm_interfaces_fork_begin();
	ibcm_devices_fork_begin();
	ibcm_lock_fork_begin();
}

static void fork_end(bool child)
{
	ibcm_lock_fork_end(child);
	ibcm_devices_fork_end();
	ibcm_interfaces_fork_end();
}

static void fork_parent(void)
{
	fork_end(false);
}

static void fork_child(void)
{
	fork_end(started_by);
}

/*
 * Register the handlers of fork() after those of the device's provider. Before a fork, the handler
 * that was registered last runs first. Therefore fork() takes the locks in the same order as the
 * opening of a device.
 */
static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int thread_start(void)
{
	pthread_t id;
	int r = ibcm_wake_open();

	if (!r && ibcm_interfaces_fd() >= 0)
		r = ibcm_wake_watch(ibcm_interfaces_fd(), NULL);
	if (!r)
		r = thread_run(thread_main, NULL, &id);
	if (r < 0) {
		ibcm_wake_close();
		return r;
	}
	pthread_setname_np(id, "rdma_cm");
	pthread_detach(id);
	started_by = getpid();
	return 0;
}

static int start(void)
{
	return started_by ? 0 : thread_start();
}

const struct ibcm_loop ibcm_loop = {
	.start = start,
	.arrived = dev_arrived,
	.fork_watch = fork_watch,
};

/* --- the end of the program --- */

static void say_goodbye(struct ibcm_id *iid, void *arg)
{
	struct ibcm_out out = {};

	if (!iid->dev)
		return;
	ibcm_state_exit(&iid->conn, ibcm_now(), &out);
	for (unsigned int i = 0; i < out.mads; i++)
		ibcm_id_send(iid, out.mad[i]);
	ibcm_guard_end(iid);
}

/*
 * Try to take the lock at exit. Another thread may hold the lock for a moment. If a signal handler
 * calls exit(), its own thread may hold the lock for ever.
 */
static bool lock_at_exit(void)
{
	static const struct timespec between = { .tv_nsec = 1000000 };

	for (int tries = 0; tries < GOODBYE_TRIES; tries++) {
		if (ibcm_lock_try())
			return true;
		nanosleep(&between, NULL);
	}
	return false;
}

/* Tell the peers of open connections about the exit, as the kernel does when it cleans up. */
__attribute__((destructor)) static void goodbye(void)
{
	if (started_by != getpid() || !lock_at_exit())
		return;
	ibcm_table_each(say_goodbye, NULL);
	ibcm_unlock();
}
