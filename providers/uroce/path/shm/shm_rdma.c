/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One-sided operations, by the initiator alone: in the memory of the peer, which takes no part. */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_memory.h"

/* Threads of different strands do not take each other's line. */
static atomic_uint *use_begin(struct shm_peer *peer, unsigned int strand, uint32_t rkey)
{
	atomic_uint *uses = peer->uses->key[strand];

	for (int i = 0; i < SHM_USES; i++) {
		unsigned int unused = 0;

		/* seq_cst: see key_begin(). */
		if (atomic_compare_exchange_strong_explicit(
			    &uses[i], &unused, rkey, memory_order_seq_cst, memory_order_relaxed))
			return &uses[i];
	}
	return NULL;
}

static void use_end(atomic_uint *use)
{
	/* Pairs with peer_uses() in board.c: the copy is over. */
	atomic_store_explicit(use, 0, memory_order_release);
}

/* The target's key, in use, admits the range. */
static int key_check(struct shm_peer *peer, const struct uroce_rdma *rdma, uint32_t pd,
		     uint32_t need, struct shm_place *ret_at)
{
	uint32_t rkey = rdma->rkey, length = rdma->length;
	const struct shm_key *key = &uroce_shm_board(peer)->keys[rkey >> UROCE_KEY_VARIANT_BITS];
	uint64_t iova, size, addr = rdma->remote_addr;

	/* Pairs with the owner taking the key back: either it sees this use, or we see the key
	 * gone. */
	if (atomic_load_explicit(&key->key, memory_order_seq_cst) != rkey)
		return -EOPNOTSUPP;
	iova = atomic_load_explicit(&key->iova, memory_order_relaxed);
	size = atomic_load_explicit(&key->length, memory_order_relaxed);
	if (atomic_load_explicit(&key->pd, memory_order_relaxed) != pd ||
	    !(atomic_load_explicit(&key->access, memory_order_relaxed) & need))
		return -EOPNOTSUPP;
	if (addr < iova || addr - iova > size || length > size - (addr - iova))
		return -EOPNOTSUPP;
	ret_at->base = atomic_load_explicit(&key->base, memory_order_relaxed) + (addr - iova);
	/* Pairs with uroce_board_key_place(). */
	ret_at->segment = atomic_load_explicit(&key->segment, memory_order_acquire);
	ret_at->place = atomic_load_explicit(&key->place, memory_order_relaxed) + (addr - iova);
	return 0;
}

/* Takes a use of the key on success: use_end() gives it back. Otherwise packets give the exact
 * answer: a window, a key not shown, or a real refusal. */
static int key_begin(struct shm_peer *peer, const struct uroce_rdma *rdma, uint32_t pd,
		     uint32_t need, atomic_uint **ret_use, struct shm_place *ret_at)
{
	uint32_t rkey = rdma->rkey;
	atomic_uint *use;
	int r;

	if (!rkey || rkey >> UROCE_KEY_VARIANT_BITS >= SHM_KEYS)
		return -EOPNOTSUPP;
	use = use_begin(peer, uroce_qpn_strand(rdma->own_qpn), rkey);
	if (!use)
		return -EOPNOTSUPP;
	r = key_check(peer, rdma, pd, need, ret_at);
	if (r < 0)
		use_end(use);
	else
		*ret_use = use;
	return r;
}

static const struct shm_qp *board_qp(struct shm_peer *peer, uint32_t qpn)
{
	const struct shm_board *board = uroce_shm_board(peer);

	return board ? &board->qps[uroce_qpn_index(qpn)] : NULL;
}

/* The target shows that its QP is connected to this one, and grants @need. */
static bool qp_admits(const struct shm_qp *qp, uint32_t own_qpn, uint32_t need)
{
	need |= SHM_QP_READY;
	return (atomic_load_explicit(&qp->access, memory_order_acquire) & need) == need &&
	       atomic_load_explicit(&qp->peer, memory_order_relaxed) == own_qpn;
}

bool shm_receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		   uint32_t own_qpn)
{
	struct shm_peer *peer = av->peer;
	const struct shm_board *board;
	bool receiving;

	if (peer->dead || !uroce_shm_lives(peer->front))
		return false;
	board = uroce_shm_board_borrow(peer);
	receiving = board && qp_admits(&board->qps[uroce_qpn_index(dest_qpn)], own_qpn, 0);
	uroce_shm_board_return(peer, board);
	return receiving;
}

/* What the kernel copies: it has no atomics. */
static int kernel_rdma(const struct shm_peer *peer, uint64_t base, const struct uroce_rdma *rdma)
{
	if (uroce_rdma_atomic(rdma) || (rdma->length >= SHM_REF_MIN && shm_memory_slow()))
		return -EOPNOTSUPP;
	return rdma->kind == UROCE_RDMA_WRITE
		       ? uroce_vm_write(peer->pid, rdma->iov, rdma->iovcnt, base, rdma->length)
		       : uroce_vm_read(peer->pid, rdma->iov, rdma->iovcnt, base, rdma->length);
}

int shm_rdma(struct uroce_path *path, const struct uroce_av *av, const struct uroce_rdma *rdma)
{
	static const uint32_t needs[] = { [UROCE_RDMA_READ] = IBV_ACCESS_REMOTE_READ,
					  [UROCE_RDMA_WRITE] = IBV_ACCESS_REMOTE_WRITE,
					  [UROCE_RDMA_CMP_SWAP] = IBV_ACCESS_REMOTE_ATOMIC,
					  [UROCE_RDMA_FETCH_ADD] = IBV_ACCESS_REMOTE_ATOMIC };
	uint32_t need = needs[rdma->kind];
	struct shm_peer *peer = av->peer;
	const struct shm_qp *qp;
	struct shm_place at;
	atomic_uint *use;
	int r;

	if (peer->dead || !rdma->length || !uroce_shm_lives(peer->front) || !shm_life_reads(peer))
		return -EOPNOTSUPP;
	qp = board_qp(peer, rdma->dest_qpn);
	if (!qp || !qp_admits(qp, rdma->own_qpn, need))
		return -EOPNOTSUPP;
	r = key_begin(peer, rdma, atomic_load_explicit(&qp->pd, memory_order_relaxed), need, &use,
		      &at);
	if (r < 0)
		return r;
	r = at.segment || peer->self ? uroce_map_rdma(peer, &at, rdma) : -EOPNOTSUPP;
	if (r == -EOPNOTSUPP)
		r = kernel_rdma(peer, at.base, rdma);
	use_end(use);
	if (r == -EFAULT && uroce_rdma_atomic(rdma))
		return r;
	/* A page may be missing on one of the sides: the packets' way finds out whose. And what was
	 * copied is done only if the peer still lives: then it was its memory. */
	return !r && uroce_shm_lives(peer->front) ? 0 : -EOPNOTSUPP;
}
