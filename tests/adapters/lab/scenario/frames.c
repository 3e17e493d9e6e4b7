/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames of Ethernet: a queue pair of raw packets by both ways of posting, work queues with a table
 * and the queue pair that receives through it, flows with each kind of specification, and counters.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>
#include <string.h>

enum {
	QUEUES = 2,
	SPEC_BYTES = 512,
};

static void raw_qp(struct script *s)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.cap = { .max_send_wr = 7, .max_recv_wr = 4, .max_send_sge = 3, .max_recv_sge = 1 },
		.max_tso_header = 64,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO,
	};

	step("raw qp");
	s->qp = ibv_create_qp_ex(s->context, &attr);
	if (!s->qp) {
		step("-> errno %d; without ibv_wr_*()", errno);
		attr.comp_mask &= ~IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		s->qp = ibv_create_qp_ex(s->context, &attr);
	}
	must(s->qp, "raw qp");
	step("-> send=%u/%u receive=%u/%u inline=%u", attr.cap.max_send_wr, attr.cap.max_send_sge,
	     attr.cap.max_recv_wr, attr.cap.max_recv_sge, attr.cap.max_inline_data);
}

static void raw_modify(struct script *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1 };

	step("modify to %d", state);
	must(!ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0)),
	     "modify");
}

static void post(struct script *s, struct ibv_send_wr wr, int sges, uint32_t length)
{
	struct ibv_sge sge[3];

	for (int i = 0; i < sges; i++)
		sge[i] = script_sge(s, 0x80 * i, length);
	wr.sg_list = sge;
	wr.num_sge = sges;
	wr.wr_id = 0x2000 + s->sends;
	wr.send_flags |= IBV_SEND_SIGNALED;
	if (!script_send(s, &wr))
		script_complete(s, false, s->sends - 1, IBV_WR_SEND,
				(struct ibv_wc){ .opcode = IBV_WC_SEND });
}

/* Send frames of all lengths: more than the 7 requests of the ring, so that the ring wraps. */
static void send_all(struct script *s)
{
	static uint8_t header[54] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
	struct ibv_send_wr tso = { .opcode = IBV_WR_TSO,
				   .tso = {
					   .hdr = header, .hdr_sz = sizeof(header), .mss = 1460 } };

	for (int sges = 1; sges <= 3; sges++)
		post(s, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }, sges, 60);
	post(s, (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE }, 1,
	     20);
	post(s, (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM }, 2,
	     60);
	for (int i = 0; i < 4; i++)
		post(s, tso, 1 + i % 3, 1000);
}

static void build(struct script *s)
{
	static uint8_t header[14] = { 9, 8, 7 };
	struct ibv_qp_ex *b = ibv_qp_to_qp_ex(s->qp);
	struct ibv_sge list[2] = { script_sge(s, 0, 70), script_sge(s, 100, 80) };

	if (!b)
		return;
	step("ibv_wr_*()");
	ibv_wr_start(b);
	b->wr_id = 0x3000;
	b->wr_flags = 0;
	ibv_wr_send(b);
	ibv_wr_set_sge(b, s->mr->lkey, SCRIPT_BUFFER, 90);
	b->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM;
	ibv_wr_send(b);
	ibv_wr_set_sge_list(b, 2, list);
	b->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(b);
	ibv_wr_set_inline_data(b, (void *)SCRIPT_BUFFER, 30);
	ibv_wr_send_tso(b, header, sizeof(header), 100);
	ibv_wr_set_sge(b, s->mr->lkey, SCRIPT_BUFFER, 900);
	must(!ibv_wr_complete(b), "complete");
}

static void frames(struct script *s)
{
	raw_qp(s);
	raw_modify(s, IBV_QPS_INIT);
	/* The queue pair is reported as soon as it can receive, and not before. */
	for (int i = 0; i < 2; i++)
		script_recv(s, 1, 1500);
	raw_modify(s, IBV_QPS_RTR);
	script_recv(s, 1, 1500);
	raw_modify(s, IBV_QPS_RTS);
	send_all(s);
	build(s);
	script_qp_close(s);
}

/* ---- work queues */

static void wq_state(struct ibv_wq *wq, enum ibv_wq_state state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = state };

	must(!ibv_modify_wq(wq, &attr), "modify wq");
}

static void wq_use(struct script *s, struct ibv_wq *wq)
{
	struct ibv_sge sge = script_sge(s, 0x40, 1500);
	struct ibv_recv_wr wr = { .wr_id = 77, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct lab_completion completion = {
		.cq = s->recv_cq->handle,
		.wq = wq->handle,
		.receive = true,
		.wc = { .opcode = IBV_WC_RECV, .byte_len = 90 },
	};

	step("post_wq_recv");
	for (int i = 0; i < 3; i++)
		must(!ibv_post_wq_recv(wq, &wr, &bad), "post");
	must(lab_complete && !lab_complete(&completion), "complete");
	script_poll(s->recv_cq);
}

static void queues(struct script *s)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 5, .max_sge = 2, .pd = s->pd, .cq = s->recv_cq
	};
	struct ibv_wq *wqs[QUEUES];
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1, .ind_tbl = wqs };
	static uint8_t key[40] = { 1, 3, 5, 7 };
	struct ibv_qp_init_attr_ex receiver = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = s->pd,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask =
					  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 },
	};
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *qp;

	step("work queues");
	for (int i = 0; i < QUEUES; i++) {
		wqs[i] = ibv_create_wq(s->context, &attr);
		must(wqs[i], "wq");
		wq_state(wqs[i], IBV_WQS_RDY);
	}
	step("-> %u/%u", attr.max_wr, attr.max_sge);
	wq_use(s, wqs[1]);
	wq_state(wqs[1], IBV_WQS_RESET);
	wq_state(wqs[1], IBV_WQS_RDY);
	wq_use(s, wqs[1]);
	step("table");
	table = ibv_create_rwq_ind_table(s->context, &init);
	must(table, "table");
	receiver.rwq_ind_tbl = table;
	qp = ibv_create_qp_ex(s->context, &receiver);
	must(qp, "receiver");
	must(!ibv_destroy_qp(qp) && !ibv_destroy_rwq_ind_table(table), "destroy receiver");
	for (int i = 0; i < QUEUES; i++)
		must(!ibv_destroy_wq(wqs[i]), "destroy wq");
}

/* ---- flows */

struct rule {
	struct ibv_flow_attr attr;
	uint8_t specs[SPEC_BYTES];
	size_t length;
};

static void add(struct rule *rule, const void *spec, size_t size)
{
	memcpy(rule->specs + rule->length, spec, size);
	rule->length += size;
	rule->attr.num_of_specs++;
	rule->attr.size = sizeof(rule->attr) + rule->length;
}
#define SPEC(kind, what) .type = (kind), .size = sizeof(struct what)

static void steer(struct script *s, struct rule *rule)
{
	struct ibv_flow *flow;

	rule->attr.port = 1;
	rule->attr.priority = 3;
	flow = ibv_create_flow(s->qp, &rule->attr);
	must(flow, "flow");
	must(!ibv_destroy_flow(flow), "destroy flow");
}

static void add_outer(struct rule *rule)
{
	const struct ibv_flow_spec_eth eth = {
		SPEC(IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth),
		.val = { .dst_mac = { 2, 0, 0, 0, 0, 9 }, .ether_type = 0x0008 },
		.mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 }, .ether_type = 0xffff }
	};

	add(rule, &eth, sizeof(eth));
}

static void flows(struct script *s)
{
	const struct ibv_flow_spec_ipv4 ipv4 = { SPEC(IBV_FLOW_SPEC_IPV4, ibv_flow_spec_ipv4),
						 .val = { 0x0100000a, 0x0200000a },
						 .mask = { 0xffffffff, 0xffffffff } };
	const struct ibv_flow_spec_ipv4_ext ext = {
		SPEC(IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext),
		.val = { .proto = 17, .tos = 4 }, .mask = { .proto = 255, .tos = 255 }
	};
	const struct ibv_flow_spec_ipv6 ipv6 = { SPEC(IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6),
						 .val = { .src_ip = { 0xfe, 0x80 }, .next_hdr = 6 },
						 .mask = { .src_ip = { 255, 255 },
							   .next_hdr = 255 } };
	const struct ibv_flow_spec_tcp_udp udp = { SPEC(IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp),
						   .val = { 0xb512, 0 }, .mask = { 0xffff, 0 } };
	const struct ibv_flow_spec_tunnel vxlan = { SPEC(IBV_FLOW_SPEC_VXLAN_TUNNEL,
							 ibv_flow_spec_tunnel),
						    .val = { 0x11220000 }, .mask = { 0xffffff00 } };
	const struct ibv_flow_spec_gre gre = { SPEC(IBV_FLOW_SPEC_GRE, ibv_flow_spec_gre),
					       .val = { .protocol = 0x0008, .key = 5 },
					       .mask = { .protocol = 0xffff, .key = 0xffffffff } };
	const struct ibv_flow_spec_mpls mpls = { SPEC(IBV_FLOW_SPEC_MPLS, ibv_flow_spec_mpls),
						 .val = { 0x00100000 }, .mask = { 0x00f0ffff } };
	const struct ibv_flow_spec_action_tag tag = {
		SPEC(IBV_FLOW_SPEC_ACTION_TAG, ibv_flow_spec_action_tag), .tag_id = 0x1234
	};
	const struct ibv_flow_spec_action_drop drop = { SPEC(IBV_FLOW_SPEC_ACTION_DROP,
							     ibv_flow_spec_action_drop) };
	struct rule rule = { 0 };

	step("flow: IPv4, UDP, VXLAN, tag");
	add_outer(&rule);
	add(&rule, &ipv4, sizeof(ipv4));
	add(&rule, &udp, sizeof(udp));
	add(&rule, &vxlan, sizeof(vxlan));
	add(&rule, &tag, sizeof(tag));
	steer(s, &rule);
	step("flow: IPv4 with more, GRE, MPLS");
	rule = (struct rule){ 0 };
	add_outer(&rule);
	add(&rule, &ext, sizeof(ext));
	add(&rule, &gre, sizeof(gre));
	add(&rule, &mpls, sizeof(mpls));
	steer(s, &rule);
	step("flow: IPv6, drop");
	rule = (struct rule){ 0 };
	add_outer(&rule);
	add(&rule, &ipv6, sizeof(ipv6));
	add(&rule, &drop, sizeof(drop));
	steer(s, &rule);
	step("flow: all");
	rule = (struct rule){ .attr = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
					.size = sizeof(rule.attr) } };
	steer(s, &rule);
}

static void counters(struct script *s)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counters *counters = ibv_create_counters(s->context, &init);
	struct ibv_counter_attach_attr attach = { .counter_desc = IBV_COUNTER_PACKETS };
	struct ibv_flow_spec_counter_action action = {
		SPEC(IBV_FLOW_SPEC_ACTION_COUNT, ibv_flow_spec_counter_action), .counters = counters
	};
	struct rule rule = { 0 };
	uint64_t values[2];

	step("counters");
	if (!counters) {
		step("-> errno %d", errno);
		return;
	}
	must(counters, "counters");
	must(!ibv_attach_counters_point_flow(counters, &attach, NULL), "attach packets");
	attach = (struct ibv_counter_attach_attr){ .counter_desc = IBV_COUNTER_BYTES, .index = 1 };
	must(!ibv_attach_counters_point_flow(counters, &attach, NULL), "attach bytes");
	add_outer(&rule);
	add(&rule, &action, sizeof(action));
	steer(s, &rule);
	must(!ibv_read_counters(counters, values, 2, 0), "read");
	step("-> %llu %llu", (unsigned long long)values[0], (unsigned long long)values[1]);
	must(!ibv_destroy_counters(counters), "destroy counters");
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	frames(&s);
	queues(&s);
	raw_qp(&s);
	flows(&s);
	counters(&s);
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
