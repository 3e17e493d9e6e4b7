/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory between two uroce processes of one user on one host.
 *
 * Every process listens on an abstract socket whose name is its slot: the kernel makes the claim
 * atomic, scopes it to the network namespace and takes it back at any death. One that has more QPs
 * than a slot has numbers takes further ones, whose sockets refer to the first. Two processes that
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
 *   shm.c        what this process has to meet others
 *   path_shm.c   the operations: packets through rings; what arrives
 *   shm_send.c   what leaves
 *   shm_reference.c  payloads that stay in their sender's memory until they are fetched
 *   shm_rdma.c   one-sided operations
 *   shm_use.c    what this process copies to or from in the memory of its peers
 *   shm_shared.c  files in memory that two processes map
 *   shm_ring.c   rings of records
 *   shm_slot.c   slots: who there is
 *   shm_trust.c  who may be a peer
 *   shm_call.c   the handshake of who wants a peer
 *   shm_waiter.c  who waits for it
 *   shm_guest.c  the handshake of who is called
 *   shm_hello.c  its messages
 *   shm_peer.c   peers from then on to their death
 *   shm_life.c   whether they live
 *   shm_ptracer.c  Yama: who may read this process
 *   board.c      what a process shows to its peers
 *   shm_segment.c  memory of this process that peers can map
 *   shm_map.c    memory of peers that is mapped here, and used
 *   shm_memory.c what copies between processes cost here
 *
 * Locks: uroce_shm.lock, calls; it is taken before progress_lock, and nobody waits for another
 * process under it. segments_lock, the segments of this process; maps_lock, below a QP's lock, the
 * mappings of those of peers. shm_link.tx_lock, the producer's side of a ring, below a QP's lock;
 * of two links' only the first strand's, when another one is opened. The consumer's side is under
 * its strand's lock, and the list of peers under all. Threads: any sends, and calls; the thread
 * that watches descriptors calls uroce_shm_accept(), _guest(), _called(), _conn_ready() and
 * _process_ended(), which wait for nobody. Includes: path/path.h, wire, base. Included by: host.
 */
#ifndef UROCE_SHM_H
#define UROCE_SHM_H

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "providers/uroce/path/path.h"

enum {
	/* Programs of 32 and of 64 bits have their own each, and so the network's path between
	 * them: addresses and iovecs are passed as they stand in memory. */
	SHM_VERSION = 36 + (sizeof(void *) == 8),
	SHM_LINE = 64,
	SHM_PAGE = 4096,
	SHM_FIRST = 1 << 10,	       /* bytes of the rings that all begin with */
	SHM_RING_BYTES = 1 << 21,      /* of the first peers' rings; others have SHM_SPAN */
	SHM_SEGMENT = PATH_PACKET_MAX, /* payload of one copied packet: what the MTU is to UDP */
	SHM_REF_MIN = 16384,	       /* from here on a reference is cheaper than two copies */
	SHM_LAP = 1 << 14,    /* small records use so much of it while the consumer keeps up */
	SHM_LAP_RECORD = 512, /* bytes: what a small record is */
	SHM_OPEN = 1 << 17,   /* what is used of it at first; more as it is needed, or pays */
	SHM_SPAN = 1 << 19,   /* at most for a burst, to who is not among the first peers, and by
				 other   strands than the first */
	SHM_WIDE = 16, /* peers there may be, this process counted, when one of those comes */
	SHM_SLOTS = UROCE_SLOTS,
	SHM_WORD = 64,	     /* bits of inhabited's words */
	SHM_KEYS = 1 << 14,  /* keys a board can show; others are reached by packets */
	SHM_SERVICES = 4096, /* listeners a board can show */
	SHM_USES = 16,	     /* one-sided operations on a process at the same time, by one strand */
	SHM_SEGMENTS = 256,  /* objects of memory a board can show */
	SHM_SILENT = 64,     /* connections that have said nothing, at the same time */
};
#define SHM_MAGIC 0x75726f63u

enum shm_kind {
	SHM_PACKET = 1,	   /* a packet, BTH to payload */
	SHM_REFERENCE = 2, /* header of a packet, then where its payload is: struct shm_source */
	SHM_SKIP = 3,	   /* nothing: the ring continues at its beginning */
	SHM_FORWARD = 4,   /* struct path_origin, then a packet: UD, or a UDP datagram of another
			      process's QP */
	SHM_MOVE = 5,	   /* nothing: from here on the wide ring is used */
	SHM_STRAND = 6, /* by the first strand: which other one something may come by from now on */
	SHM_PLACED = 7, /* header of a write whose payload its sender has put where it belongs */
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

/* The payload of a SHM_REFERENCE: this, then its pieces. */
struct shm_source {
	uint32_t qpn;	/* the sender's */
	uint32_t sends; /* what its board says as long as the payload may be fetched */
};

struct shm_piece {
	struct iovec iov; /* in the sender's memory */
	uint32_t key;	  /* of the region it lies in */
	uint32_t edition; /* of that key on the sender's board */
};

/*
 * What lies where the next record will be is no record of that number: not an older one, and not
 * by accident, for nobody whose data is passed knows the seed. So nothing has to be cleared.
 */
struct shm_ring {
	alignas(SHM_LINE) uint64_t seed;    /* written before the ring is shared, read once */
	alignas(SHM_LINE) atomic_uint tail; /* consumer: bytes given back, free running */
};

/*
 * Copies that this side makes right now to or from memory of the other side: shm_use() of the key
 * and the QP there; 0: free. Their owner takes a key or a QP off its board, then waits for the
 * copies of those that live.
 */
struct shm_uses {
	alignas(SHM_LINE) atomic_uint use[PATH_STRANDS][SHM_USES]; /* a line each */
	alignas(SHM_LINE) atomic_uint maps; /* 1: it wants to hear when a segment goes */
	atomic_uint blind;		    /* 1: it tried, and cannot read the other's memory */
};

static_assert(SHM_KEYS <= 1 << (32 - UROCE_QP_INDEX_BITS), "a key and a QP fit in one use");
enum {
	SHM_USE_QP = (1 << UROCE_QP_INDEX_BITS) - 1, /* bits of a use: the QP's index */
};

/* No key has index 0, so a use is never 0. */
static inline uint32_t shm_use(uint32_t key, uint32_t qpn)
{
	return key >> UROCE_KEY_VARIANT_BITS << UROCE_QP_INDEX_BITS | uroce_qpn_index(qpn);
}

/* Whether a board has room for the key. */
static inline bool shm_key_fits(uint32_t key)
{
	return key && key >> UROCE_KEY_VARIANT_BITS < SHM_KEYS;
}

/* The last word of the side that connected is written here, and said only to who waits for it. */
struct shm_last {
	alignas(SHM_LINE) atomic_uint word; /* SHM_DONE */
	atomic_uint waits;		    /* the other side: 1: say it */
};
#define SHM_DONE 1u

/* The memfd of a connection: ring[0] from the side that connected, ring[1] from the one that
 * accepted. */
struct shm_lane {
	struct shm_ring ring[2];
	struct shm_uses uses[2]; /* of the same sides */
	struct shm_last last;
	/* All that a pair of processes needs which says little: one page. */
	alignas(SHM_LINE) uint8_t first[2][SHM_FIRST];
	struct shm_ring other[PATH_STRANDS - 1][2]; /* of the strands but the first */
	/* of the wide rings, one's, then the other's, then those of the other strands */
	alignas(SHM_PAGE) uint8_t data[];
};
static_assert(sizeof(struct shm_lane) == SHM_PAGE, "one page");

static inline size_t shm_lane_size(uint32_t ring_bytes)
{
	return sizeof(struct shm_lane) + 2 * (size_t)ring_bytes +
	       2 * (PATH_STRANDS - 1) * (size_t)SHM_SPAN;
}

/* A key as its owner shows it to initiators. */
struct shm_key {
	alignas(SHM_LINE) atomic_uint key; /* 0: none */
	atomic_uint access;
	atomic_uint pd;
	atomic_uint edition; /* another one each time a key is shown; 0: never shown */
	atomic_ullong iova;
	atomic_ullong length;
	atomic_ullong base;
	atomic_ullong segment; /* the memory that peers can map; 0: none */
	atomic_ullong place;   /* of the region in it, bytes */
};

enum shm_segment_kind {
	SHM_SEGMENT_FILE = 1, /* where: the owner's descriptor of it */
	SHM_SEGMENT_SYSV = 2, /* where: its System V identifier */
};

/* Memory of its owner that peers can map, for as long as a key names it. */
struct shm_segment {
	alignas(SHM_LINE) atomic_ullong id; /* 0: none; its place on the board is id % SHM_SEGMENTS,
					       and no other one ever has it */
	atomic_ullong device;		    /* which file it is, so that nobody maps another one */
	atomic_ullong inode;
	atomic_int where;
	atomic_uint kind;
};

/* A QP as its owner shows it. */
struct shm_qp {
	atomic_uint pd;	    /* id of the PD */
	atomic_uint access; /* qp_access_flags; bit 31: connected and receiving; 0: neither */
	atomic_uint peer;   /* QPN of its peer */
	/* What it sends by reference may be fetched while this is as the reference says: another
	 * number each time the QP begins to send; 0: it does not. */
	atomic_uint sends;
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

/* What a process shows to all its peers: first of all what they look at again and again. */
struct shm_front {
	/* Not 0: ring the bell after committing a record, once for each value. */
	alignas(SHM_LINE) atomic_uint sleeping;
	alignas(SHM_LINE)
		uint8_t probe[SHM_LINE]; /* random; peers read it by process_vm_readv(), too:
					    whether they can, and whose memory it is */
	alignas(SHM_LINE) union shm_life life;
	atomic_uint manager;  /* 1: has a connection manager */
	atomic_uint services; /* listeners on the board; 0: there is nothing to look for */
};

struct shm_board {
	struct shm_front front;
	struct shm_qp qps[1 << UROCE_QP_INDEX_BITS];
	struct shm_key keys[SHM_KEYS];
	struct shm_segment segments[SHM_SEGMENTS];
	struct shm_service services[SHM_SERVICES];
};

/*
 * What is sent and received by one strand, to and from one peer. What the two threads that do so
 * write is theirs alone.
 */
struct shm_link {
	/* of shm->links[strand], once something can come */
	alignas(2 * PATH_LINE) LIST_ENTRY(shm_link) entry;
	struct shm_peer *peer;
	uint32_t wide_bytes; /* of each of its wide rings, a power of two */
	uint8_t strand;
	uint8_t tx_side; /* which of the lane's two sides this process is */
	uint8_t rx_side;
	atomic_bool opened; /* the peer was told of it: another strand's than the first */
	/* producer side */
	struct uroce_lock tx_lock;
	struct shm_ring *tx;
	uint8_t *tx_data;
	uint32_t tx_bytes; /* of the ring it is, a power of two */
	uint32_t tx_room;  /* for records: of a first ring a line is for the last one */
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
	atomic_ullong tx_stamp; /* of the next record; written under tx_lock */
	uint32_t tx_slept; /* what was seen last of the peer's front->sleeping, and has been done */
	/* consumer side, under the strand's lock */
	struct shm_ring *rx;
	uint8_t *rx_data;
	uint32_t rx_bytes;    /* 0: nothing comes by it yet */
	uint32_t rx_head;     /* next to read, free running */
	uint64_t rx_stamp;    /* of that */
	uint64_t rx_rest;     /* ns: until then a poller leaves it alone; 0: it does not */
	uint64_t rx_answered; /* tx_stamp as it was when records were taken */
	uint64_t rx_took;     /* ns, when it was a stream */
	int rx_streams;	      /* how one-sided the traffic is: stream_took() */
};

struct shm_peer {
	LIST_ENTRY(shm_peer) entry;
	struct uroce_shm *shm;
	uint16_t slot;
	bool has_more;	 /* it is at further places of by_slot */
	bool self;	 /* this process: its own ring, no connection */
	bool udp_only;	 /* one of the two wants its packets on the network's path */
	bool fenced;	 /* each of the two fences for the other before it sleeps */
	uint32_t wishes; /* the peer's: enum hello_wish */
	atomic_bool dead;
	atomic_bool ready; /* the handshake is complete, as far as that was looked at */
	bool handed;	   /* something of another process's; under the tx_lock of its first link */
	atomic_int reads;  /* whether this process may read its memory: enum shm_reads */
	pid_t pid;
	uint64_t probe; /* where it says that its board's probe is in its memory */
	int conn;	/* connection; readable at EOF: the peer died */
	int process;	/* pidfd of the peer, readable when it has ended; -1: the kernel has none */
	int bell;	/* its eventfd */
	struct shm_lane *lane;
	_Atomic(struct shm_lane *) wide; /* the same with all its data, when that was needed */
	uint32_t ring_bytes;		 /* of each of its wide rings, a power of two */
	const struct shm_front *front;	 /* the peer's, who alone can write there */
	_Atomic(const struct shm_board *) board; /* all of that, when it was needed */
	struct shm_uses *uses;			 /* ours, of its keys */
	struct shm_uses *used;			 /* its, of our keys */
	_Atomic(struct shm_maps *) maps; /* its segments, as far as they are mapped; or NULL */
	_Atomic(struct shm_link *) links[PATH_STRANDS - 1]; /* of the other strands, once used */
	struct shm_link link;				    /* of the first */
};

enum shm_reads {
	SHM_READS_UNKNOWN, /* it is tried when it is first wanted */
	SHM_READS,
	SHM_READS_NOT,
};

LIST_HEAD(shm_peer_list, shm_peer);
LIST_HEAD(shm_link_list, shm_link);

/* The attempts to get the process of a slot as a peer. Under uroce_shm.lock but for refused. */
struct shm_call {
	uint16_t slot;
	int conn;	       /* to its listener, which has to answer; -1: no attempt */
	bool by_guest;	       /* or the one by which it asked */
	pid_t pid;	       /* of who is there */
	int process;	       /* a descriptor of it, until the peer has it; -1 */
	struct shm_peer *peer; /* in the making, by the side that connects; NULL: asked to call */
	int guest; /* its own connection to here, by which it asked meanwhile; -1: it did not */
	unsigned int waiters; /* threads that want to hear of the end of one */
	unsigned int ended;   /* attempts */
	int result;	      /* of the last one */
	atomic_int refused;   /* pid, plus 1, of who refused this process; 0: nobody */
	atomic_uint wish;     /* SHM_ASKED, SHM_AHEAD */
};

enum {
	SHM_ASKED = 1, /* somebody wanted the peer */
	SHM_AHEAD = 2, /* it was called before that */
};

struct uroce_shm {
	struct uroce_path path;
	struct path_host *host;
	int listeners[UROCE_BLOCKS]; /* of our slots, each at its place; -1: none */
	int bell;		     /* ours */
	int board_fd;
	bool fences;		 /* this process can fence for its peers: fence.h */
	atomic_uint editions;	 /* the last number given to what the board shows */
	struct shm_board *board; /* ours */
	pthread_mutex_t segments_lock;
	struct shm_segments *segments; /* ours, when there was a first one */
	pthread_mutex_t maps_lock;     /* peers' segments come and go */
	int depth;		       /* of the PID namespace; 0: not known */
	int looked_at;		       /* descriptor of a process, */
	int look;		       /* and of what /proc says of that; -1: nothing */
	uid_t uid;		       /* whose process this was when it began */
	bool uid_many;		       /* there may be others of that number */
	pthread_mutex_t lock;	       /* calls, gone */
	pthread_cond_t changed;	       /* a call has ended, or a handshake */
	uint64_t patience;	       /* ns: who does not answer for so long is not waited for */
	_Atomic(struct shm_call *) calls[SHM_SLOTS]; /* made when first wanted */
	int silent[SHM_SILENT]; /* guests that have said nothing yet, oldest first: the thread's */
	unsigned int silent_count;
	struct shm_peer_list peers; /* changed under all strands */
	/* Of those, by strand: what a pass of it looks at. Likewise, but that one of another strand
	 * than the first comes under its own and the first. */
	struct shm_link_list links[PATH_STRANDS];
	atomic_uint peer_count;	   /* in that list */
	atomic_uint asked;	   /* of calls: for how many */
	atomic_uint ahead;	   /* which were called, and nobody has asked for them yet */
	struct shm_peer_list gone; /* dead ones, kept for who still names them; under lock */
	atomic_uint key_readers;   /* who looks into the lanes of peers without a lock */
	/* [slot], further ones as well, as far as it is known whose they are */
	_Atomic(struct shm_peer *) by_slot[SHM_SLOTS];
	/* a bit for each first slot that has a peer; changed under progress_lock */
	atomic_ullong inhabited[SHM_SLOTS / SHM_WORD];
	uint64_t complete_next;	 /* when uroce_shm_complete() looks again; under progress_lock */
	uint64_t complete_begun; /* when it looked */
	bool complete;
	bool complete_cheap; /* the look took so little that it may be repeated at once */
};

/* --- shm_slot.c --- */

/*
 * A further slot for QPs of this process. Return: the slot; -ENOMEM: there is none; -errno, which
 * is logged if the slot is @needed. One caller at a time.
 */
int uroce_shm_slot_more(struct uroce_shm *shm, bool needed);
/* Whether a process has @slot that may be a peer. */
bool uroce_shm_slot_used(struct uroce_shm *shm, uint16_t slot);
/* Whether a process of another user than this one was at its start has @slot. */
bool uroce_shm_foreign(const struct uroce_shm *shm, uint16_t slot);
/* Whether every other process of this user is connected: looked at anew now and then. */
bool uroce_shm_complete(struct uroce_shm *shm, uint64_t now);
/*
 * Processes take their slot and bind their sockets one after the other, for the kernel
 * numbers the sockets of an address as they are bound, and datagrams are steered by slot. Return:
 * what to close when that is done; -errno: without a turn, then.
 */
int uroce_shm_turn_take(void);

/* The socket of this process's first slot. */
static inline int uroce_shm_listener(const struct uroce_shm *shm)
{
	return shm->listeners[uroce_slot_place(shm->host->slot)];
}

/* --- shm_waiter.c --- */

/*
 * The peer that owns @slot, connected if need be. A QP must take the same path at both ends, so
 * there are two kinds of failure. Those that uroce_shm_agreed() tells are the other side's
 * knowledge too, and both use another path. After any other this side knows nothing: the peer did
 * not answer as long as it was waited for, or this process lacks something. Waits, so no lock held,
 * and not in the thread that watches.
 */
int uroce_shm_peer(struct uroce_shm *shm, uint16_t slot, struct shm_peer **ret_peer);

/* --- shm_call.c --- */

/* -ENOENT: no process of this user has the slot; -EPERM: one of the two refuses; -EOPNOTSUPP: it
 * speaks another version. */
bool uroce_shm_agreed(int r);
/* Begin to connect to @slot, unless that is so. Waits for nobody; threads: any, no lock held. */
void uroce_shm_invite(struct uroce_shm *shm, uint16_t slot);
/* The same of every slot that has a process. */
void uroce_shm_invite_all(struct uroce_shm *shm);
/* Who was called says something. */
void uroce_shm_called(struct uroce_shm *shm, struct shm_call *call);

/* --- shm_guest.c --- */

/* Somebody comes. Return: 0, or -EMFILE and the like: who comes has to wait, and the listener stays
 * readable. */
int uroce_shm_accept(struct uroce_shm *shm, int listener);
/* Who came, the thread's guest until then, says who it is. */
void uroce_shm_guest(struct uroce_shm *shm, int conn);

/* --- shm.c --- */

/* Claim a slot and start to listen. */
int uroce_shm_open(struct path_host *host, struct uroce_shm **ret_shm);
void uroce_shm_close(struct uroce_shm *shm);

/* --- shm_peer.c --- */

/* All that the peer shows. NULL: it cannot be mapped. Threads: any. */
const struct shm_board *uroce_shm_board_map(struct shm_peer *peer);
static inline const struct shm_board *uroce_shm_board(struct shm_peer *peer)
{
	const struct shm_board *board = atomic_load_explicit(&peer->board, memory_order_acquire);

	return likely(board) ? board : uroce_shm_board_map(peer);
}
/* The same for one look: what is mapped for that alone is not kept, for many peers' boards need
 * many pages of page tables. Threads: any. */
const struct shm_board *uroce_shm_board_borrow(struct shm_peer *peer);
void uroce_shm_board_return(struct shm_peer *peer, const struct shm_board *board);
/* Whether the peer can read this process's memory, as far as it has tried. Threads: any. */
bool uroce_shm_readable(struct shm_peer *peer);
/* A peer's connection is readable: the end of the handshake, or a death. */
void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer);

/* Nothing more comes from it. */
static inline bool uroce_shm_peer_dead(const struct shm_peer *peer)
{
	return atomic_load_explicit(&peer->dead, memory_order_relaxed);
}
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
static inline bool uroce_shm_lives(const struct shm_front *front)
{
	uint32_t word =
		atomic_load_explicit(&front->life.word[SHM_LIFE_WORD], memory_order_acquire);

	return (word & FUTEX_TID_MASK) && !(word & FUTEX_OWNER_DIED);
}

/* --- board.c: what this process shows to its peers --- */

/* QP @qpn receives from @peer_qpn, and lets peers have @access (qp_access_flags) to regions of @pd.
 * One caller at a time for a QP. */
void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t access,
			 uint32_t peer_qpn);
/* It does not, or no longer. A peer may still be at work: uroce_board_qp_wait(). */
void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn);
/* Whether peers were last shown that they may do something that is not in @access. */
bool uroce_board_qp_loses(struct uroce_shm *shm, uint32_t qpn, uint32_t access);
/* Whether peers may fetch what it sends by reference. After false, a peer may still be at work:
 * uroce_board_qp_wait(). */
void uroce_board_qp_sends(struct uroce_shm *shm, uint32_t qpn, bool sends);
/*
 * Until the process of @peer_qpn, to which @qpn is or was connected, makes no copy any more that
 * the QP let it begin: of an operation on this process's memory, or of what the QP sent by
 * reference. No lock held.
 */
void uroce_board_qp_wait(struct uroce_shm *shm, uint32_t qpn, uint32_t peer_qpn);
/* Whether the process of @slot makes such a copy now. */
bool uroce_board_qp_used(struct uroce_shm *shm, uint32_t qpn, uint16_t slot);

struct shm_region {
	uint64_t iova;
	uint64_t length;
	uintptr_t base;
	uint32_t pd;
	uint32_t access;
};
/* Peers may reach the region by @key. One caller at a time. */
void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region);
/* They may not any more. A peer may still be at work. */
void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key);
/* Until no peer copies to or from the region of @key, which is hidden. No lock held. */
void uroce_board_key_wait(struct uroce_shm *shm, uint32_t key);
/* Until nobody looks into the lane of a peer that has been taken out of the table. */
void uroce_board_wait(struct uroce_shm *shm);

/* Regions of the key lie at @place of that segment. After its key was shown, before anybody has
 * it. */
void uroce_board_key_place(struct uroce_shm *shm, uint32_t key, uint64_t segment, uint64_t place);

/* --- shm_segment.c: memory of this process that peers can map. Threads: any. --- */

/*
 * @size bytes of zeros at a multiple of @alignment, a power of two, that peers can map; where that
 * cannot be, for want of descriptors, say, that they cannot. -ENOMEM.
 */
int uroce_segment_alloc(struct uroce_shm *shm, size_t size, size_t alignment, void **ret_memory);
void uroce_segment_free(struct uroce_shm *shm, void *memory, size_t size);
/*
 * A region of a key that is shown. If it lies in memory of the above or in shared memory of the
 * application's, peers can map that from here on. Return: the index of the segment, for
 * uroce_segment_unshare(); -ENODATA: they cannot.
 */
int uroce_segment_share(struct uroce_shm *shm, uint32_t key, const void *addr, uint64_t length);
/*
 * A descriptor of its own of the memory that the whole range lies in, be it the device's or shared
 * memory of the application's, and where in that it begins. -ENODATA: it is this process's alone.
 */
int uroce_segment_open(struct uroce_shm *shm, const void *addr, uint64_t length,
		       uint64_t *ret_place);
/* Where another process's is mapped: pages, and the range's first byte. */
struct uroce_mapped {
	void *at;
	size_t size;
	uint8_t *bytes;
};
/*
 * Map what such a descriptor leads to; nothing of it is believed. @fixed: it must not become
 * shorter either, for who reads it survives no fault. -EPROTO: it is no memory, or not so much.
 */
int uroce_segment_map(int fd, uint64_t place, uint64_t length, bool fixed,
		      struct uroce_mapped *ret);
/* The key has been hidden. Peers that live drop what they have mapped when nothing needs it. */
void uroce_segment_unshare(struct uroce_shm *shm, int segment);

/* --- shm_map.c: memory of peers that is mapped here --- */

/* Where a region lies. */
struct shm_place {
	uint64_t base;	  /* address in its owner */
	uint64_t segment; /* 0: it cannot be mapped */
	uint64_t place;
};
/*
 * An operation on memory that both have mapped, by plain instructions; under a use of its key.
 * -EOPNOTSUPP: it is not mapped, or not there.
 */
int uroce_map_rdma(struct shm_peer *peer, const struct shm_place *at,
		   const struct uroce_rdma *rdma);

/* --- path_shm.c --- */
extern const struct uroce_path_ops uroce_shm_ops;

/* What arrived by a strand, which is held, up to @budget packets a peer. @now: 0 of a poller, who
 * comes back. Return: packets. */
unsigned int uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
			    uint64_t now);

/* One record of one link, whose strand is held. Return: false when there is none. */
bool uroce_shm_poll_link(struct shm_link *link, uint64_t now);
/* Whether any ring holds something: the thread's last look before it sleeps. Under all strands. */
bool uroce_shm_pending(struct uroce_shm *shm);
/* Whether a peer relies on this process's fence before it sleeps. Under a strand. */
bool uroce_shm_fences_for_peers(struct uroce_shm *shm);
/* The peer wrote what no uroce writes: nothing more is read from it. Said once. */
void uroce_shm_corrupt(struct shm_peer *peer, const char *what);
/* This process lacks what it takes to read more of it. */
void uroce_shm_unreadable(struct shm_peer *peer, int r);

/* --- shm_send.c --- */

/* Hand a UDP payload (BTH on, no ICRC) to the process that owns its QP. */
int uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
		      const void *packet, uint32_t length);
/* Whether all who were handed something so will see it, even if this process ends now. Under a
 * strand. */
bool uroce_shm_forwarded(struct uroce_shm *shm);

/* The peer's link of a strand, if something may be sent by it; NULL: uroce_shm_link_open() first.
 */
static inline struct shm_link *shm_peer_link(struct shm_peer *peer, unsigned int strand)
{
	struct shm_link *link;

	if (likely(!strand))
		return &peer->link;
	link = atomic_load_explicit(&peer->links[strand - 1], memory_order_acquire);
	return link && atomic_load_explicit(&link->opened, memory_order_acquire) ? link : NULL;
}

/* What the host needs of the rings' inside. */
#include "providers/uroce/path/shm/shm_memory.h"
#include "providers/uroce/path/shm/shm_ring.h"

#endif
