/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a peer, and what a child of fork() closes. */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

static bool slot_leave(struct uroce_shm *shm, unsigned int slot, struct shm_peer *peer)
{
	/* seq_cst: see uroce_board_wait(). */
	return atomic_compare_exchange_strong(&shm->by_slot[slot], &peer, NULL);
}

static void slots_leave(struct uroce_shm *shm, struct shm_peer *peer)
{
	if (slot_leave(shm, peer->slot, peer))
		atomic_fetch_and(&shm->inhabited[peer->slot / SHM_WORD],
				 ~(1ull << peer->slot % SHM_WORD));
	for (unsigned int slot = 1; peer->has_more && slot < SHM_SLOTS; slot++)
		slot_leave(shm, slot, peer);
}

/*
 * Read the packets that a dead peer has sent, at most as many as its rings hold, because its child
 * may write there for ever. If a packet opens a link, the loop reaches that link later. Under all
 * strands.
 */
static void links_end(struct shm_peer *peer)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		struct shm_link *link = i ? atomic_load(&peer->links[i - 1]) : &peer->link;
		uint32_t most;

		if (!link || !link->rx_bytes)
			continue;
		most = (SHM_FIRST + link->wide_bytes) / SHM_LINE;
		while (most-- && !peer->dead && uroce_shm_poll_link(link, uroce_now()))
			;
		LIST_REMOVE(link, entry);
	}
}

static void peer_gone(struct shm_peer *peer)
{
	struct uroce_shm *shm = peer->shm;
	struct path_host *host = shm->host;

	host->events->unwatch(host, peer->conn);
	if (peer->process >= 0)
		host->events->unwatch(host, peer->process);
	path_host_stop(host);
	links_end(peer);
	peer->dead = true;
	slots_leave(shm, peer);
	LIST_REMOVE(peer, entry);
	shm->peer_count--;
	/* Any sender holds the lock of its QP and checks first whether the peer is dead. */
	host->events->peer_gone(host, &shm->path, peer, peer->slot);
	path_host_go(host);
	uroce_board_wait(shm);
	shm_call_wish_end(shm, peer->slot);
	shm_peer_release(peer);
	shm_former_add(shm, peer);
}

void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer)
{
	struct hello hello;
	int fds[HELLO_FDS];
	int r = shm_hello_recv(peer->conn, &hello, fds);

	if (r == -EAGAIN)
		return;
	if (!r && hello.type == GONE) {
		shm_maps_sweep(peer);
		return;
	}
	if (r < 0 || hello.type != DONE) {
		shm_fds_close(fds);
		peer_gone(peer);
		return;
	}
	shm_fds_close(fds);
	pthread_mutex_lock(&shm->lock);
	peer->ready = true;
	shm_call_end(shm, peer->slot, 0);
	pthread_mutex_unlock(&shm->lock);
}

void uroce_shm_process_ended(struct uroce_shm *shm, struct shm_peer *peer)
{
	peer_gone(peer);
}

/* The watcher closes the watched descriptors. */
void uroce_shm_forked(struct uroce_shm *shm)
{
	for (unsigned int slot = 1; slot < SHM_SLOTS; slot++) {
		struct shm_peer *peer =
			atomic_load_explicit(&shm->by_slot[slot], memory_order_relaxed);
		struct shm_call *call = uroce_shm_call_known(shm, slot);

		if (peer && !peer->self)
			shm_fd_forget(&peer->wake_fd);
		if (!call)
			continue;
		shm_fd_forget(&call->process);
		shm_fd_forget(&call->incoming);
	}
	shm_segments_forked(shm);
	shm_fd_forget(&shm->board_fd);
	shm_trust_end(shm);
	shm_rests_end(shm);
	for (unsigned int i = 0; i < UROCE_BLOCKS; i++)
		shm->listeners[i] = -1;
	shm->wake_fd = -1;
}
