/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where fields lie in commands and contexts of mlx5, whose numbers are big-endian. A plain number
 * is an offset in bytes. */
#ifndef PCI_MLX5_FIELDS_H
#define PCI_MLX5_FIELDS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* The 32-bit word at @offset, of which the field has @width bits from bit @high down. */
#define AT(offset, high, width) ((offset) << 12 | (high) << 6 | (width))

enum {
	/* All commands: header, number of the object. */
	COMMAND_OPCODE = AT(0x0, 31, 16),
	COMMAND_OP_MOD = AT(0x4, 15, 16),
	COMMAND_NUMBER = AT(0x8, 23, 24),
	COMMAND_CONTEXT = 0x10,
	COMMAND_PAGES = 0x110,
	QP_OPT_PARAM_MASK = AT(0x10, 31, 32),
	QP_CONTEXT = 0x18,

	EQC_LOG_EQ_SIZE = AT(0xc, 28, 5),
	EQC_INTR = AT(0x14, 11, 12),
	EQC_LOG_PAGE_SIZE = AT(0x18, 28, 5),
	EQC_PAGE_OFFSET = AT(0x8, 11, 6),
	EQ_EVENTS = 0x58,
	CQC_LOG_CQ_SIZE = AT(0xc, 28, 5),
	CQC_CQE_SZ = AT(0x0, 23, 3),
	CQC_EQN = AT(0x14, 31, 32),
	CQC_DBR_ADDR = 0x38,
	CQC_LOG_PAGE_SIZE = AT(0x18, 28, 5),
	CQC_PAGE_OFFSET = AT(0x8, 11, 6),
	QPC_STATE = AT(0x0, 31, 4),
	QPC_ST = AT(0x0, 23, 8),
	QPC_PD = AT(0x4, 23, 24),
	QPC_USER_INDEX = AT(0x10, 23, 24),
	QPC_CQN_SND = AT(0x7c, 23, 24),
	QPC_CQN_RCV = AT(0x9c, 23, 24),
	QPC_SRQN = AT(0xac, 23, 24),
	QPC_RQ_TYPE = AT(0xac, 26, 3),
	QPC_XRCD = AT(0x98, 23, 24),
	QPC_DBR_ADDR = 0xa0,
	QPC_LOG_RQ_SIZE = AT(0x8, 22, 4),
	QPC_LOG_RQ_STRIDE = AT(0x8, 18, 3),
	QPC_NO_SQ = AT(0x8, 15, 1),
	QPC_LOG_SQ_SIZE = AT(0x8, 14, 4),
	QPC_LOG_PAGE_SIZE = AT(0x14, 28, 5),
	QPC_PAGE_OFFSET = AT(0x90, 11, 6),
	QPC_PKEY_INDEX = AT(0x18, 15, 16),
	QPC_VHCA_PORT_NUM = AT(0x3c, 23, 8),
	QPC_RLID = AT(0x1c, 15, 16),
	QPC_ACK_TIMEOUT = AT(0x20, 31, 5),
	QPC_PM_STATE = AT(0x0, 12, 2),
	QPC_Q_KEY = AT(0xa8, 31, 32),
	QPC_RRE = AT(0x90, 15, 1),
	QPC_RWE = AT(0x90, 14, 1),
	QPC_RAE = AT(0x90, 13, 1),
	QPC_MTU = AT(0x8, 31, 3),
	QPC_LOG_MSG_MAX = AT(0x8, 28, 5),
	QPC_REMOTE_QPN = AT(0x14, 23, 24),
	QPC_NEXT_RCV_PSN = AT(0x94, 23, 24),
	QPC_MIN_RNR_NAK = AT(0x94, 28, 5),
	QPC_LOG_RRA_MAX = AT(0x90, 23, 3),
	QPC_RETRY_COUNT = AT(0x70, 18, 3),
	QPC_RNR_RETRY = AT(0x70, 15, 3),
	QPC_NEXT_SEND_PSN = AT(0x78, 23, 24),
	QPC_LOG_SRA_MAX = AT(0x70, 23, 3),
	QPC_HW_SQ_WQEBB_COUNTER = AT(0xb4, 31, 16),
	WQ_LOG_SZ = AT(0x20, 4, 5),
	WQ_LOG_STRIDE = AT(0x20, 19, 4),
	WQ_PD = AT(0x8, 23, 24),
	WQ_DBR_ADDR = 0x10,
	WQ_TYPE = AT(0x0, 31, 4),
	WQ_PAS = 0xc0,
	WQ_LOG_PG_SZ = AT(0x20, 12, 5),
	WQ_PAGE_OFFSET = AT(0x4, 20, 5),
	WQ_LWM = AT(0x4, 15, 16),
	RMP_CONTEXT = 0x20,
	RMP_WQ = 0x50,
	XRC_SRQC_LOG_SIZE = AT(0x0, 27, 4),
	XRC_SRQC_LOG_RQ_STRIDE = AT(0x4, 26, 3),
	XRC_SRQC_PD = AT(0x18, 23, 24),
	XRC_SRQC_CQN = AT(0x8, 23, 24),
	XRC_SRQC_USER_INDEX = AT(0x10, 23, 24),
	XRC_SRQC_XRCD = AT(0x4, 23, 24),
	XRC_SRQC_DBR_ADDR = 0x28,
	XRC_SRQC_LOG_PAGE_SIZE = AT(0x10, 29, 6),
	XRC_SRQC_PAGE_OFFSET = AT(0x8, 31, 6),
	XRC_SRQC_LWM = AT(0x1c, 31, 16),
	ARM_XRC_SRQ_LWM = AT(0xc, 15, 16),
	MKC_FREE = AT(0x0, 30, 1),
	MKC_MKEY_7_0 = AT(0x4, 7, 8),
	MKC_ACCESS_MODE_1_0 = AT(0x0, 9, 2),
	MKC_ACCESS_MODE_4_2 = AT(0x0, 28, 3),
	MKC_A = AT(0x0, 14, 1),
	MKC_RW = AT(0x0, 13, 1),
	MKC_RR = AT(0x0, 12, 1),
	MKC_LW = AT(0x0, 11, 1),
	MKC_LR = AT(0x0, 10, 1),
	MKC_LENGTH64 = AT(0xc, 31, 1),
	MKC_PD = AT(0xc, 23, 24),
	MKC_LOG_PAGE_SIZE = AT(0x38, 4, 5),
	MKC_START_ADDR = 0x10,
	MKC_LEN = 0x18,
	PORT_HAS_SMI = AT(0x20, 30, 1),
	PORT_PHYSICAL_STATE = AT(0x20, 15, 4),
	PORT_STATE = AT(0x20, 7, 4),
	PORT_VPORT_STATE = AT(0x20, 3, 4),
	PORT_SYSTEM_IMAGE_GUID = 0x28,
	PORT_GUID = 0x30,
	PORT_NODE_GUID = 0x38,
	PORT_CAP_MASK1 = AT(0x40, 31, 32),
	PORT_CAP_MASK1_FIELD_SELECT = AT(0x44, 31, 32),
	PORT_LID = AT(0x60, 31, 16),
	PORT_SM_LID = AT(0x64, 31, 16),
	PORT_SUBNET_TIMEOUT = AT(0x60, 4, 5),
	REGISTER_ID = AT(0x8, 15, 16),
	PTYS_LINK_WIDTH_CAPABILITY = AT(0x10, 31, 16),
	PTYS_LINK_WIDTH_OPER = AT(0x28, 31, 16),
	PTYS_PROTO_CAPABILITY = AT(0x10, 15, 16),
	PTYS_PROTO_OPER = AT(0x28, 15, 16),
	PMTU_MAX_MTU = AT(0x4, 31, 16),
	PMTU_ADMIN_MTU = AT(0x8, 31, 16),
	PMTU_OPER_MTU = AT(0xc, 31, 16),
	PVLC_VL_HW_CAP = AT(0x4, 3, 4),
	PVLC_VL_OPERATIONAL = AT(0xc, 3, 4),
	PAGES_IN = AT(0xc, 31, 32),
	PAGES_OUT = AT(0x8, 31, 32),
	CURRENT_ISSI = AT(0x8, 15, 16),
	SUPPORTED_ISSI = AT(0x6c, 31, 32),
	QUERY_NUM_PAGES = AT(0xc, 31, 32),
	ADAPTER_IEEE_VENDOR_ID = AT(0x28, 23, 24),
	ADAPTER_PSID = 0x100,
	GIDS_NUM = AT(0xc, 31, 16),
	CAP_PORT_TYPE = AT(0x34, 9, 2),
	CAP_NUM_PORTS = AT(0x34, 7, 8),
	CAP_LOG_MAX_EQ = AT(0x1c, 3, 4),
	CAP_LOG_MAX_EQ_SZ = AT(0x1c, 31, 8),
	CAP_LOG_PG_SZ = AT(0x48, 7, 8),
	CAP_LOG_BF_REG_SIZE = AT(0x4c, 20, 5),
	CAP_LOG_MAX_MKEY = AT(0x1c, 21, 6),
	CAP_LOG_MAX_PD = AT(0x64, 20, 5),
	CAP_IB_VIRT = AT(0x34, 29, 1),
	CAP_XRC = AT(0x44, 3, 1),
	CAP_RC = AT(0x44, 0, 1),
	CAP_UC = AT(0x44, 1, 1),
	CAP_UD = AT(0x44, 2, 1),
	CAP_LOG_MAX_XRCD = AT(0x64, 4, 5),
	CAP_LOG_MAX_SRQ = AT(0x14, 20, 5),
	CAP_LOG_MAX_SRQ_SZ = AT(0x10, 31, 8),
	CAP_LOG_MAX_QP = AT(0x10, 4, 5),
	CAP_LOG_MAX_QP_SZ = AT(0x10, 23, 8),
	CAP_LOG_MAX_CQ = AT(0x18, 4, 5),
	CAP_LOG_MAX_CQ_SZ = AT(0x18, 23, 8),
	CAP_LOG_MAX_RA_REQ_QP = AT(0x28, 21, 6),
	CAP_LOG_MAX_RA_RES_QP = AT(0x28, 5, 6),
	CAP_MAX_WQE_SZ_SQ = AT(0x50, 15, 16),
	CAP_MAX_WQE_SZ_RQ = AT(0x54, 15, 16),
	CAP_LOG_MAX_MSG = AT(0x38, 28, 5),
	CAP_LOG_MAX_KLM_LIST_SIZE = AT(0x20, 5, 6),
	CAP_LOG_MAX_MRW_SZ = AT(0x20, 22, 7),
	CAP_LOG_MAX_TRANSPORT_DOMAIN = AT(0x64, 28, 5),
	CAP_GID_TABLE_SIZE = AT(0x2c, 15, 16),
	CAP_PKEY_TABLE_SIZE = AT(0x30, 15, 16),
	CAP_LOCAL_CA_ACK_DELAY = AT(0x34, 20, 5),
	CAP_MAX_QP_CNT = AT(0x30, 25, 10),
	CAP_CQE_VERSION = AT(0x3c, 3, 4),
	CAP_CQ_OI = AT(0x44, 31, 1),
	CAP_CQ_RESIZE = AT(0x44, 30, 1),
	CAP_CQ_MODERATION = AT(0x44, 29, 1),
	CAP_COMPACT_ADDRESS_VECTOR = AT(0x40, 31, 1),
	CAP_PKV = AT(0x44, 8, 1),
	CAP_QKV = AT(0x44, 9, 1),
	CAP_ATOMIC = AT(0x40, 1, 1),
	CAP_DRIVER_VERSION = AT(0x4c, 30, 1),
	CAP_DEVICE_FREQUENCY_KHZ = AT(0x9c, 31, 32),
	CAP_DEVICE_FREQUENCY_MHZ = AT(0x98, 31, 32),
	CAP_UMR_MODIFY_ENTITY_SIZE_DISABLED = AT(0x40, 24, 1),
	CAP_UMR_INDIRECT_MKEY_DISABLED = AT(0x40, 22, 1),
	ATOMIC_HAS_ENDIANNESS_1 = AT(0x8, 25, 1),
	ATOMIC_OPERATIONS = AT(0x10, 15, 16),
	ATOMIC_SIZE_QP = AT(0x14, 15, 16),
	ATOMIC_SIZE_DC = AT(0x18, 15, 16),
	ATOMIC_ENDIANNESS = AT(0x8, 31, 2),
};

static inline uint32_t get_32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static inline uint64_t get_64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static inline void put_32(void *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static inline void put_64(void *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static inline uint32_t field_mask(uint32_t field)
{
	return (field & 63) == 32 ? ~0u : (1u << (field & 63)) - 1;
}

static inline uint32_t field_shift(uint32_t field)
{
	return (field >> 6 & 63) + 1 - (field & 63);
}

static inline uint32_t get(const uint8_t *at, uint32_t field)
{
	return get_32(at + (field >> 12)) >> field_shift(field) & field_mask(field);
}

static inline void put(uint8_t *at, uint32_t field, uint32_t value)
{
	uint32_t word = get_32(at + (field >> 12)), mask = field_mask(field) << field_shift(field);

	put_32(at + (field >> 12), (word & ~mask) | (value << field_shift(field) & mask));
}

#endif
