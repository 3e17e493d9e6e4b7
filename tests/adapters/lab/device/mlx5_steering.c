/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Software steering: what the firmware reports and creates for it. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdio.h>
#include "tests/adapters/lab/shim/shim.h"

enum {
	GROUP_GENERAL = 0,
	GROUP_ROCE = 4,
	GROUP_NIC_TABLES = 7,
	GROUP_SWITCH_TABLES = 8,
	GROUP_MEMORY = 0xf,
};

enum {
	OP_QUERY_ESW_FUNCTIONS = 0x740,
	OP_QUERY_ESW_VPORT = 0x752,
	OP_QUERY_NIC_VPORT = 0x754,
	OP_CREATE_TIR = 0x900,
	OP_CREATE_FLOW_TABLE = 0x930,
	OP_ALLOC_COUNTER = 0x939,
	OP_CREATE_OBJECT = 0xa00,
	OP_SYNC_STEERING = 0xb00,
	OBJECT_DEFINER = 0x18,
};

enum {
	FORMATS = 4,
	FUNCTION = 7, /* number of the function that is the device */
	LEVELS = 64,
	ENCAP_MOST = 128,
	LOG_ENTRIES = 26,
	LOG_CHANGES = 20,
	LOG_PATTERNS = 15,
	DEFINERS_FROM = 0x20,
	TABLES = 64,
	TIR_STEP = 64, /* bytes between the addresses of TIRs */
};

/* Root addresses of tables that software owns, in the order of their creation. */
static uint64_t roots[TABLES];
static unsigned table_count;

int mlx5_steering_format(void)
{
	for (int i = 0; i < FORMATS; i++) {
		char word[16];

		snprintf(word, sizeof(word), "steering-%d", i);
		if (host_is(word))
			return i;
	}
	return -1;
}

static void put_64(struct firmware *f, size_t offset, uint64_t value)
{
	firmware_put(f, offset, value >> 32);
	firmware_put(f, offset + 4, value);
}

static void general_caps(struct firmware *f, int format)
{
	uint32_t other = firmware_get(f, 8);

	firmware_put(f, 0x14, other >> 31 ? 0x100 + (other & 0xffff) : FUNCTION);
	firmware_put(f, 0x44, 1u << 24); /* it manages the switch */
	firmware_put(f, 0x50, 1u << 2);	 /* RoCE */
	firmware_put(f, 0x98, (uint32_t)format << 24);
	firmware_put(f, 0xb8, 1u << 8 | 1u << 9); /* parsers of ICMP and ICMPv6 */
	firmware_put(f, 0xe8, 1u << 20 | 0u << 16 | 3u << 12 | 2u << 8);
}

/* The bit by which software owns tables: entries of format 0 have an older bit. */
static uint32_t owner_bit(int format)
{
	return 1u << (format ? 1 : 14);
}

/* Entries have 40 bits of an address, and the number of its function in a field of their own. */
static uint64_t of_function(uint64_t address)
{
	return (uint64_t)FUNCTION << 48 | address;
}

void mlx5_steering_caps(struct firmware *f, unsigned group)
{
	int format = mlx5_steering_format();

	if (format < 0)
		return;
	switch (group) {
	case GROUP_GENERAL:
		general_caps(f, format);
		break;
	case GROUP_ROCE:
		firmware_put(f, 0x10, 1u << 26 | 1u << 25); /* queue pairs of loopback */
		break;
	case GROUP_NIC_TABLES:
		firmware_put(f, 0x14, ENCAP_MOST);
		firmware_put(f, 0x50, owner_bit(format));
		firmware_put(f, 0x54, LEVELS);
		firmware_put(f, 0x110, owner_bit(format));
		put_64(f, 0x410, of_function(LAB_DROP_RX));
		put_64(f, 0x418, of_function(LAB_DROP_TX));
		put_64(f, 0x420, of_function(LAB_ALLOW_TX));
		break;
	case GROUP_SWITCH_TABLES:
		firmware_put(f, 0x50, owner_bit(format));
		put_64(f, 0x310, 0xd1d0000040);
		put_64(f, 0x318, 0xd1d0000080);
		put_64(f, 0x320, 0xd1d00000c0);
		put_64(f, 0x328, 0xd1d0000100);
		break;
	case GROUP_MEMORY:
		firmware_put(f, 0x30, LOG_CHANGES << 16 | LOG_ENTRIES);
		firmware_put(f, 0x34, LOG_PATTERNS);
		put_64(f, 0x38, 0x4000000000);
		put_64(f, 0x48, 0x5000000000);
		break;
	}
}

bool mlx5_steering_general(struct firmware *f)
{
	uint32_t port = firmware_get(f, 8) & 0xffff;

	if (mlx5_steering_format() < 0)
		return false;
	switch (firmware_get(f, 0) >> 16) {
	case OP_QUERY_NIC_VPORT:
		firmware_put(f, 0x10, 1); /* RoCE is enabled */
		return true;
	case OP_QUERY_ESW_VPORT:
		put_64(f, 0x100, 0xd200000000 + port * 0x1000ull);
		put_64(f, 0x108, 0xd200000040 + port * 0x1000ull);
		return true;
	case OP_QUERY_ESW_FUNCTIONS:
	case OP_SYNC_STEERING:
		return true;
	default:
		return false;
	}
}

/* The ids of each kind count from 0, so that entries that name them are the same for each library.
 */
bool mlx5_steering_create(struct firmware *f)
{
	static uint32_t tirs, definers, tables, counters;

	if (mlx5_steering_format() < 0)
		return false;
	switch (firmware_get(f, 0) >> 16) {
	case OP_CREATE_TIR:
		firmware_put(f, 8, 0x07000000 | (0x500 + tirs));
		firmware_put(f, 0xc, 0x11000000 + tirs++ * TIR_STEP);
		return true;
	case OP_CREATE_FLOW_TABLE:
		if (firmware_get(f, 0x18) & 1u << 29 && table_count < TABLES)
			roots[table_count++] =
				(uint64_t)firmware_get(f, 0x38) << 32 | firmware_get(f, 0x3c);
		firmware_put(f, 8, 0x600 + tables++);
		return true;
	case OP_ALLOC_COUNTER:
		firmware_put(f, 8, 0x700 + counters++ * 16);
		return true;
	case OP_CREATE_OBJECT:
		if ((firmware_get(f, 4) & 0xffff) != OBJECT_DEFINER)
			return false;
		firmware_put(f, 8, DEFINERS_FROM + definers++);
		return true;
	default:
		return false;
	}
}

__attribute__((visibility("default"))) int lab_steer(unsigned table, const void *frame,
						     size_t length, struct lab_steered *ret)
{
	struct mlx5_headers headers;
	int r;

	if (table >= table_count || !mlx5_headers_read(frame, length, &headers))
		return EINVAL;
	pthread_mutex_lock(&device_lock);
	r = mlx5_walk(&headers, roots[table], ret);
	pthread_mutex_unlock(&device_lock);
	return r;
}
