/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams: to one queue pair, or to the members of a multicast group. */
#include "tests/hosts/vm/pci/loop_message.h"
#include "tests/hosts/vm/pci/loop_table.h"

#include <string.h>
#include "util/bytes.h"

enum {
	GID = 16,
	OWN_QKEY = 1u << 31,
	NEXT_IBA = 0x1b,
	MULTICAST_QP = 0xffffff,
};

/* For other ports the queue pairs of management are 0 and 1, independent of their numbers here. */
static struct loop_qp *target(uint32_t number)
{
	enum loop_special special = number ? LOOP_QP1 : LOOP_QP0;

	if (number > 1)
		return loop_qp(number);
	for (uint32_t i = 0; i < loop_tables.qp_end; i++)
		if (loop_tables.qps[i].used && loop_tables.qps[i].special == special)
			return &loop_tables.qps[i];
	return NULL;
}

/* A datagram without a receiver is lost. */
static void send_to(struct message *m, struct loop_qp *to, uint32_t qkey)
{
	static struct work receive;

	m->to = to;
	if (message_is_ready(to) && to->object.qp_type == IBV_QPT_UD &&
	    (to->special || to->object.qkey == qkey) && message_receive(m, &receive))
		message_deliver(m, &receive);
}

static void fill_header(struct message *m)
{
	const struct ibv_global_route *to = &m->work->address.grh;

	put32(m->grh, 6u << 28 | (uint32_t)to->traffic_class << 20 | (to->flow_label & 0xfffff));
	put16(m->grh + 4, m->bytes);
	m->grh[6] = NEXT_IBA;
	m->grh[7] = to->hop_limit;
	loop_adapter.gid(to->sgid_index, m->grh + 8);
	memcpy(m->grh + 8 + GID, to->dgid.raw, GID);
}

static void send_to_group(struct message *m, uint32_t qkey)
{
	uint32_t cursor = 0, number;

	while ((number = loop_adapter.next_member(m->work->address.grh.dgid.raw,
						  m->from->object.number, &cursor)))
		send_to(m, loop_qp(number), qkey);
}

enum ibv_wc_status message_datagram(struct message *m)
{
	struct loop_address address = loop_adapter.address(m->from, m->work);
	uint32_t qkey = m->work->wr.wr.ud.remote_qkey, number = m->work->wr.wr.ud.remote_qpn;

	if (qkey & OWN_QKEY)
		qkey = m->from->object.qkey;
	m->has_grh = address.has_grh;
	if (m->has_grh)
		fill_header(m);
	m->is_datagram = true;
	m->bytes += LOOP_GRH;
	if (number != MULTICAST_QP && address.lid == LOOP_LID)
		send_to(m, target(number), qkey);
	if (m->has_grh && number == MULTICAST_QP)
		send_to_group(m, qkey);
	return IBV_WC_SUCCESS;
}
