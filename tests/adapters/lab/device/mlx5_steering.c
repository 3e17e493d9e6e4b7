/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Software steering: what the firmware reports and creates for it. */
#include "tests/adapters/lab/device/mlx5_steering.h"

#include <stdio.h>
#include <stdlib.h>
#include "tests/adapters/lab/model/frame.h"
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
	OP_ALLOC_REFORMAT = 0x93d,
	OBJECT_METER = 0x0a,
	OBJECT_DEFINER = 0x18,
	OBJECT_SAMPLER = 0x20,
	OBJECT_ARGUMENT = 0x23,
	OBJECT_ASO_METER = 0x24,
	OBJECT_ASO_HIT = 0x25,
	OBJECT_ASO_CT = 0x31,
};

enum {
	FORMATS = 4,
	/*
	 * GENEVE, MPLS over GRE and UDP, VXLAN-GPE, ICMP, ICMPv6, options of GENEVE, words of GTPU
	 */
	PROTOCOLS = 0xf0fb8,
	LEVELS = 64,
	ENCAP_MOST = 128,
	LOG_ENTRIES = 26,
	LOG_CHANGES = 20,
	LOG_PATTERNS = 15,
	DEFINERS_FROM = 0x20,
	DEFINERS = 64,
	DEFINER_MASK = 32,
	REFORMATS_FROM = 0x800,
	REFORMAT_STEP = 16,
	ARGUMENTS_FROM = 0x10000,
	OBJECTS_FROM = 0x900,
	TABLES = 64,
	TIRS_FROM = 0x500,
	TIR_STEP = 64, /* bytes between the addresses of TIRs */
	COUNTERS = 4096,
};

/* Root addresses of tables that software owns, in the order of their creation. */
static uint64_t roots[TABLES][2]; /* the second one: of the switch's sent packets, or 0 */
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

/* Report which protocols the device parses, and by which parsers. */
static void parsers_put(struct firmware *f)
{
	firmware_put(f, 0xb8, PROTOCOLS);
	firmware_put(f, 0xbc, 1u << 15); /* changes of the parsed protocols */
	firmware_put(f, 0xcc, PARSER_OF_ICMP << 20);
	firmware_put(f, 0xd0, PARSER_OF_ICMP_DATA << 4);
	firmware_put(f, 0xe8,
		     PARSER_OF_GENEVE << 24 | PARSER_OF_ICMP_DATA << 20 | PARSER_OF_ICMP << 16 |
			     PARSER_OF_ICMPV6_DATA << 12 | PARSER_OF_ICMPV6 << 8 |
			     PARSER_OF_MPLS_GRE << 4 | PARSER_OF_MPLS_UDP);
	firmware_put(f, 0xf0,
		     (uint32_t)PARSER_OF_GTPU_EXTENSION << 28 | PARSER_OF_GTPU_EXTENSION << 24);
}

static void general_caps(struct firmware *f, int format)
{
	uint32_t other = firmware_get(f, 8);

	firmware_put(f, 0x14, other >> 31 ? 0x100 + (other & 0xffff) : MLX5_FUNCTION);
	firmware_put(f, 0x44, 1u << 24); /* it manages the switch */
	firmware_put(f, 0x50, 1u << 2);	 /* RoCE */
	firmware_put(f, 0x98, (uint32_t)format << 24);
	parsers_put(f);
	if (host_is("definers"))
		put_64(f, 0x108, LAB_DEFINERS);
	if (host_is("arguments")) {
		firmware_put(f, 0x90, 1u << (OBJECT_ARGUMENT - 32));
		firmware_put(f, 0xfc, 12u << 16 | 12u << 8);
	}
}

/* The bit by which software owns tables: entries of format 0 have an older bit. */
static uint32_t owner_bit(int format)
{
	return 1u << (format ? 1 : 14);
}

/* Entries have 40 bits of an address, and the number of its function in a field of their own. */
static uint64_t of_function(uint64_t address)
{
	return (uint64_t)MLX5_FUNCTION << 48 | address;
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
		/* Rules of the kernel's tables can change headers, too. */
		if (model_has_frames()) {
			firmware_put(f, 0x14, 1u << 31 | 12u << 16);
			firmware_put(f, 0x50, 1u << 24);
			firmware_put(f, 0x110, 1u << 24);
		}
		firmware_put(f, 0x50, owner_bit(format));
		firmware_put(f, 0x54, LEVELS);
		firmware_put(f, 0x110, owner_bit(format));
		put_64(f, 0x410, of_function(LAB_DROP_RX));
		put_64(f, 0x418, of_function(LAB_DROP_TX));
		put_64(f, 0x420, of_function(LAB_ALLOW_TX));
		break;
	case GROUP_SWITCH_TABLES:
		firmware_put(f, 0x50, owner_bit(format));
		put_64(f, 0x310, of_function(LAB_SWITCH_DROP_RX));
		put_64(f, 0x318, of_function(LAB_SWITCH_DROP_TX));
		put_64(f, 0x320, LAB_UPLINK_RX);
		put_64(f, 0x328, LAB_UPLINK_TX);
		break;
	case GROUP_MEMORY:
		firmware_put(f, 0x30, LOG_CHANGES << 16 | LOG_ENTRIES);
		firmware_put(f, 0x34, LOG_PATTERNS);
		put_64(f, 0x38, MLX5_CHANGES_AT);
		put_64(f, 0x48, MLX5_PATTERNS_AT);
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
		put_64(f, 0x100, LAB_VPORT_RX(port));
		put_64(f, 0x108, LAB_VPORT_TX(port));
		return true;
	case OP_QUERY_ESW_FUNCTIONS:
	case OP_SYNC_STEERING:
		return true;
	default:
		return false;
	}
}

static uint64_t get_64(const struct firmware *f, size_t offset)
{
	return (uint64_t)firmware_get(f, offset) << 32 | firmware_get(f, offset + 4);
}

/* ---- what entries name by a number */

static struct definer {
	int format;
	uint8_t mask[DEFINER_MASK];
} definers[DEFINERS];
static unsigned definer_count;

static struct argument {
	uint32_t id;
	uint8_t bytes[ARGUMENT_SIZE];
} * arguments;
static size_t argument_count;

int mlx5_definer_find(uint32_t id, const uint8_t **ret_mask)
{
	if (id < DEFINERS_FROM || id - DEFINERS_FROM >= definer_count)
		return -1;
	*ret_mask = definers[id - DEFINERS_FROM].mask;
	return definers[id - DEFINERS_FROM].format;
}

void mlx5_definers_print(FILE *out)
{
	for (unsigned i = 0; i < definer_count; i++) {
		fprintf(out, "# definer 0x%x of format %d mask ", DEFINERS_FROM + i,
			definers[i].format);
		for (int byte = 0; byte < DEFINER_MASK; byte++)
			fprintf(out, "%02x", definers[i].mask[byte]);
		fprintf(out, "\n");
	}
}

const uint8_t *mlx5_argument_find(uint32_t id)
{
	for (size_t i = 0; i < argument_count; i++) {
		if (arguments[i].id == id)
			return arguments[i].bytes;
	}
	return NULL;
}

void mlx5_argument_write(uint32_t id, const uint8_t *bytes)
{
	uint8_t *to = (uint8_t *)mlx5_argument_find(id);

	if (!to) {
		struct argument *more =
			realloc(arguments, (argument_count + 1) * sizeof(*arguments));

		if (!more)
			abort();
		arguments = more;
		arguments[argument_count].id = id;
		to = arguments[argument_count++].bytes;
	}
	memcpy(to, bytes, ARGUMENT_SIZE);
}

const uint8_t *mlx5_reformat_find(uint32_t id, size_t *ret_length)
{
	for (uint32_t i = 0; i < object_count(OBJECT_PRIVATE); i++) {
		const struct object *object = object_at(OBJECT_PRIVATE, i);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (!devx || devx->opcode != OP_ALLOC_REFORMAT || devx->id != id)
			continue;
		*ret_length = get32(devx->body + 0x1c) & 0x3ff;
		return devx->body + 0x22;
	}
	return NULL;
}

static bool create_definer(struct firmware *f)
{
	struct definer *d = &definers[definer_count];

	if (definer_count == DEFINERS || f->in_len < 0x70 + DEFINER_MASK)
		return false;
	d->format = firmware_get(f, 0x20) & 0xffff;
	memcpy(d->mask, f->in + 0x70, DEFINER_MASK);
	firmware_put(f, 8, DEFINERS_FROM + definer_count++);
	return true;
}

static bool create_object(struct firmware *f)
{
	static uint32_t ranges, others;

	switch (firmware_get(f, 4) & 0xffff) {
	case OBJECT_DEFINER:
		return create_definer(f);
	case OBJECT_ARGUMENT:
		firmware_put(f, 8, ARGUMENTS_FROM + (ranges++ << 12));
		return true;
	case OBJECT_METER:
	case OBJECT_SAMPLER:
	case OBJECT_ASO_METER:
	case OBJECT_ASO_HIT:
	case OBJECT_ASO_CT:
		firmware_put(f, 8, OBJECTS_FROM + (others++ << 4));
		return true;
	default:
		return false;
	}
}

uint32_t mlx5_tir_next(void)
{
	static uint32_t tirs;

	return TIRS_FROM + tirs++;
}

static struct counter {
	uint32_t id;
	uint64_t packets, bytes;
} counters[COUNTERS];
static unsigned counter_count;

static struct counter *counter_find(uint32_t id)
{
	for (unsigned i = 0; i < counter_count; i++) {
		if (counters[i].id == id)
			return &counters[i];
	}
	return NULL;
}

void mlx5_counter_hit(uint32_t id, size_t length)
{
	struct counter *c = counter_find(id);

	if (!c) {
		if (counter_count == COUNTERS)
			abort();
		c = &counters[counter_count++];
		*c = (struct counter){ .id = id };
	}
	c->packets++;
	c->bytes += length;
}

void mlx5_counter_query(struct firmware *f)
{
	const struct counter *c = counter_find(firmware_get(f, 0x1c));

	if (!c)
		return;
	put_64(f, 0x10, c->packets);
	put_64(f, 0x18, c->bytes);
}

/*
 * The ids of each kind count from 0, so that entries that name them are the same for each library.
 */
bool mlx5_steering_create(struct firmware *f)
{
	static uint32_t tables, counter_ids, reformats;
	uint32_t tir;

	if (mlx5_steering_format() < 0)
		return false;
	switch (firmware_get(f, 0) >> 16) {
	case OP_CREATE_TIR:
		tir = mlx5_tir_next();
		firmware_put(f, 8, 0x07000000 | tir);
		firmware_put(f, 0xc, 0x11000000 + (tir - TIRS_FROM) * TIR_STEP);
		return true;
	case OP_CREATE_FLOW_TABLE:
		if (firmware_get(f, 0x18) & 1u << 29 && table_count < TABLES) {
			roots[table_count][0] = get_64(f, 0x38);
			roots[table_count++][1] = get_64(f, 0x30);
		}
		firmware_put(f, 8, 0x600 + tables++);
		return true;
	case OP_ALLOC_REFORMAT:
		firmware_put(f, 8, REFORMATS_FROM + reformats++ * REFORMAT_STEP);
		return true;
	case OP_ALLOC_COUNTER:
		firmware_put(f, 8, 0x700 + counter_ids++ * 16);
		return true;
	case OP_CREATE_OBJECT:
		return create_object(f);
	default:
		return false;
	}
}

bool mlx5_packet_make(const void *frame, size_t length, const struct lab_origin *from,
		      struct mlx5_packet *ret)
{
	*ret = (struct mlx5_packet){ .length = length, .from_wire = !from || !from->is_sent };
	if (length > sizeof(ret->bytes))
		return false;
	memcpy(ret->bytes, frame, length);
	if (from) {
		ret->function = from->function;
		ret->queue = from->queue;
		ret->reg_a = from->reg_a;
		memcpy(ret->reg_c, from->reg_c, sizeof(ret->reg_c));
	}
	return mlx5_packet_read(ret);
}

__attribute__((visibility("default"))) int lab_steer(unsigned table, const void *frame,
						     size_t length, const struct lab_origin *from,
						     struct lab_steered *ret)
{
	struct mlx5_packet packet;
	int r;

	if (table >= table_count || !mlx5_packet_make(frame, length, from, &packet))
		return EINVAL;
	pthread_mutex_lock(&device_lock);
	r = mlx5_walk(&packet, roots[table][from && from->is_sent && roots[table][1]], ret);
	pthread_mutex_unlock(&device_lock);
	return r;
}
