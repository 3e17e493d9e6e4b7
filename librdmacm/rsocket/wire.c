/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "librdmacm/rsocket/wire.h"
#include "util/util.h"

#define VERSION	    1
#define FLAG_BIG    (1 << 0) /* the sender's byte order */
#define FLAG_IOMAP  (1 << 1) /* the byte behind the reserved bytes has a meaning */
#define FLAG_SPEAKS (1 << 2) /* the sender sends a first message; only this library sets it */
#define FLAG_ENDS   (1 << 3) /* the sender announces each orderly end; only this library sets it */
#define MAX_ENTRIES 16	     /* limit for a peer's list; all known peers have 2 */

struct wire_target {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
} __attribute__((packed));

struct wire_data {
	uint8_t version;
	uint8_t flags;
	uint16_t credits;
	uint8_t reserved[3];
	uint8_t mappings;
	struct wire_target list;
	struct wire_target first;
} __attribute__((packed));

_Static_assert(sizeof(struct wire_data) == RS_WIRE_DATA_SIZE, "fixed by all peers");

static bool host_is_big(void)
{
	return __BYTE_ORDER == __BIG_ENDIAN;
}

static struct wire_target target_to_wire(const struct rs_target *target)
{
	return (struct wire_target){
		.addr = htobe64(target->addr),
		.key = htobe32(target->key),
		.length = htobe32(target->length),
	};
}

static struct rs_target target_from_wire(const struct wire_target *wire)
{
	return (struct rs_target){
		.addr = be64toh(wire->addr),
		.key = be32toh(wire->key),
		.length = be32toh(wire->length),
	};
}

/*
 * Encode the number of mappings in a byte. Up to 128 the byte is the number. Above that the upper
 * bit is set and the unit is 256.
 */
static uint8_t mappings_to_wire(uint16_t count)
{
	return count <= 0x80 ? count : 0x80 | min_of(count >> 8, 0x7f);
}

static uint16_t mappings_from_wire(uint8_t wire)
{
	return wire <= 0x80 ? wire : (wire & 0x7f) << 8;
}

uint16_t rs_wire_mappings_fit(unsigned int count)
{
	return mappings_from_wire(mappings_to_wire(min_of(count, 0x7fffu)));
}

void rs_wire_put_data(uint8_t to[RS_WIRE_DATA_SIZE], const struct rs_wire_data *data)
{
	const struct wire_data wire = {
		.version = VERSION,
		.flags = FLAG_IOMAP | (host_is_big() ? FLAG_BIG : 0) |
			 (data->speaks ? FLAG_SPEAKS : 0) | (data->ends ? FLAG_ENDS : 0),
		.credits = htobe16(data->credits),
		.mappings = mappings_to_wire(data->mappings),
		.list = target_to_wire(&data->list),
		.first = target_to_wire(&data->first),
	};

	memcpy(to, &wire, sizeof(wire));
}

int rs_wire_get_data(const void *from, size_t length, struct rs_wire_data *ret_data)
{
	struct wire_data wire;

	if (length < sizeof(wire))
		return -EPROTO;
	memcpy(&wire, from, sizeof(wire));
	*ret_data = (struct rs_wire_data){
		.credits = be16toh(wire.credits),
		.list = target_from_wire(&wire.list),
		.first = target_from_wire(&wire.first),
		.mappings = wire.flags & FLAG_IOMAP ? mappings_from_wire(wire.mappings) : 0,
		.swapped = !!(wire.flags & FLAG_BIG) != host_is_big(),
		.speaks = wire.flags & FLAG_SPEAKS,
		.ends = wire.flags & FLAG_ENDS,
	};
	if (wire.version != VERSION || !ret_data->list.length ||
	    ret_data->list.length > MAX_ENTRIES)
		return -EPROTO;
	return 0;
}

struct rs_wire_entry rs_wire_entry(const struct rs_target *target, bool swapped)
{
	if (!swapped)
		return (struct rs_wire_entry){ target->addr, target->key, target->length };
	return (struct rs_wire_entry){
		.addr = __builtin_bswap64(target->addr),
		.key = __builtin_bswap32(target->key),
		.length = __builtin_bswap32(target->length),
	};
}

struct rs_wire_mapping rs_wire_mapping(uint64_t offset, const struct rs_target *target,
				       bool swapped)
{
	return (struct rs_wire_mapping){
		.offset = swapped ? __builtin_bswap64(offset) : offset,
		.target = rs_wire_entry(target, swapped),
	};
}
