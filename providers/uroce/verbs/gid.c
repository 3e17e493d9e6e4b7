/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading the GID table and the P_Key. */
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

static int entry_fill(struct uroce_dev *dev, uint32_t index, struct ibv_gid_entry *ret_entry)
{
	int r = -ENODATA;

	pthread_mutex_lock(&dev->lock);
	if (dev->gids[index].valid) {
		*ret_entry = (struct ibv_gid_entry){
			.gid = dev->gids[index].gid,
			.gid_index = index,
			.port_num = 1,
			.gid_type = IBV_GID_TYPE_ROCE_V2,
			.ndev_ifindex = dev->ifindex,
		};
		r = 0;
	}
	pthread_mutex_unlock(&dev->lock);
	return r;
}

int uroce_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
		    struct ibv_gid_entry *ret_entry)
{
	_cleanup_cancel_ int cancel = cancel_off();
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	if (port_num != 1 || index >= UROCE_GID_MAX)
		return -EINVAL;
	return entry_fill(ctx_dev(ctx), index, ret_entry);
}

ssize_t uroce_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *ret_entries,
			      size_t max_entries)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct ibv_gid_entry entry;
	size_t n = 0;
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < UROCE_GID_MAX; i++) {
		if (entry_fill(ctx_dev(ctx), i, &entry))
			continue;
		if (n == max_entries)
			return -EINVAL;
		ret_entries[n++] = entry;
	}
	return n;
}

int uroce_query_pkey(struct ibv_context *ctx, uint8_t port_num, int index, __be16 *ret_pkey)
{
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	if (port_num != 1 || index != 0)
		return -EINVAL;
	*ret_pkey = htobe16(UROCE_PKEY_DEFAULT);
	return 0;
}
