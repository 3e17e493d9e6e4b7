/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Printing attributes as text or as JSON from the same tables. Rows name a member of a struct, and
 * flag lists name bits. The text is that of ibv_devinfo, which scripts read.
 */
#ifndef LIBIBVERBS_TOOLS_SHOW_H
#define LIBIBVERBS_TOOLS_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum show_style {
	SHOW_DEC,
	SHOW_HEX,
	SHOW_HEX_2, /* with at least 2, 4 or 8 digits */
	SHOW_HEX_4,
	SHOW_HEX_8,
	SHOW_HEX_UPPER,
};

struct show_row {
	const char *name;
	const char *gap; /* between name and value: tabs */
	enum show_style style;
	const char *(*text)(int value); /* the value as text, before its number; or NULL */
	uint16_t offset;
	uint8_t size; /* bytes */
};

#define SHOW_ROW_AS(key, type, member, tabs, how, words)               \
	{                                                              \
		.name = key, .gap = tabs, .style = how, .text = words, \
		.offset = offsetof(struct type, member),               \
		.size = sizeof(((struct type *)0)->member)             \
	}
#define SHOW_ROW(type, member, tabs, how, words) \
	SHOW_ROW_AS(#member, type, member, tabs, how, words)

struct show_flag {
	uint64_t mask;
	const char *name;
};

void show_rows_text(const struct show_row *rows, unsigned int count, const char *indent,
		    const void *base);
void show_rows_json(const struct show_row *rows, unsigned int count, const void *base);

/* Print a line for each set bit. The last line has all bits without a name in hexadecimal. */
void show_flags_text(const struct show_flag *flags, unsigned int count, uint64_t value);
/* Print an array of names. Its last string has all bits without a name in hexadecimal. */
void show_flags_json(const char *key, const struct show_flag *flags, unsigned int count,
		     uint64_t value);

/* Return enum values as text. */
const char *show_transport(int transport);
const char *show_atomic_cap(int cap);
const char *show_port_state(int state);
const char *show_phys_state(int state);
const char *show_mtu(int mtu);
const char *show_vl(int vl);
const char *show_width(int width);
const char *show_speed(int speed);
const char *show_link_layer(int link_layer);
const char *show_gid_type(int type);

/* Return the name without bytes that control a terminal. It is valid until the next call. */
const char *show_name(const struct ibv_device *device);

#endif
