/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of this room share. */
#ifndef UROCE_UDP_PATH_H
#define UROCE_UDP_PATH_H

#include "providers/uroce/path/udp/udp.h"

enum {
	UDP_LARGEST = 65507,	/* longest datagram of IPv4, so longest large send */
	UDP_BUFFER = 2 * 65536, /* of one flush: one with less would cut a message in three */
	UDP_SEGMENTS = 64,	/* packets of one large send: the kernel's limit */
	UDP_MESSAGES = 32,	/* large sends of one flush */
	UDP_RX_MESSAGES = 8,	/* large receives of one system call */
	UDP_RX_BUFFER = 65536,
	UDP_SOURCES = 256, /* senders whose way to number packets is remembered */
	UDP_FLUSHES = 64,  /* destination QPs whose way of a flush is remembered */
	UDP_TX_FLOW_BITS = 6,
	UDP_TX_FLOWS = 1 << UDP_TX_FLOW_BITS, /* descriptors at most */
	UDP_RX_FLOWS = 4,		      /* each is a system call more for a poller */
};

/* Explicit congestion notification: the last two bits of a traffic class (RFC 3168). */
enum {
	ECN_ECT0 = 2, /* the sender heeds marks */
	ECN_CE = 3,   /* the mark */
	ECN_MASK = 3,
};

/* Packets of one size to one process; only the last may be shorter. */
struct udp_message {
	union uroce_address to;
	struct uroce_icrc *icrc;
	struct udp_tx_flow *flow; /* NULL: from port 4791 */
	int fd;
	uint16_t port;
	uint16_t id;   /* IPv4 identification of the first packet; the kernel counts on from it */
	uint16_t slot; /* of the process there, as far as QP numbers tell */
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: the system's */
	bool split;	   /* a large send was refused */
	bool rxe_flush;	   /* a flush alone, with the ICRC as rxe has it */
	bool closed;	   /* the last packet is shorter: nothing may follow */
	bool damaged;	   /* a packet alone, and its ICRC stays wrong */
	uint16_t count;
	uint32_t segment; /* bytes of the first packet */
	uint32_t start;	  /* in the buffer */
	uint32_t length;
};

/* How a destination QP was last sent a flush; see flush_as_rxe(). */
struct udp_flush {
	uint32_t qpn;
	uint32_t psn;
	bool rxe;
};

/* A socket some other host's packets come from, and how it numbers them; see source_admits(). */
struct udp_source {
	union ibv_gid gid;
	uint16_t port;
	bool counts;	  /* if like us, then as a flow and not as port 4791 */
	uint16_t next;	  /* identification to expect */
	uint16_t like_us; /* packets in a row */
	uint16_t refused; /* in a row, for not being so any more */
	uint16_t last_refused;
	uint16_t requests; /* RC packets for this process that came by the shared socket */
};

/*
 * A flow: RC packets from this process to one process of another host. They leave by a socket of
 * their own, connected; where they arrive, another is connected back to its port as soon as they
 * keep coming. The kernel then knows route and receiver at once, which it otherwise looks up for
 * each packet, a microsecond of each message; and who shares port 4791 gets what is his.
 */
struct udp_tx_flow {
	union uroce_address to;
	struct uroce_icrc icrc;
	unsigned int gid_index;
	uint16_t slot; /* of the process there, as far as QP numbers tell */
	bool known;    /* the members above hold */
	int fd;	       /* -1: there is none, packets leave from port 4791 */
	uint16_t port;
	uint16_t id;	  /* IPv4 identification of the next message */
	uint64_t used;	  /* udp->begun then */
	uint32_t rest;	  /* messages until it is tried again */
	uint64_t carried; /* messages since it was opened */
};

/* What came to a socket lately, and so how it is best asked. Under progress_lock. */
struct udp_pace {
	unsigned int idle; /* polls since something came */
	unsigned int hits; /* polls before that at which something came, in a row */
	unsigned int lone; /* polls that found something since the last stream */
	bool joins;	   /* datagrams */
};

/* The socket of a GID, port 4791, that everybody sends to. */
struct udp_port {
	union ibv_gid gid;
	int fd; /* negative: none, the error of the last try */
	struct udp_pace pace;
};

struct udp_rx_flow {
	union uroce_address from;
	struct uroce_icrc icrc;
	struct udp_source source;
	unsigned int gid_index;
	int fd; /* -1: none */
	struct udp_pace pace;
};

struct udp_receiver;

struct uroce_udp {
	struct uroce_path path;
	struct udp_link link;
	struct uroce_lock lock; /* the send side; together with progress_lock, ports */
	struct udp_port ports[UROCE_GID_MAX];
	atomic_bool shows_headers; /* sockets tell class and hop limit of what comes */
	bool segmentation;	   /* the kernel cuts large sends up */
	int error_said;		   /* last error of a send that was logged */
	unsigned int first;	   /* message not sent yet */
	unsigned int count;	   /* messages begun */
	uint32_t used;		   /* bytes of the buffer */
	struct udp_message messages[UDP_MESSAGES];
	struct uroce_icrc icrcs[UDP_MESSAGES]; /* of those that leave from port 4791 */
	uint8_t buffer[UDP_BUFFER];
	struct udp_flush flushes[UDP_FLUSHES];
	struct udp_tx_flow tx_flows[UDP_TX_FLOWS];
	uint64_t begun; /* messages, ever */
	/* receive side, under progress_lock */
	struct udp_receiver *receiver;
	struct udp_source sources[UDP_SOURCES];
	struct udp_source *steady; /* one that deserves a flow */
	struct udp_rx_flow rx_flows[UDP_RX_FLOWS];
	unsigned int rx_count; /* one past the highest that was ever open */
	bool rx_refused;       /* the system does not let flows be received */
	atomic_bool ready;     /* uroce_udp_ready() was called */
	unsigned int passes;
	unsigned int turn; /* of the sockets that are silent */
	bool unseen_said;
	uint64_t wrong;	    /* datagrams with a wrong ICRC */
	unsigned int slots; /* one past the highest GID slot with a socket */
};

static inline struct uroce_udp *to_udp(struct uroce_path *path)
{
	return (struct uroce_udp *)path;
}

/* What the socket gives to a packet that is said nothing of. */
static inline uint8_t udp_class_default(const struct udp_message *m)
{
	return m->flow ? ECN_ECT0 : 0;
}

/* Somebody captures. */
static inline void udp_seen(const struct uroce_udp *udp, const struct uroce_route *route,
			    bool outgoing, uint16_t port, uint16_t id, const uint8_t *packet,
			    uint32_t length)
{
	const struct path_sight sight = {
		.device = udp->link.name,
		.route = *route,
		.outgoing = outgoing,
		.port = port,
		.id = id,
		.packet = packet,
		.length = length,
	};

	udp->path.host->events->seen(udp->path.host, &sight);
}

/* A socket as it is received from. */
struct udp_inlet {
	int fd; /* negative: none */
	const union ibv_gid *dgid;
	struct udp_rx_flow *flow; /* whose it is; NULL: everybody's */
};

/* udp_send.c */
extern const struct uroce_path_ops uroce_udp_ops;
/* All that was gathered leaves, or waits for room. Under the lock of the side that sends. */
void uroce_udp_leave(struct uroce_udp *udp);
/* udp_receive.c: what came by it, one message, goes up. @now 0: not looked at yet. Return: packets.
 */
unsigned int uroce_udp_arrived(struct uroce_udp *udp, struct mmsghdr *msg,
			       const struct udp_inlet *inlet, uint64_t now);
/* A sender that came by the socket of a GID goes on, udp->steady, gets a flow. */
void uroce_udp_steady(struct uroce_udp *udp, unsigned int gid_index);
/* udp_poll.c */
int uroce_udp_receiver_new(struct udp_receiver **ret_receiver);

#endif
