/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Create all objects, use the created ones for a moment, and destroy them again, even after
 * failures. Objects that remain in the trace are leaks. For commands that fail, and for drivers
 * with wrong answers. */
#include "tests/adapters/lab/scenario/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static uint8_t memory[8192] __attribute__((aligned(4096)));

static void say(const char *what, const void *object)
{
	if (!object)
		printf("%s: %s\n", what, strerror(errno));
}

static void move_up(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7 };

	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* Fill the rings, and post one request more. */
static void use(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)memory, 16, lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr *bad_send, send = {
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = 9, .remote_qkey = 7 },
	};
	struct ibv_wc wc[4];

	move_up(qp);
	for (int i = 0; i < 40; i++) {
		ibv_post_recv(qp, &recv, &bad_recv);
		send.send_flags = IBV_SEND_SIGNALED | (i % 2 ? IBV_SEND_INLINE : 0);
		ibv_post_send(qp, &send, &bad_send);
		ibv_poll_cq(qp->send_cq, 4, wc);
	}
	ibv_req_notify_cq(qp->send_cq, 0);
}

static void with_qps(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_cq *other, struct ibv_ah *ah,
		     uint32_t lkey)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = other,
		.qp_type = IBV_QPT_UD,
		.cap = { 16, 16, 1, 1, 32 },
	};
	struct ibv_qp *first = ibv_create_qp(pd, &attr), *second;

	if (!first && errno == EOPNOTSUPP) { /* of a device that has connections only */
		attr.qp_type = IBV_QPT_RC;
		first = ibv_create_qp(pd, &attr);
	}
	if (!first && errno == EINVAL) { /* of a device without inline data */
		attr.cap.max_inline_data = 0;
		first = ibv_create_qp(pd, &attr);
	}
	say("first qp", first);
	attr.recv_cq = cq;
	second = ibv_create_qp(pd, &attr);
	say("second qp", second);
	if (first && (ah || attr.qp_type == IBV_QPT_RC))
		use(first, ah, lkey);
	if (second && ibv_destroy_qp(second))
		say("destroy second qp", NULL);
	if (first && ibv_destroy_qp(first))
		say("destroy first qp", NULL);
}

/* A shared receive queue, which is filled, and a queue pair that uses it. */
static void with_srq(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t lkey)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 0, 1, 0, 0 },
	};
	struct ibv_sge sge = { (uintptr_t)memory, 16, lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp *qp;

	say("srq", srq);
	if (!srq)
		return;
	qp = ibv_create_qp(pd, &init);
	say("qp of srq", qp);
	for (int i = 0; i < 10; i++)
		ibv_post_srq_recv(srq, &recv, &bad);
	if (qp)
		ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
}

/* An XRC domain, its shared receive queue and both kinds of its queue pairs. */
static void with_xrc(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *domain = ibv_open_xrcd(pd->context, &attr);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = domain,
		.cq = cq,
	};
	struct ibv_qp_init_attr_ex receiver = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = domain,
	};
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	say("domain", domain);
	if (!domain)
		return;
	srq = ibv_create_srq_ex(pd->context, &init);
	say("xrc srq", srq);
	qp = ibv_create_qp_ex(pd->context, &receiver);
	say("xrc qp", qp);
	if (qp)
		ibv_destroy_qp(qp);
	if (srq)
		ibv_destroy_srq(srq);
	ibv_close_xrcd(domain);
}

/* A shared receive queue that matches tags, whose list changes. */
static void with_tags(struct ibv_pd *pd)
{
	struct ibv_cq_init_attr_ex queue = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_TM_INFO };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(pd->context, &queue);
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = cq ? ibv_cq_ex_to_cq(cq) : NULL,
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};
	struct ibv_ops_wr op = { .opcode = IBV_WR_TAG_ADD, .flags = IBV_OPS_SIGNALED }, *bad;
	struct ibv_srq *srq;

	say("queue of tags", cq);
	if (!cq)
		return;
	srq = ibv_create_srq_ex(pd->context, &init);
	say("srq of tags", srq);
	if (srq) {
		for (int i = 0; i < 40; i++)
			ibv_post_srq_ops(srq, &op, &bad);
		ibv_destroy_srq(srq);
	}
	ibv_destroy_cq(init.cq);
}

/* Memory of the device, and a queue pair in a thread domain. */
static void with_domains(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_alloc_dm_attr bytes = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(pd->context, &bytes);
	struct ibv_td *td = ibv_alloc_td(pd->context, &(struct ibv_td_init_attr){ 0 });
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };
	struct ibv_pd *parent = td ? ibv_alloc_parent_domain(pd->context, &attr) : NULL;
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 }
	};
	struct ibv_qp *qp = parent ? ibv_create_qp(parent, &init) : NULL;

	say("dm", dm);
	say("td", td);
	say("parent", parent);
	say("qp of parent", qp);
	if (qp)
		ibv_destroy_qp(qp);
	if (parent)
		ibv_dealloc_pd(parent);
	if (td)
		ibv_dealloc_td(td);
	if (dm)
		ibv_free_dm(dm);
}

/* Create two work queues, a table of them and a queue pair that receives through the table; then a
 * queue pair for raw packets with a flow. */
static void with_frames(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_wq *wqs[2] = { ibv_create_wq(pd->context, &attr),
				  ibv_create_wq(pd->context, &attr) };
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 1, .ind_tbl = wqs };
	struct ibv_rwq_ind_table *table =
		wqs[0] && wqs[1] ? ibv_create_rwq_ind_table(pd->context, &init) : NULL;
	static uint8_t key[40];
	struct ibv_qp_init_attr_ex receiver = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key },
	};
	struct ibv_qp_init_attr raw = { .send_cq = cq,
					.recv_cq = cq,
					.qp_type = IBV_QPT_RAW_PACKET,
					.cap = { 4, 4, 1, 1, 0 } };
	struct ibv_flow_attr all = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				     .size = sizeof(all),
				     .port = 1 };
	struct ibv_qp *through = table ? ibv_create_qp_ex(pd->context, &receiver) : NULL;
	struct ibv_qp *frames = ibv_create_qp(pd, &raw);
	struct ibv_flow *flow = frames ? ibv_create_flow(frames, &all) : NULL;

	say("wq", wqs[0] && wqs[1] ? pd : NULL);
	say("table", table);
	say("qp of table", through);
	say("qp of frames", frames);
	say("flow", flow);
	if (flow)
		ibv_destroy_flow(flow);
	if (frames)
		ibv_destroy_qp(frames);
	if (through)
		ibv_destroy_qp(through);
	if (table)
		ibv_destroy_rwq_ind_table(table);
	for (int i = 0; i < 2; i++) {
		if (wqs[i])
			ibv_destroy_wq(wqs[i]);
	}
}

static void with_pd(struct ibv_context *context, struct ibv_pd *pd)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, channel, 0);
	struct ibv_cq *other = ibv_create_cq(context, 20, NULL, NULL, 0);
	struct ibv_ah_attr to = {
		.port_num = 1,
		.is_global = 1,
		.grh = { .hop_limit = 1,
			 .flow_label = 5,
			 .dgid.raw = { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
	};
	struct ibv_ah *ah = ibv_create_ah(pd, &to);

	if (!ah && errno == EINVAL) {
		/* A port whose GIDs have the MAC address in them. */
		to.grh.dgid = (union ibv_gid){ .raw = { 0xfe, 0x80 } };
		ah = ibv_create_ah(pd, &to);
	}
	say("mr", mr);
	say("channel", channel);
	say("cq", cq);
	say("other cq", other);
	say("ah", ah);
	if (cq && other)
		with_qps(pd, cq, other, ah, mr ? mr->lkey : 0);
	if (cq) {
		with_srq(pd, cq, mr ? mr->lkey : 0);
		with_xrc(pd, cq);
		with_domains(pd, cq);
		with_frames(pd, cq);
	}
	with_tags(pd);
	if (ah)
		ibv_destroy_ah(ah);
	if (other)
		ibv_destroy_cq(other);
	if (cq)
		ibv_destroy_cq(cq);
	if (channel)
		ibv_destroy_comp_channel(channel);
	if (mr)
		ibv_dereg_mr(mr);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;

	if (list)
		ibv_free_device_list(list);
	say("device", context);
	if (context)
		say("pd", pd);
	if (pd)
		with_pd(context, pd);
	if (pd)
		ibv_dealloc_pd(pd);
	if (context)
		ibv_close_device(context);
	return 0;
}
