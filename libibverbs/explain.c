/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "libibverbs/explain.h"

int explain_null(const char *verb, const char *argument)
{
	log_err("libibverbs %s: %s is NULL", verb, argument);
	return -EINVAL;
}

void explain_limit(struct text *why, const char *what, uint64_t value, const char *limit_name,
		   uint64_t limit)
{
	if (limit && value > limit)
		text_add(why, "; %s %llu is above the device's %s %llu", what,
			 (unsigned long long)value, limit_name, (unsigned long long)limit);
}

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool explain_gid_is_ipv4(const union ibv_gid *gid)
{
	return !memcmp(gid->raw, ipv4_prefix, sizeof(ipv4_prefix));
}

void explain_gid(struct text *text, const union ibv_gid *gid)
{
	char name[INET6_ADDRSTRLEN];

	if (explain_gid_is_ipv4(gid))
		inet_ntop(AF_INET, gid->raw + sizeof(ipv4_prefix), name, sizeof(name));
	else
		inet_ntop(AF_INET6, gid->raw, name, sizeof(name));
	text_add(text, "%s", name);
}

static const struct {
	unsigned int flag;
	const char *name;
} access_names[] = {
	{ IB_UVERBS_ACCESS_LOCAL_WRITE, "LOCAL_WRITE" },
	{ IB_UVERBS_ACCESS_REMOTE_WRITE, "REMOTE_WRITE" },
	{ IB_UVERBS_ACCESS_REMOTE_READ, "REMOTE_READ" },
	{ IB_UVERBS_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC" },
	{ IB_UVERBS_ACCESS_MW_BIND, "MW_BIND" },
	{ IB_UVERBS_ACCESS_ZERO_BASED, "ZERO_BASED" },
	{ IB_UVERBS_ACCESS_ON_DEMAND, "ON_DEMAND" },
	{ IB_UVERBS_ACCESS_HUGETLB, "HUGETLB" },
	{ IB_UVERBS_ACCESS_FLUSH_GLOBAL, "FLUSH_GLOBAL" },
	{ IB_UVERBS_ACCESS_FLUSH_PERSISTENT, "FLUSH_PERSISTENT" },
	{ IB_UVERBS_ACCESS_RELAXED_ORDERING, "RELAXED_ORDERING" },
};

void explain_access(struct text *text, unsigned int access)
{
	struct text names = {};

	for (unsigned int i = 0; i < ARRAY_SIZE(access_names); i++) {
		if (access & access_names[i].flag)
			text_join(&names, "|", "%s", access_names[i].name);
		access &= ~access_names[i].flag;
	}
	if (access)
		text_join(&names, "|", "0x%x", access);
	text_add(text, "%s", names.length ? names.chars : "none");
}
