/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How processes that share memory find each other and agree: what is the room's own. */
#ifndef UROCE_SHM_HELLO_H
#define UROCE_SHM_HELLO_H

#include "providers/uroce/path/shm/shm.h"

/*
 * The handshake. Of two processes the one with the lower slot connects to the other one's listener:
 * HELLO (with lane, board and bell), WELCOME back (board and bell), and the last word, DONE, in the
 * lane, or in a message if the other one waits for it. The other one, if it is the first to want
 * the peer, connects to the lower one's listener and says ASK; HELLO comes by the same connection,
 * unless the lower one has already called: then this one is closed when that attempt is over,
 * however it went, and who has no peer by then asks again.
 *
 * What is said to a further slot's listener is not for that: REFERRED names the first one.
 *
 * REFUSED says that there will be none, and both take it as final. Only the listener's word counts,
 * for anybody may connect and say what he likes; so each side asks the other one's listener before
 * it takes another path. A connection that ends without any word says nothing: again.
 *
 * GONE, from either at any later time: segments of the sender are no more. Who has mapped some
 * looks on its board which.
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
	HELLO_UDP_ONLY = 1, /* it wants no packets but forwarded ones: UROCE_PATH */
	HELLO_FENCES = 2,   /* before it sleeps it fences for its peers too: see fence.h */
};

/* The first four are the same in all versions, and so are the names of slots. */
struct hello {
	uint32_t magic;
	uint32_t version;
	uint32_t type;
	uint32_t slot;	 /* the sender's first */
	uint32_t to;	 /* whom it is said to; 0 in an answer */
	uint32_t wishes; /* enum hello_wish */
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

/* A free slot for this process, and listen there. -EUSERS: all are taken; said. */
int shm_slot_claim(struct uroce_shm *shm);
/* A connection to who has the slot; -ENOENT: nobody. Waits for nobody. */
int shm_slot_connect(uint16_t slot);
struct shm_listing;
/*
 * From @slot on the first one of @listing of a process which is neither this one nor a peer;
 * UROCE_FIRST_SLOTS: none.
 * *@ret_conn: a connection to it, or -errno.
 */
unsigned int shm_slot_next(struct uroce_shm *shm, const struct shm_listing *listing,
			   unsigned int slot, int *ret_conn);
/* Whether the abstract socket @name, which begins with a zero byte, is that of @slot. */
bool shm_slot_is_named(uint16_t slot, const char *name, size_t length);
/* Whether who listens at @slot, where @conn leads to, may be a peer. */
bool shm_slot_admits(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid);

/* --- shm_listing.c --- */

/* Slots at which a process listens. */
struct shm_listing {
	uint64_t slots[SHM_SLOTS / 64];
};

/* Ask the kernel. If it does not answer, any slot may have a process. */
void shm_listing_get(const struct uroce_shm *shm, struct shm_listing *ret);
bool shm_listing_has(const struct shm_listing *listing, unsigned int slot);

/* --- shm_trust.c --- */

/*
 * Whether the process on the other side may be a peer: -EPERM if not. That is the kernel's word,
 * not a message's, and so is the pid. Each of the two judges the other. *@ret_process: a descriptor
 * of the process, as shm_process_open() has it, if it had to be opened; -1.
 */
int shm_peer_admit(const struct uroce_shm *shm, int conn, pid_t *ret_pid, int *ret_process);
/* The same of the user alone: whose knowledge it is that they are two, without a message. */
int shm_peer_user(const struct uroce_shm *shm, int conn);
struct ucred;
int shm_peer_credentials(int conn, struct ucred *ret);
/* What is asked about this process; then, what is kept open for questions about others. */
int shm_trust_init(struct uroce_shm *shm);
/* Async-signal-safe. */
void shm_trust_end(struct uroce_shm *shm);

/* --- shm_life.c --- */

int shm_life_init(struct shm_front *front);
/* A descriptor of the process: of who is on the other side of @conn, where the kernel tells. -1: it
 * has no such descriptors; -EMFILE and the like. */
int shm_process_open(int conn, pid_t pid);
/* Have the process on the other side of @conn, whose board is mapped, ready to be watched.
 * -ECONNRESET: it has ended. */
int shm_life_watch(struct shm_peer *peer, int conn);
/* Whether the peer's memory can be read, and is its own: tried when it is first wanted. Nobody lets
 * go of the peer meanwhile. */
bool shm_life_reads(struct shm_peer *peer);

/* --- shm_hello.c --- */

void shm_hello_fill(const struct uroce_shm *shm, struct hello *hello, enum hello_type type,
		    uint16_t to);
int shm_hello_send(int conn, const struct hello *hello, const int *fds, int nfds);
/*
 * Return: number of descriptors received (in @fds, the caller's), or -errno: -ECONNRESET at the
 * end, -EOPNOTSUPP for another version's message, -EMFILE if there was no room for descriptors.
 */
int shm_hello_recv(int conn, struct hello *hello, int fds[HELLO_FDS]);
void shm_fds_close(int fds[HELLO_FDS]);

/* --- shm_guest.c --- */

/*
 * A peer of who was admitted, as process @pid, and says HELLO on @conn, which is the peer's if that
 * went well. *@process is taken. Under shm->lock.
 */
int shm_guest_welcome(struct uroce_shm *shm, int conn, pid_t pid, int *process,
		      const struct hello *hello, int fds[HELLO_FDS]);

/* --- shm_call.c --- */

/* What is kept of attempts for the slot, until the end. NULL: no memory. */
struct shm_call *shm_call_of(struct uroce_shm *shm, uint16_t slot);
/* Both may want each other at the same moment: only the lower slot connects. */
bool shm_connects_first(const struct uroce_shm *shm, uint16_t slot);
/* Whether the process on the other side of @conn, which says that it has @slot, may be a peer, and
 * has neither refused this one before nor been refused: -EPERM. *@ret_process: see
 * shm_peer_admit(). */
int shm_call_admit(struct uroce_shm *shm, uint16_t slot, int conn, pid_t *ret_pid,
		   int *ret_process);
/* @slot, a process that was admitted, asks by @guest, which is kept, to be called. *@process: a
 * descriptor of it, or -1. */
void shm_call_asked(struct uroce_shm *shm, uint16_t slot, int guest, pid_t pid, int *process);
/* One begins, unless one goes on or was needless. @conn: by this connection; -errno: there is none.
 * Under shm->lock. */
void shm_call_by(struct uroce_shm *shm, struct shm_call *call, int conn);
/* The same, by a connection that is still to be made. */
void shm_call_try(struct uroce_shm *shm, struct shm_call *call);
/* The attempt for @slot, if there is one, is over. Under shm->lock. */
void shm_call_end(struct uroce_shm *shm, uint16_t slot, int r);
/* Not worth another try: the application hears at once what its process lacks. */
bool shm_is_own_lack(int r);

/* --- shm_waiter.c --- */

/* What is known of who wanted the process of @slot is of one that is gone. */
void shm_call_wish_end(struct uroce_shm *shm, uint16_t slot);

/* --- shm_peer.c --- */

struct shm_peer *shm_peer_new(struct uroce_shm *shm, uint16_t slot);
void shm_peer_free(struct shm_peer *peer);
/* A process that lives, and perhaps has not said its last word of the handshake; or NULL. */
struct shm_peer *shm_peer_lookup(struct uroce_shm *shm, uint16_t slot);
/* Whether its handshake is complete; its last word may lie in the lane. Threads: any. */
bool shm_peer_ready(struct shm_peer *peer);
/* The same by who waits for it, and will hear of it. Under shm->lock. */
bool shm_peer_await(struct shm_peer *peer);
/* The last word of this side. */
void shm_peer_done(struct shm_peer *peer);
/* The way to itself. Under shm->lock. */
int shm_peer_self(struct uroce_shm *shm, struct shm_peer **ret_peer);
/* A lane of this side's making; its descriptor, for the other. */
int shm_peer_lane(struct shm_peer *peer);
/* What the other side sent. */
int shm_peer_attach_lane(struct shm_peer *peer, int fd);
int shm_peer_attach_board(struct shm_peer *peer, int fd);
/* It is seen by progress from here on, in place of who had the slot before. Under shm->lock. */
int shm_peer_publish(struct uroce_shm *shm, struct shm_peer *peer);

/* --- shm_shared.c --- */

/* Memory that others can map, sealed against shrinking, its first bytes @mapped here. @own: only
 * this mapping of it can ever be written to. Return: its descriptor. */
int shm_shared_create(const char *name, size_t size, size_t mapped, bool own, void **ret_map);
/* The first bytes of such memory, another's perhaps, or NULL. */
void *shm_shared_map(int fd, size_t mapped, int protection);
/* Its size; 0: it can be made smaller, so nothing is to be read from it. */
size_t shm_shared_size(int fd);

/* --- shm_segment.c --- */

void shm_segments_free(struct uroce_shm *shm);
/* Async-signal-safe. */
void shm_segments_forked(struct uroce_shm *shm);

/* --- shm_send.c, shm_rdma.c: operations of the path --- */

int shm_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx);
bool shm_receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		   uint32_t own_qpn);
bool shm_at_work(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn);
int shm_rdma(struct uroce_path *path, const struct uroce_av *av, const struct uroce_rdma *rdma);

/* --- shm_use.c --- */

/*
 * This process is about to copy to or from memory of the peer's, of the region of @key and by leave
 * of QP @qpn, both the peer's: to be said before it looks whether it may. NULL: too many copies are
 * under way.
 */
atomic_uint *shm_use_begin(struct shm_peer *peer, unsigned int strand, uint32_t key, uint32_t qpn);
static inline void shm_use_end(atomic_uint *use)
{
	/* Pairs with peer_uses() in board.c: the copy is over. */
	atomic_store_explicit(use, 0, memory_order_release);
}

/* --- shm_reference.c --- */

/* A payload in its sender's memory, as copied out of the ring and checked. */
struct shm_reference {
	struct shm_peer *peer;
	unsigned int strand;
	bool placed; /* by its sender, which says so: there is nothing to fetch */
	struct shm_source source;
	int count;
	struct shm_piece pieces[UROCE_MAX_SGE];
};

/* What a record has behind its header: the payload of @tx, which leaves by @link. */
uint32_t shm_reference_size(const struct uroce_tx *tx);
void shm_reference_write(struct shm_link *link, const struct uroce_tx *tx, uint8_t *to);
/* The reverse; *@ret_length: bytes of the payload. Return: whether it makes sense. */
bool shm_reference_read(struct shm_reference *ref, struct shm_link *link, const uint8_t *data,
			uint32_t size, uint32_t *ret_length);
int shm_fetch(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
	      void *dst, uint32_t length);

/* --- shm_map.c --- */

/* Those that the peer's board no longer shows are mapped no longer. */
void shm_maps_sweep(struct shm_peer *peer);
/* All of them; nobody uses one any more. */
void shm_maps_free(struct shm_peer *peer);

/* Descriptors that a forked child must not have. */
void shm_fd_forget(int *fd);

#endif
