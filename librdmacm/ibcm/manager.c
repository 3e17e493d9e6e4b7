/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lock, the devices in use, and the thread. The thread of the device takes messages of QP1 if
 * the lock is free. The thread of this file takes all other messages and waits for the next
 * deadline. Therefore connections make progress whatever the program does. Until the next deadline
 * or message the thread sleeps.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "librdmacm/ibcm/ibcm.h"
#include "util/cancel.h"
#include "util/thread.h"

enum {
	EVENTS = 16,
	BATCH = 64,	     /* limit of messages from one device before the lock is released */
	RETRY_MS = 1,	     /* between attempts to send while the device has no room */
	SLEEP_MAX = 60000,   /* ms */
	GOODBYE_TRIES = 100, /* attempts to get the lock, one each millisecond */
};

static struct {
	pthread_mutex_t lock;
	/*
	 * former cancel state of the lock's holder; cancellation is off under the lock because of
	 * system calls
	 */
	int cancel;
	pthread_mutex_t open_lock; /* protects opening of devices; taken before lock */
	pid_t pid;		   /* process that started the thread */
	/* this process is a fork of @pid: connections and their events belong to the parent */
	bool child;
	int epoll, wake;
	LIST_HEAD(, ibcm_dev) devs;
	uint16_t prefix;
	uint64_t wakes_at; /* ns: when the thread wakes without a signal; 0: it is awake */
} manager = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.open_lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll = -1,
	.wake = -1,
};

void ibcm_lock(void)
{
	int cancel = cancel_off();

	pthread_mutex_lock(&manager.lock);
	manager.cancel = cancel;
}

static bool lock_try(void)
{
	int cancel = cancel_off();

	if (pthread_mutex_trylock(&manager.lock)) {
		cancel_restore(&cancel);
		return false;
	}
	manager.cancel = cancel;
	return true;
}

void ibcm_unlock(void)
{
	int cancel = manager.cancel;

	pthread_mutex_unlock(&manager.lock);
	cancel_restore(&cancel);
}

uint64_t ibcm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

uint32_t ibcm_random(void)
{
	uint32_t value;

	while (getrandom(&value, sizeof(value), 0) != sizeof(value))
		;
	return value;
}

uint16_t ibcm_prefix(void)
{
	return manager.prefix;
}

void ibcm_wake(void)
{
	uint64_t one = 1;

	(void)!write(manager.wake, &one, sizeof(one));
}

void ibcm_wake_by(uint64_t deadline)
{
	if (deadline && deadline < manager.wakes_at)
		ibcm_wake();
}

int ibcm_watch_errors(struct ibcm_dev *dev, int fd)
{
	struct epoll_event event = { .data.ptr = dev };

	return epoll_ctl(manager.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void ibcm_unwatch_errors(int fd)
{
	(void)epoll_ctl(manager.epoll, EPOLL_CTL_DEL, fd, NULL);
}

struct ibcm_dev *ibcm_dev_first(void)
{
	return LIST_FIRST(&manager.devs);
}

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

	if (!lock_try())
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
	uint64_t due = ibcm_park_look(now);

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
	manager.wakes_at = 0;
	due = all_run(now);
	if (due)
		timeout = due <= now ? 0 : min_of((due - now) / 1000000 + 1, (uint64_t)SLEEP_MAX);
	manager.wakes_at = timeout < 0 ? UINT64_MAX : now + timeout * 1000000ull;
	ibcm_unlock();
	return timeout;
}

/* Serve a readable descriptor. @what: its device, &manager for interfaces, NULL for the wake-up. */
static void thread_ready(void *what)
{
	uint64_t rung;

	if (!what) {
		(void)!read(manager.wake, &rung, sizeof(rung));
	} else if (what == &manager) {
		ibcm_interfaces_serve();
	} else {
		ibcm_lock();
		ibcm_probe_read(what);
		dev_receive(what);
		ibcm_unlock();
	}
}

static void *thread_main(void *arg)
{
	for (;;) {
		struct epoll_event events[EVENTS];
		int n = epoll_wait(manager.epoll, events, EVENTS, thread_prepare());

		for (int i = 0; i < n; i++)
			thread_ready(events[i].data.ptr);
		if (ibcm_interfaces_wanted())
			ibcm_interfaces_serve();
	}
	return NULL;
}

/* --- fork: a child gets free locks, and nothing else --- */

bool ibcm_is_child(void)
{
	return manager.child;
}

int ibcm_child_refuse(void)
{
	log_err("rdma_cm: used before fork(), and now in the child: connections of user-space "
		"devices are the parent's");
	return -EIO;
}

static void fork_prepare(void)
{
	ibcm_interfaces_fork_begin();
	pthread_mutex_lock(&manager.open_lock);
	pthread_mutex_lock(&manager.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&manager.lock);
	pthread_mutex_unlock(&manager.open_lock);
	ibcm_interfaces_fork_end();
}

static void fork_child(void)
{
	manager.child = manager.pid != 0;
	fork_parent();
}

/*
 * Register after the device's provider. Before a fork, the handler that was registered last runs
 * first. Therefore a fork takes locks in the same order as opening a device.
 */
static void fork_watch(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int epoll_open(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct epoll_event changes = { .events = EPOLLIN, .data.ptr = &manager };

	manager.epoll = epoll_create1(EPOLL_CLOEXEC);
	manager.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (manager.epoll < 0 || manager.wake < 0 ||
	    epoll_ctl(manager.epoll, EPOLL_CTL_ADD, manager.wake, &event))
		return -errno;
	if (ibcm_interfaces_fd() >= 0 &&
	    epoll_ctl(manager.epoll, EPOLL_CTL_ADD, ibcm_interfaces_fd(), &changes))
		return -errno;
	return 0;
}

static void epoll_close(void)
{
	if (manager.epoll >= 0)
		close(manager.epoll);
	if (manager.wake >= 0)
		close(manager.wake);
	manager.epoll = manager.wake = -1;
}

static int thread_start(void)
{
	pthread_t id;
	int r = epoll_open();

	if (r == 0)
		r = thread_run(thread_main, NULL, &id);
	if (r < 0) {
		epoll_close();
		return r;
	}
	pthread_setname_np(id, "rdma_cm");
	pthread_detach(id);
	manager.pid = getpid();
	return 0;
}

/* --- devices --- */

/*
 * Open QP1 of the device, and consume @dev, because from then on the device may use it in a call at
 * any time.
 */
static int dev_listen(struct ibcm_dev *dev)
{
	const struct verbs_gsi_taker taker = { dev_arrived, dev };
	int r = verbs_gsi_open(dev->verbs, &taker, &dev->fd, &manager.prefix);

	if (r < 0)
		free(dev);
	return r;
}

/* Let the thread wait for the device. After a failure the next use of the device tries again. */
static int dev_watch(struct ibcm_dev *dev)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = dev };

	if (!dev->watched && epoll_ctl(manager.epoll, EPOLL_CTL_ADD, dev->fd, &event))
		return -errno;
	dev->watched = true;
	return 0;
}

static int dev_new(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibcm_dev *dev;
	int r = cm_device_open(cm);

	if (r < 0)
		return r;
	pthread_once(&once, fork_watch);
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->cm = cm;
	dev->verbs = cm->verbs;
	r = dev_listen(dev);
	if (r < 0)
		return r;
	ibcm_lock();
	LIST_INSERT_HEAD(&manager.devs, dev, entry);
	ibcm_unlock();
	*ret_dev = dev;
	return 0;
}

static struct ibcm_dev *dev_find(struct cm_device *cm)
{
	struct ibcm_dev *dev;

	LIST_FOREACH(dev, &manager.devs, entry)
		if (dev->cm == cm)
			return dev;
	return NULL;
}

static int dev_get_locked(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	struct ibcm_dev *dev;
	int r = 0;

	if (manager.child)
		return ibcm_child_refuse();
	if (!manager.pid)
		r = thread_start();
	if (r < 0) {
		log_err("rdma_cm: %s", strerror(-r));
		return r;
	}
	dev = dev_find(cm);
	if (!dev)
		r = dev_new(cm, &dev);
	if (r < 0)
		return r;
	r = dev_watch(dev);
	if (r < 0)
		log_err("rdma_cm: a device cannot be watched: %s", strerror(-r));
	else
		*ret_dev = dev;
	return r;
}

int ibcm_dev_get(struct cm_device *cm, struct ibcm_dev **ret_dev)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r;

	pthread_mutex_lock(&manager.open_lock);
	r = dev_get_locked(cm, ret_dev);
	pthread_mutex_unlock(&manager.open_lock);
	return r;
}

/* Open a device, or leave it out if that fails. */
static int dev_get_one(struct cm_device *cm, void *arg)
{
	struct ibcm_dev **ret = arg;

	if (cm->user)
		ibcm_dev_get(cm, ret);
	return 0;
}

int ibcm_dev_get_all(struct ibcm_dev **ret_any)
{
	int r;

	*ret_any = NULL;
	r = cm_devices_each(dev_get_one, ret_any);
	return r < 0 ? r : *ret_any ? 0 : -ENODEV;
}

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
 * Try to take the lock at exit. Another thread may hold it for a moment. A signal handler that
 * exits may also hold it.
 */
static bool lock_at_exit(void)
{
	static const struct timespec between = { .tv_nsec = 1000000 };

	for (int tries = 0; tries < GOODBYE_TRIES; tries++) {
		if (lock_try())
			return true;
		nanosleep(&between, NULL);
	}
	return false;
}

/* Tell the peers of open connections about the exit, as the kernel does when it cleans up. */
__attribute__((destructor)) static void goodbye(void)
{
	if (manager.pid != getpid() || !lock_at_exit())
		return;
	ibcm_table_each(say_goodbye, NULL);
	ibcm_unlock();
}
