/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who else is there: connections, the course of the handshake, deaths. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_memory.h"

enum {
	HANDSHAKE_MS = 1000,	     /* how long a connector waits for a peer's answer */
	COMPLETE_INTERVAL = 1000000, /* ns */
};

/* --- memory --- */

static void *map_shared(int fd, size_t size)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) || (size_t)st.st_size != size)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* Sealed against shrinking, so that a peer cannot turn our reads into SIGBUS. */
static int shared_create(const char *name, size_t size, void **ret_map)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size))
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	*ret_map = map_shared(fd, size);
	return *ret_map ? take_fd(&fd) : -ENOMEM;
}

static void *shared_attach(int fd, size_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK) ? map_shared(fd, size) : NULL;
}

/* --- peers --- */

static struct shm_peer *peer_new(struct uroce_shm *shm, uint8_t slot)
{
	struct shm_peer *peer = aligned_alloc(SHM_LINE, ROUND_UP(sizeof(*peer), SHM_LINE));

	if (!peer)
		return NULL;
	memset(peer, 0, sizeof(*peer));
	peer->shm = shm;
	peer->slot = slot;
	peer->conn = peer->bell = peer->process = -1;
	return peer;
}

/* Who forks meanwhile has the number, which is another file's, or none. */
static void fd_forget(int *fd)
{
	int old = *fd;

	*(volatile int *)fd = -1;
	if (old >= 0)
		close(old);
}

/* What it shares with its process. */
static void peer_let_go(struct shm_peer *peer)
{
	if (peer->lane)
		munmap(peer->lane, sizeof(*peer->lane));
	if (peer->board && !peer->self)
		munmap(peer->board, sizeof(*peer->board));
	peer->lane = NULL;
	peer->board = NULL;
	fd_forget(&peer->conn);
	if (!peer->self)
		fd_forget(&peer->bell);
	fd_forget(&peer->process);
}

static void peer_free(struct shm_peer *peer)
{
	peer_let_go(peer);
	free(peer);
}

/* By who made the lane, which is all zeros: no stamp is. */
static int lane_seed(struct shm_lane *lane)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(lane->ring); i++) {
		uint64_t *seed = &lane->ring[i].seed;

		if (getrandom(seed, sizeof(*seed), 0) != sizeof(*seed))
			return -errno;
		*seed |= 1;
	}
	return 0;
}

/* The rings to send and to receive by; the same one to oneself. */
static void lane_sides(struct shm_peer *peer, int tx, int rx)
{
	peer->tx = &peer->lane->ring[tx];
	peer->rx = &peer->lane->ring[rx];
	peer->uses = &peer->lane->uses[tx];
	peer->used = &peer->lane->uses[rx];
	peer->tx_stamp = peer->tx->seed;
	peer->rx_stamp = peer->rx->seed;
}

/* How much memory what is sent to a peer may take, by how many there are. Under both locks. */
static uint32_t peer_span(const struct uroce_shm *shm)
{
	const struct shm_peer *other;
	unsigned int count = 0;

	LIST_FOREACH(other, &shm->peers, entry)
		count++;
	return count < SHM_WIDE ? SHM_RING_BYTES : SHM_SPAN;
}

/* Visible to progress from here on. Under shm->lock. */
static void peer_publish(struct uroce_shm *shm, struct shm_peer *peer)
{
	peer->udp_only = shm->board->udp_only || peer->board->udp_only;
	peer->tx_open = SHM_OPEN;
	peer->fenced = shm->fences && peer->board->fences && !peer->udp_only && !peer->self;
	uroce_lock(&shm->host->progress_lock);
	peer->tx_span = peer_span(shm);
	LIST_INSERT_HEAD(&shm->peers, peer, entry);
	uroce_unlock(&shm->host->progress_lock);
	if (peer->conn >= 0)
		shm->host->events->watch(shm->host, peer->conn, WATCH_PEER, peer);
	if (peer->process >= 0)
		shm->host->events->watch(shm->host, peer->process, WATCH_PROCESS, peer);
	atomic_store_explicit(&shm->by_slot[peer->slot], peer, memory_order_release);
}

static int peer_self(struct uroce_shm *shm, struct shm_peer **ret_peer)
{
	struct shm_peer *peer = peer_new(shm, shm->host->slot);
	void *lane;

	if (!peer)
		return -ENOMEM;
	lane = mmap(NULL, sizeof(*peer->lane), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (lane == MAP_FAILED || lane_seed(lane) < 0) {
		free(peer);
		return -ENOMEM;
	}
	peer->self = true;
	peer->ready = true;
	peer->pid = getpid();
	peer->lane = lane;
	peer->board = shm->board;
	peer->bell = shm->bell;
	lane_sides(peer, 0, 0);
	peer->can_read =
		shm_memory_readable(peer->pid, (uintptr_t)shm->board->probe, shm->board->probe);
	peer->readable = peer->can_read;
	peer_publish(shm, peer);
	*ret_peer = peer;
	return 0;
}

/* --- connecting --- */

static int readable_within(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r = poll(&p, 1, ms);

	return r > 0 ? 0 : r == 0 ? -ETIMEDOUT : -errno;
}

static int peer_hello(struct uroce_shm *shm, struct shm_peer *peer)
{
	int fds[HELLO_FDS] = { -1, shm->board_fd, shm->bell };
	struct hello hello;
	void *lane = NULL;
	int r;

	fds[HELLO_LANE] = shared_create("uroce-lane", sizeof(*peer->lane), &lane);
	if (fds[HELLO_LANE] < 0)
		return fds[HELLO_LANE];
	peer->lane = lane;
	r = lane_seed(lane);
	if (!r) {
		lane_sides(peer, 0, 1);
		shm_hello_fill(shm, &hello, HELLO, false);
		r = shm_hello_send(peer->conn, &hello, fds, HELLO_FDS);
	}
	close(fds[HELLO_LANE]);
	return r;
}

static int peer_welcomed(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct hello hello;
	int fds[HELLO_FDS];
	int r = shm_hello_recv(peer->conn, WELCOME, &hello, fds);

	if (r < 0)
		return r;
	if (r != 2 || hello.slot != peer->slot) {
		shm_fds_close(fds);
		return -EPROTO;
	}
	peer->board = shared_attach(fds[0], sizeof(*peer->board));
	close(fds[0]);
	peer->bell = fds[1];
	if (!peer->board)
		return -EPROTO;
	peer->readable = hello.can_read;
	r = shm_life_watch(peer, hello.probe);
	if (r < 0)
		return r;
	shm_hello_fill(shm, &hello, DONE, peer->can_read);
	return shm_hello_send(peer->conn, &hello, NULL, 0);
}

static int peer_connect(struct uroce_shm *shm, uint8_t slot, struct shm_peer **ret_peer)
{
	struct shm_peer *peer = peer_new(shm, slot);
	int r;

	if (!peer)
		return -ENOMEM;
	peer->conn = r = shm_slot_connect(slot);
	if (r >= 0)
		r = shm_peer_credentials(peer->conn, &peer->pid);
	if (!r)
		r = peer_hello(shm, peer);
	if (!r)
		r = readable_within(peer->conn, HANDSHAKE_MS);
	if (!r)
		r = peer_welcomed(shm, peer);
	if (r < 0) {
		peer_free(peer);
		return r;
	}
	peer->ready = true;
	peer_publish(shm, peer);
	*ret_peer = peer;
	return 0;
}

/* Both sides may connect at the same moment: the lower slot's connection is the one that counts. */
static bool connects_first(const struct uroce_shm *shm, uint8_t slot)
{
	return shm->host->slot < slot;
}

static struct shm_peer *peer_lookup(struct uroce_shm *shm, uint8_t slot)
{
	struct shm_peer *peer = atomic_load_explicit(&shm->by_slot[slot], memory_order_acquire);

	return peer && !peer->dead ? peer : NULL;
}

/* The lower slot connects. The higher one asks it to by connecting and closing, then waits to be
 * called. */
static int peer_ask(struct uroce_shm *shm, uint8_t slot, struct shm_peer **ret_peer)
{
	struct hello hello;
	pid_t pid;
	int conn = shm_slot_connect(slot), r;

	if (conn < 0)
		return conn;
	r = shm_peer_credentials(conn, &pid);
	if (!r) {
		shm_hello_fill(shm, &hello, HELLO, false);
		r = shm_hello_send(conn, &hello, NULL, 0);
	}
	for (int ms = 0; !r && ms < HANDSHAKE_MS; ms++) {
		*ret_peer = peer_lookup(shm, slot);
		if (*ret_peer && (*ret_peer)->ready) {
			close(conn);
			return 0;
		}
		usleep(1000);
	}
	close(conn);
	return r < 0 ? r : -ETIMEDOUT;
}

int uroce_shm_peer(struct uroce_shm *shm, uint8_t slot, struct shm_peer **ret_peer)
{
	struct shm_peer *peer = peer_lookup(shm, slot);
	int r = 0;

	if (peer && peer->ready) {
		*ret_peer = peer;
		return 0;
	}
	if (slot != shm->host->slot && !connects_first(shm, slot))
		return peer_ask(shm, slot, ret_peer);
	pthread_mutex_lock(&shm->lock);
	peer = peer_lookup(shm, slot);
	if (peer) /* connected, though its last word has not come yet: it only decides about
		     references */
		*ret_peer = peer;
	else
		r = slot == shm->host->slot ? peer_self(shm, ret_peer)
					    : peer_connect(shm, slot, ret_peer);
	pthread_mutex_unlock(&shm->lock);
	return r;
}

/* The lower slot's thread connects at once; the higher one's asks, and is connected to while it
 * goes on. */
void uroce_shm_invite(struct uroce_shm *shm, uint8_t slot)
{
	struct shm_peer *peer;
	struct hello hello;
	pid_t pid;
	int conn;

	if (peer_lookup(shm, slot))
		return;
	if (slot == shm->host->slot || connects_first(shm, slot)) {
		uroce_shm_peer(shm, slot, &peer);
		return;
	}
	conn = shm_slot_connect(slot);
	if (conn < 0)
		return;
	if (!shm_peer_credentials(conn, &pid)) {
		shm_hello_fill(shm, &hello, HELLO, false);
		shm_hello_send(conn, &hello, NULL, 0);
	}
	close(conn);
}

/* --- being connected to: in the progress thread --- */

static int peer_accepted(struct uroce_shm *shm, struct shm_peer *peer, const int *fds,
			 uint64_t probe)
{
	int back[] = { shm->board_fd, shm->bell };
	struct hello hello;
	int r;

	peer->lane = shared_attach(fds[HELLO_LANE], sizeof(*peer->lane));
	peer->board = shared_attach(fds[HELLO_BOARD], sizeof(*peer->board));
	peer->bell = dup(fds[HELLO_BELL]);
	if (!peer->lane || !peer->board || peer->bell < 0)
		return -EPROTO;
	lane_sides(peer, 1, 0);
	r = shm_life_watch(peer, probe);
	if (r < 0)
		return r;
	shm_hello_fill(shm, &hello, WELCOME, peer->can_read);
	return shm_hello_send(peer->conn, &hello, back, ARRAY_SIZE(back));
}

static void peer_replace(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct shm_peer *old =
		atomic_load_explicit(&shm->by_slot[peer->slot], memory_order_acquire);

	uroce_lock(&shm->host->progress_lock);
	if (old && !old->dead)
		uroce_shm_corrupt(old, "a second process of its slot");
	uroce_unlock(&shm->host->progress_lock);
	peer_publish(shm, peer);
}

/* A HELLO without descriptors asks this side, the lower slot, to connect. */
static void asked_to_connect(struct uroce_shm *shm, uint8_t slot)
{
	struct shm_peer *peer;

	if (!connects_first(shm, slot) || peer_lookup(shm, slot))
		return;
	pthread_mutex_lock(&shm->lock);
	if (!peer_lookup(shm, slot))
		peer_connect(shm, slot, &peer);
	pthread_mutex_unlock(&shm->lock);
}

static int conn_hello(struct uroce_shm *shm, int conn)
{
	struct shm_peer *peer;
	struct hello hello;
	int fds[HELLO_FDS];
	pid_t pid = 0;
	int r = shm_peer_credentials(conn, &pid);

	if (!r)
		r = shm_hello_recv(conn, HELLO, &hello, fds);
	if (r < 0)
		return r;
	if (r == 0) {
		close(conn);
		asked_to_connect(shm, hello.slot);
		return 0;
	}
	peer = r == HELLO_FDS ? peer_new(shm, hello.slot) : NULL;
	if (!peer) {
		shm_fds_close(fds);
		return -EPROTO;
	}
	peer->conn = conn;
	peer->pid = pid;
	r = peer_accepted(shm, peer, fds, hello.probe);
	shm_fds_close(fds);
	if (r < 0) {
		peer->conn = -1;
		peer_free(peer);
		return r;
	}
	pthread_mutex_lock(&shm->lock);
	peer_replace(shm, peer);
	pthread_mutex_unlock(&shm->lock);
	return 0;
}

static void conn_refuse(int conn, int r)
{
	log_debug("uroce: a local connection was refused: %s", strerror(-r));
	close(conn);
}

/* What the other side has to say is not waited for here: it may have been stopped. */
int uroce_shm_accept(struct uroce_shm *shm)
{
	int conn = accept4(shm->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	pid_t pid;
	int r;

	if (conn < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM
			       ? -errno
			       : 0;
	r = shm_peer_credentials(conn, &pid);
	if (!r)
		r = shm->host->events->watch(shm->host, conn, WATCH_GUEST, NULL);
	if (r < 0)
		conn_refuse(conn, r);
	return 0;
}

void uroce_shm_guest(struct uroce_shm *shm, int conn)
{
	int r;

	shm->host->events->unwatch(shm->host, conn);
	r = conn_hello(shm, conn);
	if (r < 0)
		conn_refuse(conn, r);
}

/* --- the end --- */

static void peer_gone(struct shm_peer *peer)
{
	struct uroce_shm *shm = peer->shm;
	struct path_host *host = shm->host;
	struct shm_peer *expected = peer;

	host->events->unwatch(host, peer->conn);
	if (peer->process >= 0)
		host->events->unwatch(host, peer->process);
	uroce_lock(&host->progress_lock);
	/* What it sent before it died still counts. */
	while (!peer->dead && uroce_shm_poll_peer(peer, uroce_now()))
		;
	peer->dead = true;
	/* seq_cst: see uroce_board_wait(). */
	atomic_compare_exchange_strong(&shm->by_slot[peer->slot], &expected, NULL);
	LIST_REMOVE(peer, entry);
	/* Whoever sends does so under its QP's lock and looks first whether the peer is dead. */
	host->events->peer_gone(host, &shm->path, peer, peer->slot);
	uroce_unlock(&host->progress_lock);
	uroce_board_wait(shm);
	peer_let_go(peer);
	/* Address vectors of AHs may still name it: the struct stays until close. */
	pthread_mutex_lock(&shm->lock);
	LIST_INSERT_HEAD(&shm->gone, peer, entry);
	pthread_mutex_unlock(&shm->lock);
}

void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct hello hello;
	int fds[HELLO_FDS];
	int r = shm_hello_recv(peer->conn, DONE, &hello, fds);

	if (r == -EAGAIN)
		return;
	if (r < 0) {
		peer_gone(peer);
		return;
	}
	shm_fds_close(fds);
	peer->readable = hello.can_read;
	peer->ready = true;
}

void uroce_shm_process_ended(struct uroce_shm *shm, struct shm_peer *peer)
{
	peer_gone(peer);
}

/* What is watched the watcher closes. */
void uroce_shm_forked(struct uroce_shm *shm)
{
	for (unsigned int slot = 1; slot < SHM_SLOTS; slot++) {
		struct shm_peer *peer =
			atomic_load_explicit(&shm->by_slot[slot], memory_order_relaxed);

		if (peer && !peer->self)
			fd_forget(&peer->bell);
	}
	fd_forget(&shm->board_fd);
	shm->bell = shm->listener = -1;
}

void uroce_shm_corrupt(struct shm_peer *peer, const char *what)
{
	struct path_host *host = peer->shm->host;

	assert_held(&host->progress_lock);
	log_err("uroce: process %d wrote %s into shared memory: nothing more is read from it",
		peer->pid, what);
	peer->dead = true;
	host->events->peer_gone(host, &peer->shm->path, peer, 0);
}

/* --- who there is --- */

static bool all_connected(struct uroce_shm *shm)
{
	for (unsigned int slot = 1; slot < SHM_SLOTS; slot++) {
		struct shm_peer *peer = peer_lookup(shm, slot);

		if (slot != shm->host->slot && !(peer && peer->ready) && uroce_shm_slot_used(slot))
			return false;
	}
	return true;
}

bool uroce_shm_complete(struct uroce_shm *shm, uint64_t now)
{
	assert_held(&shm->host->progress_lock);
	if (now - shm->complete_time < COMPLETE_INTERVAL)
		return shm->complete;
	shm->complete_time = now;
	shm->complete = all_connected(shm);
	return shm->complete;
}

/* --- open and close --- */

int uroce_shm_open(struct path_host *host, struct uroce_shm **ret_shm)
{
	struct uroce_shm *shm = calloc(1, sizeof(*shm));
	void *board = NULL;
	int r;

	if (!shm)
		return -ENOMEM;
	*shm = (struct uroce_shm){ .host = host, .listener = -1, .bell = -1, .board_fd = -1 };
	shm->path = (struct uroce_path){ .ops = &uroce_shm_ops,
					 .host = host,
					 .name = "shm",
					 .lossless = true,
					 .piggyback = true };
	pthread_mutex_init(&shm->lock, NULL);
	r = shm->board_fd = shared_create("uroce-board", sizeof(*shm->board), &board);
	if (r < 0)
		goto fail;
	shm->board = board;
	r = shm_life_init(board);
	if (r < 0)
		goto fail;
	shm->fences = uroce_fence_join();
	shm->board->fences = shm->fences;
	shm->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = shm->bell < 0 ? -errno : shm_slot_claim(host, &shm->listener);
	if (r < 0)
		goto fail;
	*ret_shm = shm;
	return 0;
fail:
	uroce_shm_close(shm);
	return r;
}

static void peers_free(struct shm_peer_list *list)
{
	struct shm_peer *peer;

	while ((peer = LIST_FIRST(list))) {
		LIST_REMOVE(peer, entry);
		peer_free(peer);
	}
}

void uroce_shm_close(struct uroce_shm *shm)
{
	peers_free(&shm->peers);
	peers_free(&shm->gone);
	if (shm->listener >= 0)
		close(shm->listener);
	if (shm->bell >= 0)
		close(shm->bell);
	if (shm->board)
		munmap(shm->board, sizeof(*shm->board));
	if (shm->board_fd >= 0)
		close(shm->board_fd);
	pthread_mutex_destroy(&shm->lock);
	free(shm);
}
