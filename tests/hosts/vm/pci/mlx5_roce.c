/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Ethernet port of an adapter for RoCE: its capabilities, registers, and the addresses that the
 * driver gives it. */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	GENERAL = 0,
	ETHERNET = 1,
	ROCE = 4,
	FLOW_TABLE = 7,
	REG_PMTU = 0x5003,
	REG_PTYS = 0x5004,
	REG_PAOS = 0x5006,
	LINK_100G = 1 << 20, /* 100GBASE-CR4 */
	LONGEST_MTU = 9978,
	UP = 1,
	UDP_PORT = 4791,
};

bool hca_ethernet;
static uint32_t mtu = 1500;

/* mlx5_core needs the first two groups to create a netdev. mlx5_ib needs both kinds of addresses to
 * register a device. */
static const struct {
	uint32_t type, field, value;
} capabilities[] = {
	{ GENERAL, CAP_PORT_TYPE, 1 /* Ethernet */ },
	{ GENERAL, CAP_IB_VIRT, 0 },
	{ GENERAL, CAP_ROCE, 1 },
	{ GENERAL, CAP_ETH_NET_OFFLOADS, 1 },
	{ GENERAL, CAP_NIC_FLOW_TABLE, 1 },
	{ GENERAL, CAP_LOG_MAX_TIR, 10 },
	{ GENERAL, CAP_LOG_MAX_TIS, 10 },
	{ GENERAL, CAP_LOG_MAX_TIS_PER_SQ, 1 },
	{ GENERAL, CAP_LOG_MAX_RQT, 10 },
	{ GENERAL, CAP_LOG_MAX_RQT_SIZE, 9 },
	{ GENERAL, CAP_LOG_MAX_RQ, HCA_LOG_FRAME_QUEUES },
	{ GENERAL, CAP_LOG_MAX_SQ, HCA_LOG_FRAME_QUEUES },
	{ GENERAL, CAP_LOG_MAX_STRIDE_SZ_RQ, 15 },
	{ GENERAL, CAP_LOG_MIN_STRIDE_SZ_RQ, 4 },
	{ GENERAL, CAP_LOG_MAX_STRIDE_SZ_SQ, 6 },
	{ GENERAL, CAP_LOG_MIN_STRIDE_SZ_SQ, 6 },
	{ GENERAL, CAP_LOG_MAX_WQ_SZ, 15 },
	{ GENERAL, CAP_BASIC_CYCLIC_RCV_WQE, 1 },
	{ GENERAL, CAP_LOG_MAX_VLAN_LIST, 12 },
	{ GENERAL, CAP_LOG_MAX_CURRENT_UC_LIST, 7 },
	{ GENERAL, CAP_LOG_MAX_CURRENT_MC_LIST, 7 },
	{ GENERAL, CAP_MAX_TC, 8 },
	{ ETHERNET, ETHERNET_CSUM_CAP, 1 },
	{ ETHERNET, ETHERNET_VLAN_CAP, 1 },
	{ ETHERNET, ETHERNET_SELF_LB_EN_MODIFIABLE, 1 },
	{ ETHERNET, ETHERNET_MAX_LSO_CAP, 16 },
	{ ETHERNET, ETHERNET_WQE_INLINE_MODE, 2 /* no header has to be inline */ },
	{ ETHERNET, ETHERNET_RSS_IND_TBL_CAP, 9 },
	{ FLOW_TABLE, FLOW_FT_SUPPORT, 1 },
	{ FLOW_TABLE, FLOW_FLOW_MODIFY_EN, 1 },
	{ FLOW_TABLE, FLOW_MODIFY_ROOT, 1 },
	{ FLOW_TABLE, FLOW_IDENTIFIED_MISS_TABLE_MODE, 1 },
	{ FLOW_TABLE, FLOW_FLOW_TABLE_MODIFY, 1 },
	{ FLOW_TABLE, FLOW_LOG_MAX_FT_SIZE, 22 },
	{ FLOW_TABLE, FLOW_MAX_FT_LEVEL, 64 },
	{ FLOW_TABLE, FLOW_LOG_MAX_FT_NUM, 10 },
	{ FLOW_TABLE, FLOW_LOG_MAX_DESTINATION, 10 },
	{ FLOW_TABLE, FLOW_LOG_MAX_FLOW, 16 },
	{ ROCE, ROCE_L3_TYPE, 1 << 1 /* IPv4 */ | 1 << 2 /* IPv6 */ },
	{ ROCE, ROCE_VERSION, 1 << 0 /* v1 */ | 1 << 2 /* v2 */ },
	{ ROCE, ROCE_ADDRESS_TABLE_SIZE, HCA_ADDRESSES },
	{ ROCE, ROCE_R_DEST_UDP_PORT, UDP_PORT },
	{ ROCE, ROCE_R_MIN_SRC_UDP_PORT, 0xc000 },
	{ ROCE, ROCE_R_MAX_SRC_UDP_PORT, 0xffff },
};

void hca_roce_capabilities(void)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		put(hca_most(capabilities[i].type), capabilities[i].field, capabilities[i].value);
}

void hca_mac(uint8_t ret_mac[HCA_MAC])
{
	static const uint8_t mac[HCA_MAC] = { 2, 0x50, 0x6c, 0x61, 0x79, 1 };

	memcpy(ret_mac, mac, HCA_MAC);
	ret_mac[HCA_MAC - 1] += play_slot();
}

bool hca_roce_register(uint32_t number, uint8_t *data)
{
	switch (number) {
	case REG_PTYS:
		put(data, PTYS_ETH_PROTO_CAPABILITY, LINK_100G);
		put(data, PTYS_ETH_PROTO_ADMIN, LINK_100G);
		put(data, PTYS_ETH_PROTO_OPER, LINK_100G);
		return true;
	case REG_PMTU:
		put(data, PMTU_MAX_MTU, LONGEST_MTU);
		put(data, PMTU_ADMIN_MTU, LONGEST_MTU);
		put(data, PMTU_OPER_MTU, LONGEST_MTU);
		return true;
	case REG_PAOS:
		put(data, PAOS_ADMIN_STATUS, UP);
		put(data, PAOS_OPER_STATUS, UP);
		return true;
	default:
		return false;
	}
}

enum hca_status hca_query_vport_state(const struct hca_call *call)
{
	put(call->out, VPORT_ADMIN_STATE, UP);
	put(call->out, VPORT_STATE, UP);
	return HCA_OK;
}

enum hca_status hca_query_nic(const struct hca_call *call)
{
	uint8_t *c = call->out + COMMAND_CONTEXT;
	uint64_t guid = hca_node_guid();

	put(c, NIC_MTU, mtu);
	put64(c + NIC_SYSTEM_IMAGE_GUID, guid);
	put64(c + NIC_PORT_GUID, guid + 1);
	put64(c + NIC_NODE_GUID, guid);
	hca_mac(c + NIC_PERMANENT_ADDRESS + 2);
	return HCA_OK;
}

/* Ignore lists of addresses, because the netdev gets all frames. */
enum hca_status hca_modify_nic(const struct hca_call *call)
{
	if (get(call->in, MODIFY_NIC_SELECT_MTU))
		mtu = get(call->in + MODIFY_NIC_CONTEXT, NIC_MTU);
	return HCA_OK;
}

/* Set an address. An address of zeros removes the old address. */
enum hca_status hca_set_address(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	uint32_t n = get(call->in, ADDRESS_INDEX);
	struct hca_address *address = n < HCA_ADDRESSES ? &hca.addresses[n] : NULL;

	if (!address)
		return HCA_BAD_PARAMETER;
	memcpy(address->gid, c, sizeof(address->gid));
	address->version = get(c, ADDRESS_VERSION);
	address->ipv6 = get(c, ADDRESS_L3_TYPE);
	address->used = get64(c) || get64(c + 8);
	PLAY_LOG("GID %u: %016llx%016llx, version %u, IPv6 %d\n", n, (unsigned long long)get64(c),
		 (unsigned long long)get64(c + 8), address->version, address->ipv6);
	return HCA_OK;
}

const struct hca_address *hca_address(uint32_t index)
{
	const struct hca_address *address = index < HCA_ADDRESSES ? &hca.addresses[index] : NULL;

	return address && address->used ? address : NULL;
}

uint8_t hca_header_kind(const struct hca_address *from)
{
	if (!from || from->version != HCA_ROCE_V2)
		return HCA_HEADER_GRH;
	return from->ipv6 ? HCA_HEADER_IPV6 : HCA_HEADER_IPV4;
}

bool hca_is_own_mac(const uint8_t *mac)
{
	uint8_t own[HCA_MAC];

	hca_mac(own);
	return !memcmp(mac, own, HCA_MAC);
}
