/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs and shared receive queues with a fake kernel: rings, limits, failures. */
#include "tests/unit/rxe/fake.h"

static struct {
	int result; /* of the next command */
	struct mminfo rq, sq;
	struct ibv_qp_cap cap; /* granted */
	int destroyed, destroy_result;
} kernel;

int uverbs_create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in)
{
	struct rxe_create_qp_resp resp = { .rq_mi = kernel.rq, .sq_mi = kernel.sq };

	assert_int_equal(in->udata->in_len, 0);
	assert_int_equal(in->udata->out_len, 32);
	memcpy(in->udata->out, &resp, sizeof(resp));
	in->attr->cap = kernel.cap;
	qp->qp.handle = 9;
	return kernel.result;
}

int uverbs_destroy_qp(struct verbs_qp *qp)
{
	kernel.destroyed++;
	return kernel.destroy_result;
}

int uverbs_query_qp(struct verbs_qp *qp, const struct verbs_query_qp *in)
{
	return kernel.result;
}

int uverbs_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	struct rxe_create_srq_resp resp = { .mi = kernel.rq };

	assert_int_equal(in->udata->out_len, 24);
	memcpy(in->udata->out, &resp, sizeof(resp));
	in->attr->attr.max_sge = kernel.cap.max_recv_sge;
	return kernel.result;
}

int uverbs_modify_srq(struct verbs_srq *srq, const struct verbs_modify_srq *in)
{
	const struct rxe_modify_srq_cmd *cmd = in->udata->in;

	assert_int_equal(in->udata->in_len, 8);
	assert_int_not_equal(cmd->mmap_info_addr, 0);
	if (in->mask & IBV_SRQ_MAX_WR && !kernel.result)
		memcpy((void *)(uintptr_t)cmd->mmap_info_addr, &kernel.rq, sizeof(kernel.rq));
	return kernel.result;
}

int uverbs_destroy_srq(struct verbs_srq *srq)
{
	kernel.destroyed++;
	return kernel.destroy_result;
}

/* One file is the device: a receive ring at 0, a send ring at 4096. */
static struct fake *device(void)
{
	struct rxe_queue_buf rq = { .log2_elem_size = 6, .index_mask = 15 };
	struct rxe_queue_buf sq = { .log2_elem_size = 8, .index_mask = 7 };
	struct fake *f = fake_create(IBV_QPT_RC, 0);
	int fd = memfd_create("rings", 0);

	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(pwrite(fd, &rq, sizeof(rq), 0), sizeof(rq));
	assert_int_equal(pwrite(fd, &sq, sizeof(sq), 4096), sizeof(sq));
	f->vctx.context.cmd_fd = fd;
	kernel.result = kernel.destroyed = kernel.destroy_result = 0;
	kernel.rq = (struct mminfo){ .size = 4096 };
	kernel.sq = (struct mminfo){ .size = 4096, .offset = 4096 };
	kernel.cap =
		(struct ibv_qp_cap){ .max_send_sge = 3, .max_recv_sge = 1, .max_inline_data = 48 };
	return f;
}

static void device_free(struct fake *f)
{
	close(f->vctx.context.cmd_fd);
	fake_free(f);
}

static struct ibv_qp_init_attr_ex rc_attr(void)
{
	return (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_RC,
					     .comp_mask = IBV_QP_INIT_ATTR_PD };
}

static int create(struct fake *f, struct rxe_qp *qp, struct ibv_qp_init_attr_ex *attr,
		  bool extended)
{
	struct verbs_create_qp in = { .attr = attr, .extended = extended };

	*qp = (struct rxe_qp){ .vqp.qp.context = &f->vctx.context };
	return rxe_create_qp(&qp->vqp, &in);
}

static void test_create(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.sq.mask, 7);
	assert_int_equal(qp.rq.queue.mask, 15);
	/* The limits are those the kernel granted. */
	assert_int_equal(qp.max_send_sge, 3);
	assert_int_equal(qp.max_inline, 48);
	assert_int_equal(qp.rq.max_sge, 1);
	assert_int_equal(qp.doorbell.cmd.qp_handle, 9);
	assert_int_equal(qp.vqp.comp_mask & VERBS_QP_EX, 0);
	/* The rings stay mapped as long as the kernel's object exists. */
	kernel.destroy_result = -EBUSY;
	assert_int_equal(rxe_destroy_qp(&qp.vqp), -EBUSY);
	assert_non_null(qp.sq.buf);
	kernel.destroy_result = 0;
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	assert_null(qp.sq.buf);
	assert_null(qp.rq.queue.buf);
	device_free(f);
}

static void test_operations(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.send_ops, 0x3ff);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	attr.qp_type = IBV_QPT_UC;
	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.send_ops, 0x10f);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	attr.qp_type = IBV_QPT_UD;
	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.send_ops, 0xc);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	device_free(f);
}

static void test_create_with_srq(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct ibv_srq srq;
	struct rxe_qp qp;

	attr.srq = &srq;
	kernel.rq = (struct mminfo){};
	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_null(qp.rq.queue.buf);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	device_free(f);
}

static void test_create_ex(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	assert_int_equal(create(f, &qp, &attr, true), 0);
	assert_int_equal(qp.vqp.comp_mask & VERBS_QP_EX, VERBS_QP_EX);
	assert_non_null(qp.vqp.qp_ex.wr_start);
	assert_null(qp.vqp.qp_ex.wr_send);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	assert_int_equal(create(f, &qp, &attr, true), 0);
	assert_non_null(qp.vqp.qp_ex.wr_send);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	device_free(f);
}

/* The kernel decides which types exist. A QP of a type unknown to this provider cannot send. */
static void test_other_types(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	attr.qp_type = IBV_QPT_RAW_PACKET;
	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.send_ops, 0);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	attr.qp_type = IBV_QPT_DRIVER;
	assert_int_equal(create(f, &qp, &attr, false), 0);
	assert_int_equal(qp.send_ops, 0);
	assert_int_equal(rxe_destroy_qp(&qp.vqp), 0);
	device_free(f);
}

static void test_refused(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_int_equal(create(f, &qp, &attr, true), -EOPNOTSUPP);
	attr.create_flags = 0;
	attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	assert_int_equal(create(f, &qp, &attr, true), -EOPNOTSUPP);
	attr = rc_attr();
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
	assert_int_equal(create(f, &qp, &attr, true), -EOPNOTSUPP);
	assert_int_equal(kernel.destroyed, 0);
	device_free(f);
}

/* A ring that cannot be mapped or is too small for the granted limits: the QP is destroyed
 * again. */
static void test_map_fails(void **state)
{
	struct ibv_qp_init_attr_ex attr = rc_attr();
	struct fake *f = device();
	struct rxe_qp qp;

	kernel.result = -ENOMEM;
	assert_int_equal(create(f, &qp, &attr, false), -ENOMEM);
	assert_int_equal(kernel.destroyed, 0);
	kernel.result = 0;
	kernel.sq.size = 100;
	assert_int_equal(create(f, &qp, &attr, false), -EIO);
	assert_int_equal(kernel.destroyed, 1);
	assert_null(qp.rq.queue.buf);
	kernel.sq.size = 4096;
	kernel.cap.max_inline_data = 49;
	assert_int_equal(create(f, &qp, &attr, false), -EIO);
	kernel.cap.max_inline_data = 48;
	kernel.cap.max_recv_sge = 2;
	assert_int_equal(create(f, &qp, &attr, false), -EIO);
	assert_int_equal(kernel.destroyed, 3);
	assert_null(qp.sq.buf);
	device_free(f);
}

static void test_srq(void **state)
{
	struct fake *f = device();
	struct rxe_srq srq = { .vsrq.srq.context = &f->vctx.context };
	struct ibv_srq_init_attr_ex init = { .attr.max_sge = 1 };
	struct verbs_create_srq in = { .attr = &init };
	struct ibv_srq_attr attr = { .max_wr = 7, .srq_limit = 1 };
	struct verbs_modify_srq modify = { .attr = &attr, .mask = IBV_SRQ_LIMIT };

	assert_int_equal(rxe_create_srq(&srq.vsrq, &in), 0);
	assert_int_equal(srq.rq.queue.mask, 15);
	assert_int_equal(rxe_modify_srq(&srq.vsrq, &modify), 0);
	assert_int_equal(srq.rq.queue.mask, 15);
	/* A resized ring is a new mapping. */
	modify.mask = IBV_SRQ_MAX_WR;
	kernel.rq = kernel.sq;
	assert_int_equal(rxe_modify_srq(&srq.vsrq, &modify), 0);
	assert_int_equal(srq.rq.queue.mask, 7);
	kernel.result = -EINVAL;
	assert_int_equal(rxe_modify_srq(&srq.vsrq, &modify), -EINVAL);
	assert_int_equal(srq.rq.queue.mask, 7);
	/* If a ring cannot be mapped, the old mapping stays, which is harmless. */
	kernel.result = 0;
	kernel.rq.size = 0;
	assert_int_equal(rxe_modify_srq(&srq.vsrq, &modify), -EIO);
	assert_non_null(srq.rq.queue.buf);
	assert_int_equal(atomic_load(&srq.rq.lock.held), 0);
	assert_int_equal(rxe_destroy_srq(&srq.vsrq), 0);
	assert_null(srq.rq.queue.buf);
	assert_int_equal(rxe_create_srq(&srq.vsrq, &in), -EIO);
	assert_int_equal(kernel.destroyed, 2);
	device_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_create_with_srq), cmocka_unit_test(test_create_ex),
		cmocka_unit_test(test_other_types),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_map_fails),	cmocka_unit_test(test_srq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
