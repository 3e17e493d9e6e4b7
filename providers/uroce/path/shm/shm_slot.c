/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots: abstract sockets by whose names processes find each other. A name does not depend on the
 * user. A slot belongs to one process of the whole network namespace, because QP numbers belong to
 * the slot.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/uroce/path/shm/shm_hello.h"

enum {
	BACKLOG = 4096, /* more than the possible number of processes, so that no connection is
			   refused while this process is busy */
	/* ms: a start takes one or two; a stopped process delays others no longer than this */
	TURN_MS = 100,
	COMPLETE_PAUSES = 4,	  /* pause after a check, as a multiple of the check's duration */
	COMPLETE_CHEAP = 3000000, /* ns */
	/* limit of the pause, ns, because the check may have waited for a processor */
	COMPLETE_PAUSE_MAX = 100000000,
};

/*
 * Make the name of a socket. @what: the number of a slot, or a word for another purpose. All
 * versions and users have the same names, because they share the QP numbers.
 */
static socklen_t name_address(const char *what, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* A leading zero byte: an abstract name. */
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "uroce-slot-%s", what);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static socklen_t slot_address(uint16_t slot, struct sockaddr_un *ret)
{
	char number[8];

	snprintf(number, sizeof(number), "%u", slot);
	return name_address(number, ret);
}

/* Log a missed turn. @name: of the abstract socket, without its leading zero byte. */
static int turn_missed(const char *name)
{
	log_info(
		"uroce: another process kept the abstract socket %s, which a process has while it starts, "
		"for %d ms: this one starts beside it, and UDP datagrams between the two may take a "
		"detour",
		name, TURN_MS);
	return -EADDRINUSE;
}

int uroce_shm_turn_take(void)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t len = name_address("start", &address);

	if (fd < 0)
		return -errno;
	for (int ms = 0; bind(fd, (struct sockaddr *)&address, len); ms++) {
		if (errno != EADDRINUSE)
			return -errno;
		if (ms == TURN_MS)
			return turn_missed(address.sun_path + 1);
		usleep(1000);
	}
	return take_fd(&fd);
}

/* --- slots --- */

static int slot_try(uint16_t slot, int conn)
{
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);

	if (!connect(conn, (struct sockaddr *)&address, len))
		return 0;
	if (errno == ECONNREFUSED)
		return -ENOENT;
	return errno == EPERM ? -EACCES : -errno; /* this process is forbidden to connect, and the
						     peer has given no answer */
}

int shm_slot_connect(uint16_t slot)
{
	_cleanup_close_ int conn =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = conn < 0 ? -errno : slot_try(slot, conn);

	return r < 0 ? r : take_fd(&conn);
}

bool shm_slot_admits(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid)
{
	const struct shm_call *call = uroce_shm_call_known(shm, slot);
	_cleanup_close_ int process = -1;
	int r = shm_peer_admit(shm, conn, ret_pid, &process);

	if (!r && call &&
	    atomic_load_explicit(&call->refused, memory_order_relaxed) == *ret_pid + 1)
		return false;
	return r != -EPERM;
}

/*
 * Try to claim the slot for a moment, because this test does not disturb its owner. A listener of
 * another user does not count: it only has the name.
 */
bool uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	_cleanup_close_ int conn = -1;
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);
	pid_t pid;

	if (fd < 0 || !bind(fd, (struct sockaddr *)&address, len) || errno != EADDRINUSE)
		return false;
	conn = shm_slot_connect(slot);
	if (conn < 0)
		return conn != -ENOENT;
	return shm_slot_admits(shm, slot, conn, &pid);
}

bool uroce_shm_foreign(const struct uroce_shm *shm, uint16_t slot)
{
	_cleanup_close_ int conn = shm_slot_connect(slot);

	return conn >= 0 && shm_peer_user(shm, conn) == -EPERM;
}

bool shm_slot_is_named(uint16_t slot, const char *name, size_t length)
{
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);

	return len == offsetof(struct sockaddr_un, sun_path) + length &&
	       !memcmp(address.sun_path, name, length);
}

/* Try names in turn. A socket whose connection was refused serves for the next name. */
unsigned int shm_slot_next(struct uroce_shm *shm, const struct shm_listing *listing,
			   unsigned int slot, int *ret_conn)
{
	_cleanup_close_ int conn = -1;

	for (; slot < UROCE_FIRST_SLOTS; slot++) {
		int r;

		if (!shm_listing_has(listing, slot) || path_host_has_slot(shm->host, slot) ||
		    shm_peer_lookup(shm, slot))
			continue;
		if (conn < 0)
			conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		r = conn < 0 ? -errno : slot_try(slot, conn);
		if (r == -ENOENT)
			continue;
		*ret_conn = r < 0 ? r : take_fd(&conn);
		break;
	}
	return slot;
}

/* Count the slots of other users. *@ret_uid: one of these users. */
static unsigned int slots_foreign(const struct uroce_shm *shm, uid_t *ret_uid)
{
	unsigned int count = 0;

	for (unsigned int slot = 1; slot < UROCE_FIRST_SLOTS; slot++) {
		_cleanup_close_ int conn = shm_slot_connect(slot);
		struct ucred cred;

		if (conn < 0 || shm_peer_credentials(conn, &cred) < 0 || cred.uid == shm->uid)
			continue;
		*ret_uid = cred.uid;
		count++;
	}
	return count;
}

static void explain_slots(const struct uroce_shm *shm)
{
	uid_t uid = 0;
	unsigned int foreign = slots_foreign(shm, &uid);

	log_err("uroce: all %d slots for processes in this network namespace are taken",
		UROCE_FIRST_SLOTS - 1);
	if (foreign)
		log_err("uroce: %u of them by other users, such as uid %u, who have bound the abstract socket names "
			"uroce-slot-*: nothing but a network namespace of its own keeps them away",
			foreign, uid);
}

/* Listen at a slot. -EADDRINUSE: another process has it. */
static int slot_listen(struct uroce_shm *shm, uint16_t slot, int fd)
{
	struct sockaddr_un address;
	socklen_t len = slot_address(slot, &address);

	if (bind(fd, (struct sockaddr *)&address, len))
		return uroce_call_failed("bind");
	if (listen(fd, BACKLOG))
		return uroce_call_failed("listen");
	shm->listeners[uroce_slot_place(slot)] = fd;
	path_host_take(shm->host, slot);
	return 0;
}

int shm_slot_claim(struct uroce_shm *shm)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? uroce_call_failed("socket") : -EADDRINUSE;

	/* Take the lowest free slot, because UDP datagrams are steered by slot: udp_socket.c. */
	for (unsigned int slot = 1; slot < UROCE_FIRST_SLOTS && r == -EADDRINUSE; slot++) {
		r = slot_listen(shm, slot, fd);
		if (!r)
			shm->host->slot = slot;
	}
	if (r == -EADDRINUSE) {
		explain_slots(shm);
		r = -EUSERS;
	}
	if (!r)
		take_fd(&fd);
	return r;
}

/* --- further ones --- */

static unsigned int slots_own(const struct uroce_shm *shm)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < UROCE_BLOCKS; i++)
		count += shm->listeners[i] >= 0;
	return count;
}

/*
 * Claim a slot that is free, at a place at which this process has no slot. @resting: even if its
 * numbers rest
 */
static int slot_claim_one(struct uroce_shm *shm, uint16_t slot, int fd, bool resting)
{
	int r = -EADDRINUSE;

	if (shm->listeners[uroce_slot_place(slot)] < 0 &&
	    (resting || !uroce_shm_part_rests(slot, 0)))
		r = slot_listen(shm, slot, fd);
	return r < 0 ? r : slot;
}

/*
 * Claim a further slot of the family of the first slot, because UDP datagrams are steered by
 * family. Begin with the highest, away from first slots.
 */
static int slot_claim_family(struct uroce_shm *shm, int fd, bool resting)
{
	unsigned int family = 1 << UROCE_FAMILY_BITS;
	int r = -EADDRINUSE;

	for (unsigned int slot = SHM_SLOTS - family + shm->host->slot % family;
	     slot >= UROCE_FIRST_SLOTS && r == -EADDRINUSE; slot -= family)
		r = slot_claim_one(shm, slot, fd, resting);
	return r;
}

static int slot_claim_stranger(struct uroce_shm *shm, int fd, bool resting)
{
	int r = -EADDRINUSE;

	for (unsigned int slot = SHM_SLOTS - 1; slot && r == -EADDRINUSE; slot--)
		r = slot_claim_one(shm, slot, fd, resting);
	return r;
}

/*
 * Claim the best further slot. Claim a slot of another family, or a slot whose numbers are still in
 * their waiting time, only if it is @needed. It is better to end the waiting time of numbers early.
 */
static int slot_claim_more(struct uroce_shm *shm, int fd, bool needed)
{
	int r = slot_claim_family(shm, fd, false);

	if (r == -EADDRINUSE && needed)
		r = slot_claim_family(shm, fd, true);
	if (r == -EADDRINUSE && needed)
		r = slot_claim_stranger(shm, fd, false);
	if (r == -EADDRINUSE && needed)
		r = slot_claim_stranger(shm, fd, true);
	return r == -EADDRINUSE ? -ENOMEM : r;
}

int uroce_shm_slot_more(struct uroce_shm *shm, bool needed)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct shm_peer *self = shm_peer_lookup(shm, shm->host->slot);
	int r = fd < 0 ? -errno : shm->host->events->watch(shm->host, fd, WATCH_LISTENER, NULL);
	int slot = r < 0 ? r : slot_claim_more(shm, fd, needed);

	if (slot < 0) {
		if (fd >= 0 && !r)
			shm->host->events->unwatch(shm->host, fd);
		if (needed)
			log_err("uroce: no further numbers for queue pairs, of which this process has %u blocks of %u: %s",
				slots_own(shm), 1 << UROCE_QPN_BLOCK_BITS,
				slot == -ENOMEM ? "there are none, or other processes have them"
						: strerror(-slot));
		return slot;
	}
	atomic_store_explicit(&shm->by_slot[slot], self, memory_order_release);
	take_fd(&fd);
	return slot;
}

/* --- whether all of them are connected --- */

static bool all_ready(const struct uroce_shm *shm)
{
	struct shm_peer *peer;

	LIST_FOREACH(peer, &shm->peers, entry)
		if (!peer->dead && !shm_peer_ready(peer))
			return false;
	return true;
}

/*
 * Return whether a process is a peer. If @pid has a further slot, this process may be connected to
 * it by its first slot.
 */
static bool is_connected(const struct uroce_shm *shm, pid_t pid)
{
	const struct shm_peer *peer;

	LIST_FOREACH(peer, &shm->peers, entry)
		if (!peer->dead && pid > 0 && peer->pid == pid)
			return true;
	return false;
}

static bool all_connected(struct uroce_shm *shm)
{
	struct shm_listing listing;
	int fd;

	if (!all_ready(shm))
		return false;
	shm_listing_get(shm, &listing);
	for (unsigned int slot = 1;
	     (slot = shm_slot_next(shm, &listing, slot, &fd)) < UROCE_FIRST_SLOTS; slot++) {
		_cleanup_close_ int conn = fd;
		pid_t pid = 0;

		if (conn < 0 || (shm_slot_admits(shm, slot, conn, &pid) && !is_connected(shm, pid)))
			return false;
	}
	return true;
}

/*
 * Pause between checks, because a check may take milliseconds of a processor that other threads
 * need.
 */
bool uroce_shm_complete(struct uroce_shm *shm, uint64_t now)
{
	uint64_t end, pause;

	assert_held(&shm->host->progress_lock);
	if (now < shm->complete_next)
		return shm->complete;
	shm->complete_begun = uroce_now();
	shm->complete = all_connected(shm);
	end = uroce_now();
	pause = COMPLETE_PAUSES * (end - shm->complete_begun);
	shm->complete_cheap = end - shm->complete_begun < COMPLETE_CHEAP;
	shm->complete_next = end + min_of(pause, (uint64_t)COMPLETE_PAUSE_MAX);
	return shm->complete;
}
