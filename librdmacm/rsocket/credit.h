/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Credits: the window of a stream in both directions. Pure: no verbs, no locks, no time.
 *
 * Out: the peer grants memory, piece by piece, and a number of messages. In: this side grants the
 * two halves of its buffer in turn. It grants a half as soon as all of its bytes were read, and one
 * message for each receive. Numbers of messages have 16 bits and wrap.
 */
#ifndef RSOCKET_CREDIT_H
#define RSOCKET_CREDIT_H

#include "librdmacm/rsocket/wire.h"

struct rs_credit_out {
	/* the rest of the memory that messages are written to now */
	struct rs_target target;
	struct rs_target next[RS_WIRE_ENTRIES]; /* memory granted behind it */
	unsigned int next_count;
	uint16_t sent;	/* messages of data */
	uint16_t limit; /* number of the first message that may not be sent */
	uint16_t spare; /* permitted messages that are reserved for messages without data */
};

struct rs_credit_in {
	uint64_t granted; /* bytes since the start; the buffer is a ring */
	uint64_t received;
	uint64_t consumed;
	uint32_t size; /* bytes of the buffer, an even number */
	/* messages received since the start; a new receive was posted for each */
	uint16_t messages;
	uint16_t told;	/* last value of @messages that was sent to the peer */
	uint16_t queue; /* receives that are posted */
};

void rs_credit_start(struct rs_credit_out *out, struct rs_credit_in *in,
		     const struct rs_wire_data *peer);

/*
 * Limit of control messages under way. A control message needs no credit, but it uses up a receive.
 * If the peer has no receive left, the whole queue waits 0.65 s, the timer of the connection
 * manager.
 */
#define RS_CONTROL_MAX 4

/* Return whether one more message may be sent. */
static inline bool rs_credit_has_message(const struct rs_credit_out *out)
{
	return (int16_t)(out->limit - out->sent) > out->spare;
}
/*
 * Largest message in bytes. It is small enough for copying and sending to overlap. The first and
 * the last packet of a message are longer than the others, so on a network they leave by separate
 * sends. The size is large enough to make this cheap.
 */
#define RS_MESSAGE_MAX (1u << 18)

/*
 * Return the bytes that the next message may have, or 0 for none now. The first message takes the
 * remainder of the granted memory modulo RS_MESSAGE_MAX, so that the last one is not short.
 */
uint32_t rs_credit_room(const struct rs_credit_out *out);
/* Take @length of these bytes. *ret_target: memory of the peer for them. */
void rs_credit_take(struct rs_credit_out *out, uint32_t length, struct rs_target *ret_target);
/*
 * Set the number of the first message that may not be sent. Ignore a number that is not higher than
 * the present one, or too far ahead.
 */
void rs_credit_limit(struct rs_credit_out *out, uint16_t limit);
/* Add a piece of granted memory. -EPROTO: it is more than a peer can have. */
int rs_credit_granted(struct rs_credit_out *out, const struct rs_target *target);

/* Count an arrived message of @length bytes. -EPROTO: the peer sent more than was granted. */
int rs_credit_arrived(struct rs_credit_in *in, uint32_t length);
static inline uint32_t rs_credit_waiting(const struct rs_credit_in *in)
{
	return in->received - in->consumed;
}
/*
 * Return whether half of the buffer can be granted, or whether the peer should be told of new
 * receives.
 */
bool rs_credit_can_grant(const struct rs_credit_in *in);
bool rs_credit_is_due(const struct rs_credit_in *in);
/* Grant the next half of the buffer. Return: its offset. */
uint32_t rs_credit_grant(struct rs_credit_in *in);
/* Return the number to send to the peer, and count it as sent. */
uint16_t rs_credit_tell(struct rs_credit_in *in);

#endif
