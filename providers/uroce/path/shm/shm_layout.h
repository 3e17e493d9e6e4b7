/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What lies in memory that processes share: the lane of two processes with its rings, and the board
 * of each process. Another process can write to a lane at any time.
 */
#ifndef UROCE_SHM_LAYOUT_H
#define UROCE_SHM_LAYOUT_H

#include <assert.h>
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
	SHM_WRAP = 1 << 14,
	SHM_WRAP_RECORD = 512, /* bytes of a small record, at most */
	SHM_OPEN = 1 << 17,    /* bytes of a wide ring in use at first; more if needed */
	SHM_SPAN = 1 << 19,    /* bytes in use for a burst, at most. Also the size of wide rings of
				  later peers and of other strands than the first. */
	/* number of peers, this process included, that get wide rings of SHM_RING_BYTES */
	SHM_WIDE = 16,
	SHM_SLOTS = UROCE_SLOTS,
	SHM_WORD = 64,	     /* bits of a word of `inhabited` */
	SHM_KEYS = 1 << 14,  /* keys that a board can show; packets reach the others */
	SHM_SERVICES = 4096, /* listeners that a board can show */
	SHM_USES = 16,	     /* simultaneous one-sided operations of one strand on a process */
	SHM_SEGMENTS = 256,  /* memory objects that a board can show */
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
#define SHM_LIFE_WORD 1 /* musl: the word behind the type of the mutex */
#endif
union shm_life {
	pthread_mutex_t lock;
	atomic_uint word[2];	/* the word of the mutex is word[SHM_LIFE_WORD] */
	uint8_t room[SHM_LINE]; /* makes the size equal in programs of 32 and of 64 bits */
};

/* The first page of a board: the values that peers read often. */
struct shm_first_page {
	/*
	 * Not 0: the process sleeps. Commit the record first, then wake it. Wake it once for
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
	struct shm_first_page first_page;
	struct shm_qp qps[1 << UROCE_QP_INDEX_BITS];
	struct shm_key keys[SHM_KEYS];
	struct shm_segment segments[SHM_SEGMENTS];
	struct shm_service services[SHM_SERVICES];
};

#endif
