/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The soft iWARP driver: rings in memory shared with the kernel, mapped with the keys that creation
 * returned.
 */
#ifndef _SIW_USER_H
#define _SIW_USER_H

#include <linux/types.h>

#define SIW_NODE_DESC_COMMON "Software iWARP stack"
#define SIW_ABI_VERSION	     1
#define SIW_MAX_SGE	     6

/* Largest mmap offset; the one above means "none". */
#define SIW_UOBJ_MAX_KEY   0x08FFFF
#define SIW_INVAL_UOBJ_KEY (SIW_UOBJ_MAX_KEY + 1)

/* The keys in these answers are mmap offsets on the uverbs device. */
struct siw_uresp_create_cq {
	__u32 cq_id;
	__u32 num_cqe;
	__aligned_u64 cq_key;
};

struct siw_uresp_create_qp {
	__u32 qp_id;
	__u32 num_sqe;
	__u32 num_rqe;
	__u32 pad;
	__aligned_u64 sq_key;
	__aligned_u64 rq_key;
};

struct siw_ureq_reg_mr {
	__u8 stag_key;
	__u8 reserved[3];
	__u32 pad;
};

struct siw_uresp_reg_mr {
	__u32 stag;
	__u32 pad;
};

struct siw_uresp_create_srq {
	__u32 num_rqe;
	__u32 pad;
	__aligned_u64 srq_key;
};

struct siw_uresp_alloc_ctx {
	__u32 dev_id;
	__u32 pad;
};

enum siw_opcode {
	SIW_OP_WRITE = 0,
	SIW_OP_READ = 1,
	SIW_OP_READ_LOCAL_INV = 2,
	SIW_OP_SEND = 3,
	SIW_OP_SEND_WITH_IMM = 4,
	SIW_OP_SEND_REMOTE_INV = 5,

	/* not implemented by the kernel */
	SIW_OP_FETCH_AND_ADD = 6,
	SIW_OP_COMP_AND_SWAP = 7,

	SIW_OP_RECEIVE = 8,

	/* not for user space */
	SIW_OP_READ_RESPONSE = 9,
	SIW_OP_INVAL_STAG = 10,
	SIW_OP_REG_MR = 11,
	SIW_NUM_OPCODES = 12,
};

/* Same layout as struct ibv_sge. */
struct siw_sge {
	__aligned_u64 laddr;
	__u32 length;
	__u32 lkey;
};

/* Inline data takes the place of sge[1] and the rest. */
#define SIW_MAX_INLINE (sizeof(struct siw_sge) * (SIW_MAX_SGE - 1))

enum siw_wqe_flags {
	SIW_WQE_VALID = 1,
	SIW_WQE_INLINE = 1 << 1,
	SIW_WQE_SIGNALLED = 1 << 2,
	SIW_WQE_SOLICITED = 1 << 3,
	SIW_WQE_READ_FENCE = 1 << 4,
	SIW_WQE_REM_INVAL = 1 << 5,
	SIW_WQE_COMPLETED = 1 << 6,
};

/* Slot of a send ring. */
struct siw_sqe {
	__aligned_u64 id;
	__u16 flags; /* enum siw_wqe_flags */
	__u8 num_sge;
	__u8 opcode; /* enum siw_opcode */
	__u32 rkey;
	union {
		__aligned_u64 raddr;
		__aligned_u64 base_mr;
	};
	union {
		struct siw_sge sge[SIW_MAX_SGE];
		__aligned_u64 access;
	};
};

/* Slot of a receive ring. */
struct siw_rqe {
	__aligned_u64 id;
	__u16 flags; /* enum siw_wqe_flags */
	__u8 num_sge;
	__u8 opcode; /* the kernel's */
	__u32 unused;
	struct siw_sge sge[SIW_MAX_SGE];
};

enum siw_notify_flags {
	SIW_NOTIFY_NOT = 0,
	SIW_NOTIFY_SOLICITED = 1 << 0,
	SIW_NOTIFY_NEXT_COMPLETION = 1 << 1,
	SIW_NOTIFY_MISSED_EVENTS = 1 << 2,
	SIW_NOTIFY_ALL =
		SIW_NOTIFY_SOLICITED | SIW_NOTIFY_NEXT_COMPLETION | SIW_NOTIFY_MISSED_EVENTS,
};

enum siw_wc_status {
	SIW_WC_SUCCESS = 0,
	SIW_WC_LOC_LEN_ERR = 1,
	SIW_WC_LOC_PROT_ERR = 2,
	SIW_WC_LOC_QP_OP_ERR = 3,
	SIW_WC_WR_FLUSH_ERR = 4,
	SIW_WC_BAD_RESP_ERR = 5,
	SIW_WC_LOC_ACCESS_ERR = 6,
	SIW_WC_REM_ACCESS_ERR = 7,
	SIW_WC_REM_INV_REQ_ERR = 8,
	SIW_WC_GENERAL_ERR = 9,
	SIW_NUM_WC_STATUS = 10,
};

/* Slot of a completion ring. */
struct siw_cqe {
	__aligned_u64 id;
	__u8 flags;
	__u8 opcode;
	__u16 status; /* enum siw_wc_status */
	__u32 bytes;
	union {
		__aligned_u64 imm_data;
		__u32 inval_stag;
	};
	union {
		struct ib_qp *base_qp; /* kernel only */
		__aligned_u64 qp_id;
	};
};

/* How a completion queue is armed. */
struct siw_cq_ctrl {
	__u32 flags; /* enum siw_notify_flags */
	__u32 pad;
};

#endif /* _SIW_USER_H */
