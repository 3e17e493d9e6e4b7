/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How packets travel. A path is one way to reach a destination; which one is decided once, when an
 * address vector is made, never per packet.
 *
 *   path/udp/   RoCEv2: UDP port 4791, with ICRC
 *   path/shm/   processes of this user on this host: rings in shared memory, no loss, no ICRC
 *   fault/      a decorator: drop, duplicate, reorder, delay, corrupt by script or seed
 *
 * Operations go down by struct uroce_path_ops. What arrives goes up by struct path_events, and by
 * nothing else: a path calls nobody above it.
 *
 * Locks: of receiving, one a strand: path_host.progress_lock, which is the first one's, then those
 * of path_host.strands in their order. Who has one receives what comes by it, and none of what a
 * pass walks goes meanwhile (queue pairs, peers): for that all are taken, path_host_stop(). Each
 * path has a lock of its own for sending, taken below a QP's. Threads: any sends; the holder of a
 * strand receives. Includes: wire, base. Included by: engine, the paths, fault, host.
 */
#ifndef UROCE_PATH_H
#define UROCE_PATH_H

#include <stdalign.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <netinet/in.h>

#include <infiniband/verbs.h>

#include "libibverbs/provider.h"
#include "providers/uroce/wire/wire.h"

struct path_host;
struct uroce_capture;
struct uroce_path;
struct uroce_qp;

enum {
	GSI_QPN = 1,
	MULTICAST_QPN = 0xffffff,
	UROCE_MAX_SGE = 32,
	UROCE_QPN_BLOCK_BITS = 10,			/* QPN: slot << 10 | number in its block */
	UROCE_SLOTS = 1 << (24 - UROCE_QPN_BLOCK_BITS), /* slot 0 is nobody's: it has QPs 0 and 1 */
	UROCE_FAMILY_BITS = 8, /* a slot's last bits, which those of a process have in common */
	UROCE_FIRST_SLOTS = 17 << UROCE_FAMILY_BITS,	 /* below are first ones of processes */
	UROCE_BLOCKS = UROCE_SLOTS >> UROCE_FAMILY_BITS, /* a process can have */
	UROCE_QP_INDEX_BITS = 16, /* of a QPN, with those of the family left out */
	/* Connection manager: an id's first bits are the first slot of the process that gave it. */
	UROCE_ID_SLOT_SHIFT = 32 - VERBS_GSI_PREFIX_BITS,
	UROCE_GID_MAX = 64,	    /* slots of a GID table */
	UROCE_KEY_VARIANT_BITS = 8, /* key: index << 8 | variant */
	PATH_PACKET_MAX = 8192,	    /* payload of one copied packet on any path */
	PATH_LINE = 64,		    /* bytes of a cache line; processors fetch two */
	PATH_STRANDS = 4,
	PATH_STRAND_MASK = 15, /* of a QPN: these bits say its strand, most are of the first */
};
#define UROCE_MAX_MSG_SIZE 0x80000000u /* bytes of one message */
#define PATH_NO_ACK	   0xffffffffu /* its syndrome is a reserved one */

/* The block of numbers that a QPN is in, and so the process that owns it. */
static inline uint16_t uroce_qpn_slot(uint32_t qpn)
{
	return qpn >> UROCE_QPN_BLOCK_BITS & (UROCE_SLOTS - 1);
}

/* Its place among the blocks of its process, no two of which have the same. */
static inline unsigned int uroce_slot_place(uint16_t slot)
{
	return slot >> UROCE_FAMILY_BITS;
}

/* The number's place in that process's tables. */
static inline uint32_t uroce_qpn_index(uint32_t qpn)
{
	return uroce_slot_place(uroce_qpn_slot(qpn)) << UROCE_QPN_BLOCK_BITS |
	       (qpn & ((1 << UROCE_QPN_BLOCK_BITS) - 1));
}

/*
 * Receiving is divided into strands, which do not wait for each other: a QP's number says, to its
 * process and to its peers, which one its packets come by. 13 numbers of 16 are of the first
 * strand, and each of the others has one.
 */
static inline unsigned int uroce_qpn_strand(uint32_t qpn)
{
	uint32_t bits = qpn & PATH_STRAND_MASK, first = PATH_STRAND_MASK + 1 - PATH_STRANDS;

	return bits > first ? bits - first : 0;
}

/* The same of an SRQ's number, which only its process reads. */
static inline uint32_t uroce_srqn_index(uint32_t srqn)
{
	return srqn & ((1 << UROCE_QP_INDEX_BITS) - 1);
}

/* How to reach one destination. Plain data: may be copied freely. */
struct uroce_av {
	struct uroce_path *path; /* NULL: not resolved */
	void *peer; /* the path's own handle of the destination; NULL unless it has one */
	struct uroce_route route;
	union uroce_address addr; /* of the destination */
	uint32_t mtu;		  /* largest payload of one packet on this path, bytes */
	uint32_t ref_min; /* RC messages of at least this size travel as one packet, by reference;
			     0: never */
	uint8_t sgid_index;
	uint8_t port_num;
	uint8_t sl;
	bool local; /* UD: a process of this host may own the QP; see uroce_av_for_qpn() */
};

/*
 * Payload of a packet that arrived: bytes in the path's buffer, or, on the shared-memory path, a
 * reference to the sender's memory which uroce_payload_copy() fetches. Foreign bytes: they may
 * change while they are read.
 */
struct uroce_payload {
	const uint8_t *data; /* NULL: by reference */
	uint32_t length;
	uint32_t offset;       /* into the reference */
	const void *reference; /* the path's own */
	struct uroce_path *path;
};

/* A packet that arrived, checked to be whole (wire.c) and unpacked. */
struct uroce_packet {
	struct uroce_hdr hdr;
	struct uroce_payload payload;
	/* an acknowledgement that came along, for the same QP */
	bool has_ack;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	bool marked;	 /* the network tells of congestion by it */
	bool any_length; /* the path segments as it likes; otherwise first and middle packets are
			    one MTU */
	/* source, for UD completions: 40 bytes as the GRH area of the receive buffer shows them;
	 * NULL unless UD */
	const uint8_t *grh;
	const union ibv_gid *dgid; /* where a datagram came to; NULL on rings of connected QPs */
	const union ibv_gid *multicast; /* the group, when it came by one */
	bool forwarded;	 /* another process passed it on: it is not passed on again */
	bool fault_seen; /* the rules of UROCE_FAULTS were asked */
};

/* A packet to send. */
struct uroce_tx {
	const struct uroce_hdr *hdr;
	const struct iovec
		*iov; /* payload; registered memory, may vanish: copy with uroce_copy() */
	int iovcnt;
	uint32_t length;	   /* sum of the iovecs, bytes */
	const struct uroce_qp *qp; /* who sends, its lock held; NULL: the connection manager */
	/* Of a payload longer than PATH_PACKET_MAX, which leaves by reference: the sender's number,
	 * and the key of each piece, held until the packet has left. */
	uint32_t own_qpn;
	const uint32_t *lkeys;
	uint32_t damage; /* not 0: which bit to turn over after the ICRC was computed */
	bool placed;	 /* a write whose payload is in its target already, by ops->rdma */
	/* Along with it, on paths that have room (path->piggyback): an acknowledgement of the same
	 * QP pair. */
	bool has_ack;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	uint32_t ack_msn;
};

enum uroce_rdma_kind {
	UROCE_RDMA_READ,
	UROCE_RDMA_WRITE,
	UROCE_RDMA_CMP_SWAP,
	UROCE_RDMA_FETCH_ADD,
};

/* What the initiator does alone. */
struct uroce_rdma {
	const struct uroce_qp *qp; /* the initiator's, its lock held */
	uint32_t own_qpn;
	uint32_t dest_qpn;
	enum uroce_rdma_kind kind;
	const struct iovec *iov; /* local memory */
	int iovcnt;
	uint32_t length; /* sum of the iovecs, bytes */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t swap_add; /* of atomics */
	uint64_t compare;
};

/* It has the value before of 8 bytes as its result. */
static inline bool uroce_rdma_atomic(const struct uroce_rdma *rdma)
{
	return rdma->kind >= UROCE_RDMA_CMP_SWAP;
}

struct uroce_path_ops {
	/*
	 * Queue or send one packet. Return: 0; -EAGAIN no room now (the QP goes on host->blocked
	 * and is run again from progress); -EFAULT the payload is not readable; another -errno: the
	 * destination is unreachable.
	 */
	int (*send)(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx);
	/* Everything queued leaves now. Called at the end of each post and progress pass. */
	void (*flush)(struct uroce_path *path);
	/* What an RC QP sends to @dest_qpn seems not to arrive: another way, if there is one. NULL:
	 * there is none. */
	void (*doubt)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn);
	/* Payload by reference into our memory. 0; -EFAULT: our memory is not there; -ESTALE: the
	 * sender's is not, or may not be read any more. NULL: the path never sends references. */
	int (*fetch)(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
		     void *dst, uint32_t length);
	/* Whether the QP there can be seen to receive from @own_qpn. NULL: cannot be seen. */
	bool (*receiving)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
			  uint32_t own_qpn);
	/* Whether the peer is in the middle of a copy to or from this process's memory which QP
	 * @own_qpn let it begin. NULL: it makes none. */
	bool (*at_work)(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn);
	/*
	 * One-sided operation, done by the initiator alone. Return: 0 done; -EOPNOTSUPP: send
	 * packets instead, which also find out what is wrong if something is; -EFAULT: an atomic
	 * is done, and there is no memory for its result. NULL: never.
	 */
	int (*rdma)(struct uroce_path *path, const struct uroce_av *av,
		    const struct uroce_rdma *rdma);
};

struct uroce_path {
	const struct uroce_path_ops *ops;
	struct path_host *host;
	const char *name;
	bool lossless; /* nothing sent is ever lost while the peer lives: no retransmission timer */
	bool piggyback;	     /* packets can carry an acknowledgement */
	atomic_bool pending; /* something is queued for flush */
};

/* Where a datagram came from that one process of this host hands to another. */
struct path_origin {
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint8_t grh[GRH_LEN];
	uint8_t passed_on; /* not by its sender, but by a process it came to first ... */
	uint16_t port;	   /* ... from this UDP port */
};

/* A packet as somebody who captures sees it. */
struct path_sight {
	const char *device; /* NULL: of no network interface */
	struct uroce_route route;
	bool outgoing;
	uint16_t port; /* UDP port it comes from */
	uint16_t id;   /* identification of its IPv4 header */
	const uint8_t *packet;
	uint32_t length; /* BTH to ICRC; without ICRC where there is no device */
};

/* What it means that a watched descriptor is readable. */
enum path_watch {
	WATCH_BELL,	 /* a peer or another thread of the process rings */
	WATCH_LISTENER,	 /* uroce_shm_accept() */
	WATCH_GUEST,	 /* uroce_shm_guest(): a connection that has said nothing yet; whoever
			    watches closes it at the end */
	WATCH_CALL,	 /* uroce_shm_called(); pointer: struct shm_call */
	WATCH_PEER,	 /* uroce_shm_conn_ready(); pointer: struct shm_peer */
	WATCH_PROCESS,	 /* uroce_shm_process_ended(); pointer: struct shm_peer */
	WATCH_SOCKET,	 /* UDP: not waited for while pollers are at work; pointer: its struct
			    uroce_path */
	WATCH_ADDRESSES, /* interfaces changed */
	WATCH_IMPORT,	 /* uroce_import_ready() */
};

/*
 * What paths tell their process. Everything about packets is called with progress_lock held, those
 * of peers with their strand's; now is the clock's time, or 0 when nobody has looked at it.
 */
struct path_events {
	/* A packet, unpacked. @sgid: where it came from; NULL: the path vouches for it. */
	void (*packet)(struct path_host *host, struct uroce_packet *pkt, const union ibv_gid *sgid,
		       uint64_t now);
	/* The same out of the ring of @peer, by @strand. */
	void (*peer_packet)(struct path_host *host, struct uroce_packet *pkt, const void *peer,
			    unsigned int strand, uint64_t now);
	/*
	 * @length bytes from BTH to padding that came from @sgid to this process, before anything
	 * is unpacked. Return: false when it has to be unpacked.
	 */
	bool (*bytes)(struct path_host *host, const union ibv_gid *sgid, const uint8_t *data,
		      uint32_t length);
	/* The same out of the ring of @peer, by @strand; @ack came along: syndrome << 24 | PSN, or
	 * PATH_NO_ACK. */
	bool (*peer_bytes)(struct path_host *host, const void *peer, unsigned int strand,
			   const uint8_t *data, uint32_t length, uint32_t ack);
	/* Whether @qpn is an RC QP whose peer is at @sgid. */
	bool (*expected)(struct path_host *host, uint32_t qpn, const union ibv_gid *sgid);
	/* A datagram for another process of this host. */
	void (*foreign)(struct path_host *host, uint16_t slot, const struct path_origin *from,
			const void *packet, uint32_t length, uint64_t now);
	/* An RC packet that had come to the socket of another process. */
	void (*passed_on)(struct path_host *host, const struct path_origin *from);
	/* Nothing comes from @peer any more. @slot: its process ended; 0: it is not believed. */
	void (*peer_gone)(struct path_host *host, struct uroce_path *path, const void *peer,
			  uint16_t slot);
	/* Only with host->capture. No lock needed. */
	void (*seen)(struct path_host *host, const struct path_sight *sight);
	/* Call whoever @what names as long as @fd is readable; and no longer. A descriptor that is
	 * watched comes to mean something else by another call. Any thread. */
	int (*watch)(struct path_host *host, int fd, enum path_watch what, void *pointer);
	void (*unwatch)(struct path_host *host, int fd);
};

/* The process, as its paths know it. */
struct path_host {
	const struct path_events *events;
	/* Where this process is found among this user's in this network namespace: the first of its
	 * blocks of QP numbers, 1 on. */
	uint16_t slot;
	/* All of them, each at its uroce_slot_place(); 0: none is there. They come while QPs are
	 * made. */
	_Atomic uint16_t blocks[UROCE_BLOCKS];
	bool udp_only; /* no packets through shared memory, not even to processes of this host */
	bool any_namespace; /* shared memory with this user's processes of other PID namespaces, too
			     */
	struct uroce_capture *capture; /* who wants to see each packet; NULL: nobody */
	/* Apart from what all read. The first strand: its queue pairs, and all that belongs to no
	 * queue pair. */
	alignas(2 * PATH_LINE) struct uroce_lock progress_lock;
	bool whole; /* who holds it has all strands; under it */
	/* Others that something came for since the last pass's end, a bit each; under it. */
	unsigned int entered;
	/* The others: shared memory of connected QPs. */
	struct path_strand {
		alignas(2 * PATH_LINE) struct uroce_lock lock;
	} strands[PATH_STRANDS - 1];
};

/* --- strands --- */

static inline struct uroce_lock *path_strand_lock(struct path_host *host, unsigned int strand)
{
	return strand ? &host->strands[strand - 1].lock : &host->progress_lock;
}

/* All strands: nobody else receives until path_host_go(). */
static inline void path_host_stop(struct path_host *host)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		uroce_lock(path_strand_lock(host, i));
	host->whole = true;
}

static inline void path_host_go(struct path_host *host)
{
	host->whole = false;
	for (unsigned int i = PATH_STRANDS; i-- > 0;)
		uroce_unlock(path_strand_lock(host, i));
}

static inline bool path_host_try(struct path_host *host)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		if (uroce_trylock(path_strand_lock(host, i)))
			continue;
		while (i-- > 0)
			uroce_unlock(path_strand_lock(host, i));
		return false;
	}
	host->whole = true;
	return true;
}

/* By the holder of progress_lock, for what came by no strand of its own, or by another one. */
static inline void path_strand_enter(struct path_host *host, unsigned int strand)
{
	assert_held(&host->progress_lock);
	if (likely(!strand) || host->whole)
		return;
	uroce_lock(path_strand_lock(host, strand));
	host->entered |= 1u << strand;
}

static inline void path_strand_leave(struct path_host *host, unsigned int strand)
{
	if (unlikely(strand) && !host->whole)
		uroce_unlock(path_strand_lock(host, strand));
}

/* Some strand is held. */
static inline void path_assert_inside(struct path_host *host)
{
#ifdef RDMA_DEBUG
	bool held = false;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		held |= atomic_load_explicit(&path_strand_lock(host, i)->word,
					     memory_order_relaxed);
	assert(held);
#else
	(void)host;
#endif
}

/* The block is this process's from now on. */
static inline void path_host_take(struct path_host *host, uint16_t slot)
{
	atomic_store_explicit(&host->blocks[uroce_slot_place(slot)], slot, memory_order_release);
}

static inline bool path_host_has_slot(const struct path_host *host, uint16_t slot)
{
	return slot && atomic_load_explicit(&host->blocks[uroce_slot_place(slot)],
					    memory_order_acquire) == slot;
}

/* Whether the QP number is one of this process's. */
static inline bool path_host_has(const struct path_host *host, uint32_t qpn)
{
	return path_host_has_slot(host, uroce_qpn_slot(qpn));
}

#endif
