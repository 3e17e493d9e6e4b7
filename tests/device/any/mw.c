/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows of both types: bind, use, rebind, unbind. A key that is no longer bound opens
 * no memory. */
#include "tests/lib/rt.h"

#define OFFSET 1000 /* of the window in side b's region */
#define LENGTH 500
#define RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct windows {
	struct rt_dev *dev;
	struct rt_pair pair;
	struct rt_buf region; /* region of side b to which windows are bound */
	struct ibv_mw *mw;
};

static struct windows windows_open(enum ibv_mw_type type)
{
	struct windows w = { .dev = rt_open() };
	int need = type == IBV_MW_TYPE_1
			   ? IBV_DEVICE_MEM_WINDOW
			   : IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;

	if (!(w.dev->attr.orig_attr.device_cap_flags & need))
		rt_skip("the device has no memory windows of type %d", type);
	w.pair = rt_pair_open(w.dev, NULL);
	w.region = rt_buf_alloc(w.dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	w.mw = ibv_alloc_mw(w.dev->pd, type);
	CHECK(w.mw);
	CHECK(w.mw->type == type && w.mw->pd == w.dev->pd);
	return w;
}

static void windows_close(struct windows *w)
{
	CHECK_OK(ibv_dealloc_mw(w->mw));
	rt_buf_free(&w->region);
	rt_pair_close(&w->pair);
	rt_close(w->dev);
}

static struct ibv_mw_bind_info bind_info(struct windows *w, uint64_t length, int access)
{
	return (struct ibv_mw_bind_info){
		.mr = w->region.mr,
		.addr = (uintptr_t)w->region.p + OFFSET,
		.length = length,
		.mw_access_flags = access,
	};
}

static void bind_1(struct windows *w, uint64_t length, int access)
{
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = bind_info(w, length, access),
	};
	uint32_t old = w->mw->rkey;

	CHECK_OK(ibv_bind_mw(w->pair.b.qp, w->mw, &bind));
	CHECK(w->mw->rkey != old);
	EXPECT(&w->pair.b, 5, IBV_WC_BIND_MW);
}

static void bind_2(struct windows *w, uint64_t length, int access)
{
	struct ibv_send_wr wr = rt_wr(IBV_WR_BIND_MW, 5, NULL);

	wr.bind_mw.mw = w->mw;
	wr.bind_mw.rkey = ibv_inc_rkey(w->mw->rkey);
	wr.bind_mw.bind_info = bind_info(w, length, access);
	POST(&w->pair.b, &wr);
	EXPECT(&w->pair.b, 5, IBV_WC_BIND_MW);
	w->mw->rkey = wr.bind_mw.rkey;
}

static enum ibv_wc_status access_window(struct windows *w, enum ibv_wr_opcode opcode, uint32_t rkey,
					int offset, int length)
{
	struct ibv_sge sge = rt_sge(&w->pair.a, 0, length);
	struct ibv_send_wr wr = rt_wr(opcode, 7, &sge);

	wr.wr.rdma.remote_addr = (uintptr_t)w->region.p + offset;
	wr.wr.rdma.rkey = rkey;
	POST(&w->pair.a, &wr);
	return rt_wait(&w->pair.a).status;
}

static enum ibv_wc_status write_window(struct windows *w, uint32_t rkey, int offset, int length)
{
	return access_window(w, IBV_WR_RDMA_WRITE, rkey, offset, length);
}

static void use(struct windows *w)
{
	rt_fill(w->pair.a.buf.p, LENGTH, 1);
	CHECK_INT(write_window(w, w->mw->rkey, OFFSET, LENGTH), IBV_WC_SUCCESS);
	VERIFY(w->region.p + OFFSET, LENGTH, 1);
	memset(w->pair.a.buf.p, 0, LENGTH);
	CHECK_INT(access_window(w, IBV_WR_RDMA_READ, w->mw->rkey, OFFSET + 10, LENGTH - 10),
		  IBV_WC_SUCCESS);
	CHECK(!memcmp(w->pair.a.buf.p, w->region.p + OFFSET + 10, LENGTH - 10));
}

static void type_1(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);

	bind_1(&w, LENGTH, RIGHTS);
	use(&w);
	windows_close(&w);
}

static void type_2(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_2);

	bind_2(&w, LENGTH, RIGHTS);
	use(&w);
	windows_close(&w);
}

/* rxe of Linux 6.1 and 6.12 checks the bounds of the region, not of the window. */
static void expect_outside(struct windows *w, int offset, int length)
{
	enum ibv_wc_status status = write_window(w, w->mw->rkey, offset, length);

	if (status == IBV_WC_SUCCESS && rt_is_kernel(w->dev))
		rt_skip("this kernel's device lets accesses outside of a window pass");
	CHECK_INT(status, IBV_WC_REM_ACCESS_ERR);
	CHECK_INT(w->region.p[offset], 0);
}

/* The window ends where it was bound to end, although the region continues. */
static void outside(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);

	bind_1(&w, LENGTH, RIGHTS);
	memset(w.pair.a.buf.p, 1, LENGTH + 1);
	expect_outside(&w, OFFSET, LENGTH + 1);
	windows_close(&w);
}

static void before(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_2);

	bind_2(&w, LENGTH, RIGHTS);
	memset(w.pair.a.buf.p, 1, 10);
	expect_outside(&w, OFFSET - 1, 10);
	windows_close(&w);
}

static void read_only(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);

	bind_1(&w, LENGTH, IBV_ACCESS_REMOTE_READ);
	CHECK_INT(access_window(&w, IBV_WR_RDMA_READ, w.mw->rkey, OFFSET, 10), IBV_WC_SUCCESS);
	CHECK_INT(write_window(&w, w.mw->rkey, OFFSET, 10), IBV_WC_REM_ACCESS_ERR);
	windows_close(&w);
}

/* The flag has no meaning for a window, but programs set it. */
static void local_write(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);

	bind_1(&w, LENGTH, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_LOCAL_WRITE);
	CHECK_INT(access_window(&w, IBV_WR_RDMA_READ, w.mw->rkey, OFFSET, 10), IBV_WC_SUCCESS);
	CHECK_INT(write_window(&w, w.mw->rkey, OFFSET, 10), IBV_WC_REM_ACCESS_ERR);
	windows_close(&w);
}

/* Type 1 can be bound again at any time; the key before becomes invalid. */
static void rebind(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);
	uint32_t old;

	bind_1(&w, 10, RIGHTS);
	old = w.mw->rkey;
	bind_1(&w, LENGTH, RIGHTS);
	CHECK_INT(write_window(&w, w.mw->rkey, OFFSET, LENGTH), IBV_WC_SUCCESS);
	CHECK_INT(write_window(&w, old, OFFSET, 10), IBV_WC_REM_ACCESS_ERR);
	windows_close(&w);
}

/* Neither the window's former key nor its present one opens memory. */
static void unbound(bool had)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);
	struct ibv_mw_bind none = { .wr_id = 6, .send_flags = IBV_SEND_SIGNALED };
	uint32_t old;

	bind_1(&w, LENGTH, RIGHTS);
	old = w.mw->rkey;
	CHECK_OK(ibv_bind_mw(w.pair.b.qp, w.mw, &none));
	EXPECT(&w.pair.b, 6, IBV_WC_BIND_MW);
	memset(w.pair.a.buf.p, 1, 10);
	CHECK_INT(write_window(&w, had ? old : w.mw->rkey, OFFSET, 10), IBV_WC_REM_ACCESS_ERR);
	CHECK_INT(w.region.p[OFFSET], 0);
	windows_close(&w);
}

static void unbind(void)
{
	unbound(false);
}

static void unbind_old(void)
{
	unbound(true);
}

/* A region with a bound window cannot be deregistered. */
static void busy_region(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);

	bind_1(&w, LENGTH, RIGHTS);
	CHECK(ibv_dereg_mr(w.region.mr) != 0);
	windows_close(&w);
}

static void freed(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);
	uint32_t rkey;

	bind_1(&w, LENGTH, RIGHTS);
	rkey = w.mw->rkey;
	CHECK_OK(ibv_dealloc_mw(w.mw));
	CHECK_INT(write_window(&w, rkey, OFFSET, 10), IBV_WC_REM_ACCESS_ERR);
	w.mw = ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_1);
	CHECK(w.mw);
	windows_close(&w);
}

/* Mistakes that ibv_bind_mw() itself refuses. */
static void refused(void)
{
	struct windows w = windows_open(IBV_MW_TYPE_1);
	struct ibv_mw *type_2 = ibv_alloc_mw(w.dev->pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind bind = { .bind_info = bind_info(&w, LENGTH, IBV_ACCESS_ZERO_BASED) };

	CHECK_INT(ibv_bind_mw(w.pair.b.qp, w.mw, &bind), EINVAL);
	if (type_2) {
		bind.bind_info = bind_info(&w, LENGTH, RIGHTS);
		CHECK_INT(ibv_bind_mw(w.pair.b.qp, type_2, &bind), EINVAL);
		CHECK_OK(ibv_dealloc_mw(type_2));
	}
	windows_close(&w);
}

static const struct rt_case cases[] = {
	{ "type_1", type_1 }, { "type_2", type_2 },	    { "outside", outside },
	{ "before", before }, { "read_only", read_only },   { "rebind", rebind },
	{ "unbind", unbind }, { "unbind_old", unbind_old }, { "busy_region", busy_region },
	{ "freed", freed },   { "refused", refused },	    { "local_write", local_write },
};
RT_MAIN(cases)
