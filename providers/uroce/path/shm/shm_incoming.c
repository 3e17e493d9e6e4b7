/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handshake of the process that is called. All of it runs in the thread that watches and does
 * not block, because a connecting process may be stopped and send no message.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_ptracer.h"

enum {
	INCOMING_MAX = 32, /* limit of accepted connections in one call */
};

static void incoming_close(struct uroce_shm *shm, int conn, int r)
{
	shm->host->events->unwatch(shm->host, conn);
	log_debug("uroce: a local connection was refused: %s", strerror(-r));
	close(conn);
}

/* --- connections without a message --- */

static void silent_remove(struct uroce_shm *shm, unsigned int i)
{
	shm->silent_count--;
	memmove(&shm->silent[i], &shm->silent[i + 1],
		(shm->silent_count - i) * sizeof(*shm->silent));
}

static void silent_forget(struct uroce_shm *shm, int conn)
{
	for (unsigned int i = 0; i < shm->silent_count; i++)
		if (shm->silent[i] == conn) {
			silent_remove(shm, i);
			return;
		}
}

/* Keep a connection without a message. A connecting process has its message ready, so connections
 * that stay silent get few descriptors: close the oldest. An honest process tries again. */
static int silent_wait(struct uroce_shm *shm, int conn)
{
	int oldest = shm->silent[0], r;

	if (shm->silent_count == SHM_SILENT) {
		silent_remove(shm, 0);
		incoming_close(shm, oldest, -ETIMEDOUT);
	}
	r = shm->host->events->watch(shm->host, conn, WATCH_INCOMING, NULL);
	if (!r)
		shm->silent[shm->silent_count++] = conn;
	return r;
}

/* --- the process that connects --- */

static int peer_attach(struct shm_peer *peer, int fds[HELLO_FDS], int conn)
{
	int r = shm_peer_attach_lane(peer, fds[HELLO_LANE]);

	if (!r)
		r = shm_peer_attach_board(peer, fds[HELLO_BOARD]);
	if (r < 0)
		return r;
	peer->wake_fd = take_fd(&fds[HELLO_WAKE_FD]);
	return shm_life_watch(peer, conn);
}

/* Check that a slot has one process. Another process that claims it is refused while the first
 * lives. */
static int slot_check(struct uroce_shm *shm, uint16_t slot, pid_t pid)
{
	const struct shm_peer *old = shm_peer_lookup(shm, slot);

	if (!old || old->pid == pid || !uroce_shm_lives(old->first_page))
		return 0;
	log_warn("uroce: process %d says that it has slot %u, which is that of process %d", pid,
		 slot, old->pid);
	return -EEXIST;
}

/* Attach a peer and send WELCOME. This side has the peer from then on. */
static int peer_welcome(struct uroce_shm *shm, struct shm_peer *peer, int fds[HELLO_FDS], int conn)
{
	int back[] = { shm->board_fd, shm->wake_fd };
	struct hello hello;
	int r;

	shm_ptracer_allow(peer->pid);
	r = peer_attach(peer, fds, conn);
	if (r < 0)
		return r;
	shm_hello_fill(shm, &hello, WELCOME, 0);
	r = shm_hello_send(conn, &hello, back, ARRAY_SIZE(back));
	if (r < 0)
		return r;
	peer->conn = conn;
	r = shm_peer_publish(shm, peer);
	if (r < 0)
		peer->conn = -1; /* belongs to the caller again */
	return r;
}

int shm_incoming_welcome(struct uroce_shm *shm, int conn, pid_t pid, int *process,
			 const struct hello *hello, int fds[HELLO_FDS])
{
	int r = slot_check(shm, hello->slot, pid);
	struct shm_peer *peer = r < 0 ? NULL : shm_peer_new(shm, hello->slot);

	if (!peer)
		return r < 0 ? r : -ENOMEM;
	peer->pid = pid;
	peer->process = take_fd(process);
	peer->wishes = hello->wishes;
	peer->probe = hello->probe;
	r = peer_welcome(shm, peer, fds, conn);
	if (r < 0)
		shm_peer_free(peer);
	return r;
}

static int incoming_hello(struct uroce_shm *shm, int conn, pid_t pid, int *process,
			  const struct hello *hello, int fds[HELLO_FDS])
{
	int r;

	pthread_mutex_lock(&shm->lock);
	r = shm_incoming_welcome(shm, conn, pid, process, hello, fds);
	pthread_mutex_unlock(&shm->lock);
	return r;
}

/* --- its messages --- */

/* Send a final answer. */
static int incoming_answer(struct uroce_shm *shm, int conn, enum hello_type type, int r)
{
	struct hello hello;

	shm_hello_fill(shm, &hello, type, 0);
	shm_hello_send(conn, &hello, NULL, 0);
	return r;
}

static int incoming_wants(struct uroce_shm *shm, int conn, pid_t pid, int *process,
			  const struct hello *hello, int fds[HELLO_FDS], int count)
{
	bool called = hello->type == HELLO && count == HELLO_FDS;
	bool asked = hello->type == ASK && !count;

	if ((called || asked) && hello->to != shm->host->slot)
		return path_host_has_slot(shm->host, hello->to)
			       ? incoming_answer(shm, conn, REFERRED, -EREMOTE)
			       : -EPROTO;
	if (called && !shm_connects_first(shm, hello->slot) && hello->slot != shm->host->slot)
		return incoming_hello(shm, conn, pid, process, hello, fds);
	if (!asked || !shm_connects_first(shm, hello->slot))
		return -EPROTO;
	shm_call_asked(shm, hello->slot, conn, pid, process);
	return 0;
}

/* Handle the first message. Return: 0: the connection has been kept; -errno. */
static int incoming_message(struct uroce_shm *shm, int conn)
{
	struct hello hello;
	int fds[HELLO_FDS], r = shm_hello_recv(conn, &hello, fds), count = r;
	_cleanup_close_ int process = -1;
	pid_t pid = 0;

	if (r == -EOPNOTSUPP)
		return incoming_answer(shm, conn, REFUSED, r);
	if (r < 0)
		return r;
	r = shm_call_admit(shm, hello.slot, conn, &pid, &process);
	if (r == -EPERM)
		incoming_answer(shm, conn, REFUSED, r);
	else if (!r)
		r = incoming_wants(shm, conn, pid, &process, &hello, fds, count);
	shm_fds_close(fds);
	return r;
}

void uroce_shm_incoming(struct uroce_shm *shm, int conn)
{
	int r;

	silent_forget(shm, conn);
	r = incoming_message(shm, conn);
	if (r < 0)
		incoming_close(shm, conn, r);
}

/* Handle a new connection. Usually its message has arrived before accept(). */
static int incoming_accept(struct uroce_shm *shm, int conn)
{
	int r = shm_peer_user(shm, conn);

	/* A process of another user gets no message, because the kernel also reports the user to
	 * it. */
	if (!r)
		r = incoming_message(shm, conn);
	return r == -EAGAIN ? silent_wait(shm, conn) : r;
}

int uroce_shm_accept(struct uroce_shm *shm, int listener)
{
	for (int i = 0; i < INCOMING_MAX; i++) {
		int conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), r;

		if (conn < 0)
			return errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
					       errno == ENOMEM
				       ? -errno
				       : 0;
		r = incoming_accept(shm, conn);
		if (r < 0)
			incoming_close(shm, conn, r);
	}
	return 0;
}
