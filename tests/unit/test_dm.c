/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device memory, regions of it, the null region, and objects of other processes. */
#include "tests/unit/fake_device.h"

static int result;
static unsigned int unimported;

static int alloc_dm(struct verbs_dm *dm, const struct verbs_alloc_dm *in)
{
	dm->dm.handle = 9;
	return result;
}

static int free_dm(struct verbs_dm *dm)
{
	return result;
}

static int import_dm(struct verbs_dm *dm, uint32_t handle)
{
	dm->dm.handle = handle;
	return result;
}

static int unimport_dm(struct verbs_dm *dm)
{
	unimported++;
	return 0;
}

static int reg_dm_mr(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in)
{
	mr->ibv_mr.lkey = 0x51;
	return result;
}

static int null_mr(struct verbs_mr *mr)
{
	mr->ibv_mr.lkey = 0x52;
	return result;
}

static int import_mr(struct verbs_mr *mr, uint32_t handle)
{
	mr->ibv_mr.handle = handle;
	mr->ibv_mr.length = 10;
	return result;
}

static void unimport_mr(struct verbs_mr *mr)
{
	unimported++;
}

static int setup(void **state)
{
	int r = fake_setup(state);
	struct verbs_ops *ops = &fake_of(*state)->ops;

	ops->alloc_dm = alloc_dm;
	ops->free_dm = free_dm;
	ops->import_dm = import_dm;
	ops->unimport_dm = unimport_dm;
	ops->reg_dm_mr = reg_dm_mr;
	ops->alloc_null_mr = null_mr;
	ops->import_mr = import_mr;
	ops->unimport_mr = unimport_mr;
	result = 0;
	unimported = 0;
	return r;
}

static void test_alloc(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 100, .log_align_req = 3 };
	struct ibv_dm *dm = ibv_alloc_dm(*state, &attr);

	assert_non_null(dm);
	assert_ptr_equal(dm->context, *state);
	assert_int_equal(dm->comp_mask, IBV_DM_MASK_HANDLE);
	assert_int_equal(dm->handle, 9);
	ibv_unimport_dm(dm);
	assert_logged("ibv_unimport_dm: dm 9 was not imported");
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(unimported, 0);
	assert_null(ibv_alloc_dm(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_alloc_dm: attr is NULL");
	attr.comp_mask = 1;
	assert_null(ibv_alloc_dm(*state, &attr));
	assert_int_equal(errno, EINVAL);
	assert_logged("comp_mask 0x1: no bit is defined yet");
	attr.comp_mask = 0;
	result = -ENOMEM;
	assert_null(ibv_alloc_dm(*state, &attr));
	assert_int_equal(errno, ENOMEM);
	assert_logged(
		"ibv_alloc_dm: 100 bytes, aligned to 2^3: Cannot allocate memory; the device has "
		"no memory for programs");
	fake_of(*state)->ops.alloc_dm = NULL;
	assert_null(ibv_alloc_dm(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void test_above_limit(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 100 };

	fake_of(*state)->attr.max_dm_size = 64;
	result = -EINVAL;
	assert_null(ibv_alloc_dm(*state, &attr));
	assert_logged("length 100 is above the device's max_dm_size 64");
}

static void test_import_dm(void **state)
{
	struct ibv_dm *dm = ibv_import_dm(*state, 77);

	assert_non_null(dm);
	assert_int_equal(dm->handle, 77);
	ibv_unimport_dm(dm);
	assert_int_equal(unimported, 1);
	/* The processes agree on which of them frees the memory. It may be the process that
	 * imported it. */
	dm = ibv_import_dm(*state, 77);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_log_empty();
	result = -ENOENT;
	assert_null(ibv_import_dm(*state, 78));
	assert_int_equal(errno, ENOENT);
	assert_logged("ibv_import_dm: handle 78: No such file");
	fake_of(*state)->ops.import_dm = NULL;
	assert_null(ibv_import_dm(*state, 78));
	assert_int_equal(errno, EOPNOTSUPP);
}

static void reg_refused(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			unsigned int access, const char *words)
{
	errno = 0;
	assert_null(ibv_reg_dm_mr(pd, dm, offset, length, access));
	assert_int_equal(errno, EINVAL);
	assert_logged(words);
}

static void test_reg(void **state)
{
	const unsigned int zero = IBV_ACCESS_ZERO_BASED;
	struct ibv_alloc_dm_attr attr = { .length = 100 };
	struct ibv_context *other = fake_open(fake_of(*state));
	struct ibv_dm *dm = ibv_alloc_dm(*state, &attr), *foreign = ibv_alloc_dm(other, &attr);
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_mr *mr = ibv_reg_dm_mr(pd, dm, 60, 40, zero);

	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->length, 40);
	assert_int_equal(mr->lkey, 0x51);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_log_empty();
	reg_refused(pd, NULL, 0, 1, zero, "ibv_reg_dm_mr: dm is NULL");
	reg_refused(pd, dm, 0, 1, 0, "access needs IBV_ACCESS_ZERO_BASED");
	reg_refused(pd, dm, 0, 1, zero | IBV_ACCESS_REMOTE_WRITE, "need LOCAL_WRITE");
	reg_refused(pd, dm, 0, 1, zero | 1 << 15, "unknown flag");
	reg_refused(pd, dm, 61, 40, zero, "40 bytes from 61 on: the device memory has 100");
	reg_refused(pd, dm, UINT64_MAX, 2, zero, "the device memory has 100");
	reg_refused(pd, foreign, 0, 1, zero, "belongs to another context");
	/* The size of imported memory is unknown: the device judges. */
	assert_int_equal(ibv_free_dm(dm), 0);
	dm = ibv_import_dm(*state, 5);
	mr = ibv_reg_dm_mr(pd, dm, 1 << 20, 1, zero);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	result = -ENOSPC;
	assert_null(ibv_reg_dm_mr(pd, dm, 3, 4, zero));
	assert_int_equal(errno, ENOSPC);
	assert_logged("dm 5, 4 bytes from 3 on: No space left");
	result = 0;
	fake_of(*state)->ops.reg_dm_mr = NULL;
	assert_null(ibv_reg_dm_mr(pd, dm, 3, 4, zero));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_unimport_dm(dm);
	assert_int_equal(ibv_free_dm(foreign), 0);
	fake_close(other);
	ibv_dealloc_pd(pd);
}

static void test_null_mr(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_mr *mr = ibv_alloc_null_mr(pd);

	assert_non_null(mr);
	assert_null(mr->addr);
	assert_int_equal(mr->lkey, 0x52);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	result = -ENOMEM;
	assert_null(ibv_alloc_null_mr(pd));
	assert_int_equal(errno, ENOMEM);
	assert_logged("ibv_alloc_null_mr: Cannot allocate memory");
	fake_of(*state)->ops.alloc_null_mr = NULL;
	assert_null(ibv_alloc_null_mr(pd));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

static void test_import_mr(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_mr *mr = ibv_import_mr(pd, 8), *own;
	char byte;

	assert_non_null(mr);
	assert_int_equal(mr->handle, 8);
	assert_int_equal(mr->length, 10);
	assert_null(mr->addr);
	ibv_unimport_mr(mr);
	assert_int_equal(unimported, 1);
	/* The processes agree on which of them destroys the region. It may be the process that
	 * imported it. */
	mr = ibv_import_mr(pd, 8);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(fake_of(*state)->calls[FAKE_DEREG_MR], 1);
	assert_log_empty();
	own = ibv_reg_mr(pd, &byte, 1, 0);
	ibv_unimport_mr(own);
	assert_logged("ibv_unimport_mr: mr 0 was not imported");
	assert_int_equal(ibv_dereg_mr(own), 0);
	result = -ENOENT;
	assert_null(ibv_import_mr(pd, 9));
	assert_int_equal(errno, ENOENT);
	assert_logged("ibv_import_mr: handle 9: No such file or directory; no such region");
	fake_of(*state)->ops.import_mr = NULL;
	assert_null(ibv_import_mr(pd, 9));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

#define dm_test(f) cmocka_unit_test_setup_teardown(f, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		dm_test(test_alloc), dm_test(test_above_limit), dm_test(test_import_dm),
		dm_test(test_reg),   dm_test(test_null_mr),	dm_test(test_import_mr),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
