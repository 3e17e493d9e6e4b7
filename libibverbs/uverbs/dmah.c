/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

int uverbs_alloc_dmah(struct verbs_dmah *dmah, const struct verbs_alloc_dmah *in)
{
	const struct ibv_dmah_init_attr *attr = in->attr;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_ALLOC_DMAH_HANDLE, &dmah->handle),
		uverbs_when(attr->comp_mask & IBV_DMAH_INIT_ATTR_MASK_CPU_ID,
			    uverbs_u32(UVERBS_ATTR_ALLOC_DMAH_CPU_ID, attr->cpu_id)),
		uverbs_when(attr->comp_mask & IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE,
			    uverbs_enum(UVERBS_ATTR_ALLOC_DMAH_TPH_MEM_TYPE, attr->tph_mem_type,
					NULL, 0)),
		uverbs_when(attr->comp_mask & IBV_DMAH_INIT_ATTR_MASK_PH,
			    uverbs_in(UVERBS_ATTR_ALLOC_DMAH_PH, &attr->ph, sizeof(attr->ph))),
	};

	int r = uverbs_ioctl(dmah->dmah.context, UVERBS_OBJECT_DMAH, UVERBS_METHOD_DMAH_ALLOC, a,
			     ARRAY_SIZE(a), in->udata);

	return r == -EPROTONOSUPPORT ? -EOPNOTSUPP : r; /* kernels before 6.17 */
}

int uverbs_dealloc_dmah(struct verbs_dmah *dmah)
{
	const struct uverbs_attr a[] = { uverbs_idr(UVERBS_ATTR_FREE_DMA_HANDLE, dmah->handle) };

	return uverbs_ioctl(dmah->dmah.context, UVERBS_OBJECT_DMAH, UVERBS_METHOD_DMAH_FREE, a,
			    ARRAY_SIZE(a), NULL);
}

int uverbs_reg_mr_ex(struct verbs_mr *mr, const struct verbs_reg_mr_ex *in)
{
	const struct ibv_mr_init_attr *attr = in->attr;
	bool fd = attr->comp_mask & IBV_REG_MR_MASK_FD;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_REG_MR_HANDLE, &mr->ibv_mr.handle),
		uverbs_idr(UVERBS_ATTR_REG_MR_PD_HANDLE, in->pd->handle),
		uverbs_when(attr->dmah, uverbs_idr(UVERBS_ATTR_REG_MR_DMA_HANDLE,
						   attr->dmah ? to_vdmah(attr->dmah)->handle : 0)),
		uverbs_u64(UVERBS_ATTR_REG_MR_IOVA, attr->iova),
		uverbs_when(!fd, uverbs_u64(UVERBS_ATTR_REG_MR_ADDR, (uintptr_t)attr->addr)),
		uverbs_u64(UVERBS_ATTR_REG_MR_LENGTH, attr->length),
		uverbs_u32(UVERBS_ATTR_REG_MR_ACCESS_FLAGS, attr->access),
		uverbs_when(fd, uverbs_fd(UVERBS_ATTR_REG_MR_FD, attr->fd)),
		uverbs_when(fd, uverbs_u64(UVERBS_ATTR_REG_MR_FD_OFFSET, attr->fd_offset)),
		uverbs_out(UVERBS_ATTR_REG_MR_RESP_LKEY, &mr->ibv_mr.lkey, sizeof(uint32_t)),
		uverbs_out(UVERBS_ATTR_REG_MR_RESP_RKEY, &mr->ibv_mr.rkey, sizeof(uint32_t)),
	};

	return uverbs_ioctl(in->pd->context, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_MR, a,
			    ARRAY_SIZE(a), in->udata);
}

int uverbs_export_dmabuf(struct ibv_context *ctx, uint64_t offset)
{
	int fd = -1;
	const struct uverbs_attr a[] = {
		uverbs_new_fd(UVERBS_ATTR_ALLOC_DMABUF_HANDLE, &fd),
		uverbs_u64(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, offset),
	};
	int r = uverbs_ioctl(ctx, UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC, a,
			     ARRAY_SIZE(a), NULL);

	return r < 0 ? r : fd;
}
