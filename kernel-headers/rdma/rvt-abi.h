/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdmavt, shared by the hfi1 and qib drivers: rings in memory shared with the kernel.
 */
#ifndef RVT_ABI_USER_H
#define RVT_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_verbs.h>

/* An integer that user space accesses atomically; define it first to have an atomic type. */
#ifndef RDMA_ATOMIC_UAPI
#define RDMA_ATOMIC_UAPI(_type, _name) \
	struct {                       \
		_type val;             \
	} _name
#endif

struct rvt_wqe_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* A completion ring of cqe + 1 slots. */
struct rvt_cq_wc {
	RDMA_ATOMIC_UAPI(__u32, head); /* next slot to fill */
	RDMA_ATOMIC_UAPI(__u32, tail); /* next slot to poll */
	struct ib_uverbs_wc uqueue[];
};

/* A receive request; max_sge of the queue says how many entries follow. */
struct rvt_rwqe {
	__u64 wr_id;
	__u8 num_sge;
	__u8 padding[7];
	struct rvt_wqe_sge sg_list[];
};

/* A receive ring. Its slots are larger than struct rvt_rwqe, so wq[] cannot be indexed. */
struct rvt_rwq {
	RDMA_ATOMIC_UAPI(__u32, head); /* next slot to post */
	RDMA_ATOMIC_UAPI(__u32, tail); /* next slot the kernel takes */
	struct rvt_rwqe wq[];
};

#endif /* RVT_ABI_USER_H */
