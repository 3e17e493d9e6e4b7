/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of devices: limits and capabilities. */
#ifndef INFINIBAND_VERBS_DEVICE_ATTR_H
#define INFINIBAND_VERBS_DEVICE_ATTR_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of ibv_device_attr.device_cap_flags. */
enum ibv_device_cap_flags {
	IBV_DEVICE_RESIZE_MAX_WR = 1,
	IBV_DEVICE_BAD_PKEY_CNTR = 1 << 1,
	IBV_DEVICE_BAD_QKEY_CNTR = 1 << 2,
	IBV_DEVICE_RAW_MULTI = 1 << 3,
	IBV_DEVICE_AUTO_PATH_MIG = 1 << 4,
	IBV_DEVICE_CHANGE_PHY_PORT = 1 << 5,
	IBV_DEVICE_UD_AV_PORT_ENFORCE = 1 << 6,
	IBV_DEVICE_CURR_QP_STATE_MOD = 1 << 7,
	IBV_DEVICE_SHUTDOWN_PORT = 1 << 8,
	IBV_DEVICE_INIT_TYPE = 1 << 9,
	IBV_DEVICE_PORT_ACTIVE_EVENT = 1 << 10,
	IBV_DEVICE_SYS_IMAGE_GUID = 1 << 11,
	IBV_DEVICE_RC_RNR_NAK_GEN = 1 << 12,
	IBV_DEVICE_SRQ_RESIZE = 1 << 13,
	IBV_DEVICE_N_NOTIFY_CQ = 1 << 14,
	IBV_DEVICE_MEM_WINDOW = 1 << 17,
	IBV_DEVICE_UD_IP_CSUM = 1 << 18,
	IBV_DEVICE_XRC = 1 << 20,
	IBV_DEVICE_MEM_MGT_EXTENSIONS = 1 << 21,
	IBV_DEVICE_MEM_WINDOW_TYPE_2A = 1 << 23,
	IBV_DEVICE_MEM_WINDOW_TYPE_2B = 1 << 24,
	IBV_DEVICE_RC_IP_CSUM = 1 << 25,
	IBV_DEVICE_RAW_IP_CSUM = 1 << 26,
	IBV_DEVICE_MANAGED_FLOW_STEERING = 1 << 29
};

/* Further bits, of ibv_device_attr_ex.device_cap_flags_ex only: too wide for an enumerator. */
#define IBV_DEVICE_RAW_SCATTER_FCS	 (1ULL << 34)
#define IBV_DEVICE_PCI_WRITE_END_PADDING (1ULL << 36)
#define IBV_DEVICE_CC_DMA_BOUNCE	 (1ULL << 41) /* reaches only shared memory of a guest */

/* The scope in which atomic operations of the device are atomic. */
enum ibv_atomic_cap {
	IBV_ATOMIC_NONE, /* the device has no atomic operations */
	IBV_ATOMIC_HCA,	 /* among the atomic operations of this device */
	IBV_ATOMIC_GLOB	 /* also with respect to the CPUs */
};

/**
 * struct ibv_device_attr - limits and identity of a device
 *
 * The max_ members are counts unless noted. A limit holds for the device, not for one process:
 * creating an object can fail before it is reached.
 * @page_size_cap: mask; bit n is set when pages of 2^n bytes can be registered
 * @device_cap_flags: OR of enum ibv_device_cap_flags
 * @max_sge_rd: scatter/gather entries of an RDMA read
 * @max_res_rd_atom: RDMA reads and atomics as responder, of the whole device
 * @local_ca_ack_delay: the device answers within 4.096 us * 2^value
 * @phys_port_cnt: ports are numbered from 1
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "query HCA".
 */
struct ibv_device_attr {
	char fw_ver[64];
	__be64 node_guid;
	__be64 sys_image_guid;
	uint64_t max_mr_size; /* bytes */
	uint64_t page_size_cap;
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hw_ver;
	int max_qp;
	int max_qp_wr; /* per queue */
	unsigned int device_cap_flags;
	int max_sge; /* per work request */
	int max_sge_rd;
	int max_cq;
	int max_cqe;
	int max_mr;
	int max_pd;
	int max_qp_rd_atom; /* as responder, per QP */
	int max_ee_rd_atom;
	int max_res_rd_atom;
	int max_qp_init_rd_atom; /* as initiator, per QP */
	int max_ee_init_rd_atom;
	enum ibv_atomic_cap atomic_cap;
	int max_ee;
	int max_rdd;
	int max_mw;
	int max_raw_ipv6_qp;
	int max_raw_ethy_qp;
	int max_mcast_grp;
	int max_mcast_qp_attach; /* per group */
	int max_total_mcast_qp_attach;
	int max_ah;
	int max_fmr;
	int max_map_per_fmr;
	int max_srq;
	int max_srq_wr;
	int max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay;
	uint8_t phys_port_cnt;
};

/**
 * ibv_query_device() - limits and identity of a device
 *
 * Return: 0 or an errno value; *@device_attr is written only on success.
 */
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);

/* No query has options yet: comp_mask is 0. */
struct ibv_query_device_ex_input {
	uint32_t comp_mask;
};

/* On-demand paging: bits of ibv_odp_caps.general_caps. */
enum ibv_odp_general_caps {
	IBV_ODP_SUPPORT = 1 << 0,
	IBV_ODP_SUPPORT_IMPLICIT = 1 << 1, /* one region for the whole address space */
};

/* Which operations of a transport may touch memory registered with IBV_ACCESS_ON_DEMAND. */
enum ibv_odp_transport_cap_bits {
	IBV_ODP_SUPPORT_SEND = 1 << 0,
	IBV_ODP_SUPPORT_RECV = 1 << 1,
	IBV_ODP_SUPPORT_WRITE = 1 << 2,
	IBV_ODP_SUPPORT_READ = 1 << 3,
	IBV_ODP_SUPPORT_ATOMIC = 1 << 4,
	IBV_ODP_SUPPORT_SRQ_RECV = 1 << 5,
	IBV_ODP_SUPPORT_FLUSH = 1 << 6,
	IBV_ODP_SUPPORT_ATOMIC_WRITE = 1 << 7,
};

struct ibv_odp_caps {
	uint64_t general_caps;
	struct {
		uint32_t rc_odp_caps;
		uint32_t uc_odp_caps;
		uint32_t ud_odp_caps;
	} per_transport_caps;
};

/* TCP segmentation offload. supported_qpts: mask, see ibv_is_qpt_supported(). */
struct ibv_tso_caps {
	uint32_t max_tso; /* bytes of payload in one work request; 0: none */
	uint32_t supported_qpts;
};

enum ibv_rx_hash_function_flags {
	IBV_RX_HASH_FUNC_TOEPLITZ = 1 << 0,
};

/*
 * Header fields that may enter the receive hash. A hash takes either IPv4 or IPv6 and either TCP
 * or UDP; INNER selects the headers inside a tunnel.
 */
__extension__ enum ibv_rx_hash_fields {
	IBV_RX_HASH_SRC_IPV4 = 1 << 0,
	IBV_RX_HASH_DST_IPV4 = 1 << 1,
	IBV_RX_HASH_SRC_IPV6 = 1 << 2,
	IBV_RX_HASH_DST_IPV6 = 1 << 3,
	IBV_RX_HASH_SRC_PORT_TCP = 1 << 4,
	IBV_RX_HASH_DST_PORT_TCP = 1 << 5,
	IBV_RX_HASH_SRC_PORT_UDP = 1 << 6,
	IBV_RX_HASH_DST_PORT_UDP = 1 << 7,
	IBV_RX_HASH_IPSEC_SPI = 1 << 8,
	IBV_RX_HASH_INNER = (1UL << 31),
};

/* Receive-side scaling: limits of RWQ indirection tables and of the hash in front of them. */
struct ibv_rss_caps {
	uint32_t supported_qpts;
	uint32_t max_rwq_indirection_tables;
	uint32_t max_rwq_indirection_table_size; /* entries */
	uint64_t rx_hash_fields_mask;		 /* enum ibv_rx_hash_fields */
	uint8_t rx_hash_function;		 /* enum ibv_rx_hash_function_flags */
};

/* Rates in kbit/s; 0: no pacing. */
struct ibv_packet_pacing_caps {
	uint32_t qp_rate_limit_min;
	uint32_t qp_rate_limit_max;
	uint32_t supported_qpts;
};

enum ibv_raw_packet_caps {
	IBV_RAW_PACKET_CAP_CVLAN_STRIPPING = 1 << 0,
	IBV_RAW_PACKET_CAP_SCATTER_FCS = 1 << 1,
	IBV_RAW_PACKET_CAP_IP_CSUM = 1 << 2,
	IBV_RAW_PACKET_CAP_DELAY_DROP = 1 << 3,
};

enum ibv_tm_cap_flags {
	IBV_TM_CAP_RC = 1 << 0, /* tag matching on RC */
};

/* Tag matching; all 0 when the device has none. */
struct ibv_tm_caps {
	uint32_t max_rndv_hdr_size; /* bytes of a rendezvous request's header */
	uint32_t max_num_tags;	    /* tagged receives in one SRQ's list */
	uint32_t flags;		    /* enum ibv_tm_cap_flags */
	uint32_t max_ops;	    /* list operations in flight */
	uint32_t max_sge;	    /* entries of a tagged receive */
};

/* The largest values ibv_modify_cq() takes; 0: no moderation. */
struct ibv_cq_moderation_caps {
	uint16_t max_cq_count;	/* completions */
	uint16_t max_cq_period; /* microseconds */
};

/* Operand sizes of atomics towards PCI: masks of enum ibv_pci_atomic_op_size. */
enum ibv_pci_atomic_op_size {
	IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP = 1 << 0,
	IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP = 1 << 1,
	IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP = 1 << 2,
};

struct ibv_pci_atomic_caps {
	uint16_t fetch_add;
	uint16_t swap;
	uint16_t compare_swap;
};

/**
 * struct ibv_device_attr_ex - the limits of a device, and what was added later
 *
 * A capability the device does not have, or the kernel does not report, is 0.
 * @completion_timestamp_mask: the bits of a completion timestamp that count
 * @hca_core_clock: kHz of the clock behind it
 * @device_cap_flags_ex: the device_cap_flags and IBV_DEVICE_* wider than 32 bits
 * @raw_packet_caps: OR of enum ibv_raw_packet_caps
 * @max_dm_size: bytes of device memory
 * @xrc_odp_caps: OR of enum ibv_odp_transport_cap_bits
 * @phys_port_cnt_ex: number of ports, also when there are more than 255
 */
struct ibv_device_attr_ex {
	struct ibv_device_attr orig_attr;
	uint32_t comp_mask;
	struct ibv_odp_caps odp_caps;
	uint64_t completion_timestamp_mask;
	uint64_t hca_core_clock;
	uint64_t device_cap_flags_ex;
	struct ibv_tso_caps tso_caps;
	struct ibv_rss_caps rss_caps;
	uint32_t max_wq_type_rq;
	struct ibv_packet_pacing_caps packet_pacing_caps;
	uint32_t raw_packet_caps;
	struct ibv_tm_caps tm_caps;
	struct ibv_cq_moderation_caps cq_mod_caps;
	uint64_t max_dm_size;
	struct ibv_pci_atomic_caps pci_atomic_caps;
	uint32_t xrc_odp_caps;
	uint32_t phys_port_cnt_ex;
};

/**
 * ibv_query_device_ex() - limits and capabilities of a device
 * @input: NULL, or with comp_mask 0
 *
 * A device that has only the old query fills @attr->orig_attr; the rest is 0.
 * Return: 0 or an errno value; EINVAL for an unknown bit in @input->comp_mask.
 */
static inline int ibv_query_device_ex(struct ibv_context *context,
				      const struct ibv_query_device_ex_input *input,
				      struct ibv_device_attr_ex *attr)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_device_ex);
	int ret = EOPNOTSUPP;

	if (vctx)
		ret = vctx->query_device_ex(context, input, attr, sizeof(*attr));
	else if (input && input->comp_mask)
		return EINVAL;
	if (ret != EOPNOTSUPP && ret != ENOSYS)
		return ret;

	memset(attr, 0, sizeof(*attr));
	return ibv_query_device(context, &attr->orig_attr);
}

/* Values requested from ibv_query_rt_values_ex(); on return: values that it filled in. */
enum ibv_values_mask {
	IBV_VALUES_MASK_RAW_CLOCK = 1 << 0,
	IBV_VALUES_MASK_RESERVED = 1 << 1
};

struct ibv_values_ex {
	uint32_t comp_mask;
	struct timespec raw_clock; /* tv_nsec: ticks of hca_core_clock, tv_sec: 0 */
};

/**
 * ibv_query_rt_values_ex() - read values of the device that change all the time
 * @values: comp_mask names them, and says on return which ones were read
 */
static inline int ibv_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct verbs_context *vctx = verbs_get_ctx_op(context, query_rt_values);

	return vctx ? vctx->query_rt_values(context, values) : EOPNOTSUPP;
}

#ifdef __cplusplus
}
#endif

#endif
