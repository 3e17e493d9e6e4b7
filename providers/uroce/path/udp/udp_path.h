/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that the files of this room share. */
#ifndef UROCE_UDP_PATH_H
#define UROCE_UDP_PATH_H

#include "providers/uroce/path/udp/udp.h"

enum {
	UDP_LARGEST = 65507,	/* bytes of the longest IPv4 datagram, and so of a large send */
	UDP_BUFFER = 2 * 65536, /* bytes of one flush; with a smaller buffer long messages would
				   need three flushes */
	UDP_SEGMENTS = 64,	/* packets of one large send: limit of the kernel */
	UDP_MESSAGES = 32,	/* large sends of one flush */
	UDP_RX_MESSAGES = 8,	/* large receives of one system call */
	UDP_RX_BUFFER = 65536,
	UDP_SOURCES = 256, /* senders whose numbering of packets is remembered */
	UDP_FLUSHES = 64,  /* destination QPs whose kind of flush is remembered */
	UDP_TX_FLOW_BITS = 6,
	UDP_TX_FLOWS = 1 << UDP_TX_FLOW_BITS, /* descriptors at most */
	UDP_RX_FLOWS = 4,		      /* each flow costs a poller one more system call */
};

/* Explicit congestion notification: the last two bits of a traffic class (RFC 3168). */
enum {
	ECN_ECT0 = 2, /* the sender reacts to marks */
	ECN_CE = 3,   /* the mark */
	ECN_MASK = 3,
};

/* Packets to one process. All have the same size, only the last may be shorter. */
struct udp_message {
	union uroce_address to;
	struct uroce_icrc *icrc;
	struct udp_tx_flow *flow; /* NULL: from port 4791 */
	int fd;
	uint16_t port;
	uint16_t id;   /* IPv4 identification of the first packet; the kernel increments it */
	uint16_t slot; /* slot of the destination process, or the part of it that the QP number
			  shows */
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: default of the system */
	bool split;	   /* send one by one, because a large send was refused */
	bool rxe_flush;	   /* one flush, with the ICRC that rxe computes */
	bool closed;	   /* the last packet is shorter: no packet may follow */
	bool damaged;	   /* one packet, whose ICRC stays wrong */
	uint16_t count;
	uint32_t segment; /* bytes of the first packet */
	uint32_t start;	  /* offset in the buffer */
	uint32_t length;
};

/* The last flush to a destination QP; see flush_as_rxe(). */
struct udp_flush {
	uint32_t qpn;
	uint32_t psn;
	bool rxe;
};

/* A source socket on another host, and its numbering of packets; see source_admits(). */
struct udp_source {
	union ibv_gid gid;
	uint16_t port;
	bool counts;	  /* a port of flows: the numbers of its packets increase by 1 */
	uint16_t next;	  /* expected identification */
	uint16_t like_us; /* packets in a row with numbers as this device makes them */
	uint16_t refused; /* packets in a row refused for another number */
	uint16_t last_refused;
	uint16_t requests; /* RC packets for this process that arrived by the shared socket */
};

/*
 * A flow: RC packets from this process to one process of another host. They leave by a connected
 * socket that has no other use. If packets keep coming, the receiver connects a socket back to the
 * port of the flow. Therefore the kernel need not look up route and receiver for each packet, which
 * takes a microsecond for each message. Also, processes that share port 4791 receive only their own
 * packets.
 */
struct udp_tx_flow {
	union uroce_address to;
	struct uroce_icrc icrc;
	unsigned int gid_index;
	uint16_t slot; /* slot of the destination process, or the part of it that the QP number
			  shows */
	bool known;    /* the members above are valid */
	int fd;	       /* descriptor; -1: none, so packets leave from port 4791 */
	uint16_t port;
	uint16_t id;	  /* IPv4 identification of the next message */
	uint64_t used;	  /* value of udp->begun at the last use */
	uint32_t rest;	  /* messages until the next try */
	uint64_t carried; /* messages sent since the flow was opened */
};

/* Recent traffic of a socket, which decides how to poll it. Under progress_lock. */
struct udp_pace {
	unsigned int idle; /* polls since the last one with packets */
	unsigned int hits; /* earlier polls with packets in a row */
	unsigned int lone; /* polls with packets since the last stream */
	bool joins;	   /* the socket joins datagrams */
};

/* The socket of a GID at port 4791, to which all senders send. */
struct udp_port {
	union ibv_gid gid;
	int fd; /* descriptor; negative: none, and the value is the error of the last try */
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
	struct uroce_lock lock; /* protects the send side and, together with progress_lock, ports */
	struct udp_port ports[UROCE_GID_MAX];
	atomic_bool shows_headers; /* sockets report class and hop limit of datagrams */
	bool segmentation;	   /* the kernel accepts large sends */
	int error_said;		   /* last error of a send that was logged */
	unsigned int first;	   /* first message not sent yet */
	unsigned int count;	   /* messages begun */
	uint32_t used;		   /* bytes of the buffer */
	struct udp_message messages[UDP_MESSAGES];
	struct uroce_icrc icrcs[UDP_MESSAGES]; /* of messages that leave from port 4791 */
	uint8_t buffer[UDP_BUFFER];
	struct udp_flush flushes[UDP_FLUSHES];
	struct udp_tx_flow tx_flows[UDP_TX_FLOWS];
	uint64_t begun; /* messages begun since the path was opened */
	/* receive side, under progress_lock */
	struct udp_receiver *receiver;
	struct udp_source sources[UDP_SOURCES];
	struct udp_source *steady; /* a source that needs a flow; NULL: none */
	struct udp_rx_flow rx_flows[UDP_RX_FLOWS];
	unsigned int rx_count; /* one past the highest receive flow that was ever open */
	bool rx_refused;       /* the system refuses sockets of receive flows */
	atomic_bool ready;     /* uroce_udp_ready() was called */
	unsigned int passes;
	unsigned int turn; /* the silent socket that was polled most recently */
	bool unseen_said;
	uint64_t wrong;	    /* datagrams with a wrong ICRC */
	unsigned int slots; /* one past the highest GID slot with a socket */
};

static inline struct uroce_udp *to_udp(struct uroce_path *path)
{
	return (struct uroce_udp *)path;
}

/* Return the traffic class of a packet without control data. */
static inline uint8_t udp_class_default(const struct udp_message *m)
{
	return m->flow ? ECN_ECT0 : 0;
}

/* Show a packet to the capture. */
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

/* A socket to receive from. */
struct udp_inlet {
	int fd; /* negative: none */
	const union ibv_gid *dgid;
	struct udp_rx_flow *flow; /* its flow; NULL: a socket for all senders */
};

/* udp_send.c */
extern const struct uroce_path_ops uroce_udp_ops;
/*
 * Send all gathered messages. Messages without room stay queued. Under the lock of the send side.
 */
void uroce_udp_leave(struct uroce_udp *udp);
/* udp_receive.c: pass up the packets of one received message. @now: 0: clock not read yet. Return:
 * number of packets. */
unsigned int uroce_udp_arrived(struct uroce_udp *udp, struct mmsghdr *msg,
			       const struct udp_inlet *inlet, uint64_t now);
/* Open a flow for the source udp->steady, which keeps sending to the socket of a GID. */
void uroce_udp_steady(struct uroce_udp *udp, unsigned int gid_index);
/* udp_poll.c */
int uroce_udp_receiver_new(struct udp_receiver **ret_receiver);

#endif
