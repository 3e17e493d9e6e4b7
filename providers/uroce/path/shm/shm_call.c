/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handshake of the process that wants a peer. An attempt is a connection to the listener of the
 * peer's slot, a message, and an answer, which the thread that watches reads. Only a thread that
 * wants to use the peer waits for the answer: shm_waiter.c.
 */
#include <unistd.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_ptracer.h"

enum {
	CALL_DONE = 1, /* the attempt has succeeded without an answer */
};

bool shm_connects_first(const struct uroce_shm *shm, uint16_t slot)
{
	return shm->host->slot < slot;
}

bool uroce_shm_agreed(int r)
{
	return r == -ENOENT || r == -EPERM || r == -EOPNOTSUPP;
}

/* Change a local error that looks like an answer of the other process. */
static int own_error(int r)
{
	return uroce_shm_agreed(r) ? -EACCES : r;
}

bool shm_is_own_lack(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -EACCES || r == -EIO;
}

/*
 * Keep a refusal by either process while both live, because a QP may have chosen its path
 * accordingly.
 */
static void refusal_keep(struct shm_call *call, pid_t pid)
{
	atomic_store_explicit(&call->refused, pid + 1, memory_order_relaxed);
}

/* Return the slot of a place; see shm_call_place(). */
static uint16_t place_slot(unsigned int place)
{
	unsigned int further = place - UROCE_FIRST_SLOTS;

	return place < UROCE_FIRST_SLOTS
		       ? place
		       : UROCE_FIRST_SLOTS + (further % SHM_FURTHER << UROCE_FAMILY_BITS) +
				 further / SHM_FURTHER;
}

struct shm_call *shm_call_of(struct uroce_shm *shm, uint16_t slot)
{
	struct shm_call *known = uroce_shm_call_known(shm, slot), *none = NULL, *calls;
	unsigned int group = shm_call_place(slot) / SHM_CALLS;

	if (known)
		return known;
	calls = malloc(SHM_CALLS * sizeof(*calls));
	if (!calls)
		return NULL;
	for (unsigned int i = 0; i < SHM_CALLS; i++)
		calls[i] = (struct shm_call){ .slot = place_slot(group * SHM_CALLS + i),
					      .conn = -1,
					      .process = -1,
					      .incoming = -1 };
	if (!atomic_compare_exchange_strong(&shm->calls[group], &none, calls))
		free(calls); /* another thread was faster */
	return uroce_shm_call_known(shm, slot);
}

int shm_call_admit(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid, int *ret_process)
{
	struct shm_call *call = shm_call_of(shm, slot);
	_cleanup_close_ int process = -1;
	int r = call ? shm_peer_admit(shm, conn, ret_pid, &process) : -ENOMEM;

	if (r == -EPERM)
		refusal_keep(call, *ret_pid);
	else if (!r && atomic_load_explicit(&call->refused, memory_order_relaxed) == *ret_pid + 1)
		r = -EPERM;
	*ret_process = r < 0 ? -1 : take_fd(&process);
	return r;
}

/* Enter a further slot of a peer. */
static void slot_enter(struct uroce_shm *shm, uint16_t slot, struct shm_peer *peer)
{
	peer->has_more = true;
	atomic_store_explicit(&shm->by_slot[slot], peer, memory_order_release);
}

/* --- an attempt; under shm->lock --- */

void shm_call_end(struct uroce_shm *shm, uint16_t slot, int r)
{
	struct shm_call *call = uroce_shm_call_known(shm, slot);

	if (!call)
		return;
	if (call->conn >= 0) {
		shm->host->events->unwatch(shm->host, call->conn);
		shm_fd_forget(&call->conn);
	}
	if (call->peer)
		shm_peer_free(take_ptr(&call->peer));
	shm_fd_forget(&call->process);
	shm_fd_forget(&call->incoming);
	call->by_incoming = false;
	if (r < 0)
		shm_call_wish_end(shm, slot);
	call->result = r;
	call->ended++;
	/*
	 * Wake the waiters only if there are any: hundreds of attempts may end while a thread waits
	 * for one.
	 */
	if (call->waiters)
		pthread_cond_broadcast(&shm->changed);
}

static int call_ask(struct uroce_shm *shm, struct shm_call *call)
{
	struct hello hello;

	shm_hello_fill(shm, &hello, ASK, call->slot);
	return shm_hello_send(call->conn, &hello, NULL, 0);
}

static int call_hello(struct uroce_shm *shm, struct shm_call *call)
{
	int fds[HELLO_FDS] = { -1, shm->board_fd, shm->wake_fd };
	struct hello hello;
	int r;

	call->peer = shm_peer_new(shm, call->slot);
	if (!call->peer)
		return -ENOMEM;
	call->peer->pid = call->pid;
	call->peer->process = take_fd(&call->process);
	r = fds[HELLO_LANE] = shm_peer_lane(call->peer);
	if (r < 0)
		return own_error(r);
	shm_ptracer_allow(call->pid);
	shm_hello_fill(shm, &hello, HELLO, call->slot);
	r = shm_hello_send(call->conn, &hello, fds, HELLO_FDS);
	close(fds[HELLO_LANE]);
	return own_error(r);
}

/* Send the first message, once the process at the slot has been admitted. */
static int call_say(struct uroce_shm *shm, struct shm_call *call)
{
	int r = shm_connects_first(shm, call->slot) ? call_hello(shm, call) : call_ask(shm, call);
	if (!r)
		r = own_error(shm->host->events->watch(shm->host, call->conn, WATCH_CALL, call));
	return r;
}

/* Return the only peer of process @pid, or NULL if there are none or several. */
static struct shm_peer *peer_of_process(const struct uroce_shm *shm, pid_t pid)
{
	struct shm_peer *peer, *found = NULL;

	LIST_FOREACH(peer, &shm->peers, entry) {
		if (peer->dead || peer->self || peer->pid != pid)
			continue;
		if (found)
			return NULL;
		found = peer;
	}
	return found && shm_peer_ready(found) && shm_life_lasts(found) ? found : NULL;
}

/*
 * If the called slot is a further one of a peer, enter it. The kernel reports the process of the
 * slot, so the peer need not answer, and may be stopped.
 */
static bool call_is_of_peer(struct uroce_shm *shm, const struct shm_call *call)
{
	struct shm_peer *peer;

	if (call->slot < UROCE_FIRST_SLOTS)
		return false;
	/* Otherwise the peer could leave the table in between. */
	path_host_stop(shm->host);
	peer = peer_of_process(shm, call->pid);
	if (peer)
		slot_enter(shm, call->slot, peer);
	path_host_go(shm->host);
	return peer;
}

static int call_begin(struct uroce_shm *shm, struct shm_call *call)
{
	int r = shm_call_admit(shm, call->slot, call->conn, &call->pid, &call->process);

	if (!r && call_is_of_peer(shm, call))
		return CALL_DONE;
	return r < 0 ? r : call_say(shm, call);
}

void shm_call_by(struct uroce_shm *shm, struct shm_call *call, int conn)
{
	int r;

	if (call->conn >= 0 || shm_peer_lookup(shm, call->slot)) {
		if (conn >= 0)
			close(conn);
		return;
	}
	call->conn = conn;
	r = conn < 0 ? conn : call_begin(shm, call);
	if (r)
		shm_call_end(shm, call->slot, min_of(r, 0));
}

void shm_call_try(struct uroce_shm *shm, struct shm_call *call)
{
	if (call->conn < 0 && !shm_peer_lookup(shm, call->slot))
		shm_call_by(shm, call, shm_slot_connect(call->slot));
}

/* --- the answer: in the thread that watches --- */

/* Receive the answer. A refusal counts only if it comes from the listener. */
static int answer(struct shm_call *call, struct hello *hello, int fds[HELLO_FDS])
{
	int r = shm_hello_recv(call->conn, hello, fds);

	if (r >= 0 && hello->type == REFUSED) {
		shm_fds_close(fds);
		r = -EPERM;
	}
	if (r != -EPERM && r != -EOPNOTSUPP)
		return r;
	if (call->by_incoming)
		return -ECONNRESET;
	refusal_keep(call, call->pid);
	return r;
}

static int welcomed(struct shm_call *call, const struct hello *hello, int fds[HELLO_FDS])
{
	struct shm_peer *peer = call->peer;
	int r = shm_peer_attach_board(peer, fds[0]);

	if (r < 0)
		return r;
	peer->wake_fd = take_fd(&fds[1]);
	peer->wishes = hello->wishes;
	peer->probe = hello->probe;
	return shm_life_watch(peer, call->conn);
}

/*
 * Complete the handshake: the peer owns the connection now. This side does not wait for the last
 * word. The other side does.
 */
static int call_complete(struct uroce_shm *shm, struct shm_call *call)
{
	struct shm_peer *peer = take_ptr(&call->peer);
	int r;

	peer->conn = take_fd(&call->conn);
	peer->ready = true;
	r = shm_peer_publish(shm, peer);
	if (r < 0) {
		shm->host->events->unwatch(shm->host, peer->conn);
		shm_peer_free(peer);
		return r;
	}
	shm_peer_done(peer);
	return 0;
}

/*
 * Handle REFERRED: the slot is a further one of the process with slot @first. Accept this only if
 * that process is a peer and the kernel reports the same process number.
 */
static int call_referred(struct uroce_shm *shm, const struct shm_call *call, uint16_t first)
{
	struct shm_peer *peer = shm_peer_lookup(shm, first);
	struct shm_call *other = shm_call_of(shm, first);

	if (first == call->slot || path_host_has_slot(shm->host, first))
		return -EPROTO;
	if (!other)
		return -ENOMEM;
	if (!peer || !shm_peer_ready(peer)) {
		shm_call_try(shm, other);
		return -EREMOTE;
	}
	if (peer->pid != call->pid)
		return -EPROTO;
	slot_enter(shm, call->slot, peer);
	return 0;
}

/*
 * Handle HELLO from the process that got ASK. The peer then owns the connection. The last word of
 * that process ends the attempt.
 */
static int call_returned(struct uroce_shm *shm, struct shm_call *call, const struct hello *hello,
			 int fds[HELLO_FDS], int count)
{
	int r;

	if (count != HELLO_FDS || hello->slot != call->slot || hello->to != shm->host->slot)
		return -EPROTO;
	r = shm_incoming_welcome(shm, call->conn, call->pid, &call->process, hello, fds);
	if (r < 0)
		return r;
	take_fd(&call->conn);
	return -EAGAIN;
}

static int call_answered(struct uroce_shm *shm, struct shm_call *call)
{
	struct hello hello;
	int fds[HELLO_FDS], r = answer(call, &hello, fds);

	if (r < 0)
		return r;
	if (hello.type == REFERRED) {
		shm_fds_close(fds);
		return call_referred(shm, call, hello.slot);
	}
	if (!call->peer && hello.type == HELLO) {
		r = call_returned(shm, call, &hello, fds, r);
		shm_fds_close(fds);
		return r;
	}
	if (!call->peer || hello.type != WELCOME || r != 2 || hello.slot != call->peer->slot)
		r = -EPROTO;
	else
		r = welcomed(call, &hello, fds);
	shm_fds_close(fds);
	return r < 0 ? r : call_complete(shm, call);
}

void uroce_shm_called(struct uroce_shm *shm, struct shm_call *call)
{
	int r;

	pthread_mutex_lock(&shm->lock);
	r = call->conn < 0 ? -EAGAIN : call_answered(shm, call);
	if (r != -EAGAIN)
		shm_call_end(shm, call->slot, r);
	pthread_mutex_unlock(&shm->lock);
}

/* --- beginning an attempt --- */

/* Begin an attempt by the connection on which ASK arrived. */
static void call_back(struct uroce_shm *shm, struct shm_call *call, int incoming, pid_t pid,
		      int *process)
{
	int r;

	call->conn = incoming;
	call->by_incoming = true;
	call->pid = pid;
	call->process = take_fd(process);
	r = call_say(shm, call);
	if (r < 0)
		shm_call_end(shm, call->slot, r);
}

void shm_call_asked(struct uroce_shm *shm, uint16_t slot, int incoming, pid_t pid, int *process)
{
	/* not NULL: shm_call_admit() has allocated it */
	struct shm_call *call = shm_call_of(shm, slot);

	pthread_mutex_lock(&shm->lock);
	/* A connection of an earlier attempt, which the other process has given up. */
	shm_fd_forget(&call->incoming);
	if (!shm_peer_lookup(shm, slot) && call->conn < 0) {
		call_back(shm, call, incoming, pid, process);
		pthread_mutex_unlock(&shm->lock);
		return;
	}
	shm->host->events->unwatch(shm->host, incoming);
	call->incoming = incoming;
	if (shm_peer_lookup(shm, slot))
		shm_fd_forget(&call->incoming);
	pthread_mutex_unlock(&shm->lock);
}

void uroce_shm_invite(struct uroce_shm *shm, uint16_t slot)
{
	struct shm_call *call;

	if (path_host_has_slot(shm->host, slot))
		return;
	call = shm_call_of(shm, slot);
	if (!call)
		return;
	pthread_mutex_lock(&shm->lock);
	shm_call_try(shm, call);
	pthread_mutex_unlock(&shm->lock);
}

void uroce_shm_invite_all(struct uroce_shm *shm)
{
	struct shm_listing listing;
	int conn;

	shm_listing_get(shm, &listing);
	for (unsigned int slot = 1;
	     (slot = shm_slot_next(shm, &listing, slot, &conn)) < UROCE_FIRST_SLOTS; slot++) {
		struct shm_call *call = shm_call_of(shm, slot);

		pthread_mutex_lock(&shm->lock);
		if (call)
			shm_call_by(shm, call, conn);
		else if (conn >= 0)
			close(conn);
		pthread_mutex_unlock(&shm->lock);
		if (!call || shm_is_own_lack(conn))
			return;
	}
}
