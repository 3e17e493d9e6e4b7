/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagram sockets. The rest of the room reaches them by the functions that rs.h names.
 *
 *   envelope.c     headers and addresses; pure
 *   datagram.c     life, names and options of a socket
 *   endpoint.c     the queue pair of one local address
 *   destination.c  whom a socket talks to, and the way there
 *   exchange.c     what goes by UDP: numbers of queue pairs, and datagrams until they are known
 *   delivery.c     sending and receiving, and whether that would wait
 *
 * A socket is one of UDP, which has its name and its port, and a queue pair for each local address
 * that it is spoken to at. A datagram goes by UDP when the number of the peer's queue pair is not
 * known, when it is longer than a packet of the network or a place of the receiver, and once a
 * second when nothing came from there, for the peer may be another one by now. Nothing of that
 * needs a thread: datagrams wait in the kernel and in the queues until the program looks.
 *
 * Everything here is protected by the socket's lock.
 */
#ifndef RSOCKET_DATAGRAM_H
#define RSOCKET_DATAGRAM_H

#include "librdmacm/rsocket/envelope.h"
#include "librdmacm/rsocket/rs.h"

/* One that waits for the program. */
struct ds_message {
	TAILQ_ENTRY(ds_message) of_socket;
	struct ds_endpoint *endpoint; /* whose memory it is in; NULL: behind this */
	const uint8_t *bytes;
	uint32_t length;
	union ds_name from;
};

struct ds_endpoint {
	LIST_ENTRY(ds_endpoint) of_socket;
	union ds_name local;
	struct rdma_cm_id *id;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	bool armed;
	unsigned int unacked; /* events of the CQ */
	bool is_ethernet;
	uint32_t mtu;
	uint32_t inline_size;
	uint8_t header[DS_HEADER_MAX]; /* in front of what it sends */
	unsigned int header_size;

	unsigned int receives, sends; /* places of each kind */
	uint8_t *memory;	      /* of both */
	size_t memory_size;
	struct ibv_mr *mr;
	struct ds_message *messages; /* one per receive */
	unsigned int *idle;	     /* receives that are to be posted again */
	unsigned int idle_count, posted_receives;
	struct ds_destination **whom; /* of the sends that are under way, a ring */
	uint32_t posted, done;	      /* sends since the start */
	unsigned int unsignalled;
	bool broken; /* it is made anew when all receives came back */
	bool dead;   /* that failed */
};

struct ds_destination {
	LIST_ENTRY(ds_destination) of_bucket;
	TAILQ_ENTRY(ds_destination) of_use; /* the one that was used last is the first */
	bool is_friend;			    /* the program has sent to it */
	union ds_name name;
	struct ds_endpoint *endpoint;
	uint32_t qpn; /* 0: not known */
	struct ibv_ah *ah;
	bool is_moved;	       /* @ah may lead to where it was */
	struct ibv_ah *old_ah; /* until nothing is on it any more */
	uint32_t mtu;	       /* of the way there */
	struct rdma_cm_id *id; /* looks for the way; NULL: nobody does */
	uint64_t retry;	       /* not before */
	uint64_t asked, heard; /* when something last went by UDP, and came */
	unsigned int sends;    /* under way */
};

#define DS_BUCKETS 256

TAILQ_HEAD(ds_uses, ds_destination);

struct ds_socket {
	int udp;
	bool connected;
	union ds_name peer;
	LIST_HEAD(, ds_endpoint) endpoints;
	LIST_HEAD(, ds_destination) buckets[DS_BUCKETS];
	struct ds_uses friends, strangers;
	unsigned int friend_count, stranger_count;
	struct ds_destination *last; /* that was sent to */
	unsigned int resolving;
	TAILQ_HEAD(, ds_message) waiting;
	unsigned int copies;   /* of @waiting, that came by UDP */
	size_t copied;	       /* bytes of these */
	uint8_t *read;	       /* what comes by UDP is read to, DS_UDP_MAX bytes */
	uint64_t looked;       /* at UDP and the connection manager */
	int tos;	       /* -1: none was asked for */
	union ds_name refused; /* a local address without a device */
	uint64_t refused_until;
};

/* datagram.c */
/* The address that the socket has or gets; its port is taken. */
int ds_own_name(struct rs_socket *s, union ds_name *ret_name);

/* endpoint.c */
/* The one of the local address, which is made if need be. */
int ds_endpoint_find(struct rs_socket *s, const union ds_name *local,
		     struct ds_endpoint **ret_endpoint);
void ds_endpoint_destroy(struct rs_socket *s, struct ds_endpoint *e);
static inline unsigned int ds_endpoint_room(const struct ds_endpoint *e)
{
	return e->sends - (e->posted - e->done);
}
/* Where the next datagram is to be written, behind its header; there must be room. */
uint8_t *ds_endpoint_place(struct ds_endpoint *e);
int ds_endpoint_send(struct rs_socket *s, struct ds_destination *d, uint32_t payload);
/* A packet that nobody takes for a datagram, so that what was sent before is known to be gone. */
void ds_endpoint_mark(struct rs_socket *s, struct ds_endpoint *e);
/* Completions. Return: how many. */
unsigned int ds_endpoint_poll(struct rs_socket *s, struct ds_endpoint *e);
/* The program has the message. */
void ds_endpoint_repost(struct rs_socket *s, struct ds_message *m);

/* destination.c */
/* NULL: not known. */
struct ds_destination *ds_destination_known(struct rs_socket *s, const union ds_name *name);
/* For somebody who said his number. */
struct ds_destination *ds_destination_met(struct rs_socket *s, const union ds_name *name,
					  struct ds_endpoint *e);
/* For the program, which wants to send there. */
int ds_destination_find(struct rs_socket *s, const union ds_name *name,
			struct ds_destination **ret_destination);
void ds_destination_set_qpn(struct ds_destination *d, uint32_t qpn);
/* A datagram came from that queue pair: if it is the one that is known, it is still there. */
void ds_destination_heard(struct rs_socket *s, const union ds_name *name, uint32_t qpn);
/* Forget the way to where it was. */
void ds_destination_renew(struct ds_destination *d);
/* Look for the way there, if it is time. */
void ds_destination_resolve(struct rs_socket *s, struct ds_destination *d);
/* What the connection manager has to say. */
void ds_destination_step(struct rs_socket *s);
void ds_destination_end_all(struct rs_socket *s);

/* exchange.c */
/* Read what came. Return: whether anything did. */
bool ds_exchange_read(struct rs_socket *s);
/* Return: bytes of the program, or -errno. */
ssize_t ds_exchange_send(struct rs_socket *s, struct ds_destination *d, const struct iovec *iov,
			 int count);

/* delivery.c */
/* From there the socket takes datagrams. */
bool ds_is_welcome(const struct rs_socket *s, const union ds_name *from);
void ds_deliver(struct rs_socket *s, struct ds_message *m);

#endif
