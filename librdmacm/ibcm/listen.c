/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Listeners by service id, which consists of port space and port. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/listen.h"

enum {
	LISTEN_BUCKETS = 256
};

static LIST_HEAD(, ibcm_id) listeners[LISTEN_BUCKETS];
static unsigned int on_any; /* number of listeners on any address */

uint64_t ibcm_service_id(const struct ibcm_id *iid)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&iid->src;

	/* The port has the same place in IPv6 addresses. */
	return (uint64_t)iid->ps << 16 | ntohs(in->sin_port);
}

static unsigned int listen_bucket(uint64_t service_id)
{
	return (service_id ^ service_id >> 8) % LISTEN_BUCKETS;
}

const union ibv_gid *ibcm_listener_gid(const struct ibcm_id *iid)
{
	static const union ibv_gid any4 = { .raw = VERBS_GSI_ANY_IPV4 },
				   any6 = { .raw = VERBS_GSI_ANY_IPV6 };

	if (iid->local.cm)
		return &iid->local.gid;
	if (!iid->afonly)
		return NULL;
	return iid->src.ss_family == AF_INET ? &any4 : &any6;
}

void ibcm_listener_add(struct ibcm_id *iid)
{
	LIST_INSERT_HEAD(&listeners[listen_bucket(ibcm_service_id(iid))], iid, listen_entry);
	on_any += !iid->local.cm;
}

void ibcm_listener_remove(struct ibcm_id *iid)
{
	LIST_REMOVE(iid, listen_entry);
	on_any -= !iid->local.cm;
}

bool ibcm_listener_on_any(void)
{
	return on_any;
}

static bool any_takes(const struct ibcm_id *listener, sa_family_t family)
{
	return !listener->local.cm && (!listener->afonly || listener->src.ss_family == family);
}

struct ibcm_id *ibcm_listener_find(uint64_t service_id, const union ibv_gid *gid,
				   sa_family_t family)
{
	struct ibcm_id *iid, *any = NULL;

	LIST_FOREACH(iid, &listeners[listen_bucket(service_id)], listen_entry) {
		if (ibcm_service_id(iid) != service_id)
			continue;
		if (iid->local.cm && !memcmp(&iid->local.gid, gid, sizeof(*gid)))
			return iid;
		if (any_takes(iid, family))
			any = iid;
	}
	return any;
}
