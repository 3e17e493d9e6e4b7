/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables, meters and samplers of the firmware, to which steering entries send packets by an
 * address. */
#include "tests/adapters/lab/device/mlx5_steering.h"
#include "tests/adapters/lab/shim/shim.h"

enum {
	OP_CREATE_FLOW_TABLE = 0x930,
	OP_QUERY_FLOW_TABLE = 0x932,
	OP_SET_ENTRY = 0x936,
	OP_CREATE_OBJECT = 0xa00,
	OP_QUERY_OBJECT = 0xa02,
	OBJECT_METER = 0x0a,
	OBJECT_SAMPLER = 0x20,
	SOFTWARE_OWNER = 1 << 29,
	ID_MASK = 0xffffff,
	LIST_AT = 0x340,
	TO_VPORT = 0,
	TO_TABLE = 1,
	TO_TIR = 2,
	STEP = 0x1000, /* between the addresses of two objects */
	SEND_OFFSET = 0x40,
	SAMPLERS = 4096,
};

void (*mlx5_copy_end)(const struct lab_steered *end);

/* The first address of each kind of object. */
static const uint64_t tables_at = 0xd300000000, meters_at = 0xd400000000,
		      samplers_at = 0xd500000000;

static void put_addresses(struct firmware *f, size_t receive, size_t send, uint64_t at)
{
	firmware_put(f, receive, at >> 32);
	firmware_put(f, receive + 4, at);
	at += SEND_OFFSET;
	firmware_put(f, send, at >> 32);
	firmware_put(f, send + 4, at);
}

static unsigned kind_of(const struct devx *devx)
{
	return devx->opcode == OP_CREATE_OBJECT ? get32(devx->body + 4) & 0xffff : 0;
}

void mlx5_object_query(const struct devx *devx, struct firmware *f)
{
	unsigned opcode = firmware_get(f, 0) >> 16;

	if (opcode == OP_QUERY_FLOW_TABLE && devx->opcode == OP_CREATE_FLOW_TABLE)
		put_addresses(f, 0x38, 0x30, tables_at + (uint64_t)devx->id * STEP);
	if (opcode == OP_QUERY_OBJECT && kind_of(devx) == OBJECT_METER)
		put_addresses(f, 0x80, 0x88, meters_at + (uint64_t)devx->id * STEP);
	if (opcode == OP_QUERY_OBJECT && kind_of(devx) == OBJECT_SAMPLER)
		put_addresses(f, 0x28, 0x30, samplers_at + (uint64_t)devx->id * STEP);
}

/* Return the object of a kind by the firmware's number, or NULL. */
static const struct devx *find(unsigned opcode, unsigned kind, uint32_t id)
{
	for (uint32_t i = 0; i < object_count(OBJECT_PRIVATE); i++) {
		const struct object *object = object_at(OBJECT_PRIVATE, i);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (devx && devx->body && devx->opcode == opcode && kind_of(devx) == kind &&
		    (devx->id & ID_MASK) == id)
			return devx;
	}
	return NULL;
}

/* Return the rule of a table of the firmware, or NULL. */
static const struct devx *entry_of(uint32_t table)
{
	for (uint32_t i = 0; i < object_count(OBJECT_PRIVATE); i++) {
		const struct object *object = object_at(OBJECT_PRIVATE, i);
		const struct devx *devx = object ? devx_of(object) : NULL;

		if (devx && devx->body && devx->opcode == OP_SET_ENTRY &&
		    (get32(devx->body + 0x14) & ID_MASK) == table)
			return devx;
	}
	return NULL;
}

uint64_t mlx5_table_enter(uint32_t id, bool is_sent)
{
	const struct devx *table = find(OP_CREATE_FLOW_TABLE, 0, id);

	if (!table)
		return 0;
	if (get32(table->body + 0x18) & SOFTWARE_OWNER)
		return get64(table->body + (is_sent && get64(table->body + 0x30) ? 0x30 : 0x38));
	return tables_at + (uint64_t)id * STEP + (is_sent ? SEND_OFFSET : 0);
}

static uint64_t destination(uint8_t type, uint32_t id, bool is_sent)
{
	switch (type) {
	case TO_VPORT:
		return is_sent ? LAB_VPORT_TX(id) : LAB_VPORT_RX(id);
	case TO_TIR:
		return LAB_TIR(id);
	default:
		return mlx5_table_enter(id, is_sent);
	}
}

/* Send copies of a packet to all destinations of a rule. The packet itself ends at the table. */
static void copies_send(const struct mlx5_packet *p, const struct devx *entry, bool is_sent,
			struct lab_steered *ret)
{
	uint32_t head = get32(entry->body + 0x50), counters = get32(entry->body + 0x54) & ID_MASK;
	size_t step = head >> 31 ? 16 : 8, at = LIST_AT;

	for (uint32_t i = 0; i < (head & ID_MASK) && ret->copies < LAB_COPIES; i++, at += step) {
		uint32_t to = get32(entry->body + at);
		struct mlx5_packet copy = *p;
		struct lab_steered end;
		size_t length;

		if (get32(entry->body + at + 4) >> 30 & 1) {
			const uint8_t *header =
				mlx5_reformat_find(get32(entry->body + at + 8), &length);

			if (header)
				mlx5_packet_insert(&copy, 0, header, length);
			mlx5_packet_read(&copy);
		}
		mlx5_walk(&copy, destination(to >> 24, to & ID_MASK, is_sent), &end);
		if (mlx5_copy_end)
			mlx5_copy_end(&end);
		ret->copy_at[ret->copies] = end.at;
		ret->copy_length[ret->copies++] = end.length;
	}
	for (uint32_t i = 0; i < counters; i++, at += step) {
		ret->counter = get32(entry->body + at);
		mlx5_counter_hit(ret->counter, p->length);
	}
}

/* Return whether a sampler copies this packet: the first one of each @ratio packets. */
static bool sample_is_due(uint32_t id, uint32_t ratio)
{
	static uint32_t passed[SAMPLERS];

	return !ratio || passed[id % SAMPLERS]++ % ratio == 0;
}

uint64_t mlx5_object_follow(const struct mlx5_packet *p, uint64_t address, struct lab_steered *ret)
{
	uint64_t base = address & ~(uint64_t)0xffffffff;
	uint32_t id = (address & 0xffffffff) / STEP;
	bool is_sent = address & SEND_OFFSET;
	const struct devx *devx;
	bool takes;

	if (base == tables_at) {
		devx = entry_of(id);
		if (devx)
			copies_send(p, devx, is_sent, ret);
		return 0;
	}
	devx = base == meters_at     ? find(OP_CREATE_OBJECT, OBJECT_METER, id)
	       : base == samplers_at ? find(OP_CREATE_OBJECT, OBJECT_SAMPLER, id)
				     : NULL;
	if (!devx)
		return 0;
	if (base == meters_at)
		return mlx5_table_enter(get32(devx->body + 0x1c) & ID_MASK, is_sent);
	takes = sample_is_due(id, get32(devx->body + 0x1c));
	devx = entry_of(get32(devx->body + 0x20) & ID_MASK);
	if (devx && takes)
		copies_send(p, devx, is_sent, ret);
	devx = find(OP_CREATE_OBJECT, OBJECT_SAMPLER, id);
	return mlx5_table_enter(get32(devx->body + 0x24) & ID_MASK, is_sent);
}
