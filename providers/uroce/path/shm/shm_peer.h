/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a peer in this process, and the links to it. Locks: see shm.h. */
#ifndef UROCE_SHM_PEER_H
#define UROCE_SHM_PEER_H

#include <linux/futex.h>

#include "providers/uroce/path/shm/shm_layout.h"

struct uroce_shm;

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
	uint32_t tx_wrap;  /* tx_head at the last wrap */
	uint32_t tx_open;  /* bytes of the ring in use now */
	uint32_t tx_span;  /* bytes that may be in use */
	uint32_t tx_known; /* bytes that were in use: their pages exist */
	bool tx_short;	   /* tx_open bytes were not enough */
	uint16_t tx_blind; /* copies until the next timed one */
	bool tx_far;	   /* the last timed copy was slow */
	/* copies bypass the caches, because the consumer's processor is far away */
	bool tx_past;
	atomic_ullong tx_stamp; /* stamp of the next record; written under tx_lock */
	uint32_t tx_slept;	/* value of the peer's first_page->sleeping that was handled last */
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
	bool fenced;	 /* before a process sleeps, it makes its stores visible to the other one */
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
	int wake_fd;	/* eventfd of the peer */
	struct shm_lane *lane;
	_Atomic(struct shm_lane *) wide; /* the whole lane, mapped when first needed */
	uint32_t ring_bytes;		 /* bytes of each of its wide rings, a power of two */
	/* first page of the peer's board, which only the peer can write to */
	const struct shm_first_page *first_page;
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

/*
 * Return whether the owner of the board has neither ended nor started another program. If true, the
 * process number has belonged to the owner until now.
 */
static inline bool uroce_shm_lives(const struct shm_first_page *first_page)
{
	uint32_t word =
		atomic_load_explicit(&first_page->life.word[SHM_LIFE_WORD], memory_order_acquire);

	return (word & FUTEX_TID_MASK) && !(word & FUTEX_OWNER_DIED);
}

#endif
