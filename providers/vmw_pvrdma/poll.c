/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ibv_poll_cq(). Who finds nothing tells the device by a register, which may write completions that
 * it has held back, and looks once more.
 */
#include "providers/vmw_pvrdma/pvrdma.h"

enum {
	POLL_CORRUPT = -1,
};

/* The device's numbers of what completed, in verbs'; what is not here nobody can post. */
static const uint8_t sent_opcodes[] = {
	[PVRDMA_WC_SEND] = IBV_WC_SEND,
	[PVRDMA_WC_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
	[PVRDMA_WC_RDMA_READ] = IBV_WC_RDMA_READ,
	[PVRDMA_WC_COMP_SWAP] = IBV_WC_COMP_SWAP,
	[PVRDMA_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[PVRDMA_WC_BIND_MW] = IBV_WC_BIND_MW,
	[PVRDMA_WC_LSO] = IBV_WC_TSO,
	[PVRDMA_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
};

static inline enum ibv_wc_opcode wc_opcode(uint32_t opcode)
{
	if (opcode < ARRAY_SIZE(sent_opcodes))
		return sent_opcodes[opcode];
	/* Receives have verbs' numbers; of anything else it is known that it was sent. */
	return opcode == PVRDMA_WC_RECV || opcode == PVRDMA_WC_RECV_RDMA_WITH_IMM
		       ? (enum ibv_wc_opcode)opcode
		       : IBV_WC_SEND;
}

/* The numbers are verbs'. */
static inline enum ibv_wc_status wc_status(uint32_t status)
{
	return likely(status <= PVRDMA_WC_GENERAL_ERR) ? (enum ibv_wc_status)status
						       : IBV_WC_GENERAL_ERR;
}

/* Two have changed places; the rest of the device's is not of verbs. */
static inline unsigned int wc_flags(uint32_t flags)
{
	return (flags & (PVRDMA_WC_GRH | PVRDMA_WC_WITH_IMM)) |
	       (flags & PVRDMA_WC_WITH_INVALIDATE ? IBV_WC_WITH_INV : 0) |
	       (flags & PVRDMA_WC_IP_CSUM_OK ? IBV_WC_IP_CSUM_OK : 0);
}

static inline void wc_read(struct ibv_wc *wc, const struct pvrdma_cqe *cqe, uint32_t qpn)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = wc_status(cqe->status),
		.opcode = wc_opcode(cqe->opcode),
		.byte_len = cqe->byte_len,
		.imm_data = cqe->imm_data, /* or the key that was invalidated */
		.qp_num = qpn,
		.src_qp = cqe->src_qp,
		.wc_flags = wc_flags(cqe->wc_flags),
		.pkey_index = cqe->pkey_index,
		.slid = cqe->slid,
		.sl = cqe->sl,
		.dlid_path_bits = cqe->dlid_path_bits,
	};
}

int pvrdma_cq_look(struct pvrdma_cq *cq)
{
	/* acquire: the device wrote the entries before it */
	uint32_t tail = atomic_load_explicit(&cq->ring.words->tail, memory_order_acquire);
	uint32_t count = pvrdma_ring_distance(&cq->ring, cq->ring.index, tail);

	if (unlikely(count > cq->ring.entries)) {
		if (!cq->said)
			verbs_err(cq->vcq.cq.context,
				  "cq 0x%x: the device says it is at 0x%x, of a ring of %u entries",
				  cq->cqn, tail, cq->ring.entries);
		cq->said = true;
		return -EIO;
	}
	barrier_from_device();
	cq->tail = tail;
	return count;
}

/* Where the next entry is not known to be there. */
static int look_twice(struct pvrdma_cq *cq)
{
	int count = pvrdma_cq_look(cq);

	if (count)
		return count;
	mmio_write_32(cq->uar + PVRDMA_UAR_CQ_OFFSET, cq->cqn | PVRDMA_DOORBELL_POLL);
	return pvrdma_cq_look(cq);
}

__attribute__((noinline, cold)) static void say_unknown(struct pvrdma_cq *cq, uint64_t handle)
{
	if (!cq->said)
		verbs_err(cq->vcq.cq.context,
			  "cq 0x%x: a completion of a queue pair that is not there, handle 0x%x",
			  cq->cqn, (unsigned int)(handle & PVRDMA_HANDLE_MASK));
	cq->said = true;
}

/* Return: whether the next entry is somebody's. It is the device's again in any case. */
static inline bool take(struct pvrdma_cq *cq, struct ibv_wc *wc)
{
	/* One reading of an entry that the device may still write. */
	const struct pvrdma_cqe cqe =
		*(const struct pvrdma_cqe *)pvrdma_ring_slot(&cq->ring, cq->ring.index);
	uint32_t qpn;
	bool found;

	/* The fence is the compiler's: what was checked is not read from the ring again. */
	atomic_signal_fence(memory_order_acq_rel);
	found = pvrdma_qpn_find(to_pctx(cq->vcq.cq.context), cqe.qp, &qpn);
	if (likely(found))
		wc_read(wc, &cqe, qpn);
	else
		say_unknown(cq, cqe.qp);
	cq->ring.index = pvrdma_ring_next(&cq->ring, cq->ring.index);
	/* release: the entry was read before the device has it */
	atomic_store_explicit(&cq->ring.words->head, cq->ring.index, memory_order_release);
	return likely(found);
}

static int poll_locked(struct pvrdma_cq *cq, int num_entries, struct ibv_wc *wc)
{
	uint32_t skipped = 0; /* a device that writes nothing else cannot keep the caller */
	int n = 0;

	while (n < num_entries && skipped < cq->ring.entries) {
		if (cq->ring.index == cq->tail) {
			int count = look_twice(cq);

			if (unlikely(count < 0))
				return n ? n : POLL_CORRUPT;
			if (!count)
				break;
		}
		if (take(cq, wc)) {
			verbs_data_wc(&cq->vcq.cq, wc);
			wc++;
			n++;
		} else {
			skipped++;
		}
	}
	return n;
}

int pvrdma_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct pvrdma_cq *cq = to_pcq(ibcq);
	int n;

	spinlock_lock(&cq->lock);
	n = poll_locked(cq, num_entries, wc);
	spinlock_unlock(&cq->lock);
	return n;
}
