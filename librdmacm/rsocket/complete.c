/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions, the credits that they bring or make due, and waiting for completions. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "libibverbs/provider.h"
#include "librdmacm/rsocket/rs.h"

#define POLL_BATCH 16
#define GLANCES	   64 /* one of so many glances also checks the descriptor */
#define GLANCE_NS  50000ull
#define ACK_BATCH  64

uint64_t rs_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int rs_timeout_left(int timeout_ms, uint64_t start)
{
	uint64_t passed;

	if (timeout_ms < 0)
		return -1;
	passed = (rs_now_ns() - start) / 1000000;
	return passed >= (uint64_t)timeout_ms ? 0 : timeout_ms - (int)passed;
}

/*
 * Post a message on iWARP, which has no immediate data. A send carries the immediate as a word in
 * the sender's byte order, behind the write that it describes. Write and send count as one request.
 */
static int word_post(struct rs_socket *s, struct ibv_send_wr *write)
{
	uint32_t word = be32toh(write->imm_data);
	struct ibv_sge sge = { .addr = (uintptr_t)&word, .length = sizeof(word) };
	struct ibv_send_wr send = {
		.wr_id = write->wr_id,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | (write->send_flags & IBV_SEND_SIGNALED),
		.sg_list = &sge,
		.num_sge = 1,
	};
	struct ibv_send_wr *bad;

	if (!write->num_sge)
		return ibv_post_send(s->id->qp, &send, &bad);
	write->opcode = IBV_WR_RDMA_WRITE;
	write->send_flags &= ~IBV_SEND_SIGNALED;
	write->next = &send;
	return ibv_post_send(s->id->qp, write, &bad);
}

static int request_post(struct rs_socket *s, struct ibv_send_wr *wr, const void *from)
{
	struct ibv_send_wr *bad;

	if (from)
		return verbs_post_write_copy(s->id->qp, wr, from);
	if (unlikely(s->sends_words) && wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		return word_post(s, wr);
	return ibv_post_send(s->id->qp, wr, &bad);
}

static int counted_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control,
			const void *from)
{
	bool rare = rs_slots_free(s) < s->sq_size / 4 ||
		    s->sbuf_size - (s->sbuf_head - s->sbuf_tail) < s->sbuf_size / 4;
	int r;

	wr->wr_id = s->posted;
	if (control || rare || s->unsignalled + 1 >= RS_SIGNAL_INTERVAL) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		s->unsignalled = 0;
	} else {
		s->unsignalled++;
	}
	r = request_post(s, wr, from);
	if (unlikely(r)) {
		rs_socket_fail(s, r);
		return -r;
	}
	s->slots[s->posted % s->sq_size] = (struct rs_slot){ bytes, control };
	s->posted++;
	if (!control)
		s->data_end = s->posted;
	s->controls += control;
	return 0;
}

int rs_post(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, bool control)
{
	return counted_post(s, wr, bytes, control, NULL);
}

int rs_post_data(struct rs_socket *s, struct ibv_send_wr *wr, uint32_t bytes, const void *from)
{
	return counted_post(s, wr, bytes, false, from);
}

/* Complete all requests up to @number. */
static void sends_done(struct rs_socket *s, uint32_t number)
{
	if (number - s->done >= s->posted - s->done)
		return;
	while (s->done != number + 1) {
		const struct rs_slot *slot = &s->slots[s->done % s->sq_size];

		s->sbuf_tail += slot->bytes;
		s->controls -= slot->control;
		s->done++;
	}
}

/*
 * Take the entry of the peer. The peer wrote it before it sent the message that has just arrived.
 */
static void entry_take(struct rs_socket *s)
{
	volatile struct rs_wire_entry *entry = &s->entries[s->entry];
	struct rs_target target = { .length = entry->length };

	if (!target.length)
		return;
	atomic_thread_fence(memory_order_acquire);
	target.key = entry->key;
	target.addr = entry->addr;
	entry->length = 0;
	s->entry = (s->entry + 1) % RS_WIRE_ENTRIES;
	if (rs_credit_granted(&s->out, &target) < 0) {
		rs_err(s, "the peer grants more memory than a stream has: connection given up");
		rs_socket_fail(s, EPROTO);
	}
}

static void control_arrived(struct rs_socket *s, uint32_t control)
{
	switch (control) {
	case RS_WIRE_DISCONNECT:
		s->peer_end = true;
		if (s->state == RS_CONNECTED)
			s->state = RS_CLOSED;
		break;
	case RS_WIRE_SHUTDOWN:
		s->peer_end = true;
		/* a thread that is about to end this side must still tell the peer */
		if (s->end_told && s->state == RS_CONNECTED)
			s->state = RS_CLOSED;
		break;
	default: /* keepalive: no action */
		break;
	}
}

static void message_arrived(struct rs_socket *s, uint32_t imm)
{
	uint32_t value = rs_wire_value(imm);

	s->unheard = false;
	switch (rs_wire_op(imm)) {
	case RS_WIRE_BYTES:
		if (rs_credit_arrived(&s->in, value) < 0) {
			rs_err(s,
			       "the peer sent %u bytes that it had no room for: connection given up",
			       value);
			rs_socket_fail(s, EPROTO);
		}
		break;
	case RS_WIRE_CREDIT:
		rs_credit_limit(&s->out, value);
		entry_take(s);
		break;
	case RS_WIRE_CONTROL:
		control_arrived(s, value);
		break;
	case RS_WIRE_MAPPING: /* read the entry at its next use; only count the receive */
		s->in.messages++;
		break;
	default: /* ignore unknown messages */
		break;
	}
}

/* Return the message of a receive. False: the receive has no message, so ignore it. */
static bool message_take(struct rs_socket *s, const struct ibv_wc *wc, uint32_t *ret_message)
{
	uint32_t word;

	*ret_message = be32toh(wc->imm_data);
	if (likely(!s->sends_words))
		return wc->wc_flags & IBV_WC_WITH_IMM;
	word = s->words[s->words_taken++ % rs_receives(s)];
	*ret_message = s->swapped ? __builtin_bswap32(word) : word;
	return wc->byte_len == sizeof(word);
}

_Static_assert(POLL_BATCH <= RS_REPOST_MAX, "one call for what one poll brought");

static void completion_failed(struct rs_socket *s, const struct ibv_wc *wc)
{
	s->broken = true;
	if (s->state != RS_CONNECTED)
		return;
	/* the connection ended, and its event reports that */
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (wc->status == IBV_WC_RETRY_EXC_ERR) {
		s->silent = true; /* the cause may be known later: see rs_complete() */
		return;
	}
	rs_err(s, "%s (vendor_err 0x%x): connection given up", ibv_wc_status_str(wc->status),
	       wc->vendor_err);
	rs_socket_fail(s, EIO);
}

/* State that a program can see, before a batch of completions. */
struct before {
	bool can_send, peer_end;
	enum rs_state state;
	uint64_t received;
};

static struct before before_of(struct rs_socket *s)
{
	return (struct before){ rs_can_send(s), s->peer_end, s->state, s->in.received };
}

/*
 * Return whether the program has news. Completed sends and new credits are news only if the program
 * could not send before.
 */
static bool is_news(struct rs_socket *s, const struct before *before)
{
	return s->in.received != before->received || s->peer_end != before->peer_end ||
	       s->state != before->state || (!before->can_send && rs_can_send(s));
}

static unsigned int cq_poll(struct rs_socket *s)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int received = 0;
	struct before before;
	uint32_t message;
	int n = ibv_poll_cq(s->cq, POLL_BATCH, wc);

	if (n < 0)
		rs_socket_fail(s, EIO);
	if (n <= 0)
		return 0;
	before = before_of(s);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			completion_failed(s, &wc[i]);
		} else if (wc[i].opcode & IBV_WC_RECV) {
			received++;
			if (message_take(s, &wc[i], &message))
				message_arrived(s, message);
		} else {
			sends_done(s, wc[i].wr_id);
		}
	}
	s->changes += is_news(s, &before);
	if (received && s->state == RS_CONNECTED && rs_receives_post(s, received))
		rs_socket_fail(s, EIO);
	return n;
}

/* ---- granting credits ---- */

static void credit_send(struct rs_socket *s)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct rs_target half;
	struct rs_wire_entry entry;
	struct ibv_sge sge;

	if (rs_credit_can_grant(&s->in)) {
		half = (struct rs_target){
			.addr = (uintptr_t)s->rbuf + rs_credit_grant(&s->in),
			.key = s->rmr->rkey,
			.length = s->rbuf_size / 2,
		};
		entry = rs_wire_entry(&half, s->swapped);
		sge = (struct ibv_sge){ .addr = (uintptr_t)&entry, .length = sizeof(entry) };
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_INLINE;
		wr.wr.rdma.remote_addr = s->peer_list.addr + s->peer_entry * sizeof(entry);
		wr.wr.rdma.rkey = s->peer_list.key;
		s->peer_entry = (s->peer_entry + 1) % s->peer_list.length;
	}
	wr.imm_data = htobe32(rs_wire_imm(RS_WIRE_CREDIT, rs_credit_tell(&s->in)));
	rs_post(s, &wr, 0, true);
}

static void credits_give(struct rs_socket *s)
{
	while (s->state == RS_CONNECTED && !s->no_recv && s->controls < RS_CONTROL_MAX &&
	       rs_slots_free(s) && (rs_credit_can_grant(&s->in) || rs_credit_is_due(&s->in)))
		credit_send(s);
}

void rs_consumed(struct rs_socket *s)
{
	credits_give(s);
	/* The rest of the receives may only wait for the completion of earlier requests. */
	if (s->state == RS_CONNECTED && (rs_credit_can_grant(&s->in) || rs_credit_is_due(&s->in)))
		rs_complete(s);
}

int rs_post_control(struct rs_socket *s, enum rs_wire_control control)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(rs_wire_imm(RS_WIRE_CONTROL, control)),
	};

	return rs_post(s, &wr, 0, true);
}

void rs_completions_take(struct rs_socket *s)
{
	/* Completions stay in the CQ until the connection is made. */
	if (!s->cq || rs_is_opening(s))
		return;
	while (cq_poll(s) == POLL_BATCH)
		;
}

void rs_complete(struct rs_socket *s)
{
	if (s->ds) {
		ds_complete(s);
		return;
	}
	rs_completions_take(s);
	if (unlikely(s->silent))
		rs_silence_settle(s);
	credits_give(s);
}

/* ---- waiting ---- */

bool rs_arm(struct rs_socket *s)
{
	if (s->ds)
		return ds_arm(s);
	if (s->armed || !s->cq)
		return true;
	s->armed = true;
	ibv_req_notify_cq(s->cq, 0);
	/*
	 * A completion before the arming causes no event, so poll for it. Completions stay in the
	 * CQ until the connection is made.
	 */
	return rs_is_opening(s) || cq_poll(s) == 0;
}

/* Take the event of the CQ. Each arming causes one event. */
static bool event_take(struct rs_socket *s)
{
	struct ibv_cq *cq;
	void *context;

	if (!s->armed || ibv_get_cq_event(s->comp, &cq, &context) < 0)
		return false;
	s->armed = false;
	if (++s->unacked == ACK_BATCH) {
		ibv_ack_cq_events(s->cq, s->unacked);
		s->unacked = 0;
	}
	return true;
}

void rs_drain(struct rs_socket *s)
{
	if (s->sleeper)
		return;
	s->looked = rs_now_ns();
	/* A thread checks the state again before it sleeps. */
	if (!s->pollers && !s->moving)
		rs_rouse_end(s);
	if (s->ds) {
		ds_drain(s);
		return;
	}
	/*
	 * Do not check the connection manager as well, because that costs two system calls. Its
	 * events keep the descriptor readable.
	 */
	if (!event_take(s)) {
		rs_connect_step(s);
		return;
	}
	/* The event is taken. Therefore wake the other threads that wait for the socket. */
	rs_watch_notify(s);
	if (s->pollers)
		rs_rouse(s);
}

bool rs_is_due(struct rs_socket *s)
{
	return ++s->looks % GLANCES == 0 || rs_now_ns() - s->looked > GLANCE_NS;
}

void rs_glance(struct rs_socket *s)
{
	if ((!s->ds && (s->state != RS_CONNECTED || s->broken)) || rs_is_due(s))
		rs_drain(s);
	rs_complete(s);
}

/*
 * Return whether a signal ends a call without a timeout. It does not if all handlers of the process
 * have SA_RESTART. The library does not know which handler ran. It was no handler of a synchronous
 * fault.
 */
static bool signal_interrupts(void)
{
	sigset_t mistakes;

	if (rs_sleep_restarts() || rs_sleep_interrupts())
		return rs_sleep_interrupts();
	sigemptyset(&mistakes);
	sigaddset(&mistakes, SIGSEGV);
	sigaddset(&mistakes, SIGBUS);
	sigaddset(&mistakes, SIGFPE);
	sigaddset(&mistakes, SIGILL);
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;

		if (sigismember(&mistakes, number) || sigaction(number, NULL, &action) < 0)
			continue;
		if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
		    !(action.sa_flags & SA_RESTART))
			return true;
	}
	return false;
}

/* Stop sleeping for the socket, so that another thread can. */
static void sleep_leave(void *arg)
{
	struct rs_socket *s = arg;

	pthread_mutex_lock(&s->lock);
	s->sleeper = false;
	rs_drain(s);
	rs_waiters_wake(s);
	pthread_mutex_unlock(&s->lock);
}

static void sleep_cancelled(void *arg)
{
	sleep_leave(arg);
	rs_call_abandon();
}

/*
 * Wait in the socket's epoll @fd, which costs less than poll() on its descriptor. *ret_left: set if
 * sleep_leave() was called.
 */
static int descriptor_wait(struct rs_socket *s, int fd, enum rs_wait wait, int timeout_ms,
			   bool *ret_left)
{
	bool ends = wait != RS_WAIT_ALWAYS;
	const sigset_t *mask = ends ? rs_sleep_begin(sleep_leave, s, NULL) : NULL;
	struct epoll_event event;
	int r = ends ? rs_sleep_epoll(fd, &event, 1, timeout_ms, mask)
		     : epoll_wait(fd, &event, 1, timeout_ms);

	r = r < 0 && errno == EINTR && (timeout_ms >= 0 || signal_interrupts()) ? -EINTR : 0;
	*ret_left = ends && rs_sleep_end();
	return r;
}

/* Sleep for the socket until its descriptor is readable. @lock is released meanwhile. */
static int socket_sleep(struct rs_socket *s, enum rs_wait wait, int timeout_ms)
{
	int r, fd = s->file.fd;
	bool left;

	s->sleeper = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cleanup_push(sleep_cancelled, s);
	r = descriptor_wait(s, fd, wait, timeout_ms, &left);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&s->lock);
	if (left) /* another thread may already sleep for the socket */
		return r;
	s->sleeper = false;
	rs_drain(s);
	rs_waiters_wake(s);
	return r;
}

/* Offer the processor to other threads. @lock is released meanwhile. */
static void processor_offer(struct rs_socket *s)
{
	uint16_t messages = s->in.messages;
	uint64_t begun = rs_now_ns(), ns;

	pthread_mutex_unlock(&s->lock);
	sched_yield();
	ns = rs_now_ns() - begun;
	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	rs_spin_offered(&s->spin, ns, (uint16_t)(s->in.messages - messages));
}

/* Let other threads have the lock, then poll again. */
static void look_again(struct rs_socket *s)
{
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->lock);
	rs_complete(s);
}

/*
 * Poll until @ready, or until sleep is cheaper. Offer the processor before the last poll. If
 * another thread takes it, that costs less than sleep.
 */
static bool spin(struct rs_socket *s, bool (*ready)(struct rs_socket *s), uint64_t start)
{
	bool last = false;

	for (;;) {
		bool found = ready(s), offer = rs_spin_looked(&s->spin, found);

		if (found || last)
			return found;
		last = !(s->cq || s->ds) || rs_now_ns() - start >= s->spin.ns;
		if (last && rs_spin_is_vain(&s->spin))
			return false;
		s->spin.yielded |= last;
		if (offer || last)
			processor_offer(s);
		else
			look_again(s);
	}
}

/* Wait once, with @lock held before and after. */
static int wait_once(struct rs_socket *s, enum rs_wait wait, int left)
{
	if (unlikely(s->moving)) {
		processor_offer(s);
		return 0;
	}
	if (s->sleeper)
		return rs_waiter_wait(s, wait, left);
	if (rs_arm(s))
		return socket_sleep(s, wait, left);
	return 0;
}

static int wait_long(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
		     int timeout_ms)
{
	uint64_t start = rs_now_ns();
	bool slept = false;
	int r = 0, left;

	if (rs_spin_begin(&s->spin) && spin(s, ready, start)) {
		rs_spin_learn(&s->spin, rs_now_ns() - start, false);
		return 0;
	}
	for (;; slept = true) {
		rs_complete(s);
		if (ready(s)) {
			if (slept)
				rs_spin_learn(&s->spin, rs_now_ns() - start, true);
			return 0;
		}
		left = rs_timeout_left(timeout_ms, start);
		if (left == 0)
			return -EAGAIN;
		if (r < 0 && wait != RS_WAIT_ALWAYS)
			return r;
		r = wait_once(s, wait, left);
	}
}

int rs_wait(struct rs_socket *s, bool (*ready)(struct rs_socket *s), enum rs_wait wait,
	    int timeout_ms)
{
	bool offer = false;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	if (ready(s)) {
		rs_spin_looked(&s->spin, true);
	} else {
		if (wait == RS_WAIT_NOT) {
			rs_glance(s);
			r = ready(s) ? 0 : -EAGAIN;
			offer = rs_spin_looked(&s->spin, !r);
		} else {
			r = wait_long(s, ready, wait, timeout_ms);
		}
	}
	if (s->waiters)
		rs_waiters_wake(s);
	if (offer) /* a thread that polls without a pause delays the thread that it waits for */
		processor_offer(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}
