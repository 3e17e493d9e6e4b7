/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths: how packets travel. A path is one way to reach a destination. It is chosen once, when an
 * address vector is made, never per packet.
 *
 *   path/udp/   RoCEv2: UDP port 4791, with ICRC
 *   path/shm/   processes of this user on this host: rings in shared memory, no loss, no ICRC
 *   fault/      a decorator: drop, duplicate, reorder, delay, corrupt by script or seed
 *
 * Upper layers call a path by struct uroce_path_ops. A path passes received packets up by struct
 * path_events and calls no upper layer in any other way.
 *
 * Locks of receiving: each strand has one. path_host.progress_lock belongs to the first strand.
 * Those of path_host.strands follow in the order of the array. The holder of a strand's lock
 * receives the packets of that strand.
 *
 * While any strand is held, the objects that a pass walks (queue pairs, peers) are not freed. To
 * free them, take all strands by path_host_stop().
 *
 * Lock of sending: each path has its own, taken below the lock of a QP.
 *
 * Threads: any thread sends. The holder of a strand receives.
 *
 * Includes: wire, base. Included by: engine, the paths, fault, host.
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
	UROCE_QPN_BLOCK_BITS = 10, /* QPN: slot << 10 | number in its block */
	UROCE_QPN_PART_BITS = 6,   /* a part of a block has 64 numbers; see shm_rest.c */
	/* slot 0 belongs to no process: it has QPs 0 and 1 */
	UROCE_SLOTS = 1 << (24 - UROCE_QPN_BLOCK_BITS),
	UROCE_FAMILY_BITS = 8, /* last bits of a slot, equal in the slots of one process */
	/* smaller slots are first slots of processes */
	UROCE_FIRST_SLOTS = 17 << UROCE_FAMILY_BITS,
	UROCE_BLOCKS = UROCE_SLOTS >> UROCE_FAMILY_BITS, /* blocks of one process, at most */
	UROCE_QP_INDEX_BITS = 16, /* bits of a QPN without those of the family */
	/* Connection manager: the first bits of an id are the first slot of the process that made
	 * it. */
	UROCE_ID_SLOT_SHIFT = 32 - VERBS_GSI_PREFIX_BITS,
	UROCE_GID_MAX = 255,	    /* slots of a GID table: sgid_index has 8 bits */
	UROCE_KEY_VARIANT_BITS = 8, /* key: index << 8 | variant */
	PATH_PACKET_MAX = 8192,	    /* payload of one copied packet on any path */
	PATH_LINE = 64,		    /* bytes of a cache line; processors fetch two */
	PATH_STRANDS = 4,
	/* bits of a QPN that choose its strand; most values choose the first */
	PATH_STRAND_MASK = 15,
};
#define UROCE_MAX_MSG_SIZE 0x80000000u /* bytes of one message */
#define PATH_NO_ACK	   0xffffffffu /* no acknowledgement: the syndrome is reserved */

/* Return the slot of a QPN, and so the process that owns it. */
static inline uint16_t uroce_qpn_slot(uint32_t qpn)
{
	return qpn >> UROCE_QPN_BLOCK_BITS & (UROCE_SLOTS - 1);
}

/* Return the part of its block to which a QPN belongs. */
static inline unsigned int uroce_qpn_part(uint32_t qpn)
{
	return (qpn & ((1 << UROCE_QPN_BLOCK_BITS) - 1)) >> UROCE_QPN_PART_BITS;
}

/* Return the place of a slot among the blocks of its process. Each block has another place. */
static inline unsigned int uroce_slot_place(uint16_t slot)
{
	return slot >> UROCE_FAMILY_BITS;
}

/* Return the index of a QPN in the tables of its process. */
static inline uint32_t uroce_qpn_index(uint32_t qpn)
{
	return uroce_slot_place(uroce_qpn_slot(qpn)) << UROCE_QPN_BLOCK_BITS |
	       (qpn & ((1 << UROCE_QPN_BLOCK_BITS) - 1));
}

/*
 * Return the strand that receives the packets of a QP. Strands do not wait for each other. The QP
 * number alone decides, so the process and its peers agree. Of 16 consecutive numbers 13 belong to
 * the first strand and one to each of the others.
 */
static inline unsigned int uroce_qpn_strand(uint32_t qpn)
{
	uint32_t bits = qpn & PATH_STRAND_MASK, first = PATH_STRAND_MASK + 1 - PATH_STRANDS;

	return bits > first ? bits - first : 0;
}

/* Return the index in an SRQ number. Only the process that owns the SRQ reads the index. */
static inline uint32_t uroce_srqn_index(uint32_t srqn)
{
	return srqn & ((1 << UROCE_QP_INDEX_BITS) - 1);
}

/* How to reach one destination. Plain data: may be copied freely. */
struct uroce_av {
	struct uroce_path *path; /* NULL: not resolved */
	void *peer;		 /* the path's handle of the destination, or NULL */
	struct uroce_route route;
	union uroce_address addr; /* address of the destination */
	uint32_t mtu;		  /* largest payload of one packet on this path, bytes */
	uint32_t ref_min; /* RC messages of at least this size travel as one packet, by reference;
			     0: never */
	uint8_t sgid_index;
	uint8_t port_num;
	uint8_t sl;
	uint8_t path_mtu; /* enum ibv_mtu of a connection; 0: none */
	bool local;	  /* UD: a process of this host may own the QP. See uroce_av_for_qpn(). */
};

/*
 * Payload of a received packet: bytes in the path's buffer or, on the shared-memory path, a
 * reference to the sender's memory that the operation fetch() copies. The sender may change the
 * bytes while they are read.
 */
struct uroce_payload {
	const uint8_t *data; /* NULL: by reference */
	uint32_t length;
	uint32_t offset;       /* into the reference */
	const void *reference; /* belongs to the path */
	struct uroce_path *path;
};

/* A received packet: wire.c has checked its length and unpacked it. */
struct uroce_packet {
	struct uroce_hdr hdr;
	struct uroce_payload payload;
	/* an acknowledgement of the same QP in this packet */
	bool has_ack;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	bool marked;	  /* the network marked it: congestion */
	uint8_t path_mtu; /* with any_length: enum ibv_mtu of the sender's connection; 0: unknown */
	bool any_length;  /* payloads may have any length; otherwise first and middle packets have
			     one MTU */
	/* source, for UD completions: 40 bytes as the GRH area of the receive buffer shows them;
	 * NULL unless UD */
	const uint8_t *grh;
	/* GID that received the datagram; NULL on rings of connected QPs */
	const union ibv_gid *dgid;
	const union ibv_gid *multicast; /* the multicast group that received it; NULL: none */
	bool forwarded;			/* another process forwarded it: do not forward it again */
	bool fault_seen;		/* the rules of UROCE_FAULTS have been applied */
};

/* A packet to send. */
struct uroce_tx {
	const struct uroce_hdr *hdr;
	const struct iovec
		*iov; /* payload in registered memory, which may be unmapped: use uroce_copy() */
	int iovcnt;
	uint32_t length;	   /* sum of the iovecs, bytes */
	const struct uroce_qp *qp; /* the sending QP, its lock held; NULL: the connection manager */
	/* The sender's QPN and the key of each piece. Only set for a payload longer than
	 * PATH_PACKET_MAX, which is sent by reference. The keys are held until the packet has left.
	 */
	uint32_t own_qpn;
	const uint32_t *lkeys;
	uint32_t damage; /* bit to invert after the ICRC was computed; 0: none */
	bool placed;	 /* a write whose payload ops->rdma has already put into its target */
	/* An acknowledgement of the same QP pair to send in this packet, on paths with
	 * path->piggyback. */
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

/* A one-sided operation: the initiator performs it without the responder. */
struct uroce_rdma {
	const struct uroce_qp *qp; /* the initiator's QP, its lock held */
	uint32_t own_qpn;
	uint32_t dest_qpn;
	enum uroce_rdma_kind kind;
	const struct iovec *iov; /* local memory of the initiator */
	int iovcnt;
	uint32_t length; /* sum of the iovecs, bytes */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t swap_add; /* operand of atomics */
	uint64_t compare;
	uint32_t sq_psn;  /* start PSN of the QP's sends, as at RTS */
	uint8_t path_mtu; /* of the QP, enum ibv_mtu */
};

enum {
	PATH_MTU_LEAST = 256, /* bytes */
};

/*
 * Return whether a message of @length bytes must fail because the two QPs have different path MTUs.
 * On a network a message longer than the smaller MTU fails, because its packets have other lengths
 * than the receiver expects. Paths without packets of one MTU must fail the same messages.
 */
static inline bool path_mtu_fails(uint8_t mtu, uint8_t other_mtu, uint64_t length)
{
	return mtu != other_mtu && length > 128u << min_of(mtu, other_mtu);
}

/* Return whether the operation returns the previous value of 8 bytes. */
static inline bool uroce_rdma_atomic(const struct uroce_rdma *rdma)
{
	return rdma->kind >= UROCE_RDMA_CMP_SWAP;
}

struct uroce_path_ops {
	/*
	 * Queue or send one packet. Return: 0; -EAGAIN: no room now (the QP enters host->blocked
	 * and a progress pass runs it again); -EFAULT: the payload is not readable; another -errno:
	 * the destination is unreachable.
	 */
	int (*send)(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx);
	/* Send all queued packets now. Called at the end of each post and progress pass. */
	void (*flush)(struct uroce_path *path);
	/*
	 * Choose another way, if there is one, because packets of an RC QP to @dest_qpn seem to be
	 * lost. NULL: the path has no other way.
	 */
	void (*reroute)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn);
	/* Copy a payload by reference into memory of this process. Return: 0; -EFAULT: @dst is not
	 * accessible; -ESTALE: the sender's memory no longer exists or may no longer be read. NULL:
	 * the path never sends references. */
	int (*fetch)(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
		     void *dst, uint32_t length);
	/* Return whether the destination QP is known to receive from @own_qpn. NULL: the path
	 * cannot know. */
	bool (*receiving)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
			  uint32_t own_qpn);
	/*
	 * Return the number of bytes before @mark that the process of the destination QP has not
	 * read. @anew: first set @mark behind all bytes sent so far. NULL: the path does not know
	 * what its peers have read.
	 */
	uint32_t (*unread)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
			   uint32_t *mark, bool anew);
	/*
	 * Return whether the peer is copying to or from memory of this process. QP @own_qpn permits
	 * such copies. NULL: peers of this path make no such copies.
	 */
	bool (*at_work)(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn);
	/*
	 * Perform a one-sided operation without the responder. Return: 0: done; -EOPNOTSUPP: send
	 * packets instead, because packets report errors exactly; -EFAULT: the atomic operation was
	 * executed, but the memory for its result is not accessible. NULL: the path never does
	 * this.
	 */
	int (*rdma)(struct uroce_path *path, const struct uroce_av *av,
		    const struct uroce_rdma *rdma);
};

struct uroce_path {
	const struct uroce_path_ops *ops;
	struct path_host *host;
	const char *name;
	bool lossless;	     /* no packet is lost while the peer lives: no retransmission timer */
	bool piggyback;	     /* packets can carry an acknowledgement */
	atomic_bool pending; /* packets wait for flush */
};

/* The origin of a datagram that one process of this host forwards to another. */
struct path_origin {
	union ibv_gid sgid;
	union ibv_gid dgid;
	uint8_t grh[GRH_LEN];
	uint8_t passed_on; /* 1: forwarded by a process that received it first ... */
	uint16_t port;	   /* ... from this UDP port */
};

/* A packet as a capture shows it. */
struct path_sight {
	const char *device; /* NULL: no network interface */
	struct uroce_route route;
	bool outgoing;
	uint16_t port; /* UDP port it comes from */
	uint16_t id;   /* identification of its IPv4 header */
	const uint8_t *packet;
	uint32_t length; /* bytes from BTH to ICRC; without ICRC if there is no device */
};

/* The handler of a watched descriptor that becomes readable. */
enum path_watch {
	WATCH_WAKE,	/* a peer or another thread of the process wakes the thread */
	WATCH_LISTENER, /* uroce_shm_accept() */
	WATCH_INCOMING, /* uroce_shm_incoming(): a connection without a message yet; the watcher
			closes it at the end */
	WATCH_CALL,	/* uroce_shm_called(); pointer: struct shm_call */
	WATCH_PEER,	/* uroce_shm_conn_ready(); pointer: struct shm_peer */
	WATCH_PROCESS,	/* uroce_shm_process_ended(); pointer: struct shm_peer */
	WATCH_SOCKET,	/* UDP: ignored while pollers are at work; pointer: its struct uroce_path */
	WATCH_ADDRESSES, /* interfaces changed */
	WATCH_IMPORT,	 /* uroce_import_ready() */
};

/*
 * Upcalls of paths. Functions about packets are called with progress_lock held. Functions about a
 * peer's packets are called with the lock of the strand held. @now is the time in ns, or 0 if the
 * caller has not read the clock.
 */
struct path_events {
	/* Handle an unpacked packet. @sgid: its source; NULL: the path guarantees it. */
	void (*packet)(struct path_host *host, struct uroce_packet *pkt, const union ibv_gid *sgid,
		       uint64_t now);
	/* Handle an unpacked packet from the ring of @peer and @strand. */
	void (*peer_packet)(struct path_host *host, struct uroce_packet *pkt, const void *peer,
			    unsigned int strand, uint64_t now);
	/*
	 * Handle a packet from @sgid before it is unpacked: @length bytes from BTH to padding.
	 * Return: false: unpack it and call packet().
	 */
	bool (*bytes)(struct path_host *host, const union ibv_gid *sgid, const uint8_t *data,
		      uint32_t length);
	/*
	 * Handle the same bytes if they came from the ring of @peer and @strand. @ack: the
	 * acknowledgement in the same record, syndrome << 24 | PSN, or PATH_NO_ACK.
	 */
	bool (*peer_bytes)(struct path_host *host, const void *peer, unsigned int strand,
			   const uint8_t *data, uint32_t length, uint32_t ack);
	/* Return whether @qpn is an RC QP whose peer is at @sgid. */
	bool (*expected)(struct path_host *host, uint32_t qpn, const union ibv_gid *sgid);
	/* Forward a datagram to another process of this host. */
	void (*foreign)(struct path_host *host, uint16_t slot, const struct path_origin *from,
			const void *packet, uint32_t length, uint64_t now);
	/* Note that another process received this RC packet on its socket and forwarded it. */
	void (*passed_on)(struct path_host *host, const struct path_origin *from);
	/*
	 * Forget @peer: this process reads no more packets of it. @slot: slot of its process, which
	 * has ended; 0: the process may live.
	 */
	void (*peer_gone)(struct path_host *host, struct uroce_path *path, const void *peer,
			  uint16_t slot);
	/* Show a packet to the capture. Only with host->capture. No lock needed. */
	void (*seen)(struct path_host *host, const struct path_sight *sight);
	/* Call the handler of @what while @fd is readable. A second call for a watched descriptor
	 * replaces its handler. Any thread. */
	int (*watch)(struct path_host *host, int fd, enum path_watch what, void *pointer);
	void (*unwatch)(struct path_host *host, int fd);
};

/* The process as its paths see it. */
struct path_host {
	const struct path_events *events;
	/*
	 * The first slot of this process. The other processes of this user in this network
	 * namespace find this process by it. Slots begin with 1.
	 */
	uint16_t slot;
	/*
	 * All slots of this process, indexed by uroce_slot_place(); 0: none. Creating QPs adds
	 * slots.
	 */
	_Atomic uint16_t blocks[UROCE_BLOCKS];
	/* send no packets through shared memory, not even to processes of this host */
	bool udp_only;
	/* also share memory with this user's processes of other PID namespaces */
	bool any_namespace;
	struct uroce_capture *capture; /* sees each packet; NULL: no capture */
	/*
	 * The lock of the first strand. It protects the queue pairs of that strand, and all packets
	 * that belong to no queue pair. All threads read the members above, so the lock has its own
	 * cache line.
	 */
	alignas(2 * PATH_LINE) struct uroce_lock progress_lock;
	bool whole; /* the holder of progress_lock holds all strands; under progress_lock */
	/*
	 * Other strands that packets entered since the end of the last pass, a bit each. Under
	 * progress_lock.
	 */
	unsigned int entered;
	/* The other strands: shared memory of connected QPs. */
	struct path_strand {
		alignas(2 * PATH_LINE) struct uroce_lock lock;
	} strands[PATH_STRANDS - 1];
};

/* --- strands --- */

static inline struct uroce_lock *path_strand_lock(struct path_host *host, unsigned int strand)
{
	return strand ? &host->strands[strand - 1].lock : &host->progress_lock;
}

/* Take all strands: no other thread receives until path_host_go(). */
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

/* Enter @strand to handle a packet that arrived by another strand. Called by the holder of
 * progress_lock. */
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

/* Check that some strand is held. */
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

/* Give a block of QP numbers to this process. */
static inline void path_host_take(struct path_host *host, uint16_t slot)
{
	atomic_store_explicit(&host->blocks[uroce_slot_place(slot)], slot, memory_order_release);
}

static inline bool path_host_has_slot(const struct path_host *host, uint16_t slot)
{
	return slot && atomic_load_explicit(&host->blocks[uroce_slot_place(slot)],
					    memory_order_acquire) == slot;
}

/* Return whether the QP number belongs to this process. */
static inline bool path_host_has(const struct path_host *host, uint32_t qpn)
{
	return path_host_has_slot(host, uroce_qpn_slot(qpn));
}

#endif
