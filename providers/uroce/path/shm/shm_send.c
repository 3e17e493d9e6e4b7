/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The producer side of the rings: records with copied packets or with references. */
#include <string.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

static void record_begin(struct shm_record *record, enum shm_kind kind, const struct uroce_av *av,
			 const struct uroce_tx *tx)
{
	record->kind = kind;
	record->path_mtu = av->path_mtu;
	record->has_ack = tx->has_ack;
	if (tx->has_ack)
		record->ack = (uint32_t)tx->ack_syndrome << 24 | (tx->ack_psn & PSN_MASK);
}

static int payload_copy(struct shm_link *link, uint8_t *dst, const struct uroce_tx *tx)
{
	for (int i = 0; i < tx->iovcnt; i++) {
		int r = uroce_shm_record_copy(link, dst, tx->iov[i].iov_base, tx->iov[i].iov_len);

		if (r < 0)
			return r;
		dst += tx->iov[i].iov_len;
	}
	return 0;
}

static int send_copied(struct shm_link *link, const struct uroce_av *av, const struct uroce_tx *tx)
{
	uint32_t header = uroce_opcodes[tx->hdr->opcode].header_len;
	uint32_t pad = uroce_wire_pad(tx->length);
	struct shm_record *record = shm_record_begin(link, header + tx->length + pad);
	int r;

	if (!record)
		return -EAGAIN;
	record_begin(record, SHM_PACKET, av, tx);
	uroce_wire_pack(tx->hdr, tx->length, record->data);
	r = payload_copy(link, record->data + header, tx);
	if (r < 0)
		return r; /* never committed */
	shm_record_commit(link, record, header + tx->length + pad);
	return 0;
}

static int send_reference(struct shm_link *link, const struct uroce_av *av,
			  const struct uroce_tx *tx)
{
	uint32_t header = uroce_opcodes[tx->hdr->opcode].header_len;
	uint32_t size = shm_reference_size(tx);
	struct shm_record *record = shm_record_begin(link, header + size);

	if (!record)
		return -EAGAIN;
	record_begin(record, SHM_REFERENCE, av, tx);
	uroce_wire_pack(tx->hdr, 0, record->data);
	shm_reference_write(link, tx, record->data + header);
	shm_record_commit(link, record, header + size);
	return 0;
}

static int send_placed(struct shm_link *link, const struct uroce_av *av, const struct uroce_tx *tx)
{
	uint32_t header = uroce_opcodes[tx->hdr->opcode].header_len;
	struct shm_record *record = shm_record_begin(link, header);

	if (!record)
		return -EAGAIN;
	record_begin(record, SHM_PLACED, av, tx);
	uroce_wire_pack(tx->hdr, 0, record->data);
	shm_record_commit(link, record, header);
	return 0;
}

static int send_datagram(struct shm_link *link, const struct uroce_av *av,
			 const struct uroce_tx *tx)
{
	uint32_t header = uroce_opcodes[tx->hdr->opcode].header_len;
	uint32_t length = header + tx->length + uroce_wire_pad(tx->length);
	struct path_origin from = { .sgid = av->route.sgid, .dgid = av->route.dgid };
	struct shm_record *record = shm_record_begin(link, sizeof(from) + length);
	int r;

	if (!record)
		return -EAGAIN;
	uroce_grh_fill(&av->route, length, from.grh);
	record->kind = SHM_FORWARD;
	record->has_ack = 0;
	memcpy(record->data, &from, sizeof(from));
	uroce_wire_pack(tx->hdr, tx->length, record->data + sizeof(from));
	r = payload_copy(link, record->data + sizeof(from) + header, tx);
	if (r < 0)
		return r;
	shm_record_commit(link, record, sizeof(from) + length);
	return 0;
}

/* Return the link of the packet's strand. The first packet opens it. */
static int link_find(struct shm_peer *peer, const struct uroce_tx *tx, struct shm_link **ret_link)
{
	unsigned int strand = uroce_qpn_strand(tx->hdr->dest_qpn);
	int r;

	*ret_link = shm_peer_link(peer, strand);
	if (likely(*ret_link))
		return 0;
	r = uroce_shm_link_open(peer, strand);
	*ret_link = shm_peer_link(peer, strand);
	return r;
}

int shm_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	bool datagram = hdr_flags(tx->hdr) & PKT_DETH;
	struct shm_peer *peer = av->peer;
	struct shm_link *link = &peer->link;
	int r = 0;

	if (unlikely(peer->dead))
		return -ENETUNREACH;
	if (likely(!datagram))
		r = link_find(peer, tx, &link);
	if (unlikely(r < 0))
		return r == -EAGAIN ? r : -ENETUNREACH;
	uroce_lock(&link->tx_lock);
	if (unlikely(datagram))
		r = send_datagram(link, av, tx);
	else if (tx->placed)
		r = send_placed(link, av, tx);
	else
		r = tx->length > SHM_SEGMENT ? send_reference(link, av, tx)
					     : send_copied(link, av, tx);
	uroce_unlock(&link->tx_lock);
	return r;
}

uint32_t shm_unread(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		    uint32_t *mark, bool anew)
{
	struct shm_peer *peer = av->peer;
	struct shm_link *link = shm_peer_link(peer, uroce_qpn_strand(dest_qpn));
	uint32_t unread;

	if (peer->dead || !link)
		return 0;
	uroce_lock(&link->tx_lock);
	if (anew)
		*mark = link->tx_head;
	shm_ring_look(link);
	unread = *mark - link->tx_tail;
	/* The peer has read past an old mark, which is no longer in the ring. */
	if (unread > link->tx_head - link->tx_tail)
		unread = 0;
	uroce_unlock(&link->tx_lock);
	return unread;
}

int uroce_shm_forward(struct uroce_shm *shm, uint16_t slot, const struct path_origin *from,
		      const void *packet, uint32_t length)
{
	struct shm_peer *peer = atomic_load_explicit(&shm->by_slot[slot], memory_order_acquire);
	struct shm_record *record;
	struct shm_link *link;

	if (!peer || peer->dead || !uroce_shm_lives(peer->first_page) || length > SHM_SEGMENT)
		return -ENOENT;
	link = &peer->link;
	uroce_lock(&link->tx_lock);
	record = shm_record_begin(link, sizeof(*from) + length);
	if (record) {
		record->kind = SHM_FORWARD;
		record->has_ack = 0;
		memcpy(record->data, from, sizeof(*from));
		memcpy(record->data + sizeof(*from), packet, length);
		shm_record_commit(link, record, sizeof(*from) + length);
		peer->handed = true;
	}
	uroce_unlock(&link->tx_lock);
	return record ? 0 : -EAGAIN; /* a datagram may be lost, and its requester sends it again */
}

/*
 * A complete peer reads the rings of a process that ends. A peer does not read them before its
 * handshake is complete.
 */
bool uroce_shm_forwarded(struct uroce_shm *shm)
{
	struct shm_peer *peer;

	path_assert_inside(shm->host);
	LIST_FOREACH(peer, &shm->peers, entry)
		if (peer->handed && !peer->dead && !shm_peer_ready(peer))
			return false;
	return true;
}
