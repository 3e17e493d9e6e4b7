/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capabilities, the port, and the management datagrams that the driver asks the firmware for. */
#include "tests/hosts/vm/pci/mlx4.h"

#include <string.h>
#include "tests/hosts/vm/pci/play.h"
#include "util/bytes.h"

enum {
	MAILBOX = 4096,
	FIRMWARE_PAGES = 64,
	LOG_COMMANDS = 4,
	LOG_GIDS = 4,
	LOG_PKEYS = 7,
	GUIDS = 8, /* in a block of GUIDInfo */
	DEFAULT_PKEY = 0xffff,
};

static uint32_t port_capabilities;

static uint64_t node_guid(void)
{
	return 0x0002c90300000010ull + 16 * play_slot();
}

static uint64_t port_guid(uint32_t index)
{
	return node_guid() + 1 + index;
}

static uint8_t *cleared(const struct hcr_call *call)
{
	return memset(hcr_out(call), 0, MAILBOX);
}

enum hcr_status hca_query_firmware(struct hcr_call *call)
{
	uint8_t *out = cleared(call);

	put16(out + 0x0, FIRMWARE_PAGES);
	put16(out + 0x2, 2); /* 2.42.5000 */
	put16(out + 0x4, 5000);
	put16(out + 0x6, 42);
	put16(out + 0xa, 3); /* revision of the commands */
	out[0xf] = LOG_COMMANDS;
	put64(out + 0x20, HCA_CLEAR_INTERRUPT);
	put64(out + 0x30, HCA_ERROR_BUFFER);
	put32(out + 0x38, HCA_ERROR_WORDS);
	put64(out + 0x50, HCA_CLOCK);
	return HCR_OK;
}

/* The driver takes numbers of objects from its own profile. Limits here are not less. */
enum hcr_status hca_query_capabilities(struct hcr_call *call)
{
	static const struct {
		uint8_t at, value;
	} bytes[] = {
		{ 0x10, 14 }, /* log of requests in an SRQ */
		{ 0x11, 14 }, /* log of requests in a queue pair */
		{ 0x12, 6 },  /* reserved queue pairs */
		{ 0x13, 18 }, /* queue pairs */
		{ 0x14, 6 << 4 },
		{ 0x15, 16 }, /* SRQs */
		{ 0x19, 22 }, /* completions in a CQ */
		{ 0x1a, 7 },
		{ 0x1b, 16 }, /* CQs */
		{ 0x1d, 19 }, /* keys */
		{ 0x1e, 2 },
		{ 0x1f, 6 }, /* event queues */
		{ 0x20, 4 << 4 },
		{ 0x22, 8 },
		{ 0x29, 7 },
		{ 0x2b, 7 }, /* atomics and reads of a queue pair */
		{ 0x2f, 20 },
		{ 0x35, 15 },	      /* delay of an acknowledgement */
		{ 0x37, 4 << 4 | 1 }, /* lanes, ports */
		{ 0x38, 30 },	      /* log of bytes in a message */
		{ 0x3b, LOG_GIDS },
		{ 0x3e, 0x80 }, /* timestamps in completions */
		{ 0x3f, LOG_PKEYS },
		{ 0x48, 1 << 4 },
		{ 0x49, HCA_LOG_UAR_MB },
		{ 0x4b, 12 },	/* page */
		{ 0x4c, 0x80 }, /* requests in the page behind the doorbells */
		{ 0x4d, 9 },
		{ 0x4e, 3 },
		{ 0x51, 32 }, /* segments of a send, and bytes of its request in 0x52 */
		{ 0x55, 32 },
		{ 0x61, 8 },
		{ 0x63, 13 }, /* groups */
		{ 0x64, 1 << 4 },
		{ 0x65, 17 }, /* PDs */
		{ 0x66, 1 << 4 },
		{ 0x67, 16 },	/* XRC domains */
		{ 0xc1, 0x80 }, /* programs may read the clock */
	};
	static const struct {
		uint8_t at;
		uint16_t value;
	} sizes[] = {
		{ 0x52, 1008 }, { 0x56, 512 }, { 0x80, 32 },  { 0x82, 256 },
		{ 0x84, 64 },	{ 0x86, 64 },  { 0x88, 128 }, { 0x8a, 128 },
		{ 0x8c, 128 },	{ 0x8e, 64 },  { 0x90, 8 },   { 0x92, 64 },
	};
	/* RC, UC, UD, XRC, SRQ, violations of P_Keys and Q_Keys, windows, atomics, ports of
	 * datagrams, multicast. */
	static const uint32_t flags = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 8 | 1 << 9 |
				      1 << 16 | 1 << 18 | 1 << 20 | 1 << 21;
	/* Events and completions of 64 bytes. */
	static const uint32_t more_flags = 1 << 29 | 1 << 30;
	/* Windows of type 2B, invalidation by requests here and there. */
	static const uint32_t memory_flags = 1 << 1 | 1 << 6 | 1 << 7 | 1 << 9;
	uint8_t *out = cleared(call);

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		out[bytes[i].at] = bytes[i].value;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		put16(out + sizes[i].at, sizes[i].value);
	put32(out + 0x40, more_flags);
	put32(out + 0x44, flags);
	put32(out + 0x94, memory_flags);
	put64(out + 0xa0, 1ull << 34); /* bytes of the firmware's memory */
	return HCR_OK;
}

/* The words of the board's name are in the host's byte order. */
enum hcr_status hca_query_adapter(struct hcr_call *call)
{
	static const char name[16] = "PLAYED_MLX4";
	uint8_t *board = cleared(call) + 0x20 + 0xd0;

	for (size_t i = 0; i < sizeof(name); i++)
		board[i ^ 3] = name[i];
	return HCR_OK;
}

enum hcr_status hca_query_port(struct hcr_call *call)
{
	enum {
		LINK_UP = 0x80,
		INFINIBAND = 1,
	};
	uint8_t *out = cleared(call);

	out[0x0] = LINK_UP | INFINIBAND;
	out[0x1] = IBV_MTU_4096;
	out[0x6] = 3; /* widths 1 and 4 */
	out[0x7] = LOG_GIDS << 4 | LOG_PKEYS;
	out[0xa] = 7 << 4 | 7; /* VLANs and MAC addresses, which only Ethernet uses */
	out[0xb] = 4;	       /* lanes */
	return HCR_OK;
}

enum hcr_status hca_set_port(struct hcr_call *call)
{
	port_capabilities = get32(hcr_in(call) + 4);
	return HCR_OK;
}

void hca_gid(uint32_t index, uint8_t ret_gid[16])
{
	put64(ret_gid, 0xfe80000000000000ull);
	put64(ret_gid + 8, index ? 0 : port_guid(0));
}

static void node_info(uint8_t *data)
{
	data[0] = data[1] = 1; /* versions */
	data[2] = IBV_NODE_CA;
	data[3] = 1; /* ports */
	put64(data + 4, node_guid() + 3);
	put64(data + 12, node_guid());
	put64(data + 20, port_guid(0));
	put16(data + 28, 1 << LOG_PKEYS);
	put16(data + 30, 0x1003);
	put32(data + 36, 1u << 24 | 0x2c9);
}

static void port_info(uint8_t *data)
{
	put64(data + 8, 0xfe80000000000000ull);
	put16(data + 16, LOOP_LID);
	put16(data + 18, LOOP_LID); /* of the subnet manager */
	put32(data + 20, port_capabilities);
	data[28] = 1; /* the asked port */
	data[29] = data[30] = 3;
	data[31] = 2; /* width 4 */
	data[32] = 7 << 4 | IBV_PORT_ACTIVE;
	data[33] = 5 << 4 | 2;
	data[35] = 2 << 4 | 3; /* 5 Gbit/s on a lane */
	data[36] = IBV_MTU_4096 << 4;
	data[37] = 3 << 4; /* four lanes */
	data[41] = IBV_MTU_4096;
	data[50] = 1 << LOG_GIDS;
	data[51] = 18;
}

static void answer_smp(uint8_t *mad)
{
	enum {
		ATTRIBUTE = 16,
		MODIFIER = 20,
		DATA = 64,
		LENGTH = 64,
		NODE_DESCRIPTION = 0x10,
		NODE_INFO,
		GUID_INFO = 0x14,
		PORT_INFO,
		PKEY_TABLE,
		SL_TO_VL,
	};
	uint8_t *data = memset(mad + DATA, 0, LENGTH);

	switch (get16(mad + ATTRIBUTE)) {
	case NODE_DESCRIPTION:
		memcpy(data, "played ConnectX-3", 17);
		break;
	case NODE_INFO:
		node_info(data);
		break;
	case GUID_INFO:
		if (!get32(mad + MODIFIER))
			put64(data, port_guid(0));
		break;
	case PORT_INFO:
		port_info(data);
		break;
	case PKEY_TABLE:
		if (!get32(mad + MODIFIER))
			put16(data, DEFAULT_PKEY);
		break;
	case SL_TO_VL:
		for (int i = 0; i < 8; i++)
			data[i] = (2 * i % 4) << 4 | (2 * i + 1) % 4;
	}
}

/* Datagrams of other classes come back without data. */
enum hcr_status hca_mad(struct hcr_call *call)
{
	enum {
		MAD = 256,
		CLASS = 1,
		METHOD = 3,
		SUBNET = 0x01,
		SUBNET_DIRECTED = 0x81,
		GET_RESPONSE = 0x81,
	};
	uint8_t *out = hcr_out(call);

	memcpy(out, hcr_in(call), MAD);
	out[METHOD] = GET_RESPONSE;
	if (out[CLASS] == SUBNET || out[CLASS] == SUBNET_DIRECTED)
		answer_smp(out);
	return HCR_OK;
}
