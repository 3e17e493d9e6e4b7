/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef INFINIBAND_SA_H
#define INFINIBAND_SA_H

#include <infiniband/verbs.h>
#include <linux/types.h>

/**
 * struct ibv_sa_path_rec - a path between two ports, unpacked for programs
 *
 * __be fields are in network order, the others in host order. The selectors say how the value
 * beside them is meant: 0 more than, 1 less than, 2 exactly, 3 the best there is. @mtu is an enum
 * ibv_mtu, @rate an enum ibv_rate, @packet_life_time means 4.096 us * 2^value.
 * Source: IBTA vol. 1, subnet administration, path record.
 */
struct ibv_sa_path_rec {
	union ibv_gid dgid;
	union ibv_gid sgid;
	__be16 dlid;
	__be16 slid;
	int raw_traffic;
	__be32 flow_label; /* 20 bits */
	uint8_t hop_limit;
	uint8_t traffic_class;
	int reversible; /* boolean */
	uint8_t numb_path;
	__be16 pkey;
	uint8_t sl;
	uint8_t mtu_selector;
	uint8_t mtu;
	uint8_t rate_selector;
	uint8_t rate;
	uint8_t packet_life_time_selector;
	uint8_t packet_life_time;
	uint8_t preference;
};

/**
 * struct ibv_sa_mcmember_rec - membership of a port in a multicast group, unpacked
 *
 * Selectors and units as in struct ibv_sa_path_rec. @join_state is a mask: 1 full member,
 * 2 non-member, 4 send-only non-member.
 * Source: IBTA vol. 1, subnet administration, multicast member record.
 */
struct ibv_sa_mcmember_rec {
	union ibv_gid mgid;
	union ibv_gid port_gid;
	uint32_t qkey;
	uint16_t mlid;
	uint8_t mtu_selector;
	uint8_t mtu;
	uint8_t traffic_class;
	uint16_t pkey;
	uint8_t rate_selector;
	uint8_t rate;
	uint8_t packet_life_time_selector;
	uint8_t packet_life_time;
	uint8_t sl;
	uint32_t flow_label; /* 20 bits */
	uint8_t hop_limit;
	uint8_t scope;
	uint8_t join_state;
	int proxy_join; /* boolean */
};

/**
 * struct ibv_sa_service_rec - a service advertised with the subnet administrator, unpacked
 *
 * @lease is in seconds; the data fields belong to the service.
 * Source: IBTA vol. 1, subnet administration, service record.
 */
struct ibv_sa_service_rec {
	uint64_t id;
	union ibv_gid gid;
	uint16_t pkey;
	uint32_t lease;
	uint8_t key[16];
	uint8_t name[64]; /* UTF-8 */
	uint8_t data8[16];
	uint16_t data16[8];
	uint32_t data32[4];
	uint64_t data64[2];
};

/* The reversible bit of ibv_path_record.reversible_numpath. */
#define IBV_PATH_RECORD_REVERSIBLE 0x80

/**
 * struct ibv_path_record - a path record exactly as a MAD carries it: 64 bytes, network order
 *
 * Bit fields share a member, the most significant bits first; the comments give the widths.
 * Source: IBTA vol. 1, subnet administration, path record.
 */
struct ibv_path_record {
	__be64 service_id;
	union ibv_gid dgid;
	union ibv_gid sgid;
	__be16 dlid;
	__be16 slid;
	__be32 flowlabel_hoplimit; /* 4 reserved, 20 flow label, 8 hop limit */
	uint8_t tclass;
	uint8_t reversible_numpath; /* 1 reversible, 7 number of paths */
	__be16 pkey;
	__be16 qosclass_sl;	/* 12 QoS class, 4 service level */
	uint8_t mtu;		/* 2 selector, 6 enum ibv_mtu */
	uint8_t rate;		/* 2 selector, 6 enum ibv_rate */
	uint8_t packetlifetime; /* 2 selector, 6 exponent */
	uint8_t preference;
	uint8_t reserved[6];
};

/* What a path in struct ibv_path_data is for: a mask. */
#define IBV_PATH_FLAG_GMP	      (1 << 0)
#define IBV_PATH_FLAG_PRIMARY	      (1 << 1)
#define IBV_PATH_FLAG_ALTERNATE	      (1 << 2)
#define IBV_PATH_FLAG_OUTBOUND	      (1 << 3)
#define IBV_PATH_FLAG_INBOUND	      (1 << 4)
#define IBV_PATH_FLAG_INBOUND_REVERSE (1 << 5)
#define IBV_PATH_FLAG_BIDIRECTIONAL   (IBV_PATH_FLAG_OUTBOUND | IBV_PATH_FLAG_INBOUND_REVERSE)

/**
 * struct ibv_path_data - a path record and its use
 *
 * The element of the arrays exchanged with the connection manager and the path service.
 * @flags: OR of IBV_PATH_FLAG_*
 */
struct ibv_path_data {
	uint32_t flags;
	uint32_t reserved;
	struct ibv_path_record path;
};

#endif
