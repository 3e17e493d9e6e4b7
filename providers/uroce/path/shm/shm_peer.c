/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Peers: the memory that they share with this process, and the cleanup after they have ended. */
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

/* --- peers --- */

struct shm_peer *shm_peer_new(struct uroce_shm *shm, uint16_t slot)
{
	struct shm_peer *peer = uroce_zeros(sizeof(*peer), alignof(struct shm_peer));

	if (!peer)
		return NULL;
	peer->shm = shm;
	peer->slot = slot;
	peer->conn = peer->wake_fd = peer->process = -1;
	return peer;
}

/*
 * Return how many bytes of the lane to map at first. One page suffices for lane and board, because
 * the rest can be mapped when it is needed. Map all of this process's own lane, and map all if
 * memory cannot be mapped again.
 */
static size_t lane_mapped(const struct shm_peer *peer)
{
	bool page = !peer->self && uroce_maps_again();

	return page ? SHM_PAGE : shm_lane_size(peer->ring_bytes);
}

static void lane_set(struct shm_peer *peer, struct shm_lane *lane)
{
	peer->lane = lane;
	if (lane && lane_mapped(peer) != SHM_PAGE)
		peer->wide = lane;
}

void shm_peer_release(struct shm_peer *peer)
{
	shm_maps_free(peer);
	if (peer->wide && peer->wide != peer->lane)
		munmap(peer->wide, shm_lane_size(peer->ring_bytes));
	if (peer->lane)
		munmap(peer->lane, lane_mapped(peer));
	peer->wide = NULL;
	if (peer->board && !peer->self && (void *)peer->board != (void *)peer->first_page)
		munmap((void *)peer->board, sizeof(struct shm_board));
	if (peer->first_page && !peer->self)
		munmap((void *)peer->first_page, shm_board_mapped());
	peer->lane = NULL;
	peer->board = NULL;
	peer->first_page = NULL;
	shm_fd_forget(&peer->conn);
	if (!peer->self)
		shm_fd_forget(&peer->wake_fd);
	shm_fd_forget(&peer->process);
}

void shm_peer_free(struct shm_peer *peer)
{
	shm_peer_release(peer);
	for (unsigned int i = 0; i < PATH_STRANDS - 1; i++)
		free(peer->links[i]);
	free(peer);
}

/* Set the seeds of a new lane. Seeds are never 0, because the memory of the lane is all zeros. */
static int lane_seed(struct shm_lane *lane)
{
	uint64_t seeds[ARRAY_SIZE(lane->ring)];

	if (getrandom(seeds, sizeof(seeds), 0) != sizeof(seeds))
		return -errno;
	for (unsigned int i = 0; i < ARRAY_SIZE(seeds); i++) {
		lane->ring[i].seed = seeds[i] | 1;
		for (unsigned int k = 0; k < PATH_STRANDS - 1; k++)
			lane->other[k][i].seed = seeds[i] | 1;
	}
	return 0;
}

/* Return the ring size for a new peer, which depends on the number of peers. */
static uint32_t peer_span(const struct uroce_shm *shm)
{
	return shm->peer_count < SHM_WIDE ? SHM_RING_BYTES : SHM_SPAN;
}

int shm_peer_lane(struct shm_peer *peer)
{
	uint32_t bytes = peer_span(peer->shm);
	void *lane = NULL;
	int fd, r;

	peer->ring_bytes = bytes;
	fd = shm_shared_create("uroce-lane", shm_lane_size(bytes), lane_mapped(peer), false, &lane);
	if (fd < 0)
		return fd;
	lane_set(peer, lane);
	r = lane_seed(lane);
	if (r < 0) {
		close(fd);
		return r;
	}
	uroce_shm_rings_begin(peer, 0, 1);
	return fd;
}

int shm_peer_attach_lane(struct shm_peer *peer, int fd)
{
	/* The creator chose the size, and the seal fixes it. */
	size_t size = shm_shared_size(fd);

	if (size == shm_lane_size(SHM_SPAN))
		peer->ring_bytes = SHM_SPAN;
	else if (size == shm_lane_size(SHM_RING_BYTES))
		peer->ring_bytes = SHM_RING_BYTES;
	else
		return -EPROTO;
	lane_set(peer, shm_shared_map(fd, lane_mapped(peer), PROT_READ | PROT_WRITE));
	if (!peer->lane)
		return -ENOMEM;
	uroce_shm_rings_begin(peer, 1, 0);
	return 0;
}

struct shm_peer *shm_peer_lookup(struct uroce_shm *shm, uint16_t slot)
{
	struct shm_peer *peer = atomic_load_explicit(&shm->by_slot[slot], memory_order_acquire);

	return peer && !peer->dead ? peer : NULL;
}

static int peer_watch(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct path_host *host = shm->host;
	int r = 0;

	if (peer->conn >= 0)
		r = host->events->watch(host, peer->conn, WATCH_PEER, peer);
	if (r < 0 || peer->process < 0)
		return r;
	r = host->events->watch(host, peer->process, WATCH_PROCESS, peer);
	if (r < 0)
		host->events->unwatch(host, peer->conn);
	return r;
}

/* Stop reading from a peer and tell its QPs. Under a strand. */
static void peer_drop(struct shm_peer *peer)
{
	struct path_host *host = peer->shm->host;

	peer->dead = true;
	host->events->peer_gone(host, &peer->shm->path, peer, 0);
}

int shm_peer_publish(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct shm_peer *old;
	int r = peer_watch(shm, peer);

	if (r < 0)
		return r;
	peer->udp_only = shm->host->udp_only || (peer->wishes & HELLO_UDP_ONLY);
	peer->fenced =
		shm->fences && (peer->wishes & HELLO_FENCES) && !peer->udp_only && !peer->self;
	path_host_stop(shm->host);
	old = shm_peer_lookup(shm, peer->slot);
	if (old)
		peer_drop(old);
	peer->link.tx_span = min_of(peer_span(shm), peer->ring_bytes);
	LIST_INSERT_HEAD(&shm->peers, peer, entry);
	LIST_INSERT_HEAD(&shm->links[0], &peer->link, entry);
	shm->peer_count++;
	atomic_fetch_or(&shm->inhabited[peer->slot / SHM_WORD], 1ull << peer->slot % SHM_WORD);
	atomic_store_explicit(&shm->by_slot[peer->slot], peer, memory_order_release);
	path_host_go(shm->host);
	return 0;
}

/* Create a lane that no other process shares. */
static int own_lane(size_t size, struct shm_lane **ret_lane)
{
	void *lane = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (lane == MAP_FAILED)
		return -ENOMEM;
	if (lane_seed(lane) < 0) {
		munmap(lane, size);
		return -EIO; /* for any cause: another path would not help */
	}
	*ret_lane = lane;
	return 0;
}

int shm_peer_self(struct uroce_shm *shm, struct shm_peer **ret_peer)
{
	struct shm_peer *peer = *ret_peer = shm_peer_lookup(shm, shm->host->slot);
	struct shm_lane *lane = NULL;
	int r;

	if (peer)
		return 0;
	peer = shm_peer_new(shm, shm->host->slot);
	if (!peer)
		return -ENOMEM;
	peer->ring_bytes = SHM_RING_BYTES;
	r = own_lane(shm_lane_size(peer->ring_bytes), &lane);
	if (r < 0) {
		shm_peer_free(peer);
		return r;
	}
	peer->self = true;
	peer->ready = true;
	peer->pid = getpid();
	peer->lane = lane;
	peer->first_page = &shm->board->first_page;
	peer->board = shm->board;
	peer->wake_fd = shm->wake_fd;
	peer->wide = lane;
	uroce_shm_rings_begin(peer, 0, 0);
	uroce_shm_tx_widen(&peer->link);
	uroce_shm_rx_widen(&peer->link);
	peer->probe = (uintptr_t)peer->first_page->probe;
	shm_peer_publish(shm, peer); /* cannot fail, because there is no descriptor to watch */
	*ret_peer = peer;
	return 0;
}

/* --- the last word --- */

/* Read the last word in the lane of a peer in the table, which is mapped. @waits: also request a
 * DONE message. */
static unsigned int last_word(struct shm_peer *peer, bool waits)
{
	struct uroce_shm *shm = peer->shm;
	unsigned int word = 0;

	/* Pairs with uroce_board_wait(). */
	atomic_fetch_add(&shm->key_readers, 1);
	if (atomic_load(&shm->by_slot[peer->slot]) == peer) {
		/*
		 * Pairs with shm_peer_done(): either the other side sees the request, or this
		 * thread sees the word.
		 */
		if (waits)
			atomic_store(&peer->lane->last.waits, 1);
		word = atomic_load(&peer->lane->last.word);
	}
	atomic_fetch_sub(&shm->key_readers, 1);
	return word;
}

static bool peer_look(struct shm_peer *peer, bool waits)
{
	unsigned int word;

	if (peer->ready)
		return true;
	word = last_word(peer, waits);
	if (!(word & SHM_DONE))
		return false;
	peer->ready = true;
	return true;
}

bool shm_peer_ready(struct shm_peer *peer)
{
	return peer_look(peer, false);
}

bool shm_peer_await(struct shm_peer *peer)
{
	return peer_look(peer, true);
}

void shm_peer_done(struct shm_peer *peer)
{
	struct hello hello;

	atomic_store(&peer->lane->last.word, SHM_DONE);
	if (!atomic_load(&peer->lane->last.waits))
		return;
	shm_hello_fill(peer->shm, &hello, DONE, peer->slot);
	shm_hello_send(peer->conn, &hello, NULL, 0); /* fails only if the peer has died */
}

/* Read the "blind" flag in the lane, which the peer sets after an attempt. */
bool uroce_shm_readable(struct shm_peer *peer)
{
	struct uroce_shm *shm = peer->shm;
	bool blind = false;

	/* Pairs with uroce_board_wait(). */
	atomic_fetch_add(&shm->key_readers, 1);
	if (atomic_load(&shm->by_slot[peer->slot]) == peer)
		blind = atomic_load_explicit(&peer->used->blind, memory_order_relaxed);
	atomic_fetch_sub(&shm->key_readers, 1);
	return !blind;
}

void uroce_shm_corrupt(struct shm_peer *peer, const char *what)
{
	struct path_host *host = peer->shm->host;

	path_assert_inside(host);
	log_err("uroce: process %d wrote %s into shared memory: nothing more is read from it",
		peer->pid, what);
	peer_drop(peer);
}

void uroce_shm_unreadable(struct shm_peer *peer, int r)
{
	struct path_host *host = peer->shm->host;

	path_assert_inside(host);
	log_err("uroce: what process %d sends cannot be mapped: %s: nothing more is read from it",
		peer->pid, strerror(-r));
	peer_drop(peer);
}
