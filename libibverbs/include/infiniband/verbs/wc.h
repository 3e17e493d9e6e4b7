/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work completions. */
#ifndef INFINIBAND_VERBS_WC_H
#define INFINIBAND_VERBS_WC_H

#include <infiniband/verbs/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How a work request ended. The first failure moves the queue pair to the error state (UD keeps
 * receiving in SQE); what was posted behind it ends with IBV_WC_WR_FLUSH_ERR.
 * Source: IBTA vol. 1, software transport verbs (chapter 11), completion return status.
 */
enum ibv_wc_status {
	IBV_WC_SUCCESS,
	IBV_WC_LOC_LEN_ERR,    /* longer than the receive buffer or the device's maximum */
	IBV_WC_LOC_QP_OP_ERR,  /* the QP could not do this */
	IBV_WC_LOC_EEC_OP_ERR, /* RD only, as are the other EE context values */
	IBV_WC_LOC_PROT_ERR,   /* an sge outside a region of the PD */
	IBV_WC_WR_FLUSH_ERR,   /* not executed: the QP is in error */
	IBV_WC_MW_BIND_ERR,
	IBV_WC_BAD_RESP_ERR,	  /* an unexpected response */
	IBV_WC_LOC_ACCESS_ERR,	  /* a receive into memory without LOCAL_WRITE */
	IBV_WC_REM_INV_REQ_ERR,	  /* the responder calls the request malformed */
	IBV_WC_REM_ACCESS_ERR,	  /* no right to the responder's memory */
	IBV_WC_REM_OP_ERR,	  /* the responder failed on its own */
	IBV_WC_RETRY_EXC_ERR,	  /* no answer after retry_cnt tries */
	IBV_WC_RNR_RETRY_EXC_ERR, /* no receive posted there after rnr_retry tries */
	IBV_WC_LOC_RDD_VIOL_ERR,
	IBV_WC_REM_INV_RD_REQ_ERR,
	IBV_WC_REM_ABORT_ERR,
	IBV_WC_INV_EECN_ERR,
	IBV_WC_INV_EEC_STATE_ERR,
	IBV_WC_FATAL_ERR,
	IBV_WC_RESP_TIMEOUT_ERR,
	IBV_WC_GENERAL_ERR,	   /* vendor_err may say more */
	IBV_WC_TM_ERR,		   /* tag matching */
	IBV_WC_TM_RNDV_INCOMPLETE, /* tag matching: the program has to fetch the payload */
};

/* The completed operation; valid if the status is IBV_WC_SUCCESS. */
enum ibv_wc_opcode {
	IBV_WC_SEND,
	IBV_WC_RDMA_WRITE,
	IBV_WC_RDMA_READ,
	IBV_WC_COMP_SWAP,
	IBV_WC_FETCH_ADD,
	IBV_WC_BIND_MW,
	IBV_WC_LOCAL_INV,
	IBV_WC_TSO,
	IBV_WC_FLUSH,
	IBV_WC_ATOMIC_WRITE = 9,
	/* On the receive side from here: (opcode & IBV_WC_RECV) tells. */
	IBV_WC_RECV = 1 << 7,
	IBV_WC_RECV_RDMA_WITH_IMM,

	IBV_WC_TM_ADD,
	IBV_WC_TM_DEL,
	IBV_WC_TM_SYNC,
	IBV_WC_TM_RECV,
	IBV_WC_TM_NO_TAG,
	IBV_WC_DRIVER1,
	IBV_WC_DRIVER2,
	IBV_WC_DRIVER3,
};

enum {
	IBV_WC_IP_CSUM_OK_SHIFT = 2
};

enum ibv_wc_flags {
	IBV_WC_GRH = 1 << 0,	  /* UD: the buffer begins with 40 bytes GRH */
	IBV_WC_WITH_IMM = 1 << 1, /* imm_data is valid */
	IBV_WC_IP_CSUM_OK = 1 << IBV_WC_IP_CSUM_OK_SHIFT, /* IP and L4 checksums are right */
	IBV_WC_WITH_INV = 1 << 3,			  /* invalidated_rkey is valid */
	IBV_WC_TM_SYNC_REQ = 1 << 4,
	IBV_WC_TM_MATCH = 1 << 5,
	IBV_WC_TM_DATA_VALID = 1 << 6,
};

/**
 * struct ibv_wc - a work completion
 *
 * When @status is not IBV_WC_SUCCESS, only @wr_id, @status, @qp_num and @vendor_err mean something.
 * @byte_len: received, or read by the initiator; on UD with the 40 bytes of the GRH
 * @imm_data: network order
 * @src_qp, @pkey_index, @slid, @sl, @dlid_path_bits: UD receives only
 */
struct ibv_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t vendor_err;
	uint32_t byte_len;
	__extension__ union {
		__be32 imm_data;
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num;
	uint32_t src_qp;
	unsigned int wc_flags;
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

#ifdef __cplusplus
}
#endif

#endif
