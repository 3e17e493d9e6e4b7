/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How processes that share memory find each other and agree. Only for the files of this room. */
#ifndef UROCE_SHM_HELLO_H
#define UROCE_SHM_HELLO_H

#include "providers/uroce/path/shm/shm.h"

/*
 * The handshake. The process with the lower slot connects to the listener of the other process. It
 * sends HELLO (with lane, board and wake-up descriptor), and the other process answers WELCOME
 * (with board and wake-up descriptor). Then the connecting process puts the last word, DONE, into
 * the lane. It also sends DONE as a message if the other process waits for it.
 *
 * A process with the higher slot that wants the peer first connects to the listener of the lower
 * slot and sends ASK. HELLO then arrives on the same connection. The process with the lower slot
 * may have begun an attempt of its own before ASK arrives. Then it closes the connection of ASK
 * when that attempt ends. If the asking process has no peer at that time, it asks again.
 *
 * The listener of a further slot does none of this. It answers REFERRED, which names the first
 * slot.
 *
 * REFUSED means that there will be no peer, and both processes take it as final. Only the word of
 * the listener counts, because any process may connect and send any message. Therefore each side
 * asks the listener of the other before it takes another path. A connection that ends without an
 * answer is no decision: try again.
 *
 * GONE, from either side at any later time, means that segments of the sender are gone. A receiver
 * that has mapped segments reads on the sender's board which of them still exist.
 */
enum hello_type {
	HELLO = 1,
	WELCOME = 2,
	DONE = 3,
	ASK = 4,
	REFUSED = 5,
	GONE = 6,
	REFERRED = 7,
};

enum hello_wish {
	HELLO_UDP_ONLY = 1, /* the sender accepts only forwarded packets: UROCE_PATH */
	HELLO_FENCES = 2,   /* the sender also fences for its peers before it sleeps: fence.h */
};

/* The first four members and the names of slots are the same in all versions. */
struct hello {
	uint32_t magic;
	uint32_t version;
	uint32_t type;
	uint32_t slot;	 /* first slot of the sender */
	uint32_t to;	 /* slot of the listener; 0 in an answer */
	uint32_t wishes; /* enum hello_wish */
	int32_t pid;
	uint32_t reserved; /* 0 */
	uint64_t probe;	   /* address of the board's probe in the sender */
};

static_assert(sizeof(struct hello) == 8 * sizeof(uint32_t) + sizeof(uint64_t),
	      "padding would show bytes of the sender's stack to the peer");

enum {
	HELLO_LANE,
	HELLO_BOARD,
	HELLO_WAKE_FD,
	HELLO_FDS
};

/* --- shm_slot.c --- */

/* Claim a free slot for this process and listen there. -EUSERS: all are taken (logged). */
int shm_slot_claim(struct uroce_shm *shm);
/* Connect to the process of @slot. Return: a descriptor; -ENOENT: no process has the slot. Does not
 * block. */
int shm_slot_connect(uint16_t slot);
struct shm_listing;
/*
 * Search @listing from @slot on for a process that is neither this process nor a peer, and return
 * its first slot. UROCE_FIRST_SLOTS: there is no such process. *@ret_conn: a connection to it, or
 * -errno.
 */
unsigned int shm_slot_next(struct uroce_shm *shm, const struct shm_listing *listing,
			   unsigned int slot, int *ret_conn);
/* Return whether the abstract socket @name, which begins with a zero byte, belongs to @slot. */
bool shm_slot_is_named(uint16_t slot, const char *name, size_t length);
/* Return whether the process that listens at @slot may be a peer. @conn: a connection to it. */
bool shm_slot_admits(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid);

/* --- shm_rest.c --- */

void shm_rests_init(struct uroce_shm *shm);
/* Close the sockets. Async-signal-safe. */
void shm_rests_end(struct uroce_shm *shm);

/* --- shm_listing.c --- */

/* Slots at which a process listens. */
struct shm_listing {
	uint64_t slots[SHM_SLOTS / 64];
};

/* List the slots by a request to the kernel. If the kernel does not answer, list all slots. */
void shm_listing_get(const struct uroce_shm *shm, struct shm_listing *ret);
bool shm_listing_has(const struct shm_listing *listing, unsigned int slot);

/* --- shm_trust.c --- */

/*
 * Check whether the process on the other side may be a peer: -EPERM if not. The answer and the pid
 * come from the kernel, not from a message. Each of the two processes checks the other.
 * *@ret_process: a descriptor of the process, as from shm_process_open(), if the check needed one;
 * otherwise -1.
 */
int shm_peer_admit(const struct uroce_shm *shm, int conn, pid_t *ret_pid, int *ret_process);
/*
 * Check only the user of the other side: -EPERM if it is another user. The other process gets the
 * same result without a message.
 */
int shm_peer_user(const struct uroce_shm *shm, int conn);
struct ucred;
int shm_peer_credentials(int conn, struct ucred *ret);
/*
 * Collect the facts about this process, and open the descriptors that answer questions about other
 * processes.
 */
int shm_trust_init(struct uroce_shm *shm);
/* Async-signal-safe. */
void shm_trust_end(struct uroce_shm *shm);

/* --- shm_life.c --- */

int shm_life_init(struct shm_first_page *first_page);
/* Return a pidfd of the process on the other side of @conn, or of @pid if the kernel does not tell.
 * -1: the kernel has no pidfds; -EMFILE and the like. */
int shm_process_open(int conn, pid_t pid);
/* Open a pidfd of the process on the other side of @conn, whose board is mapped, to watch it.
 * -ECONNRESET: it has ended. */
int shm_life_watch(struct shm_peer *peer, int conn);
/*
 * Return whether the process of a peer from the table lives. The thread that watches may not know
 * yet that the process has ended and another process has taken its slot. The caller prevents the
 * peer from being freed.
 */
bool shm_life_lasts(struct shm_peer *peer);
/*
 * Return whether this process can read the peer's memory and it belongs to the peer. Tried at the
 * first use. The caller prevents the peer from being freed.
 */
bool shm_life_reads(struct shm_peer *peer);

/* --- shm_hello.c --- */

void shm_hello_fill(const struct uroce_shm *shm, struct hello *hello, enum hello_type type,
		    uint16_t to);
int shm_hello_send(int conn, const struct hello *hello, const int *fds, int nfds);
/*
 * Return: number of descriptors received (in @fds, owned by the caller), or -errno. -ECONNRESET:
 * end of the connection; -EOPNOTSUPP: a message of another version; -EMFILE: this process has no
 * free descriptors.
 */
int shm_hello_recv(int conn, struct hello *hello, int fds[HELLO_FDS]);
void shm_fds_close(int fds[HELLO_FDS]);

/* --- shm_incoming.c --- */

/*
 * Make a peer of the process @pid, which was admitted and sent HELLO on @conn. On success the peer
 * owns @conn. The function takes *@process in any case. Under shm->lock.
 */
int shm_incoming_welcome(struct uroce_shm *shm, int conn, pid_t pid, int *process,
			 const struct hello *hello, int fds[HELLO_FDS]);

/* --- shm_call.c --- */

/* Return the state of attempts for the slot, which lives until uroce_shm_close(). NULL: no
 * memory. */
struct shm_call *shm_call_of(struct uroce_shm *shm, uint16_t slot);
/*
 * Return whether this process connects to @slot. Only the lower slot connects, because both
 * processes may try to connect at the same moment.
 */
bool shm_connects_first(const struct uroce_shm *shm, uint16_t slot);
/* Check whether the process on the other side of @conn, which claims @slot, may be a peer and has
 * neither refused this process nor been refused: -EPERM. *@ret_process: see shm_peer_admit(). */
int shm_call_admit(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid,
		   int *ret_process);
/* Handle ASK from the admitted process of @slot. @incoming: its connection, which is kept.
 * *@process: its pidfd, or -1. */
void shm_call_asked(struct uroce_shm *shm, uint16_t slot, int incoming, pid_t pid, int *process);
/* Begin an attempt, unless one goes on or the process is a peer. @conn: the connection, or -errno
 * if there is none. Under shm->lock. */
void shm_call_by(struct uroce_shm *shm, struct shm_call *call, int conn);
/* Connect and begin an attempt. Under shm->lock. */
void shm_call_try(struct uroce_shm *shm, struct shm_call *call);
/* End the attempt for @slot, if there is one. Under shm->lock. */
void shm_call_end(struct uroce_shm *shm, uint16_t slot, int r);
/* Return whether this process lacks a resource. Do not try again then: report it to the application
 * at once. */
bool shm_is_own_lack(int r);

/* --- shm_waiter.c --- */

/* The process of @slot has gone: drop the pending request to connect to it. */
void shm_call_wish_end(struct uroce_shm *shm, uint16_t slot);

/* --- shm_peer.c --- */

struct shm_peer *shm_peer_new(struct uroce_shm *shm, uint16_t slot);
void shm_peer_free(struct shm_peer *peer);
/* Release the resources that the peer shares with its process. */
void shm_peer_release(struct shm_peer *peer);
/* Return the living peer of @slot, whose handshake may be incomplete; or NULL. */
struct shm_peer *shm_peer_lookup(struct uroce_shm *shm, uint16_t slot);
/* Return whether the handshake is complete. Also read the last word in the lane. Threads: any. */
bool shm_peer_ready(struct shm_peer *peer);
/*
 * Return whether the handshake is complete. If it is not, also request a DONE message. Under
 * shm->lock.
 */
bool shm_peer_await(struct shm_peer *peer);
/* Write the last word of the handshake. */
void shm_peer_done(struct shm_peer *peer);
/* Return the peer that is this process. Under shm->lock. */
int shm_peer_self(struct uroce_shm *shm, struct shm_peer **ret_peer);
/* Create the lane on this side. Return: its descriptor, for the other side. */
int shm_peer_lane(struct shm_peer *peer);
/* Map the lane and the board that the other side sent. */
int shm_peer_attach_lane(struct shm_peer *peer, int fd);
int shm_peer_attach_board(struct shm_peer *peer, int fd);
/* Return the bytes of a board that are mapped all the time. */
size_t shm_board_mapped(void);
/*
 * Add the peer to the table, in place of the former process of its slot. Progress passes read its
 * rings from now on. Under shm->lock.
 */
int shm_peer_publish(struct uroce_shm *shm, struct shm_peer *peer);

/* --- shm_former.c --- */

/* Keep the struct of a peer whose process has ended and whose memory was released. */
void shm_former_add(struct uroce_shm *shm, struct shm_peer *peer);

/* --- shm_shared.c --- */

/* Create memory that others can map, sealed against shrinking, and map its first @mapped bytes.
 * @own: no other mapping can ever write to it. Return: its descriptor. */
int shm_shared_create(const char *name, size_t size, size_t mapped, bool own, void **ret_map);
/*
 * Map the first @mapped bytes of such memory, which may belong to another process. Return NULL on
 * failure.
 */
void *shm_shared_map(int fd, size_t mapped, int protection);
/*
 * Return the size of the memory; 0: the memory is not sealed against shrinking, so do not read it.
 */
size_t shm_shared_size(int fd);

/* --- shm_segment.c --- */

void shm_segments_free(struct uroce_shm *shm);
/* Async-signal-safe. */
void shm_segments_forked(struct uroce_shm *shm);

/* --- shm_send.c, shm_rdma.c: operations of the path --- */

int shm_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx);
bool shm_receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		   uint32_t own_qpn);
uint32_t shm_unread(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		    uint32_t *mark, bool anew);
bool shm_at_work(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn);
int shm_rdma(struct uroce_path *path, const struct uroce_av *av, const struct uroce_rdma *rdma);

/* --- shm_use.c --- */

/*
 * Announce a copy to or from memory of the peer: the region of its key @key, by permission of its
 * QP @qpn. Call it before checking the permission. NULL: too many copies are under way.
 */
atomic_uint *shm_use_begin(struct shm_peer *peer, unsigned int strand, uint32_t key, uint32_t qpn);
static inline void shm_use_end(atomic_uint *use)
{
	/* Pairs with peer_uses() in board.c: the copy is over. */
	atomic_store_explicit(use, 0, memory_order_release);
}

/* --- shm_reference.c --- */

/* A payload in the memory of its sender: copied out of the ring and checked. */
struct shm_reference {
	struct shm_peer *peer;
	unsigned int strand;
	bool placed; /* the sender has already written the payload: do not fetch */
	struct shm_source source;
	int count;
	struct shm_piece pieces[UROCE_MAX_SGE];
};

/*
 * Return the size of the part that follows the header of a record, or write it. It is the payload
 * of @tx, which @link sends.
 */
uint32_t shm_reference_size(const struct uroce_tx *tx);
void shm_reference_write(struct shm_link *link, const struct uroce_tx *tx, uint8_t *to);
/*
 * Read the part of a record behind its header. *@ret_length: bytes of the payload. Return: whether
 * the part is valid.
 */
bool shm_reference_read(struct shm_reference *ref, struct shm_link *link, const uint8_t *data,
			uint32_t size, uint32_t *ret_length);
int shm_fetch(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
	      void *dst, uint32_t length);

/* --- shm_map.c --- */

/* Unmap the segments that the peer's board no longer shows. */
void shm_maps_sweep(struct shm_peer *peer);
/* Unmap all segments. The caller knows that no thread uses them any more. */
void shm_maps_free(struct shm_peer *peer);

/* Set *@fd to -1, then close the descriptor, because a forked child must not use it. */
void shm_fd_forget(int *fd);

#endif
