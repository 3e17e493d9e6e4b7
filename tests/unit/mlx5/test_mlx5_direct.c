/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct verbs: the attributes of objects, and refusal of objects of other providers. */
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "tests/unit/mlx5/fake.h"

static const struct verbs_provider mlx5 = { .name = "mlx5" }, other = { .name = "rxe" };

static struct fake *create(struct verbs_device *device, const struct verbs_provider *provider)
{
	struct fake *f = fake_create(IBV_QPT_RC);

	*device = (struct verbs_device){ .provider = provider };
	f->ctx->vctx.context.device = &device->device;
	f->ctx->info.bf_reg_size = 512;
	f->bfreg.mmap_offset = 0x3000;
	f->bfreg.blueflame = true;
	f->bfreg.bf_ds = f->bfreg.size / MLX_SEGMENT;
	f->cq.buf.base = f->cqes;
	fake_srq(f);
	return f;
}

static void test_init_obj(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx5);
	struct mlx5dv_qp qp = { .comp_mask = ~0ull };
	struct mlx5dv_cq cq = { .comp_mask = ~0ull };
	struct mlx5dv_srq srq = { .comp_mask = ~0ull };
	struct mlx5dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp },
				  .cq = { &f->cq.vcq.cq, &cq },
				  .srq = { &f->srq.vsrq.srq, &srq } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_SRQ), 0);
	assert_ptr_equal(qp.dbrec, f->record);
	assert_ptr_equal(qp.sq.buf, f->sq);
	assert_int_equal(qp.sq.wqe_cnt, 64);
	assert_int_equal(qp.sq.stride, 64);
	assert_int_equal(qp.rq.wqe_cnt, 64);
	assert_ptr_equal(qp.bf.reg, f->uar + 0x800);
	assert_int_equal(qp.bf.size, 256);
	/* The answer has the bits of the known members. */
	assert_int_equal(qp.comp_mask, MLX5DV_QP_MASK_UAR_MMAP_OFFSET |
					       MLX5DV_QP_MASK_RAW_QP_HANDLES |
					       MLX5DV_QP_MASK_RAW_QP_TIR_ADDR);
	assert_int_equal(qp.tirn, 0);
	assert_int_equal(qp.tisn, 0);
	assert_int_equal(qp.uar_mmap_offset, 0x3000);
	assert_int_equal(cq.cqe_cnt, 64);
	assert_int_equal(cq.cqn, 0x4d);
	assert_ptr_equal(cq.cq_uar, f->uar);
	assert_int_equal(srq.stride, 32);
	assert_int_equal(srq.comp_mask, MLX5DV_SRQ_MASK_SRQN);
	assert_int_equal(mlx5dv_init_obj(&obj, 0), EINVAL);
	assert_int_equal(mlx5dv_init_obj(&obj, 1ull << 40), EINVAL);
	fake_free(f);
}

/* A ring that was handed out is not cleaned, because the program keeps its own index. */
static void test_cq_given_away(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx5);
	struct mlx5dv_cq cq = {};
	struct mlx5dv_obj obj = { .cq = { &f->cq.vcq.cq, &cq } };
	struct mlx5_cqe64 *cqe = (void *)f->cqes;

	cqe->srqn_uidx = htobe32(f->qp.uidx);
	cqe->op_own = 0;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	mlx5_cqs_clean(&f->qp, false);
	assert_int_equal(f->cq_record[0], 0);
	fake_free(f);
}

static void test_query(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &mlx5);
	struct mlx5dv_context out;

	memset(&out, 0x5a, sizeof(out));
	out.comp_mask = MLX5DV_CONTEXT_MASK_DYN_BFREGS | MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
	f->ctx->info.num_dyn_bfregs = 1024;
	assert_int_equal(mlx5dv_query_device(&f->ctx->vctx.context, &out), 0);
	assert_int_equal(out.version, 0);
	assert_int_equal(out.flags, MLX5DV_CONTEXT_FLAGS_CQE_V1 | MLX5DV_CONTEXT_FLAGS_BLUEFLAME);
	assert_int_equal(out.comp_mask, MLX5DV_CONTEXT_MASK_DYN_BFREGS);
	assert_int_equal(out.max_dynamic_bfregs, 1024);
	/* The struct of an older program ends before fields that it does not ask for. */
	assert_int_equal(out.num_lag_ports, 0x5a);
	fake_free(f);
}

static void test_others(void **state)
{
	struct verbs_device device;
	struct fake *f = create(&device, &other);
	struct mlx5dv_qp qp;
	struct mlx5dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp } };
	struct mlx5dv_context out = {};

	assert_false(mlx5dv_is_supported(&device.device));
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), EOPNOTSUPP);
	assert_int_equal(mlx5dv_query_device(&f->ctx->vctx.context, &out), EOPNOTSUPP);
	assert_null(mlx5dv_open_device(&device.device, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	fake_free(f);
}

static struct uverbs_attr seen;
static uint16_t seen_count;

static int see_dmabuf(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in)
{
	seen_count = in->udata->attr_count;
	seen = in->udata->attrs[0];
	mr->ibv_mr.lkey = in->fd;
	return 0;
}

/* The driver gets the flag of the direct path to the buffer, and no attribute for the usual
 * path. */
static void test_dmabuf(void **state)
{
	static const struct verbs_ops ops = { .reg_dmabuf_mr = see_dmabuf };
	static struct verbs_ex_private priv = { .ops = &ops, .provider = &mlx5 };
	struct verbs_device device;
	struct fake *f = create(&device, &mlx5);
	struct verbs_pd pd = { .pd.context = &f->ctx->vctx.context };
	struct ibv_mr *mr;

	f->ctx->vctx.priv = &priv;
	mr = mlx5dv_reg_dmabuf_mr(&pd.pd, 4096, 100, 0, 7, 0, MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT);
	assert_non_null(mr);
	assert_int_equal(mr->lkey, 7);
	assert_int_equal(mr->length, 100);
	assert_int_equal(seen_count, 1);
	assert_int_equal(seen.kernel.attr_id, MLX5_IB_ATTR_REG_DMABUF_MR_ACCESS_FLAGS);
	assert_int_equal(seen.kernel.data, 1);
	free(mr);
	mr = mlx5dv_reg_dmabuf_mr(&pd.pd, 4096, 100, 0, 7, 0, 0);
	assert_non_null(mr);
	assert_int_equal(seen_count, 0);
	free(mr);
	assert_null(mlx5dv_reg_dmabuf_mr(&pd.pd, 4096, 100, 0, 7, 0, 2));
	assert_int_equal(errno, EINVAL);
	device.provider = &other;
	assert_null(mlx5dv_reg_dmabuf_mr(&pd.pd, 4096, 100, 0, 7, 0, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	fake_free(f);
}

/* Objects of other providers are refused, even if an object of this provider is named, too. */
static void test_mixed(void **state)
{
	struct verbs_device device, foreign;
	struct fake *f = create(&device, &mlx5), *g = create(&foreign, &other);
	struct mlx5dv_qp qp;
	struct mlx5dv_cq cq = { .cqn = 0x55 };
	struct mlx5dv_obj obj = { .qp = { &f->qp.vqp.qp, &qp }, .cq = { &g->cq.vcq.cq, &cq } };

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), EOPNOTSUPP);
	assert_int_equal(cq.cqn, 0x55);
	assert_false(g->cq.by_program);
	fake_free(f);
	fake_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_init_obj), cmocka_unit_test(test_cq_given_away),
		cmocka_unit_test(test_query),	 cmocka_unit_test(test_others),
		cmocka_unit_test(test_mixed),	 cmocka_unit_test(test_dmabuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
