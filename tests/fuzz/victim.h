/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device that is attacked: the engine of a whole process with active queue pairs. The fuzzer
 * provides sockets, clock and random numbers, so that an input always has the same effect. No
 * state of one input is left in the next. */
#ifndef FUZZ_VICTIM_H
#define FUZZ_VICTIM_H

#include "providers/uroce/host/host.h"
#include "providers/uroce/path/udp/udp_path.h"
#include "providers/uroce/verbs/verbs.h"
#include "tests/fuzz/input.h"

enum {
	VICTIM_MTU = 1024,
	VICTIM_SLOT = 5,
	PEER_SLOT = 7,
	FIRST_QPN = VICTIM_SLOT << UROCE_QPN_BLOCK_BITS | 0x100,
	PEER_QPN = PEER_SLOT << UROCE_QPN_BLOCK_BITS | 0x200,
	VICTIM_QKEY = 0x1234,
	VICTIM_REGION = 16384,
	VICTIM_IOVA = 0x100000,
	VICTIM_CANARY = 4096,
	VICTIM_SRQN = (VICTIM_SLOT + 1) << UROCE_QP_INDEX_BITS | 0x300,
};

/* Indexes in victim.qp; the numbers are consecutive: victim_qpn(). */
enum victim_qp {
	VICTIM_RC,
	VICTIM_RC_SRQ,
	VICTIM_UC,
	VICTIM_UD,
	VICTIM_QPS,
	VICTIM_XRC = VICTIM_QPS, /* receives for the SRQ VICTIM_SRQN */
	/* Distance of the connected queue pairs from FIRST_QPN: they belong to the second, third
	 * and fourth strand. */
	VICTIM_SPREAD = 13,
};

struct victim {
	struct uroce_host host;
	struct uroce_dev dev;
	struct uroce_udp udp;
	struct uroce_shm shm;
	struct uroce_context ctx;
	struct ibv_device device;
	struct uroce_pd pd;
	struct uroce_mr mr;
	struct uroce_cq cq;
	struct uroce_srq srq;
	struct uroce_qp qp[VICTIM_QPS];
	struct uroce_xrcd xrcd;
	struct uroce_srq xrc_srq;
	struct uroce_qp xrc;		/* a handle */
	struct shm_peer peer;		/* another process of this host */
	struct shm_board *peer_board;	/* as that process writes to it */
	union uroce_address address[2]; /* of the victim, and of its peer on the network */
	union ibv_gid gid[2];
	uint8_t *region; /* memory of the region that others may access; canaries on both sides */
	uint64_t now;
	unsigned int sent; /* packets it sent over UDP */
	/* the next message its socket receives; length 0: none */
	const uint8_t *datagram;
	uint32_t datagram_length;
	uint16_t segment;     /* as the kernel would report; 0: no report */
	struct input control; /* further input of the message */
	bool stranger;	      /* the message does not come from the peer's address */
	bool strands;	      /* queue pairs are of several strands; otherwise of the first */
};

extern struct victim victim;

static inline uint32_t victim_qpn(unsigned int which)
{
	return FIRST_QPN + (victim.strands ? VICTIM_SPREAD : 0) + which;
}

/* Return the number of the connected queue pair. */
static inline uint32_t victim_peer_qpn(unsigned int which)
{
	return PEER_QPN + (victim.strands ? VICTIM_SPREAD : 0) + which;
}

/* Address an XRC packet to the XRC queue pair. If the byte before the SRQ's number is 0, also
 * address it to the SRQ. */
bool victim_xrc_address(uint8_t *packet, uint32_t length);

/* Begin an input. @local: the queue pairs talk to victim.peer through shared memory instead of
 * UDP. @strands: they are of several strands. */
void victim_begin(bool local, bool strands);
/* Post a send and a read, so that answers are awaited. */
void victim_post(enum victim_qp qp, struct input *in);
/* Advance the clock by @ns and make a pass over everything that came. */
void victim_progress(uint64_t ns);
/* Check that the queues are within their limits, and that no memory outside of the region was
 * written. */
void victim_end(void);

#endif
