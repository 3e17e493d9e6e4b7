/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GID and P_Key tables of the ports. */
#include <stdio.h>
#include <string.h>

#include "libibverbs/library.h"

/*
 * Results of ibv_query_gid_type(): the two types that its callers know, from old sysfs. The
 * function is in no public header, but perftest and the Python bindings link to it.
 */
enum ibv_gid_type_sysfs {
	IBV_GID_TYPE_SYSFS_IB_ROCE_V1,
	IBV_GID_TYPE_SYSFS_ROCE_V2,
};

VERBS_EXPORT int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port_num, unsigned int index,
				    enum ibv_gid_type_sysfs *type);

/* Log whether the port or the index does not exist, or else the errno. */
static void table_explain(struct ibv_context *ctx, const char *verb, uint32_t port_num,
			  const char *what, uint32_t index, bool pkey, int r)
{
	struct verbs_port_facts facts;
	uint32_t length;

	if (!log_enabled(LOG_LEVEL_ERR))
		return;
	if (r == -EINVAL && !verbs_port_check(ctx, verb, port_num) &&
	    !verbs_port_facts(ctx, port_num, false, &facts)) {
		length = pkey ? facts.pkey_tbl_len : facts.gid_tbl_len;
		if (index >= length) {
			verbs_err(ctx, "%s: port %u %s index %u: the table has %u entries", verb,
				  port_num, what, index, length);
			return;
		}
	}
	verbs_err(ctx, "%s: port %u %s index %u: %s", verb, port_num, what, index, strerror(-r));
}

/* Query a GID. -ENODATA: the slot is empty, which is not logged. */
static int gid_query(struct ibv_context *ctx, const char *verb, uint32_t port_num, uint32_t index,
		     struct ibv_gid_entry *ret_entry)
{
	int r;

	if (!ctx_ops(ctx)->query_gid)
		return verbs_unsupported(ctx, verb);
	r = port_num > UINT8_MAX ? -EINVAL
				 : ctx_ops(ctx)->query_gid(ctx, port_num, index, ret_entry);
	if (r < 0 && r != -ENODATA)
		table_explain(ctx, verb, port_num, "GID", index, false, r);
	return r;
}

VERBS_EXPORT int ibv_query_gid(struct ibv_context *ctx, uint8_t port_num, int index,
			       union ibv_gid *gid)
{
	struct ibv_gid_entry entry = {};
	int r = gid_query(ctx, "ibv_query_gid", port_num, index, &entry);

	if (r < 0 && r != -ENODATA)
		return ret_neg1(r);
	*gid = r ? (union ibv_gid){} : entry.gid;
	return 0;
}

VERBS_EXPORT int ibv_query_gid_type(struct ibv_context *ctx, uint8_t port_num, unsigned int index,
				    enum ibv_gid_type_sysfs *type)
{
	struct ibv_gid_entry entry = {};
	int r = gid_query(ctx, "ibv_query_gid_type", port_num, index, &entry);

	if (r < 0 && r != -ENODATA)
		return ret_neg1(r);
	*type = !r && entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? IBV_GID_TYPE_SYSFS_ROCE_V2
							     : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

/* Check the arguments. The caller's struct may be longer than that of the library, but not shorter.
 */
static int entry_args_check(struct ibv_context *ctx, const char *verb, uint32_t flags,
			    size_t entry_size)
{
	if (flags) {
		verbs_err(ctx, "%s: flags 0x%x: none is defined yet", verb, flags);
		return -EINVAL;
	}
	if (entry_size < sizeof(struct ibv_gid_entry)) {
		verbs_err(ctx, "%s: an entry of %zu bytes: at least %zu", verb, entry_size,
			  sizeof(struct ibv_gid_entry));
		return -EINVAL;
	}
	return 0;
}

static void entry_end(struct ibv_gid_entry *entry, size_t size)
{
	if (unlikely(size > sizeof(*entry)))
		memset(entry + 1, 0, size - sizeof(*entry));
}

VERBS_EXPORT int _ibv_query_gid_ex(struct ibv_context *ctx, uint32_t port_num, uint32_t gid_index,
				   struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	int r = entry_args_check(ctx, "ibv_query_gid_ex", flags, entry_size);

	if (r < 0)
		return ret_int(r);
	r = gid_query(ctx, "ibv_query_gid_ex", port_num, gid_index, entry);
	if (r == -ENODATA)
		verbs_info(ctx, "ibv_query_gid_ex: port %u GID index %u is empty", port_num,
			   gid_index);
	if (r < 0)
		return ret_int(r);
	entry_end(entry, entry_size);
	return 0;
}

/* Spread the entries in a caller's array with longer entries. */
static ssize_t gid_table_spread(struct ibv_context *ctx, void *entries, size_t max_entries,
				size_t entry_size)
{
	_cleanup_free_ struct ibv_gid_entry *table = calloc(max_entries, sizeof(*table));
	ssize_t count;

	if (!table)
		return -ENOMEM;
	count = ctx_ops(ctx)->query_gid_table(ctx, table, max_entries);
	for (ssize_t i = 0; i < count; i++) {
		struct ibv_gid_entry *entry = (void *)((char *)entries + i * entry_size);

		*entry = table[i];
		entry_end(entry, entry_size);
	}
	return count;
}

/* Return: the number of valid entries, or a negative errno value. */
VERBS_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries,
					  size_t max_entries, uint32_t flags, size_t entry_size)
{
	ssize_t count = entry_args_check(ctx, "ibv_query_gid_table", flags, entry_size);

	if (count < 0)
		return count;
	if (!ctx_ops(ctx)->query_gid_table)
		return verbs_unsupported(ctx, "ibv_query_gid_table");
	count = entry_size == sizeof(*entries)
			? ctx_ops(ctx)->query_gid_table(ctx, entries, max_entries)
			: gid_table_spread(ctx, entries, max_entries, entry_size);
	if (count == -EINVAL)
		verbs_err(ctx, "ibv_query_gid_table: the table has more than %zu entries",
			  max_entries);
	else if (count < 0)
		verbs_err(ctx, "ibv_query_gid_table: %s", strerror(-count));
	return count;
}

static int pkey_query(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey)
{
	if (!ctx_ops(ctx)->query_pkey)
		return verbs_unsupported(ctx, "ibv_query_pkey");
	return ctx_ops(ctx)->query_pkey(ctx, port_num, index, ret_pkey);
}

VERBS_EXPORT int ibv_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *pkey)
{
	int r = pkey_query(ctx, port_num, index, pkey);

	if (r < 0)
		table_explain(ctx, "ibv_query_pkey", port_num, "P_Key", index, true, r);
	return ret_neg1(r);
}

VERBS_EXPORT int ibv_get_pkey_index(struct ibv_context *ctx, uint8_t port_num, __be16 pkey)
{
	struct verbs_port_facts facts;
	__be16 found;
	int r = verbs_port_facts(ctx, port_num, false, &facts);

	if (r < 0)
		return ret_neg1(r);
	for (int i = 0; i < facts.pkey_tbl_len; i++) {
		r = pkey_query(ctx, port_num, i, &found);
		if (r < 0)
			return ret_neg1(r);
		if (found == pkey)
			return i;
	}
	verbs_err(ctx, "ibv_get_pkey_index: P_Key 0x%04x is not in the table of port %u",
		  be16toh(pkey), port_num);
	return ret_neg1(-ENOENT);
}
