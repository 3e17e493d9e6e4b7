/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The socket: its state, its options and its connection. */
#ifndef LIBRDMACM_RSOCKET_SOCKET_H
#define LIBRDMACM_RSOCKET_SOCKET_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "librdmacm/rsocket/credit.h"
#include "librdmacm/rsocket/spin.h"
#include "librdmacm/rsocket/table.h"
#include "util/log.h"
#include "util/util.h"

#define RS_EXPORT	   __attribute__((visibility("default")))

#define RS_QUEUE_DEFAULT   384
#define RS_QUEUE_MIN	   16
#define RS_QUEUE_MAX	   0xfffe
#define RS_BUFFER_DEFAULT  (1u << 17)
#define RS_BUFFER_MIN	   (1u << 12)
#define RS_BUFFER_MAX	   (1u << 28)
#define RS_INLINE_DEFAULT  64
#define RS_RECEIVES_SPARE  (2 * RS_CONTROL_MAX) /* number of receives beyond the announced ones */
#define RS_REPOST_MAX	   16
#define RS_SIGNAL_INTERVAL 16 /* each 16th request is signalled */

enum rs_state {
	RS_NEW,
	RS_BOUND,
	RS_LISTENING,
	RS_RESOLVING_ADDR,
	RS_RESOLVING_ROUTE,
	RS_CONNECTING,
	RS_ACCEPTING,
	RS_CONNECTED,
	RS_CLOSED, /* closed by the peer, or by rshutdown() of both directions */
	RS_FAILED, /* @error is the reason */
};

/* One request in the send queue. */
struct rs_slot {
	/* bytes of the send buffer that are free again when the request completes */
	uint32_t bytes;
	bool control;
};

/* The right to send, or to receive. One thread holds it at a time. */
struct rs_turn {
	pthread_mutex_t lock;
	atomic_bool asleep; /* the holder waits for the peer */
	/* threads that wait for the holder; the count is too high after cancellations */
	atomic_uint awaiters;
};

struct rs_socket {
	struct rs_file file;  /* first */
	struct ds_socket *ds; /* the datagram part; NULL: a stream */
	int domain;
	atomic_int flags; /* O_NONBLOCK, and O_APPEND, which has no meaning */
	struct rs_turn send_turn, recv_turn;
	pthread_mutex_t lock;

	enum rs_state state;
	int error;	/* positive errno of RS_FAILED, until SO_ERROR is read */
	bool unsaid;	/* rconnect() has not returned the result yet */
	bool refused;	/* rconnect() has returned an error */
	bool no_send;	/* this side was shut down for writing */
	bool no_recv;	/* this side was shut down for reading */
	bool end_told;	/* the message that ends this direction was posted */
	bool pipe_told; /* a send has found that the peer closed */
	bool peer_end;	/* the peer sends no more data */
	bool broken;	/* the queue pair has failed, or may have been destroyed */
	bool dropped;	/* the socket ends without delivering its data */
	bool silent;	/* the peer did not acknowledge a request */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	LIST_HEAD(, rs_watch) watches; /* watches of pollers on this socket */
	uint32_t changes;	       /* counts events, for EPOLLET */

	/* Of a listener. */
	TAILQ_HEAD(, rs_socket) accepted; /* connections that wait for raccept() */
	unsigned int accepted_count, backlog;
	bool chose_port; /* the program chose the number of the port */
	bool paused;	 /* the service does not watch the listener */
	bool spent;	 /* no descriptors are left for a request, and raccept() reports this */
	int accepted_fd; /* an eventfd, readable if raccept() has a result */
	TAILQ_ENTRY(rs_socket) of_listener;

	/* Protected by the lock of the service (service.c). */
	LIST_ENTRY(rs_socket) of_service;
	bool is_kept, is_forgotten; /* is_forgotten: removed by rclose(), for ever */
	int kept_fd;
	uint64_t keep_due;
	/* called by the service: when @keep_due has come, and when a request has arrived */
	void (*keep)(struct rs_socket *s);
	void (*serve)(struct rs_socket *s);

	/* Options. */
	uint32_t sbuf_size, rbuf_size;
	uint16_t sq_size, rq_size;
	uint16_t mappings_max; /* mappings that the peer can make */
	uint32_t inline_size;
	bool reuse_address, no_delay, keep_alive; /* stored for rgetsockopt() */
	unsigned int keep_seconds;
	/* -1: no limit; may be set while other threads wait */
	atomic_int send_timeout_ms, recv_timeout_ms;
	int linger_seconds;	  /* value of SO_LINGER; -1: it is off */
	size_t receive_least;	  /* value of SO_RCVLOWAT */
	struct rs_stored *stored; /* values of rsetsockopt(): option_value.c */

	/* Of a connection. */
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *smr, *rmr, *tmr;
	uint8_t *sbuf, *rbuf;
	struct ibv_buf *rbuf_memory;   /* NULL: @rbuf is from mmap() */
	struct rs_wire_entry *entries; /* the peer writes its targets here */
	/* behind @entries: the peer writes its mappings here */
	struct rs_wire_mapping *entries_mappings;
	unsigned int entry; /* index of the entry that the peer writes next */
	/* the peer's list, for our targets; length counts entries */
	struct rs_target peer_list;
	unsigned int peer_entry;
	bool unheard;	  /* iWARP, accepting side: see rs_first_word_await() */
	bool peer_speaks; /* the request announces that a first message will follow */
	bool peer_ends;	  /* the peer announces each orderly end by a message */
	bool sends_words; /* iWARP: see word_post() */
	uint32_t *words;  /* memory of receives, one word each, behind @sbuf */
	unsigned int words_posted, words_taken; /* receives since the start */
	/* the peer's list, for our mappings; length counts entries */
	struct rs_target peer_mappings;
	LIST_HEAD(, rs_mapping) mappings;
	bool mappings_pending; /* the peer does not know all mappings yet */
	bool swapped;
	struct rs_credit_out out;
	struct rs_credit_in in;
	size_t peeked; /* bytes that were peeked at; a wait is for more than these */

	struct rs_slot *slots; /* sq_size of them, a ring */
	uint32_t posted, done; /* requests since the start */
	uint32_t data_end;     /* the number behind the last request with data */
	unsigned int unsignalled;
	unsigned int controls;	       /* outstanding */
	uint64_t sbuf_head, sbuf_tail; /* bytes since the start: written, free again */
	uint64_t answered;	       /* @in.received at the last send */
	/* a sender found no room, so the service watches the socket */
	bool stalled;
	uint32_t stalled_at; /* @data_end at the last check of the service */

	unsigned int looks; /* calls of rs_glance(), which checks the descriptor now and then */
	uint64_t looked;    /* time of the last rs_drain() */
	struct rs_spin spin;
	bool armed;	      /* the CQ will announce its next completion */
	unsigned int unacked; /* events of the CQ without acknowledgement */
	bool sleeper;
	bool roused;	      /* no thread may sleep on the descriptor; see rouse.c */
	unsigned int pollers; /* threads that sleep on the descriptor in rpoll() */
	/* rs_move() waits until no thread sleeps on the old number; new sleeps have to wait */
	bool moving;
	bool moved;	      /* by rs_move() */
	bool v6only;	      /* IPV6_V6ONLY */
	bool is_programs;     /* accepted socket: raccept() has returned it to the program */
	unsigned int waiters; /* threads that wait for the sleeper: see waiter.c */
	atomic_uint changed;
};

/* How a call waits if it cannot proceed. */
enum rs_wait {
	RS_WAIT,
	RS_WAIT_NOT,
	RS_WAIT_ALWAYS, /* signals do not end the wait */
};

static inline enum rs_wait rs_patience(const struct rs_socket *s, int flags)
{
	return atomic_load_explicit(&s->flags, memory_order_relaxed) & O_NONBLOCK ||
			       flags & MSG_DONTWAIT
		       ? RS_WAIT_NOT
		       : RS_WAIT;
}

/* Return @r if it is not negative, otherwise set errno to -@r and return -1. */
static inline ssize_t rs_ret(ssize_t r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -1;
}

#define rs_err(s, fmt, ...)   log_err("rsocket %d: " fmt, (s)->file.fd, ##__VA_ARGS__)
#define rs_info(s, fmt, ...)  log_info("rsocket %d: " fmt, (s)->file.fd, ##__VA_ARGS__)
#define rs_debug(s, fmt, ...) log_debug("rsocket %d: " fmt, (s)->file.fd, ##__VA_ARGS__)

/*
 * @id: identifier of an incoming connection, or NULL for a new socket. On success the socket owns
 * it.
 */
int rs_socket_new(int domain, int flags, struct rdma_cm_id *id, struct rs_socket **ret_socket);
/* Create a datagram socket. */
int rs_socket_new_datagram(int domain, int flags, struct rs_socket **ret_socket);
/* Create the event channel. A datagram socket needs none until it resolves the route to a peer. */
int rs_channel_create(struct rs_socket *s);

static inline void rs_socket_put(struct rs_socket *s)
{
	rs_file_put(&s->file);
}

/* state.c */
void rs_socket_fail(struct rs_socket *s, int error);
/* Note that a call returns @r. If @r counts bytes, the next call reports the error behind them. */
void rs_error_told(struct rs_socket *s, ssize_t r);

/* Return whether the connection is being made. */
static inline bool rs_is_opening(const struct rs_socket *s)
{
	return s->state >= RS_RESOLVING_ADDR && s->state <= RS_ACCEPTING;
}
/* Return whether the stream never had a peer. It may be a listener that was shut down. */
static inline bool rs_is_unconnected(const struct rs_socket *s)
{
	return s->state <= RS_LISTENING || s->accepted_fd >= 0 || s->refused;
}
/* Return whether both ends have ended the connection. */
static inline bool rs_is_over(const struct rs_socket *s)
{
	return s->no_send && s->peer_end;
}

/* name.c */
/* Copy a name in the form of the socket's domain. Return: 0 or -errno. */
int rs_name_copy(const struct rs_socket *s, const struct sockaddr *from, struct sockaddr *addr,
		 socklen_t *addrlen);

/* move.c */
/*
 * An accepted socket has a high number until raccept() moves it to the lowest free number.
 * Return: the number.
 */
int rs_number_lowest(struct rs_socket *s);
/*
 * Wake the threads that sleep on the number, and wait until they have left. New sleeps wait until
 * @moving is false. With @lock held, which is released meanwhile.
 */
void rs_sleepers_end(struct rs_socket *s);

#endif
