/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names to addresses: getaddrinfo(3) with the additions for RDMA. */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"
#include "util/log.h"
#include "util/util.h"

/* Copy an address, because a result owns its addresses. */
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

/* ------------------------------------------------------------------ by getaddrinfo(3) */

static int socket_type(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return SOCK_STREAM;
	case IBV_QPT_UD:
		return SOCK_DGRAM;
	default:
		return 0;
	}
}

static int protocol(int port_space, int type)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return IPPROTO_TCP;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return IPPROTO_UDP;
	case RDMA_PS_IB:
		return type == SOCK_STREAM ? IPPROTO_TCP : type == SOCK_DGRAM ? IPPROTO_UDP : 0;
	default:
		return 0;
	}
}

static struct addrinfo ip_hints(const struct rdma_addrinfo *hints)
{
	struct addrinfo ip = { .ai_socktype = socket_type(hints->ai_qp_type) };

	if (hints->ai_flags & RAI_PASSIVE)
		ip.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ip.ai_flags |= AI_NUMERICHOST;
	if (hints->ai_family != AF_IB)
		ip.ai_family = hints->ai_family;
	ip.ai_protocol = protocol(hints->ai_port_space, ip.ai_socktype);
	return ip;
}

/* Set QP type and port space from the hints or, if the hints have none, from the look-up. */
static void set_service(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints,
			const struct addrinfo *found)
{
	info->ai_qp_type = hints->ai_qp_type;
	if (!info->ai_qp_type)
		info->ai_qp_type = found->ai_socktype == SOCK_DGRAM ? IBV_QPT_UD : IBV_QPT_RC;
	info->ai_port_space = hints->ai_port_space;
	if (!info->ai_port_space)
		info->ai_port_space = found->ai_protocol == IPPROTO_UDP ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/*
 * Convert to AF_IB. A GID is written as an IPv6 address, and the service is a port of the port
 * space.
 */
static int addr_to_ib(const struct addrinfo *found, int port_space, struct sockaddr_ib *ret)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)found->ai_addr;

	if (found->ai_family != AF_INET6) {
		log_err("rdma_getaddrinfo: an address of family AF_IB is a GID, as 2001:db8::1 or "
			"::ffff:192.0.2.1");
		return -EINVAL;
	}
	*ret = (struct sockaddr_ib){
		.sib_family = AF_IB,
		.sib_pkey = htons(0xffff),
		.sib_flowinfo = in6->sin6_flowinfo,
		.sib_scope_id = in6->sin6_scope_id,
		.sib_sid = htobe64((uint64_t)port_space << 16 | ntohs(in6->sin6_port)),
		.sib_sid_mask = htobe64((port_space ? RDMA_IB_IP_PS_MASK : 0) |
					(in6->sin6_port ? RDMA_IB_IP_PORT_MASK : 0)),
	};
	memcpy(&ret->sib_addr, &in6->sin6_addr, sizeof(ret->sib_addr));
	return 0;
}

static bool wants_ib(const struct rdma_addrinfo *hints)
{
	return hints->ai_family == AF_IB && hints->ai_flags & RAI_FAMILY &&
	       hints->ai_flags & RAI_NUMERICHOST;
}

static int set_addr(struct rdma_addrinfo *info, const struct sockaddr *addr, socklen_t length)
{
	info->ai_family = addr->sa_family;
	if (info->ai_flags & RAI_PASSIVE)
		return addr_copy(addr, length, &info->ai_src_addr, &info->ai_src_len);
	return addr_copy(addr, length, &info->ai_dst_addr, &info->ai_dst_len);
}

static int set_found(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints,
		     const struct addrinfo *found)
{
	struct sockaddr_ib sib;
	int r;

	info->ai_flags = hints->ai_flags & RAI_PASSIVE;
	set_service(info, hints, found);
	if (!wants_ib(hints))
		return set_addr(info, found->ai_addr, found->ai_addrlen);
	r = addr_to_ib(found, info->ai_port_space, &sib);
	return r < 0 ? r : set_addr(info, (struct sockaddr *)&sib, sizeof(sib));
}

/*
 * Look up by getaddrinfo(), and take the first address, as programs expect. Return: 0 or -errno;
 * *@ret_gai: error of getaddrinfo().
 */
static int find(struct rdma_addrinfo *info, const char *node, const char *service,
		const struct rdma_addrinfo *hints, int *ret_gai)
{
	static const struct rdma_addrinfo none;
	struct addrinfo ip, *found;
	int r;

	if (hints)
		ip = ip_hints(hints);
	*ret_gai = getaddrinfo(node, service, hints ? &ip : NULL, &found);
	if (*ret_gai) {
		log_err("rdma_getaddrinfo: %s, service %s: %s", node ? node : "no node",
			service ? service : "none", gai_strerror(*ret_gai));
		return 0;
	}
	r = set_found(info, hints ? hints : &none, found);
	freeaddrinfo(found);
	return r;
}

/* ------------------------------------------------------------------ rdma_getaddrinfo() */

/* Copy the hints of the caller, because there is no name to look up. */
static int take_hints(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	info->ai_flags = hints->ai_flags;
	info->ai_family = hints->ai_family;
	info->ai_qp_type = hints->ai_qp_type;
	info->ai_port_space = hints->ai_port_space;
	return addr_copy(hints->ai_dst_addr, hints->ai_dst_len, &info->ai_dst_addr,
			 &info->ai_dst_len);
}

static int addrinfo_fill(struct rdma_addrinfo *info, const char *node, const char *service,
			 const struct rdma_addrinfo *hints, int *ret_gai)
{
	int r = node || service ? find(info, node, service, hints, ret_gai)
				: take_hints(info, hints);

	if (r < 0 || *ret_gai || !hints || info->ai_src_len)
		return r;
	return addr_copy(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_addr,
			 &info->ai_src_len);
}

static int addrinfo_get(const char *node, const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo **ret_info, int *ret_gai)
{
	struct rdma_addrinfo *info;
	int r;

	*ret_gai = 0;
	if (!node && !service && !hints)
		return -EINVAL;
	if (hints && hints->ai_flags & RAI_SA)
		return cm_service_getaddrinfo(node, service, hints, ret_info);
	info = calloc(1, sizeof(*info));
	if (!info)
		return -ENOMEM;
	r = addrinfo_fill(info, node, service, hints, ret_gai);
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

/*
 * Look up at once, and post the event that the program waits for. A synchronous identifier needs no
 * event.
 */
static int resolve_dns(struct cm_id *id, const char *node, const char *service,
		       const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *info = NULL;
	int gai, r;

	r = addrinfo_get(node, service, hints, &info, &gai);
	if (!r && gai)
		r = gai == EAI_SYSTEM ? -errno : gai == EAI_MEMORY ? -ENOMEM : -ENOENT;
	id->addrinfo = info;
	if (id->sync || (r < 0 && !gai))
		return r;
	return event_put(id, RDMA_CM_EVENT_INTERNAL, r, 0);
}

static int addrinfo_resolve(struct cm_id *id, const char *node, const char *service,
			    const struct rdma_addrinfo *hints)
{
	int flags = hints ? hints->ai_flags : 0;

	if (id->addrinfo) {
		cm_err(id, "rdma_resolve_addrinfo: the result of the call before waits for "
			   "rdma_query_addrinfo()");
		return -EBUSY;
	}

	if (flags & RAI_SA && (flags & RAI_DNS || node))
		return -EOPNOTSUPP;
	return flags & RAI_SA ? cm_service_resolve(id, service)
			      : resolve_dns(id, node, service, hints);
}

CM_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service,
				    const struct rdma_addrinfo *hints)
{
	return ret_neg1(id ? addrinfo_resolve(to_cm_id(id), node, service, hints) : -EINVAL);
}

/* Return the result to the program. This is possible once. */
static int addrinfo_query(struct cm_id *id, struct rdma_addrinfo **ret_info)
{
	if (id->addrinfo) {
		*ret_info = take_ptr(&id->addrinfo);
		return 0;
	}
	if (id->backend && id->backend->query_services)
		return id->backend->query_services(id, ret_info);
	return -ENOENT;
}

CM_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info)
{
	return ret_neg1(id && info ? addrinfo_query(to_cm_id(id), info) : -EINVAL);
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
