/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Check that the short way of small sends (providers/uroce/host/short_way.h) has exactly the effect
 * of the engine. Each input runs twice, with and without the short way. The completions and the
 * state of the queue pairs must be the same. The packets come through shared memory, or by the
 * network if the first byte has its highest bit.
 *
 * An input is a list of actions, each a byte and the bytes that it needs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "providers/uroce/host/receive.h"
#include "providers/uroce/host/short_way.h"
#include "providers/uroce/verbs/verbs.h"
#include "providers/uroce/path/shm/shm_ring.h"
#include "tests/fuzz/victim.h"

enum action {
	ACTION_MESSAGE, /* a send as the peer makes it, with changes by the input */
	ACTION_ACK,
	ACTION_PACKET, /* any packet to a QP that exists */
	ACTION_RECEIVE,
	ACTION_POST,
	ACTION_TIME,
	ACTIONS
};

enum {
	PAYLOAD_MAX = 4000,
	COMPLETIONS = 512,
	WC_LENGTH = offsetof(struct ibv_wc, dlid_path_bits) + 1, /* behind it is padding */
};

struct outcome_qp {
	uint32_t state, resp_psn, msn, rq_head, rq_tail, psn, una, sq_head, sq_next, sq_tail,
		rd_atomic, res_count, owed;
	uint64_t rx_packets, rx_bytes;
};

static bool by_network, by_short_way; /* in this run */
static bool by_stranger;	      /* a stranger sends this packet, if it comes by the network */

/* The observable result of a run. */
struct outcome {
	struct outcome_qp qp[VICTIM_QPS];
	struct ibv_wc wc[COMPLETIONS];
	uint32_t completions, sent;
	uint8_t region[VICTIM_REGION];
};

static void outcome_poll(struct outcome *o)
{
	struct ibv_wc wc[3];
	int n;

	while ((n = uroce_poll_cq(&victim.cq.vcq.cq, ARRAY_SIZE(wc), wc)) > 0)
		for (int i = 0; i < n && o->completions < COMPLETIONS; i++)
			o->wc[o->completions++] = wc[i];
}

static void outcome_end(struct outcome *o)
{
	for (int i = 0; i < VICTIM_QPS; i++) {
		const struct uroce_qp *qp = &victim.qp[i];

		o->qp[i].state = qp->state;
		o->qp[i].resp_psn = qp->resp.psn;
		o->qp[i].msn = qp->resp.msn;
		o->qp[i].rq_head = qp->rq.head;
		o->qp[i].rq_tail = qp->rq.tail;
		o->qp[i].psn = qp->req.psn;
		o->qp[i].una = qp->req.una;
		o->qp[i].sq_head = qp->sq.head;
		o->qp[i].sq_next = qp->sq.next;
		o->qp[i].sq_tail = qp->sq.tail;
		o->qp[i].rd_atomic = qp->req.rd_atomic;
		o->qp[i].res_count = qp->resp.res_count;
		o->qp[i].owed = by_network ? qp->resp.ack_due << 16 | qp->resp.ack_messages : 0;
		o->qp[i].rx_packets = qp->counters.rx_packets;
		o->qp[i].rx_bytes = qp->counters.rx_bytes;
	}
	o->sent = by_network ? victim.sent : 0;
	memcpy(o->region, victim.region, sizeof(o->region));
}

/* --- actions --- */

static void put24(uint8_t *p, uint32_t value)
{
	p[0] = value >> 16;
	p[1] = value >> 8;
	p[2] = value;
}

static const struct uroce_qp *qp_of(uint8_t number)
{
	return &victim.qp[number % VICTIM_QPS];
}

/* Deliver as udp_receive.c does after the ICRC was found right. */
static void packet_deliver(const uint8_t *data, uint32_t length)
{
	const union ibv_gid *sgid = &victim.gid[by_stranger ? 0 : 1];
	struct uroce_packet pkt = { .dgid = &victim.qp[VICTIM_RC].av.route.sgid };
	int header;

	uroce_lock(&victim.host.paths.progress_lock);
	if (!by_short_way || !uroce_short_way_datagram(&victim.host.paths, sgid, data, length)) {
		header = uroce_wire_unpack(data, length, &pkt.hdr, &pkt.payload.length);
		pkt.payload.data = data + header;
		if (header >= 0)
			uroce_path_events.packet(&victim.host.paths, &pkt, sgid, victim.now);
	}
	uroce_unlock(&victim.host.paths.progress_lock);
}

static void packet_arrive(struct input *in, const uint8_t *header, uint32_t header_len,
			  uint32_t payload)
{
	uint8_t data[UROCE_HEADER_MAX + PAYLOAD_MAX];
	uint32_t length = header_len + ROUND_UP(payload, 4);

	memcpy(data, header, header_len);
	input_bytes(in, data + header_len, length - header_len);
	packet_deliver(data, length);
}

/* Write a packet with @header bytes and a payload from the input to the place where the peer
 * would write it. */
static void packet_write(struct input *in, const uint8_t *header, uint32_t header_len,
			 uint32_t payload, uint8_t has_ack, uint32_t ack)
{
	struct shm_peer *peer = &victim.peer;
	struct shm_record *record = shm_record_rx(&peer->link);
	uint32_t length = header_len + ROUND_UP(payload, 4);

	if (by_network) {
		packet_arrive(in, header, header_len, payload);
		return;
	}
	if (shm_record_lines(length) * SHM_LINE >
	    shm_ring_to_end(peer->link.rx_bytes, peer->link.rx_head))
		return;
	record->kind = SHM_PACKET;
	record->has_ack = has_ack;
	record->ack = ack;
	record->length = length;
	memcpy(record->data, header, header_len);
	input_bytes(in, record->data + header_len, length - header_len);
	record->stamp = peer->link.rx_stamp;
}

static void message(struct input *in)
{
	uint8_t target = input_u8(in), flags = input_u8(in);
	uint32_t payload = input_u16(in) % PAYLOAD_MAX;
	const struct uroce_qp *qp = qp_of(target);
	uint8_t bth[BTH_LEN] = { UROCE_RC | UROCE_SEND_ONLY,
				 0x40 | (flags & 0x80) | (-payload & 3) << 4, 0xff, 0xff };

	by_stranger = flags & 0x40;
	if (target & 0x80) /* another partition */
		bth[2] = 0x12;
	put24(bth + 5, victim_qpn(target % VICTIM_QPS));
	bth[8] = flags << 7;
	put24(bth + 9, qp->resp.psn + (flags & 2 ? input_u8(in) % 8 - 4 : 0));
	packet_write(in, bth, sizeof(bth), payload, flags >> 2 & 1,
		     (AETH_ACK | AETH_ACK_NO_CREDIT) << 24 |
			     ((qp->req.una + (flags >> 3 & 7)) & PSN_MASK));
}

static void acknowledgement(struct input *in)
{
	uint8_t target = input_u8(in);
	uint8_t header[BTH_LEN + AETH_LEN] = { UROCE_RC | UROCE_ACK, 0x40, 0xff, 0xff };

	put24(header + 5, victim_qpn(target % VICTIM_QPS));
	put24(header + 9, qp_of(target)->req.una + input_u8(in) % 8);
	header[BTH_LEN] = input_u8(in);
	packet_write(in, header, sizeof(header), 0, 0, 0);
}

static void packet(struct input *in)
{
	uint8_t target = input_u8(in), header[UROCE_HEADER_MAX];
	uint32_t length = BTH_LEN + input_u8(in) % (UROCE_HEADER_MAX - BTH_LEN);

	input_bytes(in, header, length);
	put24(header + 5, victim_qpn(target % VICTIM_QPS));
	if (target & 0x80)
		put24(header + 9, qp_of(target)->resp.psn);
	packet_write(in, header, length & ~3u, input_u8(in), 0, 0);
}

/* Post one more receive, with one or two entries. */
static void receive(struct input *in)
{
	struct uroce_qp *qp = &victim.qp[VICTIM_RC];
	uint8_t flags = input_u8(in);
	struct ibv_sge sge[2] = {
		{ VICTIM_IOVA + (flags & 1 ? 9000 : 0), input_u16(in) % 4096,
		  victim.mr.vmr.ibv_mr.lkey ^ (flags >> 7) },
		{ VICTIM_IOVA + 5000, 100, victim.mr.vmr.ibv_mr.lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = flags, .sg_list = sge, .num_sge = 1 + (flags >> 2 & 1) },
			   *bad;

	(void)!uroce_post_recv(&qp->vqp.qp, &wr, &bad);
}

static void act(enum action action, struct input *in, struct outcome *o)
{
	by_stranger = false;
	if (action == ACTION_MESSAGE)
		message(in);
	else if (action == ACTION_ACK)
		acknowledgement(in);
	else if (action == ACTION_PACKET)
		packet(in);
	else if (action == ACTION_RECEIVE)
		receive(in);
	else if (action == ACTION_POST)
		victim_post(input_u8(in) % VICTIM_QPS, in);
	victim.now += action == ACTION_TIME ? input_u16(in) * 100000ull : 1000;
	outcome_poll(o);
	uroce_lock(&victim.host.paths.progress_lock);
	uroce_progress_pass(&victim.host, true, false);
	uroce_unlock(&victim.host.paths.progress_lock);
	outcome_poll(o);
	victim.peer.link.tx->tail = victim.peer.link.tx_head; /* the peer reads all */
	victim.peer.link.tx_wrap = victim.peer.link.tx_head;
}

static void live(const uint8_t *data, size_t size, bool short_way, struct outcome *o)
{
	struct input in = { data, size };

	*o = (struct outcome){};
	by_network = size && data[0] & 0x80;
	by_short_way = short_way;
	victim_begin(!by_network, false);
	/* Let the ring be so large that it never wraps or grows. Records may have other places in
	 * the second run, therefore the ring could be full at another moment. */
	victim.peer.link.tx_open = victim.peer.link.tx_span;
	for (int i = 0; i < VICTIM_QPS; i++)
		victim.qp[i].short_way &= short_way;
	for (int i = 0; i < 64 && in.size; i++)
		act(input_u8(&in) % ACTIONS, &in, o);
	outcome_end(o);
	victim_end();
}

static void qp_tell(int i, const struct outcome_qp *with, const struct outcome_qp *without)
{
	const uint32_t *a = &with->state, *b = &without->state;

	/* the 32-bit members, in their order */
	for (unsigned int k = 0; k < offsetof(struct outcome_qp, rx_packets) / sizeof(*a); k++)
		if (a[k] != b[k])
			fprintf(stderr, "queue pair %d, member %u: %#x with, %#x without\n", i, k,
				a[k], b[k]);
}

static void completion_tell(int i, const struct ibv_wc *with, const struct ibv_wc *without)
{
	fprintf(stderr,
		"completion %d: wr %" PRIu64 " %s, %u bytes with, %" PRIu64
		" %s, %u bytes without\n",
		i, with->wr_id, ibv_wc_status_str(with->status), with->byte_len, without->wr_id,
		ibv_wc_status_str(without->status), without->byte_len);
}

static bool outcome_same(const struct outcome *with, const struct outcome *without)
{
	bool same = with->completions == without->completions && with->sent == without->sent;

	for (int i = 0; i < VICTIM_QPS; i++)
		if (memcmp(&with->qp[i], &without->qp[i], sizeof(with->qp[i]))) {
			qp_tell(i, &with->qp[i], &without->qp[i]);
			same = false;
		}
	for (int i = 0; i < COMPLETIONS; i++)
		if (memcmp(&with->wc[i], &without->wc[i], WC_LENGTH)) {
			completion_tell(i, &with->wc[i], &without->wc[i]);
			same = false;
		}
	for (int i = 0; i < VICTIM_REGION; i++)
		if (with->region[i] != without->region[i]) {
			fprintf(stderr, "the region from byte %d on\n", i);
			return false;
		}
	return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct outcome with, without;

	live(data, size, true, &with);
	live(data, size, false, &without);
	if (!outcome_same(&with, &without))
		abort();
	return 0;
}
