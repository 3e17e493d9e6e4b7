/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: their addresses, and multicast groups. */
#include "tests/hosts/vm/pci/mlx5_pieces.h"
#include "tests/hosts/vm/pci/mlx5_wire.h"

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
	DATAGRAM_PORT = 0xc001,
	GID_IPV4 = 12, /* offset of the IPv4 address in a GID */
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

/* For the driver the queue pairs of management are 0 and 1, independent of their numbers. */
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

/* A datagram without a receiver is lost. */
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
	put32(ip + 4, 0x4000); /* do not fragment */
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

/* Send the datagram to the cable, where the management queue pair has the number 1. */
static enum ibv_wc_status send_packet(const struct message *m, const uint8_t *av, uint32_t length,
				      uint32_t number, uint32_t qkey)
{
	static uint32_t psn;
	static uint8_t payload[WIRE_MTU];
	const struct work *work = m->work;
	struct wire_route route = { .from = hca_address(get32(av + AV_FLOW) >> 20 & 0xff),
				    .class = av[AV_CLASS],
				    .hops = av[AV_HOPS],
				    .port = DATAGRAM_PORT };
	struct pieces source = { .pd = m->from->pd, .access = HCA_LOCAL_READ }, target = { 0 };
	struct uroce_hdr hdr = { .opcode = UROCE_UD | UROCE_SEND_ONLY,
				 .solicited = work->wr.send_flags & IBV_SEND_SOLICITED,
				 .pkey = UROCE_PKEY_DEFAULT,
				 .dest_qpn = number,
				 .psn = psn++ & PSN_MASK,
				 .qkey = qkey,
				 .src_qpn = m->from->type == HCA_QP1 ? 1 : m->from->object.number,
				 .imm = work->wr.imm_data };

	if (work->wr.opcode == IBV_WR_SEND_WITH_IMM)
		hdr.opcode = UROCE_UD | UROCE_SEND_ONLY_IMM;
	if (length > WIRE_MTU)
		return IBV_WC_LOC_LEN_ERR;
	pieces_add_work(&source, work, &m->from->object.sq);
	pieces_add(&target, (uintptr_t)payload, length, 0, true);
	if (pieces_move(&source, &target, length))
		return IBV_WC_LOC_PROT_ERR;
	if (route.from && route.from->version != HCA_ROCE_V2)
		route.from = NULL;
	memcpy(route.mac, av + AV_MAC, HCA_MAC);
	memcpy(route.gid, av + AV_GID, GID);
	wire_send(&route, &hdr, payload, length);
	return IBV_WC_SUCCESS;
}

static void send_to_groups(struct message *m, const uint8_t *gid, uint32_t qkey)
{
	for (int i = 0; i < HCA_GROUPS; i++)
		if (hca.groups[i].used && !memcmp(hca.groups[i].gid, gid, GID))
			send_to(m, message_qp(hca.groups[i].qp), qkey);
}

void wire_datagram(const struct wire_packet *packet)
{
	static struct work work;
	static struct hca_qp sender;
	const struct uroce_hdr *hdr = &packet->hdr;
	struct message m = { .from = &sender,
			     .work = &work,
			     .bytes = packet->length + HCA_GRH,
			     .is_datagram = true,
			     .has_grh = true,
			     .header_kind = packet->ipv6 ? HCA_HEADER_IPV6 : HCA_HEADER_IPV4 };

	sender.object.number = hdr->src_qpn;
	work.sge[0] =
		(struct ibv_sge){ .addr = (uintptr_t)packet->payload, .length = packet->length };
	work.wr = (struct ibv_send_wr){
		.opcode = hdr_flags(hdr) & PKT_IMM ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.sg_list = work.sge,
		.num_sge = 1,
		.imm_data = hdr->imm,
		.send_flags = IBV_SEND_INLINE | (hdr->solicited ? IBV_SEND_SOLICITED : 0)
	};
	if (packet->ipv6)
		memcpy(m.grh, packet->ip, HCA_GRH);
	else
		memcpy(m.grh + HCA_GRH - IPV4, packet->ip, IPV4);
	if (hdr->dest_qpn == MULTICAST_QP)
		send_to_groups(&m, packet->gid, hdr->qkey);
	else
		send_to(&m, target(hdr->dest_qpn), hdr->qkey);
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
	if (m->has_grh && number == MULTICAST_QP)
		send_to_groups(m, av + AV_GID, qkey);
	if (hca_ethernet && !leads_here(av))
		return send_packet(m, av, m->bytes - HCA_GRH, number, qkey);
	return IBV_WC_SUCCESS;
}
