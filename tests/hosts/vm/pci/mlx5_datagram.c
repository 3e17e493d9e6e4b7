/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: their addresses, and multicast groups. */
#include "tests/hosts/vm/pci/mlx5_message.h"

enum {
	GROUP = 0x10, /* the group's GID, in a command */
	GID = 16,
	AV = 16, /* the address of a datagram, in its request */
	AV_QKEY = 0,
	AV_QPN = 8,
	AV_LID = 14,
	AV_CLASS = 26,
	AV_HOPS = 27,
	AV_FLOW = 28,
	AV_GID = 32,
	AV_SIZE = 48,
	OWN_QKEY = 1u << 31,
	EXTENDED = 1u << 31, /* of the queue pair's word: the address has more than 16 bytes */
	HAS_GRH = 1 << 30,
	NEXT_IBA = 0x1b,
	MULTICAST_QP = 0xffffff,
};

static struct group *group_of(const uint8_t *gid, uint32_t qp)
{
	for (int i = 0; i < HCA_GROUPS; i++)
		if (hca.groups[i].used && hca.groups[i].qp == qp &&
		    !memcmp(hca.groups[i].gid, gid, GID))
			return &hca.groups[i];
	return NULL;
}

enum hca_status hca_attach_group(const struct hca_call *call)
{
	if (group_of(call->in + GROUP, call->number))
		return HCA_OK;
	for (int i = 0; i < HCA_GROUPS; i++)
		if (!hca.groups[i].used) {
			hca.groups[i].used = true;
			hca.groups[i].qp = call->number;
			memcpy(hca.groups[i].gid, call->in + GROUP, GID);
			return HCA_OK;
		}
	return HCA_LIMIT;
}

enum hca_status hca_detach_group(const struct hca_call *call)
{
	struct group *group = group_of(call->in + GROUP, call->number);

	if (!group)
		return HCA_BAD_RESOURCE;
	group->used = false;
	return HCA_OK;
}

/* The driver knows the queue pairs of management as 0 and 1, whatever their numbers. */
static struct hca_qp *target(uint32_t number)
{
	enum hca_qp_type type = number ? HCA_QP1 : HCA_QP0;

	if (number > 1)
		return message_qp(number);
	for (int i = 0; i < HCA_QPS; i++)
		if (hca.qps[i].used && hca.qps[i].type == type)
			return &hca.qps[i];
	return NULL;
}

/* A datagram that nobody takes is lost. */
static void send_to(struct message *m, struct hca_qp *to, uint32_t qkey)
{
	static struct work receive;

	m->to = to;
	if (message_is_ready(to) && (to->type != HCA_UD || to->object.qkey == qkey) &&
	    message_receive(m, &receive))
		message_deliver(m, &receive);
}

static void fill_header(struct message *m, const uint8_t *av)
{
	uint32_t flow = get32(av + AV_FLOW), index = flow >> 20 & 0xff;
	uint8_t from[GID];

	hca_gid(index, from);
	put32(m->grh, 6u << 28 | (uint32_t)av[AV_CLASS] << 20 | (flow & 0xfffff));
	put16(m->grh + 4, m->bytes);
	m->grh[6] = NEXT_IBA;
	m->grh[7] = av[AV_HOPS];
	memcpy(m->grh + 8, from, GID);
	memcpy(m->grh + 8 + GID, av + AV_GID, GID);
}

enum ibv_wc_status message_datagram(struct message *m)
{
	const struct queue *sq = &m->from->object.sq;
	uint32_t at = (sq->consumed & (sq->entries - 1)) * WQEBB + AV, size = sq->entries * WQEBB;
	uint8_t av[AV_SIZE];
	uint32_t qkey, number = m->work->wr.wr.ud.remote_qpn;

	for (int i = 0; i < AV_SIZE; i++)
		av[i] = sq->base[(at + i) % size];
	qkey = get32(av + AV_QKEY);
	if (qkey & OWN_QKEY)
		qkey = m->from->object.qkey;
	m->has_grh = get32(av + AV_QPN) & EXTENDED && get32(av + AV_FLOW) & HAS_GRH;
	if (m->has_grh)
		fill_header(m, av);
	m->is_datagram = true;
	m->bytes += HCA_GRH;
	if (number != MULTICAST_QP && get16(av + AV_LID) == HCA_LID)
		send_to(m, target(number), qkey);
	for (int i = 0; i < HCA_GROUPS && m->has_grh && number == MULTICAST_QP; i++)
		if (hca.groups[i].used && !memcmp(hca.groups[i].gid, av + AV_GID, GID))
			send_to(m, message_qp(hca.groups[i].qp), qkey);
	return IBV_WC_SUCCESS;
}
