/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports. Within the process the kernel's rules: a wildcard conflicts with everything on its port,
 * reuseaddr on both sides lifts a conflict, who listens has the port alone. Between processes of
 * one user a port is an abstract socket's name: claiming it is atomic, confined to the network
 * namespace, and over with any death. Processes do not share ports, whatever reuseaddr says.
 */
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "librdmacm/ibcm/ibcm.h"

enum {
	PORT_PRIVILEGED = 1024,
	EPHEMERAL_FIRST = 32768, /* as the kernel's ip_local_port_range by default */
	EPHEMERAL_LAST = 60999,
	BUCKETS = 1024,
};

struct ibcm_port {
	LIST_ENTRY(ibcm_port) entry;
	uint16_t ps;
	uint16_t number;
	bool any;
	bool reuse, afonly;
	sa_family_t family;
	union ibv_gid gid;
	int claim; /* socket; -1: other processes do not see it */
};

static LIST_HEAD(port_list, ibcm_port) ports[BUCKETS];

/* --- between processes --- */

static socklen_t claim_name(uint16_t ps, uint16_t number, const union ibv_gid *gid,
			    struct sockaddr_un *ret)
{
	char address[33] = "any";
	int n;

	for (int i = 0; gid && i < 16; i++)
		snprintf(address + 2 * i, 3, "%02x", gid->raw[i]);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "rdma_cm-%u-%x-%u-%s", geteuid(),
		     ps, number, address);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static int claim_take(uint16_t ps, uint16_t number, const union ibv_gid *gid)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un name;
	socklen_t len = claim_name(ps, number, gid, &name);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, len))
		return -errno;
	return take_fd(&fd);
}

/* 0 when nobody has it. */
static int claim_test(uint16_t ps, uint16_t number, const union ibv_gid *gid)
{
	int fd = claim_take(ps, number, gid);

	if (fd < 0)
		return fd == -EADDRINUSE ? -EADDRNOTAVAIL : fd;
	close(fd);
	return 0;
}

static int claim_test_local(const struct ibcm_local *local, void *arg)
{
	const struct ibcm_port *port = arg;

	return claim_test(port->ps, port->number, &local->gid);
}

/* First ours, then a look at those it conflicts with: of two that do this at once, one sees. */
static int port_claim(struct ibcm_port *port)
{
	int fd = claim_take(port->ps, port->number, port->any ? NULL : &port->gid), r;

	if (fd < 0)
		return fd;
	r = port->any ? ibcm_local_each(claim_test_local, port)
		      : claim_test(port->ps, port->number, NULL);
	if (r < 0) {
		close(fd);
		return r;
	}
	port->claim = fd;
	return 0;
}

/* --- within the process --- */

static int port_conflict(const struct ibcm_port *a, const struct ibcm_port *b)
{
	if (a->ps != b->ps || a->number != b->number)
		return 0;
	if (a->afonly && b->afonly && a->family != b->family)
		return 0;
	if (a->any || b->any)
		return -EADDRNOTAVAIL;
	return memcmp(&a->gid, &b->gid, sizeof(a->gid)) ? 0 : -EADDRINUSE;
}

/* *@ret_shared: with another identifier of this process, which holds the claim. */
static int port_check(const struct ibcm_port *port, bool *ret_shared)
{
	struct ibcm_port *other;

	*ret_shared = false;
	LIST_FOREACH(other, &ports[port->number % BUCKETS], entry) {
		int r = port_conflict(port, other);

		if (r < 0 && !(port->reuse && other->reuse))
			return r;
		if (r < 0)
			*ret_shared = true;
	}
	return 0;
}

static int port_try(struct ibcm_port *port, bool shown)
{
	bool shared;
	int r;

	ibcm_lock();
	r = port_check(port, &shared);
	if (!r && shown && !shared) {
		/* other devices are looked at without the lock; ours stands in the list meanwhile
		 */
		LIST_INSERT_HEAD(&ports[port->number % BUCKETS], port, entry);
		ibcm_unlock();
		r = port_claim(port);
		ibcm_lock();
		if (r < 0)
			LIST_REMOVE(port, entry);
	} else if (!r) {
		LIST_INSERT_HEAD(&ports[port->number % BUCKETS], port, entry);
	}
	ibcm_unlock();
	return r;
}

static int port_try_any(struct ibcm_port *port, bool shown)
{
	uint32_t count = EPHEMERAL_LAST - EPHEMERAL_FIRST + 1, first = ibcm_random() % count;
	int r = -EADDRINUSE;

	for (uint32_t i = 0; i < count && (r == -EADDRINUSE || r == -EADDRNOTAVAIL); i++) {
		port->number = EPHEMERAL_FIRST + (first + i) % count;
		r = port_try(port, shown);
	}
	return r;
}

int ibcm_port_take(struct ibcm_id *iid, uint16_t number, bool shown, uint16_t *ret_port)
{
	struct ibcm_port *port;
	int r;

	if (number && number < PORT_PRIVILEGED && geteuid())
		return -EACCES;
	port = calloc(1, sizeof(*port));
	if (!port)
		return -ENOMEM;
	*port = (struct ibcm_port){
		.ps = iid->ps,
		.number = number,
		.any = !iid->local.cm,
		.reuse = iid->reuseaddr,
		.afonly = iid->afonly,
		.family = iid->src.ss_family,
		.gid = iid->local.gid,
		.claim = -1,
	};
	r = number ? port_try(port, shown) : port_try_any(port, shown);
	if (r < 0) {
		free(port);
		return r;
	}
	iid->port = port;
	*ret_port = port->number;
	return 0;
}

void ibcm_port_drop(struct ibcm_id *iid)
{
	struct ibcm_port *port = iid->port;

	if (!port)
		return;
	LIST_REMOVE(port, entry);
	if (port->claim >= 0)
		close(port->claim);
	free(port);
	iid->port = NULL;
}

int ibcm_port_listen(const struct ibcm_id *iid)
{
	const struct ibcm_port *port = iid->port, *other;

	LIST_FOREACH(other, &ports[port->number % BUCKETS], entry) {
		int r = other == port ? 0 : port_conflict(port, other);

		if (r < 0)
			return r;
	}
	return 0;
}
