/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions, the credits that they bring or make due, and the events of the CQ. */
#include "librdmacm/rsocket/rs.h"

#define POLL_BATCH 16

/* Complete all requests up to @number. */
static void sends_done(struct rs_socket *s, uint32_t number)
{
	if (number - s->done >= s->posted - s->done)
		return;
	while (s->done != number + 1) {
		const struct rs_slot *slot = &s->slots[s->done % s->sq_size];

		s->sbuf_tail += slot->bytes;
		s->controls -= slot->control;
		s->done++;
	}
}

/*
 * Take the entry of the peer. The peer wrote it before it sent the message that has just arrived.
 */
static void entry_take(struct rs_socket *s)
{
	volatile struct rs_wire_entry *entry = &s->entries[s->entry];
	struct rs_target target = { .length = entry->length };

	if (!target.length)
		return;
	atomic_thread_fence(memory_order_acquire);
	target.key = entry->key;
	target.addr = entry->addr;
	entry->length = 0;
	s->entry = (s->entry + 1) % RS_WIRE_ENTRIES;
	if (rs_credit_granted(&s->out, &target) < 0) {
		rs_err(s, "the peer grants more memory than a stream has: connection given up");
		rs_socket_fail(s, EPROTO);
	}
}

static void control_arrived(struct rs_socket *s, uint32_t control)
{
	switch (control) {
	case RS_WIRE_DISCONNECT:
		s->peer_end = true;
		if (s->state == RS_CONNECTED)
			s->state = RS_CLOSED;
		break;
	case RS_WIRE_SHUTDOWN:
		s->peer_end = true;
		/* a thread that is about to end this side must still send the end to the peer */
		if (s->end_told && s->state == RS_CONNECTED)
			s->state = RS_CLOSED;
		break;
	default: /* keepalive: no action */
		break;
	}
}

static void message_arrived(struct rs_socket *s, uint32_t imm)
{
	uint32_t value = rs_wire_value(imm);

	s->unheard = false;
	switch (rs_wire_op(imm)) {
	case RS_WIRE_BYTES:
		if (rs_credit_arrived(&s->in, value) < 0) {
			rs_err(s,
			       "the peer sent %u bytes that it had no room for: connection given up",
			       value);
			rs_socket_fail(s, EPROTO);
		}
		break;
	case RS_WIRE_CREDIT:
		rs_credit_limit(&s->out, value);
		entry_take(s);
		break;
	case RS_WIRE_CONTROL:
		control_arrived(s, value);
		break;
	case RS_WIRE_MAPPING: /* read the entry at its next use; only count the receive */
		s->in.messages++;
		break;
	default: /* ignore unknown messages */
		break;
	}
}

/* Return the message of a receive. False: the receive has no message, so ignore it. */
static bool message_take(struct rs_socket *s, const struct ibv_wc *wc, uint32_t *ret_message)
{
	uint32_t word;

	*ret_message = be32toh(wc->imm_data);
	if (likely(!s->sends_words))
		return wc->wc_flags & IBV_WC_WITH_IMM;
	word = s->words[s->words_taken++ % rs_receives(s)];
	*ret_message = s->swapped ? __builtin_bswap32(word) : word;
	return wc->byte_len == sizeof(word);
}

_Static_assert(POLL_BATCH <= RS_REPOST_MAX, "one call for what one poll brought");

static void completion_failed(struct rs_socket *s, const struct ibv_wc *wc)
{
	s->broken = true;
	if (s->state != RS_CONNECTED)
		return;
	/* the connection ended, and its event reports that */
	if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	if (wc->status == IBV_WC_RETRY_EXC_ERR) {
		s->silent = true; /* the cause may be known later: see rs_complete() */
		return;
	}
	rs_err(s, "%s (vendor_err 0x%x): connection given up", ibv_wc_status_str(wc->status),
	       wc->vendor_err);
	rs_socket_fail(s, EIO);
}

struct rs_seen rs_seen(struct rs_socket *s)
{
	return (struct rs_seen){ rs_can_send(s), s->peer_end, s->state, s->in.received };
}

/*
 * Return whether a program can see that the state has changed. If the direction of the peer ended
 * before its close, the hang-up follows the data.
 */
static bool is_state_seen(struct rs_socket *s, const struct rs_seen *before)
{
	return s->state != before->state &&
	       !(s->state == RS_CLOSED && before->peer_end && rs_waiting(s));
}

bool rs_is_news(struct rs_socket *s, const struct rs_seen *before)
{
	return s->in.received != before->received || s->peer_end != before->peer_end ||
	       is_state_seen(s, before) || (!before->can_send && rs_can_send(s));
}

unsigned int rs_cq_poll(struct rs_socket *s)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int received = 0;
	struct rs_seen before;
	uint32_t message;
	int n = ibv_poll_cq(s->cq, POLL_BATCH, wc);

	if (n < 0)
		rs_socket_fail(s, EIO);
	if (n <= 0)
		return 0;
	before = rs_seen(s);
	for (int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS) {
			completion_failed(s, &wc[i]);
		} else if (wc[i].opcode & IBV_WC_RECV) {
			received++;
			if (message_take(s, &wc[i], &message))
				message_arrived(s, message);
		} else {
			sends_done(s, wc[i].wr_id);
		}
	}
	s->changes += rs_is_news(s, &before);
	if (received && s->state == RS_CONNECTED && rs_receives_post(s, received))
		rs_socket_fail(s, EIO);
	return n;
}

/* ---- granting credits ---- */

static void credit_send(struct rs_socket *s)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct rs_target half;
	struct rs_wire_entry entry;
	struct ibv_sge sge;

	if (rs_credit_can_grant(&s->in)) {
		half = (struct rs_target){
			.addr = (uintptr_t)s->rbuf + rs_credit_grant(&s->in),
			.key = s->rmr->rkey,
			.length = s->rbuf_size / 2,
		};
		entry = rs_wire_entry(&half, s->swapped);
		sge = (struct ibv_sge){ .addr = (uintptr_t)&entry, .length = sizeof(entry) };
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_INLINE;
		wr.wr.rdma.remote_addr = s->peer_list.addr + s->peer_entry * sizeof(entry);
		wr.wr.rdma.rkey = s->peer_list.key;
		s->peer_entry = (s->peer_entry + 1) % s->peer_list.length;
	}
	wr.imm_data = htobe32(rs_wire_imm(RS_WIRE_CREDIT, rs_credit_tell(&s->in)));
	rs_post(s, &wr, 0, true);
}

static void credits_give(struct rs_socket *s)
{
	while (s->state == RS_CONNECTED && !s->no_recv && s->controls < RS_CONTROL_MAX &&
	       rs_slots_free(s) && (rs_credit_can_grant(&s->in) || rs_credit_is_due(&s->in)))
		credit_send(s);
}

void rs_consumed(struct rs_socket *s)
{
	credits_give(s);
	/* The rest of the receives may only wait for the completion of earlier requests. */
	if (s->state == RS_CONNECTED && (rs_credit_can_grant(&s->in) || rs_credit_is_due(&s->in)))
		rs_stream_complete(s);
}

void rs_completions_take(struct rs_socket *s)
{
	/* Completions stay in the CQ until the connection is made. */
	if (!s->cq || rs_is_opening(s))
		return;
	while (rs_cq_poll(s) == POLL_BATCH)
		;
}

void rs_stream_complete(struct rs_socket *s)
{
	rs_completions_take(s);
	if (unlikely(s->silent))
		rs_silence_resolve(s);
	credits_give(s);
}

/* ---- events ---- */
