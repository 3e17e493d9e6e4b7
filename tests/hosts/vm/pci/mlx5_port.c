/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities, the InfiniBand port, and registers behind ACCESS_REG. */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	GENERAL = 0,
	ATOMIC = 3,
	TYPES = 0x20, /* of capabilities */
	DATA = 0x10,  /* behind the header of a command or its answer */
	INDEX = AT(0xc, 15, 16),
	DESCRIPTION = 64,
	CM_SUPPORTED = 1 << 16,
	SYSTEM_IMAGE_GUID_SUPPORTED = 1 << 11,
};

enum {
	REG_PMTU = 0x5003,
	REG_PTYS = 0x5004,
	REG_PPCNT = 0x5008,
	REG_PVLC = 0x500f,
	REG_NODE_DESCRIPTION = 0x6001,
	REG_HOST_ENDIANNESS = 0x7004,
	REG_TIMEOUTS = 0xc00e,
};

static const uint64_t node_guid = 0x0002c90300506c00;
static uint8_t now[TYPES][HCA_PAGE], most[TYPES][HCA_PAGE];
static uint32_t port_capabilities = CM_SUPPORTED | SYSTEM_IMAGE_GUID_SUPPORTED;
static uint8_t description[DESCRIPTION] = "played mlx5";

/* Without these, mlx5_core or mlx5_ib does not register. With umr_modify_entity_size_disabled,
 * mlx5_ib registers memory by commands, and not by requests on a queue of its own. */
static const struct {
	uint32_t field, value;
} general[] = {
	{ CAP_PORT_TYPE, 0 /* InfiniBand */ },
	{ CAP_NUM_PORTS, 1 },
	{ CAP_IB_VIRT, 1 }, /* the port is described by commands, and not by MADs */
	{ CAP_LOG_MAX_EQ, 5 },
	{ CAP_LOG_MAX_EQ_SZ, 22 },
	{ CAP_LOG_PG_SZ, 12 },
	{ CAP_LOG_BF_REG_SIZE, 9 },
	{ CAP_LOG_MAX_MKEY, HCA_LOG_KEYS },
	{ CAP_LOG_MAX_PD, 16 },
	{ CAP_XRC, 1 },
	{ CAP_RC, 1 },
	{ CAP_UC, 1 },
	{ CAP_UD, 1 },
	{ CAP_LOG_MAX_XRCD, 16 },
	{ CAP_LOG_MAX_SRQ, HCA_LOG_SRQS },
	{ CAP_LOG_MAX_SRQ_SZ, 15 },
	{ CAP_LOG_MAX_QP, HCA_LOG_QPS },
	{ CAP_LOG_MAX_QP_SZ, 15 },
	{ CAP_LOG_MAX_CQ, HCA_LOG_CQS },
	{ CAP_LOG_MAX_CQ_SZ, 22 },
	{ CAP_LOG_MAX_RA_REQ_QP, 4 },
	{ CAP_LOG_MAX_RA_RES_QP, 4 },
	{ CAP_MAX_WQE_SZ_SQ, 1024 },
	{ CAP_MAX_WQE_SZ_RQ, 512 },
	{ CAP_LOG_MAX_MSG, 30 },
	{ CAP_LOG_MAX_KLM_LIST_SIZE, 16 },
	{ CAP_LOG_MAX_MRW_SZ, 63 },
	{ CAP_LOG_MAX_TRANSPORT_DOMAIN, 16 },
	{ CAP_GID_TABLE_SIZE, 0 /* 8 */ },
	{ CAP_PKEY_TABLE_SIZE, 0 /* 128 */ },
	{ CAP_LOCAL_CA_ACK_DELAY, 16 },
	{ CAP_MAX_QP_CNT, 64 },
	{ CAP_CQE_VERSION, 1 },
	{ CAP_CQ_OI, 1 },
	{ CAP_CQ_RESIZE, 1 },
	{ CAP_CQ_MODERATION, 1 },
	{ CAP_COMPACT_ADDRESS_VECTOR, 1 },
	{ CAP_PKV, 1 },
	{ CAP_QKV, 1 },
	{ CAP_ATOMIC, 1 },
	{ CAP_IMAICL, 1 },
	{ CAP_MAX_QP_MCG, HCA_GROUPS },
	{ CAP_LOG_MAX_MCG, HCA_LOG_GROUPS },
	{ CAP_DRIVER_VERSION, 1 },
	{ CAP_DEVICE_FREQUENCY_KHZ, 1000000 },
	{ CAP_DEVICE_FREQUENCY_MHZ, 1000 },
	{ CAP_UMR_MODIFY_ENTITY_SIZE_DISABLED, 1 },
	{ CAP_UMR_INDIRECT_MKEY_DISABLED, 1 },
};

void hca_capabilities_reset(void)
{
	memset(most, 0, sizeof(most));
	for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++)
		put(most[GENERAL], general[i].field, general[i].value);
	put(most[GENERAL], CAP_BF, hca_combining != HCA_COMBINES_NOT);
	put(most[ATOMIC], ATOMIC_HAS_ENDIANNESS_1, 1);
	put(most[ATOMIC], ATOMIC_OPERATIONS, 3); /* compare and swap, fetch and add */
	put(most[ATOMIC], ATOMIC_SIZE_QP, 8);
	put(most[ATOMIC], ATOMIC_SIZE_DC, 8);
	if (hca_ethernet)
		hca_roce_capabilities();
	memcpy(now, most, sizeof(now));
}

uint8_t *hca_most(uint32_t type)
{
	return most[type];
}

uint64_t hca_node_guid(void)
{
	return node_guid + play_slot() * 2;
}

/* The mode has the type, and in bit 0 whether the current values are wanted or the largest ones. */
enum hca_status hca_query_capabilities(const struct hca_call *call)
{
	uint32_t type = call->op_mod >> 1;

	if (type >= TYPES)
		return HCA_BAD_PARAMETER;
	memcpy(call->out + DATA, call->op_mod & 1 ? now[type] : most[type], HCA_PAGE);
	return HCA_OK;
}

/* The driver sends all general capabilities, and of the capabilities of atomics only the changed
 * one. */
enum hca_status hca_set_capabilities(const struct hca_call *call)
{
	uint32_t type = call->op_mod >> 1;

	if (type >= TYPES)
		return HCA_BAD_PARAMETER;
	if (type == ATOMIC)
		put(now[ATOMIC], ATOMIC_ENDIANNESS, get(call->in + DATA, ATOMIC_ENDIANNESS));
	else
		memcpy(now[type], call->in + DATA, HCA_PAGE);
	return HCA_OK;
}

static enum hca_status read_register(uint32_t number, uint8_t *data)
{
	if (hca_ethernet && hca_roce_register(number, data))
		return HCA_OK;
	switch (number) {
	case REG_PTYS: /* 4X EDR */
		put(data, PTYS_LINK_WIDTH_CAPABILITY, 0xf);
		put(data, PTYS_LINK_WIDTH_OPER, 4);
		put(data, PTYS_PROTO_CAPABILITY, 0x3f);
		put(data, PTYS_PROTO_OPER, 0x20);
		return HCA_OK;
	case REG_PMTU:
		put(data, PMTU_MAX_MTU, 4096);
		put(data, PMTU_ADMIN_MTU, 4096);
		put(data, PMTU_OPER_MTU, 4096);
		return HCA_OK;
	case REG_PVLC:
		put(data, PVLC_VL_HW_CAP, 4);
		put(data, PVLC_VL_OPERATIONAL, 4);
		return HCA_OK;
	case REG_NODE_DESCRIPTION:
		memcpy(data, description, sizeof(description));
		return HCA_OK;
	case REG_TIMEOUTS:
		hca_health_timeouts(data);
		return HCA_OK;
	case REG_PPCNT: /* counters: all are 0 */
		return HCA_OK;
	default:
		printf("register 0x%x is not played\n", number);
		return HCA_BAD_PARAMETER;
	}
}

enum hca_status hca_access_register(const struct hca_call *call)
{
	uint32_t number = get(call->in, REGISTER_ID);

	PLAY_LOG("register 0x%x is %s\n", number, call->op_mod ? "read" : "written");
	if (call->op_mod) {
		memcpy(call->out + DATA, call->in + DATA, HCA_PAGE - DATA);
		return read_register(number, call->out + DATA);
	}
	if (number == REG_NODE_DESCRIPTION)
		memcpy(description, call->in + DATA, sizeof(description));
	else if (number != REG_HOST_ENDIANNESS && !hca_ethernet)
		return HCA_BAD_PARAMETER;
	return HCA_OK;
}

enum hca_status hca_query_port(const struct hca_call *call)
{
	enum {
		ACTIVE = 4,
		LINK_UP = 5,
	};
	uint64_t guid = hca_node_guid();
	uint8_t *c = call->out + COMMAND_CONTEXT;

	put(c, PORT_HAS_SMI, 1);
	put(c, PORT_PHYSICAL_STATE, LINK_UP);
	put(c, PORT_STATE, ACTIVE);
	put(c, PORT_VPORT_STATE, ACTIVE);
	put64(c + PORT_SYSTEM_IMAGE_GUID, guid);
	put64(c + PORT_GUID, guid + 1);
	put64(c + PORT_NODE_GUID, guid);
	put(c, PORT_CAP_MASK1, port_capabilities);
	put(c, PORT_CAP_MASK1_FIELD_SELECT, ~0u);
	put(c, PORT_LID, HCA_LID);
	put(c, PORT_SM_LID, HCA_LID);
	put(c, PORT_SUBNET_TIMEOUT, 18);
	return HCA_OK;
}

/* The only change is of the capabilities that the driver selects. */
enum hca_status hca_modify_port(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	uint32_t selected = get(c, PORT_CAP_MASK1_FIELD_SELECT);

	port_capabilities = (port_capabilities & ~selected) | (get(c, PORT_CAP_MASK1) & selected);
	return HCA_OK;
}

/* The first GID and the first P_Key of the port are the only ones. */
void hca_gid(uint32_t index, uint8_t ret_gid[16])
{
	const struct hca_address *address = hca_address(index);

	memset(ret_gid, 0, 16);
	if (address)
		memcpy(ret_gid, address->gid, 16);
	if (hca_ethernet || index)
		return;
	put64(ret_gid, 0xfe80000000000000);
	put64(ret_gid + 8, hca_node_guid() + 1);
}

enum hca_status hca_query_gid(const struct hca_call *call)
{
	put(call->out, GIDS_NUM, 1);
	hca_gid(get(call->in, INDEX), call->out + DATA);
	return HCA_OK;
}

enum hca_status hca_query_pkey(const struct hca_call *call)
{
	if (!get(call->in, INDEX))
		put32(call->out + DATA, 0xffff);
	return HCA_OK;
}
