/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of the rings, big-endian. A request begins with a segment about the request behind it:
 * its place, its opcode, its size, and whether a doorbell announces it.
 */
#ifndef MTHCA_WQE_H
#define MTHCA_WQE_H

#include "providers/mthca/mthca.h"

enum {
	NEXT_BYTES = 16,
	WQE_MIN = 64, /* bytes of the smallest request */
	UD_BYTES = 48,
	ATOMIC_BYTES = 16,
	/* the second word */
	EE_SIZE_MASK = 0x3f, /* in units of MLX_SEGMENT */
	EE_FENCE = 0x40,
	EE_DOORBELL = 0x80,
	/* the third word */
	FLAG_ALWAYS = 1 << 0,
	FLAG_SOLICITED = 1 << 1,
	FLAG_SIGNALED = 1 << 3,
	/* marks a receive in the first word */
	NDA_RECV = 1,
	DB_NUMBER_SHIFT = 8,
	DB_FENCE = 0x20,
	RECV_BATCH = 256, /* receives that one doorbell announces at most */
};
#define INLINE_BIT (1u << 31)

struct mthca_next_seg {
	__be32 nda_op; /* the place of the next request, and its opcode */
	__be32 ee_nds;
	__be32 flags; /* flags of this request */
	__be32 imm;
};

struct mthca_av {
	__be32 port_pd;
	uint8_t reserved1;
	uint8_t g_slid;
	__be16 dlid;
	uint8_t reserved2;
	uint8_t gid_index;
	uint8_t msg_sr;
	uint8_t hop_limit;
	__be32 sl_tclass_label;
	uint8_t dgid[16];
};
_Static_assert(sizeof(struct mthca_av) == sizeof(((struct mthca_ah *)0)->own),
	       "fits into a handle");

/* The destination of a datagram: its address, or where the adapter finds the address. */
struct mthca_ud_seg {
	union {
		struct mthca_av av;
		struct {
			uint32_t reserved1;
			__be32 lkey;
			__be64 address;
			uint32_t reserved2[4];
		} page;
	};
	__be32 qpn;
	__be32 qkey;
	uint32_t reserved[2];
};
_Static_assert(sizeof(struct mthca_ud_seg) == UD_BYTES, "as the adapter reads it");

struct mthca_atomic_seg {
	__be64 swap_add;
	__be64 compare;
};

enum {
	CQE_BYTES = 32,
	CQE_HARDWARE = 0x80, /* owner: the adapter may write the entry */
	CQE_SEND = 0x80,     /* bit of is_send */
	CQE_ERROR = 0xfe,    /* the lowest opcode of failures */
	CQE_ERROR_SEND = 1,
};

struct mthca_cqe {
	__be32 qpn;
	__be32 ee;
	__be32 rqpn;
	__be16 sl_path;
	__be16 rlid;
	union {
		__be32 imm;
		__be16 pkey_index;
		struct {
			uint8_t syndrome, vendor;
			__be16 doorbells;
		} error;
	};
	__be32 byte_count;
	__be32 wqe;
	uint8_t opcode;
	uint8_t is_send;
	uint8_t reserved;
	uint8_t owner;
};
_Static_assert(sizeof(struct mthca_cqe) == CQE_BYTES, "as the adapter writes it");

/* Return the entry with this free-running number. */
static inline struct mthca_cqe *mthca_cqe_at(const struct mthca_cq *cq, uint32_t n)
{
	return &cq->ring[n & cq->mask];
}

/* Return whether the adapter has written the entry. */
static inline bool mthca_cqe_is_valid(const struct mthca_cqe *cqe)
{
	return !(((const volatile struct mthca_cqe *)cqe)->owner & CQE_HARDWARE);
}

static inline bool mthca_cqe_is_send(const struct mthca_cqe *cqe)
{
	if (cqe->opcode >= CQE_ERROR)
		return cqe->opcode & CQE_ERROR_SEND;
	return cqe->is_send & CQE_SEND;
}

/* Report @freed entries to the adapter. */
static inline void mthca_cq_publish(const struct mthca_cq *cq, uint32_t freed)
{
	enum {
		DB_INC_CI = 1 << 24,
	};

	barrier_to_device();
	if (cq->set_ci.words)
		*(volatile __be32 *)cq->set_ci.words = htobe32(cq->consumer);
	else
		mthca_ring(cq->doorbell, DB_INC_CI | cq->number, freed - 1);
}

/* Return the shift of the smallest request of at least @bytes. */
static inline uint32_t mthca_shift(uint32_t bytes)
{
	return __builtin_ctz(round_up_pow2(max_of(bytes, (uint32_t)WQE_MIN)));
}

/*
 * Write the link to a request. The size comes last, because the adapter follows the link as soon as
 * it has a size.
 */
FLAT void mthca_link_write(char *before, uint32_t nda_op, uint32_t ee_nds)
{
	struct mthca_next_seg *next = (void *)before;

	next->nda_op = htobe32(nda_op);
	barrier_to_device();
	*(volatile __be32 *)&next->ee_nds = htobe32(ee_nds);
}

/*
 * Write the list of a receive. Leave out entries of 0 bytes, which would mean 2^31 bytes. @room:
 * number of segments. A shorter list gets an end mark. Return: the end of the list.
 */
static inline struct mlx_data_seg *mthca_scatter_write(struct mlx_data_seg *seg, uint32_t room,
						       const struct ibv_recv_wr *wr)
{
	const struct mlx_data_seg *end = seg + room;

	for (int i = 0; i < wr->num_sge; i++)
		if (likely(wr->sg_list[i].length))
			mlx_segment_write_sge(seg++, &wr->sg_list[i]);
	if (seg < end)
		mlx_segment_end(seg);
	return seg;
}

#endif
