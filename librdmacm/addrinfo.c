/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names to addresses: getaddrinfo(3) with what RDMA adds. */
#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/cm.h"
#include "librdmacm/sockaddr.h"

/* Results carry addresses of their own; getaddrinfo()'s are copied. */
static int addr_copy(const struct sockaddr *from, socklen_t length, struct sockaddr **to,
		     socklen_t *to_length)
{
	if (!from || !length)
		return 0;
	*to = calloc(1, max_of(length, (socklen_t)sizeof(struct sockaddr_storage)));
	if (!*to)
		return -ENOMEM;
	memcpy(*to, from, length);
	*to_length = length;
	return 0;
}

static int name_copy(const char *from, char **to)
{
	if (!from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

CM_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}

/* Of QP type and port space either may be left to the other; both open means connected. */
static void set_service(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	int type = hints ? hints->ai_qp_type : 0, space = hints ? hints->ai_port_space : 0;

	if (!space)
		space = type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!type)
		type = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	info->ai_qp_type = type;
	info->ai_port_space = space;
}

/* ------------------------------------------------------------------ IP addresses */

static struct addrinfo ip_hints(const struct rdma_addrinfo *hints)
{
	struct addrinfo ip = {
		.ai_flags = AI_CANONNAME,
		.ai_socktype = SOCK_STREAM,
	};

	if (!hints)
		return ip;
	if (hints->ai_flags & RAI_PASSIVE)
		ip.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ip.ai_flags |= AI_NUMERICHOST;
	if (hints->ai_flags & RAI_FAMILY)
		ip.ai_family = hints->ai_family;
	if (hints->ai_port_space == RDMA_PS_UDP || hints->ai_port_space == RDMA_PS_IPOIB ||
	    hints->ai_qp_type == IBV_QPT_UD)
		ip.ai_socktype = SOCK_DGRAM;
	return ip;
}

static int set_found(struct rdma_addrinfo *info, const struct addrinfo *found)
{
	int r;

	info->ai_family = found->ai_family;
	if (info->ai_flags & RAI_PASSIVE) {
		r = addr_copy(found->ai_addr, found->ai_addrlen, &info->ai_src_addr,
			      &info->ai_src_len);
		return r < 0 ? r : name_copy(found->ai_canonname, &info->ai_src_canonname);
	}
	r = addr_copy(found->ai_addr, found->ai_addrlen, &info->ai_dst_addr, &info->ai_dst_len);
	return r < 0 ? r : name_copy(found->ai_canonname, &info->ai_dst_canonname);
}

/* Return: 0, -errno, or @ret_gai of getaddrinfo(). The first address is taken, as programs expect.
 */
static int find_ip(struct rdma_addrinfo *info, const char *node, const char *service,
		   const struct rdma_addrinfo *hints, int *ret_gai)
{
	struct addrinfo ip = ip_hints(hints), *found;
	int r;

	/* a canonical name needs a name; some resolvers refuse the flag without one */
	if (!node)
		ip.ai_flags &= ~AI_CANONNAME;
	*ret_gai = getaddrinfo(node, service, &ip, &found);
	if (*ret_gai) {
		log_err("rdma_getaddrinfo: %s, service %s: %s", node ? node : "no node",
			service ? service : "none", gai_strerror(*ret_gai));
		return 0;
	}
	r = set_found(info, found);
	freeaddrinfo(found);
	return r;
}

/* ------------------------------------------------------------------ AF_IB */

/* @node is a GID; @service a port of the port space. */
static int find_ib(struct rdma_addrinfo *info, const char *node, const char *service)
{
	struct sockaddr_ib *sib = calloc(1, sizeof(struct sockaddr_storage));
	uint64_t port = service ? strtoull(service, NULL, 0) : 0;

	if (!sib)
		return -ENOMEM;
	sib->sib_family = AF_IB;
	sib->sib_pkey = htons(0xffff);
	if (port) {
		sib->sib_sid = htobe64((uint64_t)info->ai_port_space << 16 | (port & 0xffff));
		sib->sib_sid_mask = htobe64(~0ull);
	}
	if (node && inet_pton(AF_INET6, node, &sib->sib_addr) != 1) {
		free(sib);
		return -EINVAL;
	}
	info->ai_family = AF_IB;
	if (info->ai_flags & RAI_PASSIVE) {
		info->ai_src_addr = (struct sockaddr *)sib;
		info->ai_src_len = sizeof(*sib);
	} else {
		info->ai_dst_addr = (struct sockaddr *)sib;
		info->ai_dst_len = sizeof(*sib);
	}
	return 0;
}

/* ------------------------------------------------------------------ together */

/* Addresses the caller knows already. */
static int take_known(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	int r = 0;

	if (!hints)
		return 0;
	if (!info->ai_src_len)
		r = addr_copy(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_addr,
			      &info->ai_src_len);
	if (!r && !info->ai_dst_len)
		r = addr_copy(hints->ai_dst_addr, hints->ai_dst_len, &info->ai_dst_addr,
			      &info->ai_dst_len);
	if (!info->ai_family)
		info->ai_family = hints->ai_family;
	return r;
}

static int addrinfo_get(const char *node, const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo **ret_info, int *ret_gai)
{
	bool family = hints && hints->ai_flags & RAI_FAMILY;
	struct rdma_addrinfo *info;
	int r = 0;

	*ret_gai = 0;
	if (!node && !service && !hints)
		return -EINVAL;
	info = calloc(1, sizeof(*info));
	if (!info)
		return -ENOMEM;
	info->ai_flags = hints ? hints->ai_flags : 0;
	set_service(info, hints);
	if (node || service)
		r = family && hints->ai_family == AF_IB
			    ? find_ib(info, node, service)
			    : find_ip(info, node, service, hints, ret_gai);
	if (!r && !*ret_gai)
		r = take_known(info, hints);
	if (r < 0 || *ret_gai) {
		rdma_freeaddrinfo(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

CM_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
			       const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	int gai, r = addrinfo_get(node, service, hints, res, &gai);

	return r < 0 || !gai ? ret_neg1(r) : gai;
}

/* ------------------------------------------------------------------ by event */

static int event_put(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	int r;

	if (cm_channel_is_mixed(cm_id_channel(id)))
		return cm_posted_put(id, event, status, arg);
	r = cm_need_backend(id, "an event that a program writes");
	if (r < 0)
		return r;
	return id->backend->write_event ? id->backend->write_event(id, event, status, arg)
					: cm_unsupported(id, "an event that a program writes");
}

static int service_of(const char *service, struct cm_service *ret_service)
{
	char *end;
	uint64_t number;

	if (!service || !*service || strlen(service) >= sizeof(ret_service->name))
		return -EINVAL;
	number = strtoull(service, &end, 0);
	*ret_service = (struct cm_service){ .id = *end ? 0 : number };
	if (*end)
		strcpy(ret_service->name, service);
	return 0;
}

static int resolve_sa(struct cm_id *id, const char *node, const char *service)
{
	struct cm_service wanted;
	int r = node ? -EINVAL : service_of(service, &wanted);

	if (!r)
		r = cm_need_backend(id, "rdma_resolve_addrinfo");
	if (r < 0)
		return r;
	if (!id->backend->resolve_service)
		return cm_unsupported(id, "asking the subnet administrator for a service");
	r = id->backend->resolve_service(id, &wanted);
	return r < 0 ? r : cm_sync_wait(id);
}

/*
 * The look-up is made here and now; what the program waits for is the event. A synchronous
 * identifier needs none.
 */
static int resolve_dns(struct cm_id *id, const char *node, const char *service,
		       const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *info = NULL;
	int gai, r;

	r = addrinfo_get(node, service, hints, &info, &gai);
	if (!r && gai)
		r = gai == EAI_SYSTEM ? -errno : gai == EAI_MEMORY ? -ENOMEM : -ENOENT;
	rdma_freeaddrinfo(id->addrinfo);
	id->addrinfo = info;
	if (id->sync || (r < 0 && !gai))
		return r;
	return event_put(id, RDMA_CM_EVENT_INTERNAL, r, 0);
}

static int addrinfo_resolve(struct cm_id *id, const char *node, const char *service,
			    const struct rdma_addrinfo *hints)
{
	int flags = hints ? hints->ai_flags : 0;

	if (flags & RAI_SA && flags & RAI_DNS)
		return -EINVAL;
	return flags & RAI_SA ? resolve_sa(id, node, service)
			      : resolve_dns(id, node, service, hints);
}

CM_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
				    const struct rdma_addrinfo *hints)
{
	return ret_neg1(addrinfo_resolve(to_cm_id(id), node, service, hints));
}

static int addrinfo_duplicate(const struct rdma_addrinfo *from, struct rdma_addrinfo **ret_info)
{
	struct rdma_addrinfo *info = calloc(1, sizeof(*info));
	int r;

	if (!info)
		return -ENOMEM;
	info->ai_flags = from->ai_flags;
	info->ai_family = from->ai_family;
	info->ai_qp_type = from->ai_qp_type;
	info->ai_port_space = from->ai_port_space;
	r = take_known(info, from);
	if (!r)
		r = name_copy(from->ai_src_canonname, &info->ai_src_canonname);
	if (!r)
		r = name_copy(from->ai_dst_canonname, &info->ai_dst_canonname);
	if (r < 0) {
		rdma_freeaddrinfo(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

static int addrinfo_query(struct cm_id *id, struct rdma_addrinfo **ret_info)
{
	if (id->addrinfo)
		return addrinfo_duplicate(id->addrinfo, ret_info);
	if (id->backend && id->backend->query_services)
		return id->backend->query_services(id, ret_info);
	return -ENODATA;
}

CM_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	return ret_neg1(addrinfo_query(to_cm_id(id), info));
}

/* ------------------------------------------------------------------ events of programs */

static int event_write(struct cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg)
{
	if (event != RDMA_CM_EVENT_USER) {
		cm_err(id, "rdma_write_cm_event: %s; programs write RDMA_CM_EVENT_USER",
		       rdma_event_str(event));
		return -EINVAL;
	}
	return event_put(id, event, status, arg);
}

CM_EXPORT int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
				  uint64_t arg)
{
	return ret_neg1(event_write(to_cm_id(id), event, status, arg));
}
