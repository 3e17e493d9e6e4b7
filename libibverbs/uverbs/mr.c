/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

/* Maximum entries of ibv_advise_mr(), because the length of an attribute has 16 bits. */
#define ADVISE_MAX_SGE (UINT16_MAX / sizeof(struct ib_uverbs_sge))

static int mr_reg_driver_attrs(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_REG_MR_HANDLE, &mr->ibv_mr.handle),
		uverbs_idr(UVERBS_ATTR_REG_MR_PD_HANDLE, in->pd->handle),
		uverbs_u64(UVERBS_ATTR_REG_MR_IOVA, in->iova),
		uverbs_u64(UVERBS_ATTR_REG_MR_ADDR, (uintptr_t)in->addr),
		uverbs_u64(UVERBS_ATTR_REG_MR_LENGTH, in->length),
		uverbs_u32(UVERBS_ATTR_REG_MR_ACCESS_FLAGS, in->access),
		uverbs_out(UVERBS_ATTR_REG_MR_RESP_LKEY, &mr->ibv_mr.lkey, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_REG_MR_RESP_RKEY, &mr->ibv_mr.rkey, sizeof(uint32_t)),
	};

	return uverbs_ioctl(in->pd->context, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR, a,
			    ARRAY_SIZE(a), in->udata);
}

int uverbs_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	struct ib_uverbs_reg_mr cmd = {
		.start = (uintptr_t)in->addr,
		.length = in->length,
		.hca_va = in->iova,
		.pd_handle = in->pd->handle,
		.access_flags = in->access,
	};
	int r;

	if (unlikely(in->udata && in->udata->attr_count))
		return mr_reg_driver_attrs(mr, in);
	r = uverbs_write(in->pd->context, IB_USER_VERBS_CMD_REG_MR, &cmd, sizeof(cmd), &resp,
			 sizeof(resp), in->udata);
	if (r < 0)
		return r;
	mr->ibv_mr.handle = resp.mr_handle;
	mr->ibv_mr.lkey = resp.lkey;
	mr->ibv_mr.rkey = resp.rkey;
	return 0;
}

int uverbs_reg_dmabuf_mr(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in)
{
	uint32_t handle = 0, lkey = 0, rkey = 0;
	struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, &handle),
		uverbs_idr(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, in->pd->handle),
		uverbs_u64(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, in->offset),
		uverbs_u64(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, in->length),
		uverbs_u64(UVERBS_ATTR_REG_DMABUF_MR_IOVA, in->iova),
		uverbs_u32(UVERBS_ATTR_REG_DMABUF_MR_FD, in->fd),
		uverbs_u32(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, in->access),
		uverbs_out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey, sizeof(lkey)),
		uverbs_out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey)),
	};
	int r = uverbs_ioctl(in->pd->context, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, a,
			     ARRAY_SIZE(a), in->udata);

	if (r < 0)
		return r;
	mr->ibv_mr.handle = handle;
	mr->ibv_mr.lkey = lkey;
	mr->ibv_mr.rkey = rkey;
	return 0;
}

int uverbs_reg_dm_mr(struct verbs_mr *mr, const struct verbs_reg_dm_mr *in)
{
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_REG_DM_MR_HANDLE, &mr->ibv_mr.handle),
		uverbs_u64(UVERBS_ATTR_REG_DM_MR_OFFSET, in->offset),
		uverbs_u64(UVERBS_ATTR_REG_DM_MR_LENGTH, in->length),
		uverbs_idr(UVERBS_ATTR_REG_DM_MR_PD_HANDLE, in->pd->handle),
		uverbs_u32(UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, in->access),
		uverbs_idr(UVERBS_ATTR_REG_DM_MR_DM_HANDLE, in->dm->dm.handle),
		uverbs_out(UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->ibv_mr.lkey, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->ibv_mr.rkey, sizeof(uint32_t)),
	};

	return uverbs_ioctl(in->pd->context, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, a,
			    ARRAY_SIZE(a), in->udata);
}

int uverbs_import_mr(struct verbs_mr *mr, uint32_t handle)
{
	uint64_t length = 0;
	const struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_QUERY_MR_HANDLE, handle),
		uverbs_out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, &mr->ibv_mr.lkey, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, &mr->ibv_mr.rkey, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length, sizeof(length)),
	};
	int r = uverbs_ioctl(mr->ibv_mr.context, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, a,
			     ARRAY_SIZE(a), NULL);

	if (r < 0)
		return r;
	mr->ibv_mr.handle = handle;
	mr->ibv_mr.length = length;
	return 0;
}

int uverbs_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct ib_uverbs_rereg_mr cmd = {
		.mr_handle = mr->ibv_mr.handle,
		.flags = in->flags,
		.start = (uintptr_t)in->addr,
		.length = in->length,
		.hca_va = (uintptr_t)in->addr,
		.pd_handle = in->flags & IBV_REREG_MR_CHANGE_PD ? in->pd->handle : 0,
		.access_flags = in->access,
	};
	int r = uverbs_write(mr->ibv_mr.context, IB_USER_VERBS_CMD_REREG_MR, &cmd, sizeof(cmd),
			     &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	mr->ibv_mr.lkey = resp.lkey;
	mr->ibv_mr.rkey = resp.rkey;
	return 0;
}

int uverbs_dereg_mr(struct verbs_mr *mr)
{
	struct ib_uverbs_dereg_mr cmd = { .mr_handle = mr->ibv_mr.handle };

	return uverbs_write(mr->ibv_mr.context, IB_USER_VERBS_CMD_DEREG_MR, &cmd, sizeof(cmd), NULL,
			    0, NULL);
}

int uverbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct uverbs_attr a[] = {
		uverbs_idr(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, pd->handle),
		uverbs_const(UVERBS_ATTR_ADVISE_MR_ADVICE, advice),
		uverbs_u32(UVERBS_ATTR_ADVISE_MR_FLAGS, flags),
		uverbs_in(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sg_list,
			  min_of((size_t)num_sge, ADVISE_MAX_SGE) * sizeof(*sg_list)),
	};

	if (num_sge > ADVISE_MAX_SGE)
		return -E2BIG;
	return uverbs_ioctl(pd->context, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, a,
			    ARRAY_SIZE(a), NULL);
}

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct ib_uverbs_sge),
	       "the kernel reads the application's SGEs in place");
