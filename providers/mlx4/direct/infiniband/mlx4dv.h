/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct verbs of mlx4: location and format of the rings of ConnectX to ConnectX-3 Pro. All numbers
 * that the adapter reads or writes are big-endian. For an object of a device that mlx4 does not
 * serve, and for features that this library does not have, functions return EOPNOTSUPP, or NULL
 * with that errno.
 */
#ifndef _MLX4DV_H_
#define _MLX4DV_H_

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <linux/types.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define MLX4DV_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define MLX4DV_ALWAYS_INLINE inline
#endif

/* Use the compiler's builtins, because <endian.h> defines no functions in strict dialects of C. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MLX4DV_BE16(value) __builtin_bswap16(value)
#define MLX4DV_BE32(value) __builtin_bswap32(value)
#define MLX4DV_BE64(value) __builtin_bswap64(value)
#else
#define MLX4DV_BE16(value) (value)
#define MLX4DV_BE32(value) (value)
#define MLX4DV_BE64(value) (value)
#endif

/* ---- exposed objects */

enum mlx4dv_qp_comp_mask {
	MLX4DV_QP_MASK_UAR_MMAP_OFFSET = 1 << 0,
};

/* Offsets are from the start of the buffer and are not valid for a queue without entries. */
struct mlx4dv_qp {
	__be32 *rdb;	     /* doorbell record of the receive queue; NULL: none */
	uint32_t *sdb;	     /* register MLX4_SEND_DOORBELL */
	__be32 doorbell_qpn; /* value to store there */
	struct {
		uint32_t wqe_cnt;
		int wqe_shift;
		int offset;
	} sq;
	struct {
		uint32_t wqe_cnt;
		int wqe_shift;
		int offset;
	} rq;
	struct {
		void *buf;
		size_t length;
	} buf;
	uint64_t comp_mask; /* enum mlx4dv_qp_comp_mask: requested; on return: filled */
	off_t uar_mmap_offset;
};

enum mlx4dv_cq_comp_mask {
	MLX4DV_CQ_MASK_UAR = 1 << 0,
};

struct mlx4dv_cq {
	struct {
		void *buf;
		size_t length;
	} buf;
	uint32_t cqe_cnt;
	uint32_t cqn;
	__be32 *set_ci_db; /* number of polled entries, 24 bits */
	__be32 *arm_db;
	int arm_sn;
	int cqe_size;	    /* 64: the completion is in the second half */
	uint64_t comp_mask; /* enum mlx4dv_cq_comp_mask */
	void *cq_uar;	    /* base address of MLX4_CQ_DOORBELL */
};

struct mlx4dv_srq {
	struct {
		void *buf;
		size_t length;
	} buf;
	int wqe_shift;
	int head; /* indices of the first and of the last free request */
	int tail;
	__be32 *db;
	uint64_t comp_mask;
};

struct mlx4dv_rwq {
	__be32 *rdb;
	struct {
		uint32_t wqe_cnt;
		int wqe_shift;
		int offset;
	} rq;
	struct {
		void *buf;
		size_t length;
	} buf;
	uint64_t comp_mask;
};

struct mlx4dv_obj {
	struct {
		struct ibv_qp *in;
		struct mlx4dv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct mlx4dv_cq *out;
	} cq;
	struct {
		struct ibv_srq *in;
		struct mlx4dv_srq *out;
	} srq;
	struct {
		struct ibv_wq *in;
		struct mlx4dv_rwq *out;
	} rwq;
};

enum mlx4dv_obj_type {
	MLX4DV_OBJ_QP = 1 << 0,
	MLX4DV_OBJ_CQ = 1 << 1,
	MLX4DV_OBJ_SRQ = 1 << 2,
	MLX4DV_OBJ_RWQ = 1 << 3,
};

/*
 * Fill in the structs of all types in @obj_type. A program that requests a completion queue polls
 * it from then on. The library no longer removes entries. Return: 0 or an errno.
 */
int mlx4dv_init_obj(struct mlx4dv_obj *obj, uint64_t obj_type);

/* ---- the device, and settings of a context */

struct mlx4dv_context {
	uint8_t version;
	uint32_t max_inl_recv_sz;
	uint64_t comp_mask;
};

int mlx4dv_query_device(struct ibv_context *ctx_in, struct mlx4dv_context *attrs_out);

enum mlx4dv_set_ctx_attr_type {
	MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ = 0, /* uint8_t */
	MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS = 1,	  /* struct mlx4dv_ctx_allocators */
};

/* Functions that allocate memory for queues created later. It must consist of whole pages. */
struct mlx4dv_ctx_allocators {
	void *(*alloc)(size_t size, void *priv_data);
	void (*free)(void *ptr, void *priv_data);
	void *data;
};

int mlx4dv_set_context_attr(struct ibv_context *context, enum mlx4dv_set_ctx_attr_type attr_type,
			    void *attr);

enum mlx4dv_qp_init_attr_mask {
	MLX4DV_QP_INIT_ATTR_MASK_INL_RECV = 1 << 0,
	MLX4DV_QP_INIT_ATTR_MASK_RESERVED = 1 << 1,
};

struct mlx4dv_qp_init_attr {
	uint64_t comp_mask;   /* enum mlx4dv_qp_init_attr_mask */
	uint32_t inl_recv_sz; /* bytes of inline data of a receive; on return: of a slot */
};

struct ibv_qp *mlx4dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct mlx4dv_qp_init_attr *mlx4_qp_attr);

/* ---- completions */

enum {
	MLX4_OPCODE_NOP = 0x00,
	MLX4_OPCODE_SEND_INVAL = 0x01,
	MLX4_OPCODE_RDMA_WRITE = 0x08,
	MLX4_OPCODE_RDMA_WRITE_IMM = 0x09,
	MLX4_OPCODE_SEND = 0x0a,
	MLX4_OPCODE_SEND_IMM = 0x0b,
	MLX4_OPCODE_LSO = 0x0e,
	MLX4_OPCODE_RDMA_READ = 0x10,
	MLX4_OPCODE_ATOMIC_CS = 0x11,
	MLX4_OPCODE_ATOMIC_FA = 0x12,
	MLX4_OPCODE_MASKED_ATOMIC_CS = 0x14,
	MLX4_OPCODE_MASKED_ATOMIC_FA = 0x15,
	MLX4_OPCODE_BIND_MW = 0x18,
	MLX4_OPCODE_FMR = 0x19,
	MLX4_OPCODE_LOCAL_INVAL = 0x1b,
	MLX4_OPCODE_CONFIG_CMD = 0x1f,

	MLX4_RECV_OPCODE_RDMA_WRITE_IMM = 0x00,
	MLX4_RECV_OPCODE_SEND = 0x01,
	MLX4_RECV_OPCODE_SEND_IMM = 0x02,
	MLX4_RECV_OPCODE_SEND_INVAL = 0x03,

	MLX4_CQE_OPCODE_ERROR = 0x1e,
	MLX4_CQE_OPCODE_RESIZE = 0x16, /* end of a ring that was resized */
};

enum {
	MLX4_CQ_DOORBELL = 0x20,
};

#define MLX4_CQ_DB_REQ_NOT_SOL (1 << 24)
#define MLX4_CQ_DB_REQ_NOT     (2 << 24)

enum {
	MLX4_CQE_VLAN_PRESENT_MASK = 1 << 29,
	MLX4_CQE_QPN_MASK = 0xffffff,
};

enum {
	MLX4_CQE_OWNER_MASK = 0x80,
	MLX4_CQE_IS_SEND_MASK = 0x40,
	MLX4_CQE_OPCODE_MASK = 0x1f,
};

enum {
	MLX4_CQE_SYNDROME_LOCAL_LENGTH_ERR = 0x01,
	MLX4_CQE_SYNDROME_LOCAL_QP_OP_ERR = 0x02,
	MLX4_CQE_SYNDROME_LOCAL_PROT_ERR = 0x04,
	MLX4_CQE_SYNDROME_WR_FLUSH_ERR = 0x05,
	MLX4_CQE_SYNDROME_MW_BIND_ERR = 0x06,
	MLX4_CQE_SYNDROME_BAD_RESP_ERR = 0x10,
	MLX4_CQE_SYNDROME_LOCAL_ACCESS_ERR = 0x11,
	MLX4_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR = 0x12,
	MLX4_CQE_SYNDROME_REMOTE_ACCESS_ERR = 0x13,
	MLX4_CQE_SYNDROME_REMOTE_OP_ERR = 0x14,
	MLX4_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR = 0x15,
	MLX4_CQE_SYNDROME_RNR_RETRY_EXC_ERR = 0x16,
	MLX4_CQE_SYNDROME_REMOTE_ABORTED_ERR = 0x22,
};

/* An entry whose opcode is MLX4_CQE_OPCODE_ERROR. */
struct mlx4_err_cqe {
	uint32_t vlan_my_qpn;
	uint32_t reserved1[5];
	uint16_t wqe_index;
	uint8_t vendor_err;
	uint8_t syndrome;
	uint8_t reserved2[3];
	uint8_t owner_sr_opcode;
};

enum mlx4_cqe_status {
	MLX4_CQE_STATUS_TCP_UDP_CSUM_OK = (1 << 2),
	MLX4_CQE_STATUS_IPV4_PKT = (1 << 22),
	MLX4_CQE_STATUS_IP_HDR_CSUM_OK = (1 << 28),
	MLX4_CQE_STATUS_IPV4_CSUM_OK = MLX4_CQE_STATUS_IPV4_PKT | MLX4_CQE_STATUS_IP_HDR_CSUM_OK |
				       MLX4_CQE_STATUS_TCP_UDP_CSUM_OK
};

__extension__ struct mlx4_cqe {
	__be32 vlan_my_qpn;
	__be32 immed_rss_invalid;
	__be32 g_mlpath_rqpn;
	union {
		struct {
			__be16 sl_vid;
			__be16 rlid;
		};
		__be32 ts_47_16;
	};
	__be32 status;
	__be32 byte_cnt;
	__be16 wqe_index;
	__be16 checksum;
	uint8_t reserved3;
	uint8_t ts_15_8;
	uint8_t ts_7_0;
	uint8_t owner_sr_opcode;
};

static MLX4DV_ALWAYS_INLINE uint8_t mlx4dv_get_cqe_owner(struct mlx4_cqe *cqe)
{
	return cqe->owner_sr_opcode & MLX4_CQE_OWNER_MASK;
}

static MLX4DV_ALWAYS_INLINE void mlx4dv_set_cqe_owner(struct mlx4_cqe *cqe, uint8_t val)
{
	uint8_t rest = cqe->owner_sr_opcode & ~MLX4_CQE_OWNER_MASK;

	cqe->owner_sr_opcode = rest | (val & MLX4_CQE_OWNER_MASK);
}

static MLX4DV_ALWAYS_INLINE uint8_t mlx4dv_get_cqe_opcode(struct mlx4_cqe *cqe)
{
	return cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK;
}

/* ---- requests */

enum {
	MLX4_SEND_DOORBELL = 0x14,
};

enum {
	MLX4_WQE_CTRL_SOLICIT = 1 << 1,
	MLX4_WQE_CTRL_CQ_UPDATE = 3 << 2,
	MLX4_WQE_CTRL_IP_HDR_CSUM = 1 << 4,
	MLX4_WQE_CTRL_TCP_UDP_CSUM = 1 << 5,
	MLX4_WQE_CTRL_FENCE = 1 << 6,
	MLX4_WQE_CTRL_STRONG_ORDER = 1 << 7
};

__extension__ enum {
	MLX4_WQE_BIND_TYPE_2 = (1UL << 31),
	MLX4_WQE_BIND_ZERO_BASED = (1 << 30),
};

__extension__ enum {
	MLX4_INLINE_SEG = 1UL << 31,
	MLX4_INLINE_ALIGN = 64,
};

enum {
	MLX4_INVALID_LKEY = 0x100,
};

__extension__ enum {
	MLX4_WQE_MW_REMOTE_READ = 1 << 29,
	MLX4_WQE_MW_REMOTE_WRITE = 1 << 30,
	MLX4_WQE_MW_ATOMIC = 1UL << 31
};

struct mlx4_wqe_local_inval_seg {
	uint64_t reserved1;
	__be32 mem_key;
	uint32_t reserved2;
	uint64_t reserved3[2];
};

struct mlx4_wqe_bind_seg {
	__be32 flags1; /* MLX4_WQE_MW_ */
	__be32 flags2; /* MLX4_WQE_BIND_ */
	__be32 new_rkey;
	__be32 lkey;
	__be64 addr;
	__be64 length;
};

/*
 * Bit 31 of owner_opcode flips each time round the ring. owner_opcode is written last. fence_size
 * has MLX4_WQE_CTRL_FENCE and the length of the request in units of 16 bytes. srcrb_flags has the
 * other MLX4_WQE_CTRL_ flags in its lowest byte.
 */
__extension__ struct mlx4_wqe_ctrl_seg {
	__be32 owner_opcode;
	union {
		struct {
			uint8_t reserved[3];
			uint8_t fence_size;
		};
		__be32 bf_qpn;
	};
	union {
		__be32 srcrb_flags;
		__be16 srcrb_flags16[2];
	};
	__be32 imm; /* immediate data, or the key that the peer invalidates */
};

struct mlx4_av {
	__be32 port_pd;
	uint8_t reserved1;
	uint8_t g_slid;
	__be16 dlid;
	uint8_t reserved2;
	uint8_t gid_index;
	uint8_t stat_rate;
	uint8_t hop_limit;
	__be32 sl_tclass_flowlabel;
	uint8_t dgid[16];
};

struct mlx4_wqe_datagram_seg {
	struct mlx4_av av;
	__be32 dqpn;
	__be32 qkey;
	__be16 vlan;
	uint8_t mac[6];
};

struct mlx4_wqe_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

struct mlx4_wqe_inline_seg {
	__be32 byte_count;
};

struct mlx4_wqe_srq_next_seg {
	uint16_t reserved1;
	__be16 next_wqe_index;
	uint32_t reserved2[3];
};

struct mlx4_wqe_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

__extension__ struct mlx4_wqe_lso_seg {
	__be32 mss_hdr_size;
	__be32 header[0];
};

struct mlx4_wqe_atomic_seg {
	__be64 swap_add;
	__be64 compare;
};

/* All arguments are in host order except @imm, which is stored unchanged. */
static MLX4DV_ALWAYS_INLINE void mlx4dv_set_ctrl_seg(struct mlx4_wqe_ctrl_seg *seg,
						     uint32_t owner_opcode, uint8_t fence_size,
						     uint32_t srcrb_flags, uint32_t imm)
{
	seg->imm = imm;
	seg->srcrb_flags = MLX4DV_BE32(srcrb_flags);
	seg->fence_size = fence_size;
	seg->owner_opcode = MLX4DV_BE32(owner_opcode);
}

static MLX4DV_ALWAYS_INLINE void
mlx4dv_set_dgram_seg(struct mlx4_wqe_datagram_seg *seg, uint32_t port_pd, uint8_t g_slid,
		     uint16_t dlid, uint8_t gid_index, uint8_t stat_rate, uint8_t hop_limit,
		     uint32_t sl_tclass_flowlabel, uint8_t *dgid, uint32_t dqpn, uint32_t qkey,
		     uint16_t vlan, uint8_t *mac)
{
	struct mlx4_av *av = &seg->av;

	av->port_pd = MLX4DV_BE32(port_pd);
	av->sl_tclass_flowlabel = MLX4DV_BE32(sl_tclass_flowlabel);
	av->g_slid = g_slid;
	av->dlid = MLX4DV_BE16(dlid);
	av->gid_index = gid_index;
	av->stat_rate = stat_rate;
	av->hop_limit = hop_limit;
	memcpy(av->dgid, dgid, sizeof(av->dgid));
	memcpy(seg->mac, mac, sizeof(seg->mac));
	seg->vlan = MLX4DV_BE16(vlan);
	seg->qkey = MLX4DV_BE32(qkey);
	seg->dqpn = MLX4DV_BE32(dqpn);
}

static MLX4DV_ALWAYS_INLINE void mlx4dv_set_data_seg(struct mlx4_wqe_data_seg *seg, uint32_t length,
						     uint32_t lkey, uintptr_t address)
{
	seg->addr = MLX4DV_BE64(address);
	seg->lkey = MLX4DV_BE32(lkey);
	seg->byte_count = MLX4DV_BE32(length);
}

#ifdef __cplusplus
}
#endif

#endif
