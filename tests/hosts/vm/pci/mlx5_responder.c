/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages from another adapter. Packets are executed in the order of their numbers. The packets of
 * a send are collected until the last one has arrived. The data of a write are written to memory at
 * once. */
#include "tests/hosts/vm/pci/mlx5_wire.h"

#include <stdlib.h>
#include "tests/hosts/vm/pci/mlx5_pieces.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	LONGEST_SEND = 16 << 20,
	RNR_TIMER = 14, /* about 1 ms */
	RESULT = 8,
};

static void answer(const struct hca_qp *qp, uint8_t opcode, uint32_t psn, uint8_t syndrome,
		   uint64_t result)
{
	struct wire_route route = wire_route_of(qp);
	struct uroce_hdr hdr = { .opcode = UROCE_RC | opcode,
				 .pkey = UROCE_PKEY_DEFAULT,
				 .dest_qpn = get(qp->context, QPC_REMOTE_QPN),
				 .psn = psn & PSN_MASK,
				 .syndrome = syndrome,
				 .msn = qp->receiving.msn & PSN_MASK,
				 .orig = result };

	if (qp->type == HCA_RC)
		wire_send(&route, &hdr, NULL, 0);
}

static void acknowledge(const struct hca_qp *qp, uint32_t psn)
{
	answer(qp, UROCE_ACK, psn, AETH_ACK | AETH_ACK_NO_CREDIT, 0);
}

/* A refused access stops the queue pair. */
static void refuse(struct hca_qp *qp, uint32_t psn, uint8_t code)
{
	answer(qp, UROCE_ACK, psn, AETH_NAK | code, 0);
	hca_event_of(code == NAK_REMOTE_ACCESS ? HCA_EVENT_ACCESS_ERROR : HCA_EVENT_REQUEST_ERROR,
		     qp->object.number);
	hca_qp_error(qp);
}

static void done(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	qp->receiving.psn = psn_add(qp->receiving.psn, 1);
	if (hdr_flags(hdr) & PKT_END)
		qp->receiving.msn++;
	if (hdr_flags(hdr) & PKT_END || hdr->ack_req)
		acknowledge(qp, hdr->psn);
}

static bool append(struct hca_receiving *r, const uint8_t *bytes, uint32_t length)
{
	if (length > LONGEST_SEND - r->length)
		return false;
	if (r->length + length > r->room) {
		size_t room = 2 * (r->length + length);
		uint8_t *more = realloc(r->bytes, room);

		if (!more)
			return false;
		r->bytes = more;
		r->room = room;
	}
	memcpy(r->bytes + r->length, bytes, length);
	r->length += length;
	return true;
}

/* Return the message as a request of the sender. */
static struct message message_of(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	static struct work work;
	static struct hca_qp sender;
	struct hca_receiving *r = &qp->receiving;
	bool writes = hdr_flags(hdr) & PKT_WRITE;

	sender.object.number = get(qp->context, QPC_REMOTE_QPN);
	work.sge[0] = (struct ibv_sge){ .addr = (uintptr_t)r->bytes, .length = r->length };
	work.wr = (struct ibv_send_wr){ .opcode = writes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND,
					.sg_list = work.sge,
					.num_sge = !writes,
					.send_flags = IBV_SEND_INLINE |
						      (hdr->solicited ? IBV_SEND_SOLICITED : 0) };
	if (hdr_flags(hdr) & PKT_IMM) {
		work.wr.imm_data = hdr->imm;
		if (!writes)
			work.wr.opcode = IBV_WR_SEND_WITH_IMM;
	} else if (hdr_flags(hdr) & PKT_IETH) {
		work.wr.opcode = IBV_WR_SEND_WITH_INV;
		work.wr.invalidate_rkey = hdr->invalidate_rkey;
	}
	return (struct message){
		.from = &sender, .to = qp, .work = &work, .bytes = writes ? r->total : r->length
	};
}

/* Deliver the message to a receive. Return false if the queue pair must stop. */
static bool deliver(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	static struct work receive;
	struct message m = message_of(qp, hdr);

	if (!message_receive(&m, &receive)) {
		answer(qp, UROCE_ACK, hdr->psn, AETH_RNR_NAK | RNR_TIMER, 0);
		return false;
	}
	switch (message_deliver(&m, &receive)) {
	case IBV_WC_SUCCESS:
		return true;
	case IBV_WC_REM_INV_REQ_ERR:
		answer(qp, UROCE_ACK, hdr->psn, AETH_NAK | NAK_INVALID_REQUEST, 0);
		return false;
	case IBV_WC_REM_ACCESS_ERR:
		answer(qp, UROCE_ACK, hdr->psn, AETH_NAK | NAK_REMOTE_ACCESS, 0);
		return false;
	default:
		answer(qp, UROCE_ACK, hdr->psn, AETH_NAK | NAK_REMOTE_OPERATION, 0);
		return false;
	}
}

static void take_send(struct hca_qp *qp, const struct wire_packet *packet)
{
	static struct work receive;
	const struct uroce_hdr *hdr = &packet->hdr;
	struct hca_receiving *r = &qp->receiving;
	struct message m = { .to = qp };

	if (hdr_flags(hdr) & PKT_START) {
		r->length = 0;
		if (!message_receive(&m, &receive)) {
			answer(qp, UROCE_ACK, hdr->psn, AETH_RNR_NAK | RNR_TIMER, 0);
			return;
		}
	}
	if (!append(r, packet->payload, packet->length)) {
		refuse(qp, hdr->psn, NAK_INVALID_REQUEST);
		return;
	}
	if (!(hdr_flags(hdr) & PKT_END) || deliver(qp, hdr))
		done(qp, hdr);
}

/* Copy between packets and memory that a key of the peer names. */
static bool move(const struct hca_qp *qp, uint32_t key, uint64_t at, uint8_t *bytes,
		 uint32_t length, unsigned access)
{
	struct pieces plain = { 0 },
		      remote = { .pd = qp->pd, .qp = qp->object.number, .access = access };

	pieces_add(&plain, (uintptr_t)bytes, length, 0, true);
	pieces_add(&remote, at, length, key, false);
	return (access == HCA_REMOTE_READ ? pieces_move(&remote, &plain, length)
					  : pieces_move(&plain, &remote, length)) == NEITHER;
}

static void take_write(struct hca_qp *qp, const struct wire_packet *packet)
{
	const struct uroce_hdr *hdr = &packet->hdr;
	struct hca_receiving *r = &qp->receiving;

	if (hdr_flags(hdr) & PKT_START) {
		r->at = hdr->va;
		r->key = hdr->rkey;
		r->total = hdr->dma_len;
		r->left = hdr->dma_len;
	}
	if (packet->length > r->left) {
		refuse(qp, hdr->psn, NAK_INVALID_REQUEST);
		return;
	}
	if (packet->length &&
	    (!get(qp->context, QPC_RWE) || !move(qp, r->key, r->at, (uint8_t *)packet->payload,
						 packet->length, HCA_REMOTE_WRITE))) {
		refuse(qp, hdr->psn, NAK_REMOTE_ACCESS);
		return;
	}
	if (hdr_flags(hdr) & PKT_IMM && !deliver(qp, hdr))
		return;
	r->at += packet->length;
	r->left -= packet->length;
	done(qp, hdr);
}

/* Send the data of a read: as many packets as the peer's next numbers. Return their number; 0: the
 * key does not allow it. */
static uint32_t respond(const struct hca_qp *qp, const struct uroce_hdr *read)
{
	static uint8_t payload[WIRE_MTU];
	uint32_t mtu = wire_mtu_of(qp), count = (read->dma_len + mtu - 1) / mtu;
	struct wire_route route = wire_route_of(qp);
	struct uroce_hdr hdr = { .pkey = UROCE_PKEY_DEFAULT,
				 .dest_qpn = get(qp->context, QPC_REMOTE_QPN),
				 .syndrome = AETH_ACK | AETH_ACK_NO_CREDIT,
				 .msn = (qp->receiving.msn + 1) & PSN_MASK };

	if (!count)
		count = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = read->dma_len - i * mtu;

		if (n > mtu)
			n = mtu;
		if (n && !move(qp, read->rkey, read->va + (uint64_t)i * mtu, payload, n,
			       HCA_REMOTE_READ))
			return 0;
		hdr.psn = psn_add(read->psn, i);
		hdr.opcode = UROCE_RC | (count == 1	  ? UROCE_READ_RESP_ONLY
					 : i == 0	  ? UROCE_READ_RESP_FIRST
					 : i == count - 1 ? UROCE_READ_RESP_LAST
							  : UROCE_READ_RESP_MIDDLE);
		wire_send(&route, &hdr, payload, n);
	}
	return count;
}

static bool may_read(const struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	size_t together;

	return !hdr->dma_len || (get(qp->context, QPC_RRE) &&
				 hca_key_memory(hdr->rkey, qp->pd, qp->object.number, hdr->va,
						hdr->dma_len, HCA_REMOTE_READ, &together));
}

/* Execute a read. Check the whole range before the first packet is sent. */
static void take_read(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	uint32_t count = may_read(qp, hdr) ? respond(qp, hdr) : 0;

	if (!count) {
		refuse(qp, hdr->psn, NAK_REMOTE_ACCESS);
		return;
	}
	qp->receiving.psn = psn_add(qp->receiving.psn, count);
	qp->receiving.msn++;
}

static void take_atomic(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	struct hca_receiving *r = &qp->receiving;
	uint64_t *word = NULL, old;
	size_t together;

	if (get(qp->context, QPC_RAE) && !(hdr->va % RESULT))
		word = (uint64_t *)hca_key_memory(hdr->rkey, qp->pd, qp->object.number, hdr->va,
						  RESULT, HCA_REMOTE_ATOMIC, &together);
	if (!word) {
		refuse(qp, hdr->psn, NAK_REMOTE_ACCESS);
		return;
	}
	if ((hdr->opcode & UROCE_OPERATION_MASK) == UROCE_FETCH_ADD) {
		old = __atomic_fetch_add(word, hdr->swap_add, __ATOMIC_SEQ_CST);
	} else {
		old = hdr->compare;
		__atomic_compare_exchange_n(word, &old, hdr->swap_add, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	r->atomics[r->next_atomic % HCA_ATOMICS].psn = hdr->psn;
	r->atomics[r->next_atomic++ % HCA_ATOMICS].result = old;
	r->psn = psn_add(r->psn, 1);
	r->msn++;
	answer(qp, UROCE_ATOMIC_ACK, hdr->psn, AETH_ACK | AETH_ACK_NO_CREDIT, old);
}

/* Handle a repeated packet. Acknowledge it again. Execute it again only if it is a read. */
static void repeat(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	const struct hca_receiving *r = &qp->receiving;

	if (hdr_flags(hdr) & PKT_READ) {
		respond(qp, hdr);
	} else if (hdr_flags(hdr) & PKT_ATOMIC) {
		for (int i = 0; i < HCA_ATOMICS; i++)
			if (r->next_atomic && r->atomics[i].psn == hdr->psn)
				answer(qp, UROCE_ATOMIC_ACK, hdr->psn,
				       AETH_ACK | AETH_ACK_NO_CREDIT, r->atomics[i].result);
	} else {
		acknowledge(qp, psn_add(r->psn, PSN_MASK));
	}
}

/* Return whether the packet has the expected number. The sender of an unreliable message does not
 * repeat packets, therefore the next message may begin with any number. */
static bool is_expected(struct hca_qp *qp, const struct uroce_hdr *hdr)
{
	struct hca_receiving *r = &qp->receiving;
	int32_t ahead = psn_diff(hdr->psn, r->psn);

	if (qp->type == HCA_UC) {
		if (ahead && !(hdr_flags(hdr) & PKT_START))
			return false;
		r->psn = hdr->psn;
		return true;
	}
	if (!ahead) {
		r->refused = false;
		return true;
	}
	if (ahead < 0)
		repeat(qp, hdr);
	else if (!r->refused)
		answer(qp, UROCE_ACK, r->psn, AETH_NAK | NAK_PSN_SEQUENCE, 0);
	r->refused = ahead > 0;
	return false;
}

void wire_request(struct hca_qp *qp, const struct wire_packet *packet)
{
	const struct uroce_hdr *hdr = &packet->hdr;
	uint8_t transport = qp->type == HCA_UC ? UROCE_UC : UROCE_RC;

	if ((hdr->opcode & UROCE_TRANSPORT_MASK) != transport || !is_expected(qp, hdr))
		return;
	if (hdr_flags(hdr) & PKT_SEND)
		take_send(qp, packet);
	else if (hdr_flags(hdr) & PKT_WRITE)
		take_write(qp, packet);
	else if (hdr_flags(hdr) & PKT_READ)
		take_read(qp, hdr);
	else if (hdr_flags(hdr) & PKT_ATOMIC)
		take_atomic(qp, hdr);
	else
		refuse(qp, hdr->psn, NAK_INVALID_REQUEST);
}

void wire_forget(struct hca_qp *qp)
{
	free(qp->receiving.bytes);
	qp->receiving = (struct hca_receiving){ 0 };
	qp->sending = (struct hca_sending){ 0 };
}
