/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shared-memory state of a process: open (slot and board) and close. */
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

#define PATIENCE 30000000000ull /* ns */

static void calls_init(struct uroce_shm *shm)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&shm->lock, NULL);
	pthread_mutex_init(&shm->segments_lock, NULL);
	pthread_mutex_init(&shm->maps_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&shm->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static void calls_end(struct uroce_shm *shm)
{
	pthread_mutex_lock(&shm->lock);
	for (unsigned int slot = 0; slot < SHM_SLOTS; slot++)
		shm_call_end(shm, slot, -ECONNRESET);
	for (unsigned int i = 0; i < SHM_SLOTS / SHM_CALLS; i++)
		free(shm->calls[i]);
	pthread_mutex_unlock(&shm->lock);
	pthread_cond_destroy(&shm->changed);
	pthread_mutex_destroy(&shm->lock);
}

int uroce_shm_open(struct path_host *host, struct uroce_shm **ret_shm)
{
	struct uroce_shm *shm = calloc(1, sizeof(*shm));
	void *board = NULL;
	int r;

	if (!shm)
		return -ENOMEM;
	shm->host = host;
	for (unsigned int i = 0; i < UROCE_BLOCKS; i++)
		shm->listeners[i] = -1;
	shm_rests_init(shm);
	shm->wake_fd = shm->board_fd = shm->look = shm->looked_at = -1;
	shm->patience = PATIENCE;
	shm->path = (struct uroce_path){ .ops = &uroce_shm_ops,
					 .host = host,
					 .name = "shm",
					 .lossless = true,
					 .piggyback = true };
	calls_init(shm);
	r = shm->board_fd = shm_shared_create("uroce-board", sizeof(*shm->board),
					      sizeof(*shm->board), true, &board);
	if (r < 0)
		goto fail;
	shm->board = board;
	r = shm_life_init(&shm->board->first_page);
	if (r < 0)
		goto fail;
	r = shm_trust_init(shm);
	if (r < 0)
		goto fail;
	shm->fences = uroce_fence_join();
	shm->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = shm->wake_fd < 0 ? uroce_call_failed("eventfd") : shm_slot_claim(shm);
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
		shm_peer_free(peer);
	}
}

void uroce_shm_close(struct uroce_shm *shm)
{
	calls_end(shm);
	peers_free(&shm->peers);
	peers_free(&shm->gone);
	shm_segments_free(shm);
	for (unsigned int i = 0; i < UROCE_BLOCKS; i++)
		if (shm->listeners[i] >= 0)
			close(shm->listeners[i]);
	shm_rests_end(shm);
	if (shm->wake_fd >= 0)
		close(shm->wake_fd);
	shm_trust_end(shm);
	if (shm->board)
		munmap(shm->board, sizeof(*shm->board));
	if (shm->board_fd >= 0)
		close(shm->board_fd);
	free(shm);
}
