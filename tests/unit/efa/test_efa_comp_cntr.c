/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion counters: the words for the device's counts that the driver gets, and their values. */
#include <sys/ioctl.h>

#include "providers/efa/efa.h"
#include "tests/unit/fake_kernel.h"

#define DONE   EFA_IB_ATTR_CREATE_COMP_CNTR_COMP_BUFFER
#define FAILED EFA_IB_ATTR_CREATE_COMP_CNTR_ERR_BUFFER

static int setup(void **state)
{
	static const struct verbs_ops ops = {
		.query_comp_cntr_caps = uverbs_query_comp_cntr_caps,
		.create_comp_cntr = efa_create_comp_cntr,
		.destroy_comp_cntr = efa_destroy_comp_cntr,
		.read_comp_cntr = efa_read_comp_cntr,
	};
	struct fake_device *fake;
	int r = fake_setup(state);

	if (r)
		return r;
	fake = fake_of(*state);
	fake->provider.driver_id = DRIVER_ID;
	fake->provider.name = "efa";
	fake->provider.sizes.comp_cntr = sizeof(struct efa_comp_cntr);
	fake->ops.query_comp_cntr_caps = ops.query_comp_cntr_caps;
	fake->ops.create_comp_cntr = ops.create_comp_cntr;
	fake->ops.destroy_comp_cntr = ops.destroy_comp_cntr;
	fake->ops.read_comp_cntr = ops.read_comp_cntr;
	kernel_answers(NULL, 0);
	kernel.handle = 71;
	return 0;
}

static struct ib_uverbs_buffer_desc told(uint16_t id)
{
	struct ib_uverbs_buffer_desc desc;

	assert_int_equal(attr_of(id)->len, 32);
	memcpy(&desc, bytes_of(id), sizeof(desc));
	return desc;
}

#define assert_told(id, is_type, is_fd, is_addr)                       \
	do {                                                           \
		const struct ib_uverbs_buffer_desc desc = told(id);    \
		assert_int_equal(desc.type, is_type);                  \
		assert_int_equal(desc.fd, is_fd);                      \
		assert_int_equal(desc.flags | desc.optional_flags, 0); \
		assert_int_equal(desc.addr, is_addr);                  \
		assert_int_equal(desc.length, 8);                      \
	} while (0)

/* If the program gives no memory, both words belong to this library. */
static void test_own(void **state)
{
	struct ibv_comp_cntr_init_attr init = {};
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(*state, &init);
	uint64_t *words, value;

	assert_non_null(cntr);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE, 3);
	words = (void *)(uintptr_t)told(DONE).addr;
	assert_told(DONE, 1, 0, (uintptr_t)words);
	assert_told(FAILED, 1, 0, (uintptr_t)(words + 1));
	assert_int_equal((uintptr_t)words % 4096, 0);
	words[0] = 5;
	words[1] = 0x100000000ull;
	assert_int_equal(ibv_read_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(ibv_read_err_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 0x100000000ull);
	assert_int_equal(ibv_destroy_comp_cntr(cntr), 0);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_DESTROY, 1);
	init.type = IBV_COMP_CNTR_TYPE_BYTES;
	assert_null(ibv_create_comp_cntr(*state, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("type 0x1: not supported");
}

static void test_external(void **state)
{
	uint64_t done = 7, failed = 8, value;
	struct ibv_comp_cntr_init_attr init = {};
	struct efadv_comp_cntr_init_attr attr = {
		.flags = EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM |
			 EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM,
		.comp_cntr_ext_mem = { .ptr = (uint8_t *)&done },
		.err_cntr_ext_mem = { .type = EFADV_MEMORY_LOCATION_DMABUF,
				      .dmabuf = { .fd = 9, .offset = 0x40 } },
	};
	struct ibv_comp_cntr *cntr = efadv_create_comp_cntr(*state, &init, &attr, sizeof(attr));

	assert_non_null(cntr);
	assert_told(DONE, 1, 0, (uintptr_t)&done);
	assert_told(FAILED, 0, 9, 0x40);
	assert_int_equal(ibv_read_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 7);
	fake_log_take();
	assert_int_equal(ibv_read_err_comp_cntr(cntr, &value), EOPNOTSUPP);
	assert_logged("comp_cntr 71: it is in a dma-buf");
	assert_int_equal(ibv_destroy_comp_cntr(cntr), 0);
	/* A program gives its own mapping of a dma-buf. The words of the two counters may be in
	 * different kinds of memory. */
	attr.err_cntr_ext_mem.ptr = (uint8_t *)&failed;
	attr.flags = EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM;
	cntr = efadv_create_comp_cntr(*state, &init, &attr, sizeof(attr));
	assert_non_null(cntr);
	assert_int_equal(told(DONE).type, 1);
	assert_int_not_equal(told(DONE).addr, (uintptr_t)&done);
	assert_told(FAILED, 0, 9, 0x40);
	assert_int_equal(ibv_read_err_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 8);
	assert_int_equal(ibv_destroy_comp_cntr(cntr), 0);
}

static void refused(struct ibv_context *ctx, struct efadv_comp_cntr_init_attr attr, uint32_t inlen,
		    int error)
{
	struct ibv_comp_cntr_init_attr init = {};

	kernel.hdr.num_attrs = 0;
	assert_null(efadv_create_comp_cntr(ctx, &init, &attr, inlen));
	assert_int_equal(errno, error);
	assert_int_equal(kernel.hdr.num_attrs, 0);
}

static void test_refused(void **state)
{
	struct ibv_comp_cntr_init_attr init = {};
	struct {
		struct efadv_comp_cntr_init_attr attr;
		uint64_t more;
	} longer = { .more = 1 };
	const struct efadv_comp_cntr_init_attr none = {}, flags = { .flags = 4 },
					       mask = { .comp_mask = 1 },
					       type = { .comp_cntr_ext_mem.type = 2 },
					       other = { .err_cntr_ext_mem.type = 2 };

	refused(*state, none, sizeof(none) - 1, EINVAL);
	refused(*state, flags, sizeof(flags), EOPNOTSUPP);
	refused(*state, mask, sizeof(mask), EOPNOTSUPP);
	refused(*state, type, sizeof(type), EOPNOTSUPP);
	refused(*state, other, sizeof(other), EOPNOTSUPP);
	assert_null(efadv_create_comp_cntr(*state, &init, &longer.attr, sizeof(longer)));
	assert_int_equal(errno, EINVAL);
	/* A counter that the kernel refuses leaves no memory behind, which the address sanitizer
	 * checks. */
	kernel.error = EOPNOTSUPP;
	assert_null(efadv_create_comp_cntr(*state, &init, &longer.attr, sizeof(longer.attr)));
	assert_int_equal(errno, EOPNOTSUPP);
	fake_of(*state)->provider.name = "other";
	assert_null(efadv_create_comp_cntr(*state, &init, &longer.attr, sizeof(longer.attr)));
	assert_int_equal(errno, EOPNOTSUPP);
}

#define cntr_test(test) cmocka_unit_test_setup_teardown(test, setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cntr_test(test_own),
		cntr_test(test_external),
		cntr_test(test_refused),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
