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
 * memfd with two rings, one for each direction), the board of each side (a memfd) and the bell of
 * each side (an eventfd). The connection stays open: when it closes, the peer is dead. No object
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
 *   shm_trust.c    which processes may be peers
 *   shm_call.c     the handshake of the process that wants a peer
 *   shm_waiter.c   waiting for the end of the handshake
 *   shm_guest.c    the handshake of the process that is called
 *   shm_hello.c    the messages of the handshake
 *   shm_peer.c     peers from the handshake to their death
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
 * uroce_shm_accept(), _guest(), _called(), _conn_ready() and _process_ended(), which do not block.
 *
 * Includes: path/path.h, wire, base. Included by: host.
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
	/* Programs of 32 bits and of 64 bits have different versions, and so use the network path
	 * between them, because addresses and iovecs are passed as they are in memory. */
	SHM_VERSION = 38 + (sizeof(void *) == 8),
	SHM_LINE = 64,
	SHM_PAGE = 4096,
	/* bytes of a first ring; links of the first strand begin with this ring */
	SHM_FIRST = 1 << 10,
	SHM_RING_BYTES = 1 << 21,      /* wide rings of the first peers; others have SHM_SPAN */
	SHM_SEGMENT = PATH_PACKET_MAX, /* payload of one copied packet: the MTU of this path */
	/* bytes from which on a reference is cheaper than two copies */
	SHM_REF_MIN = 16384,
	/* bytes of a ring that small records use while the consumer keeps up */
	SHM_LAP = 1 << 14,
	SHM_LAP_RECORD = 512, /* bytes of a small record, at most */
	SHM_OPEN = 1 << 17,   /* bytes of a wide ring in use at first; more if needed */
	SHM_SPAN = 1 << 19,   /* bytes in use for a burst, at most. Also the size of wide rings of
				 later peers and of other strands than the first. */
	/* number of peers, this process included, that get wide rings of SHM_RING_BYTES */
	SHM_WIDE = 16,
	SHM_SLOTS = UROCE_SLOTS,
	SHM_WORD = 64,	     /* bits of a word of inhabited */
	SHM_KEYS = 1 << 14,  /* keys a board can show; others are reached by packets */
	SHM_SERVICES = 4096, /* listeners a board can show */
	SHM_USES = 16,	     /* simultaneous one-sided operations of one strand on a process */
	SHM_SEGMENTS = 256,  /* objects of memory a board can show */
	SHM_SILENT = 64,     /* accepted connections without a message yet, at most */
};
#define SHM_MAGIC 0x75726f63u

enum shm_kind {
	SHM_PACKET = 1, /* a packet, BTH to payload */
	/* header of a packet, then the place of its payload: struct shm_source */
	SHM_REFERENCE = 2,
	SHM_SKIP = 3,	 /* nothing: the ring continues at its beginning */
	SHM_FORWARD = 4, /* struct path_origin, then a packet: UD, or a UDP datagram for a QP of
			    another process */
	SHM_MOVE = 5,	 /* nothing: the next record is in the wide ring */
	/*
	 * number of another strand, whose link may have records from now on. Only sent by the first
	 * strand.
	 */
	SHM_STRAND = 6,
	SHM_PLACED = 7, /* header of a write whose payload the sender has put into its target */
};

/* One record: starts on a cache line, so that a small message is one line to move. */
struct shm_record {
	/* seed of the ring plus number of the record; written last, read first */
	atomic_ullong stamp;
	uint32_t length; /* bytes of data */
	uint16_t kind;
	uint8_t has_ack;
	uint8_t path_mtu; /* of the sending QP, enum ibv_mtu; not in a SHM_FORWARD */
	uint32_t ack;	  /* syndrome << 24 | PSN, for the QP the packet is for */
	uint8_t data[];
};

/* Payload of a SHM_REFERENCE record: this struct, then struct shm_piece for each piece. */
struct shm_source {
	uint32_t qpn;	/* QPN of the sender */
	uint32_t sends; /* shm_qp.sends of that QP while the payload may be fetched */
};

struct shm_piece {
	struct iovec iov; /* in the sender's memory */
	uint32_t key;	  /* key of its region */
	uint32_t edition; /* edition of that key on the sender's board */
};

/*
 * The memory of the next record never contains the stamp of that record. Older records have other
 * numbers, and the authors of payloads do not know the seed. Therefore no memory is cleared.
 */
struct shm_ring {
	alignas(SHM_LINE) uint64_t seed; /* written before the ring is shared, read once */
	/* written by the consumer: bytes released, free running */
	alignas(SHM_LINE) atomic_uint tail;
};

/*
 * Copies that this side makes now to or from memory of the other side. A used entry has shm_use()
 * of the other side's key and QP; 0: free. To end a permission the owner of that memory takes the
 * key or the QP off its board, then waits for the copies of living peers.
 */
struct shm_uses {
	/* one cache line for each strand */
	alignas(SHM_LINE) atomic_uint use[PATH_STRANDS][SHM_USES];
	/* 1: this side maps segments of the other side. Send it GONE when a segment is removed. */
	alignas(SHM_LINE) atomic_uint maps;
	/* 1: this side tried to read the other's memory and could not */
	atomic_uint blind;
};

static_assert(SHM_KEYS <= 1 << (32 - UROCE_QP_INDEX_BITS), "a key and a QP fit in one use");
enum {
	/* bits of a use that hold the index of the QP */
	SHM_USE_QP = (1 << UROCE_QP_INDEX_BITS) - 1,
};

/* Return the use of a key and a QP. It is never 0, because no key has index 0. */
static inline uint32_t shm_use(uint32_t key, uint32_t qpn)
{
	return key >> UROCE_KEY_VARIANT_BITS << UROCE_QP_INDEX_BITS | uroce_qpn_index(qpn);
}

/* Return whether a board has room for the key. */
static inline bool shm_key_fits(uint32_t key)
{
	return key && key >> UROCE_KEY_VARIANT_BITS < SHM_KEYS;
}

/*
 * The last message of the handshake. The side that connected writes it here, and sends a DONE
 * message only if the other side waits for it.
 */
struct shm_last {
	alignas(SHM_LINE) atomic_uint word; /* SHM_DONE */
	atomic_uint waits;		    /* written by the other side; 1: send DONE */
};
#define SHM_DONE 1u

/* The memfd of a connection. Index 0: the side that connected. Index 1: the side that accepted. */
struct shm_lane {
	struct shm_ring ring[2];
	struct shm_uses uses[2]; /* copies of each side */
	struct shm_last last;
	/* The first rings. A pair of processes that send little needs only this page. */
	alignas(SHM_LINE) uint8_t first[2][SHM_FIRST];
	struct shm_ring other[PATH_STRANDS - 1][2]; /* rings of the strands but the first */
	/* wide rings of side 0 and of side 1, then those of the other strands */
	alignas(SHM_PAGE) uint8_t data[];
};
static_assert(sizeof(struct shm_lane) == SHM_PAGE, "one page");

static inline size_t shm_lane_size(uint32_t ring_bytes)
{
	return sizeof(struct shm_lane) + 2 * (size_t)ring_bytes +
	       2 * (PATH_STRANDS - 1) * (size_t)SHM_SPAN;
}

/* A key on its owner's board, for initiators. */
struct shm_key {
	alignas(SHM_LINE) atomic_uint key; /* 0: none */
	atomic_uint access;
	atomic_uint pd;
	atomic_uint edition; /* changes each time a key is shown; 0: never shown */
	atomic_ullong iova;
	atomic_ullong length;
	atomic_ullong base;
	atomic_ullong segment; /* id of the segment that peers can map; 0: none */
	atomic_ullong place;   /* offset of the region in the segment, bytes */
};

enum shm_segment_kind {
	SHM_SEGMENT_FILE = 1, /* where: number of the owner's descriptor */
	SHM_SEGMENT_SYSV = 2, /* where: System V identifier */
};

/* Memory of the owner that peers can map while a key names it. */
struct shm_segment {
	/* 0: none; index on the board: id % SHM_SEGMENTS; never used again */
	alignas(SHM_LINE) atomic_ullong id;
	/* with inode: identifies the file, so that no peer maps another one */
	atomic_ullong device;
	atomic_ullong inode;
	atomic_int where;
	atomic_uint kind;
};

/* A QP on its owner's board. */
struct shm_qp {
	atomic_uint pd;	   /* id of the PD */
	atomic_uint state; /* shm_qp_state(); 0: it does not receive */
	atomic_uint peer;  /* QPN of its peer */
	/*
	 * Peers may fetch a payload by reference while this member equals the value in the
	 * reference. It changes each time the QP begins to send; 0: the QP does not send.
	 */
	atomic_uint sends;
};
#define SHM_QP_READY  0x80000000u /* connected and receiving */
#define SHM_QP_ACCESS 0xfu	  /* qp_access_flags of reads, writes and atomics */
#define SHM_QP_MTU    4		  /* first bit of the path MTU, enum ibv_mtu */
#define SHM_QP_PSN    7		  /* first bit of the rq_psn */

/* How a QP receives. If an initiator has another PSN or MTU, it sends packets, which then fail. */
static inline uint32_t shm_qp_state(uint32_t access, uint8_t path_mtu, uint32_t rq_psn)
{
	return SHM_QP_READY | (rq_psn & PSN_MASK) << SHM_QP_PSN |
	       (uint32_t)(path_mtu & 7) << SHM_QP_MTU | (access & SHM_QP_ACCESS);
}

/* A service id with a listener, in a hash table with open addressing. */
struct shm_service {
	atomic_ullong id;     /* 0: never used, the search ends here; all ones: no longer used */
	atomic_ullong gid[2]; /* GID of the listener as in memory; zero: any */
};
#define SHM_SERVICE_GONE UINT64_MAX

/* A robust mutex that a thread of the process holds while the process lives. The kernel changes its
 * word when the process ends. */
#ifdef __GLIBC__
#define SHM_LIFE_WORD 0
#else
#define SHM_LIFE_WORD 1 /* musl: the word after the type */
#endif
union shm_life {
	pthread_mutex_t lock;
	atomic_uint word[2];	/* the word of the mutex is word[SHM_LIFE_WORD] */
	uint8_t room[SHM_LINE]; /* makes the size equal in programs of 32 and of 64 bits */
};

/* The first page of a board: the values that peers read often. */
struct shm_front {
	/*
	 * Not 0: the process sleeps. Commit the record first, then ring its bell. Ring once for
	 * each value.
	 */
	alignas(SHM_LINE) atomic_uint sleeping;
	/*
	 * Random bytes. Peers also read them by process_vm_readv(). Equal bytes prove that the
	 * memory is readable and belongs to the board's owner.
	 */
	alignas(SHM_LINE) uint8_t probe[SHM_LINE];
	alignas(SHM_LINE) union shm_life life;
	atomic_uint manager;  /* 1: has a connection manager */
	atomic_uint services; /* listeners on the board; 0: skip the search */
};

struct shm_board {
	struct shm_front front;
	struct shm_qp qps[1 << UROCE_QP_INDEX_BITS];
	struct shm_key keys[SHM_KEYS];
	struct shm_segment segments[SHM_SEGMENTS];
	struct shm_service services[SHM_SERVICES];
};

/*
 * Sending and receiving by one strand to and from one peer. Only the threads that send and receive
 * by this link write here.
 */
struct shm_link {
	/* entry in shm->links[strand]; used as soon as the peer may send by this link */
	alignas(2 * PATH_LINE) LIST_ENTRY(shm_link) entry;
	struct shm_peer *peer;
	uint32_t wide_bytes; /* bytes of each of its wide rings, a power of two */
	uint8_t strand;
	uint8_t tx_side; /* side of the lane that belongs to this process: 0 or 1 */
	uint8_t rx_side;
	atomic_bool opened; /* the peer has received SHM_STRAND; used by links of other strands than
			       the first */
	/* producer side */
	struct uroce_lock tx_lock;
	struct shm_ring *tx;
	uint8_t *tx_data;
	uint32_t tx_bytes; /* size of the ring, a power of two */
	uint32_t tx_room;  /* bytes of the ring for records; a first ring reserves a line for
			      SHM_MOVE */
	uint32_t tx_head;  /* free running */
	uint32_t tx_tail;  /* tail as last read */
	uint32_t tx_lap;   /* tx_head at the beginning of this lap */
	uint32_t tx_open;  /* bytes of the ring in use now */
	uint32_t tx_span;  /* bytes that may be in use */
	uint32_t tx_known; /* bytes that were in use: their pages exist */
	bool tx_short;	   /* tx_open bytes were not enough */
	uint16_t tx_blind; /* copies until the next timed one */
	bool tx_far;	   /* the last timed copy was slow */
	/* copies bypass the caches, because the consumer's processor is far away */
	bool tx_past;
	atomic_ullong tx_stamp; /* stamp of the next record; written under tx_lock */
	uint32_t tx_slept;	/* value of the peer's front->sleeping that was handled last */
	/* consumer side, under the strand's lock */
	struct shm_ring *rx;
	uint8_t *rx_data;
	uint32_t rx_bytes;    /* 0: the peer does not send by this link yet */
	uint32_t rx_head;     /* position of the next record to read, free running */
	uint64_t rx_stamp;    /* stamp of the next record to read */
	uint64_t rx_rest;     /* ns: pollers skip the link until this time; 0: no skipping */
	uint64_t rx_answered; /* tx_stamp when records were last taken */
	uint64_t rx_took;     /* ns: time at which records were last taken, if they were a stream */
	int rx_streams;	      /* measure of one-sided traffic: stream_took() */
};

struct shm_peer {
	LIST_ENTRY(shm_peer) entry;
	struct uroce_shm *shm;
	uint16_t slot;
	bool has_more;	 /* by_slot has this peer at further slots, too */
	bool self;	 /* this process is its own peer: it has a ring and no connection */
	bool udp_only;	 /* one of the two processes sends packets by the network path only */
	bool fenced;	 /* each process fences for the other before it sleeps */
	uint32_t wishes; /* of the peer: enum hello_wish */
	atomic_bool dead;
	atomic_bool ready; /* the handshake is known to be complete */
	bool handed; /* a packet was forwarded to this peer; under the tx_lock of its first link */
	bool named;  /* a former peer that an address vector names; see shm_former.c */
	atomic_int reads; /* whether this process can read the peer's memory: enum shm_reads */
	pid_t pid;
	uint64_t probe; /* address of its board's probe in its memory, as it claims */
	int conn;	/* connection; readable at EOF: the peer died */
	int process;	/* pidfd of the peer, readable when it has ended; -1: the kernel has none */
	int bell;	/* eventfd of the peer */
	struct shm_lane *lane;
	_Atomic(struct shm_lane *) wide; /* the whole lane, mapped when first needed */
	uint32_t ring_bytes;		 /* bytes of each of its wide rings, a power of two */
	/* first page of the peer's board, which only the peer can write to */
	const struct shm_front *front;
	_Atomic(const struct shm_board *) board; /* the whole board, mapped when first needed */
	struct shm_uses *uses;			 /* copies of this process, by keys of the peer */
	struct shm_uses *used;			 /* copies of the peer, by keys of this process */
	_Atomic(struct shm_maps *) maps;	 /* mappings of its segments, or NULL */
	/* links of the other strands, once used */
	_Atomic(struct shm_link *) links[PATH_STRANDS - 1];
	struct shm_link link; /* link of the first strand */
};

enum shm_reads {
	SHM_READS_UNKNOWN, /* tried at the first use */
	SHM_READS,
	SHM_READS_NOT,
};

LIST_HEAD(shm_peer_list, shm_peer);
LIST_HEAD(shm_link_list, shm_link);

/*
 * The attempts to make the process of a slot a peer. All members except refused are under
 * uroce_shm.lock.
 */
struct shm_call {
	uint16_t slot;
	int conn;      /* connection to its listener, which has to answer; -1: no attempt */
	bool by_guest; /* conn is the connection by which the peer sent ASK */
	pid_t pid;     /* of the process at the slot */
	int process;   /* pidfd of that process until the peer owns it; -1: none */
	/* the unfinished peer, on the side that connects; NULL: this side sent ASK */
	struct shm_peer *peer;
	int guest; /* connection by which that process sent ASK during an attempt; -1: none */
	unsigned int waiters; /* threads that wait for the end of an attempt */
	unsigned int ended;   /* attempts that have ended */
	int result;	      /* result of the last attempt */
	atomic_int refused;   /* pid + 1 of a process with which a refusal was exchanged; 0: none */
	atomic_uint wish;     /* SHM_ASKED, SHM_AHEAD */
};

enum {
	SHM_ASKED = 1, /* a thread wanted the peer */
	SHM_AHEAD = 2, /* called before a thread wanted it */
};

struct uroce_shm {
	struct uroce_path path;
	struct path_host *host;
	int listeners[UROCE_BLOCKS]; /* listeners of this process's slots, indexed by
					uroce_slot_place(); -1: none */
	int bell;		     /* eventfd of this process */
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
	_Atomic(struct shm_call *) calls[SHM_SLOTS]; /* allocated at the first use */
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
	atomic_uint ahead;	/* calls that no thread has asked for yet */
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
	bool complete_cheap; /* the last check was short, so the next may follow at once */
};

/* --- shm_slot.c --- */

/*
 * Claim a further slot for QPs of this process. Return: the slot; -ENOMEM: none is free; another
 * -errno. An error is logged if the slot is @needed. One caller at a time.
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

/* --- shm_guest.c --- */

/*
 * Accept connections. Return: 0; -EMFILE or a similar error: the connection has to wait, and the
 * listener stays readable.
 */
int uroce_shm_accept(struct uroce_shm *shm, int listener);
/* Read the first message of an accepted connection. */
void uroce_shm_guest(struct uroce_shm *shm, int conn);

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
 * Return whether the peer can read memory of this process, as far as the peer has tried. Threads:
 * any.
 */
bool uroce_shm_readable(struct shm_peer *peer);
/* Handle a readable connection of a peer: end of the handshake, GONE, or the peer's death. */
void uroce_shm_conn_ready(struct uroce_shm *shm, struct shm_peer *peer);

/* Return whether the peer sends no more packets. */
static inline bool uroce_shm_peer_dead(const struct shm_peer *peer)
{
	return atomic_load_explicit(&peer->dead, memory_order_relaxed);
}
/* Handle the end of a peer's process, whatever the state of its connection. */
void uroce_shm_process_ended(struct uroce_shm *shm, struct shm_peer *peer);
/* Close the descriptors of a forked child, which does not own them. Async-signal-safe. */
void uroce_shm_forked(struct uroce_shm *shm);

/* --- shm_life.c --- */

/* Take and release the life mutex. The calling thread lives while the process can be reached. */
void uroce_shm_life_begin(struct uroce_shm *shm);
void uroce_shm_life_end(struct uroce_shm *shm);
/*
 * Return whether the owner of the board has neither ended nor started another program. If true, the
 * process number has belonged to the owner until now.
 */
static inline bool uroce_shm_lives(const struct shm_front *front)
{
	uint32_t word =
		atomic_load_explicit(&front->life.word[SHM_LIFE_WORD], memory_order_acquire);

	return (word & FUTEX_TID_MASK) && !(word & FUTEX_OWNER_DIED);
}

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

/* --- board.c: what this process shows to its peers --- */

/* Show that QP @qpn receives from @peer_qpn as @state says (shm_qp_state()) and grants peers access
 * to regions of @pd. One caller at a time for a QP. */
void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t state,
			 uint32_t peer_qpn);
/* Show that QP @qpn does not receive. A peer may still be copying: uroce_board_qp_wait(). */
void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn);
/* Return whether the board grants peers an access that is not in @access. */
bool uroce_board_qp_loses(struct uroce_shm *shm, uint32_t qpn, uint32_t access);
/* Show whether peers may fetch payloads of the QP by reference. After false, a peer may still be
 * copying: uroce_board_qp_wait(). */
void uroce_board_qp_sends(struct uroce_shm *shm, uint32_t qpn, bool sends);
/*
 * Wait until the process of @peer_qpn, to which @qpn is or was connected, has finished the copies
 * that the QP permitted. These are operations on memory of this process and fetches of payloads by
 * reference. Hold no lock.
 */
void uroce_board_qp_wait(struct uroce_shm *shm, uint32_t qpn, uint32_t peer_qpn);
/* Return whether the process of @slot makes such a copy at the moment. */
bool uroce_board_qp_used(struct uroce_shm *shm, uint32_t qpn, uint16_t slot);

struct shm_region {
	uint64_t iova;
	uint64_t length;
	uintptr_t base;
	uint32_t pd;
	uint32_t access;
};
/* Show that peers may access the region by @key. One caller at a time. */
void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region);
/* Take the key off the board. A peer may still be copying. */
void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key);
/* Wait until no peer copies to or from the region of @key, which is hidden. No lock held. */
void uroce_board_key_wait(struct uroce_shm *shm, uint32_t key);
/* Wait until no thread reads the lane of a peer that has been taken out of the table. */
void uroce_board_wait(struct uroce_shm *shm);

/* Show that the region of @key is at @place of @segment. Call it after the key was shown and before
 * the application gets the key. */
void uroce_board_key_place(struct uroce_shm *shm, uint32_t key, uint64_t segment, uint64_t place);

/* --- shm_segment.c: memory of this process that peers can map. Threads: any. --- */

/*
 * Allocate @size bytes of zeros at a multiple of @alignment, a power of two, that peers can map. If
 * that fails, for example because descriptors are missing, allocate memory that peers cannot map.
 * -ENOMEM: no memory at all.
 */
int uroce_segment_alloc(struct uroce_shm *shm, size_t size, size_t alignment, void **ret_memory);
void uroce_segment_free(struct uroce_shm *shm, void *memory, size_t size);
/*
 * Let peers map the region of a key that is shown, if it lies in memory of uroce_segment_alloc() or
 * in shared memory of the application. Return: the index of the segment, for
 * uroce_segment_unshare(); -ENODATA: peers cannot map it.
 */
int uroce_segment_share(struct uroce_shm *shm, uint32_t key, const void *addr, uint64_t length);
/*
 * Return a new descriptor of the memory that contains the whole range: memory of the device, or
 * shared memory of the application. *@ret_place: offset of the range in it. -ENODATA: the memory is
 * private to this process.
 */
int uroce_segment_open(struct uroce_shm *shm, const void *addr, uint64_t length,
		       uint64_t *ret_place);
/* A mapping of another process's memory: the pages, and the first byte of the range. */
struct uroce_mapped {
	void *at;
	size_t size;
	uint8_t *bytes;
};
/*
 * Check and map a descriptor that came from uroce_segment_open() in another process. @fixed: the
 * memory must be sealed against shrinking, because its reader cannot handle faults. -EPROTO: the
 * descriptor is not memory, or the memory is too short.
 */
int uroce_segment_map(int fd, uint64_t place, uint64_t length, bool fixed,
		      struct uroce_mapped *ret);
/* Drop the segment of a key that has been hidden. When no key needs the segment any more, living
 * peers unmap it. */
void uroce_segment_unshare(struct uroce_shm *shm, int segment);

/* --- shm_map.c: memory of peers that is mapped here --- */

/* The place of a region. */
struct shm_place {
	uint64_t base;	  /* address in its owner */
	uint64_t segment; /* id of the segment; 0: the region cannot be mapped */
	uint64_t place;
};
/*
 * Perform an operation by plain instructions on memory that both processes have mapped. Called with
 * a use of its key. -EOPNOTSUPP: the memory is not mapped, or not accessible.
 */
int uroce_map_rdma(struct shm_peer *peer, const struct shm_place *at,
		   const struct uroce_rdma *rdma);

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

/* Return the peer's link of a strand if packets may be sent by it. NULL: call uroce_shm_link_open()
 * first. */
static inline struct shm_link *shm_peer_link(struct shm_peer *peer, unsigned int strand)
{
	struct shm_link *link;

	if (likely(!strand))
		return &peer->link;
	link = atomic_load_explicit(&peer->links[strand - 1], memory_order_acquire);
	return link && atomic_load_explicit(&link->opened, memory_order_acquire) ? link : NULL;
}

/* The host needs these parts of the rings. */
#include "providers/uroce/path/shm/shm_memory.h"
#include "providers/uroce/path/shm/shm_ring.h"

#endif
