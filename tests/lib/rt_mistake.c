/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>

#include "tests/lib/rt_mistake.h"

struct rt_other rt_other_open(struct rt_dev *dev)
{
	struct rt_other other = { .ctx = ibv_open_device(dev->ctx->device) };

	CHECK(other.ctx);
	other.pd = ibv_alloc_pd(other.ctx);
	other.cq = ibv_create_cq(other.ctx, 4, NULL, NULL, 0);
	CHECK(other.pd && other.cq);
	return other;
}

void rt_other_close(struct rt_other *other)
{
	CHECK_OK(ibv_destroy_cq(other->cq));
	CHECK_OK(ibv_dealloc_pd(other->pd));
	CHECK_OK(ibv_close_device(other->ctx));
}

void rt_cq_close(struct ibv_cq **cq)
{
	CHECK_OK(ibv_destroy_cq(*cq));
}

struct ibv_cq *rt_cq_open(struct rt_dev *dev)
{
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 4, NULL, NULL, 0);

	CHECK(cq);
	return cq;
}

struct ibv_xrcd *rt_xrcd_open(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &attr);
}

static struct rt_dev *device_for(const struct rt_mistake *m)
{
	struct rt_dev *dev = rt_open();

	if (m->kernel_only && !rt_is_kernel(dev)) {
		rt_close(dev);
		rt_skip("only a device of the kernel can refuse this");
	}
	return dev;
}

static bool lacks_verb(const struct rt_mistake *m, int r)
{
	char text[100];

	if (!m->verb || r != EOPNOTSUPP)
		return false;
	snprintf(text, sizeof(text), "%s: not supported by provider", m->verb);
	return strstr(rt_log_text(), text);
}

static void mistake_run(const void *arg)
{
	const struct rt_mistake *m = arg;
	struct rt_dev *dev = NULL;
	int r;

	if (m->before_open && access("/dev/infiniband", F_OK))
		rt_skip("there is no device of the kernel");
	rt_log_capture();
	if (!m->before_open)
		dev = device_for(m);
	r = m->make(dev);
	if (lacks_verb(m, r)) {
		rt_log_discard();
		rt_close(dev);
		rt_skip("the device has no %s, and says so", m->verb);
	}
	if (r != m->expected && (!r || r != m->or_else))
		FAIL("%s (%d), expected %s (%d); the log says:\n%s", strerror(r), r,
		     strerror(m->expected), m->expected, rt_log_text());
	if (!strstr(rt_log_text(), m->text))
		FAIL("the log does not say '%s':\n%s", m->text, rt_log_text());
	rt_log_discard();
	if (dev)
		rt_close(dev);
}

int rt_mistakes(const struct rt_mistake *mistakes, int count)
{
	struct rt_case *cases = calloc(count, sizeof(*cases));
	int r;

	CHECK(cases);
	for (int i = 0; i < count; i++)
		cases[i] = (struct rt_case){
			.name = mistakes[i].name,
			.run_with = mistake_run,
			.arg = &mistakes[i],
		};
	r = rt_main(cases, count);
	free(cases);
	return r;
}
