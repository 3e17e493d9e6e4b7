/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One-sided operations: the initiator accesses the memory of the peer without its help. */
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"
#include "providers/uroce/path/shm/shm_memory.h"

/*
 * Check that the target's key, which is in use, admits the range. If it does not, send packets: the
 * key may be a memory window or may not be on the board, and packets also report a real refusal
 * exactly.
 */
static int key_check(const struct shm_key *key, const struct uroce_rdma *rdma, uint32_t pd,
		     uint32_t need, struct shm_place *ret_at)
{
	uint32_t rkey = rdma->rkey, length = rdma->length;
	uint64_t iova, size, addr = rdma->remote_addr;

	/* Pairs with uroce_board_key_hide(): the owner sees this use, or this thread sees the key
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

/* Return the state of a QP of the target, or 0 if it is not connected to @own_qpn. */
static uint32_t qp_state(const struct shm_qp *qp, uint32_t own_qpn)
{
	/* Pairs with uroce_board_qp_hide(): the owner sees this use, or this thread sees the QP
	 * gone. */
	uint32_t state = atomic_load_explicit(&qp->state, memory_order_seq_cst);

	return atomic_load_explicit(&qp->peer, memory_order_relaxed) == own_qpn ? state : 0;
}

/*
 * Return whether the target's board shows its QP as connected to this one, granting @need. If PSNs
 * or MTUs of the two differ, packets fail as on a network.
 */
static bool qp_admits(const struct shm_qp *qp, const struct uroce_rdma *rdma, uint32_t need)
{
	uint32_t state = qp_state(qp, rdma->own_qpn);

	need |= SHM_QP_READY;
	return (state & need) == need &&
	       (state >> SHM_QP_PSN & PSN_MASK) == (rdma->sq_psn & PSN_MASK) &&
	       !path_mtu_fails(state >> SHM_QP_MTU & 7, rdma->path_mtu, rdma->length);
}

bool shm_receiving(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn,
		   uint32_t own_qpn)
{
	struct shm_peer *peer = av->peer;
	const struct shm_board *board;
	bool receiving;

	if (peer->dead || !uroce_shm_lives(peer->first_page))
		return false;
	board = uroce_shm_board_borrow(peer);
	receiving = board && qp_state(&board->qps[uroce_qpn_index(dest_qpn)], own_qpn);
	uroce_shm_board_return(peer, board);
	return receiving;
}

bool shm_at_work(struct uroce_path *path, const struct uroce_av *av, uint32_t own_qpn)
{
	const struct shm_peer *peer = av->peer;

	return uroce_board_qp_used(peer->shm, own_qpn, peer->slot);
}

/* Perform the operation by copies of the kernel. They cannot do atomic operations. */
static int kernel_rdma(const struct shm_peer *peer, uint64_t base, const struct uroce_rdma *rdma)
{
	if (uroce_rdma_atomic(rdma) || (rdma->length >= SHM_REF_MIN && shm_memory_slow()))
		return -EOPNOTSUPP;
	return rdma->kind == UROCE_RDMA_WRITE
		       ? uroce_vm_write(peer->pid, rdma->iov, rdma->iovcnt, base, rdma->length)
		       : uroce_vm_read(peer->pid, rdma->iov, rdma->iovcnt, base, rdma->length);
}

/* Check and perform an operation. Under a use of the target's key and QP. */
static int used_rdma(struct shm_peer *peer, const struct shm_board *board,
		     const struct uroce_rdma *rdma)
{
	static const uint32_t needs[] = { [UROCE_RDMA_READ] = IBV_ACCESS_REMOTE_READ,
					  [UROCE_RDMA_WRITE] = IBV_ACCESS_REMOTE_WRITE,
					  [UROCE_RDMA_CMP_SWAP] = IBV_ACCESS_REMOTE_ATOMIC,
					  [UROCE_RDMA_FETCH_ADD] = IBV_ACCESS_REMOTE_ATOMIC };
	const struct shm_key *key = &board->keys[rdma->rkey >> UROCE_KEY_VARIANT_BITS];
	const struct shm_qp *qp = &board->qps[uroce_qpn_index(rdma->dest_qpn)];
	uint32_t need = needs[rdma->kind];
	struct shm_place at;
	int r;

	if (!qp_admits(qp, rdma, need))
		return -EOPNOTSUPP;
	r = key_check(key, rdma, atomic_load_explicit(&qp->pd, memory_order_relaxed), need, &at);
	if (r < 0)
		return r;
	r = at.segment || peer->self ? uroce_map_rdma(peer, &at, rdma) : -EOPNOTSUPP;
	return r == -EOPNOTSUPP ? kernel_rdma(peer, at.base, rdma) : r;
}

int shm_rdma(struct uroce_path *path, const struct uroce_av *av, const struct uroce_rdma *rdma)
{
	struct shm_peer *peer = av->peer;
	const struct shm_board *board;
	atomic_uint *use;
	int r;

	if (peer->dead || !rdma->length || !shm_key_fits(rdma->rkey) ||
	    !uroce_shm_lives(peer->first_page) || !shm_life_reads(peer))
		return -EOPNOTSUPP;
	board = uroce_shm_board(peer);
	use = board ? shm_use_begin(peer, uroce_qpn_strand(rdma->own_qpn), rdma->rkey,
				    rdma->dest_qpn)
		    : NULL;
	if (!use)
		return -EOPNOTSUPP;
	r = used_rdma(peer, board, rdma);
	shm_use_end(use);
	if (r == -EFAULT && uroce_rdma_atomic(rdma))
		return r;
	/*
	 * If a page is missing, this process does not know on which side. The request is then sent
	 * in packets, which find the side. A copy counts only if the peer still lives, because only
	 * then the memory certainly belonged to the peer.
	 */
	return !r && uroce_shm_lives(peer->first_page) ? 0 : -EOPNOTSUPP;
}
