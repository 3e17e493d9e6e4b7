/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/credit.h"
#include "util/util.h"

void rs_credit_start(struct rs_credit_out *out, struct rs_credit_in *in,
		     const struct rs_wire_data *peer)
{
	*out = (struct rs_credit_out){
		.target = peer->first,
		.limit = peer->credits,
		/* a peer announces new receives after it has used half of them */
		.spare = min_of(RS_CONTROL_MAX, peer->credits / 4),
	};
	in->granted = in->size / 2;
}

uint32_t rs_credit_room(const struct rs_credit_out *out)
{
	if (!rs_credit_has_message(out) || !out->target.length)
		return 0;
	return (out->target.length - 1) % RS_MESSAGE_MAX + 1;
}

void rs_credit_take(struct rs_credit_out *out, uint32_t length, struct rs_target *ret_target)
{
	*ret_target = out->target;
	out->sent++;
	out->target.addr += length;
	out->target.length -= length;
	if (out->target.length || !out->next_count)
		return;
	out->target = out->next[0];
	memmove(&out->next[0], &out->next[1], sizeof(out->next) - sizeof(out->next[0]));
	out->next_count--;
}

void rs_credit_limit(struct rs_credit_out *out, uint16_t limit)
{
	if ((int16_t)(limit - out->limit) > 0)
		out->limit = limit;
}

int rs_credit_granted(struct rs_credit_out *out, const struct rs_target *target)
{
	if (!target->length)
		return 0;
	if (!out->target.length) {
		out->target = *target;
		return 0;
	}
	if (out->next_count == RS_WIRE_ENTRIES)
		return -EPROTO;
	out->next[out->next_count++] = *target;
	return 0;
}

int rs_credit_arrived(struct rs_credit_in *in, uint32_t length)
{
	if (length > in->granted - in->received)
		return -EPROTO;
	in->received += length;
	in->messages++;
	return 0;
}

bool rs_credit_can_grant(const struct rs_credit_in *in)
{
	return in->consumed + in->size - in->granted >= in->size / 2;
}

bool rs_credit_is_due(const struct rs_credit_in *in)
{
	return (uint16_t)(in->messages - in->told) >= in->queue / 2;
}

uint32_t rs_credit_grant(struct rs_credit_in *in)
{
	uint32_t offset = in->granted % in->size;

	in->granted += in->size / 2;
	return offset;
}

uint16_t rs_credit_tell(struct rs_credit_in *in)
{
	in->told = in->messages;
	return in->messages + in->queue;
}
