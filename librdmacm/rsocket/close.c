/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a socket. */
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libibverbs/provider.h"
#include "librdmacm/rsocket/rs.h"

/* Limits of the wait for a living peer that takes no data. */
#define DATA_TIMEOUT_MS 30000
#define END_TIMEOUT_MS	500

/* Limits of the wait in rclose(). A thread continues after them. */
#define CLOSE_MS	  500
#define CLOSE_NONBLOCK_MS 20

static bool is_gone(const struct rs_socket *s)
{
	return s->broken || s->state == RS_FAILED;
}

/* Return whether all data is in the peer's memory, or the peer has gone. */
static bool data_is_there(struct rs_socket *s)
{
	return (int32_t)(s->done - s->data_end) >= 0 || is_gone(s);
}

/*
 * Return whether all data and the message of the end have arrived. If a peer takes no messages, its
 * connection manager tells it about the end.
 */
bool rs_all_is_there(struct rs_socket *s)
{
	return s->done == s->posted || is_gone(s);
}

static bool has_queue_pair(struct rs_socket *s)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = s->id && s->id->qp;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void rs_socket_deliver(struct rs_socket *s)
{
	if (s->dropped)
		return;
	rs_shutdown(s, SHUT_RDWR);
	if (!has_queue_pair(s))
		return;
	rs_wait(s, rs_is_accepted, RS_WAIT_ALWAYS, DATA_TIMEOUT_MS);
	rs_wait(s, data_is_there, RS_WAIT_ALWAYS, DATA_TIMEOUT_MS);
	rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, END_TIMEOUT_MS);
}

void rs_socket_end(struct rs_socket *s)
{
	if (has_queue_pair(s))
		rdma_disconnect(s->id);
	if (s->dropped) /* after the disconnection this sends no message of the end */
		rs_shutdown(s, SHUT_RDWR);
	pthread_mutex_lock(&s->lock);
	if (s->state != RS_FAILED)
		s->state = RS_CLOSED;
	s->no_recv = s->no_send = s->peer_end = true;
	rs_rouse(s); /* threads that woke up earlier saw another state, and sleep again */
	pthread_mutex_unlock(&s->lock);
	rs_listener_close(s);
	rs_socket_put(s);
}

void rs_socket_finish(struct rs_socket *s)
{
	if (has_queue_pair(s) && verbs_qp_end_waits(s->id->qp))
		rs_linger(s);
	else
		rs_socket_end(s);
}

/* Return whether no request is under way, so that the end can be sent at once. */
static bool is_quiet(struct rs_socket *s)
{
	rs_connect_step(s);
	if (s->unsignalled)
		rs_post_mark(s);
	return s->state != RS_ACCEPTING && (s->done == s->posted || is_gone(s));
}

static int close_patience_ms(const struct rs_socket *s)
{
	if (s->linger_seconds >= 0)
		return s->linger_seconds * 1000;
	return rs_patience(s, 0) == RS_WAIT ? CLOSE_MS : CLOSE_NONBLOCK_MS;
}

/* Deliver the data and the end. Return: whether the peer has received all. */
static bool deliver(struct rs_socket *s, uint64_t start, int timeout_ms)
{
	if (rs_wait(s, is_quiet, RS_WAIT_ALWAYS, timeout_ms) < 0)
		return false;
	rs_shutdown(s, SHUT_RDWR);
	return rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, rs_timeout_left(timeout_ms, start)) == 0;
}

/* Give up the delivery of the data. The peer notices that the message of the end is missing. */
static void connection_drop(struct rs_socket *s)
{
	pthread_mutex_lock(&s->lock);
	s->broken = s->dropped = true;
	pthread_mutex_unlock(&s->lock);
}

static void socket_close(struct rs_socket *s)
{
	uint64_t start = rs_now_ns();

	rs_watch_end_all(s);
	if (s->ds) {
		ds_shutdown(s, SHUT_RDWR);
		ds_flush(s, END_TIMEOUT_MS);
		rs_socket_put(s);
		return;
	}
	rs_service_forget(s);
	if (s->linger_seconds && deliver(s, start, close_patience_ms(s))) {
		rs_socket_finish(s);
	} else if (s->linger_seconds >= 0) {
		connection_drop(s);
		rs_socket_finish(s);
	} else {
		rs_linger(s);
	}
}

RS_EXPORT int rclose(int fd)
{
	RS_CALL;
	bool is_parents;
	struct rs_file *file = rs_table_remove(fd, &is_parents);

	if (!file)
		return rs_ret(-EBADF);
	/* A forked child has only the descriptor. */
	if (is_parents)
		close(fd);
	else if (file->kind == RS_POLLER)
		rs_poller_close((struct rs_poller *)file, fd);
	else
		socket_close((struct rs_socket *)file);
	return 0;
}

/*
 * Take the socket out of the table when no thread sleeps on its number. The caller gives the number
 * to another file, and a thread that is about to sleep would sleep on that file.
 */
static void table_leave(struct rs_socket *s, int fd)
{
	bool is_parents;

	pthread_mutex_lock(&s->lock);
	rs_sleepers_end(s);
	pthread_mutex_unlock(&s->lock);
	s->file.keeps_number = true;
	rs_table_remove(fd, &is_parents);
	pthread_mutex_lock(&s->lock);
	s->moving = false;
	pthread_mutex_unlock(&s->lock);
}

/* Wait until no thread sleeps on the number. Calls that found the socket before sleep there. */
static void sleeper_await(struct rs_socket *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->sleeper) {
		rs_rouse(s);
		pthread_mutex_unlock(&s->lock);
		sched_yield();
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

RS_EXPORT int rdetach(int fd)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return rs_ret(-EBADF);
	table_leave(s, fd);
	socket_close(s);
	sleeper_await(s);
	rs_socket_put(s);
	return 0;
}
