/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The service thread, for work without a waiting call. It accepts the connections of listeners,
 * sends the messages that keep idle connections alive, and probes peers that have given no room for
 * a while. It ends connections that were shut down during a long handshake. The thread starts with
 * the first such socket and runs until the process ends.
 *
 * @lock is taken after a socket's, and no other after it: the thread finds a socket by its
 * descriptor.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"
#include "util/thread.h"

#define BATCH	      16
#define NS_OF_S	      1000000000ull
#define PROBE_SECONDS 5
/* seconds between checks of a handshake after which the end must be sent */
#define HANDSHAKE_SECONDS 1

static struct {
	pthread_mutex_t lock;
	int epoll;
	int wake; /* an eventfd: the list changed */
	bool runs;
	unsigned int process; /* rs_process() of the process with the thread */
	LIST_HEAD(, rs_socket) kept;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1 };

void rs_service_fork(bool begins)
{
	if (begins)
		pthread_mutex_lock(&service.lock);
	else
		pthread_mutex_unlock(&service.lock);
}

/* Take up to @max descriptors that are due. *ret_timeout: time until the next one is due, or -1. */
static int kept_take(int *fds, int max, int *ret_timeout)
{
	uint64_t now = rs_now_ns(), next = UINT64_MAX;
	struct rs_socket *s;
	int n = 0;

	pthread_mutex_lock(&service.lock);
	LIST_FOREACH(s, &service.kept, of_service) {
		if (s->keep_due <= now && n < max) {
			fds[n++] = s->kept_fd;
			s->keep_due = UINT64_MAX; /* until the thread has checked it */
		}
		next = min_of(next, s->keep_due);
	}
	pthread_mutex_unlock(&service.lock);
	if (next == UINT64_MAX)
		*ret_timeout = -1;
	else
		*ret_timeout = next <= now ? 0 : min_of((next - now) / 1000000 + 1, 3600000ull);
	return n;
}

static void socket_keep(int fd)
{
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return;
	s->keep(s);
	rs_socket_put(s);
}

static void listener_serve(int fd)
{
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return;
	s->serve(s);
	rs_socket_put(s);
}

static void *run(void *arg)
{
	struct epoll_event events[BATCH];
	int fds[BATCH], timeout, n;

	for (;;) {
		n = kept_take(fds, BATCH, &timeout);
		for (int i = 0; i < n; i++)
			socket_keep(fds[i]);
		n = epoll_wait(service.epoll, events, BATCH, timeout);
		for (int i = 0; i < n; i++) {
			eventfd_t count;

			if (events[i].data.fd == service.wake)
				eventfd_read(service.wake, &count);
			else
				listener_serve(events[i].data.fd);
		}
	}
	return NULL;
}

/* Start the thread. With the lock held. */
static int service_start(void)
{
	struct epoll_event watch = { .events = EPOLLIN };
	int r = 0;

	if (service.runs && service.process == rs_process())
		return 0;
	LIST_INIT(&service.kept); /* the sockets of a parent do not count */
	service.epoll = epoll_create1(EPOLL_CLOEXEC);
	service.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch.data.fd = service.wake;
	if (service.epoll < 0 || service.wake < 0 ||
	    epoll_ctl(service.epoll, EPOLL_CTL_ADD, service.wake, &watch) < 0)
		r = -errno;
	if (r == 0)
		r = thread_run(run, NULL, NULL);
	if (r < 0) {
		if (service.epoll >= 0)
			close(service.epoll);
		if (service.wake >= 0)
			close(service.wake);
		log_err("rsocket: the thread that accepts connections and looks for peers: %s",
			strerror(-r));
		return r;
	}
	service.runs = true;
	service.process = rs_process();
	return 0;
}

int rs_service_listen(struct rs_socket *s, void (*serve)(struct rs_socket *s))
{
	struct epoll_event watch = { .events = EPOLLIN, .data.fd = s->file.fd };
	int r;

	s->serve = serve;
	pthread_mutex_lock(&service.lock);
	r = service_start();
	if (r == 0 && epoll_ctl(service.epoll, EPOLL_CTL_ADD, s->channel->fd, &watch) < 0)
		r = -errno;
	pthread_mutex_unlock(&service.lock);
	return r;
}

void rs_service_unlisten(struct rs_socket *s)
{
	epoll_ctl(service.epoll, EPOLL_CTL_DEL, s->channel->fd, NULL);
}

void rs_service_pause(struct rs_socket *s, bool pause)
{
	struct epoll_event watch = { .events = pause ? 0 : EPOLLIN, .data.fd = s->file.fd };

	epoll_ctl(service.epoll, EPOLL_CTL_MOD, s->channel->fd, &watch);
}

int rs_service_keep(struct rs_socket *s)
{
	unsigned int seconds = s->keep_alive ? s->keep_seconds : PROBE_SECONDS;
	int r;

	if (s->stalled)
		seconds = min_of(seconds, (unsigned int)PROBE_SECONDS);
	if (rs_end_is_due(s))
		seconds = HANDSHAKE_SECONDS;

	pthread_mutex_lock(&service.lock);
	r = s->is_forgotten ? 0 : service_start();
	if (r == 0 && !s->is_forgotten) {
		s->keep_due = rs_now_ns() + seconds * NS_OF_S;
		s->kept_fd = s->file.fd;
		if (!s->is_kept)
			LIST_INSERT_HEAD(&service.kept, s, of_service);
		s->is_kept = true;
		eventfd_write(service.wake, 1);
	}
	pthread_mutex_unlock(&service.lock);
	return r;
}

void rs_service_forget(struct rs_socket *s)
{
	pthread_mutex_lock(&service.lock);
	if (s->is_kept)
		LIST_REMOVE(s, of_service);
	s->is_kept = false;
	s->is_forgotten = true;
	if (s->accepted_fd >= 0)
		rs_service_unlisten(s);
	pthread_mutex_unlock(&service.lock);
}
