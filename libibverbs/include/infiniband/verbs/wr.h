/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work requests. */
#ifndef INFINIBAND_VERBS_WR_H
#define INFINIBAND_VERBS_WR_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/mw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of registered memory. length: bytes. */
struct ibv_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* A piece of memory that is copied at once and so needs no key. */
struct ibv_data_buf {
	void *addr;
	size_t length;
};

enum ibv_wr_opcode {
	IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_READ,
	IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
	IBV_WR_LOCAL_INV,
	IBV_WR_BIND_MW,
	IBV_WR_SEND_WITH_INV,
	IBV_WR_TSO,
	IBV_WR_DRIVER1,
	IBV_WR_FLUSH = 14,
	IBV_WR_ATOMIC_WRITE = 15,
};

enum ibv_send_flags {
	IBV_SEND_FENCE = 1 << 0,     /* begin when earlier reads and atomics are done */
	IBV_SEND_SIGNALED = 1 << 1,  /* give a completion (always, with sq_sig_all) */
	IBV_SEND_SOLICITED = 1 << 2, /* wake a receiver that waits for solicited events */
	IBV_SEND_INLINE = 1 << 3,    /* copy the data now: no lkey, at most max_inline_data */
	IBV_SEND_IP_CSUM = 1 << 4    /* raw packets: fill in IP and L4 checksums */
};

/* The placement that an RDMA flush guarantees, and the part of the region. */
enum ibv_placement_type {
	IBV_FLUSH_GLOBAL = 1 << 0,     /* visible to every reader */
	IBV_FLUSH_PERSISTENT = 1 << 1, /* survives a power failure */
};

enum ibv_selectivity_level {
	IBV_FLUSH_RANGE = 0,
	IBV_FLUSH_MR = 1, /* the whole region, the range is ignored */
};

/**
 * struct ibv_send_wr - a request on a send queue
 *
 * @next: the next request of the list, or NULL
 * @sg_list: the data, gathered (send, write) or scattered (read, atomics)
 * @send_flags: OR of enum ibv_send_flags
 * @imm_data: network order, opcodes _WITH_IMM
 * @invalidate_rkey: opcodes LOCAL_INV and SEND_WITH_INV
 * @wr.rdma: writes and reads, @wr.atomic: 8 bytes at an address that is a multiple of 8,
 * @wr.ud: datagrams
 * @qp_type.xrc: XRC, the peer's SRQ
 * @bind_mw: bind of a type 2 window, @tso: headers to be put before each segment of @mss bytes
 */
struct ibv_send_wr {
	uint64_t wr_id;
	struct ibv_send_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
	enum ibv_wr_opcode opcode;
	unsigned int send_flags;
	__extension__ union {
		__be32 imm_data;
		uint32_t invalidate_rkey;
	};
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct ibv_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
	union {
		struct {
			uint32_t remote_srqn;
		} xrc;
	} qp_type;
	__extension__ union {
		struct {
			struct ibv_mw *mw;
			uint32_t rkey;
			struct ibv_mw_bind_info bind_info;
		} bind_mw;
		struct {
			void *hdr;
			uint16_t hdr_sz; /* bytes */
			uint16_t mss;	 /* bytes */
		} tso;
	};
};

/* A buffer for one message. A UD receive needs 40 bytes more, for the GRH. */
struct ibv_recv_wr {
	uint64_t wr_id;
	struct ibv_recv_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
};

#ifdef __cplusplus
}
#endif

#endif
