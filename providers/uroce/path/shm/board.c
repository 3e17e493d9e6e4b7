/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The board of this process. It shows which QPs receive and send, and which regions peers may
 * access. Therefore peers can perform operations without this process. Packets do not depend on the
 * board: the owner's tables decide about them. If a peer writes to its own mapping of the board, it
 * only deceives itself.
 *
 * A peer announces a copy in the lane first, then reads the board (shm_use.c). This process changes
 * the board first, then reads the lanes. Both sides do so in sequentially consistent order: the
 * peer sees the change, or this process sees the copy and waits for its end.
 */
#include <sched.h>

#include "providers/uroce/path/shm/shm.h"

#define WAIT_SAID 1000000000ull /* ns of waiting until the log names the peer */

/* Return a number that no entry of the board had before. */
static uint32_t edition_next(struct uroce_shm *shm)
{
	uint32_t edition;

	do
		edition = atomic_fetch_add_explicit(&shm->editions, 1, memory_order_relaxed) + 1;
	while (!edition);
	return edition;
}

/* --- copies of peers --- */

/* Selects the uses whose bits in @mask equal @value. */
struct wanted_use {
	uint32_t mask;
	uint32_t value;
};

static bool peer_uses(const struct shm_peer *peer, const struct wanted_use *want)
{
	const atomic_uint *uses = peer->used->use[0];

	/* seq_cst: see above. */
	for (int i = 0; i < PATH_STRANDS * SHM_USES; i++) {
		uint32_t use = atomic_load_explicit(&uses[i], memory_order_seq_cst);

		if (use && (use & want->mask) == want->value)
			return true;
	}
	return false;
}

/*
 * Return whether the process of @slot makes a selected copy. *@ret_pid: its process number. A
 * process that has ended leaves the table when all of its threads are gone. A peer whose rings this
 * process no longer reads may go on copying.
 */
static bool slot_uses(const struct uroce_shm *shm, unsigned int slot, const struct wanted_use *want,
		      pid_t *ret_pid)
{
	const struct shm_peer *peer =
		atomic_load_explicit(&shm->by_slot[slot], memory_order_seq_cst);

	if (!peer || !peer_uses(peer, want))
		return false;
	*ret_pid = peer->pid;
	return true;
}

static bool any_uses(const struct uroce_shm *shm, const struct wanted_use *want, pid_t *ret_pid)
{
	bool used = false;

	for (unsigned int i = 0; i < ARRAY_SIZE(shm->inhabited) && !used; i++) {
		unsigned long long bits = atomic_load(&shm->inhabited[i]);

		for (; bits && !used; bits &= bits - 1)
			used = slot_uses(shm, i * SHM_WORD + __builtin_ctzll(bits), want, ret_pid);
	}
	return used;
}

/* @slot: 0 means any process. */
static bool in_use(struct uroce_shm *shm, unsigned int slot, const struct wanted_use *want,
		   pid_t *ret_pid)
{
	bool used;

	/* Pairs with uroce_board_wait(): peers in the table from here on stay mapped. */
	atomic_fetch_add(&shm->key_readers, 1);
	used = slot ? slot_uses(shm, slot, want, ret_pid) : any_uses(shm, want, ret_pid);
	atomic_fetch_sub(&shm->key_readers, 1);
	return used;
}

void uroce_board_wait(struct uroce_shm *shm)
{
	while (atomic_load(&shm->key_readers))
		sched_yield();
}

/* Wait for the end of all selected copies. A copy takes microseconds. If a process is stopped
 * during a copy, its peer waits until the process continues or ends, because a copy cannot be
 * cancelled. */
static void users_wait(struct uroce_shm *shm, unsigned int slot, const struct wanted_use *want,
		       const char *what, uint32_t number)
{
	unsigned int spins = 0;
	uint64_t since = 0;
	bool said = false;
	pid_t pid = 0;

	while (in_use(shm, slot, want, &pid)) {
		uroce_spin(&spins);
		if (said)
			continue;
		if (!since)
			since = uroce_now();
		said = uroce_now() - since >= WAIT_SAID;
		if (said)
			log_warn(
				"uroce: %s 0x%x ends only when process %d has finished a copy, which it has begun and does not "
				"go on with: is it stopped? It must continue, or end",
				what, number, pid);
	}
}

/* --- QPs --- */

static struct shm_qp *own_entry(struct uroce_shm *shm, uint32_t qpn)
{
	return &shm->board->qps[uroce_qpn_index(qpn)];
}

void uroce_board_qp_show(struct uroce_shm *shm, uint32_t qpn, uint32_t pd, uint32_t state,
			 uint32_t peer_qpn)
{
	struct shm_qp *entry = own_entry(shm, qpn);

	atomic_store_explicit(&entry->pd, pd, memory_order_relaxed);
	atomic_store_explicit(&entry->peer, peer_qpn, memory_order_relaxed);
	/* Pairs with qp_admits() in shm_rdma.c. */
	atomic_store_explicit(&entry->state, state, memory_order_release);
}

void uroce_board_qp_hide(struct uroce_shm *shm, uint32_t qpn)
{
	struct shm_qp *entry = own_entry(shm, qpn);

	/* seq_cst: uroce_board_qp_wait() may follow. */
	if (atomic_load_explicit(&entry->state, memory_order_relaxed))
		atomic_store_explicit(&entry->state, 0, memory_order_seq_cst);
}

bool uroce_board_qp_loses(struct uroce_shm *shm, uint32_t qpn, uint32_t access)
{
	return atomic_load_explicit(&own_entry(shm, qpn)->state, memory_order_relaxed) &
	       SHM_QP_ACCESS & ~access;
}

void uroce_board_qp_sends(struct uroce_shm *shm, uint32_t qpn, bool sends)
{
	struct shm_qp *entry = own_entry(shm, qpn);
	bool did = atomic_load_explicit(&entry->sends, memory_order_relaxed);

	/* seq_cst: uroce_board_qp_wait() may follow. */
	if (sends != did)
		atomic_store_explicit(&entry->sends, sends ? edition_next(shm) : 0,
				      memory_order_seq_cst);
}

static struct wanted_use use_of_qp(uint32_t qpn)
{
	return (struct wanted_use){ SHM_USE_QP, uroce_qpn_index(qpn) };
}

bool uroce_board_qp_used(struct uroce_shm *shm, uint32_t qpn, uint16_t slot)
{
	const struct wanted_use want = use_of_qp(qpn);
	pid_t pid;

	return in_use(shm, slot, &want, &pid);
}

void uroce_board_qp_wait(struct uroce_shm *shm, uint32_t qpn, uint32_t peer_qpn)
{
	const struct wanted_use want = use_of_qp(qpn);
	unsigned int slot = uroce_qpn_slot(peer_qpn);

	if (slot) /* it was connected */
		users_wait(shm, slot, &want, "QP", qpn);
}

/* --- regions --- */

static struct shm_key *key_entry(struct uroce_shm *shm, uint32_t key)
{
	return shm_key_fits(key) ? &shm->board->keys[key >> UROCE_KEY_VARIANT_BITS] : NULL;
}

void uroce_board_key_show(struct uroce_shm *shm, uint32_t key, const struct shm_region *region)
{
	struct shm_key *entry = key_entry(shm, key);

	if (!entry)
		return;
	atomic_store_explicit(&entry->iova, region->iova, memory_order_relaxed);
	atomic_store_explicit(&entry->length, region->length, memory_order_relaxed);
	atomic_store_explicit(&entry->base, region->base, memory_order_relaxed);
	atomic_store_explicit(&entry->pd, region->pd, memory_order_relaxed);
	atomic_store_explicit(&entry->access, region->access, memory_order_relaxed);
	atomic_store_explicit(&entry->segment, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->edition, edition_next(shm), memory_order_relaxed);
	/* Pairs with key_check() in shm_rdma.c and piece_stands() in shm_reference.c: a reader that
	 * sees the key sees its range. */
	atomic_store_explicit(&entry->key, key, memory_order_seq_cst);
}

void uroce_board_key_place(struct uroce_shm *shm, uint32_t key, uint64_t segment, uint64_t place)
{
	struct shm_key *entry = key_entry(shm, key);

	if (!entry)
		return;
	atomic_store_explicit(&entry->place, place, memory_order_relaxed);
	/* Pairs with key_check() in shm_rdma.c: a reader that sees the segment sees the place in
	 * it. */
	atomic_store_explicit(&entry->segment, segment, memory_order_release);
}

void uroce_board_key_hide(struct uroce_shm *shm, uint32_t key)
{
	struct shm_key *entry = key_entry(shm, key);

	/* seq_cst: uroce_board_key_wait() follows. */
	if (entry)
		atomic_store_explicit(&entry->key, 0, memory_order_seq_cst);
}

void uroce_board_key_wait(struct uroce_shm *shm, uint32_t key)
{
	const struct wanted_use want = { ~(uint32_t)SHM_USE_QP, shm_use(key, 0) };

	if (shm_key_fits(key))
		users_wait(shm, 0, &want, "region", key);
}
