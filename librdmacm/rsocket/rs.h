/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The door of the room: sockets over RDMA. Included by the files of this folder only; they use the
 * public calls of librdmacm and libibverbs, and of the core verbs_post_write_copy() alone.
 *
 *   wire.c      what two ends say to each other; pure
 *   credit.c    who may send what; pure
 *   table.c     from a descriptor to its socket
 *   socket.c    life and names of a socket
 *   connect.c   the states from a socket to a connection, for both ends
 *   accept.c    listening, and the queue of connections that came in
 *   buffer.c    memory, queues and queue pair of a connection
 *   complete.c  completions and credits; waiting for them
 *   send.c      sending, shutting down
 *   iomap.c     memory that the peer writes to by offset
 *   receive.c   receiving
 *   option.c    options and flags
 *   poll.c      rpoll() and rselect()
 *   epoll.c     repoll
 *   service.c   the thread that accepts connections and keeps them alive
 *   default.c   what the administrator wants of new sockets
 *   cancel.c    threads that are cancelled, or interrupted by a signal handler
 *   rouse.c     ending the sleep of who waits
 *   turn.c      whose turn it is to send, and to receive
 *   spin.c      how long to look for what somebody waits for, and when to let others run
 *   linger.c    sockets that were closed and have something to deliver
 *   leave.c     sockets that are open when the process exits
 *   datagram.h  datagram sockets, which have files of their own
 *
 * Locks, in the order in which they are taken:
 *   send_turn   one sender at a time: the free part of the send buffer
 *   recv_turn   one receiver at a time: the filled part of the receive buffer
 *   lock        everything else of the socket: state, CQ, credits, queue; never held in a system
 *               call that waits
 * A socket is found in the table with a reference, so rclose() by another thread does not take it
 * away from under a call.
 *
 * Threads: one, for what nobody waits for (service.c), and one for each socket that was closed
 * while its peer takes nothing. Whoever waits for a socket works for it; of several who wait, one
 * sleeps in the kernel (@sleeper) and wakes the others.
 *
 * The public descriptor is an epoll of the connection manager's descriptor and of the completion
 * channel's: it is readable when there is something to look at, which is less than POLLIN says.
 */
#ifndef RSOCKET_RS_H
#define RSOCKET_RS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include "librdmacm/rsocket/credit.h"
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
#define RS_RECEIVES_SPARE  (2 * RS_CONTROL_MAX) /* beyond what the peer was told of */
#define RS_REPOST_MAX	   16
#define RS_OPTIONS_MAX	   48
#define RS_SIGNAL_INTERVAL 16 /* requests of which one is signalled */

enum rs_state {
	RS_NEW,
	RS_BOUND,
	RS_LISTENING,
	RS_RESOLVING_ADDR,
	RS_RESOLVING_ROUTE,
	RS_CONNECTING,
	RS_ACCEPTING,
	RS_CONNECTED,
	RS_CLOSED, /* by the peer, or by rshutdown() of both ways */
	RS_FAILED, /* @error says why */
};

/* One request in the send queue. */
struct rs_slot {
	uint32_t bytes; /* of the send buffer, free again when it completed */
	bool control;
};

/* What a public descriptor can be. */
enum rs_kind {
	RS_SOCKET,
	RS_POLLER, /* of repoll_create() */
};

struct rs_file {
	int fd; /* the public one: an epoll */
	enum rs_kind kind;
	atomic_int refs;
	unsigned int process; /* whose it is; a forked child has another number */
	bool keeps_number;    /* the descriptor is not closed with it */
};

/* Of a thread that sends or receives. */
struct rs_turn {
	pthread_mutex_t lock;
	atomic_bool asleep;   /* whoever has it waits for the peer */
	atomic_uint awaiters; /* of that one; too many when some were cancelled */
};

/* How those who wait for a socket look for what they wait for; see spin.c. */
struct rs_spin {
	uint64_t ns;	       /* so long before they sleep */
	unsigned int vain;     /* looks since the last one that found something, or a yield */
	unsigned int patience; /* such looks before the processor is offered to others */
	bool yielded;	       /* just before this look */
	unsigned int crowded;  /* waits to come that sleep at once, for others took long */
	unsigned int untaken;  /* waits to come whose end offers nobody the processor */
};

struct rs_socket {
	struct rs_file file;  /* first */
	struct ds_socket *ds; /* of datagrams; NULL: a stream */
	int domain;
	atomic_int flags; /* O_NONBLOCK or 0 */
	struct rs_turn send_turn, recv_turn;
	pthread_mutex_t lock;

	enum rs_state state;
	int error;     /* positive errno of RS_FAILED, until SO_ERROR is read */
	bool unsaid;   /* no rconnect() has said yet what became of it */
	bool no_send;  /* shut down for writing, here */
	bool no_recv;  /* shut down for reading, here */
	bool end_told; /* the word that this side sends nothing more is posted */
	bool peer_end; /* the peer sends nothing more */
	bool broken;   /* nothing more will complete as it should */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	LIST_HEAD(, rs_watch) watches; /* of pollers */
	uint32_t changes;	       /* counts what came for it */

	/* Of a listener. */
	TAILQ_HEAD(, rs_socket) accepted; /* connections that wait for raccept() */
	unsigned int accepted_count, backlog;
	bool paused;	 /* the service does not look at it */
	bool spent;	 /* who comes has no descriptors: raccept() has to say so */
	int accepted_fd; /* an eventfd: there are some */
	TAILQ_ENTRY(rs_socket) of_listener;

	/* The service's, with its lock held. */
	LIST_ENTRY(rs_socket) of_service;
	bool is_kept, is_forgotten; /* forgotten: for good, by rclose() */
	uint64_t keep_due;

	/* Options. */
	uint32_t sbuf_size, rbuf_size;
	uint16_t sq_size, rq_size;
	uint16_t mappings_max; /* that the peer can make */
	uint32_t inline_size;
	bool reuse_address, no_delay, keep_alive; /* kept for those who ask */
	unsigned int keep_seconds;
	/* -1: none; may be set while others wait */
	atomic_int send_timeout_ms, recv_timeout_ms;
	int linger_seconds;	   /* of SO_LINGER; -1: it is off */
	int given[RS_OPTIONS_MAX]; /* by rsetsockopt(), by row of the table of options */
	uint64_t given_set;	   /* bits: of these */

	/* Of a connection. */
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	struct ibv_mr *smr, *rmr, *tmr;
	uint8_t *sbuf, *rbuf;
	struct ibv_buf *rbuf_memory;		  /* NULL: pages of our own */
	struct rs_wire_entry *entries;		  /* what the peer writes its targets to */
	struct rs_wire_mapping *entries_mappings; /* behind them: and its mappings */
	unsigned int entry;			  /* the one it writes next */
	struct rs_target peer_list;		  /* where we write ours; length counts entries */
	unsigned int peer_entry;
	bool unheard;	  /* iWARP, who accepted: see rs_first_word_await() */
	bool peer_speaks; /* says so in its request */
	bool peer_ends;	  /* an end without its word is none in order */
	bool sends_words; /* iWARP: see word_post() */
	uint32_t *words;  /* what receives take of it, one each, behind sbuf */
	unsigned int words_posted, words_taken; /* receives since the start */
	struct rs_target peer_mappings;		/* where we write ours; length counts entries */
	LIST_HEAD(, rs_mapping) mappings;
	bool mappings_pending; /* the peer does not know all of them */
	bool swapped;
	struct rs_credit_out out;
	struct rs_credit_in in;
	size_t peeked; /* bytes; there is to be more than that */

	struct rs_slot *slots; /* sq_size of them, a ring */
	uint32_t posted, done; /* requests since the start */
	uint32_t data_end;     /* the number behind the last one with data */
	unsigned int unsignalled;
	unsigned int controls;	       /* outstanding */
	uint64_t sbuf_head, sbuf_tail; /* bytes since the start: written, free again */
	uint64_t answered;	       /* bytes received when something was sent last */
	bool stalled;		       /* a sender found no room, and the service knows */
	uint32_t stalled_at;	       /* data_end then */

	unsigned int looks; /* without a look at the descriptor: see rs_glance() */
	struct rs_spin spin;
	bool armed;	      /* the CQ will say when something completes */
	unsigned int unacked; /* events of the CQ */
	bool sleeper;
	bool roused;	      /* nobody sleeps; see rouse.c */
	unsigned int pollers; /* that sleep on the descriptor in rpoll() */
	unsigned int waiters; /* for the sleeper: see waiter.c */
	atomic_uint changed;
};

/* What a call that finds nothing to do does. */
enum rs_wait {
	RS_WAIT,
	RS_WAIT_NOT,
	RS_WAIT_ALWAYS, /* signals do not end it */
};

/* 0 or more: the value; a negative errno: -1 and errno. */
static inline ssize_t rs_ret(ssize_t r)
{
	if (likely(r >= 0))
		return r;
	errno = -r;
	return -1;
}

#define rs_err(s, fmt, ...)   log_err("rsocket %d: " fmt, (s)->file.fd, ##__VA_ARGS__)
#define rs_debug(s, fmt, ...) log_debug("rsocket %d: " fmt, (s)->file.fd, ##__VA_ARGS__)

/* table.c: every rs_table_find() has its rs_socket_put(); a forked child finds nothing */
int rs_table_add(struct rs_file *file);
struct rs_socket *rs_table_find(int fd); /* NULL: not one of ours */
/* At exit: the next one from *fd on, which becomes its number. */
struct rs_socket *rs_table_next(int *fd);
struct rs_poller *rs_table_find_poller(int fd);
/* The poller of that number, also a parent's, or NULL: to be compared with, and no more. */
const void *rs_table_peek(int fd);
/* *ret_is_parents: the file is of the process that this one was forked from. */
struct rs_file *rs_table_remove(int fd, bool *ret_is_parents);

/* Which process this is, counted by forks. */
unsigned int rs_process(void);

/* default.c */
struct rs_defaults {
	uint32_t rbuf_size, sbuf_size, sq_size, rq_size, inline_size;
	uint32_t mappings; /* that a peer can make */
	uint32_t spin_us;  /* looked for so long before a thread sleeps */
};
const struct rs_defaults *rs_defaults(void);

/*
 * cancel.c: where a thread may be cancelled. A public call begins with one of these two; what it
 * holds when it sleeps it says before, and whoever sleeps on its behalf gives that back when the
 * thread is cancelled, after what is its own.
 */
int rs_call_begin(void);	/* nowhere */
int rs_call_begin_sleepy(void); /* where it sleeps */
void rs_call_end(const int *state);
#define RS_CALL __attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin()
#define RS_CALL_SLEEPY \
	__attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin_sleepy()
/* A reference to @s, and @lock, which may be NULL. */
void rs_call_hold(struct rs_socket *s, pthread_mutex_t *lock);
void rs_call_abandon(void);
/* Whether the call holds @lock. */
bool rs_call_holds(const pthread_mutex_t *lock);
/* Whether @lock is held by a call of this thread that sleeps, and whose handler is running. */
bool rs_call_is_lent(const pthread_mutex_t *lock);
/*
 * Around the system call that sleeps. @leave: called before a signal handler runs; it gives up what
 * other threads wait for. @mask: the signal mask that the program asked for, or NULL.
 * rs_sleep_begin() returns the mask for the system call; rs_sleep_end() whether @leave was called.
 */
const sigset_t *rs_sleep_begin(void (*leave)(void *arg), void *arg, const sigset_t *mask);
bool rs_sleep_end(void);
/* Whether a handler that ran during the last sleep is known to resume calls, or to end them. */
bool rs_sleep_restarts(void);
bool rs_sleep_interrupts(void);

/* turn.c */
void rs_turn_init(struct rs_turn *t);
void rs_turn_destroy(struct rs_turn *t);
/*
 * -EAGAIN: somebody has it who waits for the peer, and the caller does not want to wait, or not as
 * long; -EINTR: a signal.
 */
int rs_turn_take(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait);
void rs_turn_give(struct rs_socket *s, struct rs_turn *t);
/*
 * As rs_wait(), by who has the turn. @begun: in the middle of something, so it is kept meanwhile.
 * After an error the call may have it no more; rs_turn_give() knows.
 */
int rs_turn_wait(struct rs_socket *s, struct rs_turn *t, bool begun,
		 bool (*ready)(struct rs_socket *s), enum rs_wait wait, int timeout_ms);

/* service.c */
int rs_service_listen(struct rs_socket *s);
void rs_service_unlisten(struct rs_socket *s);
void rs_service_pause(struct rs_socket *s, bool pause);
/* Send every @keep_seconds something; while @stalled, look every few seconds for the peer. */
int rs_service_keep(struct rs_socket *s);
void rs_service_forget(struct rs_socket *s);
/* A fork begins, or is over, in both processes. */
void rs_service_fork(bool begins);

/* accept.c */
void rs_listener_step(struct rs_socket *s); /* called by the service */
/* Nothing is accepted any more; what was and waits for raccept() ends. */
int rs_listener_shutdown(struct rs_socket *s, int how);
void rs_listener_close(struct rs_socket *s);

/* socket.c */
/* Pieces of memory, as the kernel takes them: 0 or -EINVAL. */
int rs_vector_check(const struct iovec *iov, int count);
/* @id: of a connection that comes in, or NULL for a new one; it is the socket's on success */
int rs_socket_new(int domain, int flags, struct rdma_cm_id *id, struct rs_socket **ret_socket);
/* A socket of datagrams. */
int rs_socket_new_datagram(int domain, int flags, struct rs_socket **ret_socket);
/* A socket of datagrams needs none before it looks for the way to a peer. */
int rs_channel_create(struct rs_socket *s);
/* Copy a name as the socket's domain has it. 0 or -errno */
int rs_name_copy(const struct rs_socket *s, const struct sockaddr *from, struct sockaddr *addr,
		 socklen_t *addrlen);
void rs_socket_put(struct rs_socket *s);
void rs_socket_fail(struct rs_socket *s, int error);
/* A call returns @r. An error that comes behind some bytes is the next call's. */
void rs_error_told(struct rs_socket *s, ssize_t r);
/* Deliver what was sent, as far as it takes no longer than that may, and give the reference back.
 */
void rs_socket_end(struct rs_socket *s);

/* Everything that was posted, the word of the end as well, or there is no peer any more. */
bool rs_all_is_there(struct rs_socket *s);

/* leave.c: what is open when the process exits. */
void rs_leave(void) __attribute__((destructor));

/* linger.c: a thread does rs_socket_end(). -errno: there is none, and it remains to be done. */
int rs_linger(struct rs_socket *s);
void rs_linger_fork(bool begins); /* as rs_service_fork() */

/* connect.c; with @lock held. Drive the connection as far as it goes without waiting. */
void rs_connect_step(struct rs_socket *s);
/* Whether it is on its way to a connection. */
static inline bool rs_is_opening(const struct rs_socket *s)
{
	return s->state >= RS_RESOLVING_ADDR && s->state <= RS_ACCEPTING;
}
bool rs_connect_is_settled(struct rs_socket *s);
/* Who is about to connect, if somebody is, hears that this was ended. Return: whether it was. */
bool rs_connect_end(struct rs_socket *s);
/* For a call that needs a connection: step, and wait if it may. 0: there is or was one. */
int rs_connect_finish(struct rs_socket *s, enum rs_wait wait);

/* buffer.c: 0 or -errno, said in the log */
int rs_buffer_create(struct rs_socket *s);
void rs_buffer_destroy(struct rs_socket *s);
struct rs_wire_data rs_buffer_describe(const struct rs_socket *s);
void rs_buffer_start(struct rs_socket *s, const struct rs_wire_data *peer);
/* Post up to RS_REPOST_MAX receives with one call. Return: 0 or a positive errno. */
int rs_receives_post(struct rs_socket *s, unsigned int count);
/* A peer may spend all its credits on data and then has words about credits to say. */
static inline unsigned int rs_receives(const struct rs_socket *s)
{
	return s->rq_size + RS_RECEIVES_SPARE;
}

/* complete.c; with @lock held */
void rs_complete(struct rs_socket *s); /* look at the CQ, and give credits */
void rs_consumed(struct rs_socket *s); /* give credits, after bytes were taken */
/* Post one request; slots must be free. */
int rs_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control);
/* A message of data; @from: its bytes when they are not in @wr's memory yet, or NULL. */
int rs_post_data(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, const void *from);
int rs_post_control(struct rs_socket *s, enum rs_wire_control control);
static inline unsigned int rs_slots_free(const struct rs_socket *s)
{
	return s->sq_size - (s->posted - s->done);
}
/*
 * Wait until @ready, which is asked with @lock held. -EAGAIN: it is not, and the caller does not
 * want to wait, or @timeout_ms passed (-1: none). -EINTR: a signal.
 */
int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms);
/* waiter.c; with @lock held, which is let go meanwhile. 0 or -EINTR */
int rs_waiter_wait(struct rs_socket *s, enum rs_wait wait, int timeout_ms);
void rs_waiters_wake(struct rs_socket *s); /* something changed */
/*
 * complete.c again: the CQ tells the descriptor from now on. False: something came meanwhile, look
 * again.
 */
bool rs_arm(struct rs_socket *s);
/*
 * Whoever sleeps on the descriptor wakes up although nothing completed: an end that was made here
 * may never reach a peer that has stopped.
 */
void rs_rouse(struct rs_socket *s);
void rs_rouse_end(struct rs_socket *s);
/* Before a socket is made: 0 or -errno. */
int rs_rouse_prepare(void);
void rs_rouse_fork(bool begins); /* as rs_service_fork() */
/* Take what woke the descriptor, unless somebody sleeps on it. */
void rs_drain(struct rs_socket *s);
/*
 * For callers who look often and never sleep: the CQ each time, and the descriptor, which costs
 * system calls, when the connection is not made yet and now and then afterwards.
 */
void rs_glance(struct rs_socket *s);

uint64_t rs_now_ns(void);
/* Of @timeout_ms since @start; -1: no end. */
int rs_timeout_left(int timeout_ms, uint64_t start);
/* How long a waiter looks before it sleeps, unless the socket has learned otherwise. */
static inline uint64_t rs_spin_ns(void)
{
	return rs_defaults()->spin_us * 1000ull;
}

/* spin.c; with @lock held */
void rs_spin_init(struct rs_spin *spin);
/* A look found something, or nothing. Return: the processor is to be offered, without the lock. */
bool rs_spin_looked(struct rs_spin *spin, bool found);
/* The processor was offered, and came back after @ns with so many messages. */
void rs_spin_offered(struct rs_spin *spin, uint64_t ns, unsigned int messages);
/* Whether nobody takes it, as it was the last time. */
bool rs_spin_is_vain(struct rs_spin *spin);
/* Whether to look at all before sleep; asked once for each wait. */
bool rs_spin_begin(struct rs_spin *spin);
/* A wait is over after @ns, by looking or by sleep. */
void rs_spin_learn(struct rs_spin *spin, uint64_t ns, bool slept);

/* send.c */
/*
 * iWARP: who accepted sends nothing before the peer has: what comes right behind the answer to the
 * peer's request may end the connection. Our peers say a word at once, which on a busy host takes
 * its time, and others, of which many say nothing, are given a second.
 */
void rs_first_word_await(struct rs_socket *s);
/* Bytes that the send buffer takes in one piece; @lock is held. */
uint32_t rs_send_free(const struct rs_socket *s);
/* Copy so many to it. */
struct ibv_sge rs_send_copy(struct rs_socket *s, const void *bytes, uint32_t length);
/* A write of nothing, which is signalled; @lock is held. */
void rs_post_mark(struct rs_socket *s);
bool rs_can_send(struct rs_socket *s); /* or never will again */
/*
 * Somebody finds no room; @lock is held. A peer that is gone says nothing, and where nothing is
 * outstanding no request fails: so the service asks for it, as TCP does at a closed window.
 */
void rs_send_stalled(struct rs_socket *s);
int rs_shutdown(struct rs_socket *s, int how);

/* iomap.c */
/* Tell the peer of new mappings, by who has the turn to send. 0 or -errno */
int rs_iomap_tell(struct rs_socket *s, enum rs_wait wait);
void rs_iomap_destroy(struct rs_socket *s);

/* receive.c */
bool rs_can_receive(struct rs_socket *s); /* bytes, the end, or an error */

/* poll.c: POLL* of the socket now; with @lock held */
short rs_revents(struct rs_socket *s, short events);

/*
 * datagram.c, delivery.c: what a socket of datagrams does otherwise. The first ones take the lock
 * themselves.
 */
struct ds_received {
	struct sockaddr_storage name; /* of the sender, as the socket's domain has it */
	socklen_t name_size;	      /* 0: nobody sent anything */
	bool truncated;
};
int ds_create(struct rs_socket *s);
void ds_destroy(struct rs_socket *s);
int ds_bind(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_connect(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_shutdown(struct rs_socket *s, int how);
int ds_name(const struct rs_socket *s, bool peer, struct sockaddr *addr, socklen_t *size);
int ds_option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size);
int ds_option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size);
/* @addr: NULL: the peer */
ssize_t ds_send(struct rs_socket *s, const struct iovec *iov, int count, int flags,
		const struct sockaddr *addr, socklen_t size);
ssize_t ds_receive(struct rs_socket *s, const struct iovec *iov, int count, int flags,
		   struct ds_received *ret);
/* Until what was sent has left, but not longer. */
void ds_flush(struct rs_socket *s, int timeout_ms);
/* With @lock held. */
bool ds_has_queues(const struct rs_socket *s); /* its sizes count no more */
void ds_complete(struct rs_socket *s);
bool ds_arm(struct rs_socket *s);
void ds_drain(struct rs_socket *s);
bool ds_is_due(struct rs_socket *s); /* to be drained */
short ds_revents(struct rs_socket *s, short events);
int ds_bytes_waiting(const struct rs_socket *s); /* of the first datagram */
void ds_drop_all(struct rs_socket *s);

/* epoll.c */
void rs_watch_notify(struct rs_socket *s); /* something changed; @lock is held */
void rs_watch_end_all(struct rs_socket *s);
void rs_poller_close(struct rs_poller *p);
/* Somebody else than repoll_wait() is about to wait for that descriptor, if it is a poller's. */
void rs_poller_is_polled(int epfd);

static inline enum rs_wait rs_patience(const struct rs_socket *s, int flags)
{
	return atomic_load_explicit(&s->flags, memory_order_relaxed) & O_NONBLOCK ||
			       flags & MSG_DONTWAIT
		       ? RS_WAIT_NOT
		       : RS_WAIT;
}

#endif
