/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The board of a peer: its first page is mapped all the time, the rest at the first use. */
#include <sys/mman.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_memory.h"

size_t shm_board_mapped(void)
{
	return uroce_maps_again() ? SHM_PAGE : sizeof(struct shm_board);
}

int shm_peer_attach_board(struct shm_peer *peer, int fd)
{
	if (shm_shared_size(fd) != sizeof(struct shm_board))
		return -EPROTO;
	peer->first_page = shm_shared_map(fd, shm_board_mapped(), PROT_READ);
	if (peer->first_page && shm_board_mapped() != SHM_PAGE)
		peer->board = (const struct shm_board *)peer->first_page;
	return peer->first_page ? 0 : -ENOMEM;
}

static void *board_again(const struct shm_peer *peer)
{
	return uroce_map_again(peer->first_page, sizeof(struct shm_board));
}

const struct shm_board *uroce_shm_board_map(struct shm_peer *peer)
{
	const struct shm_board *none = NULL;
	void *board = board_again(peer);

	if (!board)
		return NULL;
	if (atomic_compare_exchange_strong(&peer->board, &none, board))
		return board;
	munmap(board, sizeof(struct shm_board));
	return none;
}

const struct shm_board *uroce_shm_board_borrow(struct shm_peer *peer)
{
	const struct shm_board *board = atomic_load_explicit(&peer->board, memory_order_acquire);

	return board ? board : board_again(peer);
}

void uroce_shm_board_return(struct shm_peer *peer, const struct shm_board *board)
{
	if (board && board != atomic_load_explicit(&peer->board, memory_order_relaxed))
		munmap((void *)board, sizeof(*board));
}
