/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast groups of a device. A socket bound to the group's address receives for the whole
 * process, and every attached UD QP gets a copy. The kernel sends IGMP and MLD messages, because
 * the socket joins the group.
 */
#include <arpa/inet.h>
#include <string.h>

#include "providers/uroce/host/mcast.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/watch.h"
#include "util/cancel.h"

struct member {
	LIST_ENTRY(member) entry;
	struct uroce_qp *qp;
};

struct uroce_group {
	LIST_ENTRY(uroce_group) entry;
	union ibv_gid gid;
	int socket;
	LIST_HEAD(, member) members;
};

static struct uroce_group *group_find(struct uroce_dev *dev, const union ibv_gid *gid)
{
	struct uroce_group *group;

	LIST_FOREACH(group, &dev->groups, entry)
		if (!memcmp(&group->gid, gid, sizeof(*gid)))
			return group;
	return NULL;
}

static int group_new(struct uroce_dev *dev, const union ibv_gid *gid,
		     struct uroce_group **ret_group)
{
	struct uroce_group *group = calloc(1, sizeof(*group));
	int r;

	if (!group)
		return -ENOMEM;
	group->gid = *gid;
	r = uroce_udp_join(dev->udp, gid, &group->socket);
	if (r < 0) {
		free(group);
		return r;
	}
	uroce_lock(&dev->host->paths.progress_lock);
	LIST_INSERT_HEAD(&dev->groups, group, entry);
	uroce_unlock(&dev->host->paths.progress_lock);
	uroce_watch_begin(dev->host, group->socket, WATCH_SOCKET, dev->udp);
	*ret_group = group;
	return 0;
}

static void group_free(struct uroce_dev *dev, struct uroce_group *group)
{
	uroce_watch_end(dev->host, group->socket);
	uroce_lock(&dev->host->paths.progress_lock);
	LIST_REMOVE(group, entry);
	uroce_unlock(&dev->host->paths.progress_lock);
	close(group->socket);
	free(group);
}

static struct member *member_find(struct uroce_group *group, const struct uroce_qp *qp)
{
	struct member *member;

	LIST_FOREACH(member, &group->members, entry)
		if (member->qp == qp)
			return member;
	return NULL;
}

static int attach(struct uroce_dev *dev, struct uroce_qp *qp, const union ibv_gid *gid)
{
	struct uroce_group *group = group_find(dev, gid);
	struct member *member;
	int r;

	if (group && member_find(group, qp))
		return 0;
	member = calloc(1, sizeof(*member));
	if (!member)
		return -ENOMEM;
	if (!group) {
		r = group_new(dev, gid, &group);
		if (r < 0) {
			free(member);
			return r;
		}
	}
	member->qp = qp;
	uroce_lock(&dev->host->paths.progress_lock);
	LIST_INSERT_HEAD(&group->members, member, entry);
	uroce_unlock(&dev->host->paths.progress_lock);
	qp->mcast_groups++;
	return 0;
}

int uroce_attach_mcast(struct verbs_qp *vqp, const union ibv_gid *named, uint16_t lid)
{
	_cleanup_cancel_ int cancel = cancel_off();
	const union ibv_gid group = uroce_gid_canonical(named), *gid = &group;
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	char text[INET6_ADDRSTRLEN];
	int r = uroce_host_check(qp_host(qp));

	if (r < 0)
		return r;
	if (qp->type != IBV_QPT_UD || !uroce_gid_is_multicast(gid)) {
		verbs_err(vqp->qp.context, "qp 0x%x: attach: %s", vqp->qp.qp_num,
			  qp->type != IBV_QPT_UD ? "only UD QPs can join a group"
						 : "the GID is no multicast address");
		return -EINVAL;
	}
	pthread_mutex_lock(&qp->dev->lock);
	r = attach(qp->dev, qp, gid);
	pthread_mutex_unlock(&qp->dev->lock);
	if (r < 0)
		verbs_err(vqp->qp.context, "qp 0x%x: cannot join %s on %s: %s", vqp->qp.qp_num,
			  inet_ntop(AF_INET6, gid, text, sizeof(text)), qp->dev->netdev,
			  strerror(-r));
	return r;
}

static int detach(struct uroce_dev *dev, struct uroce_qp *qp, const union ibv_gid *gid)
{
	struct uroce_group *group = group_find(dev, gid);
	struct member *member = group ? member_find(group, qp) : NULL;

	if (!member)
		return -EINVAL;
	uroce_lock(&dev->host->paths.progress_lock);
	LIST_REMOVE(member, entry);
	uroce_unlock(&dev->host->paths.progress_lock);
	free(member);
	qp->mcast_groups--;
	if (LIST_EMPTY(&group->members))
		group_free(dev, group);
	return 0;
}

int uroce_detach_mcast(struct verbs_qp *vqp, const union ibv_gid *named, uint16_t lid)
{
	_cleanup_cancel_ int cancel = cancel_off();
	const union ibv_gid group = uroce_gid_canonical(named), *gid = &group;
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	int r = uroce_host_check(qp_host(qp));

	if (r < 0)
		return r;
	pthread_mutex_lock(&qp->dev->lock);
	r = detach(qp->dev, qp, gid);
	pthread_mutex_unlock(&qp->dev->lock);
	if (r < 0)
		verbs_err(vqp->qp.context, "qp 0x%x: detach: not attached to that group",
			  vqp->qp.qp_num);
	return r;
}

void uroce_mcast_packet(struct uroce_host *host, const struct uroce_packet *pkt)
{
	struct uroce_group *group;
	struct uroce_dev *dev;
	struct member *member;

	if (!pkt->multicast)
		return;
	LIST_FOREACH(dev, &host->devices, entry) {
		group = group_find(dev, pkt->multicast);
		if (!group)
			continue;
		LIST_FOREACH(member, &group->members, entry) {
			uroce_lock(&member->qp->lock);
			uroce_resp_packet(member->qp, pkt);
			uroce_unlock(&member->qp->lock);
		}
	}
}

unsigned int uroce_mcast_poll(struct uroce_dev *dev, unsigned int budget)
{
	struct uroce_group *group;
	unsigned int n = 0;

	LIST_FOREACH(group, &dev->groups, entry)
		n += uroce_udp_receive(dev->udp, group->socket, &group->gid, budget);
	return n;
}
