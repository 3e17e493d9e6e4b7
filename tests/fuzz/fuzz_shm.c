/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes of a process of the same user into memory that it shares with this one, at any time:
 * records in its ring, the position up to which it has read this side's ring, its board.
 *
 * An input is a list of actions, each a byte and the bytes that it needs.
 */
#include <sys/uio.h>

#include "tests/fuzz/victim.h"

enum action {
	ACTION_RECORD,	 /* a record with any content */
	ACTION_PACKET,	 /* a record with a packet to an existing QP */
	ACTION_TAIL,	 /* how far the peer has read */
	ACTION_TAKE,	 /* the peer reads all */
	ACTION_SCRIBBLE, /* bytes anywhere in the ring that this side writes */
	ACTION_BOARD,	 /* an entry of the peer's board */
	ACTION_POST,
	ACTION_TIME,
	ACTIONS
};

enum {
	RECORD_MAX = 12000,
	FLAG_PSN = 1 << 0,
	FLAG_UNA = 1 << 1,
	FLAG_KEY = 1 << 2,
	FLAG_LENGTH = 1 << 3, /* the length is true */
};

/* --- the other process: it has the memory that it reports, up to an end --- */

static ssize_t vector_length(const struct iovec *iov, unsigned long count)
{
	size_t length = 0;

	for (unsigned long i = 0; i < count; i++)
		length += iov[i].iov_len;
	return length;
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
			 const struct iovec *remote, unsigned long remote_count,
			 unsigned long flags)
{
	if ((uintptr_t)remote->iov_base & 1) {
		errno = EFAULT;
		return -1;
	}
	for (unsigned long i = 0; i < local_count; i++)
		memset(local[i].iov_base, 0x5a, local[i].iov_len);
	return vector_length(local, local_count);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
			  const struct iovec *remote, unsigned long remote_count,
			  unsigned long flags)
{
	return (uintptr_t)remote->iov_base & 1 ? 0 : vector_length(local, local_count);
}

/* --- actions --- */

/* Return the link of a strand by which the peer may send; NULL: there is none. */
static struct shm_link *link_of(unsigned int strand)
{
	struct shm_link *link = strand ? victim.peer.links[strand - 1] : &victim.peer.link;

	return link && link->rx_bytes ? link : NULL;
}

static void opening_write(unsigned int strand)
{
	struct shm_record *record = shm_record_rx(&victim.peer.link);

	record->kind = SHM_STRAND;
	record->has_ack = 0;
	record->length = sizeof(strand);
	memcpy(record->data, &strand, sizeof(strand));
	record->stamp = victim.peer.link.rx_stamp;
	victim_progress(0);
}

/* Return the link that the peer writes to. The peer opens it if needed, as long as this side
 * still accepts that. */
static struct shm_link *link_get(unsigned int strand)
{
	if (!link_of(strand))
		opening_write(strand);
	return link_of(strand) ? link_of(strand) : &victim.peer.link;
}

/* Return how much of the record the ring has room for up to its end. */
static uint32_t record_room(const struct shm_link *link)
{
	return shm_ring_to_end(link->rx_bytes, link->rx_head) - sizeof(struct shm_record);
}

static void put24(uint8_t *p, uint32_t value)
{
	p[0] = value >> 16;
	p[1] = value >> 8;
	p[2] = value;
}

static void record_packet(struct shm_record *record, uint32_t length, uint8_t target, uint8_t flags)
{
	uint32_t at = record->kind == SHM_FORWARD ? sizeof(struct path_origin) : 0;
	const struct uroce_qp *qp = &victim.qp[target % VICTIM_QPS];
	uint32_t rkey = htobe32(victim.mr.vmr.ibv_mr.rkey), reth = BTH_LEN;
	uint8_t *p = record->data + at;

	if (length < at + BTH_LEN)
		return;
	p[1] &= 0xf0;
	put24(p + 5, victim_qpn(target % VICTIM_QPS));
	if (victim_xrc_address(p, length - at)) {
		qp = victim.xrc.shared;
		reth += XRC_ETH_LEN;
	}
	if (flags & FLAG_PSN)
		put24(p + 9, qp->resp.psn);
	else if (flags & FLAG_UNA)
		put24(p + 9, qp->req.una);
	if ((flags & FLAG_KEY) && length >= at + reth + RETH_LEN)
		memcpy(p + reth + 8, &rkey, sizeof(rkey));
}

static uint16_t packet_kind(uint8_t byte)
{
	return byte & 0x40 ? SHM_PLACED : 1 + byte % SHM_STRAND;
}

static void record_write(struct input *in, bool packet)
{
	uint8_t flags = packet ? input_u8(in) : 0, target = packet ? input_u8(in) : 0;
	uint16_t size = input_u16(in), kind = packet ? input_u8(in) : input_u16(in);
	/* The strand of the target queue pair, or any other. */
	unsigned int strand = uroce_qpn_strand(victim_qpn(target % VICTIM_QPS));
	bool other = packet ? target & 0x80 : kind & 0x2000;
	struct shm_link *link = link_get(other ? (packet ? target >> 5 & 3 : kind >> 14) : strand);
	uint32_t length = min_of(size % RECORD_MAX, record_room(link));
	struct shm_record *record = shm_record_rx(link);

	record->kind = packet ? packet_kind(kind) : kind & 0x1fff;
	record->has_ack = input_u8(in);
	record->ack = input_u32(in);
	record->length = packet && (flags & FLAG_LENGTH) ? length : input_u32(in);
	input_bytes(in, record->data, length);
	if (packet)
		record_packet(record, length, target, flags);
	record->stamp = link->rx_stamp;
}

/* Write into the rings by which the victim sends. */
static void ring_scribble(struct input *in)
{
	uint32_t at = input_u32(in);
	struct shm_link *link = &victim.peer.link, *other;

	other = at >> 30 ? victim.peer.links[(at >> 30) - 1] : NULL;
	link = other && other->tx_bytes ? other : link;
	at %= link->tx_bytes;
	input_bytes(in, link->tx_data + at, min_of(64u, link->tx_bytes - at));
}

/* Set the read position of the peer to @tail, or with @all to the end of the written records. */
static void tails_write(bool all, uint32_t tail)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		struct shm_link *link = i ? victim.peer.links[i - 1] : &victim.peer.link;

		if (link)
			link->tx->tail = all ? link->tx_head : tail;
	}
}

static void board_write(struct input *in)
{
	uint8_t which = input_u8(in);
	struct shm_qp *qp =
		&victim.peer_board->qps[uroce_qpn_index(victim_peer_qpn(which % VICTIM_QPS))];
	struct shm_key *key = &victim.peer_board->keys[input_u16(in) % SHM_KEYS];

	qp->pd = input_u8(in);
	qp->state = input_u32(in);
	qp->peer = which & 0x80 ? victim_qpn(which % VICTIM_QPS) : input_u32(in);
	key->key = input_u32(in);
	victim.peer.used->use[which / SHM_USES % PATH_STRANDS][which % SHM_USES] = input_u32(in);
	key->access = input_u32(in);
	key->pd = qp->pd;
	key->iova = input_u64(in);
	key->length = input_u64(in);
	key->base = input_u64(in);
	victim.peer_board->first_page.sleeping = input_u8(in);
}

static void act(enum action action, struct input *in)
{
	switch (action) {
	case ACTION_RECORD:
	case ACTION_PACKET:
		record_write(in, action == ACTION_PACKET);
		break;
	case ACTION_TAIL:
		tails_write(false, input_u32(in));
		break;
	case ACTION_TAKE:
		tails_write(true, 0);
		break;
	case ACTION_SCRIBBLE:
		ring_scribble(in);
		break;
	case ACTION_BOARD:
		board_write(in);
		break;
	case ACTION_POST:
		victim_post(input_u8(in) % VICTIM_QPS, in);
		break;
	case ACTION_TIME:
	case ACTIONS:
		break;
	}
	victim_progress(action == ACTION_TIME ? input_u16(in) * 100000ull : 1000);
}

/* Set up the first rings, with which peers begin. */
static void first_rings(void)
{
	victim.peer.lane->ring[0].seed = victim.peer.lane->ring[1].seed = 1;
	uroce_shm_rings_begin(&victim.peer, 0, 1);
}

/*
 * The peer finishes its copies. An object that the peer copies from or to ends only after that, so
 * a copy that never ends would stop victim_end().
 */
static void copies_end(void)
{
	for (unsigned int i = 0; i < PATH_STRANDS; i++) {
		for (unsigned int j = 0; j < SHM_USES; j++)
			victim.peer.used->use[i][j] = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };

	victim_begin(true, size && data[size - 1] & 2);
	if (size && data[size - 1] & 1)
		first_rings();
	for (int i = 0; i < 64 && in.size; i++)
		act(input_u8(&in) % ACTIONS, &in);
	copies_end();
	victim_end();
	return 0;
}
