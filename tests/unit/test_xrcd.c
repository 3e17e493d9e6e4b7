/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and the second handle of a queue pair in a domain. */
#include <fcntl.h>
#include <string.h>

#include "tests/unit/fake_device.h"

enum {
	XRCD_NEEDED = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
	OPEN_NEEDED = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
};

static struct ibv_xrcd *domain(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = XRCD_NEEDED, .fd = -1, .oflags = O_CREAT };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(ctx, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

static void test_life(void **state)
{
	struct fake_device *fake = fake_of(*state);
	struct ibv_xrcd_init_attr attr = { .comp_mask = XRCD_NEEDED, .fd = 33, .oflags = O_EXCL };
	struct ibv_xrcd *xrcd = ibv_open_xrcd(*state, &attr);

	assert_non_null(xrcd);
	assert_ptr_equal(xrcd->context, *state);
	assert_int_equal(to_vxrcd(xrcd)->handle, 0x61);
	assert_int_equal(fake->xrcd_attr.fd, 33);
	assert_int_equal(fake->xrcd_attr.oflags, O_EXCL);
	fake->result[FAKE_CLOSE_XRCD] = -EBUSY;
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_logged("ibv_close_xrcd: xrcd 97: ");
	fake->result[FAKE_CLOSE_XRCD] = 0;
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_log_empty();
}

static void xrcd_refused(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr, int error,
			 const char *words)
{
	errno = 0;
	assert_null(ibv_open_xrcd(ctx, attr));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_mistakes(void **state)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = XRCD_NEEDED | 4, .fd = -1 };
	struct fake_device *fake = fake_of(*state);

	xrcd_refused(*state, NULL, EINVAL, "ibv_open_xrcd: xrcd_init_attr is NULL");
	xrcd_refused(*state, &attr, EOPNOTSUPP, "comp_mask 0x7: 0x3 are known");
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	xrcd_refused(*state, &attr, EINVAL, "comp_mask 0x1: it needs IBV_XRCD_INIT_ATTR_FD and ");
	attr.comp_mask = IBV_XRCD_INIT_ATTR_OFLAGS;
	xrcd_refused(*state, &attr, EINVAL, "comp_mask 0x2: it needs IBV_XRCD_INIT_ATTR_FD and ");
	assert_int_equal(fake->calls[FAKE_OPEN_XRCD], 0);
	fake->ops.open_xrcd = NULL;
	xrcd_refused(*state, &attr, EOPNOTSUPP, "ibv_open_xrcd: not supported by provider fake");
}

/* Each refusal has the errno of a kernel. */
static void test_refused_by_device(void **state)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = XRCD_NEEDED, .fd = 44 };
	int *result = &fake_of(*state)->result[FAKE_OPEN_XRCD];

	*result = -EAGAIN;
	xrcd_refused(*state, &attr, EAGAIN,
		     "the file has no domain yet, and O_CREAT was not given");
	*result = -EBADF;
	xrcd_refused(*state, &attr, EBADF, "no file is open as descriptor 44");
	*result = -EINVAL;
	attr.oflags = O_CREAT | O_EXCL;
	xrcd_refused(*state, &attr, EINVAL, "the file has a domain already, and O_EXCL was given");
	attr.oflags = O_CREAT;
	xrcd_refused(*state, &attr, EINVAL,
		     "ibv_open_xrcd: fd 44, oflags 0x40: Invalid argument\n");
	attr.oflags = O_CREAT | O_TRUNC;
	xrcd_refused(*state, &attr, EINVAL, "oflags other than O_CREAT and O_EXCL");
}

static struct ibv_qp_open_attr open_attr(struct ibv_xrcd *xrcd)
{
	return (struct ibv_qp_open_attr){
		.comp_mask = OPEN_NEEDED,
		.qp_num = 0x77,
		.xrcd = xrcd,
		.qp_context = xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
}

static void test_open_qp(void **state)
{
	struct fake_device *fake = fake_of(*state);
	struct ibv_xrcd *xrcd = domain(*state);
	struct ibv_qp_open_attr attr = open_attr(xrcd);
	struct ibv_qp *qp = ibv_open_qp(*state, &attr);

	assert_non_null(qp);
	assert_ptr_equal(qp->context, *state);
	assert_null(qp->qp_context);
	assert_null(qp->pd);
	assert_null(qp->send_cq);
	assert_int_equal(qp->state, IBV_QPS_UNKNOWN);
	assert_int_equal(qp->qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(qp->qp_num, 0x77);
	assert_ptr_equal(to_vqp(qp)->xrcd, xrcd);
	assert_int_equal(fake->open_attr.qp_num, 0x77);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	attr.comp_mask |= IBV_QP_OPEN_ATTR_CONTEXT;
	qp = ibv_open_qp(*state, &attr);
	assert_non_null(qp);
	assert_ptr_equal(qp->qp_context, xrcd);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_log_empty();
}

static void open_refused(struct ibv_context *ctx, struct ibv_qp_open_attr *attr, int error,
			 const char *words)
{
	errno = 0;
	assert_null(ibv_open_qp(ctx, attr));
	assert_int_equal(errno, error);
	assert_logged(words);
}

static void test_open_qp_mistakes(void **state)
{
	struct fake_device *fake = fake_of(*state);
	struct ibv_xrcd *xrcd = domain(*state);
	struct ibv_context *other = fake_open(fake);
	struct ibv_xrcd foreign = { .context = other };
	struct ibv_qp_open_attr attr = open_attr(xrcd);

	open_refused(*state, NULL, EINVAL, "ibv_open_qp: qp_open_attr is NULL");
	attr.comp_mask |= 1 << 4;
	open_refused(*state, &attr, EOPNOTSUPP, "comp_mask 0x1b: 0xf are known");
	for (unsigned int bit = 1; bit <= OPEN_NEEDED; bit <<= 1) {
		if (!(bit & OPEN_NEEDED))
			continue;
		attr.comp_mask = OPEN_NEEDED & ~bit;
		open_refused(*state, &attr, EINVAL,
			     "it needs the number, the XRC domain and the type");
	}
	attr = open_attr(NULL);
	open_refused(*state, &attr, EINVAL, "the XRC domain and the type");
	attr = open_attr(&foreign);
	open_refused(*state, &attr, EINVAL, "the XRC domain belongs to another context");
	assert_int_equal(fake->calls[FAKE_OPEN_QP], 0);
	fake_close(other);
	attr = open_attr(xrcd);
	fake->result[FAKE_OPEN_QP] = -EINVAL;
	open_refused(*state, &attr, EINVAL,
		     "ibv_open_qp: qp 0x77, XRC_RECV: Invalid argument; is it an XRC receive QP");
	fake->ops.open_qp = NULL;
	open_refused(*state, &attr, EOPNOTSUPP, "ibv_open_qp: not supported by provider fake");
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

#define xrcd_test(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		xrcd_test(test_life),
		xrcd_test(test_mistakes),
		xrcd_test(test_refused_by_device),
		xrcd_test(test_open_qp),
		xrcd_test(test_open_qp_mistakes),
	};

	fake_log_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
