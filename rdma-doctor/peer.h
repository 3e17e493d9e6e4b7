/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A transfer between two hosts, for --peer and --serve. */
#ifndef RDMA_DOCTOR_PEER_H
#define RDMA_DOCTOR_PEER_H

#include "rdma-doctor/peer_message.h"
#include "rdma-doctor/verbs.h"

/* Step of the exchange. A step is reached if all before it went well. */
enum peer_step {
	PEER_CONNECT, /* TCP */
	PEER_OPEN,    /* the own device */
	PEER_GREET,   /* HELLO, queue pairs */
	PEER_FLOWS,
	PEER_DONE,
};

/* Direction of a flow. */
enum peer_way {
	WAY_THERE,
	WAY_BACK,
	WAYS,
};

enum {
	PEER_SIZES = 5,		  /* path MTUs from 256 to 4096 bytes */
	PEER_CLASSES = 3,	  /* traffic classes that are tried */
	PEER_LOAD_BYTES = 262144, /* of a message of the load */
};

/* Error of PEER_CONNECT: the name of the host has no address. connect() does not return it. */
#define PEER_NO_ADDRESS (-ENOENT)

/* Datagrams that were sent, and those that arrived. */
struct peer_count {
	uint32_t sent, arrived;
};

struct peer {
	enum peer_step step;
	int error;	      /* -errno of @step */
	char text[PEER_TEXT]; /* what failed there */
	char device[IBV_SYSFS_NAME_MAX], peer_device[IBV_SYSFS_NAME_MAX];
	struct peer_hello here, there;
	struct peer_count path[WAYS], size[WAYS][PEER_SIZES], class[WAYS][PEER_CLASSES];
	struct peer_count paced[WAYS];
	/* Traffic class as it arrived, and hop limit; -1: unknown */
	int class_seen[WAYS][PEER_CLASSES], hops_seen[WAYS];
	bool loaded; /* the last flow was run */
	struct peer_sent load;
	struct peer_report load_here, load_there;
	char pfc_here[PEER_TEXT], pfc_there[PEER_TEXT]; /* why PFC is not known */
	uint64_t mbps;
};

/* Bytes of a datagram of size @i, and traffic class @i. */
uint32_t peer_size(unsigned int i);
uint32_t peer_class(unsigned int i);
#define PEER_HOP_LIMIT 64

/* peer_client.c: run the exchange with @host in a child process. */
void system_peer(const struct doctor *d, const char *host, struct peer *ret_peer);

/* peer_server.c: serve clients until a signal ends the process. Return: exit code. */
int peer_serve(struct doctor *d);

/* peer_pfc.c: write PFC and priority of a port's interface to the report. @index: of the interface.
 * @ret_why: the reason if PFC is not known */
void pfc_report(unsigned int index, struct peer_report *report, char ret_why[PEER_TEXT]);

/* peer.c: return the transfer if it reached @step. Otherwise return NULL and set the finding.
 * The first rung starts the transfer. */
const struct peer *peer_get(struct doctor *d, enum peer_step step, struct finding *f);
/* Write the result to the JSON. */
void peer_describe(const struct peer *p);

#endif
