/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "libibverbs/tools/json.h"
#include "libibverbs/tools/show.h"
#include "util/text.h"
#include "util/util.h"

static uint64_t row_value(const struct show_row *row, const void *base)
{
	const char *p = (const char *)base + row->offset;
	uint64_t value = 0;

	switch (row->size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return *(const uint32_t *)p;
	}
	memcpy(&value, p, sizeof(value));
	return value;
}

static void value_print(enum show_style style, uint64_t value)
{
	switch (style) {
	case SHOW_DEC:
		printf("%d", (int)value);
		break;
	case SHOW_HEX:
		printf("0x%" PRIx64, value);
		break;
	case SHOW_HEX_2:
		printf("0x%02" PRIx64, value);
		break;
	case SHOW_HEX_4:
		printf("0x%04" PRIx64, value);
		break;
	case SHOW_HEX_8:
		printf("0x%08" PRIx64, value);
		break;
	case SHOW_HEX_UPPER:
		printf("0x%" PRIX64, value);
		break;
	}
}

void show_rows_text(const struct show_row *rows, unsigned int count, const char *indent,
		    const void *base)
{
	for (unsigned int i = 0; i < count; i++) {
		uint64_t value = row_value(&rows[i], base);

		printf("%s%s:%s", indent, rows[i].name, rows[i].gap);
		if (rows[i].text)
			printf("%s (%d)", rows[i].text(value), (int)value);
		else
			value_print(rows[i].style, value);
		putchar('\n');
	}
}

void show_rows_json(const struct show_row *rows, unsigned int count, const void *base)
{
	for (unsigned int i = 0; i < count; i++) {
		uint64_t value = row_value(&rows[i], base);

		if (rows[i].text)
			json_string(rows[i].name, rows[i].text(value));
		else
			json_number(rows[i].name, value);
	}
}

void show_flags_text(const struct show_flag *flags, unsigned int count, uint64_t value)
{
	for (unsigned int i = 0; i < count; i++) {
		if (value & flags[i].mask)
			printf("\t\t\t\t\t%s\n", flags[i].name);
		value &= ~flags[i].mask;
	}
	if (value)
		printf("\t\t\t\t\tUnknown flags: 0x%" PRIX64 "\n", value);
}

void show_flags_json(const char *key, const struct show_flag *flags, unsigned int count,
		     uint64_t value)
{
	json_open(key, '[');
	for (unsigned int i = 0; i < count; i++) {
		if (value & flags[i].mask)
			json_string(NULL, flags[i].name);
		value &= ~flags[i].mask;
	}
	if (value)
		json_format(NULL, "0x%" PRIx64, value);
	json_close(']');
}

static const char *name_of(const char *const *names, unsigned int count, int value,
			   const char *unknown)
{
	return value >= 0 && value < count && names[value] ? names[value] : unknown;
}

const char *show_transport(int transport)
{
	static const char *const names[] = {
		[IBV_TRANSPORT_IB] = "InfiniBand",
		[IBV_TRANSPORT_IWARP] = "iWARP",
		[IBV_TRANSPORT_USNIC] = "usNIC",
		[IBV_TRANSPORT_USNIC_UDP] = "usNIC UDP",
		[IBV_TRANSPORT_UNSPECIFIED] = "unspecified",
	};

	return name_of(names, ARRAY_SIZE(names), transport, "invalid transport");
}

const char *show_atomic_cap(int cap)
{
	static const char *const names[] = {
		[IBV_ATOMIC_NONE] = "ATOMIC_NONE",
		[IBV_ATOMIC_HCA] = "ATOMIC_HCA",
		[IBV_ATOMIC_GLOB] = "ATOMIC_GLOB",
	};

	return name_of(names, ARRAY_SIZE(names), cap, "invalid atomic capability");
}

const char *show_port_state(int state)
{
	static const char *const names[] = {
		[IBV_PORT_DOWN] = "PORT_DOWN",
		[IBV_PORT_INIT] = "PORT_INIT",
		[IBV_PORT_ARMED] = "PORT_ARMED",
		[IBV_PORT_ACTIVE] = "PORT_ACTIVE",
	};

	return name_of(names, ARRAY_SIZE(names), state, "invalid state");
}

/* Scripts look for the misspelled TRAINNING. */
const char *show_phys_state(int state)
{
	static const char *const names[] = {
		[1] = "SLEEP",	  [2] = "POLLING",
		[3] = "DISABLED", [4] = "PORT_CONFIGURATION TRAINNING",
		[5] = "LINK_UP",  [6] = "LINK_ERROR_RECOVERY",
		[7] = "PHY TEST",
	};

	return name_of(names, ARRAY_SIZE(names), state, "invalid physical state");
}

const char *show_mtu(int mtu)
{
	static const char *const names[] = {
		[IBV_MTU_256] = "256",	 [IBV_MTU_512] = "512",	  [IBV_MTU_1024] = "1024",
		[IBV_MTU_2048] = "2048", [IBV_MTU_4096] = "4096",
	};

	return name_of(names, ARRAY_SIZE(names), mtu, "invalid MTU");
}

const char *show_vl(int vl)
{
	static const char *const names[] = {
		[1] = "1", [2] = "2", [3] = "4", [4] = "8", [5] = "15",
	};

	return name_of(names, ARRAY_SIZE(names), vl, "invalid value");
}

const char *show_width(int width)
{
	static const char *const names[] = {
		[1] = "1X", [2] = "4X", [4] = "8X", [8] = "12X", [16] = "2X",
	};

	return name_of(names, ARRAY_SIZE(names), width, "invalid widthX");
}

const char *show_speed(int speed)
{
	switch (speed) {
	case 1:
		return "2.5 Gbps";
	case 2:
		return "5.0 Gbps";
	case 4:
	case 8:
		return "10.0 Gbps";
	case 16:
		return "14.0 Gbps";
	case 32:
		return "25.0 Gbps";
	case 64:
		return "50.0 Gbps";
	case 128:
		return "100.0 Gbps";
	case 256:
		return "200.0 Gbps";
	}
	return "invalid speed";
}

const char *show_link_layer(int link_layer)
{
	static const char *const names[] = {
		[IBV_LINK_LAYER_UNSPECIFIED] = "Unspecified",
		[IBV_LINK_LAYER_INFINIBAND] = "InfiniBand",
		[IBV_LINK_LAYER_ETHERNET] = "Ethernet",
	};

	return name_of(names, ARRAY_SIZE(names), link_layer, "Unknown");
}

const char *show_gid_type(int type)
{
	static const char *const names[] = {
		[IBV_GID_TYPE_IB] = "IB",
		[IBV_GID_TYPE_ROCE_V1] = "RoCE v1",
		[IBV_GID_TYPE_ROCE_V2] = "RoCE v2",
	};

	return name_of(names, ARRAY_SIZE(names), type, "Invalid gid type");
}

const char *show_name(const struct ibv_device *device)
{
	static char name[IBV_SYSFS_NAME_MAX];

	snprintf(name, sizeof(name), "%s", device->name);
	text_make_printable(name);
	return name;
}
