/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Address handles and the parts of an address. */
#ifndef INFINIBAND_VERBS_AH_H
#define INFINIBAND_VERBS_AH_H

#include <infiniband/verbs/types.h>
#include <infiniband/verbs/gid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Static rates; IBV_RATE_MAX is the port's own. Convert with the functions of strings.h. */
enum ibv_rate {
	IBV_RATE_MAX = 0,
	IBV_RATE_2_5_GBPS = 2,
	IBV_RATE_10_GBPS = 3,
	IBV_RATE_30_GBPS = 4,
	IBV_RATE_5_GBPS = 5,
	IBV_RATE_20_GBPS = 6,
	IBV_RATE_40_GBPS = 7,
	IBV_RATE_60_GBPS = 8,
	IBV_RATE_80_GBPS = 9,
	IBV_RATE_120_GBPS = 10,
	IBV_RATE_14_GBPS = 11,
	IBV_RATE_56_GBPS = 12,
	IBV_RATE_112_GBPS = 13,
	IBV_RATE_168_GBPS = 14,
	IBV_RATE_25_GBPS = 15,
	IBV_RATE_100_GBPS = 16,
	IBV_RATE_200_GBPS = 17,
	IBV_RATE_300_GBPS = 18,
	IBV_RATE_28_GBPS = 19,
	IBV_RATE_50_GBPS = 20,
	IBV_RATE_400_GBPS = 21,
	IBV_RATE_600_GBPS = 22,
	IBV_RATE_800_GBPS = 23,
	IBV_RATE_1200_GBPS = 24,
};

/* The fields of a GRH. flow_label: 20 bits, host order. */
struct ibv_global_route {
	union ibv_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit; /* 1: this subnet only */
	uint8_t traffic_class;
};

/**
 * struct ibv_grh - global route header as a UD receive finds it: 40 bytes, network order
 *
 * On RoCEv2 over IPv4 the last 20 bytes are the IPv4 header instead.
 * Source: IBTA vol. 1, network layer (chapter 8); annex A17.
 */
struct ibv_grh {
	__be32 version_tclass_flow; /* 4 version, 8 traffic class, 20 flow label */
	__be16 paylen;
	uint8_t next_hdr;
	uint8_t hop_limit;
	union ibv_gid sgid;
	union ibv_gid dgid;
};

/**
 * struct ibv_ah_attr - the way to a destination
 *
 * @grh: used when @is_global; always on RoCE, never needed on InfiniBand inside a subnet
 * @dlid, @src_path_bits: InfiniBand only
 * @static_rate: enum ibv_rate
 * @is_global: boolean
 */
struct ibv_ah_attr {
	struct ibv_global_route grh;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

/* An address handle: a destination of UD sends. */
struct ibv_ah {
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t handle;
};

/**
 * ibv_create_ah() - make an address handle
 *
 * On RoCE this finds out the Ethernet address of the destination and may wait for its answer.
 * Return: the handle; NULL with errno EINVAL (port, GID index), EHOSTUNREACH (no answer), ...
 * Source: IBTA vol. 1, software transport verbs (chapter 11), "create address handle".
 */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

/**
 * ibv_init_ah_from_wc() - address attributes that lead back to the sender of a UD message
 * @grh: the first 40 bytes of the receive buffer; looked at when @wc has IBV_WC_GRH
 * @ah_attr: the result
 *
 * Return: 0; -1 on failure.
 */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);

/**
 * ibv_create_ah_from_wc() - the two calls above in one
 */
struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num);

/**
 * ibv_destroy_ah() - destroy an address handle
 *
 * Not before the sends that use it completed.
 */
int ibv_destroy_ah(struct ibv_ah *ah);

/* Bytes of an Ethernet address. */
#define ETHERNET_LL_SIZE 6

/**
 * ibv_resolve_eth_l2_from_gid() - Ethernet address and VLAN of a RoCE destination
 * @eth_mac: the result
 * @vid: the VLAN of the interface, 0xffff for none; may be NULL
 *
 * May wait for the neighbour's answer.
 * Return: 0, otherwise not 0.
 */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid);

/* RoCEv2: the UDP source ports that may be used, and the bits a flow label has. */
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MIN (0xC000)
#define IB_ROCE_UDP_ENCAP_VALID_PORT_MAX (0xFFFF)
#define IB_GRH_FLOWLABEL_MASK		 (0x000FFFFF)

/**
 * ibv_flow_label_to_udp_sport() - the RoCEv2 source port that stands for a flow label
 * @fl: 20 bits, host order
 *
 * Routers spread flows by it. The upper 6 bits of the label are folded into the lower 14.
 * Return: IB_ROCE_UDP_ENCAP_VALID_PORT_MIN ... _MAX, host order.
 * Source: annex A17.
 */
static inline uint16_t ibv_flow_label_to_udp_sport(uint32_t fl)
{
	uint32_t folded = (fl & 0x3fff) ^ ((fl & 0xfc000) >> 14);

	return (uint16_t)(IB_ROCE_UDP_ENCAP_VALID_PORT_MIN | folded);
}

#ifdef __cplusplus
}
#endif

#endif
