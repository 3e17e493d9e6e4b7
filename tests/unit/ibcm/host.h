/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host for the connection manager. Dispatch, tables and events are those of the product. The
 * test provides the device, the clock and the random numbers. Messages arrive from any address,
 * and messages that leave are kept. */
#ifndef TESTS_UNIT_IBCM_HOST_H
#define TESTS_UNIT_IBCM_HOST_H

#include "librdmacm/channel.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/id.h"

enum {
	HOST_PREFIX = 1,
	HOST_SENT = 256,      /* number of kept messages, the last ones */
	HOST_PORT = 7000,     /* where the listener of host_listen() listens */
	HOST_TIMEOUT = 16,    /* of the messages that tests make */
	HOST_GUID = 0x0102ff, /* GUID of all peers, because a GUID is not secret */
	HOST_TOS = 0x68,      /* type of service of all connections, chosen by the peers */
};

struct host {
	struct cm_device cm;
	struct ibcm_dev dev;
	struct ibv_device device;
	struct ibv_context ctx;
	struct cm_channel channel;
	struct cm_id listener;
	union ibv_gid gid;
	uint64_t now;
	uint32_t random;
	struct {
		struct ibcm_mad mad;
		union ibv_gid to;
		uint8_t traffic_class;
	} sent[HOST_SENT];
	unsigned int sent_count;
	unsigned int offered; /* requests that were offered to the other processes */
	bool others_listen;   /* whether one of those processes took it */
	bool others_unknown;  /* not all processes were asked */
	bool peers_are_here;  /* on this host */
	struct ibcm_mad word; /* sent for the process if it is killed; type 0: no message */
	uint8_t word_class;
	unsigned int probed; /* messages that were sent to get an ICMP message back */
};

extern struct host host;

/* A host with a device at 192.0.2.1, and nothing else. */
void host_begin(void);
/* Check that everything was freed. */
void host_end(void);
/* 192.0.2.@last */
union ibv_gid host_gid(uint8_t last);
/* A listener for connections on any address. */
struct ibcm_id *host_listen(int backlog);

/* Let @mad arrive from @from. */
void host_arrive(const union ibv_gid *from, const struct ibcm_mad *mad);
/* Return a request of a peer at @from. */
struct ibcm_mad host_req(const union ibv_gid *from, uint32_t id, uint32_t qpn, uint16_t port);
/* Return the last message that left. */
const struct ibcm_mad *host_last(void);
/* Let @ns pass and run everything that is due. */
void host_pass(uint64_t ns);

/* Return the next event, or -1 if there is none. A request becomes the child that it names. */
int host_event(struct cm_event *ret_event);
/* Accept a child, as the program does. */
int host_accept(struct ibcm_id *child, uint32_t qpn);
/* Return a connection with a peer at @from, whose id is @id and whose queue pair is @qpn. */
struct ibcm_id *host_connect(const union ibv_gid *from, uint32_t id, uint32_t qpn);
/* Destroy an identifier, as the program does. */
void host_destroy(struct ibcm_id *iid);

#endif
