/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct verbs: the attributes of objects, refusal of objects of other providers, and queues in
 * memory of a program. */
#include "tests/unit/mlx4/fake.h"

static const struct verbs_provider mlx4 = { .name = "mlx4" }, other = { .name = "rxe" };

static struct fake *create(struct verbs_device *device, const struct verbs_provider *provider)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	*device = (struct verbs_device){ .provider = provider };
	f->ctx->vctx.context.device = &device->device;
	f->ctx->max_inl_recv = 512;
	f->qp.buf.base = f->sq;
	f->cq.buf.base = f->cqes;
	f->cq.vcq.cq.context = f->qp.vqp.qp.context;
	fake_srq(f);
	f->srq.buf.base = f->srqes;
	return f;
}

static void test_init_obj(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx4);
	struct mlx4dv_qp qp = { .comp_mask = ~0ull };
	struct mlx4dv_cq cq = { .comp_mask = ~0ull };
	struct mlx4dv_srq srq = { .comp_mask = ~0ull };
	struct mlx4dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp },
				  .cq = { &f->cq.vcq.cq, &cq },
				  .srq = { &f->srq.vsrq.srq, &srq } };

	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ | MLX4DV_OBJ_SRQ), 0);
	assert_ptr_equal(qp.rdb, &f->record);
	assert_ptr_equal(qp.sdb, f->uar + 0x14);
	ASSERT_WORDS(&qp.doorbell_qpn, FAKE_QPN << 8);
	assert_int_equal(qp.sq.wqe_cnt, 64);
	assert_int_equal(qp.sq.wqe_shift, 6);
	assert_int_equal(qp.sq.offset, 0);
	assert_int_equal(qp.rq.wqe_cnt, 128);
	assert_int_equal(qp.rq.wqe_shift, 5);
	/* Only available attributes are granted. */
	assert_int_equal(qp.comp_mask, MLX4DV_QP_MASK_UAR_MMAP_OFFSET);
	assert_int_equal(qp.uar_mmap_offset, 0);
	assert_int_equal(cq.cqe_cnt, 64);
	assert_int_equal(cq.cqe_size, 64);
	assert_int_equal(cq.cqn, 0x81);
	assert_int_equal(cq.arm_sn, 1);
	assert_ptr_equal(cq.set_ci_db, f->cq_record);
	assert_ptr_equal(cq.arm_db, f->cq_record + 1);
	assert_int_equal(cq.comp_mask, MLX4DV_CQ_MASK_UAR);
	assert_ptr_equal(cq.cq_uar, f->uar);
	assert_int_equal(srq.wqe_shift, 5);
	assert_int_equal(srq.head, 0);
	assert_int_equal(srq.tail, 127);
	assert_int_equal(srq.comp_mask, 0);
	assert_int_equal(mlx4dv_init_obj(&obj, 0), EINVAL);
	fake_free(f);
}

/* A ring that was handed out is not cleaned, because the program keeps its own index. */
static void test_cq_given_away(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx4);
	struct mlx4dv_cq cq = {};
	struct mlx4dv_obj obj = { .cq = { &f->cq.vcq.cq, &cq } };
	struct mlx4_cqe *cqe = (void *)(f->cqes + 32);

	cqe->vlan_my_qpn = htobe32(FAKE_QPN);
	cqe->owner_sr_opcode = MLX4_CQE_IS_SEND_MASK;
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ), 0);
	mlx4_cqs_clean(&f->qp, false);
	assert_int_equal(f->cq_record[0], 0);
	fake_free(f);
}

static void test_query(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx4);
	struct mlx4dv_context out = { .comp_mask = ~0ull };

	assert_int_equal(mlx4dv_query_device(&f->ctx->vctx.context, &out), 0);
	assert_int_equal(out.version, 0);
	assert_int_equal(out.max_inl_recv_sz, 512);
	assert_int_equal(out.comp_mask, 0);
	fake_free(f);
}

static void test_others(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &other);
	struct mlx4dv_qp qp;
	struct mlx4dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp } };
	struct mlx4dv_context out = {};
	struct mlx4dv_ctx_allocators from = {};
	struct ibv_qp_init_attr_ex attr = {};

	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP), EOPNOTSUPP);
	assert_int_equal(mlx4dv_query_device(&f->ctx->vctx.context, &out), EOPNOTSUPP);
	assert_int_equal(mlx4dv_set_context_attr(&f->ctx->vctx.context,
						 MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &from),
			 EOPNOTSUPP);
	assert_null(mlx4dv_create_qp(&f->ctx->vctx.context, &attr, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	fake_free(f);
}

/* Objects of other providers are refused, even if an object of this provider is named, too. */
static void test_mixed(void **state)
{
	struct verbs_device device, foreign;
	struct fake *f = create(&device, &mlx4), *g = create(&foreign, &other);
	struct mlx4dv_qp qp;
	struct mlx4dv_cq cq = { .cqn = 0x55 };
	struct mlx4dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp }, .cq = { &g->cq.vcq.cq, &cq } };

	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ), EOPNOTSUPP);
	assert_int_equal(cq.cqn, 0x55);
	assert_false(g->cq.by_program);
	fake_free(f);
	fake_free(g);
}

static int given;

static void *give(size_t size, void *data)
{
	assert_int_equal(size % sysconf(_SC_PAGESIZE), 0);
	assert_ptr_equal(data, &given);
	given++;
	return aligned_alloc(sysconf(_SC_PAGESIZE), size);
}

static void take(void *memory, void *data)
{
	given--;
	free(memory);
}

static void test_allocators(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx4);
	struct ibv_context *ctx = &f->ctx->vctx.context;
	struct mlx4dv_ctx_allocators from = { give, take, &given }, none = {}, half = { give };
	uint8_t log_range = 1;
	struct kit_buf buf;
	__be32 *record;

	dbrec_pool_init(&f->ctx->records, 64);
	f->ctx->records.allocator = &f->ctx->allocator;
	assert_int_equal(mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &from),
			 0);
	assert_int_equal(kit_buf_alloc_from(&buf, 100, &f->ctx->allocator), 0);
	assert_int_equal(dbrec_alloc(&f->ctx->records, NULL, &record), 0);
	assert_int_equal(given, 2);
	/* Memory goes back to the allocator that gave it, even if another allocator is set by
	 * then. */
	assert_int_equal(mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &none),
			 0);
	kit_buf_free(&buf);
	dbrec_free(&f->ctx->records, record, NULL);
	assert_int_equal(given, 0);
	assert_int_equal(kit_buf_alloc_from(&buf, 100, &f->ctx->allocator), 0);
	assert_int_equal(given, 0);
	kit_buf_free(&buf);
	assert_int_equal(mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_BUF_ALLOCATORS, &half),
			 EINVAL);
	assert_int_equal(
		mlx4dv_set_context_attr(ctx, MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ, &log_range), 0);
	assert_int_equal(f->ctx->log_wq_range, log_range);
	assert_int_equal(mlx4dv_set_context_attr(ctx, 7, &log_range), EOPNOTSUPP);
	dbrec_pool_destroy(&f->ctx->records);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init_obj),   cmocka_unit_test(test_cq_given_away),
		cmocka_unit_test(test_query),	   cmocka_unit_test(test_others),
		cmocka_unit_test(test_allocators), cmocka_unit_test(test_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
