/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: their addresses, and multicast groups. */
#include "tests/hosts/vm/pci/mlx5_message.h"

#include <netinet/in.h>

enum {
	GROUP = 0x10, /* the group's GID, in a command */
	GID = 16,
	AV = 16, /* the address of a datagram, in its request */
	AV_QKEY = 0,
	AV_QPN = 8,
	AV_LID = 14,
	AV_MAC = 20,
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
	IPV4 = 20,
	/* IP, UDP, BTH, DETH and ICRC */
	IPV4_OVERHEAD = IPV4 + 8 + 12 + 8 + 4,
	GID_IPV4 = 12, /* where a GID has an IPv4 address */
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

/* A datagram of RoCE v2 from an IPv4 address has its IP header in the last bytes of the 40. */
static void fill_ipv4(struct message *m, const uint8_t *av, const uint8_t *from)
{
	uint8_t *ip = m->grh + HCA_GRH - IPV4;
	uint32_t sum = 0;

	put32(ip, 0x45u << 24 | (uint32_t)av[AV_CLASS] << 16 | (m->bytes + IPV4_OVERHEAD));
	put32(ip + 4, 0x4000); /* may not be divided */
	put32(ip + 8, (uint32_t)av[AV_HOPS] << 24 | IPPROTO_UDP << 16);
	memcpy(ip + 12, from + GID_IPV4, 4);
	memcpy(ip + 16, av + AV_GID + GID_IPV4, 4);
	for (int i = 0; i < IPV4; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	put16(ip + 10, ~sum);
}

static void fill_header(struct message *m, const uint8_t *av)
{
	uint32_t flow = get32(av + AV_FLOW), index = flow >> 20 & 0xff;
	const struct hca_address *address = hca_address(index);
	uint8_t from[GID];

	hca_gid(index, from);
	if (hca_ethernet) {
		m->header_kind = hca_header_kind(address);
		if (address && address->version == HCA_ROCE_V2 && !address->ipv6) {
			fill_ipv4(m, av, from);
			return;
		}
	}
	put32(m->grh, 6u << 28 | (uint32_t)av[AV_CLASS] << 20 | (flow & 0xfffff));
	put16(m->grh + 4, m->bytes);
	m->grh[6] = NEXT_IBA;
	m->grh[7] = av[AV_HOPS];
	memcpy(m->grh + 8, from, GID);
	memcpy(m->grh + 8 + GID, av + AV_GID, GID);
}

static bool leads_here(const uint8_t *av)
{
	return hca_ethernet ? hca_is_own_mac(av + AV_MAC) : get16(av + AV_LID) == HCA_LID;
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
	m->has_grh =
		hca_ethernet || (get32(av + AV_QPN) & EXTENDED && get32(av + AV_FLOW) & HAS_GRH);
	if (m->has_grh)
		fill_header(m, av);
	m->is_datagram = true;
	m->bytes += HCA_GRH;
	if (number != MULTICAST_QP && leads_here(av))
		send_to(m, target(number), qkey);
	for (int i = 0; i < HCA_GROUPS && m->has_grh && number == MULTICAST_QP; i++)
		if (hca.groups[i].used && !memcmp(hca.groups[i].gid, av + AV_GID, GID))
			send_to(m, message_qp(hca.groups[i].qp), qkey);
	return IBV_WC_SUCCESS;
}
