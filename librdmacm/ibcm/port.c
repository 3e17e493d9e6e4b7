/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ports, by the kernel's rules: a wildcard conflicts with every address of its families, reuseaddr
 * on both sides lifts a conflict, and a listener shares its port with no other identifier.
 *
 * Between processes of one user, a port is the name of an abstract socket. Binding the name is
 * atomic, confined to the network namespace, and ends with the process. A port has a name for an
 * exclusive owner, and SHARES names for processes that share it. A process first binds its own name
 * and then checks the names of others. Therefore, if two processes do so at the same time, at least
 * one process finds the other's socket.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/port.h"
#include "util/util.h"

enum {
	PORT_PRIVILEGED = 1024,
	EPHEMERAL_FIRST = 32768, /* first port of the kernel's ip_local_port_range by default */
	EPHEMERAL_LAST = 60999,
	BUCKETS = 1024,
	SHARES = 16, /* limit of processes that share a port */
	ALONE = -1,
	KEY_LENGTH = 33,
};

struct ibcm_port {
	LIST_ENTRY(ibcm_port) entry;
	uint16_t ps;
	uint16_t number;
	bool any;
	bool reuse, afonly;
	bool shown; /* other processes see it */
	bool listening;
	sa_family_t family;
	union ibv_gid gid;
	int share; /* number of the shared name, or ALONE */
	/* socket with that name; -1: there is none, or another identifier of the process has it */
	int claim;
	/* socket with the exclusive name, for a listener that shared the port before; -1: none */
	int listen_claim;
};

static LIST_HEAD(port_list, ibcm_port) ports[BUCKETS];

/* --- names --- */

/* Write the key of a wildcard. @family 0: both families. */
static void key_any(sa_family_t family, char key[KEY_LENGTH])
{
	snprintf(key, KEY_LENGTH, "any%s", family == AF_INET ? "4" : family == AF_INET6 ? "6" : "");
}

static void key_gid(const union ibv_gid *gid, char key[KEY_LENGTH])
{
	for (int i = 0; i < 16; i++)
		snprintf(key + 2 * i, 3, "%02x", gid->raw[i]);
}

static sa_family_t any_family(const struct ibcm_port *port)
{
	return port->afonly ? port->family : 0;
}

static void key_of(const struct ibcm_port *port, char key[KEY_LENGTH])
{
	if (port->any)
		key_any(any_family(port), key);
	else
		key_gid(&port->gid, key);
}

static socklen_t claim_name(const struct ibcm_port *port, const char *key, int share,
			    struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "rdma_cm-%u-%x-%u-%s", geteuid(),
		     port->ps, port->number, key);
	if (share != ALONE)
		n += snprintf(ret->sun_path + 1 + n, sizeof(ret->sun_path) - 1 - n, "-%d", share);
	return offsetof(struct sockaddr_un, sun_path) + 1 + n;
}

static int claim_take(const struct ibcm_port *port, int share)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char key[KEY_LENGTH];
	struct sockaddr_un name;
	socklen_t len;

	key_of(port, key);
	len = claim_name(port, key, share, &name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, len))
		return -errno;
	return take_fd(&fd);
}

static int claim_take_share(const struct ibcm_port *port, int *ret_share)
{
	int r = -EADDRINUSE;

	for (int share = 0; share < SHARES && r == -EADDRINUSE; share++) {
		r = claim_take(port, share);
		*ret_share = share;
	}
	return r;
}

/* --- names of other owners --- */

struct probe {
	const struct ibcm_port *port;
	int fd;
	bool shares; /* shared names conflict, too */
};

static bool probe_name(const struct probe *probe, const char *key, int share)
{
	struct sockaddr_un name;
	socklen_t len = claim_name(probe->port, key, share, &name);

	return !connect(probe->fd, (struct sockaddr *)&name, len) || errno != ECONNREFUSED;
}

/* Check the names of @key. @except: number of this process's share. */
static int probe_key(const struct probe *probe, const char *key, int except)
{
	for (int share = 0; probe->shares && share < SHARES; share++)
		if (share != except && probe_name(probe, key, share))
			return -EADDRNOTAVAIL;
	return probe_name(probe, key, ALONE) ? -EADDRNOTAVAIL : 0;
}

static int probe_any(const struct probe *probe, sa_family_t family)
{
	char key[KEY_LENGTH];

	key_any(family, key);
	return probe_key(probe, key, ALONE);
}

static int probe_local(const struct ibcm_local *local, void *arg)
{
	const struct probe *probe = arg;
	sa_family_t family = ibcm_gid_is_ipv4(&local->gid) ? AF_INET : AF_INET6;
	char key[KEY_LENGTH];

	if (any_family(probe->port) && any_family(probe->port) != family)
		return 0;
	key_gid(&local->gid, key);
	return probe_key(probe, key, ALONE);
}

/* Check the wildcards and addresses that overlap with the port's own address. */
static int probe_overlapping(struct probe *probe)
{
	const struct ibcm_port *port = probe->port;
	int r;

	if (!port->any) {
		r = probe_any(probe, 0);
		return r < 0 ? r : probe_any(probe, port->family);
	}
	if (any_family(port)) {
		r = probe_any(probe, 0);
	} else {
		r = probe_any(probe, AF_INET);
		r = r < 0 ? r : probe_any(probe, AF_INET6);
	}
	return r < 0 ? r : ibcm_local_each(probe_local, probe);
}

/* Check the names on the same address. @alone: this process holds the exclusive name already. */
static int probe_same(const struct probe *probe, bool alone, int except)
{
	char key[KEY_LENGTH];

	key_of(probe->port, key);
	for (int share = 0; alone && share < SHARES; share++)
		if (share != except && probe_name(probe, key, share))
			return -EADDRINUSE;
	return !alone && probe_name(probe, key, ALONE) ? -EADDRINUSE : 0;
}

/*
 * Check for other owners. @alone: the port shall be exclusive. @except: number of this process's
 * share.
 */
static int port_probe(const struct ibcm_port *port, bool alone, int except)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct probe probe = { .port = port, .fd = fd, .shares = alone };
	int r;

	if (fd < 0)
		return -errno;
	r = probe_same(&probe, alone, except);
	return r < 0 ? r : probe_overlapping(&probe);
}

static int port_claim(struct ibcm_port *port)
{
	_cleanup_close_ int fd = -1;
	int r;

	port->share = ALONE;
	fd = port->reuse ? claim_take_share(port, &port->share) : claim_take(port, ALONE);
	if (fd < 0)
		return fd;
	r = port_probe(port, !port->reuse, ALONE);
	if (!r)
		port->claim = take_fd(&fd);
	return r;
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

static bool port_same(const struct ibcm_port *a, const struct ibcm_port *b)
{
	return a->ps == b->ps && a->number == b->number && a->any == b->any &&
	       (a->any ? any_family(a) == any_family(b)
		       : !memcmp(&a->gid, &b->gid, sizeof(a->gid)));
}

/*
 * Check for conflicts in this process. *@ret_shared: another identifier of this process holds the
 * claim.
 */
static int port_check(const struct ibcm_port *port, bool *ret_shared)
{
	struct ibcm_port *other;

	*ret_shared = false;
	LIST_FOREACH(other, &ports[port->number % BUCKETS], entry) {
		int r = port_conflict(port, other);

		if (r < 0 && !(port->reuse && other->reuse && !other->listening))
			return r;
		*ret_shared |= other->shown && port_same(port, other);
	}
	return 0;
}

static int port_try(struct ibcm_port *port)
{
	bool shared;
	int r;

	ibcm_lock();
	r = port_check(port, &shared);
	if (!r && port->shown && !shared) {
		/*
		 * Put the port into the list first, because other processes are checked without the
		 * lock.
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

static int port_try_any(struct ibcm_port *port)
{
	uint32_t count = EPHEMERAL_LAST - EPHEMERAL_FIRST + 1, first = ibcm_random() % count;
	int r = -EADDRINUSE;

	for (uint32_t i = 0; i < count && (r == -EADDRINUSE || r == -EADDRNOTAVAIL); i++) {
		port->number = EPHEMERAL_FIRST + (first + i) % count;
		r = port_try(port);
	}
	return r;
}

/* Return whether the kernel's rule lets this process use ports below 1024. */
static bool may_privileged(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	return !syscall(SYS_capget, &header, data) &&
	       data[0].effective & 1u << CAP_NET_BIND_SERVICE;
}

int ibcm_port_take(struct ibcm_id *iid, uint16_t number, bool shown, uint16_t *ret_port)
{
	struct ibcm_port *port;
	int r;

	if (number && number < PORT_PRIVILEGED && !may_privileged())
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
		.shown = shown,
		.claim = -1,
		.listen_claim = -1,
	};
	r = number ? port_try(port) : port_try_any(port);
	if (r < 0) {
		free(port);
		return r;
	}
	iid->port = port;
	*ret_port = port->number;
	return 0;
}

/* Pass the claim to another identifier of this process that shares the port, or drop it. */
static void claim_leave(struct ibcm_port *port)
{
	struct ibcm_port *other;

	if (port->claim < 0)
		return;
	LIST_FOREACH(other, &ports[port->number % BUCKETS], entry) {
		if (!other->shown || other->claim >= 0 || !port_same(port, other))
			continue;
		other->claim = port->claim;
		other->share = port->share;
		return;
	}
	close(port->claim);
}

void ibcm_port_drop(struct ibcm_id *iid)
{
	struct ibcm_port *port = iid->port;

	if (!port)
		return;
	LIST_REMOVE(port, entry);
	claim_leave(port);
	if (port->listen_claim >= 0)
		close(port->listen_claim);
	free(port);
	iid->port = NULL;
}

static int listen_check(struct ibcm_port *port)
{
	const struct ibcm_port *other;
	int r = 0;

	ibcm_lock();
	LIST_FOREACH(other, &ports[port->number % BUCKETS], entry) {
		r = other == port ? 0 : port_conflict(port, other);
		if (r < 0)
			break;
	}
	port->listening = !r;
	ibcm_unlock();
	return r;
}

/* Claim the exclusive name for a listener that shared the port before. */
static int listen_claim(struct ibcm_port *port)
{
	_cleanup_close_ int fd = claim_take(port, ALONE);
	int r;

	if (fd < 0)
		return fd;
	r = port_probe(port, true, port->share);
	if (!r)
		port->listen_claim = take_fd(&fd);
	return r;
}

int ibcm_port_listen(struct ibcm_id *iid)
{
	struct ibcm_port *port = iid->port;
	int r = listen_check(port);

	if (!r && port->claim >= 0 && port->share != ALONE && port->listen_claim < 0)
		r = listen_claim(port);
	if (r < 0)
		port->listening = false;
	return r;
}
