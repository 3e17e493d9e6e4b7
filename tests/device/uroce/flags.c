/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags that the device does not know are refused, where the kernel refuses them. */
#include <fcntl.h>

#include "tests/lib/rt.h"

static void domains(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT | O_TRUNC,
	};
	struct rt_dev *dev = rt_open();
	struct ibv_xrcd *xrcd;

	CHECK(!ibv_open_xrcd(dev->ctx, &attr));
	CHECK_INT(errno, EINVAL);
	attr.oflags = O_CREAT;
	xrcd = ibv_open_xrcd(dev->ctx, &attr);
	CHECK(xrcd);
	CHECK_OK(ibv_close_xrcd(xrcd));
	rt_close(dev);
}

static const struct rt_case cases[] = { { "ibv_open_xrcd", domains } };
RT_MAIN(cases)
