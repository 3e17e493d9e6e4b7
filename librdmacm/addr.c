/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Local and remote addresses, and the route between them. */
#include <string.h>

#include <infiniband/ib.h>

#include "librdmacm/backend.h"
#include "librdmacm/channel.h"
#include "librdmacm/cm.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "librdmacm/sockaddr.h"

enum {
	PORT_TRIES = 32
};

_Static_assert(sizeof(struct sockaddr_ib) == 48, "the kernel's");

static int addr_check(struct cm_id *id, const char *who, const struct sockaddr *addr)
{
	if (id->closed)
		return cm_need_backend(id, who);
	if (addr && cm_addr_size(addr))
		return 0;
	cm_err(id, "%s: address of family %d; AF_INET, AF_INET6 and AF_IB are known", who,
	       addr ? addr->sa_family : -1);
	return -EINVAL;
}

/* Bind the twin of a wildcard to the port that the first backend got. */
static int twin_bind(struct cm_id *id)
{
	struct cm_id *twin = id->twin;

	if (!twin)
		return 0;
	twin->id.route.addr.src_storage = id->id.route.addr.src_storage;
	return twin->backend->bind_addr(twin, &id->id.route.addr.src_addr);
}

/*
 * Return whether the address has no device yet. The first use of the address determines the device.
 */
static bool has_no_device(const struct sockaddr *addr)
{
	return cm_addr_is_any(addr) || cm_addr_is_loopback(addr);
}

static int bind_on_backend(struct cm_id *id, const struct sockaddr *addr)
{
	int r = id->backend->bind_addr(id, addr);

	if (!r)
		r = id->backend->query_addr(id);
	if (!r)
		r = twin_bind(id);
	if (r < 0)
		return r;
	return has_no_device(addr) || id->id.verbs ? 0 : -ENODEV;
}

static int bind_to_one(struct cm_id *id, const struct sockaddr *addr)
{
	int r = cm_id_choose(id, addr);

	return r < 0 ? r : bind_on_backend(id, addr);
}

/*
 * Bind on both backends. A port that one backend chose may be in use on the other. Then choose
 * again, unless the identifier was bound before.
 */
static int bind_to_both(struct cm_id *id, const struct sockaddr *addr)
{
	bool open = !id->backend && !cm_addr_port(addr);
	int r;

	for (int tries = 1;; tries++) {
		r = cm_id_choose_both(id);
		if (!r)
			r = bind_on_backend(id, addr);
		if (!open || tries == PORT_TRIES || (r != -EADDRINUSE && r != -EADDRNOTAVAIL))
			return r;
		r = cm_id_choose_none(id);
		if (r < 0)
			return r;
	}
}

int cm_addr_bind(struct cm_id *id, const struct sockaddr *addr)
{
	int r = addr_check(id, "rdma_bind_addr", addr);

	if (r < 0)
		return r;
	/* Only the kernel supports AF_IB. */
	if (cm_addr_is_any(addr) && addr->sa_family != AF_IB &&
	    cm_channel_is_mixed(cm_id_channel(id)))
		r = bind_to_both(id, addr);
	else
		r = bind_to_one(id, addr);
	if (r < 0)
		cm_explain_addr(id, addr, r);
	return r;
}

CM_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return ret_neg1(cm_addr_bind(to_cm_id(id), addr));
}

/*
 * If there are two backends, choose one by the given source address or by the source that the
 * routing table chooses. If an identifier changes its backend after the bind of a wildcard, it
 * keeps the port.
 */
static int choose_for(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	struct sockaddr_storage from, bound = id->id.route.addr.src_storage;
	const struct cm_backend_ops *before = id->backend;
	int r;

	if (!cm_channel_is_mixed(cm_id_channel(id)))
		return 0;
	if (src && !cm_addr_is_any(src))
		return cm_id_choose(id, src);
	if (id->id.verbs)
		return 0;
	if (dst->sa_family == AF_IB)
		return cm_id_choose(id, dst);
	r = cm_addr_source_for(dst, &from);
	if (!r)
		r = cm_id_choose(id, (struct sockaddr *)&from);
	else if (r == -EINVAL) /* link-local without an interface: the kernel reports the error */
		r = cm_id_choose(id, dst);
	if (!r && before && before != id->backend && bound.ss_family)
		r = id->backend->bind_addr(id, (struct sockaddr *)&bound);
	return r;
}

int cm_addr_resolve(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		    int timeout_ms)
{
	int r = addr_check(id, "rdma_resolve_addr", dst);

	if (!r && src)
		r = addr_check(id, "rdma_resolve_addr", src);
	if (r < 0)
		return r;
	/*
	 * Set the destination before the call, because another thread may read the event at once.
	 */
	memcpy(&id->id.route.addr.dst_storage, dst, cm_addr_size(dst));
	r = choose_for(id, src, dst);
	if (!r)
		r = id->backend->resolve_addr(id, src, dst, timeout_ms);
	if (r < 0) {
		cm_explain_addr(id, src && r == -EADDRNOTAVAIL ? src : dst, r);
		return r;
	}
	return cm_sync_wait(id);
}

CM_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
				struct sockaddr *dst_addr, int timeout_ms)
{
	return ret_neg1(cm_addr_resolve(to_cm_id(id), src_addr, dst_addr, timeout_ms));
}

int cm_route_resolve(struct cm_id *id, int timeout_ms)
{
	int r = cm_need_backend(id, "rdma_resolve_route");

	if (!r)
		r = id->backend->resolve_route(id, timeout_ms);
	if (r == -ENODEV)
		cm_explain_addr(id, &id->id.route.addr.dst_addr, r);
	else if (r < 0)
		cm_err(id, "rdma_resolve_route: %s%s", strerror(-r),
		       r == -EINVAL ? ": the address must have been resolved before" : "");
	if (r < 0)
		return r;
	return cm_sync_wait(id);
}

CM_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	return ret_neg1(cm_route_resolve(to_cm_id(id), timeout_ms));
}

CM_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return cm_addr_port(&id->route.addr.src_addr);
}

CM_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return cm_addr_port(&id->route.addr.dst_addr);
}
