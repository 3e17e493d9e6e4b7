/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How processes that share memory find each other (shm_slot.c) and what they say first
 * (shm_hello.c). */
#ifndef UROCE_SHM_HELLO_H
#define UROCE_SHM_HELLO_H

#include "providers/uroce/path/shm/shm.h"

/*
 * The handshake, three messages: HELLO from the side that connects (with lane, board and bell),
 * WELCOME back (board and bell), DONE. Each side says whether it could read the other's memory.
 */
enum hello_type {
	HELLO = 1,
	WELCOME = 2,
	DONE = 3,
};

struct hello {
	uint32_t magic;
	uint32_t version;
	uint32_t type;
	uint32_t slot;
	uint32_t can_read;
	int32_t pid;
	uint64_t probe; /* address of the board's probe in the sender */
};

enum {
	HELLO_LANE,
	HELLO_BOARD,
	HELLO_BELL,
	HELLO_FDS
};

/* --- shm_slot.c --- */

/* A free slot for this process, with its listening socket. -EUSERS: all are taken; said. */
int shm_slot_claim(struct path_host *host, int *ret_listener);
/* A connection to who has the slot; -ENOENT: nobody. */
int shm_slot_connect(uint8_t slot);
/* Only this user's processes, others are -EPERM; the pid is the kernel's word, not a message's. */
int shm_peer_credentials(int conn, pid_t *ret_pid);

/* --- shm_life.c --- */

int shm_life_init(struct shm_board *board);
/* Watch the process on the other side of peer->conn, whose board is mapped; whether its memory can
 * be read, at @probe, is known then. -ECONNRESET: it has ended. */
int shm_life_watch(struct shm_peer *peer, uint64_t probe);

/* --- shm_hello.c --- */

void shm_hello_fill(const struct uroce_shm *shm, struct hello *hello, enum hello_type type,
		    bool can_read);
int shm_hello_send(int conn, const struct hello *hello, const int *fds, int nfds);
/* Return: number of descriptors received (in @fds, the caller's), or -errno; 0 bytes are
 * -ECONNRESET. */
int shm_hello_recv(int conn, enum hello_type type, struct hello *hello, int *fds);
void shm_fds_close(int *fds);

#endif
