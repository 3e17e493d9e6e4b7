/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands of work queues, counters, device memory and imported objects, and the driver's part
 * of commands: its bytes, and its attributes in the attribute form of a command. */
#include "tests/unit/fake_kernel.h"

#define EX(command) (IB_USER_VERBS_EX_CMD_##command | IB_USER_VERBS_CMD_FLAG_EXTENDED)

static void test_wq(void **state)
{
	struct ib_uverbs_ex_create_wq_resp resp = {
		.wq_handle = 4, .max_wr = 64, .max_sge = 2, .wqn = 0x99
	};
	struct ib_uverbs_ex_destroy_wq_resp gone = { .events_reported = 3 };
	struct ibv_pd pd = { .handle = 5 };
	struct ibv_cq cq = { .handle = 6 };
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 60,
		.max_sge = 1,
		.pd = &pd,
		.cq = &cq,
		.create_flags = IBV_WQ_FLAGS_SCATTER_FCS,
	};
	const struct verbs_create_wq in = { .attr = &attr };
	struct verbs_wq wq = { .wq = { .context = *state, .events_completed = 3 } };
	struct ibv_wq_attr change = {
		.attr_mask = IBV_WQ_ATTR_STATE,
		.wq_state = IBV_WQS_RDY,
		.curr_wq_state = IBV_WQS_RESET,
		.flags = 1,
		.flags_mask = 1,
	};
	const struct verbs_modify_wq modify = { .attr = &change };
	const struct ib_uverbs_ex_create_wq *cmd;
	const struct ib_uverbs_ex_modify_wq *mod;
	const struct ib_uverbs_ex_destroy_wq *end;

	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_wq(&wq, &in), 0);
	cmd = request_of(EX(CREATE_WQ), sizeof(*cmd));
	assert_int_equal(cmd->comp_mask, 0);
	assert_int_equal(cmd->wq_type, IB_UVERBS_WQT_RQ);
	assert_int_equal(cmd->user_handle, (uintptr_t)&wq.wq);
	assert_int_equal(cmd->pd_handle, 5);
	assert_int_equal(cmd->cq_handle, 6);
	assert_int_equal(cmd->max_wr, 60);
	assert_int_equal(cmd->max_sge, 1);
	assert_int_equal(cmd->create_flags, 0); /* the mask has no bit for flags */
	assert_int_equal(wq.wq.handle, 4);
	assert_int_equal(wq.wq.wq_num, 0x99);
	assert_int_equal(attr.max_wr, 64);
	assert_int_equal(attr.max_sge, 2);
	attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	assert_int_equal(uverbs_create_wq(&wq, &in), 0);
	cmd = request_of(EX(CREATE_WQ), sizeof(*cmd));
	assert_int_equal(cmd->create_flags, IBV_WQ_FLAGS_SCATTER_FCS);

	assert_int_equal(uverbs_modify_wq(&wq, &modify), 0);
	mod = request_of(EX(MODIFY_WQ), sizeof(*mod));
	assert_int_equal(mod->attr_mask, IBV_WQ_ATTR_STATE);
	assert_int_equal(mod->wq_handle, 4);
	assert_int_equal(mod->wq_state, IBV_WQS_RDY);
	assert_int_equal(mod->curr_wq_state, IBV_WQS_RESET);
	assert_int_equal(mod->flags, 0);
	assert_int_equal(mod->flags_mask, 0);
	change.attr_mask |= IBV_WQ_ATTR_FLAGS;
	assert_int_equal(uverbs_modify_wq(&wq, &modify), 0);
	mod = request_of(EX(MODIFY_WQ), sizeof(*mod));
	assert_int_equal(mod->flags, 1);
	assert_int_equal(mod->flags_mask, 1);

	/* All events are acknowledged: the wait ends at once. */
	kernel_answers(&gone, sizeof(gone));
	assert_int_equal(uverbs_destroy_wq(&wq), 0);
	end = request_of(EX(DESTROY_WQ), sizeof(*end));
	assert_int_equal(end->wq_handle, 4);
}

static void test_rwq_ind_table(void **state)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = { .ind_tbl_handle = 7,
							       .ind_tbl_num = 8 };
	struct ibv_wq wq[4] = {
		{ .handle = 10 }, { .handle = 11 }, { .handle = 12 }, { .handle = 13 }
	};
	static struct ibv_wq *list[1 << 13];
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 2, .ind_tbl = list };
	const struct verbs_create_rwq_ind_table in = { .attr = &attr };
	struct ibv_rwq_ind_table table = { .context = *state };
	const struct ib_uverbs_ex_create_rwq_ind_table *cmd;

	for (unsigned int i = 0; i < ARRAY_SIZE(list); i++)
		list[i] = &wq[i % 4];
	kernel_answers(&resp, sizeof(resp));
	assert_int_equal(uverbs_create_rwq_ind_table(&table, &in), 0);
	cmd = request_of(EX(CREATE_RWQ_IND_TBL), sizeof(*cmd) + 16);
	assert_int_equal(cmd->log_ind_tbl_size, 2);
	assert_int_equal(((uint32_t *)(cmd + 1))[3], 13);
	assert_int_equal(table.ind_tbl_handle, 7);
	assert_int_equal(table.ind_tbl_num, 8);
	/* A table of one queue is filled up to 8 bytes. */
	attr.log_ind_tbl_size = 0;
	assert_int_equal(uverbs_create_rwq_ind_table(&table, &in), 0);
	cmd = request_of(EX(CREATE_RWQ_IND_TBL), sizeof(*cmd) + 8);
	assert_int_equal(((uint32_t *)(cmd + 1))[0], 10);
	assert_int_equal(((uint32_t *)(cmd + 1))[1], 0);
	attr.log_ind_tbl_size = 13;
	assert_int_equal(uverbs_create_rwq_ind_table(&table, &in), 0);
	cmd = request_of(EX(CREATE_RWQ_IND_TBL), sizeof(*cmd) + 4 * 8192);
	assert_int_equal(((uint32_t *)(cmd + 1))[8191], 13);
	attr.log_ind_tbl_size = 14;
	assert_int_equal(uverbs_create_rwq_ind_table(&table, &in), -EINVAL);
	assert_int_equal(uverbs_destroy_rwq_ind_table(&table), 0);
	request_of(EX(DESTROY_RWQ_IND_TBL), sizeof(struct ib_uverbs_ex_destroy_rwq_ind_table));
}

static void test_counters(void **state)
{
	struct verbs_counters counters = { .counters.context = *state };
	const struct verbs_create_counters in = {};
	uint64_t values[3];

	kernel.handle = 21;
	assert_int_equal(uverbs_create_counters(&counters, &in), 0);
	assert_method(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE, 1);
	assert_int_equal(counters.handle, 21);
	assert_int_equal(
		uverbs_read_counters(&counters, values, 3, IBV_READ_COUNTERS_ATTR_PREFER_CACHED),
		0);
	assert_method(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_READ, 3);
	assert_attr(UVERBS_ATTR_READ_COUNTERS_HANDLE, 0, 21);
	assert_attr(UVERBS_ATTR_READ_COUNTERS_BUFF, 24, (uintptr_t)values);
	assert_attr(UVERBS_ATTR_READ_COUNTERS_FLAGS, 4, 1);
	/* More than the 16-bit length of an attribute can hold. */
	assert_int_equal(uverbs_read_counters(&counters, values, 8192, 0), -E2BIG);
	assert_int_equal(uverbs_destroy_counters(&counters), 0);
	assert_method(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_DESTROY, 1);
	assert_attr(UVERBS_ATTR_DESTROY_COUNTERS_HANDLE, 0, 21);
}

static void test_dm(void **state)
{
	const struct ibv_alloc_dm_attr attr = { .length = SIZE_MAX - 63, .log_align_req = 6 };
	const struct verbs_alloc_dm in = { .attr = &attr };
	struct verbs_dm dm = { .dm.context = *state };
	struct ibv_pd pd = { .context = *state, .handle = 5 };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	const struct verbs_reg_dm_mr reg = {
		.pd = &pd, .dm = &dm, .offset = 16, .length = 32, .access = IBV_ACCESS_ZERO_BASED
	};

	kernel.handle = 31;
	assert_int_equal(uverbs_alloc_dm(&dm, &in), 0);
	assert_method(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, 3);
	assert_attr(UVERBS_ATTR_ALLOC_DM_LENGTH, 8, SIZE_MAX - 63);
	assert_attr(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 4, 6);
	assert_int_equal(dm.dm.handle, 31);

	kernel.handle = 32;
	kernel.outs[0].id = UVERBS_ATTR_REG_DM_MR_RESP_LKEY;
	kernel.outs[0].value = 0x77;
	kernel.outs[1].id = UVERBS_ATTR_REG_DM_MR_RESP_RKEY;
	kernel.outs[1].value = 0x78;
	assert_int_equal(uverbs_reg_dm_mr(&mr, &reg), 0);
	assert_method(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, 8);
	assert_attr(UVERBS_ATTR_REG_DM_MR_OFFSET, 8, 16);
	assert_attr(UVERBS_ATTR_REG_DM_MR_LENGTH, 8, 32);
	assert_attr(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, 0, 5);
	assert_attr(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, 0, 31);
	assert_attr(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 4, IBV_ACCESS_ZERO_BASED);
	assert_int_equal(mr.ibv_mr.handle, 32);
	assert_int_equal(mr.ibv_mr.lkey, 0x77);
	assert_int_equal(mr.ibv_mr.rkey, 0x78);
	memset(&kernel, 0, sizeof(kernel));
	assert_int_equal(uverbs_free_dm(&dm), 0);
	assert_method(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, 1);
	assert_attr(UVERBS_ATTR_FREE_DM_HANDLE, 0, 31);
}

static void test_import(void **state)
{
	struct verbs_mr mr = { .ibv_mr.context = *state };
	struct ibv_pd pd = { .context = *state };

	kernel.outs[0].id = UVERBS_ATTR_QUERY_MR_RESP_LKEY;
	kernel.outs[0].value = 3;
	kernel.outs[1].id = UVERBS_ATTR_QUERY_MR_RESP_RKEY;
	kernel.outs[1].value = 4;
	kernel.outs[2].id = UVERBS_ATTR_QUERY_MR_RESP_LENGTH;
	kernel.outs[2].value = 5;
	assert_int_equal(uverbs_import_mr(&mr, 41), 0);
	assert_method(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, 4);
	assert_int_equal(kernel.attrs[0].attr_id, UVERBS_ATTR_QUERY_MR_HANDLE);
	assert_int_equal(mr.ibv_mr.handle, 41);
	assert_int_equal(mr.ibv_mr.lkey, 3);
	assert_int_equal(mr.ibv_mr.rkey, 4);
	assert_int_equal(mr.ibv_mr.length, 5);
	assert_int_equal(uverbs_import_pd(&pd, 42), 0);
	assert_int_equal(pd.handle, 42);
	kernel.error = ENOENT;
	assert_int_equal(uverbs_import_mr(&mr, 43), -ENOENT);
	assert_int_equal(mr.ibv_mr.handle, 41);
}

/* An imported context has events of its own: the last command asks for their descriptor. */
static void test_import_context(void **state)
{
	const struct verbs_open_context in = { .imported = true };
	struct verbs_context *ctx = to_vctx(*state);

	kernel.handle = 99;
	kernel.outs[0].id = UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT;
	assert_int_equal(uverbs_open_context(ctx, &in), 0);
	assert_method(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, 1);
	assert_int_equal(ctx->context.async_fd, 99);
	ctx->context.async_fd = -1;
}

/* Objects of an imported context name its event descriptor, so that it alone gets their events. */
static void test_import_events(void **state)
{
	struct ibv_context *ctx = *state;
	struct ibv_pd pd = { .context = ctx, .handle = 5 };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 10 };
	struct verbs_cq cq = { .cq = { .context = ctx, .handle = 6 } };
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_RC, .pd = &pd, .send_cq = &cq.cq, .recv_cq = &cq.cq
	};
	struct verbs_qp qp = { .qp.context = ctx };
	struct ibv_wq_init_attr wq_attr = { .pd = &pd, .cq = &cq.cq, .max_wr = 7 };
	struct verbs_wq wq = { .wq.context = ctx };
	struct ibv_srq_init_attr_ex srq_attr = { .attr = { 8, 9, 10 } };
	struct verbs_srq srq = { .srq = { .context = ctx, .pd = &pd } };

	ctx_priv(ctx)->imported = true;
	ctx->async_fd = 55;
	kernel.handle = 6;
	assert_int_equal(uverbs_create_cq(&cq, &(struct verbs_create_cq){ .attr = &cq_attr }), 0);
	assert_method(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, 6);
	assert_attr(UVERBS_ATTR_CREATE_CQ_EVENT_FD, 0, 55);
	assert_int_equal(uverbs_create_qp(&qp, &(struct verbs_create_qp){ .attr = &qp_attr }), 0);
	assert_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, 10);
	assert_attr(UVERBS_ATTR_CREATE_QP_EVENT_FD, 0, 55);
	assert_int_equal(uverbs_create_wq(&wq, &(struct verbs_create_wq){ .attr = &wq_attr }), 0);
	assert_method(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, 12);
	assert_attr(UVERBS_ATTR_CREATE_WQ_EVENT_FD, 0, 55);
	assert_attr(UVERBS_ATTR_CREATE_WQ_MAX_WR, 4, 7);
	assert_int_equal(uverbs_create_srq(&srq, &(struct verbs_create_srq){ .attr = &srq_attr }),
			 0);
	assert_method(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, 10);
	assert_attr(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, 0, 55);
	assert_attr(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, 9);
	assert_attr(UVERBS_ATTR_CREATE_SRQ_TYPE, 8, IB_UVERBS_SRQT_BASIC);
	ctx->async_fd = -1;
}

/* ---- the driver's part of commands ---- */

static uint32_t returned;

static void driver_attrs(struct uverbs_attr attrs[3])
{
	attrs[0] = uverbs_u64(0x1001, 0xabcdef);
	attrs[1] = uverbs_when(false, uverbs_u64(0x1002, 1));
	attrs[2] = uverbs_new_idr(0x1003, &returned);
}

/* Behind the core's attributes follow the driver's attributes, without omitted ones, and then
 * its bytes. */
static void assert_driver_attrs(unsigned int core)
{
	assert_int_equal(kernel.hdr.num_attrs, core + 4);
	assert_int_equal(kernel.attrs[core].attr_id, 0x1001);
	assert_int_equal(kernel.attrs[core].data, 0xabcdef);
	assert_int_equal(kernel.attrs[core + 1].attr_id, 0x1003);
	assert_int_equal(kernel.attrs[core + 2].attr_id, UVERBS_ATTR_UHW_IN);
	assert_int_equal(kernel.attrs[core + 2].len, 4);
	assert_int_equal(kernel.attrs[core + 2].data, 0x11223344);
	assert_int_equal(kernel.attrs[core + 3].attr_id, UVERBS_ATTR_UHW_OUT);
	assert_int_equal(kernel.attrs[core + 3].len, 16);
}

#define UDATA                                                      \
	struct uverbs_attr attrs[3];                               \
	const uint32_t bytes_in = 0x11223344;                      \
	uint8_t bytes_out[16];                                     \
	struct verbs_udata udata = { .in = &bytes_in,              \
				     .in_len = sizeof(bytes_in),   \
				     .out = bytes_out,             \
				     .out_len = sizeof(bytes_out), \
				     .attr_count = 3,              \
				     .attrs = attrs };             \
	driver_attrs(attrs)

static void test_driver_reg_mr(void **state)
{
	struct ibv_pd pd = { .context = *state, .handle = 5 };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	UDATA;
	const struct verbs_reg_mr in = { .pd = &pd,
					 .addr = (void *)0x1000,
					 .length = 3,
					 .iova = 0x2000,
					 .access = 1,
					 .udata = &udata };

	kernel.handle = 61;
	kernel.outs[0].id = UVERBS_ATTR_REG_MR_RESP_LKEY;
	kernel.outs[0].value = 62;
	assert_int_equal(uverbs_reg_mr(&mr, &in), 0);
	assert_int_equal(kernel.hdr.object_id, UVERBS_OBJECT_MR);
	assert_int_equal(kernel.hdr.method_id, UVERBS_METHOD_REG_MR);
	assert_driver_attrs(8);
	assert_attr(UVERBS_ATTR_REG_MR_PD_HANDLE, 0, 5);
	assert_attr(UVERBS_ATTR_REG_MR_ADDR, 8, 0x1000);
	assert_attr(UVERBS_ATTR_REG_MR_LENGTH, 8, 3);
	assert_attr(UVERBS_ATTR_REG_MR_IOVA, 8, 0x2000);
	assert_attr(UVERBS_ATTR_REG_MR_ACCESS_FLAGS, 4, 1);
	assert_int_equal(mr.ibv_mr.handle, 61);
	assert_int_equal(mr.ibv_mr.lkey, 62);
}

static void test_driver_create_cq(void **state)
{
	struct ibv_comp_channel channel = { .fd = 8 };
	struct ibv_cq_init_attr_ex attr = { .cqe = 10, .channel = &channel, .comp_vector = 1 };
	struct verbs_cq cq = { .cq.context = *state };
	UDATA;
	const struct verbs_create_cq in = { .attr = &attr, .udata = &udata };

	kernel.handle = 71;
	kernel.outs[0].id = UVERBS_ATTR_CREATE_CQ_RESP_CQE;
	kernel.outs[0].value = 15;
	assert_int_equal(uverbs_create_cq(&cq, &in), 0);
	assert_int_equal(kernel.hdr.object_id, UVERBS_OBJECT_CQ);
	assert_int_equal(kernel.hdr.method_id, UVERBS_METHOD_CQ_CREATE);
	assert_driver_attrs(6);
	assert_attr(UVERBS_ATTR_CREATE_CQ_CQE, 4, 10);
	assert_attr(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, (uintptr_t)&cq.cq);
	assert_attr(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, 0, 8);
	assert_attr(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 1);
	assert_false(has_attr(UVERBS_ATTR_CREATE_CQ_FLAGS));
	assert_int_equal(cq.cq.handle, 71);
	assert_int_equal(cq.cq.cqe, 15);

	attr.channel = NULL;
	attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	assert_int_equal(uverbs_create_cq(&cq, &in), 0);
	assert_driver_attrs(6);
	assert_false(has_attr(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL));
	assert_attr(UVERBS_ATTR_CREATE_CQ_FLAGS, 4, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION);
}

static void test_driver_create_qp(void **state)
{
	struct ibv_pd pd = { .handle = 5 };
	struct ibv_cq cq[2] = { { .handle = 6 }, { .handle = 7 } };
	struct ibv_srq srq = { .handle = 8 };
	struct verbs_xrcd xrcd = { .handle = 9 };
	struct ibv_rwq_ind_table table = { .ind_tbl_handle = 10 };
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &cq[0],
		.recv_cq = &cq[1],
		.srq = &srq,
		.cap = { 1, 2, 3, 4, 5 },
		.qp_type = IBV_QPT_UC,
		.sq_sig_all = 16,
		.pd = &pd,
		.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN | IBV_QP_CREATE_SCATTER_FCS,
		.source_qpn = 99,
	};
	const struct ib_uverbs_qp_cap cap = { 1, 2, 3, 4, 5 };
	struct verbs_qp qp = { .qp.context = *state };
	UDATA;
	const struct verbs_create_qp in = { .attr = &attr, .udata = &udata };

	kernel.handle = 81;
	kernel.outs[0].id = UVERBS_ATTR_CREATE_QP_RESP_QP_NUM;
	kernel.outs[0].value = 0x55;
	returned = 0;
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	assert_int_equal(kernel.hdr.object_id, UVERBS_OBJECT_QP);
	assert_int_equal(kernel.hdr.method_id, UVERBS_METHOD_QP_CREATE);
	assert_driver_attrs(12);
	assert_attr(UVERBS_ATTR_CREATE_QP_PD_HANDLE, 0, 5);
	assert_attr(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 0, 8);
	assert_attr(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 0, 6);
	assert_attr(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 0, 7);
	assert_attr(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, (uintptr_t)&qp.qp);
	assert_attr(UVERBS_ATTR_CREATE_QP_TYPE, 8, IB_UVERBS_QPT_UC);
	assert_attr(UVERBS_ATTR_CREATE_QP_FLAGS, 4,
		    IB_UVERBS_QP_CREATE_SCATTER_FCS | IB_UVERBS_QP_CREATE_SQ_SIG_ALL);
	assert_attr(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4, 99);
	assert_memory_equal(bytes_of(UVERBS_ATTR_CREATE_QP_CAP), &cap, sizeof(cap));
	assert_int_equal(qp.qp.handle, 81);
	assert_int_equal(qp.qp.qp_num, 0x55);

	attr = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_XRC_RECV, .xrcd = &xrcd.xrcd };
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	assert_attr(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, 0, 9);
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_PD_HANDLE));
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_FLAGS));
	attr = (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_RAW_PACKET,
					     .pd = &pd,
					     .comp_mask = IBV_QP_INIT_ATTR_IND_TABLE,
					     .rwq_ind_tbl = &table };
	assert_int_equal(uverbs_create_qp(&qp, &in), 0);
	assert_attr(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, 0, 10);
	assert_false(has_attr(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE));
}

/* A command without an attribute form cannot carry them; too many attributes are refused. */
static void test_driver_refused(void **state)
{
	struct uverbs_attr attrs[UVERBS_ATTR_MAX] = {};
	struct verbs_udata udata = { .attr_count = 1, .attrs = attrs };
	struct ibv_pd pd = { .context = *state };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	const struct verbs_reg_mr in = { .pd = &pd, .udata = &udata };

	assert_int_equal(uverbs_alloc_pd(&pd, &udata), -EOPNOTSUPP);
	udata.attr_count = UVERBS_ATTR_MAX - 7;
	assert_int_equal(uverbs_reg_mr(&mr, &in), -E2BIG);
	assert_int_equal(kernel.hdr.length, 0);
	udata.attr_count = UVERBS_ATTR_MAX - 8;
	assert_int_equal(uverbs_reg_mr(&mr, &in), 0);
	assert_int_equal(kernel.hdr.num_attrs, UVERBS_ATTR_MAX);
}

/* Return the handle that the kernel writes to an attribute of the driver. */
static void test_driver_returns(void **state)
{
	struct uverbs_attr attrs[] = { uverbs_new_idr(0x1001, &returned) };
	const struct verbs_udata udata = { .attr_count = 1, .attrs = attrs };

	kernel.handle = 91;
	returned = 0;
	assert_int_equal(
		uverbs_ioctl(*state, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, NULL, 0, &udata), 0);
	assert_int_equal(returned, 91);
}

#define object_test(f) cmocka_unit_test_setup_teardown(f, kernel_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		object_test(test_wq),
		object_test(test_rwq_ind_table),
		object_test(test_counters),
		object_test(test_dm),
		object_test(test_import),
		object_test(test_import_context),
		object_test(test_import_events),
		object_test(test_driver_reg_mr),
		object_test(test_driver_create_cq),
		object_test(test_driver_create_qp),
		object_test(test_driver_refused),
		object_test(test_driver_returns),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
