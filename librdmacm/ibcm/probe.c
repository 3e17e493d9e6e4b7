/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending messages from a port that only this process uses. If the other host has no receiver, its
 * answer arrives at that port: ICMP "port unreachable". Each address of this host has a socket.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <string.h>

#include "libibverbs/provider.h"
#include "librdmacm/ibcm/device.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/local.h"
#include "librdmacm/ibcm/probe.h"
#include "librdmacm/ibcm/wake.h"

struct ibcm_prober {
	LIST_ENTRY(ibcm_prober) entry;
	union ibv_gid gid; /* our address */
	int fd;		   /* descriptor; negative: not made yet */
};

static struct ibcm_prober *prober_of(struct ibcm_dev *dev, const union ibv_gid *gid)
{
	struct ibcm_prober *prober;

	LIST_FOREACH(prober, &dev->probers, entry)
		if (!memcmp(&prober->gid, gid, sizeof(*gid)))
			return prober;
	prober = malloc(sizeof(*prober));
	if (!prober)
		return NULL;
	*prober = (struct ibcm_prober){ .gid = *gid, .fd = -1 };
	LIST_INSERT_HEAD(&dev->probers, prober, entry);
	return prober;
}

/* Forget a socket, for example because its address was removed. */
static void prober_forget(struct ibcm_prober *prober)
{
	LIST_REMOVE(prober, entry);
	if (prober->fd >= 0) {
		ibcm_wake_unwatch(prober->fd);
		close(prober->fd);
	}
	free(prober);
}

/*
 * Return whether the socket is unusable, because its address or its interface was removed. Errors
 * of one destination do not count, because the socket may hold answers of other hosts.
 */
static bool prober_is_over(const struct ibcm_prober *prober, int error)
{
	return prober->fd < 0 || error == -ENOMEM || error == -EINVAL || error == -EADDRNOTAVAIL ||
	       error == -ENODEV;
}

int ibcm_probe_send(struct ibcm_id *iid, const uint8_t data[IBCM_MAD_LEN])
{
	struct verbs_gsi_mad mad = {
		.port_num = 1,
		.sgid_index = iid->local.index,
		.traffic_class = iid->tos,
		.local_gid = iid->local.gid,
		.remote_gid = iid->remote_gid,
	};
	struct ibcm_prober *prober = prober_of(iid->dev, &iid->local.gid);
	bool is_new;
	int r;

	if (!prober)
		return -ENOMEM;
	memcpy(mad.data, data, sizeof(mad.data));
	is_new = prober->fd < 0;
	r = verbs_gsi_probe(iid->dev->verbs, &mad, &prober->fd);
	if (prober->fd >= 0 && is_new && ibcm_wake_watch_errors(prober->fd, iid->dev) < 0)
		r = -ENOMEM;
	if (r < 0 && prober_is_over(prober, r))
		prober_forget(prober);
	return r;
}

/* --- refusals --- */

/* Return whether the record is a refusal by the host itself. */
static bool is_refusal(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct sock_extended_err error;

		if (c->cmsg_len < CMSG_LEN(sizeof(error)))
			continue;
		memcpy(&error, CMSG_DATA(c), sizeof(error));
		if (error.ee_errno == ECONNREFUSED &&
		    (error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6))
			return true;
	}
	return false;
}

/* Read one error. Return: false if there is no error. */
static bool error_read(const struct ibcm_prober *prober, ibcm_refused_fn *refused)
{
	struct sockaddr_storage to = {};
	union {
		char buf[512];
		struct cmsghdr align;
	} control;
	struct msghdr msg = { .msg_name = &to,
			      .msg_namelen = sizeof(to),
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	union ibv_gid remote;

	if (recvmsg(prober->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	if (!is_refusal(&msg) || (to.ss_family != AF_INET && to.ss_family != AF_INET6))
		return true;
	ibcm_addr_to_gid((struct sockaddr *)&to, &remote);
	refused(&prober->gid, &remote);
	return true;
}

void ibcm_probe_read(struct ibcm_dev *dev, ibcm_refused_fn *refused)
{
	struct ibcm_prober *prober, *next;
	socklen_t length;
	int error;

	for (prober = LIST_FIRST(&dev->probers); prober; prober = next) {
		next = LIST_NEXT(prober, entry);
		while (error_read(prober, refused))
			;
		/*
		 * Clear an error outside of the queue. Otherwise it would wake the thread for ever.
		 */
		length = sizeof(error);
		(void)getsockopt(prober->fd, SOL_SOCKET, SO_ERROR, &error, &length);
	}
}
