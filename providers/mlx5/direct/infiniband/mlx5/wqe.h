/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats that the adapter reads: send, receive and shared receive work requests. Fields are
 * big-endian. */
#ifndef INFINIBAND_MLX5_WQE_H
#define INFINIBAND_MLX5_WQE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <asm/byteorder.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MLX5DV_ALWAYS_INLINE
#define MLX5DV_ALWAYS_INLINE inline __attribute__((always_inline))
#endif

/* The words of a doorbell record, as indices. */
enum {
	MLX5_RCV_DBR = 0,
	MLX5_SND_DBR = 1,
};

enum {
	MLX5_OPCODE_NOP = 0,
	MLX5_OPCODE_SEND_INVAL = 1,
	MLX5_OPCODE_RDMA_WRITE = 8,
	MLX5_OPCODE_RDMA_WRITE_IMM = 9,
	MLX5_OPCODE_SEND = 0xa,
	MLX5_OPCODE_SEND_IMM = 0xb,
	MLX5_OPCODE_TSO = 0xe,
	MLX5_OPCODE_RDMA_READ = 0x10,
	MLX5_OPCODE_ATOMIC_CS = 0x11,
	MLX5_OPCODE_ATOMIC_FA = 0x12,
	MLX5_OPCODE_ATOMIC_MASKED_CS = 0x14,
	MLX5_OPCODE_ATOMIC_MASKED_FA = 0x15,
	MLX5_OPCODE_FMR = 0x19,
	MLX5_OPCODE_LOCAL_INVAL = 0x1b,
	MLX5_OPCODE_CONFIG_CMD = 0x1f,
	MLX5_OPCODE_SET_PSV = 0x20,
	MLX5_OPCODE_UMR = 0x25,
	MLX5_OPCODE_TAG_MATCHING = 0x28,
	MLX5_OPCODE_FLOW_TBL_ACCESS = 0x2c,
	MLX5_OPCODE_MMO = 0x2f,
};

/* A local key that no region has. This key ends a list of data segments. */
enum {
	MLX5_INVALID_LKEY = 1 << 8,
};

__extension__ enum {
	MLX5_EXTENDED_UD_AV = 1U << 31,
};

/* fm_ce_se of the control segment. */
enum {
	MLX5_WQE_CTRL_CQ_UPDATE = 1 << 3,
	MLX5_WQE_CTRL_SOLICITED = 1 << 1,
	MLX5_WQE_CTRL_FENCE = 1 << 7,
	MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE = 1 << 5,
};

/* A send queue is a ring of basic blocks of this size. */
enum {
	MLX5_SEND_WQE_BB = 0x40,
	MLX5_SEND_WQE_SHIFT = 6,
};

__extension__ enum {
	MLX5_INLINE_SEG = 1U << 31,
};

enum {
	MLX5_ETH_WQE_L3_CSUM = 1 << 6,
	MLX5_ETH_WQE_L4_CSUM = 1 << 7,
};

enum {
	MLX5_WQE_UMR_CTRL_FLAG_INLINE = 1 << 7,
	MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE = 1 << 5,
	MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET = 1 << 4,
	MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN = 1 << 3,
};

enum {
	MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN = 1 << 0,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR = 1 << 6,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR = 1 << 9,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE = 1 << 12,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY = 1 << 13,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN = 1 << 14,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE = 1 << 18,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ = 1 << 19,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE = 1 << 20,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC = 1 << 21,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE = 1 << 29,
};

enum {
	MLX5_WQE_MKEY_CONTEXT_FREE = 1 << 6,
};

enum {
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC = 1 << 6,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE = 1 << 5,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ = 1 << 4,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE = 1 << 3,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ = 1 << 2,
};

struct mlx5_wqe_srq_next_seg {
	uint8_t rsvd0[2];
	__be16 next_wqe_index;
	uint8_t signature;
	uint8_t rsvd1[11];
};

struct mlx5_wqe_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

/* The first segment of every send request. */
struct mlx5_wqe_ctrl_seg {
	__be32 opmod_idx_opcode;
	__be32 qpn_ds;
	uint8_t signature;
	__be16 dci_stream_channel_id;
	uint8_t fm_ce_se;
	__be32 imm;
} __attribute__((packed, aligned(4)));

struct mlx5_mprq_wqe {
	struct mlx5_wqe_srq_next_seg nseg;
	struct mlx5_wqe_data_seg dseg;
};

/* An address vector: the path and the remote queue pair of UD and DC. */
struct mlx5_wqe_av {
	union {
		struct {
			__be32 qkey;
			__be32 reserved;
		} qkey;
		__be64 dc_key;
	} key;
	__be32 dqp_dct;
	uint8_t stat_rate_sl;
	uint8_t fl_mlid;
	__be16 rlid;
	uint8_t reserved0[4];
	uint8_t rmac[6];
	uint8_t tclass;
	uint8_t hop_limit;
	__be32 grh_gid_fl;
	uint8_t rgid[16];
};

struct mlx5_wqe_datagram_seg {
	struct mlx5_wqe_av av;
};

struct mlx5_wqe_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

struct mlx5_wqe_atomic_seg {
	__be64 swap_add;
	__be64 compare;
};

struct mlx5_wqe_inl_data_seg {
	uint32_t byte_count;
};

struct mlx5_wqe_eth_seg {
	__be32 rsvd0;
	uint8_t cs_flags;
	uint8_t rsvd1;
	__be16 mss;
	__be32 rsvd2;
	__be16 inline_hdr_sz;
	uint8_t inline_hdr_start[2];
	uint8_t inline_hdr[16];
};

struct mlx5_wqe_tm_seg {
	uint8_t opcode;
	uint8_t flags;
	__be16 index;
	uint8_t rsvd0[2];
	__be16 sw_cnt;
	uint8_t rsvd1[8];
	__be64 append_tag;
	__be64 append_mask;
};

__extension__ struct mlx5_wqe_umr_ctrl_seg {
	uint8_t flags;
	uint8_t rsvd0[3];
	__be16 klm_octowords;
	union {
		__be16 translation_offset;
		__be16 bsf_octowords;
	};
	__be64 mkey_mask;
	uint8_t rsvd1[32];
};

struct mlx5_wqe_umr_klm_seg {
	__be32 byte_count;
	__be32 mkey;
	__be64 address;
};

union mlx5_wqe_umr_inline_seg {
	struct mlx5_wqe_umr_klm_seg klm;
};

struct mlx5_wqe_umr_repeat_ent_seg {
	__be16 stride;
	__be16 byte_count;
	__be32 memkey;
	__be64 va;
};

__extension__ struct mlx5_wqe_umr_repeat_block_seg {
	__be32 byte_count;
	__be32 op;
	__be32 repeat_count;
	__be16 reserved;
	__be16 num_ent;
	struct mlx5_wqe_umr_repeat_ent_seg entries[];
};

__extension__ struct mlx5_wqe_mkey_context_seg {
	uint8_t free;
	uint8_t reserved1;
	uint8_t access_flags;
	uint8_t sf;
	__be32 qpn_mkey;
	__be32 reserved2;
	__be32 flags_pd;
	__be64 start_addr;
	__be64 len;
	__be32 bsf_octword_size;
	__be32 reserved3[4];
	__be32 translations_octword_size;
	uint8_t reserved4[3];
	uint8_t log_page_size;
	__be32 reserved;
	union mlx5_wqe_umr_inline_seg inseg[];
};

/*
 * @imm: big-endian already. @ds: units of 16 bytes of the whole request. Bytes 9 and 10 are not
 * changed.
 */
static MLX5DV_ALWAYS_INLINE void mlx5dv_set_ctrl_seg(struct mlx5_wqe_ctrl_seg *seg, uint16_t pi,
						     uint8_t opcode, uint8_t opmod, uint32_t qp_num,
						     uint8_t fm_ce_se, uint8_t ds,
						     uint8_t signature, uint32_t imm)
{
	seg->opmod_idx_opcode = __cpu_to_be32((uint32_t)opmod << 24 | (uint32_t)pi << 8 | opcode);
	seg->qpn_ds = __cpu_to_be32(qp_num << 8 | ds);
	seg->signature = signature;
	seg->fm_ce_se = fm_ce_se;
	seg->imm = imm;
}

/* The same, with bytes 9 and 10 cleared. */
static MLX5DV_ALWAYS_INLINE void mlx5dv_x86_set_ctrl_seg(struct mlx5_wqe_ctrl_seg *seg, uint16_t pi,
							 uint8_t opcode, uint8_t opmod,
							 uint32_t qp_num, uint8_t fm_ce_se,
							 uint8_t ds, uint8_t signature,
							 uint32_t imm)
{
	seg->dci_stream_channel_id = 0;
	mlx5dv_set_ctrl_seg(seg, pi, opcode, opmod, qp_num, fm_ce_se, ds, signature, imm);
}

/* All arguments are in host order. @key: a Q_Key is its upper half. @ext: the vector has its second
 * half. */
static MLX5DV_ALWAYS_INLINE void
mlx5dv_set_dgram_seg(struct mlx5_wqe_datagram_seg *seg, uint64_t key, uint32_t dqp_dct, uint8_t ext,
		     uint8_t stat_rate_sl, uint8_t fl_mlid, uint16_t rlid, uint8_t *rmac,
		     uint8_t tclass, uint8_t hop_limit, uint32_t grh_gid_fi, uint8_t *rgid)
{
	struct mlx5_wqe_av *av = &seg->av;

	av->key.dc_key = __cpu_to_be64(key);
	av->dqp_dct = __cpu_to_be32((uint32_t)ext << 31 | dqp_dct);
	av->stat_rate_sl = stat_rate_sl;
	av->fl_mlid = fl_mlid;
	av->rlid = __cpu_to_be16(rlid);
	memcpy(av->rmac, rmac, sizeof(av->rmac));
	av->tclass = tclass;
	av->hop_limit = hop_limit;
	av->grh_gid_fl = __cpu_to_be32(grh_gid_fi);
	memcpy(av->rgid, rgid, sizeof(av->rgid));
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_set_eth_seg(struct mlx5_wqe_eth_seg *seg, uint8_t cs_flags,
						    uint16_t mss, uint16_t inline_hdr_sz,
						    uint8_t *inline_hdr_start)
{
	seg->cs_flags = cs_flags;
	seg->mss = __cpu_to_be16(mss);
	seg->inline_hdr_sz = __cpu_to_be16(inline_hdr_sz);
	/* The header continues in the next field. */
	memcpy((uint8_t *)seg + offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start),
	       inline_hdr_start, inline_hdr_sz);
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_set_data_seg(struct mlx5_wqe_data_seg *seg, uint32_t length,
						     uint32_t lkey, uintptr_t address)
{
	seg->byte_count = __cpu_to_be32(length);
	seg->lkey = __cpu_to_be32(lkey);
	seg->addr = __cpu_to_be64(address);
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_x86_set_data_seg(struct mlx5_wqe_data_seg *seg,
							 uint32_t length, uint32_t lkey,
							 uintptr_t address)
{
	mlx5dv_set_data_seg(seg, length, lkey, address);
}

#ifdef __cplusplus
}
#endif

#endif
