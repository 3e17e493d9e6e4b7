/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets over RDMA: the header of this folder. Included by the files of this folder only. They use
 * the public calls of librdmacm and libibverbs, and of the verbs core verbs_post_write_copy() and
 * verbs_qp_end_waits(). The files are on floors, and tests/contract/rooms/rsocket.plan has the
 * order: a file calls files of its own floor and of floors below. Two calls lead upwards by
 * pointers of the socket: the destruction of a file, and the work of the service thread.
 *
 *   wire.c          the wire format of a stream; pure
 *   credit.c        the permission to send: memory and numbers of messages; pure
 *   clock.c         the clock of waits
 *   state.c         failures of a socket
 *   vector.c        the check of vectored calls
 *   channel.c       the channel to the connection manager
 *   default.c       defaults of new sockets, from /etc/rdma/rsocket
 *   table.c         the table from a descriptor to its socket or poller, and references to them
 *   fork.c          the locks of this library during fork()
 *   cancel.c        threads that are cancelled, or interrupted by a signal handler
 *   waiter.c        threads that wait for the thread that sleeps
 *   rouse.c         ending the sleep of threads that wait for a socket
 *   service.c       the thread that accepts connections and keeps them alive
 *   keep.c          what this thread does for a connection
 *   post.c          posting of requests
 *   end.c           messages that end a connection
 *   buffer.c        memory, queues and queue pair of a connection
 *   mapping.c       mappings: memory that the peer writes to by offset
 *   iomap.c         the calls for mappings
 *   complete.c      completions and credits
 *   handshake.c     the states from a socket to a connection, at both ends
 *   event.c         the events of a socket, whether stream or datagram
 *   wait.c          waiting for completions and credits
 *   turn.c          the order of senders, and of receivers
 *   spin.c          how long a thread polls before it sleeps, and when it offers its processor
 *   option_row.c    the table of options
 *   option_value.c  values of options that a program has set
 *   option.c        the calls that set and get options
 *   kernel_option.c options without a meaning for RDMA, which the kernel checks
 *   control.c       flags and requests of descriptors
 *   socket.c        creation and destruction of a socket
 *   name.c          names of a socket and of its peer
 *   connect.c       the calls that bind and connect
 *   listener.c      the readiness of a listener
 *   accept.c        listening, and the queue of accepted connections
 *   send.c          sending
 *   receive.c       receiving
 *   shutdown.c      shutting down
 *   close.c         the end of a socket
 *   linger.c        closed sockets that still have data to deliver
 *   lingering.c     their number, and the wait for them at exit
 *   leave.c         sockets that are open when the process exits
 *   move.c          other numbers for a socket
 *   revents.c       the events that poll() reports
 *   poll.c          rpoll() and rselect()
 *   epoll.c         repoll
 *   watch.c         the sockets of a poller
 *   ready.c         the sockets that each wait of a poller polls
 *   datagram.h      datagram sockets, and the list of their files
 *
 * Locks, in the order in which they are taken:
 *   send_turn   one sender at a time: the free part of the send buffer
 *   recv_turn   one receiver at a time: the filled part of the receive buffer
 *   lock        everything else of the socket: state, CQ, credits, queue; never held in a system
 *               call that waits
 * A call finds a socket in the table and takes a reference. Therefore rclose() by another thread
 * does not free the socket under the call.
 *
 * Threads: the service thread (service.c), and one thread for each closed socket whose peer does
 * not take the remaining data yet. A thread that waits for a socket also takes the completions and
 * the events of the socket. If several threads wait, one sleeps in the kernel (@sleeper) and wakes
 * the others.
 *
 * The public descriptor is an epoll of the descriptors of the connection manager and of the
 * completion channel. It is readable if one of them has an event, which does not always mean POLLIN
 * for the socket.
 */
#ifndef RSOCKET_RS_H
#define RSOCKET_RS_H

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
#define RS_SIGNAL_INTERVAL 16 /* one of so many requests is signalled */

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

/* Kinds of a public descriptor. */
enum rs_kind {
	RS_SOCKET,
	RS_POLLER, /* of repoll_create() */
};

struct rs_file {
	int fd; /* public descriptor: an epoll */
	enum rs_kind kind;
	atomic_int refs;
	unsigned int process; /* rs_process() of the owner; a forked child has another number */
	bool keeps_number;    /* the descriptor is not closed with the file */
	void (*destroy)(struct rs_file *file); /* called when the last reference is put */
};

/* The right to send, or to receive. One thread holds it at a time. */
struct rs_turn {
	pthread_mutex_t lock;
	atomic_bool asleep; /* the holder waits for the peer */
	/* threads that wait for the holder; the count is too high after cancellations */
	atomic_uint awaiters;
};

/* How threads that wait for a socket poll before they sleep; see spin.c. */
struct rs_spin {
	uint64_t ns;	       /* time to poll before sleep */
	unsigned int vain;     /* polls since the last one with news or the last yield */
	unsigned int patience; /* limit of @vain; at this limit the processor is offered */
	bool yielded;	       /* the processor was offered before this poll */
	/* number of next waits that sleep at once, because other threads ran for long */
	unsigned int crowded;
	/* number of next waits that sleep without a last offer of the processor */
	unsigned int untaken;
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
	LIST_HEAD(, rs_watch) watches; /* of pollers */
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
	int linger_seconds;	  /* of SO_LINGER; -1: it is off */
	size_t receive_least;	  /* of SO_RCVLOWAT */
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
 * table.c: each rs_table_find() needs an rs_socket_put(). A forked child does not find the sockets
 * of its parent.
 */
int rs_table_add(struct rs_file *file);	 /* call rs_fork_watch() before */
struct rs_socket *rs_table_find(int fd); /* NULL: no RDMA socket */
/* Return the first socket from *fd on, with a reference, and set *fd to its number. For exit. */
struct rs_socket *rs_table_next(int *fd);
struct rs_poller *rs_table_find_poller(int fd);
/* Add a second number to an entry. Return: 0 or -errno. */
int rs_table_copy(struct rs_file *file, int fd);
/* Return another number of an entry, or -1. */
int rs_table_other(const struct rs_file *file, int fd);
/*
 * Return the poller with this number, which may belong to a parent, or NULL. Only compare the
 * pointer, because the caller has no reference.
 */
const void *rs_table_peek(int fd);
/* Give the file another number. Return: 0, or -errno. */
int rs_table_move(struct rs_file *file, int fd);
/* *ret_is_parents: the file belongs to a process that this one was forked from. */
struct rs_file *rs_table_remove(int fd, bool *ret_is_parents);

/* Return the number of forks between the first process and this one. */
unsigned int rs_process(void);

/* default.c */
struct rs_defaults {
	uint32_t rbuf_size, sbuf_size, sq_size, rq_size, inline_size;
	uint32_t mappings; /* number of mappings that a peer can make */
	uint32_t spin_us;  /* time to poll before a thread sleeps */
};
const struct rs_defaults *rs_defaults(void);

/*
 * cancel.c: cancellation. A public call begins with RS_CALL or RS_CALL_SLEEPY. Before a call
 * sleeps, it registers its lock and reference by rs_call_hold(). The function that sleeps installs
 * a cleanup handler, which undoes its own part and then calls rs_call_abandon().
 */
int rs_call_begin(void);	/* the thread cannot be cancelled */
int rs_call_begin_sleepy(void); /* the thread can be cancelled where it sleeps */
void rs_call_end(const int *state);
#define RS_CALL __attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin()
#define RS_CALL_SLEEPY \
	__attribute__((cleanup(rs_call_end), unused)) int call_ = rs_call_begin_sleepy()
/* The call holds a reference to @s, and @lock, which may be NULL. */
void rs_call_hold(struct rs_socket *s, pthread_mutex_t *lock);
/* The call holds a reference to @p. */
void rs_call_hold_poller(struct rs_poller *p);
void rs_call_abandon(void);
/* Return whether the call holds @lock. */
bool rs_call_holds(const pthread_mutex_t *lock);
/*
 * Return whether @lock is held by a sleeping call of this thread that a signal handler interrupted.
 */
bool rs_call_is_lent(const pthread_mutex_t *lock);
/*
 * Call these around the system call that sleeps. @leave: called before a signal handler runs. It
 * releases the locks that other threads wait for. @mask: the signal mask that the program asked
 * for, or NULL. rs_sleep_begin() returns the mask for the system call. rs_sleep_end() returns
 * whether @leave was called.
 */
const sigset_t *rs_sleep_begin(void (*leave)(void *arg), void *arg, const sigset_t *mask);
bool rs_sleep_end(void);
/*
 * Return whether the handlers that ran during the last sleep are known to resume calls, or to end
 * them.
 */
bool rs_sleep_restarts(void);
bool rs_sleep_interrupts(void);
/*
 * epoll_pwait(), for use between rs_sleep_begin() and rs_sleep_end(). It fails with EINTR only if a
 * handler ran. rs_sleep_begin() may block all signals. A signal that the program ignores, such as
 * SIGCHLD, then stays pending, and the kernel ends epoll_pwait() for it.
 */
int rs_sleep_epoll(int epfd, struct epoll_event *events, int max, int timeout_ms,
		   const sigset_t *mask);

/* turn.c */
void rs_turn_init(struct rs_turn *t);
void rs_turn_destroy(struct rs_turn *t);
/*
 * Return: 0; -EAGAIN: the holder waits for the peer, and the caller does not want to wait, or its
 * timeout has passed; -EINTR: a signal.
 */
int rs_turn_take(struct rs_socket *s, struct rs_turn *t, enum rs_wait wait);
void rs_turn_give(struct rs_socket *s, struct rs_turn *t);
/*
 * As rs_wait(), for the holder of the turn. @begun: the call is in the middle of its data and keeps
 * the turn. Otherwise the turn is given away during the wait, and after an error the call may have
 * lost it: rs_turn_give() checks.
 */
int rs_turn_wait(struct rs_socket *s, struct rs_turn *t, bool begun,
		 bool (*ready)(struct rs_socket *s), enum rs_wait wait, int timeout_ms);

/* service.c */
int rs_service_listen(struct rs_socket *s, void (*serve)(struct rs_socket *s));
void rs_service_unlisten(struct rs_socket *s);
void rs_service_pause(struct rs_socket *s, bool pause);
/* Send a keepalive every @keep_seconds. While @stalled, probe the peer every few seconds. */
int rs_service_keep(struct rs_socket *s);
void rs_service_forget(struct rs_socket *s);
/* Take the lock before a fork, or release it after the fork in both processes. */
void rs_service_fork(bool begins);

/* accept.c */
void rs_listener_step(struct rs_socket *s); /* called by the service */
/* Accept no more connections, and end the connections that wait for raccept(). */
int rs_listener_shutdown(struct rs_socket *s, int how);
/*
 * Make the descriptor of a listener unreadable until the next connection arrives, with @lock held.
 * Call it before a sleep of a caller that does not ask for the connections that wait.
 */
void rs_listener_hush(struct rs_socket *s);
void rs_listener_close(struct rs_socket *s);

/* socket.c */
/* Check a vector by the kernel's rules: 0 or -EINVAL. */
int rs_vector_check(const struct iovec *iov, int count);
static inline size_t rs_vector_size(const struct iovec *iov, int count)
{
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += iov[i].iov_len;
	return size;
}
/*
 * @id: identifier of an incoming connection, or NULL for a new socket. On success the socket owns
 * it.
 */
int rs_socket_new(int domain, int flags, struct rdma_cm_id *id, struct rs_socket **ret_socket);
/* Create a datagram socket. */
int rs_socket_new_datagram(int domain, int flags, struct rs_socket **ret_socket);
/* Create the event channel. A datagram socket needs none until it resolves the route to a peer. */
int rs_channel_create(struct rs_socket *s);
/* Copy a name in the form of the socket's domain. Return: 0 or -errno. */
int rs_name_copy(const struct rs_socket *s, const struct sockaddr *from, struct sockaddr *addr,
		 socklen_t *addrlen);
/* table.c: put a reference. The last one destroys the file. */
void rs_file_put(struct rs_file *file);
static inline void rs_socket_put(struct rs_socket *s)
{
	rs_file_put(&s->file);
}
void rs_socket_fail(struct rs_socket *s, int error);
/* Note that a call returns @r. If @r counts bytes, the next call reports the error behind them. */
void rs_error_told(struct rs_socket *s, ssize_t r);
/* Deliver the remaining data and the end of the stream within a limit of time. */
void rs_socket_deliver(struct rs_socket *s);
/*
 * End the socket and put the reference. A peer that is in the middle of a copy, and is stopped,
 * delays this call until it continues or ends.
 */
void rs_socket_end(struct rs_socket *s);
/* Do the same. If a peer is in the middle of a copy, a thread does it. */
void rs_socket_finish(struct rs_socket *s);

/* Return whether all requests and the message of the end have completed, or the peer has gone. */
bool rs_all_is_there(struct rs_socket *s);

/* leave.c: end the sockets that are open when the process exits. */
void rs_leave(void) __attribute__((destructor));

/* linger.c: deliver the data and end the socket in a new thread, or here if there is none. */
void rs_linger(struct rs_socket *s);
/* lingering.c: count the sockets that deliver data, and all sockets that threads end. */
void rs_lingering_begin(void);
void rs_lingering_add(int delivering, int count);
void rs_linger_fork(bool begins); /* as rs_service_fork() */
/* fork.c: take the locks of this library around each fork() from now on. */
void rs_fork_watch(void);
void rs_table_fork(bool begins); /* as rs_service_fork() */
void rs_table_fork_child(void);

/* connect.c; with @lock held. Handle the events of the connection manager, without waiting. */
void rs_connect_step(struct rs_socket *s);
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
bool rs_connect_is_settled(struct rs_socket *s);
/* End the connection to a peer that did not acknowledge a request. */
void rs_silence_settle(struct rs_socket *s);
/* Return whether an RDMA listener can have the address, with another port. */
bool rs_is_bindable(struct rs_socket *s, const struct sockaddr *addr, socklen_t addrlen);
/*
 * End a connect that is under way. Its caller gets ECONNRESET. Return: whether there was a connect.
 */
bool rs_connect_end(struct rs_socket *s);
/*
 * Wait until the connection is made or failed, or until @settled returns true, if @wait allows. 0:
 * the attempt has ended.
 */
int rs_connect_finish(struct rs_socket *s, bool (*settled)(struct rs_socket *s), enum rs_wait wait);

/* buffer.c: return 0, or log the error and return -errno */
int rs_buffer_create(struct rs_socket *s);
void rs_buffer_destroy(struct rs_socket *s);
struct rs_wire_data rs_buffer_describe(const struct rs_socket *s);
void rs_buffer_start(struct rs_socket *s, const struct rs_wire_data *peer);
/* Post up to RS_REPOST_MAX receives with one call. Return: 0 or a positive errno. */
int rs_receives_post(struct rs_socket *s, unsigned int count);
/*
 * Return the number of receives: one for each credit of the peer, and spare ones, because control
 * messages need no credit.
 */
static inline unsigned int rs_receives(const struct rs_socket *s)
{
	return s->rq_size + RS_RECEIVES_SPARE;
}

/* complete.c; with @lock held */
/* Poll the CQ until it is empty. */
void rs_completions_take(struct rs_socket *s);
unsigned int rs_cq_poll(struct rs_socket *s); /* poll once. Return: the number of completions */
void rs_stream_complete(struct rs_socket *s); /* poll the CQ of a stream, and grant credits */
void ds_complete(struct rs_socket *s);
static inline void rs_complete(struct rs_socket *s)
{
	if (s->ds)
		ds_complete(s);
	else
		rs_stream_complete(s);
}
void rs_consumed(struct rs_socket *s); /* grant credits, after bytes were taken */
/* State that a program can see. */
struct rs_seen {
	bool can_send, peer_end;
	enum rs_state state;
	uint64_t received;
};
struct rs_seen rs_seen(struct rs_socket *s);
/*
 * Return whether the program has news. Completed sends and new credits are news only if the program
 * could not send before.
 */
bool rs_is_news(struct rs_socket *s, const struct rs_seen *before);
/* post.c; with @lock held. Post one request. The caller has checked rs_slots_free(). */
int rs_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control);
/* Post a message of data. @from: its bytes if they are not in the memory of @wr yet, or NULL. */
int rs_post_data(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, const void *from);
int rs_post_control(struct rs_socket *s, enum rs_wire_control control);
static inline unsigned int rs_slots_free(const struct rs_socket *s)
{
	return s->sq_size - (s->posted - s->done);
}
/*
 * wait.c: wait until @ready, which is called with @lock held. -EAGAIN: not ready, and the caller
 * does not want to wait, or @timeout_ms passed (-1: no limit). -EINTR: a signal.
 */
int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms);
/* waiter.c; with @lock held, which is released during the wait. Return: 0 or -EINTR. */
int rs_waiter_wait(struct rs_socket *s, enum rs_wait wait, int timeout_ms);
void rs_waiters_wake(struct rs_socket *s); /* something changed */
/*
 * complete.c again: arm the CQ. Its next completion makes the descriptor readable. False: a
 * completion came in between, so poll again.
 */
bool rs_arm(struct rs_socket *s);
/*
 * Wake all threads that sleep on the descriptor, without a completion. A local shutdown needs this,
 * because a stopped peer may never cause a completion.
 */
void rs_rouse(struct rs_socket *s);
void rs_rouse_end(struct rs_socket *s);
/* Call before a socket is made. Return: 0 or -errno. */
int rs_rouse_prepare(void);
void rs_rouse_fork(bool begins); /* as rs_service_fork() */
/* Take the events that made the descriptor readable, unless a thread sleeps on it. */
void rs_drain(struct rs_socket *s);
/*
 * Poll for callers that call often and never sleep: the CQ each time, and the descriptor, which
 * costs system calls, only while the connection is being made and once in a while afterwards.
 */
void rs_glance(struct rs_socket *s);
bool rs_is_due(struct rs_socket *s); /* time for rs_drain() */

/* wait.c again */
uint64_t rs_now_ns(void);
/* Return the rest of @timeout_ms since @start; -1: no limit. */
int rs_timeout_left(int timeout_ms, uint64_t start);
/* Return how long a waiter polls before it sleeps, unless the socket has learned another time. */
static inline uint64_t rs_spin_ns(void)
{
	return rs_defaults()->spin_us * 1000ull;
}

/* spin.c; with @lock held */
void rs_spin_init(struct rs_spin *spin);
/* Learn whether a poll found something. Return: offer the processor now, without the lock. */
bool rs_spin_looked(struct rs_spin *spin, bool found);
/* Learn that the processor was offered and came back after @ns, with that many messages. */
void rs_spin_offered(struct rs_spin *spin, uint64_t ns, unsigned int messages);
/* Return whether to skip the offer, because no other thread ran at the last ones. */
bool rs_spin_is_vain(struct rs_spin *spin);
/* Return whether to poll at all before sleep. Called once for each wait. */
bool rs_spin_begin(struct rs_spin *spin);
/* Learn that a wait ended after @ns, by polling or by sleep. */
void rs_spin_learn(struct rs_spin *spin, uint64_t ns, bool slept);

/* send.c */
/*
 * Wait for the first message of the peer, on the accepting side of iWARP. Data that arrives right
 * behind the answer to the peer's request may end the connection. Our peers send a message at once,
 * which may take long on a busy host. Other peers may send none: wait one second for them.
 */
void rs_first_word_await(struct rs_socket *s);
/* Return the bytes that the send buffer takes in one piece. @lock is held. */
uint32_t rs_send_free(const struct rs_socket *s);
/* Copy @length bytes into the send buffer. */
struct ibv_sge rs_send_copy(struct rs_socket *s, const void *bytes, uint32_t length);
/* Post a signalled write without data. @lock is held. */
void rs_post_mark(struct rs_socket *s);
/*
 * Note that a sender finds no room. @lock is held. A dead peer sends no messages, and without an
 * outstanding request no request can fail. Therefore the service probes the peer, as TCP does at a
 * closed window.
 */
void rs_send_stalled(struct rs_socket *s);
int rs_shutdown(struct rs_socket *s, int how);
/*
 * With @lock held: return whether the socket was shut down before the peer could be told. The
 * handshake still goes on. Therefore the end follows after it, as with TCP.
 */
bool rs_end_is_due(const struct rs_socket *s);
int rs_end_tell(struct rs_socket *s, int how); /* with @lock held; @how: as shutdown() */
/* keep.c: what the service does for a connection */
void rs_keep(struct rs_socket *s);
void rs_end_tell_late(struct rs_socket *s); /* with @lock held; no action if the peer was told */
/*
 * option_value.c: let an accepted socket have the options that the program has set on its listener.
 * Return: 0 or -ENOMEM.
 */
int rs_options_inherit(struct rs_socket *child, const struct rs_socket *listener);
void rs_options_free(struct rs_socket *s);
/*
 * move.c: an accepted socket has a high number until raccept() moves it to the lowest free number.
 * Return: the number.
 */
int rs_number_lowest(struct rs_socket *s);
/*
 * Wake the threads that sleep on the number, and wait until they have left. New sleeps wait until
 * @moving is false. With @lock held, which is released meanwhile.
 */
void rs_sleepers_end(struct rs_socket *s);
bool rs_is_accepted(struct rs_socket *s); /* the handshake at the accepting side has ended */

/* iomap.c */
/* Tell the peer of new mappings. The caller has the turn to send. Return: 0 or -errno. */
int rs_iomap_tell(struct rs_socket *s, enum rs_wait wait);
void rs_iomap_destroy(struct rs_socket *s);
void rs_mapping_free(struct rs_mapping *m);

/* receive.c */
/* Return the bytes that can be received; with @lock held. */
static inline size_t rs_waiting(const struct rs_socket *s)
{
	return rs_credit_waiting(&s->in);
}
/*
 * Return whether there are as many bytes as SO_RCVLOWAT asks for or the buffer can hold, the end,
 * or an error.
 */

/* poll.c: return POLL* of the socket now; with @lock held */
short rs_revents(struct rs_socket *s, short events);

/*
 * datagram.c, delivery.c: the forms of the calls for datagrams. The functions up to ds_has_queues()
 * take the lock themselves.
 */
struct ds_received {
	struct sockaddr_storage name; /* of the sender, in the form of the socket's domain */
	socklen_t name_size;	      /* 0: no sender */
	bool truncated;
	size_t control_size;
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
			      CMSG_SPACE(sizeof(struct in_pktinfo)) + 4 * CMSG_SPACE(sizeof(int))];
	} control;
};
int ds_create(struct rs_socket *s);
void ds_destroy(struct rs_socket *s);
int ds_bind(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_connect(struct rs_socket *s, const struct sockaddr *addr, socklen_t size);
int ds_shutdown(struct rs_socket *s, int how);
int ds_name(const struct rs_socket *s, bool peer, struct sockaddr *addr, socklen_t *size);
int ds_option_set(struct rs_socket *s, int level, int name, const void *value, socklen_t size);
int ds_option_get(struct rs_socket *s, int level, int name, void *value, socklen_t *size);
/* @msg: a message without a name goes to the connected peer */
ssize_t ds_send(struct rs_socket *s, const struct msghdr *msg, int flags);
ssize_t ds_receive(struct rs_socket *s, const struct iovec *iov, int count, int flags,
		   struct ds_received *ret);
/* Wait until all sends completed, at most @timeout_ms. */
void ds_flush(struct rs_socket *s, int timeout_ms);
/* With @lock held. */
bool ds_has_queues(const struct rs_socket *s); /* its sizes can no longer change */
void ds_complete(struct rs_socket *s);
bool ds_arm(struct rs_socket *s);
void ds_drain(struct rs_socket *s);
short ds_revents(struct rs_socket *s, short events);
/* Copy the control messages, and set MSG_CTRUNC if the room is too small. */
void ds_ancillary_give(const struct ds_received *from, struct msghdr *msg);
int ds_bytes_waiting(const struct rs_socket *s); /* bytes of the first datagram */
void ds_drop_all(struct rs_socket *s);

/* epoll.c, watch.c */
void rs_watch_notify(struct rs_socket *s); /* report that the state changed; @lock is held */
void rs_watch_end_all(struct rs_socket *s);
/* Close a number of a poller. Closing the last number ends the poller. */
void rs_poller_close(struct rs_poller *p, int fd);
/*
 * Note that poll() or another epoll is about to wait for that descriptor. Ignored if it is no
 * poller.
 */
void rs_poller_is_polled(int epfd);

static inline enum rs_wait rs_patience(const struct rs_socket *s, int flags)
{
	return atomic_load_explicit(&s->flags, memory_order_relaxed) & O_NONBLOCK ||
			       flags & MSG_DONTWAIT
		       ? RS_WAIT_NOT
		       : RS_WAIT;
}

#endif
