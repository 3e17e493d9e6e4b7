/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "gid_pick.h"
#include "util/util.h"

enum {
	RANK_GLOBAL = 1 << 0,
	RANK_ROCE_V2 = 1 << 1,
	RANK_LINK_UP = 1 << 2,
};

static bool gid_is_link_local(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* A kernel that does not tell the interface, and a device without one, get the benefit of the
 * doubt. */
static int gid_rank(const struct ibv_gid_entry *entry, gid_pick_link_fn link_is_up)
{
	int rank = 0;

	if (!entry->ndev_ifindex || link_is_up(entry->ndev_ifindex))
		rank |= RANK_LINK_UP;
	if (entry->gid_type == IBV_GID_TYPE_ROCE_V2)
		rank |= RANK_ROCE_V2;
	if (!gid_is_link_local(&entry->gid))
		rank |= RANK_GLOBAL;
	return rank;
}

const struct ibv_gid_entry *gid_pick_best(const struct ibv_gid_entry *entries, size_t count,
					  uint8_t port_num, gid_pick_link_fn link_is_up)
{
	const struct ibv_gid_entry *best = NULL;
	int best_rank = 0;

	for (size_t i = 0; i < count; i++) {
		int rank;

		if (entries[i].port_num != port_num)
			continue;
		rank = gid_rank(&entries[i], link_is_up);
		if (!best || rank > best_rank ||
		    (rank == best_rank && entries[i].gid_index < best->gid_index)) {
			best = &entries[i];
			best_rank = rank;
		}
	}
	return best;
}

/* An interface of another namespace has no name here. */
static bool link_is_up(unsigned int ifindex)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = {};

	if (fd < 0 || !if_indextoname(ifindex, request.ifr_name) ||
	    ioctl(fd, SIOCGIFFLAGS, &request))
		return false;
	return (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
}

/* Room for the tables of all ports. */
static ssize_t gid_table_size(struct ibv_context *context)
{
	struct ibv_device_attr attr;
	ssize_t size = 0;
	int r = ibv_query_device(context, &attr);

	for (unsigned int port = 1; !r && port <= attr.phys_port_cnt; port++) {
		struct ibv_port_attr port_attr;

		r = ibv_query_port(context, port, &port_attr);
		if (!r)
			size += port_attr.gid_tbl_len;
	}
	return r ? -r : size;
}

int gid_pick(struct ibv_context *context, uint8_t port_num)
{
	_cleanup_free_ struct ibv_gid_entry *entries = NULL;
	const struct ibv_gid_entry *best;
	ssize_t count = gid_table_size(context);

	if (count < 0)
		return count;
	entries = calloc(max_of(count, (ssize_t)1), sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	count = ibv_query_gid_table(context, entries, count, 0);
	if (count < 0)
		return count;
	best = gid_pick_best(entries, count, port_num, link_is_up);
	return best ? (int)best->gid_index : -ENODATA;
}
