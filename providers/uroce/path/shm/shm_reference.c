/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Payloads that travel as a reference: the receiver fetches them once from the sender's memory,
 * straight into its buffer (process_vm_readv). A reference is valid while the sender's QP goes on
 * sending and the regions of its pieces are registered. The receiver announces the read
 * (shm_use.c), then reads the sender's board. Therefore the sender can end both and wait.
 */
#include <string.h>
#include <sys/uio.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_hello.h"

/* --- the sender --- */

uint32_t shm_reference_size(const struct uroce_tx *tx)
{
	return sizeof(struct shm_source) + tx->iovcnt * sizeof(struct shm_piece);
}

/*
 * Return the edition of a key. If the board has no room for the key, the receiver refuses the
 * reference, and the sender sends the payload again in packets.
 */
static uint32_t key_edition(const struct shm_board *board, uint32_t key)
{
	if (!shm_key_fits(key))
		return 0;
	return atomic_load_explicit(&board->keys[key >> UROCE_KEY_VARIANT_BITS].edition,
				    memory_order_relaxed);
}

/* The QP's lock and the keys are held, so sends and editions do not change meanwhile. */
void shm_reference_write(struct shm_link *link, const struct uroce_tx *tx, uint8_t *to)
{
	const struct shm_board *board = link->peer->shm->board;
	const struct shm_source source = {
		.qpn = tx->own_qpn,
		.sends = atomic_load_explicit(&board->qps[uroce_qpn_index(tx->own_qpn)].sends,
					      memory_order_relaxed),
	};

	memcpy(to, &source, sizeof(source));
	to += sizeof(source);
	for (int i = 0; i < tx->iovcnt; i++, to += sizeof(struct shm_piece)) {
		const struct shm_piece piece = {
			.iov = tx->iov[i],
			.key = tx->lkeys[i],
			.edition = key_edition(board, tx->lkeys[i]),
		};

		memcpy(to, &piece, sizeof(piece));
	}
}

/* --- the receiver --- */

bool shm_reference_read(struct shm_reference *ref, struct shm_link *link, const uint8_t *data,
			uint32_t size, uint32_t *ret_length)
{
	uint32_t rest = size - sizeof(ref->source);
	uint64_t total = 0;

	if (size < sizeof(ref->source))
		return false;
	ref->peer = link->peer;
	ref->strand = link->strand;
	ref->placed = false;
	ref->count = rest / sizeof(struct shm_piece);
	if (!ref->count || ref->count > UROCE_MAX_SGE || rest % sizeof(struct shm_piece))
		return false;
	memcpy(&ref->source, data, sizeof(ref->source));
	memcpy(ref->pieces, data + sizeof(ref->source), rest);
	for (int i = 0; i < ref->count; i++) {
		if (ref->pieces[i].iov.iov_len > UROCE_MAX_MSG_SIZE)
			return false;
		total += ref->pieces[i].iov.iov_len;
	}
	*ret_length = total;
	return total <= UROCE_MAX_MSG_SIZE;
}

/* Return whether the sender's QP still sends, and from the same region as in the reference. */
static bool piece_stands(const struct shm_board *board, const struct shm_reference *ref,
			 const struct shm_piece *piece)
{
	const struct shm_qp *qp = &board->qps[uroce_qpn_index(ref->source.qpn)];
	const struct shm_key *key = &board->keys[piece->key >> UROCE_KEY_VARIANT_BITS];

	/* Pairs with uroce_board_qp_sends() and uroce_board_key_hide(): the owner sees this use, or
	 * this thread sees that the permission has ended. */
	return ref->source.sends &&
	       atomic_load_explicit(&qp->sends, memory_order_seq_cst) == ref->source.sends &&
	       atomic_load_explicit(&key->key, memory_order_seq_cst) == piece->key &&
	       atomic_load_explicit(&key->edition, memory_order_relaxed) == piece->edition;
}

/*
 * Find out whose memory failed. If this process can read the source into a local page, the fault
 * was in its own memory.
 */
static int fetch_failed(pid_t pid, uintptr_t from, size_t length)
{
	uint8_t page[4096];

	for (size_t at = 0, part; at < length; at += part) {
		struct iovec local = { page, 0 }, remote = { (void *)(from + at), 0 };

		part = min_of(sizeof(page), length - at);
		local.iov_len = remote.iov_len = part;
		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)part)
			return -ESTALE;
	}
	return -EFAULT;
}

/*
 * Copy @length bytes of a piece, from byte @skip on. The caller has announced a use of the piece.
 */
static int piece_copy(const struct shm_reference *ref, const struct shm_piece *piece, size_t skip,
		      uint8_t *to, size_t length)
{
	const struct shm_board *board = uroce_shm_board(ref->peer);
	/* an address in the sender, never a pointer of this process */
	uintptr_t from = (uintptr_t)piece->iov.iov_base + skip;
	const struct iovec local = { to, length };

	if (!board || !piece_stands(board, ref, piece))
		return -ESTALE;
	if (uroce_vm_read(ref->peer->pid, &local, 1, from, length) < 0)
		return fetch_failed(ref->peer->pid, from, length);
	/*
	 * Check again, because a QP that fails outside of a verbs call does not wait for this copy.
	 */
	atomic_thread_fence(memory_order_acquire);
	return piece_stands(board, ref, piece) ? 0 : -ESTALE;
}

/*
 * Wait for a free use. The wait is short: only threads of this process hold the uses, and they copy
 * without waiting.
 */
static atomic_uint *use_wait(const struct shm_reference *ref, const struct shm_piece *piece)
{
	unsigned int spins = 0;
	atomic_uint *use;

	while (!(use = shm_use_begin(ref->peer, ref->strand, piece->key, ref->source.qpn)))
		uroce_spin(&spins);
	return use;
}

static int piece_fetch(const struct shm_reference *ref, const struct shm_piece *piece, size_t skip,
		       uint8_t *to, size_t length)
{
	atomic_uint *use;
	int r;

	if (!shm_key_fits(piece->key))
		return -ESTALE;
	use = use_wait(ref, piece);
	r = piece_copy(ref, piece, skip, to, length);
	shm_use_end(use);
	return r;
}

/* Fetch bytes [offset, offset + length) of the concatenated pieces. */
static int pieces_fetch(const struct shm_reference *ref, uint64_t offset, uint8_t *to,
			uint32_t length)
{
	for (int i = 0; i < ref->count && length; i++) {
		size_t size = ref->pieces[i].iov.iov_len, part;
		int r;

		if (offset >= size) {
			offset -= size;
			continue;
		}
		part = min_of(size - (size_t)offset, (size_t)length);
		r = piece_fetch(ref, &ref->pieces[i], offset, to, part);
		if (r < 0)
			return r;
		to += part;
		length -= part;
		offset = 0;
	}
	return length ? -EFAULT : 0;
}

int shm_fetch(struct uroce_path *path, const struct uroce_payload *payload, uint32_t offset,
	      void *dst, uint32_t length)
{
	const struct shm_reference *ref = payload->reference;
	int r;

	if (ref->placed)
		return 0;
	if (ref->peer->dead || !shm_life_reads(ref->peer))
		return -ESTALE;
	r = pieces_fetch(ref, (uint64_t)payload->offset + offset, dst, length);
	/* Check afterwards. If the sender still lives, the memory belonged to it. */
	return r < 0 || uroce_shm_lives(ref->peer->first_page) ? r : -ESTALE;
}
