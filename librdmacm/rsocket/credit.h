/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may send what: the window of a stream in both directions. Pure: no verbs, no locks, no time.
 *
 * Out: the peer grants memory, piece by piece, and a number of messages. In: we grant the two
 * halves of our buffer in turn, a half as soon as all of it was read, and as many messages as we
 * have receives. Numbers of messages are 16 bits and wrap.
 */
#ifndef RSOCKET_CREDIT_H
#define RSOCKET_CREDIT_H

#include "librdmacm/rsocket/wire.h"

struct rs_credit_out {
	struct rs_target target;		/* what is left of the memory we write to now */
	struct rs_target next[RS_WIRE_ENTRIES]; /* granted behind it */
	unsigned int next_count;
	uint16_t sent;	/* messages of data */
	uint16_t limit; /* the number of the first that may not be sent */
	uint16_t spare; /* of those that may, kept back for messages without data */
};

struct rs_credit_in {
	uint64_t granted; /* bytes since the start; the buffer is a ring */
	uint64_t received;
	uint64_t consumed;
	uint32_t size;	   /* bytes of the buffer: even */
	uint16_t messages; /* received since the start, each with a new receive posted */
	uint16_t told;	   /* of them, as the peer knows it */
	uint16_t queue;	   /* receives that are posted */
};

void rs_credit_start(struct rs_credit_out *out, struct rs_credit_in *in,
		     const struct rs_wire_data *peer);

/*
 * Control messages that may be under way: they need no credit, but a receive as any other. A peer
 * without one makes the whole queue wait, 0.65 s with the connection manager's timer.
 */
#define RS_CONTROL_MAX 4

/* Whether one more message may be sent. */
static inline bool rs_credit_has_message(const struct rs_credit_out *out)
{
	return (int16_t)(out->limit - out->sent) > out->spare;
}
/*
 * Bytes of a message, so that copying and sending overlap; and so many that it does not matter that
 * its first and its last packet, which are longer than the others, leave a network's socket apart.
 */
#define RS_MESSAGE_MAX (1u << 18)

/*
 * Bytes that may be sent in the next message; 0: none now. What was granted is filled by messages
 * of the largest size but for the first, so that none of a few bytes is left for the end of it.
 */
uint32_t rs_credit_room(const struct rs_credit_out *out);
/* Take @length of them: *ret_target is where they go. */
void rs_credit_take(struct rs_credit_out *out, uint32_t length, struct rs_target *ret_target);
/* The peer's number; one that lies behind what is known, or too far ahead, is no news. */
void rs_credit_limit(struct rs_credit_out *out, uint16_t limit);
/* One more piece of memory. -EPROTO: more than a peer can have. */
int rs_credit_granted(struct rs_credit_out *out, const struct rs_target *target);

/* A message of @length bytes came. -EPROTO: more than was granted. */
int rs_credit_arrived(struct rs_credit_in *in, uint32_t length);
static inline uint32_t rs_credit_waiting(const struct rs_credit_in *in)
{
	return in->received - in->consumed;
}
/* Whether half of the buffer can be granted, or the peer should hear of new receives. */
bool rs_credit_can_grant(const struct rs_credit_in *in);
bool rs_credit_is_due(const struct rs_credit_in *in);
/* Grant the next half: its offset in the buffer. */
uint32_t rs_credit_grant(struct rs_credit_in *in);
/* The number to tell the peer; from now on it is told. */
uint16_t rs_credit_tell(struct rs_credit_in *in);

#endif
