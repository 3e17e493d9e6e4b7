/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event channels. With one backend, the channel's descriptor is that of the backend, so that a
 * blocking read of an event is one system call. With two backends it is an epoll of both.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "util/log.h"
#include "util/util.h"

static int backend_open(const struct cm_backend_ops *ops, struct cm_channel *ch, int *ret_fd)
{
	return ops ? ops->open_channel(ch, ret_fd) : -ENODEV;
}

static void backends_close(struct cm_channel *ch)
{
	if (ch->ucma_fd >= 0)
		ucma_ops.close_channel(ch);
	if (ch->ibcm_fd >= 0)
		ibcm_ops.close_channel(ch);
}

/* Open the descriptor for both. The members of the epoll must not block when they are read. */
static int epoll_open(struct cm_channel *ch)
{
	_cleanup_close_ int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	if (fd < 0 || fcntl(ch->ucma_fd, F_SETFL, O_RDWR | O_NONBLOCK) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, ch->ucma_fd, &event) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, ch->ibcm_fd, &event))
		return -errno;
	ch->channel.fd = take_fd(&fd);
	return 0;
}

static int backends_open(struct cm_channel *ch)
{
	int ucma = backend_open(&ucma_ops, ch, &ch->ucma_fd);
	int ibcm = &ibcm_ops ? backend_open(&ibcm_ops, ch, &ch->ibcm_fd) : -ENODEV;

	/*
	 * Without the kernel's module there is no list of devices (ENOSYS). Programs expect ENODEV.
	 */
	if (ibcm == -ENOSYS)
		ibcm = -ENODEV;
	if (ucma < 0 && ibcm < 0) {
		int r = ucma == -ENODEV || ucma == -ENOENT ? ibcm : ucma;

		log_err("rdma_cm: no event channel: the kernel's connection manager "
			"(/dev/infiniband/rdma_cm): %s%s; user-space devices: %s",
			strerror(-ucma),
			ucma == -ENOENT || ucma == -ENODEV ? ", is the module rdma_ucm loaded?"
							   : "",
			ibcm == -ENODEV ? "none is offered (UROCE)" : strerror(-ibcm));
		return r == -ENOENT ? -ENODEV : r;
	}
	if (ucma == -EMFILE || ibcm == -EMFILE) {
		backends_close(ch);
		return -EMFILE;
	}
	return 0;
}

/*
 * The memory of a destroyed channel is kept for the next channel. Programs destroy a channel while
 * another thread is about to call rdma_get_cm_event() with it, for example rping at its end. The
 * thread then finds a closed channel (EBADF), and no memory of another object.
 */
static LIST_HEAD(, cm_channel) destroyed = LIST_HEAD_INITIALIZER(destroyed);
/* Protects the list above and the lists of identifiers of all channels. */
static pthread_mutex_t channels_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The channel of identifiers whose channel was destroyed. Memory of a destroyed channel may be used
 * for another one.
 */
static struct cm_channel closed_channel = {
	.channel.fd = -1,
	.ucma_fd = -1,
	.ibcm_fd = -1,
	.posted_fd = -1,
	.posted = TAILQ_HEAD_INITIALIZER(closed_channel.posted),
};

static void channel_clear(struct cm_channel *ch)
{
	*ch = (struct cm_channel){
		.channel.fd = -1, .ucma_fd = -1, .ibcm_fd = -1, .posted_fd = -1
	};
	TAILQ_INIT(&ch->posted);
	LIST_INIT(&ch->ids);
}

static struct cm_channel *channel_alloc(void)
{
	struct cm_channel *ch;

	pthread_mutex_lock(&channels_lock);
	ch = LIST_FIRST(&destroyed);
	if (ch)
		LIST_REMOVE(ch, entry);
	pthread_mutex_unlock(&channels_lock);
	if (!ch)
		ch = malloc(sizeof(*ch));
	if (ch)
		channel_clear(ch);
	return ch;
}

static void channel_free(struct cm_channel *ch)
{
	ch->channel.fd = ch->ucma_fd = ch->ibcm_fd = -1;
	pthread_mutex_lock(&channels_lock);
	LIST_INSERT_HEAD(&destroyed, ch, entry);
	pthread_mutex_unlock(&channels_lock);
}

/* ------------------------------------------------------------------ identifiers */

int cm_channel_enter(struct cm_channel *ch, struct cm_id *id)
{
	int r = 0;

	pthread_mutex_lock(&channels_lock);
	if (ch->ucma_fd < 0 && ch->ibcm_fd < 0) {
		r = -EBADF;
	} else {
		id->id.channel = &ch->channel;
		LIST_INSERT_HEAD(&ch->ids, id, entry);
	}
	pthread_mutex_unlock(&channels_lock);
	return r;
}

void cm_channel_leave(struct cm_id *id)
{
	if (id->closed)
		return;
	pthread_mutex_lock(&channels_lock);
	LIST_REMOVE(id, entry);
	pthread_mutex_unlock(&channels_lock);
}

static void id_close(struct cm_id *id)
{
	id->closed_reported = cm_events_given(id);
	id->closed = true;
	id->sync = false;
	id->backend = NULL;
	id->ibcm = NULL;
	atomic_store_explicit(&id->in_kernel, false, memory_order_relaxed);
	id->id.channel = &closed_channel.channel;
}

static void ids_close(struct cm_channel *ch)
{
	struct cm_id *id;

	pthread_mutex_lock(&channels_lock);
	while ((id = LIST_FIRST(&ch->ids))) {
		LIST_REMOVE(id, entry);
		id_close(id);
	}
	pthread_mutex_unlock(&channels_lock);
}

/* ------------------------------------------------------------------ create and destroy */

int cm_channel_create(struct cm_channel **ret_channel)
{
	struct cm_channel *ch = channel_alloc();
	int r;

	if (!ch)
		return -ENOMEM;
	r = backends_open(ch);
	if (r < 0) {
		channel_free(ch);
		return r;
	}
	if (!cm_channel_is_mixed(ch)) {
		ch->channel.fd = max_of(ch->ucma_fd, ch->ibcm_fd);
	} else {
		r = epoll_open(ch);
		if (r < 0) {
			cm_channel_destroy(ch);
			return r;
		}
	}
	*ret_channel = ch;
	return 0;
}

void cm_channel_destroy(struct cm_channel *ch)
{
	if (cm_channel_is_mixed(ch) && ch->channel.fd >= 0)
		close(ch->channel.fd);
	cm_posted_close(ch);
	backends_close(ch);
	ids_close(ch);
	channel_free(ch);
}

CM_EXPORT struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *ch;
	int r = cm_channel_create(&ch);

	if (r < 0) {
		errno = -r;
		return NULL;
	}
	return &ch->channel;
}

CM_EXPORT void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	cm_channel_destroy(to_cm_channel(channel));
}

static int ucma_get(struct cm_channel *ch, struct cm_event *ev)
{
	return ucma_ops.get_event(ch, ev);
}

static int ibcm_get(struct cm_channel *ch, struct cm_event *ev)
{
	return ibcm_ops.get_event(ch, ev);
}

/*
 * Take an event of a backend, or a posted event. Begin with the source behind the one of the last
 * event.
 */
static int event_take(struct cm_channel *ch, struct cm_event *ev)
{
	static int (*const sources[])(struct cm_channel * ch, struct cm_event * ev) = {
		ucma_get,
		ibcm_get,
		cm_posted_take,
	};
	int r = -EAGAIN;

	if (ch->ibcm_fd < 0)
		return ucma_ops.get_event(ch, ev);
	if (ch->ucma_fd < 0)
		return ibcm_ops.get_event(ch, ev);
	for (size_t i = 0; i < ARRAY_SIZE(sources) && r == -EAGAIN; i++)
		r = sources[ch->turn++ % ARRAY_SIZE(sources)](ch, ev);
	return r;
}

/* Sleep until a backend has an event. -EAGAIN: the channel is O_NONBLOCK. */
static int event_wait(struct cm_channel *ch)
{
	struct pollfd waiting = { .fd = ch->channel.fd, .events = POLLIN };
	int flags = fcntl(ch->channel.fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK)
		return -EAGAIN;
	if (ch->ucma_fd < 0)
		return ibcm_ops.wait_event(ch);
	return poll(&waiting, 1, -1) < 0 ? -errno : 0;
}

/*
 * Return whether the signal is a fault of the thread itself, which does not happen during the wait.
 */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;
}

static bool interrupts(int sig)
{
	struct sigaction action;

	return !is_fault(sig) && !sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL &&
	       action.sa_handler != SIG_IGN && !(action.sa_flags & SA_RESTART);
}

/*
 * Return whether a wait resumes after a signal. The kernel restarts the system call of its own
 * manager if the handler has SA_RESTART, but not poll(). The handler that ran is not known.
 * Therefore resume only if all handlers have SA_RESTART.
 */
static bool signals_restart(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		if (interrupts(sig))
			return false;
	return true;
}

int cm_channel_next(struct cm_channel *ch, struct cm_event *ev)
{
	bool kernel_waits = ch->ibcm_fd < 0;
	int r;

	for (;;) {
		r = event_take(ch, ev);
		if (r != -EAGAIN || kernel_waits)
			return r;
		r = event_wait(ch);
		if (r < 0 && !(r == -EINTR && signals_restart()))
			return r;
	}
}
