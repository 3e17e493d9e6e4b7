/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The vmw_pvrdma driver (VMware paravirtual RDMA): what travels behind the legacy commands,
 * doorbells, and the slots of the rings shared with the device.
 */
#ifndef __VMW_PVRDMA_ABI_H__
#define __VMW_PVRDMA_ABI_H__

#include <linux/types.h>

#define PVRDMA_UVERBS_ABI_VERSION 3

/* A doorbell is a write of a handle and command bits to the UAR page. */
#define PVRDMA_UAR_HANDLE_MASK 0x00FFFFFF
#define PVRDMA_UAR_QP_OFFSET   0
#define PVRDMA_UAR_QP_SEND     (1 << 30)
#define PVRDMA_UAR_QP_RECV     (1 << 31)
#define PVRDMA_UAR_CQ_OFFSET   4
#define PVRDMA_UAR_CQ_ARM_SOL  (1 << 29)
#define PVRDMA_UAR_CQ_ARM      (1 << 30)
#define PVRDMA_UAR_CQ_POLL     (1 << 31)
#define PVRDMA_UAR_SRQ_OFFSET  8
#define PVRDMA_UAR_SRQ_RECV    (1 << 30)

enum pvrdma_wr_opcode {
	PVRDMA_WR_RDMA_WRITE = 0,
	PVRDMA_WR_RDMA_WRITE_WITH_IMM = 1,
	PVRDMA_WR_SEND = 2,
	PVRDMA_WR_SEND_WITH_IMM = 3,
	PVRDMA_WR_RDMA_READ = 4,
	PVRDMA_WR_ATOMIC_CMP_AND_SWP = 5,
	PVRDMA_WR_ATOMIC_FETCH_AND_ADD = 6,
	PVRDMA_WR_LSO = 7,
	PVRDMA_WR_SEND_WITH_INV = 8,
	PVRDMA_WR_RDMA_READ_WITH_INV = 9,
	PVRDMA_WR_LOCAL_INV = 10,
	PVRDMA_WR_FAST_REG_MR = 11,
	PVRDMA_WR_MASKED_ATOMIC_CMP_AND_SWP = 12,
	PVRDMA_WR_MASKED_ATOMIC_FETCH_AND_ADD = 13,
	PVRDMA_WR_BIND_MW = 14,
	PVRDMA_WR_REG_SIG_MR = 15,
	PVRDMA_WR_ERROR = 16,
};

enum pvrdma_wc_status {
	PVRDMA_WC_SUCCESS = 0,
	PVRDMA_WC_LOC_LEN_ERR = 1,
	PVRDMA_WC_LOC_QP_OP_ERR = 2,
	PVRDMA_WC_LOC_EEC_OP_ERR = 3,
	PVRDMA_WC_LOC_PROT_ERR = 4,
	PVRDMA_WC_WR_FLUSH_ERR = 5,
	PVRDMA_WC_MW_BIND_ERR = 6,
	PVRDMA_WC_BAD_RESP_ERR = 7,
	PVRDMA_WC_LOC_ACCESS_ERR = 8,
	PVRDMA_WC_REM_INV_REQ_ERR = 9,
	PVRDMA_WC_REM_ACCESS_ERR = 10,
	PVRDMA_WC_REM_OP_ERR = 11,
	PVRDMA_WC_RETRY_EXC_ERR = 12,
	PVRDMA_WC_RNR_RETRY_EXC_ERR = 13,
	PVRDMA_WC_LOC_RDD_VIOL_ERR = 14,
	PVRDMA_WC_REM_INV_RD_REQ_ERR = 15,
	PVRDMA_WC_REM_ABORT_ERR = 16,
	PVRDMA_WC_INV_EECN_ERR = 17,
	PVRDMA_WC_INV_EEC_STATE_ERR = 18,
	PVRDMA_WC_FATAL_ERR = 19,
	PVRDMA_WC_RESP_TIMEOUT_ERR = 20,
	PVRDMA_WC_GENERAL_ERR = 21,
};

enum pvrdma_wc_opcode {
	PVRDMA_WC_SEND = 0,
	PVRDMA_WC_RDMA_WRITE = 1,
	PVRDMA_WC_RDMA_READ = 2,
	PVRDMA_WC_COMP_SWAP = 3,
	PVRDMA_WC_FETCH_ADD = 4,
	PVRDMA_WC_BIND_MW = 5,
	PVRDMA_WC_LSO = 6,
	PVRDMA_WC_LOCAL_INV = 7,
	PVRDMA_WC_FAST_REG_MR = 8,
	PVRDMA_WC_MASKED_COMP_SWAP = 9,
	PVRDMA_WC_MASKED_FETCH_ADD = 10,
	PVRDMA_WC_RECV = 1 << 7,
	PVRDMA_WC_RECV_RDMA_WITH_IMM = (1 << 7) + 1,
};

enum pvrdma_wc_flags {
	PVRDMA_WC_GRH = 1 << 0,
	PVRDMA_WC_WITH_IMM = 1 << 1,
	PVRDMA_WC_WITH_INVALIDATE = 1 << 2,
	PVRDMA_WC_IP_CSUM_OK = 1 << 3,
	PVRDMA_WC_WITH_SMAC = 1 << 4,
	PVRDMA_WC_WITH_VLAN = 1 << 5,
	PVRDMA_WC_WITH_NETWORK_HDR_TYPE = 1 << 6,
	PVRDMA_WC_FLAGS_MAX = PVRDMA_WC_WITH_NETWORK_HDR_TYPE,
};

enum pvrdma_network_type {
	PVRDMA_NETWORK_IB = 0,
	PVRDMA_NETWORK_ROCE_V1 = PVRDMA_NETWORK_IB,
	PVRDMA_NETWORK_IPV4 = 1,
	PVRDMA_NETWORK_IPV6 = 2,
};

struct pvrdma_alloc_ucontext_resp {
	__u32 qp_tab_size;
	__u32 reserved;
};

struct pvrdma_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

struct pvrdma_create_cq {
	__aligned_u64 buf_addr;
	__u32 buf_size;
	__u32 reserved;
};

struct pvrdma_create_cq_resp {
	__u32 cqn;
	__u32 reserved;
};

struct pvrdma_resize_cq {
	__aligned_u64 buf_addr;
	__u32 buf_size;
	__u32 reserved;
};

struct pvrdma_create_srq {
	__aligned_u64 buf_addr;
	__u32 buf_size;
	__u32 reserved;
};

struct pvrdma_create_srq_resp {
	__u32 srqn;
	__u32 reserved;
};

struct pvrdma_create_qp {
	__aligned_u64 rbuf_addr;
	__aligned_u64 sbuf_addr;
	__u32 rbuf_size;
	__u32 sbuf_size;
	__aligned_u64 qp_addr;
};

struct pvrdma_create_qp_resp {
	__u32 qpn;
	__u32 qp_handle;
};

struct pvrdma_ex_cmp_swap {
	__aligned_u64 swap_val;
	__aligned_u64 compare_val;
	__aligned_u64 swap_mask;
	__aligned_u64 compare_mask;
};

struct pvrdma_ex_fetch_add {
	__aligned_u64 add_val;
	__aligned_u64 field_boundary;
};

/* Address vector. */
struct pvrdma_av {
	__u32 port_pd;
	__u32 sl_tclass_flowlabel;
	__u8 dgid[16];
	__u8 src_path_bits;
	__u8 gid_index;
	__u8 stat_rate;
	__u8 hop_limit;
	__u8 dmac[6];
	__u8 reserved[6];
};

/* Slot layout equals struct ibv_sge. */
struct pvrdma_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Receive slot: this header, then num_sge struct pvrdma_sge. */
struct pvrdma_rq_wqe_hdr {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 total_len; /* reserved */
};

/* Send slot: this header, then num_sge struct pvrdma_sge. */
struct pvrdma_sq_wqe_hdr {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 total_len; /* reserved */
	__u32 opcode;	 /* enum pvrdma_wr_opcode */
	__u32 send_flags;
	union {
		__be32 imm_data;
		__u32 invalidate_rkey;
	} ex;
	__u32 reserved;
	union {
		struct {
			__aligned_u64 remote_addr;
			__u32 rkey;
			__u8 reserved[4];
		} rdma;
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 reserved;
		} atomic;
		struct {
			__aligned_u64 remote_addr;
			__u32 log_arg_sz;
			__u32 rkey;
			union {
				struct pvrdma_ex_cmp_swap cmp_swap;
				struct pvrdma_ex_fetch_add fetch_add;
			} wr_data;
		} masked_atomics;
		struct {
			__aligned_u64 iova_start;
			__aligned_u64 pl_pdir_dma;
			__u32 page_shift;
			__u32 page_list_len;
			__u32 length;
			__u32 access_flags;
			__u32 rkey;
			__u32 reserved;
		} fast_reg;
		struct {
			__u32 remote_qpn;
			__u32 remote_qkey;
			struct pvrdma_av av;
		} ud;
	} wr;
};

/* Completion slot, 64 bytes. */
struct pvrdma_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 qp;
	__u32 opcode;
	__u32 status;
	__u32 byte_len;
	__be32 imm_data;
	__u32 src_qp;
	__u32 wc_flags;
	__u32 vendor_err;
	__u16 pkey_index;
	__u16 slid;
	__u8 sl;
	__u8 dlid_path_bits;
	__u8 port_num;
	__u8 smac[6];
	__u8 network_hdr_type;
	__u8 reserved2[6];
};

#endif /* __VMW_PVRDMA_ABI_H__ */
