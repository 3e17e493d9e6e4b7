/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of devices, queues and regions: the command, its attributes as the kernel demands
 * them, and the handling of the answer. */
#include "tests/unit/fake_kernel.h"

static void test_reg_mr(void **state)
{
	struct ib_uverbs_reg_mr_resp resp = { .mr_handle = 5, .lkey = 6, .rkey = 7 };
	struct ibv_pd pd = { .context = *state, .handle = 9 };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	const struct verbs_reg_mr in = {
		.pd = &pd, .addr = (void *)0x1000, .length = 3, .iova = 0x2000, .access = 1
	};
	const struct ib_uverbs_reg_mr *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_reg_mr(&mr, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_REG_MR, sizeof(*cmd));
	assert_int_equal(cmd->start, 0x1000);
	assert_int_equal(cmd->length, 3);
	assert_int_equal(cmd->hca_va, 0x2000);
	assert_int_equal(cmd->pd_handle, 9);
	assert_int_equal(cmd->access_flags, 1);
	assert_int_equal(mr.ibv_mr.handle, 5);
	assert_int_equal(mr.ibv_mr.lkey, 6);
	assert_int_equal(mr.ibv_mr.rkey, 7);
	kernel.error = ENOMEM;
	assert_int_equal(uverbs_reg_mr(&mr, &in), -ENOMEM);
}

/* The descriptor is a plain 32-bit number to this method, not an object. */
static void test_reg_dmabuf_mr(void **state)
{
	struct ibv_pd pd = { .context = *state, .handle = 9 };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	const struct verbs_reg_dmabuf_mr in = { .pd = &pd, .fd = 44, .length = 1 };

	kernel.handle = 12;
	assert_int_equal(uverbs_reg_dmabuf_mr(&mr, &in), 0);
	assert_int_equal(kernel.hdr.object_id, UVERBS_OBJECT_MR);
	assert_int_equal(kernel.hdr.method_id, UVERBS_METHOD_REG_DMABUF_MR);
	assert_int_equal(attr_of(UVERBS_ATTR_REG_DMABUF_MR_FD)->len, 4);
	assert_int_equal(attr_of(UVERBS_ATTR_REG_DMABUF_MR_FD)->data, 44);
	assert_int_equal(mr.ibv_mr.handle, 12);
	kernel.error = ENOTTY;
	assert_int_equal(uverbs_reg_dmabuf_mr(&mr, &in), -EPROTONOSUPPORT);
}

static void test_advise_mr(void **state)
{
	struct ibv_pd pd = { .context = *state, .handle = 9 };
	struct ibv_sge sge[2] = {};

	assert_int_equal(uverbs_advise_mr(&pd, 1, 0, sge, 2), 0);
	assert_int_equal(attr_of(UVERBS_ATTR_ADVISE_MR_SGE_LIST)->len, sizeof(sge));
	assert_int_equal(attr_of(UVERBS_ATTR_ADVISE_MR_ADVICE)->len, 8);
	/* More than the 16-bit length of an attribute can hold. */
	assert_int_equal(uverbs_advise_mr(&pd, 1, 0, sge, 4096), -E2BIG);
}

static void test_create_cq(void **state)
{
	struct ib_uverbs_create_cq_resp resp = { .cq_handle = 3, .cqe = 15 };
	struct ib_uverbs_ex_create_cq_resp ex_resp = { .base = { .cq_handle = 4, .cqe = 31 } };
	struct ibv_comp_channel channel = { .fd = 8 };
	struct ibv_cq_init_attr_ex attr = { .cqe = 10, .channel = &channel, .comp_vector = 1 };
	const struct verbs_create_cq in = { .attr = &attr };
	struct verbs_cq cq = { .cq.context = *state };
	const struct ib_uverbs_ex_create_cq *ex;
	const struct ib_uverbs_create_cq *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_cq(&cq, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_CREATE_CQ, sizeof(*cmd));
	assert_int_equal(cmd->user_handle, (uintptr_t)&cq.cq);
	assert_int_equal(cmd->cqe, 10);
	assert_int_equal(cmd->comp_vector, 1);
	assert_int_equal(cmd->comp_channel, 8);
	assert_int_equal(cq.cq.handle, 3);
	assert_int_equal(cq.cq.cqe, 15);

	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN | IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	attr.channel = NULL;
	kernel_answers(&ex_resp, sizeof(ex_resp));
	assert_int_equal(uverbs_create_cq(&cq, &in), 0);
	ex = request_of(IB_USER_VERBS_EX_CMD_CREATE_CQ | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			sizeof(*ex));
	assert_int_equal(ex->flags, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
					    IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN);
	assert_int_equal(ex->comp_channel, -1);
	assert_int_equal(ex->comp_mask, 0);
	assert_int_equal(cq.cq.handle, 4);
	assert_int_equal(cq.cq.cqe, 31);
}

/* A flag without its bit in comp_mask is ignored. */
static void test_create_cq_flags_need_mask(void **state)
{
	struct ib_uverbs_create_cq_resp resp = {};
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN };
	const struct verbs_create_cq in = { .attr = &attr };
	struct verbs_cq cq = { .cq.context = *state };

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_cq(&cq, &in), 0);
	request_of(IB_USER_VERBS_CMD_CREATE_CQ, sizeof(struct ib_uverbs_create_cq));
}

static void test_req_notify(void **state)
{
	struct ibv_cq cq = { .context = *state, .handle = 77 };
	const struct ib_uverbs_req_notify_cq *cmd;

	assert_int_equal(uverbs_req_notify_cq(&cq, 5), 0);
	cmd = request_of(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, sizeof(*cmd));
	assert_int_equal(cmd->cq_handle, 77);
	assert_int_equal(cmd->solicited_only, 1);
	kernel.error = EIO;
	assert_int_equal(uverbs_req_notify_cq(&cq, 0), EIO);
}

static void test_poll_cq(void **state)
{
	struct verbs_cq cq = { .cq = { .context = *state, .handle = 77 } };
	const struct ib_uverbs_poll_cq *cmd;

	assert_int_equal(uverbs_poll_cq(&cq), 0);
	cmd = request_of(IB_USER_VERBS_CMD_POLL_CQ, sizeof(*cmd));
	assert_int_equal(cmd->cq_handle, 77);
	/* The driver is only called if the answer has room for an entry. */
	assert_int_equal(cmd->ne, 1);
	assert_int_equal(attr_of(UVERBS_ATTR_CORE_OUT)->len,
			 sizeof(struct ib_uverbs_poll_cq_resp) + sizeof(struct ib_uverbs_wc));
}

/* All events that the kernel has counted are acknowledged here: the wait ends at once. */
static void test_destroy(void **state)
{
	struct ib_uverbs_destroy_cq_resp cq_resp = { .comp_events_reported = 2,
						     .async_events_reported = 1 };
	struct ib_uverbs_destroy_qp_resp qp_resp = { .events_reported = 3 };
	struct ib_uverbs_destroy_srq_resp srq_resp = { .events_reported = 4 };
	struct verbs_cq cq = { .cq = { .context = *state,
				       .handle = 1,
				       .comp_events_completed = 2,
				       .async_events_completed = 1 } };
	struct verbs_qp qp = { .qp = { .context = *state, .handle = 2, .events_completed = 3 } };
	struct verbs_srq srq = { .srq = { .context = *state, .handle = 3, .events_completed = 4 } };

	kernel_answers(&cq_resp, sizeof(cq_resp));
	assert_int_equal(uverbs_destroy_cq(&cq), 0);
	request_of(IB_USER_VERBS_CMD_DESTROY_CQ, sizeof(struct ib_uverbs_destroy_cq));
	kernel_answers(&qp_resp, sizeof(qp_resp));
	assert_int_equal(uverbs_destroy_qp(&qp), 0);
	request_of(IB_USER_VERBS_CMD_DESTROY_QP, sizeof(struct ib_uverbs_destroy_qp));
	kernel_answers(&srq_resp, sizeof(srq_resp));
	assert_int_equal(uverbs_destroy_srq(&srq), 0);
	request_of(IB_USER_VERBS_CMD_DESTROY_SRQ, sizeof(struct ib_uverbs_destroy_srq));
}

static void test_create_qp(void **state)
{
	struct ib_uverbs_create_qp_resp resp = { .qp_handle = 3,
						 .qpn = 0x11,
						 .max_send_wr = 20,
						 .max_recv_wr = 21,
						 .max_send_sge = 22,
						 .max_recv_sge = 23,
						 .max_inline_data = 24 };
	struct ib_uverbs_ex_create_qp_resp ex_resp = { .base = resp };
	struct ibv_pd pd = { .handle = 5 };
	struct ibv_cq cq[2] = { { .handle = 6 }, { .handle = 7 } };
	struct ibv_srq srq = { .handle = 8 };
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq[0],
		.recv_cq = &cq[1],
		.cap = { 1, 2, 3, 4, 5 },
		.qp_type = IBV_QPT_UC,
		.sq_sig_all = 16,
		.pd = &pd,
	};
	const struct verbs_create_qp in = { .attr = &attr };
	struct verbs_qp qp = { .qp.context = *state };
	const struct ib_uverbs_ex_create_qp *ex;
	const struct ib_uverbs_create_qp *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_CREATE_QP, sizeof(*cmd));
	assert_int_equal(cmd->user_handle, (uintptr_t)&qp.qp);
	assert_int_equal(cmd->pd_handle, 5);
	assert_int_equal(cmd->send_cq_handle, 6);
	assert_int_equal(cmd->recv_cq_handle, 7);
	assert_int_equal(cmd->is_srq, 0);
	assert_int_equal(cmd->max_recv_wr, 2);
	assert_int_equal(cmd->max_inline_data, 5);
	assert_int_equal(cmd->sq_sig_all, 1);
	assert_int_equal(cmd->qp_type, IB_UVERBS_QPT_UC);
	assert_int_equal(qp.qp.handle, 3);
	assert_int_equal(qp.qp.qp_num, 0x11);
	assert_int_equal(attr.cap.max_send_wr, 20);
	assert_int_equal(attr.cap.max_recv_wr, 21);
	assert_int_equal(attr.cap.max_send_sge, 22);
	assert_int_equal(attr.cap.max_recv_sge, 23);
	assert_int_equal(attr.cap.max_inline_data, 24);

	attr.srq = &srq;
	attr.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_SOURCE_QPN;
	attr.source_qpn = 99;
	kernel_answers(&ex_resp, sizeof(ex_resp));
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	ex = request_of(IB_USER_VERBS_EX_CMD_CREATE_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			sizeof(*ex));
	assert_int_equal(ex->create_flags, IBV_QP_CREATE_SOURCE_QPN);
	assert_int_equal(ex->source_qpn, 99);
	assert_int_equal(ex->comp_mask, 0);
	assert_int_equal(ex->is_srq, 1);
	assert_int_equal(ex->srq_handle, 8);
}

static void test_modify_qp(void **state)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_2048,
		.rq_psn = 0x123456,
		.dest_qp_num = 0x77,
		.ah_attr = {
			.grh = { .sgid_index = 3, .hop_limit = 64, .traffic_class = 5, .flow_label = 9 },
			.dlid = 0x10,
			.sl = 2,
			.is_global = 1,
			.port_num = 1,
		},
		.alt_timeout = 6,
		.rate_limit = 1000,
	};
	struct verbs_modify_qp in = { .attr = &attr, .mask = IBV_QP_STATE | IBV_QP_AV };
	struct verbs_qp qp = { .qp = { .context = *state, .handle = 4 } };
	const struct ib_uverbs_ex_modify_qp *ex;
	const struct ib_uverbs_modify_qp *cmd;

	attr.ah_attr.grh.dgid.raw[15] = 0xaa;
	assert_int_equal(uverbs_modify_qp(&qp, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_MODIFY_QP, sizeof(*cmd));
	assert_int_equal(cmd->qp_handle, 4);
	assert_int_equal(cmd->attr_mask, IBV_QP_STATE | IBV_QP_AV);
	assert_int_equal(cmd->qp_state, IBV_QPS_RTR);
	assert_int_equal(cmd->path_mtu, IBV_MTU_2048);
	assert_int_equal(cmd->rq_psn, 0x123456);
	assert_int_equal(cmd->dest_qp_num, 0x77);
	assert_int_equal(cmd->dest.dgid[15], 0xaa);
	assert_int_equal(cmd->dest.sgid_index, 3);
	assert_int_equal(cmd->dest.hop_limit, 64);
	assert_int_equal(cmd->dest.traffic_class, 5);
	assert_int_equal(cmd->dest.flow_label, 9);
	assert_int_equal(cmd->dest.dlid, 0x10);
	assert_int_equal(cmd->dest.sl, 2);
	assert_int_equal(cmd->dest.is_global, 1);
	assert_int_equal(cmd->dest.port_num, 1);
	assert_int_equal(cmd->alt_timeout, 6);
	in.mask |= IBV_QP_RATE_LIMIT;
	assert_int_equal(uverbs_modify_qp(&qp, &in), 0);
	ex = request_of(IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			sizeof(*ex));
	assert_int_equal(ex->rate_limit, 1000);
}

static void test_query_qp(void **state)
{
	struct ib_uverbs_query_qp_resp resp = {
		.dest = { .dgid = { [15] = 0xbb }, .sgid_index = 3, .is_global = 1, .port_num = 1 },
		.max_send_wr = 11,
		.max_inline_data = 12,
		.qkey = 13,
		.qp_state = IBV_QPS_RTS,
		.path_mtu = IBV_MTU_1024,
		.timeout = 14,
		.rnr_retry = 7,
		.sq_sig_all = 1,
	};
	struct verbs_qp qp = { .qp = { .context = *state, .handle = 4, .qp_type = IBV_QPT_RC } };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const struct verbs_query_qp in = { .mask = 1, .ret_attr = &attr, .ret_init_attr = &init };

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_query_qp(&qp, &in), 0);
	request_of(IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp));
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.qkey, 13);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.rnr_retry, 7);
	assert_int_equal(attr.cap.max_send_wr, 11);
	assert_int_equal(attr.ah_attr.grh.dgid.raw[15], 0xbb);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 3);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(init.cap.max_inline_data, 12);
	assert_int_equal(init.sq_sig_all, 1);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
}

static void test_srq(void **state)
{
	struct ib_uverbs_create_srq_resp resp = {
		.srq_handle = 2, .max_wr = 30, .max_sge = 31, .srqn = 79
	};
	struct ib_uverbs_query_srq_resp query = { .max_wr = 1, .max_sge = 2, .srq_limit = 3 };
	struct ibv_pd pd = { .handle = 5 };
	struct verbs_srq srq = { .srq = { .context = *state, .pd = &pd } };
	struct ibv_srq_init_attr_ex init = { .attr = { 10, 11, 12 } };
	const struct verbs_create_srq in = { .attr = &init };
	const struct verbs_modify_srq modify = { .attr = &init.attr, .mask = IBV_SRQ_LIMIT };
	struct verbs_xrcd xrcd = { .handle = 77 };
	struct ibv_cq cq = { .handle = 78 };
	const struct ib_uverbs_create_xsrq *typed;
	const struct ib_uverbs_create_srq *cmd;
	struct ibv_srq_attr attr;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_srq(&srq, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_CREATE_SRQ, sizeof(*cmd));
	assert_int_equal(cmd->max_wr, 10);
	assert_int_equal(cmd->max_sge, 11);
	assert_int_equal(cmd->srq_limit, 12);
	assert_int_equal(init.attr.max_wr, 30);
	assert_int_equal(init.attr.max_sge, 31);
	assert_int_equal(srq.srq.handle, 2);
	assert_int_equal(uverbs_modify_srq(&srq, &modify), 0);
	request_of(IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq));
	kernel_answers(&query, sizeof(query));
	assert_int_equal(uverbs_query_srq(&srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 3);
	kernel_answers(&resp, sizeof(resp));
	srq.srq_type = IBV_SRQT_XRC;
	srq.xrcd = &xrcd.xrcd;
	srq.cq = &cq;
	assert_int_equal(uverbs_create_srq(&srq, &in), 0);
	typed = request_of(IB_USER_VERBS_CMD_CREATE_XSRQ, sizeof(*typed));
	assert_int_equal(typed->srq_type, IB_UVERBS_SRQT_XRC);
	assert_int_equal(typed->xrcd_handle, 77);
	assert_int_equal(typed->cq_handle, 78);
	assert_int_equal(typed->max_num_tags, 0);
	assert_int_equal(srq.srq_num, 79);
}

static void test_xrcd(void **state)
{
	struct ib_uverbs_open_xrcd_resp resp = { .xrcd_handle = 91 };
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = 14,
		.oflags = 0100,
	};
	const struct verbs_open_xrcd in = { .attr = &attr };
	struct verbs_xrcd xrcd = { .xrcd.context = *state };
	const struct ib_uverbs_close_xrcd *close_cmd;
	const struct ib_uverbs_open_xrcd *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_open_xrcd(&xrcd, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(*cmd));
	assert_int_equal(cmd->fd, 14);
	assert_int_equal(cmd->oflags, 0100);
	assert_int_equal(xrcd.handle, 91);
	attr.fd = -1;
	assert_int_equal(uverbs_open_xrcd(&xrcd, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(*cmd));
	assert_int_equal((int32_t)cmd->fd, -1);
	kernel_answers(NULL, 0);
	assert_int_equal(uverbs_close_xrcd(&xrcd), 0);
	close_cmd = request_of(IB_USER_VERBS_CMD_CLOSE_XRCD, sizeof(*close_cmd));
	assert_int_equal(close_cmd->xrcd_handle, 91);
	kernel.error = EBUSY;
	assert_int_equal(uverbs_close_xrcd(&xrcd), -EBUSY);
}

/* In the attribute form the kernel refuses a CQ for one half, and a receive CQ or an SRQ for the
 * other. In the other form it ignores them. Therefore neither is sent. */
static void test_create_xrc_qp(void **state)
{
	struct ib_uverbs_create_qp_resp resp = { .qp_handle = 3, .qpn = 0x11 };
	struct verbs_xrcd xrcd = { .handle = 91 };
	struct ibv_pd pd = { .handle = 5 };
	struct ibv_cq cq[2] = { { .handle = 6 }, { .handle = 7 } };
	struct ibv_srq srq = { .handle = 8 };
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq[0],
		.recv_cq = &cq[1],
		.srq = &srq,
		.qp_type = IBV_QPT_XRC_SEND,
		.pd = &pd,
		.xrcd = &xrcd.xrcd,
	};
	const struct uverbs_attr driver = uverbs_u32(0x1000, 1);
	struct verbs_udata udata = { .attrs = &driver, .attr_count = 1 };
	const struct verbs_create_qp in = { .attr = &attr },
				     with = { .attr = &attr, .udata = &udata };
	struct verbs_qp qp = { .qp.context = *state };
	const struct ib_uverbs_create_qp *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_CREATE_QP, sizeof(*cmd));
	assert_int_equal(cmd->qp_type, IB_UVERBS_QPT_XRC_INI);
	assert_int_equal(cmd->pd_handle, 5);
	assert_int_equal(cmd->send_cq_handle, 6);
	assert_int_equal(cmd->recv_cq_handle, 0);
	assert_int_equal(cmd->srq_handle, 0);
	assert_int_equal(cmd->is_srq, 0);
	assert_int_equal(uverbs_create_qp(&qp, &with), 0);
	assert_true(has_attr(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE));

	attr.qp_type = IBV_QPT_XRC_RECV;
	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_CREATE_QP, sizeof(*cmd));
	assert_int_equal(cmd->qp_type, IB_UVERBS_QPT_XRC_TGT);
	assert_int_equal(cmd->pd_handle, 91);
	assert_int_equal(cmd->send_cq_handle, 0);
	assert_int_equal(cmd->recv_cq_handle, 0);
	assert_int_equal(cmd->is_srq, 0);
	assert_int_equal(uverbs_create_qp(&qp, &with), 0);
	assert_int_equal(attr_of(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE)->data, 91);
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_PD_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE));
}

static void test_open_qp(void **state)
{
	struct ib_uverbs_create_qp_resp resp = { .qp_handle = 3, .qpn = 0x99 };
	struct verbs_xrcd xrcd = { .handle = 91 };
	const struct ibv_qp_open_attr attr = { .qp_num = 0x11,
					       .xrcd = &xrcd.xrcd,
					       .qp_type = IBV_QPT_XRC_RECV };
	const struct verbs_open_qp in = { .attr = &attr };
	struct verbs_qp qp = { .qp.context = *state };
	const struct ib_uverbs_open_qp *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_open_qp(&qp, &in), 0);
	cmd = request_of(IB_USER_VERBS_CMD_OPEN_QP, sizeof(*cmd));
	assert_int_equal(cmd->user_handle, (uintptr_t)&qp.qp);
	assert_int_equal(cmd->pd_handle, 91);
	assert_int_equal(cmd->qpn, 0x11);
	assert_int_equal(cmd->qp_type, IB_UVERBS_QPT_XRC_TGT);
	assert_int_equal(qp.qp.handle, 3);
	assert_int_equal(qp.qp.qp_num, 0x11);
	kernel.error = EINVAL;
	assert_int_equal(uverbs_open_qp(&qp, &in), -EINVAL);
}

static void test_mw(void **state)
{
	struct ib_uverbs_alloc_mw_resp resp = { .mw_handle = 3, .rkey = 4 };
	struct ibv_pd pd = { .handle = 5 };
	struct ibv_mw mw = { .context = *state, .pd = &pd, .type = IBV_MW_TYPE_2 };
	const struct ib_uverbs_alloc_mw *cmd;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_alloc_mw(&mw, NULL), 0);
	cmd = request_of(IB_USER_VERBS_CMD_ALLOC_MW, sizeof(*cmd));
	assert_int_equal(cmd->mw_type, IBV_MW_TYPE_2);
	assert_int_equal(cmd->pd_handle, 5);
	assert_int_equal(mw.handle, 3);
	assert_int_equal(mw.rkey, 4);
	assert_int_equal(uverbs_dealloc_mw(&mw), 0);
	request_of(IB_USER_VERBS_CMD_DEALLOC_MW, sizeof(struct ib_uverbs_dealloc_mw));
}

static void test_mcast(void **state)
{
	struct verbs_qp qp = { .qp = { .context = *state, .handle = 4 } };
	union ibv_gid gid = { .raw = { [0] = 0xff, [15] = 1 } };
	const struct ib_uverbs_attach_mcast *cmd;

	assert_int_equal(uverbs_attach_mcast(&qp, &gid, 0xc000), 0);
	cmd = request_of(IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(*cmd));
	assert_int_equal(cmd->qp_handle, 4);
	assert_int_equal(cmd->mlid, 0xc000);
	assert_memory_equal(cmd->gid, gid.raw, 16);
	assert_int_equal(uverbs_detach_mcast(&qp, &gid, 0xc000), 0);
	request_of(IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(struct ib_uverbs_detach_mcast));
}

#define uverbs_test(f) cmocka_unit_test_setup_teardown(f, kernel_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		uverbs_test(test_reg_mr),
		uverbs_test(test_reg_dmabuf_mr),
		uverbs_test(test_advise_mr),
		uverbs_test(test_create_cq),
		uverbs_test(test_create_cq_flags_need_mask),
		uverbs_test(test_req_notify),
		uverbs_test(test_poll_cq),
		uverbs_test(test_destroy),
		uverbs_test(test_create_qp),
		uverbs_test(test_modify_qp),
		uverbs_test(test_query_qp),
		uverbs_test(test_srq),
		uverbs_test(test_xrcd),
		uverbs_test(test_create_xrc_qp),
		uverbs_test(test_open_qp),
		uverbs_test(test_mw),
		uverbs_test(test_mcast),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
