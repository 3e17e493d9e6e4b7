/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains. A descriptor of the process is valid in the backend too, and so is its file. */
#include "tests/adapters/lab/model/model.h"

#include <errno.h>

int model_open_xrcd(struct object *xrcd, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};

	if (!model_on())
		return 0;
	xrcd->backend.xrcd = ibv_open_xrcd(model_context(), &attr);
	return xrcd->backend.xrcd ? 0 : errno;
}

int model_open_qp(struct object *qp, uint32_t number)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = number,
		.xrcd = qp->xrcd->backend.xrcd,
		.qp_context = qp,
		.qp_type = IBV_QPT_XRC_RECV,
	};

	qp->number = number;
	if (!model_on())
		return 0;
	qp->backend.qp = ibv_open_qp(model_context(), &attr);
	return qp->backend.qp ? 0 : errno;
}

bool model_has_short_numbers(void)
{
	return device && device->short_srq_numbers;
}

uint32_t model_number_step(void)
{
	return device ? device->number_step : 0;
}
