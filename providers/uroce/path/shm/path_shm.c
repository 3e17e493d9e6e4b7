/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The shared-memory path: the same packets as on the wire, in rings, without ICRC. */
#include <string.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

enum {
	/* See stream_took(). */
	STREAM_RECORD = 1024, /* average bytes of a long record */
	STREAM_SURE = 16,     /* long records without an answer that count as a stream */
	STREAM_MOST = 128,    /* upper limit of the count */
	ANSWER_WEIGHT =
		12, /* records that one answer outweighs; an acknowledgement may be an answer */
	STREAM_REST = 1500, /* ns for which pollers skip a stream, */
	STREAM_PACE = 750,  /* if the ns between its records are at most this */
};

/* Read the header of a SHM_PLACED record. Only a whole write with a RETH can be placed. */
static bool placed_read(struct shm_reference *ref, const struct uroce_hdr *hdr,
			uint32_t *ret_length)
{
	static const pkt_flags_t need = PKT_WRITE | PKT_RETH | PKT_START | PKT_END;

	ref->placed = true;
	*ret_length = hdr->dma_len;
	return (hdr_flags(hdr) & need) == need && hdr->dma_len <= UROCE_MAX_MSG_SIZE;
}

/* Copy the header out of the ring before parsing it, because the other side may still write
 * there. */
static int packet_unpack(const uint8_t *data, uint32_t length, struct uroce_packet *pkt)
{
	uint8_t header[ROUND_UP(UROCE_HEADER_MAX, 8)];
	uint32_t known = min_of(length, (uint32_t)sizeof(header));

	memcpy(header, data, known);
	return uroce_wire_unpack(header, length, &pkt->hdr, &pkt->payload.length);
}

/* Unpack a header and the place of its payload. Return: whether they are valid. */
static bool reference_unpack(struct shm_link *link, const struct shm_record *record,
			     uint32_t length, struct uroce_packet *pkt, struct shm_reference *ref)
{
	uint16_t kind = record->kind;
	int header = uroce_opcodes[record->data[0]].header_len;

	if (!header || (uint32_t)header > length)
		return false;
	header = packet_unpack(record->data, header, pkt);
	if (header < 0)
		return false;
	pkt->payload.reference = ref;
	if (kind == SHM_PLACED)
		return placed_read(ref, &pkt->hdr, &pkt->payload.length);
	return shm_reference_read(ref, link, record->data + header, length - header,
				  &pkt->payload.length);
}

static void rx_packet(struct shm_link *link, const struct shm_record *record, uint32_t length,
		      uint64_t now)
{
	struct shm_peer *peer = link->peer;
	struct path_host *host = peer->shm->host;
	struct uroce_packet pkt = { .any_length = true,
				    .path_mtu = record->path_mtu & 7,
				    .payload.path = &peer->shm->path };
	struct shm_reference ref;
	int header;

	if (record->kind == SHM_PACKET) {
		header = packet_unpack(record->data, length, &pkt);
		if (header < 0)
			return;
		pkt.payload.data = record->data + header;
	} else if (!reference_unpack(link, record, length, &pkt, &ref)) {
		return;
	}
	if (record->has_ack) {
		uint32_t ack = record->ack;

		pkt.has_ack = true;
		pkt.ack_psn = ack & PSN_MASK;
		pkt.ack_syndrome = ack >> 24;
	}
	host->events->peer_packet(host, &pkt, peer, link->strand, now);
}

static void forward_seen(struct path_host *host, const struct path_origin *from,
			 const uint8_t *packet, uint32_t length)
{
	const struct path_sight sight = { .route = { .sgid = from->sgid, .dgid = from->dgid },
					  .packet = packet,
					  .length = length };

	host->events->seen(host, &sight);
}

static void rx_forward(struct shm_peer *peer, const struct shm_record *record, uint32_t length,
		       uint64_t now)
{
	struct path_host *host = peer->shm->host;
	struct uroce_packet pkt = {};
	struct path_origin from;
	int header;

	if (length < sizeof(from))
		return;
	memcpy(&from, record->data, sizeof(from));
	header = packet_unpack(record->data + sizeof(from), length - sizeof(from), &pkt);
	if (header < 0)
		return;
	pkt.payload.data = record->data + sizeof(from) + header;
	pkt.grh = from.grh;
	pkt.dgid = &from.dgid;
	pkt.forwarded = from.passed_on;
	if (unlikely(host->capture))
		forward_seen(host, &from, record->data + sizeof(from), length - sizeof(from));
	host->events->packet(host, &pkt, &from.sgid, now);
	if (from.passed_on && pkt.hdr.opcode < UROCE_UC)
		host->events->passed_on(host, &from);
}

/* Offer a packet to the engine before it is unpacked. This suffices for most packets. */
static ALWAYS_INLINE bool bytes_taken(struct path_host *host, struct shm_link *link,
				      const struct shm_record *record, uint32_t length)
{
	return likely(record->kind == SHM_PACKET && length > BTH_LEN) &&
	       host->events->peer_bytes(host, link->peer, link->strand, record->data, length,
					record->has_ack ? record->ack : PATH_NO_ACK);
}

static uint32_t rx_move(struct shm_link *link, uint32_t to_end)
{
	uint32_t next = shm_ring_move(link, link->rx_head);

	if (link->rx_bytes == link->wide_bytes) {
		uroce_shm_corrupt(link->peer, "that there is another ring, which there is not,");
		return to_end;
	}
	if (uroce_shm_rx_widen(link) < 0) {
		uroce_shm_unreadable(link->peer, -ENOMEM);
		return to_end;
	}
	return next - link->rx_head;
}

static void rx_strand(struct shm_link *link, const struct shm_record *record, uint32_t length)
{
	uint32_t strand;
	int r = -EPROTO;

	if (!link->strand && length == sizeof(strand)) {
		memcpy(&strand, record->data, sizeof(strand));
		r = uroce_shm_link_opened(link->peer, strand);
	}
	if (r == -EPROTO)
		uroce_shm_corrupt(link->peer, "that it opens a strand which there is not");
	else if (r < 0)
		uroce_shm_unreadable(link->peer, r);
}

/* Handle a record that has to be unpacked. Records that are no packets of a connected QP arrive by
 * the first strand only. */
static void record_unpack(struct shm_link *link, const struct shm_record *record, uint32_t length,
			  uint64_t now)
{
	uint16_t kind = record->kind;

	if (kind == SHM_FORWARD && !link->strand)
		rx_forward(link->peer, record, length, now);
	else if (kind == SHM_STRAND)
		rx_strand(link, record, length);
	else if (kind != SHM_FORWARD)
		rx_packet(link, record, length, now);
}

/* Take one record. Return: bytes of the ring that it used. */
static ALWAYS_INLINE uint32_t record_take(struct path_host *host, struct shm_link *link,
					  const struct shm_record *record, uint64_t now)
{
	uint32_t to_end = shm_ring_to_end(link->rx_bytes, link->rx_head), length = record->length;

	if (unlikely(record->kind == SHM_SKIP))
		return to_end;
	if (unlikely(record->kind == SHM_MOVE))
		return rx_move(link, to_end);
	if (unlikely(offsetof(struct shm_record, data) + (uint64_t)length > to_end)) {
		uroce_shm_corrupt(link->peer, "a record longer than the ring");
		return to_end;
	}
	/*
	 * The second cache line is still in the producer's cache. Fetch it before the copy needs
	 * it.
	 */
	if (length > SHM_LINE - offsetof(struct shm_record, data))
		__builtin_prefetch((const uint8_t *)record + SHM_LINE);
	if (unlikely(!bytes_taken(host, link, record, length)))
		record_unpack(link, record, length, now);
	return shm_record_lines(length) * SHM_LINE;
}

/*
 * Return false if the ring is empty or if its content cannot be a record. Otherwise take the next
 * record.
 */
static ALWAYS_INLINE bool link_poll(struct path_host *host, struct shm_link *link, uint64_t now)
{
	if (!shm_record_there(link))
		return false;
	link->rx_head += record_take(host, link, shm_record_rx(link), now);
	link->rx_stamp++;
	/* Pairs with shm_ring_look(): the reads of the record are over before the producer may
	 * write there. */
	atomic_store_explicit(&link->rx->tail, link->rx_head, memory_order_release);
	return !link->peer->dead;
}

bool uroce_shm_poll_link(struct shm_link *link, uint64_t now)
{
	return link_poll(link->peer->shm->host, link, now);
}

/*
 * Detect streams, and let their links rest. A consumer that keeps up with a stream reads cache
 * lines next to those that the producer writes. Then the two processors take these lines out of
 * each other's cache, and half of the speed is lost. Therefore a poller that has read all long
 * records of a stream skips the link for a moment. After that it finds several records, if they
 * come fast. Traffic that is answered is no stream.
 */
static void stream_took(struct shm_link *link, unsigned int records)
{
	uint64_t sent = atomic_load_explicit(&link->tx_stamp, memory_order_relaxed), now;
	int answers = min_of(sent - link->rx_answered, (uint64_t)STREAM_MOST);
	int streams = link->rx_streams + (int)records - ANSWER_WEIGHT * answers;

	link->rx_answered = sent;
	link->rx_streams = max_of(0, min_of(streams, STREAM_MOST));
	if (link->rx_streams < STREAM_SURE)
		return;
	now = uroce_now();
	if (now - link->rx_took < (uint64_t)STREAM_PACE * records)
		link->rx_rest = now + STREAM_REST;
	link->rx_took = now;
}

static bool link_rests(struct shm_link *link, uint64_t now)
{
	if (!now && uroce_now() < link->rx_rest)
		return true;
	link->rx_rest = 0;
	return false;
}

/* Take at most @budget records. The caller knows that there is at least one. */
static ALWAYS_INLINE unsigned int link_take(struct path_host *host, struct shm_link *link,
					    unsigned int budget, uint64_t now)
{
	uint32_t head = link->rx_head;
	unsigned int n = 0;

	while (n < budget && link_poll(host, link, now))
		n++;
	if (n && n < budget && link->rx_head - head >= STREAM_RECORD * n)
		stream_took(link, n);
	return n;
}

unsigned int uroce_shm_poll(struct uroce_shm *shm, unsigned int strand, unsigned int budget,
			    uint64_t now)
{
	struct path_host *host = shm->host;
	unsigned int total = 0;
	struct shm_link *link;

	/*
	 * Do not read from a link that is skipped for now. Reading its stamp would take the cache
	 * line from the writer.
	 */
	LIST_FOREACH(link, &shm->links[strand], entry) {
		if (unlikely(link->rx_rest) && link_rests(link, now))
			continue;
		if (shm_record_there(link) && !link->peer->dead)
			total += link_take(host, link, budget, now);
	}
	return total;
}

bool uroce_shm_pending(struct uroce_shm *shm)
{
	struct shm_link *link;

	for (unsigned int i = 0; i < PATH_STRANDS; i++)
		LIST_FOREACH(link, &shm->links[i], entry)
			if (!link->peer->dead && shm_record_there(link))
				return true;
	return false;
}

bool uroce_shm_fences_for_peers(struct uroce_shm *shm)
{
	struct shm_peer *peer;

	LIST_FOREACH(peer, &shm->peers, entry) {
		if (peer->fenced && !peer->dead)
			return true;
	}
	return false;
}

const struct uroce_path_ops uroce_shm_ops = {
	.send = shm_send,
	.fetch = shm_fetch,
	.receiving = shm_receiving,
	.unread = shm_unread,
	.at_work = shm_at_work,
	.rdma = shm_rdma,
};
