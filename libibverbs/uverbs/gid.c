/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GID and P_Key tables of a port. GIDs come from a command since Linux 5.10 and from sysfs before.
 * P_Keys are only in sysfs.
 */
#include <endian.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"
#include "util/sysfs.h"
#include "util/valgrind.h"

/* The kernel writes directly into the entries of the application. */
_Static_assert(sizeof(struct ibv_gid_entry) == sizeof(struct ib_uverbs_gid_entry), "GID entry");

/* The length of an attribute has 16 bits. */
#define GID_TABLE_MAX (UINT16_MAX / sizeof(struct ib_uverbs_gid_entry))

/* Read ports/<port>/<what>/<index> of the device. */
static int port_read(struct ibv_context *ctx, uint32_t port_num, const char *what, uint32_t index,
		     char *buf, size_t size)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/ports/%u/%s/%u", ctx->device->ibdev_path, port_num, what,
		 index);
	return sysfs_read(AT_FDCWD, path, buf, size);
}

static int gid_read(struct ibv_context *ctx, uint32_t port_num, uint32_t index, union ibv_gid *gid)
{
	char text[64];
	int r = port_read(ctx, port_num, "gids", index, text, sizeof(text));

	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	if (strlen(text) != 39)
		return -EINVAL;
	r = sysfs_parse_guid(text, &gid->global.subnet_prefix);
	return r ?: sysfs_parse_guid(text + 20, &gid->global.interface_id);
}

static uint32_t gid_type_read(struct ibv_context *ctx, uint32_t port_num, uint32_t index)
{
	struct verbs_port_facts facts = {};
	char text[32] = "";

	if (port_read(ctx, port_num, "gid_attrs/types", index, text, sizeof(text)) > 0 &&
	    !strcmp(text, "RoCE v2"))
		return IBV_GID_TYPE_ROCE_V2;
	verbs_port_facts(ctx, port_num, false, &facts);
	return facts.link_layer == IBV_LINK_LAYER_ETHERNET ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_IB;
}

static int gid_entry_read(struct ibv_context *ctx, uint32_t port_num, uint32_t index,
			  struct ibv_gid_entry *ret_entry)
{
	struct ibv_gid_entry entry = { .gid_index = index, .port_num = port_num };
	char netdev[IF_NAMESIZE];
	int r = gid_read(ctx, port_num, index, &entry.gid);

	if (r < 0)
		return r;
	if (!entry.gid.global.subnet_prefix && !entry.gid.global.interface_id)
		return -ENODATA;
	entry.gid_type = gid_type_read(ctx, port_num, index);
	if (port_read(ctx, port_num, "gid_attrs/ndevs", index, netdev, sizeof(netdev)) > 0)
		entry.ndev_ifindex = if_nametoindex(netdev);
	*ret_entry = entry;
	return 0;
}

int uverbs_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		     struct ibv_gid_entry *ret_entry)
{
	struct uverbs_attr a[] = {
		uverbs_const(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, port_num),
		uverbs_const(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index),
		uverbs_u32(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0),
		uverbs_out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, ret_entry, sizeof(*ret_entry)),
	};
	int r = -EPROTONOSUPPORT;

	if (uverbs_has(ctx, UVERBS_FEATURE_QUERY_GID_TABLE))
		r = uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, a,
				 ARRAY_SIZE(a), NULL);
	if (likely(!r))
		kernel_wrote(ret_entry, sizeof(*ret_entry));
	if (likely(r != -EPROTONOSUPPORT))
		return r;
	uverbs_learn(ctx, UVERBS_FEATURE_QUERY_GID_TABLE, r);
	return gid_entry_read(ctx, port_num, index, ret_entry);
}

/* Append the valid entries of one port. Return: the new number of entries; -ENOSPC. */
static ssize_t gid_table_read_port(struct ibv_context *ctx, uint32_t port_num,
				   struct ibv_gid_entry *entries, size_t count, size_t max_entries)
{
	struct verbs_port_facts facts;
	struct ibv_gid_entry entry;
	int r = verbs_port_facts(ctx, port_num, false, &facts);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < facts.gid_tbl_len; i++) {
		r = gid_entry_read(ctx, port_num, i, &entry);
		if (r == -ENODATA)
			continue;
		if (r < 0)
			return r;
		if (count == max_entries)
			return -EINVAL;
		entries[count++] = entry;
	}
	return count;
}

static ssize_t gid_table_read(struct ibv_context *ctx, struct ibv_gid_entry *entries,
			      size_t max_entries)
{
	const struct ibv_device_attr_ex *attr;
	ssize_t count = verbs_device_attr(ctx, &attr);

	for (uint32_t port = 1; count >= 0 && port <= attr->phys_port_cnt_ex; port++)
		count = gid_table_read_port(ctx, port, entries, count, max_entries);
	return count;
}

ssize_t uverbs_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
			       size_t max_entries)
{
	size_t max = min_of(max_entries, GID_TABLE_MAX);
	uint64_t count = 0;
	struct uverbs_attr a[] = {
		uverbs_const(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof(*ret_entries)),
		uverbs_u32(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0),
		uverbs_out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, ret_entries,
			   max * sizeof(*ret_entries)),
		uverbs_out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count, sizeof(count)),
	};
	int r = -EPROTONOSUPPORT;

	if (uverbs_has(ctx, UVERBS_FEATURE_QUERY_GID_TABLE))
		r = uverbs_learn(ctx, UVERBS_FEATURE_QUERY_GID_TABLE,
				 uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE,
					      UVERBS_METHOD_QUERY_GID_TABLE, a, ARRAY_SIZE(a),
					      NULL));
	if (r == -EPROTONOSUPPORT)
		return gid_table_read(ctx, ret_entries, max_entries);
	if (r < 0)
		return r;
	kernel_wrote(ret_entries, count * sizeof(*ret_entries));
	return count;
}

int uverbs_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey)
{
	char text[16], *end;
	unsigned long pkey;
	int r;

	if (index < 0)
		return -EINVAL;
	r = port_read(ctx, port_num, "pkeys", index, text, sizeof(text));
	if (r < 0)
		return r == -ENOENT ? -EINVAL : r;
	pkey = strtoul(text, &end, 0);
	if (end == text || pkey > UINT16_MAX)
		return -EINVAL;
	*ret_pkey = htobe16(pkey);
	return 0;
}
