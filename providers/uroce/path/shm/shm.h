/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory between two uroce processes of one user on one host.
 *
 * Every process listens on an abstract socket whose name contains its slot. The kernel makes the
 * claim atomic, scopes the name to the network namespace and releases it when the process dies. A
 * process with more QPs than a slot has numbers claims further slots, whose sockets refer to the
 * first one.
 *
 * Two processes that want to communicate connect once. Over the connection they exchange a lane (a
 * memfd with two rings, one for each direction), the board of each side (a memfd) and the wake_fd
 * of each side (an eventfd). The connection stays open: when it closes, the peer is dead. No object
 * has a name in a file system, so no object stays behind.
 *
 * A ring has one producer process and one consumer process. A producer that dies in the middle of a
 * record leaves an uncommitted record, which the consumer never sees.
 *
 * The other process can write to these mappings at any time: read each value once, check it, use
 * it.
 *
 *   shm.c          the shared-memory state of this process: its slot and board
 *   path_shm.c     the operations of the path, and receiving from rings
 *   shm_send.c     sending to rings
 *   shm_reference.c  payloads that stay in the sender's memory until the receiver fetches them
 *   shm_rdma.c     one-sided operations
 *   shm_use.c      announcing copies to or from memory of peers
 *   shm_shared.c   files in memory that two processes map
 *   shm_ring.c     rings of records
 *   shm_slot.c     slots
 *   shm_rest.c     numbers that rest after the end of a process
 *   shm_trust.c    which processes may be peers
 *   shm_call.c     the handshake of the process that wants a peer
 *   shm_waiter.c   waiting for the end of the handshake
 *   shm_incoming.c    the handshake of the process that is called
 *   shm_hello.c    the messages of the handshake
 *   shm_peer.c     peers from the handshake on
 *   shm_peer_board.c  the board of a peer
 *   shm_peer_end.c  the death of a peer, and what a child of fork() closes
 *   shm_life.c     whether peers live
 *   shm_former.c   peers whose processes have ended
 *   shm_ptracer.c  Yama: which process may read the memory of this one
 *   board.c        the data that a process shows to its peers
 *   shm_segment.c  memory of this process that peers can map
 *   shm_map.c      mappings of memory of peers
 *   shm_memory.c   the cost of copies between processes
 *
 * Locks:
 *
 * - uroce_shm.lock: calls. Taken before progress_lock. Do not wait for another process under it.
 *
 * - segments_lock: the segments of this process.
 *
 * - maps_lock: the mappings of segments of peers. Below the lock of a QP.
 *
 * - shm_link.tx_lock: the producer side of a ring. Below the lock of a QP. To open the link of
 * another strand, take only that of the first strand.
 *
 * - The consumer side of a link is under the lock of its strand, the list of peers under all
 * strands.
 *
 * Threads: any thread sends and calls. The thread that watches descriptors calls
 * uroce_shm_accept(), _incoming(), _called(), _conn_ready() and _process_ended(), which do not
 * block.
 *
 * Includes: path/path.h, wire, base. Included by: host.
 */
#ifndef UROCE_SHM_H
#define UROCE_SHM_H

#include <pthread.h>
#include <stdatomic.h>

#include "providers/uroce/path/shm/shm_peer.h"

/*
 * The attempts to make the process of a slot a peer. All members except refused are under
 * uroce_shm.lock.
 */
struct shm_call {
	uint16_t slot;
	int conn;	  /* connection to its listener, which has to answer; -1: no attempt */
	bool by_incoming; /* conn is the connection by which the peer sent ASK */
	pid_t pid;	  /* of the process at the slot */
	int process;	  /* pidfd of that process until the peer owns it; -1: none */
	/* the unfinished peer, on the side that connects; NULL: this side sent ASK */
	struct shm_peer *peer;
	int incoming; /* connection by which that process sent ASK during an attempt; -1: none */
	unsigned int waiters; /* threads that wait for the end of an attempt */
	unsigned int ended;   /* attempts that have ended */
	int result;	      /* result of the last attempt */
	atomic_int refused;   /* pid + 1 of a process with which a refusal was exchanged; 0: none */
	atomic_uint wish;     /* SHM_ASKED, SHM_AHEAD */
};

enum {
	SHM_CALLS = 32, /* calls of neighbouring places, which are allocated together */
	SHM_FURTHER = (UROCE_SLOTS - UROCE_FIRST_SLOTS) >> UROCE_FAMILY_BITS, /* of a family */
};

enum {
	SHM_ASKED = 1, /* a thread wanted the peer */
	SHM_AHEAD = 2, /* called before a thread wanted it */
};

enum {
	SHM_PARTS = 1 << (UROCE_QPN_BLOCK_BITS - UROCE_QPN_PART_BITS), /* of a block */
};

/* Numbers that rest after the end of this process. */
struct shm_rest {
	atomic_bool begun; /* a peer may know a number of this part */
	int fd;		   /* socket that makes them rest; -1 or -errno: they do not */
};

struct uroce_shm {
	struct uroce_path path;
	struct path_host *host;
	int listeners[UROCE_BLOCKS];	     /* listeners of this process's slots, indexed by
						uroce_slot_place(); -1: none */
	struct shm_rest rests[UROCE_BLOCKS]; /* whole further slots, by the same index */
	struct shm_rest parts[SHM_PARTS];    /* parts of the first slot */
	int wake_fd;			     /* eventfd of this process */
	int board_fd;
	bool fences;		 /* this process can fence for its peers: fence.h */
	atomic_uint editions;	 /* last value of an edition on the board */
	struct shm_board *board; /* board of this process */
	pthread_mutex_t segments_lock;
	struct shm_segments *segments; /* segments of this process, once there is one */
	pthread_mutex_t maps_lock;     /* mappings of segments of peers */
	int depth;		       /* nesting depth of the PID namespace; 0: unknown */
	int looked_at;		       /* pidfd of the process whose fdinfo file is read */
	int look;		       /* descriptor of the fdinfo file in /proc; -1: none */
	uid_t uid;		       /* effective user when this process opened the path */
	bool uid_many;		       /* several users may have the same uid here */
	pthread_mutex_t lock;	       /* protects calls and gone */
	pthread_cond_t changed;	       /* signalled at the end of a call or of a handshake */
	uint64_t patience;	       /* ns: time to wait for an answer */
	/* by shm_call_place() / SHM_CALLS, allocated at the first use */
	_Atomic(struct shm_call *) calls[SHM_SLOTS / SHM_CALLS];
	/* accepted connections without a message yet, oldest first; only for the thread that
	 * watches */
	int silent[SHM_SILENT];
	unsigned int silent_count;
	struct shm_peer_list peers; /* changed under all strands */
	/*
	 * The links that a pass of each strand polls. Change the array under all strands. To add a
	 * link of another strand than the first, that strand and the first suffice.
	 */
	struct shm_link_list links[PATH_STRANDS];
	atomic_uint peer_count; /* peers in that list */
	atomic_uint asked;	/* calls that a thread has asked for */
	atomic_uint ahead;	/* calls ahead that no thread has asked for yet */
	/* former peers, which address vectors may still name; under lock */
	struct shm_peer_list gone;
	unsigned int gone_count; /* in that list; written under lock by the thread that watches */
	unsigned int gone_kept;	 /* former peers that were left after the last cleanup */
	atomic_uint finders;	 /* threads between uroce_shm_find_begin() and _end() */
	atomic_uint key_readers; /* threads that read the lanes of peers without a lock */
	/* peers by slot; a further slot has an entry once its process is known */
	_Atomic(struct shm_peer *) by_slot[SHM_SLOTS];
	/* a bit for each first slot with a peer; changed under progress_lock */
	atomic_ullong inhabited[SHM_SLOTS / SHM_WORD];
	/* ns: time of the next check by uroce_shm_complete(); under progress_lock */
	uint64_t complete_next;
	uint64_t complete_begun; /* ns: time of the last check */
	bool complete;
	bool complete_cheap; /* the last check was short, so the next one may follow immediately */
};

/*
 * Return the place of a slot among the calls. Further slots of one family have neighbouring places,
 * because processes that start one after another have such slots.
 */
static inline unsigned int shm_call_place(unsigned int slot)
{
	unsigned int family = slot & ((1 << UROCE_FAMILY_BITS) - 1);

	return slot < UROCE_FIRST_SLOTS ? slot
					: UROCE_FIRST_SLOTS + family * SHM_FURTHER +
						  ((slot - UROCE_FIRST_SLOTS) >> UROCE_FAMILY_BITS);
}

/* Return the calls of a slot. NULL: there were none for it and its neighbours. */
static inline struct shm_call *uroce_shm_call_known(const struct uroce_shm *shm, unsigned int slot)
{
	unsigned int place = shm_call_place(slot);
	struct shm_call *calls =
		atomic_load_explicit(&shm->calls[place / SHM_CALLS], memory_order_acquire);

	return calls ? &calls[place % SHM_CALLS] : NULL;
}

/* --- shm_slot.c --- */

/*
 * Claim a further slot for QPs of this process. Return: the slot; -ENOMEM: none is free; another
 * -errno. If the slot is @needed, take a worse one as well, and log an error. One caller at a time.
 */
int uroce_shm_slot_more(struct uroce_shm *shm, bool needed);
/* Return whether a process that may be a peer has @slot. */
bool uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot);
/* Return whether a process of another user has @slot: not of the user at the start of this
 * process. */
bool uroce_shm_foreign(const struct uroce_shm *shm, uint16_t slot);
/*
 * Return whether every other process of this user is connected. The check runs only from time to
 * time.
 */
bool uroce_shm_complete(struct uroce_shm *shm, uint64_t now);
/*
 * Wait for the turn of this process to take its slot and bind its sockets. Processes do so one
 * after the other, because the kernel numbers the sockets of an address in the order of bind() and
 * datagrams are steered by slot. Return: a descriptor that the caller closes when both are done;
 * -errno: go on without a turn.
 */
int uroce_shm_turn_take(void);

/* --- shm_rest.c --- */

/* Return whether numbers of this part of a slot rest. A further slot has only part 0. */
bool uroce_shm_part_rests(uint16_t slot, unsigned int part);
/*
 * Let numbers near @qpn rest for a minute when this process ends, because a peer may know @qpn.
 * Only the first call for a part makes system calls.
 */
void uroce_shm_rest_later(struct uroce_shm *shm, uint32_t qpn);

/* Return the listener of the first slot of this process. */
static inline int uroce_shm_listener(const struct uroce_shm *shm)
{
	return shm->listeners[uroce_slot_place(shm->host->slot)];
}

/* --- shm_waiter.c --- */

/*
 * Return the peer that owns @slot; connect to it if necessary. Both ends of a QP must use the same
 * path, so there are two kinds of failure. If uroce_shm_agreed() accepts the failure, the other
 * side has the same result, and both use another path. Otherwise the result is open, because the
 * peer did not answer in time or this process lacks a resource.
 *
 * Blocks: hold no lock, and do not call it in the thread that watches.
 */
int uroce_shm_peer(struct uroce_shm *shm, uint16_t slot, struct shm_peer **ret_peer);

/* --- shm_call.c --- */

/* Return whether both sides know of failure @r. -ENOENT: no process of this user has the slot;
 * -EPERM: one of the two refuses; -EOPNOTSUPP: the other process has another version. */
bool uroce_shm_agreed(int r);
/* Begin to connect to @slot unless it is connected. Does not block. Threads: any, no lock held. */
void uroce_shm_invite(struct uroce_shm *shm, uint16_t slot);
/* Begin to connect to every slot that has a process. */
void uroce_shm_invite_all(struct uroce_shm *shm);
/* Read the answer of a called process. */
void uroce_shm_called(struct uroce_shm *shm, struct shm_call *call);

/* --- shm_incoming.c --- */

/*
 * Accept connections. Return: 0; -EMFILE or a similar error: the connection has to wait, and the
 * listener stays readable.
 */
int uroce_shm_accept(struct uroce_shm *shm, int listener);
/* Read the first message of an accepted connection. */
void uroce_shm_incoming(struct uroce_shm *shm, int conn);

/* --- shm.c --- */

/* Claim a slot and start to listen. */
int uroce_shm_open(struct path_host *host, struct uroce_shm **ret_shm);
void uroce_shm_close(struct uroce_shm *shm);

/* --- shm_peer.c --- */

/* Map and return the whole board of a peer. NULL: it cannot be mapped. Threads: any. */
const struct shm_board *uroce_shm_board_map(struct shm_peer *peer);
static inline const struct shm_board *uroce_shm_board(struct shm_peer *peer)
{
	const struct shm_board *board = atomic_load_explicit(&peer->board, memory_order_acquire);

	return likely(board) ? board : uroce_shm_board_map(peer);
}
/*
 * Return the whole board for one access. If this call maps the board, uroce_shm_board_return()
 * unmaps it, because boards of many peers need many page tables. Threads: any.
 */
const struct shm_board *uroce_shm_board_borrow(struct shm_peer *peer);
void uroce_shm_board_return(struct shm_peer *peer, const struct shm_board *board);
/*
 * Return whether the peer can read memory of this process; true if the peer has not tried yet.
 * Threads: any.
 */
bool uroce_shm_readable(struct shm_peer *peer);
/* Handle a readable connection of a peer: end of the handshake, GONE, or the peer's death. */
void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer);

/* Return whether the peer sends no more packets. */
static inline bool uroce_shm_peer_dead(const struct shm_peer *peer)
{
	return atomic_load_explicit(&peer->dead, memory_order_relaxed);
}
/* Handle the end of a peer's process, in any state of its connection. */
void uroce_shm_process_ended(struct uroce_shm *shm, struct shm_peer *peer);
/* Close the descriptors of a forked child, which does not own them. Async-signal-safe. */
void uroce_shm_forked(struct uroce_shm *shm);

/* --- shm_life.c --- */

/* Take and release the life mutex. The calling thread lives while the process can be reached. */
void uroce_shm_life_begin(struct uroce_shm *shm);
void uroce_shm_life_end(struct uroce_shm *shm);
/* --- shm_former.c --- */

/*
 * Until uroce_shm_find_end(), keep the structs of all peers that this thread finds in the table.
 * Before that call, the address vector of a QP that uroce_qp_next() finds must name the peer. A
 * thread that holds the lock of such a QP, or a strand, needs neither call.
 */
static inline void uroce_shm_find_begin(struct uroce_shm *shm)
{
	atomic_fetch_add(&shm->finders, 1);
	/*
	 * The following loads from the table must not come before this thread is counted, and they
	 * are weaker.
	 */
	atomic_thread_fence(memory_order_seq_cst);
}

static inline void uroce_shm_find_end(struct uroce_shm *shm)
{
	atomic_fetch_sub(&shm->finders, 1);
}

/*
 * Return whether the number of former peers makes a cleanup worthwhile. If so, the thread that
 * watches calls uroce_shm_former_keep() for each peer that an address vector names, then
 * uroce_shm_former_free().
 */
bool uroce_shm_former_many(struct uroce_shm *shm);
static inline void uroce_shm_former_keep(struct shm_peer *peer)
{
	peer->named = true;
}
void uroce_shm_former_free(struct uroce_shm *shm);

/* --- path_shm.c --- */
extern const struct uroce_path_ops uroce_shm_ops;

/*
 * Receive up to @budget packets from each peer by @strand, which is held. @now: time in ns; 0: the
 * caller is a poller, which will poll again. Return: number of packets.
 */
unsigned int uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
			    uint64_t now);

/* Receive one record of a link, whose strand is held. Return: false if there is none. */
bool uroce_shm_poll_link(struct shm_link *link, uint64_t now);
/*
 * Return whether any ring has a record. The thread checks this last before it sleeps. Under all
 * strands.
 */
bool uroce_shm_pending(struct uroce_shm *shm);
/* Return whether a peer relies on a fence of this process before it sleeps. Under a strand. */
bool uroce_shm_fences_for_peers(struct uroce_shm *shm);
/* Stop reading from a peer that wrote invalid data, and log it once. */
void uroce_shm_corrupt(struct shm_peer *peer, const char *what);
/* Stop reading from a peer because this process lacks a resource. */
void uroce_shm_unreadable(struct shm_peer *peer, int r);

/* --- shm_send.c --- */

/* Forward a UDP payload (from BTH, without ICRC) to the process that owns its QP. */
int uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
		      const void *packet, uint32_t length);
/* Return whether all processes that got a forwarded packet will see it even if this process ends
 * now. Under a strand. */
bool uroce_shm_forwarded(struct uroce_shm *shm);

/* The host needs these parts of the room. */
#include "providers/uroce/path/shm/board.h"
#include "providers/uroce/path/shm/shm_memory.h"
#include "providers/uroce/path/shm/shm_ring.h"
#include "providers/uroce/path/shm/shm_segment.h"

#endif
