/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire format of a stream: the data of the connection, the immediates of messages, and the
 * entries of the list of targets. Pure: bytes in, values out. ibcm includes this header, too: it
 * recognizes the requests of sockets by the data of the connection.
 */
#ifndef RSOCKET_WIRE_H
#define RSOCKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_WIRE_DATA_SIZE 40 /* bytes of a connection's private data */
#define RS_WIRE_ENTRIES	  2  /* entries of the list of targets on this side */

/* Memory of the sender of the struct, in host order. */
struct rs_target {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

/* An entry in memory that the peer writes, in the byte order of the memory's owner. */
struct rs_wire_entry {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

/* An entry of the list of mappings: memory that the peer writes to by offset. */
struct rs_wire_mapping {
	uint64_t offset;
	struct rs_wire_entry target;
};

/*
 * @credits: messages the sender of this can take at once
 * @list: the list into which the peer writes its targets; length counts entries
 * @first: the first memory the peer may write to
 * @mappings: entries behind those of @list, for mappings of the peer
 * @swapped: the sender has the other byte order
 * @speaks: the sender is the connecting side and sends a message before anything else
 * @ends: the sender announces each orderly end by a message, also when its process exits
 */
struct rs_wire_data {
	uint16_t credits;
	struct rs_target list;
	struct rs_target first;
	uint16_t mappings;
	bool swapped;
	bool speaks;
	bool ends;
};

void rs_wire_put_data(uint8_t to[RS_WIRE_DATA_SIZE], const struct rs_wire_data *data);
/* Return: 0; -EPROTO: another version, or impossible numbers. */
int rs_wire_get_data(const void *from, size_t length, struct rs_wire_data *ret_data);

struct rs_wire_entry rs_wire_entry(const struct rs_target *target, bool swapped);

struct rs_wire_mapping rs_wire_mapping(uint64_t offset, const struct rs_target *target,
				       bool swapped);
/* Return the number of mappings nearest to @count that the connection's data can express. */
uint16_t rs_wire_mappings_fit(unsigned int count);

/* The kind of a message: the upper three bits of an immediate, in host order. */
enum rs_wire_op {
	RS_WIRE_BYTES = 0,   /* data: the value is the number of bytes */
	RS_WIRE_CREDIT = 4,  /* 16 bits: number of the first message that may not be sent */
	RS_WIRE_MAPPING = 6, /* an entry of the list of mappings was written */
	RS_WIRE_CONTROL = 7, /* value: enum rs_wire_control */
};

enum rs_wire_control {
	RS_WIRE_DISCONNECT,
	RS_WIRE_KEEPALIVE,
	RS_WIRE_SHUTDOWN,
};

#define RS_WIRE_MAX_VALUE 0x1fffffffu

static inline uint32_t rs_wire_imm(enum rs_wire_op op, uint32_t value)
{
	return (uint32_t)op << 29 | (value & RS_WIRE_MAX_VALUE);
}

static inline enum rs_wire_op rs_wire_op(uint32_t imm)
{
	return imm >> 29;
}

static inline uint32_t rs_wire_value(uint32_t imm)
{
	return imm & RS_WIRE_MAX_VALUE;
}

#endif
