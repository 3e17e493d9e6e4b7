/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Importing another process's objects: refused plainly where the device cannot. */
#include "tests/lib/rt.h"

static void device(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_context *ctx = ibv_import_device(dup(dev->ctx->cmd_fd));

	if (ctx) {
		CHECK_OK(ibv_close_device(ctx));
	} else {
		CHECK_INT(errno, EOPNOTSUPP);
	}
	rt_close(dev);
}

static void pd(void)
{
	struct rt_dev *dev = rt_open();
	struct ibv_pd *imported = ibv_import_pd(dev->ctx, dev->pd->handle);

	if (imported)
		ibv_unimport_pd(imported);
	else
		CHECK_INT(errno, EOPNOTSUPP);
	rt_close(dev);
}

static void mr(void)
{
	struct rt_dev *dev = rt_open();
	struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *imported = ibv_import_mr(dev->pd, buf.mr->handle);

	if (imported)
		ibv_unimport_mr(imported);
	else
		CHECK_INT(errno, EOPNOTSUPP);
	rt_buf_free(&buf);
	rt_close(dev);
}

static const struct rt_case cases[] = {
	{ "device", device },
	{ "pd", pd },
	{ "mr", mr },
};
RT_MAIN(cases)
