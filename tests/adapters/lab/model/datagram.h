/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by datagram.c, which receives, and datagram_send.c. */
#ifndef DEVICES_DATAGRAM_H
#define DEVICES_DATAGRAM_H

#include "tests/adapters/lab/model/model.h"

enum {
	GRH = 40,
	MTU = 4096,
	SLOTS = 64,	/* sends on their way */
	ARRIVALS = 128, /* buffers for arriving messages */
	PEERS = 64,
	AGAIN_MS = 20,
	GIVE_UP_MS = 5000,
	HOST_BYTE = 2, /* byte of the GID */
	DATA = 0x5d,
	ACK = 0x5a,
};

/* The header in front of a reliable message. */
struct header {
	uint8_t kind, flags;
	uint16_t unused;
	uint32_t number;
	uint32_t immediate; /* big-endian */
	uint32_t qkey;	    /* Q_Key of the sender, for the acknowledgement */
};

struct slot {
	enum {
		FREE,
		SENT
	} state;
	bool posted; /* the backend still reads it */
	uint32_t number, length;
	uint16_t id;
	uint8_t note;
	uint32_t qpn, qkey;
	struct ibv_ah *ah;
	uint64_t first_ms, last_ms;
};

/* The received messages of a peer: the highest number, and a bit for each of the 64 below it. */
struct peer {
	uint32_t qpn, highest;
	uint64_t seen;
};

struct datagram {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	bool reliable;
	uint32_t next_number;
	struct slot slots[SLOTS];
	struct peer peers[PEERS];
	struct {
		bool waits;
		struct ibv_wc wc;
	} arrivals[ARRIVALS];
	unsigned next_ack;
	uint8_t out[2 * SLOTS][sizeof(struct header) + MTU]; /* the second half: acknowledgements */
	uint8_t in[ARRIVALS][GRH + MTU];
};

/* Send a buffer of d->out[] to a QP; false: the backend has no room. */
bool datagram_post(struct datagram *d, uint32_t i, uint32_t length, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey, uint32_t immediate, bool has_immediate);
/* Return whether the key of the buffer allows the process to let this memory be read or written. */
bool datagram_is_allowed(const struct ibv_sge *sge);
void datagram_complete_send(struct object *qp, const struct slot *slot, enum ibv_wc_status status);
bool datagram_start_sends(struct object *qp, struct datagram *d);
/* Send messages again that have had no acknowledgement for a while. */
void datagram_send_again(struct object *qp, struct datagram *d);

/* Return the sender's address from the IP header in front of a message. */
void datagram_address(const uint8_t *grh, struct ibv_ah_attr *ret);

#endif
