/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two devices whose attributes the variable FIXTURE chooses, so that every line of ibv_devinfo
 * appears. The bits are all clear, or all set but for those that release 44 has no names for, or
 * only these are set. Others have ordinary values, or those of an enum one after the other. Each
 * query can fail.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libibverbs/provider.h"

enum {
	ALL_BITS = 0,
	ALL_ONES = 2,
	NOTHING = 3,
	SOME = 4,
	OTHERS = 5,
	FAIL_PORT = 7,
	FAIL_DEVICE = 8,
	FAIL_OPEN = 9,
	LATER = 10, /* what later releases name */
	ENUMS = 16, /* and up */
};

static int variant(void)
{
	const char *text = getenv("FIXTURE");

	return text ? atoi(text) : 0;
}

static int open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	ctx->context.num_comp_vectors = 3;
	return variant() == FAIL_OPEN ? -EIO : 0;
}

static void device_some(struct ibv_device_attr_ex *attr)
{
	*attr = (struct ibv_device_attr_ex){
		.orig_attr = { .max_fmr = 3, .max_map_per_fmr = 4, .atomic_cap = 7 },
		.tso_caps = { .max_tso = 5, .supported_qpts = 1 << IBV_QPT_UD },
		.rss_caps = { .supported_qpts = 0x11 },
		.packet_pacing_caps = { .qp_rate_limit_min = 1, .supported_qpts = 1 << IBV_QPT_RC },
		.cq_mod_caps = { .max_cq_period = 7 },
		.tm_caps = { .max_num_tags = 2 },
	};
}

static void device_others(struct ibv_device_attr_ex *attr)
{
	*attr = (struct ibv_device_attr_ex){
		.orig_attr = { .device_cap_flags = 0x80000000 },
		.device_cap_flags_ex = 0x480000001,
		.packet_pacing_caps = { .qp_rate_limit_max = 1, .supported_qpts = 1 << IBV_QPT_RC },
		.cq_mod_caps = { .max_cq_count = 7 },
		.tm_caps = { .flags = 2, .max_rndv_hdr_size = 1 },
		.rss_caps = { .max_rwq_indirection_tables = 3 },
		.max_dm_size = 5,
		.raw_packet_caps = 0x70,
		.hca_core_clock = 77,
		.completion_timestamp_mask = 0xff,
		.tso_caps = { .max_tso = 1, .supported_qpts = 0xffff },
	};
}

/* Set the bits that release 44 has no names for, or clear them. */
static void later_bits(struct ibv_device_attr_ex *attr, bool set)
{
	const uint32_t odp = IBV_ODP_SUPPORT_FLUSH | IBV_ODP_SUPPORT_ATOMIC_WRITE;
	uint32_t *const transports[] = {
		&attr->odp_caps.per_transport_caps.rc_odp_caps,
		&attr->odp_caps.per_transport_caps.uc_odp_caps,
		&attr->odp_caps.per_transport_caps.ud_odp_caps,
		&attr->xrc_odp_caps,
	};

	for (int i = 0; i < ARRAY_SIZE(transports); i++)
		*transports[i] = set ? odp : *transports[i] & ~odp;
	if (set) {
		attr->device_cap_flags_ex = IBV_DEVICE_CC_DMA_BOUNCE;
		attr->packet_pacing_caps.qp_rate_limit_max = 1;
		attr->packet_pacing_caps.supported_qpts = 1 << IBV_QPT_RC;
	} else {
		attr->device_cap_flags_ex &= ~IBV_DEVICE_CC_DMA_BOUNCE;
		attr->packet_pacing_caps.supported_qpts &= ~(1u << IBV_QPT_RC);
	}
}

static int query_port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *speed)
{
	if (variant() != LATER)
		return -EOPNOTSUPP;
	*speed = 1005;
	return 0;
}

static int query_comp_cntr_caps(struct ibv_context *ctx, struct ibv_comp_cntr_caps *caps)
{
	if (variant() != LATER)
		return -EOPNOTSUPP;
	*caps = (struct ibv_comp_cntr_caps){ .max_counters = 9, .supported_qp_attach_ops = 0xff };
	return 0;
}

static int query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *attr)
{
	int v = variant();

	if (v == FAIL_DEVICE)
		return -EIO;
	if (v == NOTHING || v == LATER)
		*attr = (struct ibv_device_attr_ex){};
	else if (v == SOME)
		device_some(attr);
	else if (v == OTHERS)
		device_others(attr);
	else
		memset(attr, v == ALL_ONES ? 0x01 : 0xff, sizeof(*attr));
	later_bits(attr, v == LATER);
	strcpy(attr->orig_attr.fw_ver, v == NOTHING ? "" : "1.2.3");
	attr->orig_attr.phys_port_cnt = 2;
	attr->phys_port_cnt_ex = 2;
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *attr)
{
	int v = variant();

	if (port_num < 1 || port_num > 2)
		return -EINVAL;
	if (v == FAIL_PORT)
		return -EIO;
	memset(attr,
	       v == NOTHING    ? 0
	       : v == ALL_ONES ? 1
	       : port_num == 1 ? 0xff
			       : 2,
	       sizeof(*attr));
	attr->gid_tbl_len = 4;
	attr->link_layer = port_num;
	if (v < ENUMS)
		return 0;
	attr->active_speed = 1 << (v - ENUMS);
	attr->active_width = 1 << (v % 5);
	attr->phys_state = v % 9;
	attr->state = v % 6;
	attr->max_vl_num = v % 6;
	attr->max_mtu = v % 6;
	attr->link_layer = v % 4;
	return 0;
}

static int query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *entry)
{
	static const char *const gids[] = { "fe80::1", "::ffff:1.2.3.4", NULL, "fe80::" };

	if (port_num < 1 || port_num > 2 || index >= ARRAY_SIZE(gids))
		return -EINVAL;
	if (!gids[index])
		return -ENODATA;
	*entry = (struct ibv_gid_entry){
		.gid_index = index,
		.port_num = port_num,
		.gid_type = port_num == 1 ? IBV_GID_TYPE_IB
			    : index	  ? IBV_GID_TYPE_ROCE_V2
					  : IBV_GID_TYPE_ROCE_V1,
	};
	inet_pton(AF_INET6, gids[index], &entry->gid);
	return 0;
}

static ssize_t query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries,
			       size_t max_entries)
{
	struct ibv_gid_entry entry;
	size_t count = 0;

	for (int port = 1; port <= 2; port++) {
		for (uint32_t i = 0; i < 4; i++) {
			if (query_gid(ctx, port, i, &entry))
				continue;
			if (count == max_entries)
				return -EINVAL;
			entries[count++] = entry;
		}
	}
	return count;
}

/* The second device is InfiniBand; the transport of the first depends on the variant. */
static int list_devices(struct verbs_device_list *list)
{
	for (int i = 0; i < 2; i++) {
		struct verbs_device *device = calloc(1, sizeof(*device));

		if (!device)
			return -ENOMEM;
		snprintf(device->device.name, sizeof(device->device.name), "fixture%d", i);
		device->device.node_type = IBV_NODE_CA;
		device->device.transport_type = i ? IBV_TRANSPORT_IB : variant() - 1;
		device->index = -1;
		device->node_guid = 0x0102030405060708;
		verbs_device_add(list, device);
	}
	return 0;
}

static const struct verbs_ops ops = {
	.open_context = open_context,
	.query_device = query_device,
	.query_port = query_port,
	.query_gid = query_gid,
	.query_gid_table = query_gid_table,
	.query_port_speed = query_port_speed,
	.query_comp_cntr_caps = query_comp_cntr_caps,
};

static const struct verbs_provider fixture_provider = {
	.size = sizeof(fixture_provider),
	.name = "fixture",
	.ops = &ops,
	.list_devices = list_devices,
};
VERBS_PROVIDER(fixture_provider);
