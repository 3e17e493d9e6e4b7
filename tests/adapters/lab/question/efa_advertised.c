/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Use each capability of the adapter that efadv_query_device() and efadv_query_qp_wqs() report. */
#include "tests/adapters/lab/scenario/script.h"

#include <infiniband/efadv.h>

static struct script s;
static struct efadv_device_attr caps;
static struct ibv_ah *ah;

static struct ibv_qp *qp_create(uint16_t flags)
{
	bool reads = caps.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	bool writes = caps.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	struct efadv_qp_init_attr dv = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD,
					 .flags = flags };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = s.send_cq,
		.recv_cq = s.recv_cq,
		.cap = { 8, 8, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s.pd,
		.send_ops_flags =
			IBV_QP_EX_WITH_SEND | (reads ? IBV_QP_EX_WITH_RDMA_READ : 0) |
			(writes ? IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
				: 0),
	};
	struct ibv_qp *qp = efadv_create_qp_ex(s.context, &attr, &dv, sizeof(dv));

	must(qp, "queue pair");
	return qp;
}

static void ready(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111 };

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	     "init");
	attr.qp_state = IBV_QPS_RTR;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "rtr");
	attr.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "rts");
}

static void begin(struct ibv_qp_ex *ex, uint64_t id)
{
	ibv_wr_start(ex);
	ex->wr_id = id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void end(struct ibv_qp_ex *ex, uint32_t length)
{
	ibv_wr_set_sge(ex, s.mr->lkey, SCRIPT_BUFFER, length);
	ibv_wr_set_ud_addr(ex, ah, 7, 0x11111111);
	must(!ibv_wr_complete(ex), "complete");
}

/* The largest RDMA is passed on: its length is the first word behind the head of the request. */
static void rdma(void)
{
	struct ibv_qp *qp = qp_create(0);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ready(qp);
	if (caps.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ) {
		begin(ex, 1);
		ibv_wr_rdma_read(ex, SCRIPT_RKEY, SCRIPT_REMOTE);
		end(ex, caps.max_rdma_size);
		step("RDMA read: served");
	}
	if (caps.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE) {
		begin(ex, 2);
		ibv_wr_rdma_write(ex, SCRIPT_RKEY, SCRIPT_REMOTE);
		end(ex, caps.max_rdma_size);
		begin(ex, 3);
		ibv_wr_rdma_write_imm(ex, SCRIPT_RKEY, SCRIPT_REMOTE, 5);
		end(ex, 8);
		step("RDMA write: served");
	}
	must(!ibv_destroy_qp(qp), "destroy");
}

static void cq(uint64_t wc_flags, const char *what)
{
	struct efadv_cq_init_attr dv = { .wc_flags = wc_flags };
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *made = efadv_create_cq(s.context, &attr, &dv, sizeof(dv));
	struct efadv_cq *shown = made ? efadv_cq_from_ibv_cq_ex(made) : NULL;

	must(shown && (wc_flags & EFADV_WC_EX_WITH_SGID ? !!shown->wc_read_sgid
							: !!shown->wc_is_unsolicited),
	     what);
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(made)), "destroy");
	step("%s: served", what);
}

/* Requests of verbs keep their wr_id if the ids of the adapter have 64 bits, and completions are
 * large enough for such an id. */
static void wide_ids(void)
{
	const struct ibv_qp_cap cap = { 8, 8, 1, 1, 0 };
	struct ibv_sge sge = script_sge(&s, 0, 64);
	struct ibv_send_wr wr = {
		.wr_id = 0x1122334455667788,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = { .ah = ah, .remote_qpn = 7, .remote_qkey = 0x11111111 },
	};
	struct efadv_wq_attr sq, rq;
	struct efadv_cq_attr cq = {};

	script_qp(&s, IBV_QPT_UD, &cap);
	must(!efadv_query_qp_wqs(s.qp, &sq, &rq, sizeof(sq)), "query");
	must(!rq.caps, "ids of receives");
	if (sq.caps & EFADV_WQ_CAPS_64_BIT_REQ_ID) {
		must(!efadv_query_cq(s.send_cq, &cq, sizeof(cq)) && cq.entry_size == 32, "entry");
		for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
			script_modify(&s, state);
		must(!script_send(&s, &wr), "send");
		script_complete(&s, false, 0, wr.opcode, (struct ibv_wc){ .opcode = IBV_WC_SEND });
		step("64-bit ids: served");
	}
	script_qp_close(&s);
}

int main(void)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1 };

	script_open(&s);
	must(!efadv_query_device(s.context, &caps, sizeof(caps)), "query");
	ah = ibv_create_ah(s.pd, &to);
	must(ah, "address handle");
	rdma();
	if (caps.device_caps & EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID)
		cq(EFADV_WC_EX_WITH_SGID, "GID of the sender");
	if (caps.device_caps & EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV) {
		cq(EFADV_WC_EX_WITH_IS_UNSOLICITED, "unsolicited");
		must(!ibv_destroy_qp(qp_create(EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV)), "destroy");
	}
	wide_ids();
	must(!ibv_destroy_ah(ah), "destroy");
	script_close(&s);
	return 0;
}
