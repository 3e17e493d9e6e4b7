/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bind and resolve. local.c finds the device that has an address. The routing table gives the
 * source address.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/event.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/interfaces.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/port.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"
#include "util/util.h"

enum {
	PKEY_DEFAULT = 0xffff
};

bool ibcm_serves(const struct sockaddr *addr)
{
	struct ibcm_local local;

	ibcm_interfaces_follow();
	return !ibcm_local_find(addr, &local);
}

/* --- bind --- */

static void set_addr(struct sockaddr_storage *to, const struct sockaddr *from)
{
	*to = (struct sockaddr_storage){};
	memcpy(to, from, cm_addr_size(from));
}

static int take_port(struct ibcm_id *iid, bool shown)
{
	uint16_t port;
	int r = ibcm_port_take(iid, ntohs(cm_addr_port((struct sockaddr *)&iid->src)), shown,
			       &port);

	if (!r)
		cm_addr_set_port((struct sockaddr *)&iid->src, htons(port));
	return r;
}

/*
 * Set the local address under the lock, because other threads search the identifiers of a device
 * under it.
 */
static void local_set(struct ibcm_id *iid, const struct ibcm_local *local)
{
	ibcm_lock();
	iid->local = *local;
	ibcm_unlock();
}

static void local_forget(struct ibcm_id *iid)
{
	static const struct ibcm_local none;

	local_set(iid, &none);
}

/*
 * Return the error for an address without a device: -ENODEV if it belongs to this host, otherwise
 * -EADDRNOTAVAIL.
 */
static int not_ours(const struct sockaddr *addr)
{
	_cleanup_close_ int fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage any_port;

	set_addr(&any_port, addr);
	cm_addr_set_port((struct sockaddr *)&any_port, 0);
	if (fd < 0 || cm_addr_is_multicast(addr) ||
	    bind(fd, (struct sockaddr *)&any_port, cm_addr_size(addr)))
		return -EADDRNOTAVAIL;
	return -ENODEV;
}

/*
 * Return the default of afonly. An IPv4 address accepts only IPv4. An IPv6 address accepts both
 * families unless the sysctl bindv6only is set.
 */
static bool afonly_default(sa_family_t family)
{
	_cleanup_close_ int fd = -1;
	int only = 0;
	socklen_t length = sizeof(only);

	if (family == AF_INET)
		return true;
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && !getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &length) && only;
}

/* Return whether the address is link-local and names no interface. */
static bool lacks_scope(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       !in6->sin6_scope_id;
}

int ibcm_bind_addr(struct cm_id *id, const struct sockaddr *addr)
{
	struct ibcm_id *iid = id->ibcm;
	struct ibcm_local local = {};
	struct ibcm_dev *any;
	int r = 0;

	if (iid->step != STEP_NEW)
		return -EINVAL;
	if (addr->sa_family != AF_INET && addr->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (lacks_scope(addr))
		return -EINVAL;
	ibcm_interfaces_follow();
	if (!cm_addr_is_any(addr))
		r = ibcm_local_find(addr, &local);
	if (r == -EADDRNOTAVAIL && cm_addr_is_loopback(addr))
		r = 0; /* no device has the address: treat it as any address, as kernels do */
	if (!r && local.cm)
		r = ibcm_dev_get(local.cm, &iid->dev);
	if (r < 0)
		return r == -EADDRNOTAVAIL ? not_ours(addr) : r;
	/*
	 * Open devices before other processes see the port, so that no request arrives too early.
	 * If no device opens, rdma_listen() reports that.
	 */
	if (!local.cm)
		(void)ibcm_dev_get_all(&any);
	local_set(iid, &local);
	set_addr(&iid->src, addr);
	if (!iid->afonly_set)
		iid->afonly = afonly_default(addr->sa_family);
	r = take_port(iid, true);
	if (r < 0)
		local_forget(iid);
	else
		iid->step = STEP_BOUND;
	return r;
}

/* --- resolve --- */

/*
 * Replace a loopback address by another address of the same family, because some devices have no
 * loopback address.
 */
static int first_of_family(const struct ibcm_local *local, void *arg)
{
	struct sockaddr_storage *addr = arg;

	if (ibcm_gid_is_ipv4(&local->gid) != (addr->ss_family == AF_INET))
		return 0;
	if (addr->ss_family == AF_INET)
		memcpy(&((struct sockaddr_in *)addr)->sin_addr, local->gid.raw + 12, 4);
	else
		memcpy(&((struct sockaddr_in6 *)addr)->sin6_addr, local->gid.raw, 16);
	return 1;
}

/* Set the destination. A wildcard means this host. */
static void dst_set(struct ibcm_id *iid, const struct sockaddr *dst)
{
	set_addr(&iid->dst, dst);
	if (!cm_addr_is_any(dst))
		return;
	if (dst->sa_family == AF_INET)
		((struct sockaddr_in *)&iid->dst)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)&iid->dst)->sin6_addr = in6addr_loopback;
}

static int src_find(struct ibcm_id *iid, const struct sockaddr *src, struct sockaddr_storage *ret)
{
	struct sockaddr *dst = (struct sockaddr *)&iid->dst;
	struct ibcm_local local;
	int r;

	if (iid->local.cm) {
		*ret = iid->src;
		return 0;
	}
	if (src && !cm_addr_is_any(src)) {
		set_addr(ret, src);
		return 0;
	}
	r = cm_addr_source_for(dst, ret);
	if (r < 0 || !cm_addr_is_loopback((struct sockaddr *)ret) ||
	    !ibcm_local_find((struct sockaddr *)ret, &local))
		return r;
	r = ibcm_local_each(first_of_family, ret);
	if (r <= 0)
		return r < 0 ? r : -ENODEV;
	first_of_family(&local, &iid->dst);
	ibcm_local_find((struct sockaddr *)ret, &local);
	first_of_family(&local, &iid->dst);
	return 0;
}

/* Set the source address, with the port of an earlier bind or of the given source. */
static int src_set(struct ibcm_id *iid, const struct sockaddr_storage *from,
		   const struct sockaddr *src)
{
	__be16 port = iid->port ? cm_addr_port((struct sockaddr *)&iid->src)
		      : src	? cm_addr_port(src)
				: 0;

	iid->src = *from;
	cm_addr_set_port((struct sockaddr *)&iid->src, port);
	return iid->port ? 0 : take_port(iid, port);
}

/*
 * Set the GID of the destination. All addresses of 127.0.0.0/8 are this host, but a device has only
 * one of them.
 */
static void remote_gid_set(struct ibcm_id *iid)
{
	const struct sockaddr *dst = (const struct sockaddr *)&iid->dst;
	struct ibcm_local local;

	if (cm_addr_is_loopback(dst) && ibcm_local_find(dst, &local) < 0)
		iid->remote_gid = iid->local.gid;
	else
		ibcm_addr_to_gid(dst, &iid->remote_gid);
}

/* Report the failure by an event, as a kernel does after the search for the neighbour. */
static int report_unresolved(struct ibcm_id *iid)
{
	ibcm_lock();
	ibcm_event_new(iid, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	ibcm_unlock();
	return 0;
}

int ibcm_resolve_addr(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		      int timeout_ms)
{
	struct ibcm_id *iid = id->ibcm;
	struct sockaddr_storage from;
	struct ibcm_local local;
	int r;

	if (iid->step != STEP_NEW && iid->step != STEP_BOUND)
		return -EINVAL;
	if (dst->sa_family != AF_INET && dst->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (iid->step == STEP_BOUND && iid->src.ss_family != dst->sa_family)
		return -EINVAL;
	ibcm_interfaces_follow();
	dst_set(iid, dst);
	if (lacks_scope(dst) && !iid->local.cm && (!src || cm_addr_is_any(src)))
		return report_unresolved(iid);
	r = src_find(iid, src, &from);
	if (!r && !iid->local.cm) {
		r = ibcm_local_find((struct sockaddr *)&from, &local);
		if (r == -EADDRNOTAVAIL)
			r = not_ours((struct sockaddr *)&from);
		if (!r)
			local_set(iid, &local);
	}
	if (!r)
		r = ibcm_dev_get(iid->local.cm, &iid->dev);
	if (!r)
		r = src_set(iid, &from, src);
	if (r < 0) {
		if (!iid->port)
			local_forget(iid);
		return r;
	}
	remote_gid_set(iid);
	iid->step = STEP_ADDR;
	ibcm_lock();
	ibcm_event_new(iid, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	ibcm_unlock();
	return 0;
}

int ibcm_resolve_route(struct cm_id *id, int timeout_ms)
{
	struct ibcm_id *iid = id->ibcm;

	if (iid->step != STEP_ADDR || !timeout_ms)
		return -EINVAL;
	iid->step = STEP_ROUTE;
	ibcm_lock();
	ibcm_event_new(iid, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	ibcm_unlock();
	return 0;
}

/* --- queries --- */

/*
 * Return whether the program sees the device. Hide it while a loopback address is only bound:
 * programs detect devices by bound addresses, and no device of the kernel has a loopback address.
 */
static bool device_is_known(const struct ibcm_id *iid)
{
	return iid->local.cm && !(iid->step == STEP_BOUND &&
				  cm_addr_is_loopback((const struct sockaddr *)&iid->src));
}

int ibcm_query_addr(struct cm_id *id)
{
	struct ibcm_id *iid = id->ibcm;
	struct rdma_addr *addr = &id->id.route.addr;
	int r = 0;

	if (device_is_known(iid))
		r = cm_id_set_device(id, iid->local.cm);
	if (r < 0)
		return r;
	addr->src_storage = iid->src;
	addr->dst_storage = iid->dst;
	addr->dst_storage.ss_family = iid->src.ss_family; /* set also without an address */
	if (device_is_known(iid)) {
		id->id.port_num = 1;
		addr->addr.ibaddr = (struct rdma_ib_addr){ .sgid = iid->local.gid,
							   .dgid = iid->remote_gid,
							   .pkey = htons(PKEY_DEFAULT) };
	}
	ibcm_lock();
	if (!iid->detached)
		iid->id = id; /* from now on the events of the request belong to this id */
	ibcm_unlock();
	return 0;
}
