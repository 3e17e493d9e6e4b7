/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work queues and tables of work queues. */
#include "tests/unit/fake_device.h"

static int result;

static int create_wq(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	if (!result)
		in->attr->max_wr += 4;
	wq->wq.wq_num = 0x77;
	return result;
}

static int modify_wq(struct verbs_wq *wq, const struct verbs_modify_wq *in)
{
	return result;
}

static int destroy_wq(struct verbs_wq *wq)
{
	return result;
}

static int create_table(struct ibv_rwq_ind_table *table,
			const struct verbs_create_rwq_ind_table *in)
{
	table->ind_tbl_num = in->attr->log_ind_tbl_size;
	return result;
}

static int destroy_table(struct ibv_rwq_ind_table *table)
{
	return result;
}

struct rig {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_wq_init_attr init;
};

static void rig_up(struct ibv_context *ctx, struct rig *rig)
{
	struct verbs_ops *ops = &fake_of(ctx)->ops;

	ops->create_wq = create_wq;
	ops->modify_wq = modify_wq;
	ops->destroy_wq = destroy_wq;
	ops->create_rwq_ind_table = create_table;
	ops->destroy_rwq_ind_table = destroy_table;
	result = 0;
	rig->pd = fake_pd(ctx);
	rig->cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	rig->init = (struct ibv_wq_init_attr){ .wq_context = rig,
					       .wq_type = IBV_WQT_RQ,
					       .max_wr = 10,
					       .max_sge = 1,
					       .pd = rig->pd,
					       .cq = rig->cq };
}

static void rig_down(struct rig *rig)
{
	assert_int_equal(ibv_destroy_cq(rig->cq), 0);
	assert_int_equal(ibv_dealloc_pd(rig->pd), 0);
}

static void test_life(void **state)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_wq *wq;
	struct rig rig;

	rig_up(*state, &rig);
	wq = ibv_create_wq(*state, &rig.init);
	assert_non_null(wq);
	assert_ptr_equal(wq->context, *state);
	assert_ptr_equal(wq->wq_context, &rig);
	assert_ptr_equal(wq->pd, rig.pd);
	assert_ptr_equal(wq->cq, rig.cq);
	assert_int_equal(wq->wq_num, 0x77);
	assert_int_equal(wq->wq_type, IBV_WQT_RQ);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_int_equal(rig.init.max_wr, 14);
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	attr.attr_mask = IBV_WQ_ATTR_CURR_STATE;
	attr.wq_state = IBV_WQS_RESET;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_log_empty();
	rig_down(&rig);
}

static void wq_refused(struct ibv_context *ctx, struct ibv_wq_init_attr init, int error,
		       const char *words)
{
	errno = 0;
	assert_null(ibv_create_wq(ctx, &init));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_create_mistakes(void **state)
{
	struct ibv_context *other;
	struct rig rig, foreign;
	struct ibv_wq_init_attr init;

	rig_up(*state, &rig);
	other = fake_open(fake_of(*state));
	rig_up(other, &foreign);
	assert_null(ibv_create_wq(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_create_wq: wq_init_attr is NULL");
	init = rig.init;
	init.comp_mask = 1 << 7;
	wq_refused(*state, init, EINVAL, "ibv_create_wq: comp_mask 0x80: 0x1 are known");
	init = rig.init;
	init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
	init.create_flags = 1 << 20;
	wq_refused(*state, init, EOPNOTSUPP, "create_flags 0x100000: 0xf are known");
	init = rig.init;
	init.pd = NULL;
	wq_refused(*state, init, EINVAL, "pd is NULL");
	init = rig.init;
	init.cq = NULL;
	wq_refused(*state, init, EINVAL, "cq is NULL");
	init = rig.init;
	init.cq = foreign.cq;
	wq_refused(*state, init, EINVAL, "must be of this context");
	init = rig.init;
	init.pd = foreign.pd;
	wq_refused(*state, init, EINVAL, "must be of this context");
	result = -EINVAL;
	init = rig.init;
	init.max_wr = 2000;
	wq_refused(
		*state, init, EINVAL,
		"max_wr 2000 is above the device's max_qp_wr 1000; the device has no work queues");
	fake_of(*state)->ops.create_wq = NULL;
	wq_refused(*state, rig.init, EOPNOTSUPP, "ibv_create_wq: not supported");
	rig_down(&foreign);
	fake_close(other);
	rig_down(&rig);
}

static void test_modify_mistakes(void **state)
{
	struct ibv_wq_attr attr = { .attr_mask = 8 };
	struct ibv_wq *wq;
	struct rig rig;

	rig_up(*state, &rig);
	wq = ibv_create_wq(*state, &rig.init);
	assert_int_equal(ibv_modify_wq(wq, NULL), EINVAL);
	assert_logged("wq_attr is NULL");
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	assert_logged("wq 0: ibv_modify_wq: attr_mask 0x8: 0x7 are known");
	attr.attr_mask = IBV_WQ_ATTR_FLAGS;
	attr.flags_mask = 1 << 20;
	assert_int_equal(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	assert_logged("flags_mask 0x100000");
	result = -EIO;
	attr.attr_mask = IBV_WQ_ATTR_STATE;
	attr.wq_state = IBV_WQS_ERR;
	assert_int_equal(ibv_modify_wq(wq, &attr), EIO);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_logged("state 0 to 2: Input/output error");
	result = -EBUSY;
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_logged("ibv_destroy_wq: wq 0: Device or resource busy (other objects still use it)");
	result = 0;
	assert_int_equal(ibv_destroy_wq(wq), 0);
	rig_down(&rig);
}

static void table_refused(struct ibv_context *ctx, struct ibv_rwq_ind_table_init_attr init,
			  int error, const char *words)
{
	errno = 0;
	assert_null(ibv_create_rwq_ind_table(ctx, &init));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_table(void **state)
{
	struct ibv_context *other = fake_open(fake_of(*state));
	struct ibv_rwq_ind_table_init_attr init = {};
	struct ibv_wq *list[2], foreign = { .context = other };
	struct ibv_rwq_ind_table *table;
	struct rig rig;

	rig_up(*state, &rig);
	list[0] = list[1] = ibv_create_wq(*state, &rig.init);
	init = (struct ibv_rwq_ind_table_init_attr){ .log_ind_tbl_size = 1, .ind_tbl = list };
	table = ibv_create_rwq_ind_table(*state, &init);
	assert_non_null(table);
	assert_ptr_equal(table->context, *state);
	assert_int_equal(table->ind_tbl_num, 1);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_log_empty();
	assert_null(ibv_create_rwq_ind_table(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("init_attr is NULL");
	init.comp_mask = 1;
	table_refused(*state, init, EINVAL, "comp_mask 0x1: no bit is defined yet");
	init.comp_mask = 0;
	init.log_ind_tbl_size = 14;
	table_refused(*state, init, EINVAL, "log_ind_tbl_size 14: a table of 2^14 queues");
	init.log_ind_tbl_size = UINT32_MAX;
	table_refused(*state, init, EINVAL, "log_ind_tbl_size 4294967295");
	init.log_ind_tbl_size = 1;
	init.ind_tbl = NULL;
	table_refused(*state, init, EINVAL, "ind_tbl is NULL");
	init.ind_tbl = list;
	list[1] = NULL;
	table_refused(*state, init, EINVAL, "ind_tbl[1] is NULL");
	list[1] = &foreign;
	table_refused(*state, init, EINVAL, "ind_tbl[1] belongs to another context");
	list[1] = list[0];
	result = -ENOMEM;
	table_refused(*state, init, ENOMEM, "2^1 queues: Cannot allocate memory");
	result = 0;
	fake_of(*state)->ops.create_rwq_ind_table = NULL;
	table_refused(*state, init, EOPNOTSUPP, "not supported");
	assert_int_equal(ibv_destroy_wq(list[0]), 0);
	rig_down(&rig);
	fake_close(other);
}

/* The operation finds the attributes of a direct verb. */
static const void *seen_dv;

static int create_dv(struct verbs_wq *wq, const struct verbs_create_wq *in)
{
	seen_dv = in->dv;
	return 0;
}

static void test_direct(void **state)
{
	struct verbs_wq *wq;
	struct rig rig;
	int dv = 0;

	rig_up(*state, &rig);
	fake_of(*state)->ops.create_wq = create_dv;
	assert_int_equal(verbs_wq_create(*state,
					 &(struct verbs_create_wq){ .attr = &rig.init, .dv = &dv },
					 &wq),
			 0);
	assert_ptr_equal(seen_dv, &dv);
	assert_int_equal(ibv_destroy_wq(&wq->wq), 0);
	rig_down(&rig);
}

#define wq_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		wq_test(test_life),  wq_test(test_create_mistakes), wq_test(test_modify_mistakes),
		wq_test(test_table), wq_test(test_direct),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
