/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire, as the engine sees it: packets go to a path, packets come from a path. Each path is one
 * way to reach a destination; which one is decided once, when an address vector is made (ah.c),
 * never per packet.
 *
 *   path_udp.c    RoCEv2: UDP port 4791, with ICRC
 *   path_shm.c    processes of this user on this host: rings in shared memory, no loss, no ICRC
 *   path_fault.c  decorator: drop, duplicate, reorder, delay, corrupt by script or seed
 */
#ifndef UROCE_PATH_H
#define UROCE_PATH_H

#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <netinet/in.h>

#include <infiniband/verbs.h>

#include "providers/uroce/base/address.h"
#include "providers/uroce/wire/wire.h"

struct uroce_dev;
struct uroce_path;
struct uroce_qp;

/* How to reach one destination. Plain data: may be copied freely. */
struct uroce_av {
	struct uroce_path *path; /* NULL: not resolved */
	void *peer; /* the path's own handle of the destination; NULL unless it has one */
	union ibv_gid dgid;
	union ibv_gid sgid;
	union uroce_address addr; /* of the destination */
	uint32_t flow_label;
	uint32_t mtu;	  /* largest payload of one packet on this path, bytes */
	uint32_t ref_min; /* RC messages of at least this size travel as one packet, by reference;
			     0: never */
	uint8_t sgid_index;
	uint8_t port_num;
	uint8_t traffic_class;
	uint8_t hop_limit;
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
	bool any_length; /* the path segments as it likes; otherwise first and middle packets are
			    one MTU */
	/* source, for UD completions: 40 bytes as the GRH area of the receive buffer shows them;
	 * NULL unless UD */
	const uint8_t *grh;
	uint8_t sl;
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
	uint32_t damage;	   /* not 0: which bit to turn over after the ICRC was computed */
	/* Along with it, on paths that have room (path->piggyback): an acknowledgement of the same
	 * QP pair. */
	bool has_ack;
	uint8_t ack_syndrome;
	uint32_t ack_psn;
	uint32_t ack_msn;
};

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
	/*
	 * One-sided operation done by the initiator alone, from @own_qpn to @dest_qpn. Return: 0
	 * done; -EOPNOTSUPP: send packets instead, which also find out what is wrong if something
	 * is.
	 */
	int (*rdma)(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		    uint32_t own_qpn, bool write, const struct iovec *iov, int iovcnt,
		    uint64_t remote_addr, uint32_t rkey, uint32_t length);
};

struct uroce_path {
	const struct uroce_path_ops *ops;
	struct uroce_dev *dev;
	const char *name;
	bool lossless; /* nothing sent is ever lost while the peer lives: no retransmission timer */
	bool piggyback;	     /* packets can carry an acknowledgement */
	atomic_bool pending; /* something is queued for flush */
};

#endif
