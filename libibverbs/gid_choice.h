/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Choice of the entry of a GID table. Private to libibverbs. */
#ifndef LIBIBVERBS_GID_CHOICE_H
#define LIBIBVERBS_GID_CHOICE_H

#include <stdbool.h>

#include <infiniband/verbs_more.h>

/* Facts of a host by which the flaws of an entry are found. The kernel or a test provides them. */
struct gid_host {
	/* IFF_* of the interface; -ENODEV: this namespace has no such interface. */
	int (*link_flags)(unsigned int ifindex);
	/* Return whether an interface of this namespace has the address. */
	bool (*has_address)(const union ibv_gid *gid);
	/* Return whether there is a route from the entry to the peer of the same family. */
	bool (*has_route)(const struct ibv_gid_entry *entry, const union ibv_gid *peer);
};

/* Return the flaws as an OR of enum ibv_gid_flaw. @peer: GID of the peer, or NULL. */
uint32_t gid_flaws(const struct ibv_gid_entry *entry, const union ibv_gid *peer,
		   const struct gid_host *host);

/* Return the best of @entries on @port_num; NULL: there is none. */
const struct ibv_gid_entry *gid_choose(const struct ibv_gid_entry *entries, size_t count,
				       uint32_t port_num, const union ibv_gid *peer,
				       const struct gid_host *host);

#endif
