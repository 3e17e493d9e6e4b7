/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory regions and windows, and the explanations of a failed registration. */
#include <string.h>

#include "libibverbs/mr.h"
#include "tests/unit/fake_device.h"

static char memory[8192] __attribute__((aligned(4096)));

static void test_life(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_mr *mr =
		ibv_reg_mr(pd, memory, 100, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);

	assert_non_null(mr);
	assert_ptr_equal(mr->context, *state);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, memory);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->lkey, 0x100);
	assert_int_equal(fake->reg_mr.iova, (uintptr_t)memory);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(pd, memory, 100, 0x5000, 0);
	assert_int_equal(fake->reg_mr.iova, 0x5000);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_log_empty();
	ibv_dealloc_pd(pd);
}

static void reg_refused(struct ibv_pd *pd, void *addr, size_t length, int access, const char *words)
{
	struct fake_device *fake = fake_of(pd->context);
	unsigned int calls = fake->calls[FAKE_REG_MR];

	errno = 0;
	assert_null(ibv_reg_mr(pd, addr, length, access));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake->calls[FAKE_REG_MR], calls);
	assert_logged(words);
}

static void test_mistakes(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);

	reg_refused(pd, memory, 1, IBV_ACCESS_REMOTE_WRITE,
		    "access REMOTE_WRITE: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE");
	reg_refused(pd, memory, 1, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ,
		    "access REMOTE_READ|REMOTE_ATOMIC: REMOTE_WRITE and");
	reg_refused(pd, memory, 1, IBV_ACCESS_LOCAL_WRITE | 1 << 15,
		    "access LOCAL_WRITE|0x8000: unknown flag");
	reg_refused(pd, memory, SIZE_MAX, 0, "goes beyond the end of the address space");
	assert_null(ibv_reg_mr(NULL, memory, 1, 0));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_reg_mr: pd is NULL");
	assert_null(ibv_reg_dmabuf_mr(pd, 0, 1, 0, 3, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_reg_dmabuf_mr: access REMOTE_WRITE: ");
	assert_null(ibv_reg_dmabuf_mr(pd, UINT64_MAX, 1, 0, 3, 0));
	assert_logged("goes beyond the end");
	ibv_dealloc_pd(pd);
}

/* The whole address space, on demand: the only valid range of that length. */
static void test_implicit_on_demand(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_mr *mr = ibv_reg_mr(pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd);
}

static void test_refused_by_device(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);

	fake->result[FAKE_REG_MR] = -EFAULT;
	assert_null(ibv_reg_mr(pd, (void *)4096, 100, 0));
	assert_int_equal(errno, EFAULT);
	assert_logged(
		"fake0 ibv_reg_mr: addr 0x1000, length 100, access none: Bad address; nothing "
		"is mapped at 0x1000");
	assert_null(ibv_reg_mr(pd, (void *)(uintptr_t) "read-only", 5, IBV_ACCESS_LOCAL_WRITE));
	assert_logged("is in a mapping that is not writable");
	fake->result[FAKE_REG_MR] = -EINVAL;
	assert_null(ibv_reg_mr(pd, memory, 0, 0));
	assert_logged("; the length is 0");
	assert_null(ibv_reg_mr_iova(pd, memory, 10, 1, 0));
	assert_logged("; iova 0x1 and addr differ in their offset within a page");
	assert_null(ibv_reg_mr(pd, memory, 10, IBV_ACCESS_ON_DEMAND));
	assert_logged("; the device has no on-demand paging");
	fake->attr.orig_attr.max_mr_size = 5;
	ibv_dealloc_pd(pd);
}

/* Optional flags are dropped for a kernel that does not know them. */
static int refuse_optional(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	fake_of(in->pd->context)->calls[FAKE_REG_MR]++;
	return in->access & IBV_ACCESS_OPTIONAL_RANGE ? -EINVAL : 0;
}

static void test_optional_access(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 1, access);

	assert_int_equal(fake->reg_mr.access, access);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	fake->ops.reg_mr = refuse_optional;
	fake->calls[FAKE_REG_MR] = 0;
	mr = ibv_reg_mr(pd, memory, 1, access);
	assert_non_null(mr);
	assert_int_equal(fake->calls[FAKE_REG_MR], 2);
	assert_int_equal(to_vmr(mr)->access, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_log_empty();
	ibv_dealloc_pd(pd);
}

static void test_dmabuf(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 4096, 100, 0, 3, 0);

	assert_non_null(mr);
	assert_int_equal((uintptr_t)mr->addr, 4096);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	fake->result[FAKE_REG_DMABUF_MR] = -EPROTONOSUPPORT;
	assert_null(ibv_reg_dmabuf_mr(pd, 0, 1, 0, 3, 0));
	assert_int_equal(errno, EPROTONOSUPPORT);
	assert_logged("registering a dma-buf needs Linux 5.12");
	fake->result[FAKE_REG_DMABUF_MR] = -EBADF;
	assert_null(ibv_reg_dmabuf_mr(pd, 0, 1, 0, -1, 0));
	assert_logged("the descriptor is not open");
	fake->ops.reg_dmabuf_mr = NULL;
	assert_null(ibv_reg_dmabuf_mr(pd, 0, 1, 0, 3, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

static void test_rereg(void **state)
{
	struct ibv_pd *pd = fake_pd(*state), *other = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 100, 0);

	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	assert_ptr_equal(mr->pd, other);
	assert_int_equal(mr->length, 100);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory + 4096, 7, 0), 0);
	assert_ptr_equal(mr->addr, memory + 4096);
	assert_int_equal(mr->length, 7);
	fake->result[FAKE_REREG_MR] = -ENOSPC;
	errno = 0;
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, ENOSPC);
	assert_logged("only deregistered");
	fake->result[FAKE_REREG_MR] = -EOPNOTSUPP;
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("the region is as it was");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd);
	ibv_dealloc_pd(other);
}

static void rereg_refused(struct ibv_mr *mr, int flags, void *addr, size_t length, int access,
			  const char *words)
{
	struct fake_device *fake = fake_of(mr->context);

	errno = 0;
	assert_int_equal(ibv_rereg_mr(mr, flags, NULL, addr, length, access),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fake->calls[FAKE_REREG_MR], 0);
	assert_logged(words);
}

static void test_rereg_mistakes(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 100, 0);

	rereg_refused(mr, 0, NULL, 0, 0, "flags must be some of");
	rereg_refused(mr, 8, NULL, 0, 0, "flags must be some of");
	rereg_refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, 4, 0, "needs an address");
	rereg_refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, memory, 0, 0, "and a length");
	rereg_refused(mr, IBV_REREG_MR_CHANGE_PD, NULL, 0, 0, "needs a protection domain");
	rereg_refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, memory, 1, IBV_ACCESS_LOCAL_WRITE,
		      "without CHANGE_ACCESS");
	rereg_refused(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, IBV_ACCESS_REMOTE_WRITE,
		      "need LOCAL_WRITE");
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd);
}

static void test_dereg_busy(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, 100, 0);

	fake->result[FAKE_DEREG_MR] = -EBUSY;
	assert_int_equal(ibv_dereg_mr(mr), EBUSY);
	fake->result[FAKE_DEREG_MR] = 0;
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_dealloc_pd(pd);
}

static void test_advise(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_sge sge = {};

	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), 0);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 1), EINVAL);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 0), EINVAL);
	fake->result[FAKE_ADVISE_MR] = -EFAULT;
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EFAULT);
	fake->ops.advise_mr = NULL;
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

static void test_window(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);
	struct fake_device *fake = fake_of(*state);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

	assert_non_null(mw);
	assert_int_equal(mw->type, IBV_MW_TYPE_2);
	assert_int_equal(mw->rkey, 0x300);
	fake->result[FAKE_DEALLOC_MW] = -EBUSY;
	assert_int_equal(ibv_dealloc_mw(mw), EBUSY);
	fake->result[FAKE_DEALLOC_MW] = 0;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_null(ibv_alloc_mw(pd, 3));
	assert_int_equal(errno, EINVAL);
	fake->result[FAKE_ALLOC_MW] = -ENOMEM;
	assert_null(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, ENOMEM);
	fake->ops.alloc_mw = NULL;
	assert_null(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

static void test_import(void **state)
{
	struct ibv_pd *pd = fake_pd(*state);

	assert_null(ibv_import_mr(pd, 1));
	assert_int_equal(errno, EOPNOTSUPP);
	ibv_dealloc_pd(pd);
}

static void mapping(const char *maps, uint64_t start, uint64_t length, bool write,
		    const char *expected)
{
	struct text why = {};

	mr_explain_mapping(&why, maps, start, length, write);
	assert_string_equal(why.chars, expected);
}

static void test_mappings(void **state)
{
	static const char maps[] = "1000-3000 rw-p 00000000 00:00 0 \n"
				   "3000-5000 r--p 00000000 08:01 42 /usr/lib/a b.so\n"
				   "8000-9000 ---p 00000000 00:00 0 [guard]\n";

	mapping(maps, 0x1000, 0x2000, true, "");
	mapping(maps, 0x1800, 0x3000, false, "");
	mapping(maps, 0x1800, 0x3000, true,
		"; 0x3000 is in a mapping that is not writable (/usr/lib/a b.so)");
	mapping(maps, 0x4000, 0x2000, false, "; only the first 4096 bytes are mapped");
	mapping(maps, 0x6000, 1, false, "; nothing is mapped at 0x6000");
	mapping(maps, 0x8000, 1, false, "; 0x8000 is in a mapping that is not readable ([guard])");
	mapping(maps, 0x9000, 1, false, "; nothing is mapped at 0x9000");
	mapping(maps, 0x100, 1, false, "; nothing is mapped at 0x100");
	mapping("", 0x1000, 1, false, "; nothing is mapped at 0x1000");
	mapping("rubbish\n1000-2000 rw-p 0 0 0\n", 0x1000, 1, true, "");
}

#define mr_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		mr_test(test_life),
		mr_test(test_mistakes),
		mr_test(test_implicit_on_demand),
		mr_test(test_refused_by_device),
		mr_test(test_optional_access),
		mr_test(test_dmabuf),
		mr_test(test_rereg),
		mr_test(test_rereg_mistakes),
		mr_test(test_dereg_busy),
		mr_test(test_advise),
		mr_test(test_window),
		mr_test(test_import),
		cmocka_unit_test(test_mappings),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
