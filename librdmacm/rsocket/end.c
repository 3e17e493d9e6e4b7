/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages that end a connection or a direction of it. */
#include "librdmacm/rsocket/rs.h"

/*
 * Post a signalled write without data. Its completion shows that the data before it has arrived,
 * even if the peer takes no more messages.
 */
void rs_post_mark(struct rs_socket *s)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = s->peer_list.addr, .rkey = s->peer_list.key },
	};

	bool alive = s->state == RS_CONNECTED || s->state == RS_CLOSED;

	if (!alive || s->broken || rs_slots_free(s) < 2)
		return;
	rs_post(s, &wr, 0, false);
	s->unsignalled = 0;
}

static bool is_both_ended(const struct rs_socket *s)
{
	return s->no_send && (s->no_recv || s->peer_end);
}

int rs_end_tell(struct rs_socket *s, int how)
{
	bool both = is_both_ended(s);
	int r = 0;

	if (rs_end_is_due(s))
		return rs_service_keep(s);
	if (s->state == RS_ACCEPTING)
		return 0;
	if (s->unsignalled)
		rs_post_mark(s);
	if (s->state != RS_CONNECTED)
		return s->state == RS_CLOSED ? 0 : -ENOTCONN;
	if ((both || how == SHUT_WR) && rs_slots_free(s)) {
		r = rs_post_control(s, both ? RS_WIRE_DISCONNECT : RS_WIRE_SHUTDOWN);
		s->end_told = r == 0;
	}
	if (both && s->state == RS_CONNECTED)
		s->state = RS_CLOSED;
	return r;
}

bool rs_end_is_due(const struct rs_socket *s)
{
	bool too_early = s->state == RS_ACCEPTING || (s->state == RS_CONNECTED && s->unheard);

	return too_early && s->no_send && !s->end_told;
}

void rs_end_tell_late(struct rs_socket *s)
{
	if (s->state == RS_CONNECTED && s->no_send && !s->end_told && !s->unheard)
		rs_end_tell(s, SHUT_WR);
}
