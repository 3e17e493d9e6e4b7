/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory between two uroce processes of one user on one host.
 *
 * Every process listens on an abstract socket whose name is its slot: the kernel makes the claim
 * atomic, scopes it to the network namespace and takes it back at any death. Two processes that
 * want to talk connect once; over that connection travel a lane (two rings, one each way, in one
 * memfd), each side's board (a memfd of its own) and each side's bell (an eventfd). The connection
 * stays open: when it closes, the peer is dead. Nothing has a name in a file system, so nothing is
 * left behind.
 *
 * A ring has one producer process and one consumer process. A producer that dies in the middle of a
 * record leaves an uncommitted record, which nobody ever sees.
 *
 * Everything in these mappings can be written by the other process at any time: read once, check,
 * use.
 *
 *   path_shm.c   the operations: packets through rings, payloads by reference, one-sided copies
 *   shm_ring.c   rings of records
 *   shm_peer.c shm_hello.c shm_slot.c
 *                who else is there: slots, the handshake, deaths
 *   shm_life.c   whether they live
 *   board.c      what a process shows to its peers
 *   shm_memory.c what copies between processes cost here
 *
 * Locks: uroce_shm.lock, connecting; shm_peer.tx_lock, the producer's side of a ring, below a QP's
 * lock. The consumer's side and the list of peers are under progress_lock. Threads: any sends; the
 * thread that watches descriptors calls uroce_shm_accept(), _guest() and _conn_ready(). Includes:
 * path/path.h, wire, base. Included by: host.
 */
#ifndef UROCE_SHM_H
#define UROCE_SHM_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "providers/uroce/path/path.h"

enum {
	SHM_VERSION = 7,
	SHM_LINE = 64,
	SHM_RING_BYTES = 1 << 21,
	SHM_RING_MASK = SHM_RING_BYTES - 1,
	SHM_SEGMENT = PATH_PACKET_MAX, /* payload of one copied packet: what the MTU is to UDP */
	SHM_REF_MIN = 16384,	       /* from here on a reference is cheaper than two copies */
	SHM_LAP = 1 << 14,    /* small records use so much of it while the consumer keeps up */
	SHM_LAP_RECORD = 512, /* bytes: what a small record is */
	SHM_OPEN = 1 << 17,   /* what is used of it at first; more as it is needed, or pays */
	SHM_SPAN = 1 << 19,   /* at most for a burst, and to who is not among the first peers */
	SHM_WIDE = 16, /* peers there may be, this process counted, when one of those comes */
	SHM_SLOTS = 256,
	SHM_KEYS = 1 << 14,  /* keys a board can show; others are reached by packets */
	SHM_SERVICES = 4096, /* listeners a board can show */
	SHM_USES = 16,	     /* one-sided operations of one process on another at the same time */
};
#define SHM_MAGIC 0x75726f63u

enum shm_kind {
	SHM_PACKET = 1, /* a packet, BTH to payload */
	SHM_REFERENCE =
		2, /* header of a packet, then the iovecs of its payload in the sender's memory */
	SHM_SKIP = 3,	 /* nothing: the ring continues at its beginning */
	SHM_FORWARD = 4, /* struct path_origin, then a packet: UD, or a UDP datagram of another
			    process's QP */
};

/* One record: starts on a cache line, so that a small message is one line to move. */
struct shm_record {
	atomic_ullong stamp; /* the ring's seed plus its number in it. Written last, read first. */
	uint32_t length;     /* bytes of data */
	uint16_t kind;
	uint16_t has_ack;
	uint32_t ack; /* syndrome << 24 | PSN, for the QP the packet is for */
	uint8_t data[];
};

/*
 * What lies where the next record will be is no record of that number: not an older one, and not
 * by accident, for nobody whose data is passed knows the seed. So nothing has to be cleared.
 */
struct shm_ring {
	alignas(SHM_LINE) uint64_t seed;    /* written before the ring is shared, read once */
	alignas(SHM_LINE) atomic_uint tail; /* consumer: bytes given back, free running */
	alignas(SHM_LINE) uint8_t data[SHM_RING_BYTES];
};

/* The other side's keys that this side copies to or from right now; 0: free. The owner of a region
 * waits for those who live, so that who dies in the middle holds up nobody. */
struct shm_uses {
	alignas(SHM_LINE) atomic_uint key[SHM_USES];
};

/* The memfd of a connection: ring[0] from the side that connected, ring[1] from the one that
 * accepted. */
struct shm_lane {
	struct shm_ring ring[2];
	struct shm_uses uses[2]; /* of the same sides */
};

/* A key as its owner shows it to initiators. */
struct shm_key {
	alignas(SHM_LINE) atomic_uint key; /* 0: none */
	atomic_uint access;
	atomic_uint pd;
	atomic_ullong iova;
	atomic_ullong length;
	atomic_ullong base;
};

/* A QP as its owner shows it: 0 unless packets may come in. */
struct shm_qp {
	atomic_uint pd;	    /* id of the PD */
	atomic_uint access; /* qp_access_flags; bit 31: connected and receiving */
	atomic_uint peer;   /* QPN of its peer */
};
#define SHM_QP_READY 0x80000000u

/* A service id somebody listens on, at its place by hash or behind it. */
struct shm_service {
	atomic_ullong id;     /* 0: never used, the search ends here; all ones: no longer used */
	atomic_ullong gid[2]; /* the address it is for, as it stands in memory; zero: any */
};
#define SHM_SERVICE_GONE UINT64_MAX

/* Held by a thread of the process as long as that lives; its word is what the kernel writes at the
 * end.
 */
#ifdef __GLIBC__
#define SHM_LIFE_WORD 0
#else
#define SHM_LIFE_WORD 1 /* musl: behind the type */
#endif
union shm_life {
	pthread_mutex_t lock;
	atomic_uint word[2];	/* the one at SHM_LIFE_WORD */
	uint8_t room[SHM_LINE]; /* the same in programs of 32 bits */
};

/* What a process shows to all its peers. */
struct shm_board {
	atomic_uint magic;
	atomic_uint version;
	atomic_uint udp_only; /* it wants no packets but forwarded ones: UROCE_PATH */
	atomic_uint fences;   /* before it sleeps it fences for its peers too: see fence.h */
	alignas(SHM_LINE) atomic_uint sleeping; /* 1: ring the bell after committing a record */
	alignas(SHM_LINE)
		uint8_t probe[SHM_LINE]; /* random; peers read it by process_vm_readv(), too:
					    whether they can, and whose memory it is */
	alignas(SHM_LINE) union shm_life life;
	struct shm_qp qps[1 << UROCE_QP_INDEX_BITS];
	struct shm_key keys[SHM_KEYS];
	atomic_uint manager; /* 1: has a connection manager */
	struct shm_service services[SHM_SERVICES];
};

struct shm_peer {
	LIST_ENTRY(shm_peer) entry;
	struct uroce_shm *shm;
	uint8_t slot;
	bool self;     /* this process: its own ring, no connection */
	bool udp_only; /* one of the two wants its packets on the network's path */
	bool can_read; /* this process may read the peer's memory */
	bool fenced;   /* each of the two fences for the other before it sleeps */
	atomic_bool dead;
	atomic_bool ready;    /* the handshake is complete */
	atomic_bool readable; /* the peer said it can read ours */
	pid_t pid;
	int conn;    /* connection; readable at EOF: the peer died */
	int process; /* pidfd of the peer, readable when it has ended; -1: the kernel has none */
	int bell;    /* its eventfd */
	struct shm_lane *lane;
	struct shm_board *board; /* the peer's */
	struct shm_uses *uses;	 /* ours, of its keys */
	struct shm_uses *used;	 /* its, of our keys */
	/* producer side */
	struct uroce_lock tx_lock;
	struct shm_ring *tx;
	uint32_t tx_head;  /* free running */
	uint32_t tx_tail;  /* last seen */
	uint32_t tx_lap;   /* where this lap began */
	uint32_t tx_open;  /* so much of the ring is used, */
	uint32_t tx_span;  /* and may be */
	uint32_t tx_known; /* and was: memory that is there */
	bool tx_short;	   /* it was not enough */
	uint16_t tx_blind; /* copies until the next one is timed */
	bool tx_far;	   /* the last one took long */
	bool tx_past;	   /* they go past the caches, for the consumer's processor is far away */
	uint64_t tx_stamp; /* of the next record */
	/* consumer side, under progress_lock */
	struct shm_ring *rx;
	uint32_t rx_head;  /* next to read, free running */
	uint64_t rx_stamp; /* of that */
};

LIST_HEAD(shm_peer_list, shm_peer);

struct uroce_shm {
	struct uroce_path path;
	struct path_host *host;
	int listener;
	int bell; /* ours */
	int board_fd;
	bool fences;		    /* this process can fence for its peers: fence.h */
	struct shm_board *board;    /* ours */
	pthread_mutex_t lock;	    /* connecting */
	struct shm_peer_list peers; /* changed under progress_lock */
	struct shm_peer_list gone;  /* dead ones, kept for who still names them; under lock */
	atomic_uint key_readers;    /* who looks into the lanes of peers without a lock */
	_Atomic(struct shm_peer *) by_slot[SHM_SLOTS];
	uint64_t complete_time; /* when uroce_shm_complete() last looked; under progress_lock */
	bool complete;
};

/* --- shm_peer.c --- */

/* Claim a slot and start to listen. */
int uroce_shm_open(struct path_host *host, struct uroce_shm **ret_shm);
void uroce_shm_close(struct uroce_shm *shm);
/*
 * The peer that owns @slot, connected if need be. -ENOENT: no such process of this user;
 * -ETIMEDOUT. May wait up to a second; no lock held.
 */
int uroce_shm_peer(struct uroce_shm *shm, uint8_t slot, struct shm_peer **ret_peer);
/* In the progress thread, no lock held: connect to @slot, or ask it to connect, without waiting for
 * an answer to that. */
void uroce_shm_invite(struct uroce_shm *shm, uint8_t slot);
/* Whether every other process of this user is connected: looked at anew every millisecond. */
bool uroce_shm_complete(struct uroce_shm *shm, uint64_t now);
/* Whether a process of this user has @slot. */
bool uroce_shm_slot_used(uint8_t slot);
/*
 * Processes of a user take their slot and bind their sockets one after the other, for the kernel
 * numbers the sockets of an address as they are bound, and datagrams are steered by slot. Return:
 * what to close when that is done; -errno: without a turn, then.
 */
int uroce_shm_turn_take(void);
/* The listener or a connection is readable: somebody comes, or, the thread's guest until then, says
 * who it is; the end of a handshake, or a death. uroce_shm_accept(): 0, or -EMFILE and the like:
 * who comes has to wait, and the listener stays readable. */
int uroce_shm_accept(struct uroce_shm *shm);
void uroce_shm_guest(struct uroce_shm *shm, int conn);
void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer);

/* The peer's process has ended, whatever its connection says. */
void uroce_shm_process_ended(struct uroce_shm *shm, struct shm_peer *peer);
/* In a forked child, which is none of this process's descriptors' owner. Async-signal-safe. */
void uroce_shm_forked(struct uroce_shm *shm);

/* --- shm_life.c --- */

/* The calling thread lives as long as the process can be reached: between these two. */
void uroce_shm_life_begin(struct uroce_shm *shm);
void uroce_shm_life_end(struct uroce_shm *shm);
/*
 * Whether the process whose board it is has neither ended nor started another program. If so, its
 * number was its own until now.
 */
bool uroce_shm_board_lives(const struct shm_board *board);

/* --- board.c: what this process shows to its peers --- */

/* QP @qpn receives from @peer_qpn, and lets peers have @access (qp_access_flags) to regions of @pd.
 * One caller at a time for a QP. */
void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t access,
			 uint32_t peer_qpn);
/* It does not, or no longer. */
void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn);

struct shm_region {
	uint64_t iova;
	uint64_t length;
	uintptr_t base;
	uint32_t pd;
	uint32_t access;
};
/* Peers may reach the region by @key. One caller at a time. */
void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region);
/* They may not any more. Returns when no initiator that lives copies, or after a second. */
void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key);
/* Until nobody looks into the lane of a peer that has been taken out of the table. */
void uroce_board_wait(struct uroce_shm *shm);

/* --- path_shm.c --- */
extern const struct uroce_path_ops uroce_shm_ops;

/* Everything that arrived, up to @budget packets a peer. Under progress_lock. Return: packets. */
unsigned int uroce_shm_poll(struct uroce_shm *shm, unsigned int budget, uint64_t now);

/* One record of one peer. Return: false when there is none. Under progress_lock. */
bool uroce_shm_poll_peer(struct shm_peer *peer, uint64_t now);
/* Whether any ring holds something: the thread's last look before it sleeps. Under progress_lock.
 */
bool uroce_shm_pending(struct uroce_shm *shm);
/* Whether a peer relies on this process's fence before it sleeps. Under progress_lock. */
bool uroce_shm_fences_for_peers(struct uroce_shm *shm);
/* The peer wrote what no uroce writes: nothing more is read from it. Said once. */
void uroce_shm_corrupt(struct shm_peer *peer, const char *what);

/* Hand a UDP payload (BTH on, no ICRC) to the process that owns its QP. */
int uroce_shm_forward(struct uroce_shm *shm, uint8_t slot, const struct path_origin *from,
		      const void *packet, uint32_t length);

/* What the host needs of the rings' inside. */
#include "providers/uroce/path/shm/shm_memory.h"
#include "providers/uroce/path/shm/shm_ring.h"

#endif
