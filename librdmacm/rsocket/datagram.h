/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagram sockets. The other files of this folder call the functions that rs.h declares.
 *
 *   envelope.c     headers and addresses; pure
 *   datagram.c     creation, names and options of a socket
 *   endpoint.c     the queue pair of one local address
 *   destination.c  the peers of a socket, and the routes to them
 *   exchange.c     the exchange by UDP: numbers of queue pairs, and datagrams until they are known
 *   own_name.c     the local name of a socket
 *   delivery.c     datagrams that have arrived, and whether a call would wait
 *   transfer.c     sending and receiving
 *   ancillary.c    control messages of received datagrams
 *
 * A datagram socket has a UDP socket, which owns its name and its port, and a queue pair for each
 * local address that peers use. A datagram goes by UDP in three cases:
 * - The number of the peer's queue pair is not known.
 * - The datagram is longer than a packet of the network or a receive of the peer.
 * - Nothing came from the peer for a second. One datagram a second goes by UDP then, because the
 *   peer may be another process by now.
 *
 * No thread is needed: datagrams wait in the kernel and in the queues until the program receives.
 *
 * The socket's lock protects everything here.
 */
#ifndef RSOCKET_DATAGRAM_H
#define RSOCKET_DATAGRAM_H

#include "librdmacm/rsocket/envelope.h"
#include "librdmacm/rsocket/rs.h"

/* Facts about a datagram from its network header. */
struct ds_arrival {
	union ds_name to;
	union ds_name local; /* address of this host; differs from @to if @to is a group */
	unsigned int interface;
	int hops, class;
};

/* A datagram that waits for the program. */
struct ds_message {
	TAILQ_ENTRY(ds_message) of_socket;
	/* owner of the memory; NULL: the memory is behind this struct */
	struct ds_endpoint *endpoint;
	const uint8_t *bytes;
	uint32_t length;
	union ds_name from;
	bool has_grh;		   /* with an endpoint: the device has stored the network header */
	struct ds_arrival arrival; /* used without an endpoint */
};

struct ds_endpoint {
	LIST_ENTRY(ds_endpoint) of_socket;
	union ds_name local;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	bool armed;
	unsigned int unacked; /* events of the CQ without acknowledgement */
	bool is_ethernet;
	unsigned int interface; /* its index; 0: not known yet */
	uint32_t mtu;
	uint32_t inline_size;
	/* header in front of each datagram that the endpoint sends */
	uint8_t header[DS_HEADER_MAX];
	unsigned int header_size;

	unsigned int receives, sends; /* number of places for receives and for sends */
	uint8_t *memory;	      /* memory of the receives and sends */
	size_t memory_size;
	struct ibv_mr *mr;
	struct ds_message *messages; /* one per receive */
	unsigned int *idle;	     /* receives that must be posted again */
	unsigned int idle_count, posted_receives;
	struct ds_destination **whom; /* destinations of the sends under way, a ring */
	uint32_t posted, done;	      /* sends since the start */
	unsigned int unsignalled;
	bool broken; /* failed; reset when all receives have come back */
	bool dead;   /* the reset failed */
};

struct ds_destination {
	LIST_ENTRY(ds_destination) of_bucket;
	/* list by time of use: the last used destination is the first */
	TAILQ_ENTRY(ds_destination) of_use;
	bool is_used; /* the program has sent to this destination */
	union ds_name name;
	struct ds_endpoint *endpoint;
	uint32_t qpn; /* 0: not known */
	struct ibv_ah *ah;
	bool is_moved;	       /* @ah may lead to the peer's former place */
	struct ibv_ah *old_ah; /* former @ah, kept until no send uses it */
	uint32_t mtu;	       /* MTU of the route */
	struct rdma_cm_id *id; /* id that resolves the route; NULL: no resolution is going on */
	uint64_t retry;	       /* earliest time of the next resolution, ns */
	uint64_t asked, heard; /* times of the last send by UDP, and of the last arrival, ns */
	unsigned int sends;    /* sends under way */
};

#define DS_BUCKETS 256
/* the longest packet of any network, so that each packet fits a receive */
#define DS_PACKET_MAX	4096
#define DS_RECEIVE_SIZE (DS_GRH_SIZE + DS_PACKET_MAX)

TAILQ_HEAD(ds_uses, ds_destination);

struct ds_socket {
	int udp;
	bool connected;
	union ds_name peer;
	LIST_HEAD(, ds_endpoint) endpoints;
	LIST_HEAD(, ds_destination) buckets[DS_BUCKETS];
	struct ds_uses used, unused;
	unsigned int used_count, unused_count;
	struct ds_destination *last; /* destination of the last send */
	unsigned int resolving;
	TAILQ_HEAD(, ds_message) waiting;
	unsigned int copies;	/* datagrams in @waiting that arrived by UDP */
	size_t copied;		/* bytes of these */
	uint8_t *read;		/* buffer for UDP, DS_UDP_MAX bytes */
	int tos;		/* -1: not set */
	unsigned int ancillary; /* options of ancillary.c that are on, a bit each */
	union ds_name refused;	/* a local address that has no device */
	uint64_t refused_until;
};

/* datagram.c */
/* Return the address of the socket. Bind an unbound socket first, so that it has a port. */
int ds_own_name(struct rs_socket *s, union ds_name *ret_name);

/* endpoint.c */
/* Find or create the endpoint of a local address. */
int ds_endpoint_find(struct rs_socket *s, const union ds_name *local,
		     struct ds_endpoint **ret_endpoint);
void ds_endpoint_destroy(struct rs_socket *s, struct ds_endpoint *e);
static inline unsigned int ds_endpoint_room(const struct ds_endpoint *e)
{
	return e->sends - (e->posted - e->done);
}
/*
 * Return the place for the next datagram, behind its header. The caller has checked
 * ds_endpoint_room().
 */
uint8_t *ds_endpoint_place(struct ds_endpoint *e);
int ds_endpoint_send(struct rs_socket *s, struct ds_destination *d, uint32_t payload);
/*
 * Send an empty packet, which receivers ignore. Its completion shows that the sends before it are
 * complete.
 */
void ds_endpoint_mark(struct rs_socket *s, struct ds_endpoint *e);
/* Take completions. Return: their number. */
unsigned int ds_endpoint_poll(struct rs_socket *s, struct ds_endpoint *e);
/* Post the receive again after the program has taken the message. */
void ds_endpoint_repost(struct rs_socket *s, struct ds_message *m);

/* destination.c */
/* Return the destination, or NULL if it is not known. */
struct ds_destination *ds_destination_known(struct rs_socket *s, const union ds_name *name);
/* Find or create the destination of a peer that has sent its number. */
struct ds_destination *ds_destination_met(struct rs_socket *s, const union ds_name *name,
					  struct ds_endpoint *e);
/* Find or create the destination of a send. */
int ds_destination_find(struct rs_socket *s, const union ds_name *name,
			struct ds_destination **ret_destination);
void ds_destination_set_qpn(struct ds_destination *d, uint32_t qpn);
/*
 * Record that a datagram came from that queue pair. If the number is the known one, it is still
 * valid.
 */
void ds_destination_heard(struct rs_socket *s, const union ds_name *name, uint32_t qpn);
/* Forget the route to the peer's former place. */
void ds_destination_renew(struct ds_destination *d);
/* Resolve the route if the time for it has come. */
void ds_destination_resolve(struct rs_socket *s, struct ds_destination *d);
/* Handle the events of the connection manager. */
void ds_destination_step(struct rs_socket *s);
void ds_destination_end_all(struct rs_socket *s);

/* exchange.c */
/* Read the messages that came by UDP. Return: whether there were any. */
bool ds_exchange_read(struct rs_socket *s);
/* Send a datagram by UDP. Return: bytes of the program, or -errno. */
ssize_t ds_exchange_send(struct rs_socket *s, struct ds_destination *d, const struct msghdr *msg);

/* ancillary.c */
/* Return the number of the option that asks for ancillary data, or -1. */
int ds_ancillary_find(int level, int name);
int ds_ancillary_set(struct rs_socket *s, int option, const void *value, socklen_t size);
int ds_ancillary_get(struct rs_socket *s, int option, void *value, socklen_t *size);
void ds_ancillary_read(struct msghdr *msg, struct ds_arrival *ret);
/* Store the control messages that the program asked for in @ret. */
void ds_ancillary_put(struct rs_socket *s, struct ds_message *m, struct ds_received *ret);

/* delivery.c */
/* Return whether the socket takes datagrams from @from. */
bool ds_is_welcome(const struct rs_socket *s, const union ds_name *from);
void ds_deliver(struct rs_socket *s, struct ds_message *m);
/* Take a message off the queue and free its place. */
void ds_message_drop(struct rs_socket *s, struct ds_message *m);
bool ds_can_receive(struct rs_socket *s);
bool ds_can_send(struct rs_socket *s); /* to any destination */

/* own_name.c: ask the UDP socket for its name. */
int ds_name_ask(const struct rs_socket *s, union ds_name *ret_name);

#endif
