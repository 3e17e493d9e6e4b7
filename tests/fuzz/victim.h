/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device that is attacked: a whole process's engine with queue pairs at work, on sockets, a
 * clock and random numbers that are the fuzzer's, so that an input always means the same. Nothing
 * is left of one input in the next.
 */
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

/* By index in victim.qp; their numbers follow one another: victim_qpn(). */
enum victim_qp {
	VICTIM_RC,
	VICTIM_RC_SRQ,
	VICTIM_UC,
	VICTIM_UD,
	VICTIM_QPS,
	VICTIM_XRC = VICTIM_QPS, /* receives for the SRQ VICTIM_SRQN */
	/* From FIRST_QPN on, so that the connected ones are of the second strand, the third and the
	 * fourth. */
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
	struct shm_board *peer_board;	/* as that writes to it */
	union uroce_address address[2]; /* of the victim, and of its peer on the network */
	union ibv_gid gid[2];
	uint8_t *region; /* what the region's owner lets others reach; canaries on both sides */
	uint64_t now;
	unsigned int sent; /* packets it sent over UDP */
	/* the next message its socket receives; length 0: none */
	const uint8_t *datagram;
	uint32_t datagram_length;
	uint16_t segment;     /* as the kernel would say; 0: it says nothing */
	struct input control; /* of the message besides */
	bool stranger;	      /* it does not come from the peer's address */
	bool strands;	      /* its queue pairs are of several; else of the first */
};

extern struct victim victim;

static inline uint32_t victim_qpn(unsigned int which)
{
	return FIRST_QPN + (victim.strands ? VICTIM_SPREAD : 0) + which;
}

/* The one that it is connected to. */
static inline uint32_t victim_peer_qpn(unsigned int which)
{
	return PEER_QPN + (victim.strands ? VICTIM_SPREAD : 0) + which;
}

/* An XRC packet is for the one QP there is, and with a zero before the SRQ's number for its SRQ. */
bool victim_xrc_address(uint8_t *packet, uint32_t length);

/* @local: its queue pairs talk to victim.peer through shared memory, instead of over UDP. @strands:
 * they are of several. */
void victim_begin(bool local, bool strands);
/* Send and read something, so that answers are waited for. */
void victim_post(enum victim_qp qp, struct input *in);
/* A pass over everything that came, on a clock that went on by @ns. */
void victim_progress(uint64_t ns);
/* Its queues hold what they may hold, and no memory but the region was written. */
void victim_end(void);

#endif
