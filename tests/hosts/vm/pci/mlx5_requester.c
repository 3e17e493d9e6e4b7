/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages to another adapter. A request stays in its ring until the peer has acknowledged the
 * message. The requester reads the request again for each packet. After a loss, it repeats all
 * packets from the first unacknowledged packet on.
 */
#include "tests/hosts/vm/pci/mlx5_wire.h"

#include <errno.h>
#include "tests/hosts/vm/pci/mlx5_pieces.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	WINDOW = 32, /* most unacknowledged packets */
	RETRY_MS = 500,
	RNR_MS = 20,
	RNR_FOREVER = 7,
	MOST_RETRIES = 7,
};

static bool has_responses(const struct work *work)
{
	return work->wr.opcode == IBV_WR_RDMA_READ ||
	       work->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       work->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Return the operation of a packet with data. */
static uint8_t operation(enum ibv_wr_opcode opcode, bool first, bool last)
{
	bool writes = opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool imm = opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (opcode == IBV_WR_SEND_WITH_INV && last)
		return first ? UROCE_SEND_ONLY_INV : UROCE_SEND_LAST_INV;
	if (!last)
		return (writes ? UROCE_WRITE_FIRST : UROCE_SEND_FIRST) + !first;
	if (first)
		return (writes ? UROCE_WRITE_ONLY : UROCE_SEND_ONLY) + imm;
	return (writes ? UROCE_WRITE_LAST : UROCE_SEND_LAST) + imm;
}

static struct uroce_hdr header_of(const struct hca_qp *qp, const struct work *work, uint32_t psn)
{
	struct uroce_hdr hdr = { .pkey = UROCE_PKEY_DEFAULT,
				 .dest_qpn = get(qp->context, QPC_REMOTE_QPN),
				 .psn = psn & PSN_MASK,
				 .solicited = work->wr.send_flags & IBV_SEND_SOLICITED,
				 .va = work->wr.wr.rdma.remote_addr,
				 .rkey = work->wr.wr.rdma.rkey,
				 .imm = work->wr.imm_data };

	if (work->wr.opcode == IBV_WR_SEND_WITH_INV)
		hdr.invalidate_rkey = work->wr.invalidate_rkey;
	return hdr;
}

/* Request the rest of a read, or an atomic operation. */
static void ask(const struct message *m, uint32_t from)
{
	const struct hca_qp *qp = m->from;
	const struct work *work = m->work;
	struct wire_route route = wire_route_of(qp);
	struct uroce_hdr hdr = header_of(qp, work, qp->sending.first + from);
	uint64_t done = (uint64_t)from * wire_mtu_of(qp);

	hdr.ack_req = true;
	switch (work->wr.opcode) {
	case IBV_WR_RDMA_READ:
		hdr.opcode = UROCE_RC | UROCE_READ_REQUEST;
		hdr.va += done;
		hdr.dma_len = m->bytes - done;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		hdr.opcode = UROCE_RC | UROCE_CMP_SWAP;
		hdr.swap_add = work->wr.wr.atomic.swap;
		hdr.compare = work->wr.wr.atomic.compare_add;
		break;
	default:
		hdr.opcode = UROCE_RC | UROCE_FETCH_ADD;
		hdr.swap_add = work->wr.wr.atomic.compare_add;
	}
	if (work->wr.opcode != IBV_WR_RDMA_READ) {
		hdr.va = work->wr.wr.atomic.remote_addr;
		hdr.rkey = work->wr.wr.atomic.rkey;
	}
	wire_send(&route, &hdr, NULL, 0);
}

/* Send packet @n of the message. Return whether the keys allow it. */
static bool send_packet(const struct message *m, uint32_t n, uint32_t packets)
{
	static uint8_t payload[WIRE_MTU];
	const struct hca_qp *qp = m->from;
	uint32_t mtu = wire_mtu_of(qp), length = m->bytes - n * mtu;
	struct wire_route route = wire_route_of(qp);
	struct uroce_hdr hdr = header_of(qp, m->work, qp->sending.first + n);
	struct pieces source = { .pd = qp->pd, .access = HCA_LOCAL_READ }, target = { 0 };
	bool last = n + 1 == packets;

	if (length > mtu)
		length = mtu;
	hdr.opcode = (qp->type == HCA_UC ? UROCE_UC : UROCE_RC) |
		     operation(m->work->wr.opcode, n == 0, last);
	hdr.ack_req = last || n % (WINDOW / 2) == WINDOW / 2 - 1;
	hdr.dma_len = m->bytes;
	pieces_add_work(&source, m->work, &qp->object.sq);
	pieces_skip(&source, (uint64_t)n * mtu);
	pieces_add(&target, (uintptr_t)payload, length, 0, true);
	if (pieces_move(&source, &target, length))
		return false;
	wire_send(&route, &hdr, payload, length);
	return true;
}

static void begin(struct hca_sending *s, const struct message *m)
{
	const struct hca_qp *qp = m->from;
	uint32_t mtu = wire_mtu_of(qp);
	bool is_atomic = has_responses(m->work) && m->work->wr.opcode != IBV_WR_RDMA_READ;

	*s = (struct hca_sending){ .busy = true,
				   .first = s->first,
				   .packets =
					   is_atomic || !m->bytes ? 1 : (m->bytes + mtu - 1) / mtu,
				   .retries = get(qp->context, QPC_RETRY_COUNT),
				   .rnr_retries = get(qp->context, QPC_RNR_RETRY),
				   .deadline = play_now() + RETRY_MS };
}

static int end(struct hca_sending *s, int status)
{
	s->busy = false;
	s->first = psn_add(s->first, s->packets);
	return status;
}

/* Repeat the packets that were not acknowledged. */
static bool again(struct hca_sending *s)
{
	if (!s->retries)
		return false;
	s->retries--;
	s->sent = s->acked;
	s->deadline = play_now() + RETRY_MS;
	return true;
}

int wire_message(struct message *m)
{
	struct hca_sending *s = &m->from->sending;
	bool is_reliable = m->from->type == HCA_RC;

	if (m->from->type != HCA_RC && m->from->type != HCA_UC)
		return IBV_WC_LOC_QP_OP_ERR;
	if (!s->busy)
		begin(s, m);
	if (s->status || s->acked == s->packets)
		return end(s, s->status);
	if (play_now() < s->wait_until)
		return -EAGAIN;
	if (is_reliable && play_now() > s->deadline && !again(s))
		return end(s, IBV_WC_RETRY_EXC_ERR);
	if (has_responses(m->work)) {
		if (s->sent != s->packets)
			ask(m, s->acked);
		s->sent = s->packets;
		return -EAGAIN;
	}
	for (; s->sent < s->packets && (!is_reliable || s->sent - s->acked < WINDOW); s->sent++)
		if (!send_packet(m, s->sent, s->packets))
			return end(s, IBV_WC_LOC_PROT_ERR);
	return is_reliable ? -EAGAIN : end(s, IBV_WC_SUCCESS);
}

static void acknowledge(struct hca_sending *s, uint32_t count)
{
	if (count > s->acked)
		s->retries = MOST_RETRIES;
	s->acked = count;
	if (s->sent < count)
		s->sent = count;
	s->deadline = play_now() + RETRY_MS;
}

static void take_nak(struct hca_sending *s, uint8_t code)
{
	switch (code) {
	case NAK_PSN_SEQUENCE:
		s->sent = s->acked;
		break;
	case NAK_INVALID_REQUEST:
		s->status = IBV_WC_REM_INV_REQ_ERR;
		break;
	case NAK_REMOTE_ACCESS:
		s->status = IBV_WC_REM_ACCESS_ERR;
		break;
	default:
		s->status = IBV_WC_REM_OP_ERR;
	}
}

/* Take an answer. An ACK acknowledges all packets up to its number. Any other answer acknowledges
 * the packets before its number. */
static void take_ack(struct hca_sending *s, const struct uroce_hdr *hdr, int32_t at,
		     const struct work *work)
{
	uint8_t kind = hdr->syndrome & AETH_KIND_MASK, value = hdr->syndrome & AETH_VALUE_MASK;
	int32_t count = kind == AETH_ACK ? at + 1 : at;

	if (kind == AETH_ACK && has_responses(work))
		return;
	if (count < 0 || count < (int32_t)s->acked || count > (int32_t)s->packets)
		return;
	acknowledge(s, count);
	if (kind == AETH_NAK)
		take_nak(s, value);
	if (kind != AETH_RNR_NAK)
		return;
	s->sent = s->acked;
	s->wait_until = play_now() + RNR_MS;
	if (s->rnr_retries == RNR_FOREVER)
		return;
	if (s->rnr_retries)
		s->rnr_retries--;
	else
		s->status = IBV_WC_RNR_RETRY_EXC_ERR;
}

/* Write received data to the buffers of the request. */
static void take_data(struct hca_qp *qp, const struct work *work, uint64_t at, const uint8_t *bytes,
		      uint32_t length)
{
	struct pieces source = { 0 }, target = { .pd = qp->pd, .access = HCA_LOCAL_WRITE };

	pieces_add(&source, (uintptr_t)bytes, length, 0, true);
	pieces_add_work(&target, work, NULL);
	pieces_skip(&target, at);
	if (pieces_move(&source, &target, length))
		qp->sending.status = IBV_WC_LOC_PROT_ERR;
}

void wire_response(struct hca_qp *qp, const struct wire_packet *packet)
{
	static struct work work;
	const struct uroce_hdr *hdr = &packet->hdr;
	struct hca_sending *s = &qp->sending;
	int32_t at = psn_diff(hdr->psn, s->first);

	if (!s->busy || mlx5_next_send(&qp->object, &work) <= 0)
		return;
	if (hdr_flags(hdr) & PKT_READ || hdr_flags(hdr) & PKT_ATOMIC_ACK) {
		/* After a gap, request the rest again at the timeout. */
		if (at != (int32_t)s->acked || !has_responses(&work))
			return;
		if (hdr_flags(hdr) & PKT_ATOMIC_ACK)
			take_data(qp, &work, 0, (const uint8_t *)&hdr->orig, sizeof(hdr->orig));
		else
			take_data(qp, &work, (uint64_t)at * wire_mtu_of(qp), packet->payload,
				  packet->length);
		acknowledge(s, at + 1);
		return;
	}
	take_ack(s, hdr, at, &work);
}
