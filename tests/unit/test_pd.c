/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protection domains, imported domains, thread domains and parent domains. */
#include "tests/unit/fake_device.h"

static unsigned int parents_freed, views_freed;

static int td_alloc(struct ibv_td *td, const struct ibv_td_init_attr *attr)
{
	return fake_of(td->context)->result[FAKE_ALLOC_MW];
}

static int parent_alloc(struct verbs_pd *pd)
{
	return fake_of(pd->pd.context)->result[FAKE_ALLOC_MW];
}

static void parent_free(struct verbs_pd *pd)
{
	parents_freed++;
}

static int pd_import(struct ibv_pd *pd, uint32_t handle)
{
	pd->handle = handle;
	return handle == 666 ? -ENOENT : 0;
}

static void pd_unimport(struct ibv_pd *pd)
{
	views_freed++;
}

static int setup(void **state)
{
	int r = fake_setup(state);
	struct verbs_ops *ops = &fake_of(*state)->ops;

	ops->alloc_td = td_alloc;
	ops->alloc_parent_domain = parent_alloc;
	ops->dealloc_parent_domain = parent_free;
	ops->import_pd = pd_import;
	ops->unimport_pd = pd_unimport;
	parents_freed = views_freed = 0;
	return r;
}

static void *allocate(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		      uint64_t resource_type)
{
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static void release(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type)
{
}

static struct ibv_pd *parent_of(struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(pd->context, &attr);

	assert_non_null(parent);
	return parent;
}

static void test_td(void **state)
{
	struct ibv_td_init_attr attr = {};
	struct ibv_td *td = ibv_alloc_td(*state, &attr);

	assert_non_null(td);
	assert_ptr_equal(td->context, *state);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_log_empty();
	assert_null(ibv_alloc_td(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_alloc_td: init_attr is NULL");
	attr.comp_mask = 4;
	assert_null(ibv_alloc_td(*state, &attr));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_alloc_td: comp_mask 0x4: no bit is defined yet");
	attr.comp_mask = 0;
	fake_of(*state)->result[FAKE_ALLOC_MW] = -ENOSPC;
	assert_null(ibv_alloc_td(*state, &attr));
	assert_int_equal(errno, ENOSPC);
	assert_logged("ibv_alloc_td: No space left");
	fake_of(*state)->ops.alloc_td = NULL;
	assert_null(ibv_alloc_td(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("fake0 ibv_alloc_td: not supported by provider fake");
}

static void test_parent(void **state)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td = ibv_alloc_td(*state, &td_attr);
	struct ibv_pd *pd = fake_pd(*state);
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = allocate,
		.free = release,
		.pd_context = &attr,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(*state, &attr);
	struct verbs_pd *vpd = to_vpd(parent);

	assert_non_null(parent);
	assert_int_equal(parent->handle, pd->handle);
	assert_ptr_equal(parent->context, *state);
	assert_ptr_equal(verbs_pd_protection(parent), pd);
	assert_ptr_equal(verbs_pd_protection(pd), pd);
	assert_ptr_equal(vpd->alloc, allocate);
	assert_ptr_equal(vpd->free, release);
	assert_ptr_equal(vpd->pd_context, &attr);
	assert_log_empty();
	/* The domains that a parent domain contains or uses stay. */
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_logged("ibv_dealloc_td: 1 parent domains still use it");
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_logged("ibv_dealloc_pd: pd 7: 1 parent domains still stand for it");
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(parents_freed, 1);
	/* Only the allocators in the mask are used. */
	attr.comp_mask = 0;
	parent = ibv_alloc_parent_domain(*state, &attr);
	assert_null(to_vpd(parent)->alloc);
	assert_null(to_vpd(parent)->pd_context);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_log_empty();
}

static void parent_refused(struct ibv_context *ctx, struct ibv_parent_domain_init_attr attr,
			   int error, const char *words)
{
	errno = 0;
	assert_null(ibv_alloc_parent_domain(ctx, &attr));
	assert_int_equal(errno, error);
	assert_logged(words);
}

/* A device of a confidential guest that reaches only memory of the guest's host. */
static void test_parent_unprotected(void **state)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = fake_pd(*state),
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	};

	fake_of(*state)->attr.device_cap_flags_ex = IBV_DEVICE_CC_DMA_BOUNCE;
	parent_refused(*state, attr, EOPNOTSUPP, "no memory that the device reaches");
	attr.comp_mask = 0;
	assert_int_equal(ibv_dealloc_pd(ibv_alloc_parent_domain(*state, &attr)), 0);
	assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
}

static void test_parent_mistakes(void **state)
{
	struct ibv_pd *pd = fake_pd(*state), *parent = parent_of(pd);
	struct ibv_context *other = fake_open(fake_of(*state));
	struct ibv_pd *foreign = fake_pd(other);
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *foreign_td = ibv_alloc_td(other, &td_attr);

	assert_null(ibv_alloc_parent_domain(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("ibv_alloc_parent_domain: attr is NULL");
	parent_refused(*state, (struct ibv_parent_domain_init_attr){}, EINVAL, "pd is NULL");
	parent_refused(*state,
		       (struct ibv_parent_domain_init_attr){ .pd = pd, .comp_mask = 1 << 9 },
		       EINVAL, "comp_mask 0x200: 0x");
	parent_refused(*state, (struct ibv_parent_domain_init_attr){ .pd = foreign }, EINVAL,
		       "must be of this context");
	parent_refused(*state, (struct ibv_parent_domain_init_attr){ .pd = pd, .td = foreign_td },
		       EINVAL, "must be of this context");
	parent_refused(*state, (struct ibv_parent_domain_init_attr){ .pd = parent }, EINVAL,
		       "pd is a parent domain itself");
	parent_refused(*state,
		       (struct ibv_parent_domain_init_attr){
			       .pd = pd,
			       .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
			       .alloc = allocate },
		       EINVAL, "free is NULL");
	fake_of(*state)->result[FAKE_ALLOC_MW] = -ENOMEM;
	parent_refused(*state, (struct ibv_parent_domain_init_attr){ .pd = pd }, ENOMEM,
		       "pd 7: Cannot allocate memory");
	fake_of(*state)->ops.alloc_parent_domain = NULL;
	parent_refused(*state, (struct ibv_parent_domain_init_attr){ .pd = pd }, EOPNOTSUPP,
		       "ibv_alloc_parent_domain: not supported");
	/* The failed calls have left no object behind. */
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_dealloc_td(foreign_td), 0);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	fake_close(other);
}

static struct ibv_cq_ex *cq_in(struct ibv_context *ctx, struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = parent };

	return ibv_create_cq_ex(ctx, &attr);
}

/* Only its attribute puts a completion queue into a parent domain. */
static void test_parent_of_cq(void **state)
{
	struct ibv_pd *pd = fake_pd(*state), *parent = parent_of(pd);
	struct ibv_cq_ex *cq = cq_in(*state, parent);

	assert_non_null(cq);
	assert_ptr_equal(((struct verbs_cq *)cq)->parent, parent);
	assert_log_empty();
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_logged("ibv_dealloc_pd: parent domain of pd 7: 1 queues still use it");
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	fake_of(*state)->result[FAKE_CREATE_CQ] = -ENOMEM;
	assert_null(cq_in(*state, parent));
	assert_int_equal(errno, ENOMEM);
	fake_log_take();
	assert_null(cq_in(*state, pd));
	assert_int_equal(errno, EINVAL);
	assert_logged("parent_domain: pd 7 is a protection domain, not a parent domain");
	assert_null(cq_in(*state, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("parent_domain is NULL");
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* A parent domain's allocators may provide the memory of queues, so the domain outlives them. */
static void test_parent_of_queues(void **state)
{
	struct ibv_pd *pd = fake_pd(*state), *parent = parent_of(pd);
	struct ibv_cq *cq = ibv_create_cq(*state, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr qp_init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1 } };
	struct ibv_qp *qp = ibv_create_qp(parent, &qp_init);
	struct ibv_srq *srq = ibv_create_srq(parent, &srq_init);

	assert_non_null(qp);
	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_logged("2 queues still use it");
	assert_int_equal(ibv_destroy_srq(srq), 0);
	fake_of(*state)->result[FAKE_DESTROY_QP] = -EBUSY;
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	fake_log_take();
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_logged("1 queues still use it");
	fake_of(*state)->result[FAKE_DESTROY_QP] = 0;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* Objects that were created in an imported domain hold its address: it stays until all are gone. */
static void test_import_in_use(void **state)
{
	struct ibv_pd *pd = ibv_import_pd(*state, 57), *parent = parent_of(pd);
	struct ibv_cq *cq = ibv_create_cq(*state, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr qp_init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &qp_init);
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);

	assert_non_null(qp);
	assert_non_null(srq);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_logged("ibv_dealloc_pd: pd 57: 3 queues and parent domains of this imported one");
	ibv_unimport_pd(pd);
	assert_int_equal(views_freed, 0);
	assert_int_equal(qp->pd->handle, 57);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(views_freed, 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(views_freed, 1);
	assert_log_empty();
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void test_import(void **state)
{
	struct ibv_pd *pd = ibv_import_pd(*state, 55), *own = fake_pd(*state);

	assert_non_null(pd);
	assert_int_equal(pd->handle, 55);
	assert_ptr_equal(pd->context, *state);
	ibv_unimport_pd(pd);
	assert_int_equal(views_freed, 1);
	assert_log_empty();
	/* The processes agree on which of them destroys the domain. It may be the process that
	 * imported it. */
	pd = ibv_import_pd(*state, 56);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(views_freed, 1);
	ibv_unimport_pd(own);
	assert_logged("ibv_unimport_pd: pd 7 was not imported");
	assert_int_equal(ibv_dealloc_pd(own), 0);
	assert_null(ibv_import_pd(*state, 666));
	assert_int_equal(errno, ENOENT);
	assert_logged("ibv_import_pd: handle 666: No such file");
	fake_of(*state)->ops.import_pd = NULL;
	assert_null(ibv_import_pd(*state, 1));
	assert_int_equal(errno, EOPNOTSUPP);
}

#define pd_test(f) cmocka_unit_test_setup_teardown(f, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		pd_test(test_td),
		pd_test(test_parent),
		pd_test(test_parent_unprotected),
		pd_test(test_parent_mistakes),
		pd_test(test_parent_of_cq),
		pd_test(test_parent_of_queues),
		pd_test(test_import_in_use),
		pd_test(test_import),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
