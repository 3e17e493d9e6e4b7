/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/devinfo.h"
#include "libibverbs/tools/json.h"

#define PORT(member, tabs, style)     SHOW_ROW(ibv_port_attr, member, tabs, style, NULL)
#define PORT_TEXT(member, tabs, text) SHOW_ROW(ibv_port_attr, member, tabs, SHOW_DEC, text)

static const struct show_row port_rows[] = {
	PORT_TEXT(state, "\t\t\t", show_port_state),
	PORT_TEXT(max_mtu, "\t\t", show_mtu),
	PORT_TEXT(active_mtu, "\t\t", show_mtu),
	PORT(sm_lid, "\t\t\t", SHOW_DEC),
	SHOW_ROW_AS("port_lid", ibv_port_attr, lid, "\t\t", SHOW_DEC, NULL),
	SHOW_ROW_AS("port_lmc", ibv_port_attr, lmc, "\t\t", SHOW_HEX_2, NULL),
};

static const struct show_row port_more_rows[] = {
	PORT(max_msg_sz, "\t\t", SHOW_HEX),
	PORT(port_cap_flags, "\t\t", SHOW_HEX_8),
	PORT(port_cap_flags2, "\t", SHOW_HEX_4),
	PORT_TEXT(max_vl_num, "\t\t", show_vl),
	PORT(bad_pkey_cntr, "\t\t", SHOW_HEX),
	PORT(qkey_viol_cntr, "\t\t", SHOW_HEX),
	PORT(sm_sl, "\t\t\t", SHOW_DEC),
	PORT(pkey_tbl_len, "\t\t", SHOW_DEC),
	PORT(gid_tbl_len, "\t\t", SHOW_DEC),
	PORT(subnet_timeout, "\t\t", SHOW_DEC),
	PORT(init_type_reply, "\t", SHOW_DEC),
	PORT_TEXT(active_width, "\t\t", show_width),
	PORT_TEXT(active_speed, "\t\t", show_speed),
};

/* A flag and its printed name, which is that of the header without the prefix: CM_SUP. */
#define PORT_FLAG(name)                \
	{                              \
		IBV_PORT_##name, #name \
	}

static const struct show_flag port_caps[] = {
	PORT_FLAG(SM),
	PORT_FLAG(NOTICE_SUP),
	PORT_FLAG(TRAP_SUP),
	PORT_FLAG(OPT_IPD_SUP),
	PORT_FLAG(AUTO_MIGR_SUP),
	PORT_FLAG(SL_MAP_SUP),
	PORT_FLAG(MKEY_NVRAM),
	PORT_FLAG(PKEY_NVRAM),
	PORT_FLAG(LED_INFO_SUP),
	PORT_FLAG(SYS_IMAGE_GUID_SUP),
	PORT_FLAG(PKEY_SW_EXT_PORT_TRAP_SUP),
	PORT_FLAG(EXTENDED_SPEEDS_SUP),
	PORT_FLAG(CAP_MASK2_SUP),
	PORT_FLAG(CM_SUP),
	PORT_FLAG(SNMP_TUNNEL_SUP),
	PORT_FLAG(REINIT_SUP),
	PORT_FLAG(DEVICE_MGMT_SUP),
	PORT_FLAG(VENDOR_CLASS_SUP),
	PORT_FLAG(DR_NOTICE_SUP),
	PORT_FLAG(CAP_MASK_NOTICE_SUP),
	PORT_FLAG(BOOT_MGMT_SUP),
	PORT_FLAG(LINK_LATENCY_SUP),
	PORT_FLAG(CLIENT_REG_SUP),
	PORT_FLAG(IP_BASED_GIDS),
};

static const struct show_flag port_caps2[] = {
	PORT_FLAG(SET_NODE_DESC_SUP),  PORT_FLAG(INFO_EXT_SUP),
	PORT_FLAG(VIRT_SUP),	       PORT_FLAG(SWITCH_PORT_STATE_TABLE_SUP),
	PORT_FLAG(LINK_WIDTH_2X_SUP),  PORT_FLAG(LINK_SPEED_HDR_SUP),
	PORT_FLAG(LINK_SPEED_NDR_SUP), PORT_FLAG(LINK_SPEED_XDR_SUP),
};

/* Only for InfiniBand transports, including RoCE. */
static const struct show_row phys_rows[] = {
	PORT_TEXT(phys_state, "\t\t", show_phys_state),
};

/* All valid GIDs of all ports of the device, from one call. */
struct gids {
	struct ibv_gid_entry entries[2047]; /* entries of one call, at most */
	ssize_t count;
};

static struct gids *gids_query(struct ibv_context *ctx)
{
	struct gids *gids = malloc(sizeof(*gids));

	if (!gids)
		return NULL;
	gids->count = ibv_query_gid_table(ctx, gids->entries, ARRAY_SIZE(gids->entries), 0);
	if (gids->count >= 0)
		return gids;
	fprintf(stderr, "Failed to query the gid table: %s\n", strerror(-gids->count));
	free(gids);
	return NULL;
}

static const char *gid_text(const struct ibv_gid_entry *entry, char text[INET6_ADDRSTRLEN])
{
	const uint8_t *raw = entry->gid.raw;
	char *p = text;

	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		return inet_ntop(AF_INET6, raw, text, INET6_ADDRSTRLEN);
	for (int i = 0; i < 16; i += 2)
		p += sprintf(p, i ? ":%02x%02x" : "%02x%02x", raw[i], raw[i + 1]);
	return text;
}

static void gids_text(const struct gids *gids, unsigned int port, uint8_t link_layer)
{
	char text[INET6_ADDRSTRLEN];

	for (ssize_t i = 0; i < gids->count; i++) {
		const struct ibv_gid_entry *entry = &gids->entries[i];

		if (entry->port_num != port || !entry->gid.global.interface_id)
			continue;
		printf("\t\t\tGID[%3d]:\t\t%s", entry->gid_index, gid_text(entry, text));
		if (link_layer == IBV_LINK_LAYER_ETHERNET)
			printf(", %s", show_gid_type(max_of(entry->gid_type,
							    (uint32_t)IBV_GID_TYPE_ROCE_V1)));
		putchar('\n');
	}
}

static void gids_json(const struct gids *gids, unsigned int port)
{
	char text[INET6_ADDRSTRLEN];

	json_open("gids", '[');
	for (ssize_t i = 0; i < gids->count; i++) {
		const struct ibv_gid_entry *entry = &gids->entries[i];

		if (entry->port_num != port)
			continue;
		json_open(NULL, '{');
		json_number("index", entry->gid_index);
		json_string("gid", gid_text(entry, text));
		json_string("type", show_gid_type(entry->gid_type));
		json_number("netdev_ifindex", entry->ndev_ifindex);
		json_close('}');
	}
	json_close(']');
}

/*
 * Return: false if the device does not report the effective speed. @speed: in units of 100 Mbit/s.
 */
static bool effective_speed(const struct devinfo *info, unsigned int port, uint64_t *speed)
{
	return ibv_query_port_speed(info->ctx, port, speed) == 0;
}

static void effective_speed_text(const struct devinfo *info, unsigned int port)
{
	uint64_t speed;

	if (effective_speed(info, port, &speed))
		printf("\t\t\teffective_speed:\t%.1f Gbps\n", speed / 10.0);
}

static void effective_speed_json(const struct devinfo *info, unsigned int port)
{
	uint64_t speed;

	if (effective_speed(info, port, &speed))
		json_number("effective_speed_mbps", speed * 100);
}

static void port_text(const struct devinfo *info, unsigned int port,
		      const struct ibv_port_attr *attr, const struct gids *gids)
{
	printf("\t\tport:\t%u\n", port);
	ROWS_TEXT(port_rows, "\t\t\t", attr);
	printf("\t\t\tlink_layer:\t\t%s\n", show_link_layer(attr->link_layer));
	if (gids) {
		ROWS_TEXT(port_more_rows, "\t\t\t", attr);
		effective_speed_text(info, port);
		if (info->ctx->device->transport_type == IBV_TRANSPORT_IB)
			ROWS_TEXT(phys_rows, "\t\t\t", attr);
		gids_text(gids, port, attr->link_layer);
	}
	putchar('\n');
}

static void port_json(const struct devinfo *info, unsigned int port,
		      const struct ibv_port_attr *attr, const struct gids *gids)
{
	json_open(NULL, '{');
	json_number("port", port);
	ROWS_JSON(port_rows, attr);
	json_string("link_layer", show_link_layer(attr->link_layer));
	ROWS_JSON(port_more_rows, attr);
	effective_speed_json(info, port);
	FLAGS_JSON("port_cap", port_caps, attr->port_cap_flags);
	FLAGS_JSON("port_cap2", port_caps2, attr->port_cap_flags2);
	ROWS_JSON(phys_rows, attr);
	gids_json(gids, port);
	json_close('}');
}

int devinfo_ports(const struct devinfo *info, const struct devinfo_options *options)
{
	bool all = options->json || options->verbose;
	_cleanup_free_ struct gids *gids = all ? gids_query(info->ctx) : NULL;
	struct ibv_port_attr attr;
	int r;

	if (all && !gids)
		return DEVINFO_RC_QUERY;
	for (unsigned int port = 1; port <= info->attr.phys_port_cnt_ex; port++) {
		if (options->port && port != options->port)
			continue;
		r = ibv_query_port(info->ctx, port, &attr);
		if (r) {
			fprintf(stderr, "Failed to query port %u props\n", port);
			return r;
		}
		if (options->json)
			port_json(info, port, &attr, gids);
		else
			port_text(info, port, &attr, gids);
	}
	return 0;
}
