/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Additions of versions 1.15 to 1.18: DMA handles, regions of any kind of memory, buffers, the
 * speed of a port, completion counters. Each is tested on a device and as a command of the
 * kernel. */
#include "tests/unit/fake_kernel.h"

static int result;
static struct ibv_mr_init_attr seen;

static int alloc_dmah(struct verbs_dmah *dmah, const struct verbs_alloc_dmah *in)
{
	dmah->handle = 3;
	return result;
}

static int dealloc_dmah(struct verbs_dmah *dmah)
{
	return result;
}

static int reg_mr_ex(struct verbs_mr *mr, const struct verbs_reg_mr_ex *in)
{
	seen = *in->attr;
	mr->ibv_mr.lkey = 0x99;
	return result;
}

static void test_dmah(void **state)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = 8 };
	struct ibv_dmah *dmah;

	assert_null(ibv_alloc_dmah(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("ibv_alloc_dmah: not supported");
	fake_of(*state)->ops.alloc_dmah = alloc_dmah;
	fake_of(*state)->ops.dealloc_dmah = dealloc_dmah;
	result = 0;
	assert_null(ibv_alloc_dmah(*state, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_logged("ibv_alloc_dmah: comp_mask 0x8: 0x7 are known");
	assert_null(ibv_alloc_dmah(*state, NULL));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID;
	dmah = ibv_alloc_dmah(*state, &attr);
	assert_non_null(dmah);
	assert_ptr_equal(dmah->context, *state);
	result = -EBUSY;
	fake_log_take();
	assert_int_equal(ibv_dealloc_dmah(dmah), EBUSY);
	assert_logged("ibv_dealloc_dmah: dmah 3: Device or resource busy (other objects");
	assert_null(ibv_alloc_dmah(*state, &attr));
	assert_int_equal(errno, EBUSY);
	result = 0;
	assert_int_equal(ibv_dealloc_dmah(dmah), 0);
}

static void ex_refused(struct ibv_pd *pd, struct ibv_mr_init_attr attr, int error,
		       const char *words)
{
	errno = 0;
	assert_null(ibv_reg_mr_ex(pd, &attr));
	assert_int_equal(errno, error);
	assert_logged(words);
}

#define ADDR IBV_REG_MR_MASK_ADDR
#define IOVA IBV_REG_MR_MASK_IOVA
#define FD   (IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET)

static void test_reg_mr_ex(void **state)
{
	struct fake_device *fake = fake_of(*state);
	struct ibv_pd *pd = fake_pd(*state);
	char bytes[100];
	/* Fields outside of the mask may have any value. */
	struct ibv_mr_init_attr attr = { .length = 50,
					 .access = IBV_ACCESS_LOCAL_WRITE,
					 .comp_mask = ADDR,
					 .iova = 77,
					 .addr = bytes,
					 .fd = -5,
					 .dmah = (void *)-1,
					 .buf = (void *)-1 };
	struct ibv_mr *mr = ibv_reg_mr_ex(pd, &attr);

	assert_non_null(mr);
	assert_ptr_equal(mr->addr, bytes);
	assert_int_equal(mr->length, 50);
	assert_int_equal(fake->reg_mr.iova, (uintptr_t)bytes);
	assert_int_equal(fake->reg_mr.access, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.comp_mask = ADDR | IOVA;
	mr = ibv_reg_mr_ex(pd, &attr);
	assert_int_equal(fake->reg_mr.iova, 77);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.comp_mask = FD | IOVA;
	attr.fd_offset = 0x1000;
	mr = ibv_reg_mr_ex(pd, &attr);
	assert_non_null(mr);
	assert_int_equal(fake->calls[FAKE_REG_DMABUF_MR], 1);
	assert_ptr_equal(mr->addr, (void *)0x1000);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_log_empty();

	assert_null(ibv_reg_mr_ex(pd, NULL));
	assert_int_equal(errno, EINVAL);
	assert_logged("mr_init_attr is NULL");
	assert_null(ibv_reg_mr_ex(NULL, &attr));
	assert_logged("ibv_reg_mr_ex: pd is NULL");
	attr.comp_mask = ADDR | 1ull << 40;
	ex_refused(pd, attr, EOPNOTSUPP, "comp_mask 0x10000000002: 0x3f are known");
	attr.comp_mask = IOVA;
	ex_refused(pd, attr, EINVAL, "either an address or a descriptor is needed");
	attr.comp_mask = FD | ADDR | IOVA;
	ex_refused(pd, attr, EINVAL, "either an address or a descriptor is needed");
	attr.comp_mask = FD;
	ex_refused(pd, attr, EINVAL, "a descriptor needs an iova");
	attr.comp_mask = IBV_REG_MR_MASK_FD | IOVA;
	ex_refused(pd, attr, EINVAL, "a descriptor and an offset go together");
	attr.comp_mask = ADDR | IBV_REG_MR_MASK_FD_OFFSET;
	ex_refused(pd, attr, EINVAL, "a descriptor and an offset go together");
	attr.comp_mask = ADDR;
	attr.access = IBV_ACCESS_REMOTE_WRITE;
	ex_refused(pd, attr, EINVAL, "ibv_reg_mr_ex: access REMOTE_WRITE: ");
	attr.access = 0;
	fake->result[FAKE_REG_MR] = -ENOMEM;
	ex_refused(pd, attr, ENOMEM, "ibv_reg_mr_ex: ");
	ibv_dealloc_pd(pd);
}

static void test_reg_with_dmah(void **state)
{
	struct ibv_context *other = fake_open(fake_of(*state));
	struct verbs_dmah dmah = { .dmah.context = *state, .handle = 3 };
	struct verbs_dmah foreign = { .dmah.context = other };
	struct ibv_pd *pd = fake_pd(*state);
	char bytes[100];
	struct ibv_mr_init_attr attr = { .length = 50,
					 .comp_mask = ADDR | IBV_REG_MR_MASK_DMAH,
					 .addr = bytes,
					 .dmah = &dmah.dmah };
	struct ibv_mr *mr;

	result = 0;
	/* Registering without the handle instead would be wrong. */
	ex_refused(pd, attr, EOPNOTSUPP, "ibv_reg_mr_ex with a DMA handle: not supported");
	fake_of(*state)->ops.reg_mr_ex = reg_mr_ex;
	mr = ibv_reg_mr_ex(pd, &attr);
	assert_non_null(mr);
	assert_ptr_equal(seen.dmah, &dmah);
	assert_ptr_equal(seen.addr, bytes);
	assert_int_equal(seen.iova, (uintptr_t)bytes);
	assert_int_equal(mr->lkey, 0x99);
	assert_int_equal(mr->length, 50);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.dmah = &foreign.dmah;
	ex_refused(pd, attr, EINVAL, "the DMA handle belongs to another context");
	attr.dmah = NULL;
	ex_refused(pd, attr, EINVAL, "dmah is NULL");
	attr.dmah = &dmah.dmah;
	result = -EINVAL;
	ex_refused(pd, attr, EINVAL, "ibv_reg_mr_ex: dmah 3, 50 bytes: Invalid argument");
	attr.access = 1 << 15;
	ex_refused(pd, attr, EINVAL, "unknown flag");
	fake_close(other);
	ibv_dealloc_pd(pd);
}

static void buf_refused(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			const char *words)
{
	errno = 0;
	assert_null(ibv_reg_buf_mr(pd, buf, addr, length, 0));
	assert_int_equal(errno, EINVAL);
	assert_logged(words);
}

static int buf_refuse(struct ibv_buf *buf)
{
	return -ENOMEM;
}

static void test_buf(void **state)
{
	struct ibv_pd *pd = fake_pd(*state), *other = fake_pd(*state);
	struct ibv_buf *buf = NULL;
	char *p = ibv_alloc_buf(pd, 5000, &buf);
	struct ibv_mr *mr;

	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 4096, 0);
	memset(p, 1, 5000);
	mr = ibv_reg_buf_mr(pd, buf, p + 1000, 4000, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, p + 1000);
	assert_int_equal(fake_of(*state)->reg_mr.length, 4000);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_export_buf_dmabuf_fd(buf), -1);
	assert_int_equal(errno, ENODATA);
	assert_log_empty();
	buf_refused(pd, buf, p + 1000, 4001, "4001 bytes: the buffer has 5000 from ");
	buf_refused(pd, buf, p - 1, 1, "the buffer has 5000");
	buf_refused(pd, buf, p + 5001, 0, "the buffer has 5000");
	buf_refused(pd, buf, p, SIZE_MAX, "the buffer has 5000");
	buf_refused(other, buf, p, 1, "the buffer is of another protection domain");
	buf_refused(pd, NULL, p, 1, "buf is NULL");
	/* A buffer that is a dma-buf is registered as a dma-buf, by its addresses in this
	 * process. */
	buf->dmabuf_fd = open("/dev/null", O_RDONLY);
	fake_of(*state)->ops.reg_mr = NULL;
	mr = ibv_reg_buf_mr(pd, buf, p + 1000, 4000, 0);
	assert_non_null(mr);
	assert_int_equal(fake_of(*state)->calls[FAKE_REG_DMABUF_MR], 1);
	assert_ptr_equal(mr->addr, (void *)1000);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	close(ibv_export_buf_dmabuf_fd(buf));
	close(buf->dmabuf_fd);
	ibv_free_buf(buf);
	assert_null(ibv_alloc_buf(pd, 1, NULL));
	assert_int_equal(errno, EINVAL);
	fake_of(*state)->ops.alloc_buf = buf_refuse;
	assert_null(ibv_alloc_buf(pd, 7, &buf));
	assert_int_equal(errno, ENOMEM);
	assert_logged("ibv_alloc_buf: 7 bytes: Cannot allocate memory");
	ibv_dealloc_pd(other);
	ibv_dealloc_pd(pd);
}

static int port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *ret_speed)
{
	*ret_speed = 4000;
	return port_num == 1 ? 0 : -EINVAL;
}

static int export(struct verbs_dm *dm)
{
	return result;
}

static void test_small_ones(void **state)
{
	struct verbs_dm dm = { .dm = { .context = *state, .handle = 4 } };
	uint64_t speed = 0;

	fake_log_take();
	assert_int_equal(ibv_query_port_speed(*state, 1, &speed), EOPNOTSUPP);
	assert_string_equal(fake_log_take(), "");
	assert_int_equal(ibv_dm_export_dmabuf_fd(&dm.dm), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	fake_log_take();
	fake_of(*state)->ops.query_port_speed = port_speed;
	fake_of(*state)->ops.dm_export_dmabuf_fd = export;
	assert_int_equal(ibv_query_port_speed(*state, 1, &speed), 0);
	assert_int_equal(speed, 4000);
	assert_int_equal(ibv_query_port_speed(*state, 2, &speed), EINVAL);
	assert_logged("port 2 does not exist");
	result = 17;
	assert_int_equal(ibv_dm_export_dmabuf_fd(&dm.dm), 17);
	result = -EMFILE;
	assert_int_equal(ibv_dm_export_dmabuf_fd(&dm.dm), -1);
	assert_int_equal(errno, EMFILE);
	assert_logged("dm 4: Too many open files");
}

static int cntr_caps(struct ibv_context *ctx, struct ibv_comp_cntr_caps *ret_caps)
{
	*ret_caps = (struct ibv_comp_cntr_caps){ 1, 2, 3 };
	return result;
}

static int cntr_create(struct ibv_comp_cntr *cntr, const struct verbs_create_comp_cntr *in)
{
	cntr->handle = 6;
	return result;
}

static int cntr_destroy(struct ibv_comp_cntr *cntr)
{
	return result;
}

static struct verbs_modify_comp_cntr modified;

static int cntr_modify(struct ibv_comp_cntr *cntr, const struct verbs_modify_comp_cntr *in)
{
	modified = *in;
	return result;
}

static int cntr_read(struct ibv_comp_cntr *cntr, enum verbs_comp_cntr_entry entry,
		     uint64_t *ret_value)
{
	*ret_value = 100 + entry;
	return result;
}

static int cntr_attach(struct verbs_qp *qp, struct ibv_comp_cntr *cntr,
		       const struct ibv_qp_attach_comp_cntr_attr *attr)
{
	return result;
}

#define assert_modified(is_entry, is_add, is_value)         \
	do {                                                \
		assert_int_equal(modified.entry, is_entry); \
		assert_int_equal(modified.add, is_add);     \
		assert_int_equal(modified.value, is_value); \
	} while (0)

static void test_comp_cntr(void **state)
{
	struct verbs_ops *ops = &fake_of(*state)->ops;
	struct ibv_comp_cntr_init_attr init = {};
	struct ibv_qp_attach_comp_cntr_attr attach = { .op_mask = 1 };
	struct ibv_qp qp = { .context = *state, .qp_num = 0x11 };
	struct ibv_comp_cntr_caps caps = { .max_value = 9 };
	struct ibv_comp_cntr *cntr;
	uint64_t value;

	assert_null(ibv_create_comp_cntr(*state, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_query_comp_cntr_caps(*state, &caps), EOPNOTSUPP);
	assert_int_equal(caps.max_value, 0);
	ops->query_comp_cntr_caps = cntr_caps;
	ops->create_comp_cntr = cntr_create;
	ops->destroy_comp_cntr = cntr_destroy;
	result = 0;
	/* A program with a shorter struct gets no more than its length. */
	memset(&caps, 0x55, sizeof(caps));
	assert_int_equal(_ibv_query_comp_cntr_caps(*state, &caps, 8), 0);
	assert_int_equal(caps.max_value, 1);
	assert_int_equal(caps.max_counters, 0x55555555);
	assert_int_equal(ibv_query_comp_cntr_caps(*state, &caps), 0);
	assert_int_equal(caps.supported_qp_attach_ops, 3);
	cntr = ibv_create_comp_cntr(*state, &init);
	assert_non_null(cntr);
	assert_int_equal(cntr->handle, 6);
	fake_log_take();
	assert_int_equal(ibv_set_comp_cntr(cntr, 1), EOPNOTSUPP);
	assert_logged("ibv_set_comp_cntr: not supported");
	assert_int_equal(ibv_read_comp_cntr(cntr, &value), EOPNOTSUPP);
	assert_int_equal(ibv_qp_attach_comp_cntr(&qp, cntr, &attach), EOPNOTSUPP);
	ops->modify_comp_cntr = cntr_modify;
	ops->read_comp_cntr = cntr_read;
	ops->qp_attach_comp_cntr = cntr_attach;
	fake_log_take();
	assert_int_equal(ibv_set_comp_cntr(cntr, 1), 0);
	assert_modified(VERBS_COMP_CNTR_DONE, false, 1);
	assert_int_equal(ibv_set_err_comp_cntr(cntr, 2), 0);
	assert_modified(VERBS_COMP_CNTR_FAILED, false, 2);
	assert_int_equal(ibv_inc_comp_cntr(cntr, 3), 0);
	assert_modified(VERBS_COMP_CNTR_DONE, true, 3);
	assert_int_equal(ibv_inc_err_comp_cntr(cntr, 4), 0);
	assert_modified(VERBS_COMP_CNTR_FAILED, true, 4);
	assert_int_equal(ibv_read_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 100);
	assert_int_equal(ibv_read_err_comp_cntr(cntr, &value), 0);
	assert_int_equal(value, 101);
	assert_int_equal(ibv_qp_attach_comp_cntr(&qp, cntr, &attach), 0);
	assert_log_empty();
	attach.comp_mask = 1;
	assert_int_equal(ibv_qp_attach_comp_cntr(&qp, cntr, &attach), EOPNOTSUPP);
	assert_logged("no bit of comp_mask is defined yet");
	attach.comp_mask = 0;
	result = -EINVAL;
	assert_int_equal(ibv_qp_attach_comp_cntr(&qp, cntr, &attach), EINVAL);
	assert_logged("qp 0x11: ibv_qp_attach_comp_cntr: counter 6, operations 0x1: Invalid");
	init.flags = 1;
	assert_null(ibv_create_comp_cntr(*state, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	result = 0;
	assert_int_equal(ibv_destroy_comp_cntr(cntr), 0);
}

/* ---- the kernel's commands ---- */

static void test_dmah_commands(void **state)
{
	const struct ibv_dmah_init_attr attr = {
		.comp_mask = IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH |
			     IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE,
		.cpu_id = 5,
		.ph = 3,
		.tph_mem_type = IBV_TPH_MEM_TYPE_PM,
	};
	const struct ibv_dmah_init_attr none = { .cpu_id = 5 };
	struct verbs_dmah dmah = { .dmah.context = *state };

	kernel.handle = 44;
	assert_int_equal(uverbs_alloc_dmah(&dmah, &(struct verbs_alloc_dmah){ .attr = &attr }), 0);
	assert_method(UVERBS_OBJECT_DMAH, UVERBS_METHOD_DMAH_ALLOC, 4);
	assert_int_equal(dmah.handle, 44);
	assert_attr(UVERBS_ATTR_ALLOC_DMAH_CPU_ID, 4, 5);
	assert_attr(UVERBS_ATTR_ALLOC_DMAH_PH, 1, 3);
	assert_attr(UVERBS_ATTR_ALLOC_DMAH_TPH_MEM_TYPE, 0, 0);
	assert_int_equal(attr_of(UVERBS_ATTR_ALLOC_DMAH_TPH_MEM_TYPE)->attr_data.enum_data.elem_id,
			 IBV_TPH_MEM_TYPE_PM);
	assert_int_equal(uverbs_alloc_dmah(&dmah, &(struct verbs_alloc_dmah){ .attr = &none }), 0);
	assert_method(UVERBS_OBJECT_DMAH, UVERBS_METHOD_DMAH_ALLOC, 1);
	assert_int_equal(uverbs_dealloc_dmah(&dmah), 0);
	assert_method(UVERBS_OBJECT_DMAH, UVERBS_METHOD_DMAH_FREE, 1);
	assert_attr(UVERBS_ATTR_FREE_DMA_HANDLE, 0, 44);
	kernel.handle = 45;
	assert_int_equal(uverbs_export_dmabuf(*state, 0x7000), 45);
	assert_method(UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC, 2);
	assert_attr(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, 8, 0x7000);
}

static void test_reg_commands(void **state)
{
	struct verbs_dmah dmah = { .dmah.context = *state, .handle = 44 };
	struct ibv_pd pd = { .context = *state, .handle = 5 };
	struct verbs_mr mr = { .ibv_mr.context = *state };
	struct ibv_mr_init_attr attr = { .length = 7,
					 .access = 1,
					 .comp_mask = ADDR | IOVA,
					 .iova = 0x2000,
					 .addr = (void *)0x1000,
					 .fd = 9,
					 .fd_offset = 0x3000,
					 .dmah = &dmah.dmah };
	const struct verbs_reg_mr_ex in = { .pd = &pd, .attr = &attr };

	kernel.handle = 61;
	assert_int_equal(uverbs_reg_mr_ex(&mr, &in), 0);
	assert_method(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR, 9);
	assert_attr(UVERBS_ATTR_REG_MR_DMA_HANDLE, 0, 44);
	assert_attr(UVERBS_ATTR_REG_MR_ADDR, 8, 0x1000);
	assert_attr(UVERBS_ATTR_REG_MR_IOVA, 8, 0x2000);
	assert_false(has_attr(UVERBS_ATTR_REG_MR_FD));
	assert_int_equal(mr.ibv_mr.handle, 61);
	attr.comp_mask = FD | IOVA;
	assert_int_equal(uverbs_reg_mr_ex(&mr, &in), 0);
	assert_method(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR, 10);
	assert_attr(UVERBS_ATTR_REG_MR_FD, 0, 9);
	assert_attr(UVERBS_ATTR_REG_MR_FD_OFFSET, 8, 0x3000);
	assert_false(has_attr(UVERBS_ATTR_REG_MR_ADDR));
}

static void test_cntr_commands(void **state)
{
	const struct verbs_modify_comp_cntr add = { .entry = VERBS_COMP_CNTR_FAILED,
						    .add = true,
						    .value = 9 };
	const struct ibv_qp_attach_comp_cntr_attr attach = { .op_mask = 0x21 };
	const struct verbs_create_comp_cntr in = {};
	struct ibv_comp_cntr cntr = { .context = *state };
	struct verbs_qp qp = { .qp = { .context = *state, .handle = 8 } };
	struct ibv_comp_cntr_caps caps;
	uint64_t value = 0, speed = 0;

	kernel.handle = 71;
	assert_int_equal(uverbs_create_comp_cntr(&cntr, &in), 0);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_CREATE, 1);
	assert_int_equal(cntr.handle, 71);
	assert_int_equal(uverbs_modify_comp_cntr(&cntr, &add), 0);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_MODIFY, 4);
	assert_attr(UVERBS_ATTR_MODIFY_COMP_CNTR_ENTRY, 8, IB_UVERBS_COMP_CNTR_ENTRY_ERR);
	assert_attr(UVERBS_ATTR_MODIFY_COMP_CNTR_OP, 8, IB_UVERBS_COMP_CNTR_MODIFY_OP_INC);
	assert_attr(UVERBS_ATTR_MODIFY_COMP_CNTR_VALUE, 8, 9);
	kernel.outs[0].id = UVERBS_ATTR_READ_COMP_CNTR_RESP_VALUE;
	kernel.outs[0].value = 1234;
	assert_int_equal(uverbs_read_comp_cntr(&cntr, VERBS_COMP_CNTR_DONE, &value), 0);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_READ, 3);
	assert_int_equal(value, 1234);
	memset(kernel.outs, 0, sizeof(kernel.outs));
	assert_int_equal(uverbs_qp_attach_comp_cntr(&qp, &cntr, &attach), 0);
	assert_method(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_ATTACH_COMP_CNTR, 3);
	assert_attr(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_HANDLE, 0, 8);
	assert_attr(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_CNTR_HANDLE, 0, 71);
	assert_attr(UVERBS_ATTR_QP_ATTACH_COMP_CNTR_OP_MASK, 4, 0x21);
	assert_int_equal(uverbs_destroy_comp_cntr(&cntr), 0);
	assert_method(UVERBS_OBJECT_COMP_CNTR, UVERBS_METHOD_COMP_CNTR_DESTROY, 1);
	assert_int_equal(uverbs_query_comp_cntr_caps(*state, &caps), 0);
	assert_method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_COMP_CNTR_CAPS, 3);
	assert_int_equal(uverbs_query_port_speed(*state, 2, &speed), 0);
	assert_method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT_SPEED, 2);
	assert_attr(UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM, 8, 2);
}

#define recent_test(f) cmocka_unit_test_setup_teardown(f, kernel_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		recent_test(test_dmah),		 recent_test(test_reg_mr_ex),
		recent_test(test_reg_with_dmah), recent_test(test_buf),
		recent_test(test_small_ones),	 recent_test(test_comp_cntr),
		recent_test(test_dmah_commands), recent_test(test_reg_commands),
		recent_test(test_cntr_commands),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
