/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections by the ids in messages and by their deadlines. */
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/table.h"
#include "util/util.h"

enum {
	INDEX_BITS = 16,
	PLACES = 1 << INDEX_BITS, /* a communication id has prefix, generation, index */
	GENERATION_SHIFT = INDEX_BITS,
	PREFIX_SHIFT = 32 - VERBS_GSI_PREFIX_BITS,
	GENERATIONS = 1 << (PREFIX_SHIFT - GENERATION_SHIFT),
	BUCKETS = 1 << 12,
};

LIST_HEAD(id_list, ibcm_id);

static struct {
	struct {
		struct ibcm_id *iid;
		uint32_t next_free; /* index + 1; 0: the last */
		uint8_t generation;
	} place[PLACES];
	/*
	 * The places that were ever used. The first place is random: connections of an earlier
	 * process with the same prefix may still be in the time wait of their peers.
	 */
	uint32_t first, used;
	uint32_t taken;
	/* list of free places, oldest first, so that an id is not used again soon */
	uint32_t first_free, last_free;
	struct id_list by_peer[BUCKETS], by_qpn[BUCKETS];
	struct ibcm_id **heap; /* from 1 on */
	uint32_t heap_count, heap_room;
} table;

/* --- communication ids --- */

static uint32_t place_used(uint32_t n)
{
	return (table.first + n) % PLACES;
}

static uint32_t place_take(void)
{
	uint32_t index;

	/*
	 * Take places that were never used first, then released places in the order of their
	 * release.
	 */
	if (!table.used)
		table.first = ibcm_random();
	if (table.used < PLACES) {
		index = place_used(table.used++);
		table.place[index].generation = ibcm_random();
		return index;
	}
	if (!table.first_free)
		return PLACES;
	index = table.first_free - 1;
	table.first_free = table.place[index].next_free;
	if (!table.first_free)
		table.last_free = 0;
	return index;
}

static void place_give(uint32_t index)
{
	table.place[index].iid = NULL;
	table.place[index].next_free = 0;
	if (table.last_free)
		table.place[table.last_free - 1].next_free = index + 1;
	else
		table.first_free = index + 1;
	table.last_free = index + 1;
}

int ibcm_table_add(struct ibcm_id *iid, uint16_t prefix)
{
	uint32_t index = place_take();

	if (index == PLACES)
		return -EUSERS;
	table.place[index].iid = iid;
	table.place[index].generation++;
	iid->conn.local_id =
		(uint32_t)prefix << PREFIX_SHIFT |
		(uint32_t)(table.place[index].generation % GENERATIONS) << GENERATION_SHIFT | index;
	iid->in_table = true;
	table.taken++;
	return 0;
}

struct ibcm_id *ibcm_table_find(uint32_t local_id)
{
	struct ibcm_id *iid = table.place[local_id % PLACES].iid;

	return iid && iid->conn.local_id == local_id ? iid : NULL;
}

void ibcm_table_each(void (*fn)(struct ibcm_id *iid, void *arg), void *arg)
{
	for (uint32_t n = 0; n < table.used; n++) {
		struct ibcm_id *iid = table.place[place_used(n)].iid;

		if (iid)
			fn(iid, arg);
	}
}

uint32_t ibcm_table_room(void)
{
	return PLACES - table.taken;
}

/* --- by the peer's ids, which the peer chooses --- */

/*
 * Hash by sums of products with secret words (NH of UMAC): a peer can only guess which inputs
 * collide. That holds for all 64 bits of a sum, but callers use only a few bits. Therefore the last
 * lines make each bit depend on all 64 bits.
 */
uint32_t ibcm_hash(const union ibv_gid *gid, uint64_t guid, uint32_t number)
{
	static uint32_t seed[8];
	uint32_t word[8] = { [4] = guid >> 32, guid, number };
	uint64_t sum = 0;

	for (unsigned int i = 0; !seed[7] && i < ARRAY_SIZE(seed); i++)
		seed[i] = ibcm_random() | 1;
	memcpy(word, gid->raw, sizeof(gid->raw));
	for (unsigned int i = 0; i < ARRAY_SIZE(word); i += 2)
		sum += (uint64_t)(word[i] + seed[i]) * (word[i + 1] + seed[i + 1]);
	sum = (sum ^ sum >> 32) * 0x9e3779b97f4a7c15;
	sum = (sum ^ sum >> 29) * 0x9e3779b97f4a7c15;
	return sum >> 32;
}

static uint32_t bucket_of(const union ibv_gid *gid, uint64_t guid, uint32_t number)
{
	return ibcm_hash(gid, guid, number) % BUCKETS;
}

void ibcm_table_add_peer(struct ibcm_id *iid)
{
	const struct ibcm_conn *conn = &iid->conn;

	if (iid->by_peer)
		return;
	LIST_INSERT_HEAD(
		&table.by_peer[bucket_of(&iid->remote_gid, conn->remote_guid, conn->remote_id)],
		iid, peer_entry);
	LIST_INSERT_HEAD(
		&table.by_qpn[bucket_of(&iid->remote_gid, conn->remote_guid, conn->qp.remote_qpn)],
		iid, qpn_entry);
	iid->by_peer = true;
}

void ibcm_table_remove_peer(struct ibcm_id *iid)
{
	if (!iid->by_peer)
		return;
	LIST_REMOVE(iid, peer_entry);
	LIST_REMOVE(iid, qpn_entry);
	iid->by_peer = false;
}

static bool is_of(const struct ibcm_id *iid, const union ibv_gid *gid, uint64_t guid)
{
	return iid->conn.remote_guid == guid && !memcmp(&iid->remote_gid, gid, sizeof(*gid));
}

struct ibcm_id *ibcm_table_find_peer(const union ibv_gid *gid, uint64_t guid, uint32_t remote_id)
{
	struct ibcm_id *iid;

	LIST_FOREACH(iid, &table.by_peer[bucket_of(gid, guid, remote_id)], peer_entry)
		if (iid->conn.remote_id == remote_id && is_of(iid, gid, guid))
			return iid;
	return NULL;
}

struct ibcm_id *ibcm_table_find_qpn(const union ibv_gid *gid, uint64_t guid, uint32_t qpn)
{
	struct ibcm_id *iid;

	LIST_FOREACH(iid, &table.by_qpn[bucket_of(gid, guid, qpn)], qpn_entry)
		if (iid->conn.qp.remote_qpn == qpn && is_of(iid, gid, guid))
			return iid;
	return NULL;
}

/* --- the heap of deadlines --- */

static void heap_set(uint32_t place, struct ibcm_id *iid)
{
	table.heap[place] = iid;
	iid->heap_place = place;
}

static void heap_up(uint32_t place)
{
	struct ibcm_id *iid = table.heap[place];

	for (; place > 1 && table.heap[place / 2]->conn.deadline > iid->conn.deadline; place /= 2)
		heap_set(place, table.heap[place / 2]);
	heap_set(place, iid);
}

static void heap_down(uint32_t place)
{
	struct ibcm_id *iid = table.heap[place];

	for (uint32_t child; (child = 2 * place) <= table.heap_count; place = child) {
		if (child < table.heap_count &&
		    table.heap[child + 1]->conn.deadline < table.heap[child]->conn.deadline)
			child++;
		if (table.heap[child]->conn.deadline >= iid->conn.deadline)
			break;
		heap_set(place, table.heap[child]);
	}
	heap_set(place, iid);
}

static void heap_remove(struct ibcm_id *iid)
{
	uint32_t place = iid->heap_place;
	struct ibcm_id *last;

	if (!place)
		return;
	iid->heap_place = 0;
	last = table.heap[table.heap_count--];
	if (last == iid)
		return;
	heap_set(place, last);
	heap_up(place);
	heap_down(last->heap_place);
}

static int heap_room(void)
{
	uint32_t room = table.heap_room ? 2 * table.heap_room : 64;
	struct ibcm_id **heap;

	if (table.heap_count + 1 < table.heap_room)
		return 0;
	heap = realloc(table.heap, room * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	table.heap = heap;
	table.heap_room = room;
	return 0;
}

int ibcm_heap_update(struct ibcm_id *iid)
{
	if (!iid->conn.deadline) {
		heap_remove(iid);
		return 0;
	}
	if (!iid->heap_place) {
		int r = heap_room();

		if (r < 0)
			return r;
		heap_set(++table.heap_count, iid);
	}
	heap_up(iid->heap_place);
	heap_down(iid->heap_place);
	return 0;
}

struct ibcm_id *ibcm_heap_first(void)
{
	return table.heap_count ? table.heap[1] : NULL;
}

void ibcm_table_remove(struct ibcm_id *iid)
{
	heap_remove(iid);
	ibcm_table_remove_peer(iid);
	if (!iid->in_table)
		return;
	place_give(iid->conn.local_id % PLACES);
	table.taken--;
	iid->in_table = false;
}
