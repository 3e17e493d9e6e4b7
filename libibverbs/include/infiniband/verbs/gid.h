/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GIDs, the addresses of ports, and P_Keys: the tables a port has of them. */
#ifndef INFINIBAND_VERBS_GID_H
#define INFINIBAND_VERBS_GID_H

#include <infiniband/verbs/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * union ibv_gid - the 128-bit address of a port
 *
 * Network order. On RoCE an IPv6 address, or an IPv4 address as ::ffff:a.b.c.d.
 * Source: IBTA vol. 1, addressing (chapter 4); RoCEv2: annex A17.
 */
union ibv_gid {
	uint8_t raw[16];
	struct {
		__be64 subnet_prefix;
		__be64 interface_id;
	} global;
};

/* The meaning of an entry of a port's GID table on the wire. */
enum ibv_gid_type {
	IBV_GID_TYPE_IB,      /* InfiniBand */
	IBV_GID_TYPE_ROCE_V1, /* Ethernet, own ethertype */
	IBV_GID_TYPE_ROCE_V2, /* UDP over IPv4 or IPv6 */
};

/**
 * ibv_query_gid() - the GID at an index of a port's table
 *
 * Return: 0; -1 with errno. An unused entry reads as all zero.
 */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);

/**
 * struct ibv_gid_entry - a used entry of a GID table
 *
 * @gid_type: enum ibv_gid_type
 * @ndev_ifindex: the network interface the GID belongs to, 0 for none
 */
struct ibv_gid_entry {
	union ibv_gid gid;
	uint32_t gid_index;
	uint32_t port_num;
	uint32_t gid_type;
	uint32_t ndev_ifindex;
};

/**
 * ibv_query_gid_ex() - an entry of the GID table with its type and interface
 * @flags: 0
 *
 * Return: 0 or an errno value; ENODATA for an unused entry, EINVAL for an index beyond the table.
 */
int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);

static inline int ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
				   uint32_t gid_index, struct ibv_gid_entry *entry, uint32_t flags)
{
	return _ibv_query_gid_ex(context, port_num, gid_index, entry, flags, sizeof(*entry));
}

/**
 * ibv_query_gid_table() - the used entries of all ports' GID tables, in one call
 * @entries: room for @max_entries of them
 * @flags: 0
 *
 * Return: how many were written; a negative errno value on failure, -EINVAL when there are more
 * than @max_entries.
 */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size);

static inline ssize_t ibv_query_gid_table(struct ibv_context *context,
					  struct ibv_gid_entry *entries, size_t max_entries,
					  uint32_t flags)
{
	return _ibv_query_gid_table(context, entries, max_entries, flags, sizeof(*entries));
}

/**
 * ibv_query_pkey() - the P_Key at an index of a port's table, in network order
 *
 * Return: 0; -1 with errno.
 */
int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);

/**
 * ibv_get_pkey_index() - where in a port's table a P_Key is
 * @pkey: network order
 *
 * Return: the index; -1 with errno when it is not there.
 */
int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);

#ifdef __cplusplus
}
#endif

#endif
