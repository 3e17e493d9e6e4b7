/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* XRC domains, and handles of XRC receive QPs. */
#include <fcntl.h>

#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

int uroce_open_xrcd(struct verbs_xrcd *vxrcd, const struct verbs_open_xrcd *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_xrcd *xrcd = (struct uroce_xrcd *)vxrcd;
	struct uroce_host *host = ctx_host(vxrcd->xrcd.context);
	int r = uroce_host_check(host);

	if (!r && in->attr->oflags & ~(O_CREAT | O_EXCL))
		r = -EINVAL;
	if (!r)
		r = uroce_domain_get(vxrcd->xrcd.context, in->attr->fd, in->attr->oflags,
				     &xrcd->domain);
	if (r < 0)
		return r;
	vxrcd->handle = atomic_fetch_add(&host->next_handle, 1);
	return 0;
}

int uroce_close_xrcd(struct verbs_xrcd *vxrcd)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_xrcd *xrcd = (struct uroce_xrcd *)vxrcd;
	unsigned int users = atomic_load(&xrcd->users);
	int r = uroce_host_check(ctx_host(vxrcd->xrcd.context));

	if (r < 0)
		return r;
	if (users) {
		verbs_err(vxrcd->xrcd.context,
			  "xrcd %u: %u shared receive queues and queue pairs still use it",
			  vxrcd->handle, users);
		return -EBUSY;
	}
	uroce_domain_put(xrcd->domain);
	return 0;
}

/* --- queue pairs --- */

void uroce_xrc_handle_add(struct uroce_qp *qp, struct uroce_qp *handle)
{
	handle->dev = qp->dev;
	handle->engine = qp->engine;
	handle->type = IBV_QPT_XRC_RECV;
	handle->shared = qp;
	atomic_fetch_add(&((struct uroce_xrcd *)handle->vqp.xrcd)->users, 1);
	uroce_lock(&qp->lock);
	LIST_INSERT_HEAD(&qp->handles, handle, handle);
	uroce_unlock(&qp->lock);
}

bool uroce_xrc_handle_remove(struct uroce_qp *handle)
{
	struct uroce_qp *qp = handle->shared, *other;

	uroce_lock(&qp->lock);
	LIST_REMOVE(handle, handle);
	other = LIST_FIRST(&qp->handles);
	/* The QP may have used the context of this handle, and that context may be closed now. */
	if (other)
		qp->vqp.qp.context = other->vqp.qp.context;
	uroce_unlock(&qp->lock);
	atomic_fetch_sub(&((struct uroce_xrcd *)handle->vqp.xrcd)->users, 1);
	return !other;
}

/* Open a handle of an existing QP. Under xrc_lock, which is also held to destroy QPs. */
static int qp_open(struct uroce_qp *handle, const struct ibv_qp_open_attr *attr)
{
	struct uroce_host *host = qp_host(handle);
	struct uroce_qp *qp;

	uroce_lock(&host->paths.progress_lock);
	qp = uroce_qp_find(host, attr->qp_num);
	uroce_unlock(&host->paths.progress_lock);
	if (!qp || qp->type != IBV_QPT_XRC_RECV ||
	    qp->domain != ((struct uroce_xrcd *)attr->xrcd)->domain)
		return -EINVAL;
	uroce_xrc_handle_add(qp, handle);
	return 0;
}

int uroce_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_qp *handle = (struct uroce_qp *)vqp;
	struct uroce_host *host = ctx_host(vqp->qp.context);
	int r = uroce_host_check(host);

	if (r < 0)
		return r;
	if (in->attr->qp_type != IBV_QPT_XRC_RECV)
		return -EINVAL;
	handle->engine = &host->engine;
	if (in->attr->qp_num && !path_host_has(&host->paths, in->attr->qp_num)) {
		verbs_err(vqp->qp.context,
			  "ibv_open_qp: qp 0x%x is not of this process: processes cannot share XRC "
			  "queue pairs on this device",
			  in->attr->qp_num);
		return -EOPNOTSUPP;
	}
	pthread_mutex_lock(&host->xrc_lock);
	r = qp_open(handle, in->attr);
	pthread_mutex_unlock(&host->xrc_lock);
	if (r < 0)
		return r;
	vqp->qp.qp_num = vqp->qp.handle = in->attr->qp_num;
	return 0;
}
