/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and queue pairs of them that are opened once more. */
#include "tests/adapters/lab/shim/handlers.h"

#include <errno.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

int handle_open_xrcd(struct command *c)
{
	const struct ib_uverbs_open_xrcd *q = c->in;
	struct object *xrcd = object_new(OBJECT_XRCD);
	struct ib_uverbs_open_xrcd_resp response;
	int r;

	if (!xrcd)
		return ENOMEM;
	trace_line("OPEN_XRCD fd=%s oflags=0x%x -> %s", (int)q->fd < 0 ? "no" : "yes", q->oflags,
		   object_name(OBJECT_XRCD, xrcd->handle));
	r = model_open_xrcd(xrcd, q->fd, q->oflags);
	if (r) {
		object_free(xrcd);
		return r;
	}
	response = (struct ib_uverbs_open_xrcd_resp){ .xrcd_handle = xrcd->handle };
	command_answer(c, &response, sizeof(response));
	return 0;
}

int handle_close_xrcd(struct command *c)
{
	const struct ib_uverbs_close_xrcd *q = c->in;

	return object_destroy(OBJECT_XRCD, q->xrcd_handle, NULL);
}

int handle_open_qp(struct command *c)
{
	const struct ib_uverbs_open_qp *q = c->in;
	struct ib_uverbs_create_qp_resp response;
	struct object *xrcd = object_find(OBJECT_XRCD, q->pd_handle), *qp;
	int r;

	if (!xrcd || q->qp_type != IBV_QPT_XRC_RECV)
		return EINVAL;
	qp = object_new(OBJECT_QP);
	if (!qp)
		return ENOMEM;
	qp->user_handle = q->user_handle;
	qp->qp_type = q->qp_type;
	qp->xrcd = xrcd;
	trace_line("OPEN_QP %s qpn=0x%x -> %s", object_name(OBJECT_XRCD, q->pd_handle), q->qpn,
		   object_name(OBJECT_QP, qp->handle));
	r = model_open_qp(qp, q->qpn & ~device->xrc_bit);
	if (r) {
		object_free(qp);
		return r;
	}
	response = (struct ib_uverbs_create_qp_resp){ .qp_handle = qp->handle, .qpn = q->qpn };
	command_answer(c, &response, sizeof(response));
	return 0;
}
