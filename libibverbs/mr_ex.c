/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registration of any type of memory by one call. */
#include <string.h>

#include "libibverbs/explain.h"
#include "libibverbs/library.h"
#include "libibverbs/mr.h"

#define MR_EX_KNOWN ((uint64_t)(IBV_REG_MR_MASK_BUF << 1) - 1)

static const char verb[] = "ibv_reg_mr_ex";

static int mr_ex_refuse(struct ibv_context *ctx, const char *why)
{
	verbs_err(ctx, "%s: %s", verb, why);
	return -EINVAL;
}

/* Return the valid attributes of the caller, with 0 for all others. */
static struct ibv_mr_init_attr mr_ex_known(const struct ibv_mr_init_attr *in)
{
	uint64_t mask = in->comp_mask;

	return (struct ibv_mr_init_attr){
		.length = in->length,
		.access = in->access,
		.comp_mask = mask,
		.iova = mask & IBV_REG_MR_MASK_IOVA ? in->iova : 0,
		.addr = mask & IBV_REG_MR_MASK_ADDR ? in->addr : NULL,
		.fd = mask & IBV_REG_MR_MASK_FD ? in->fd : 0,
		.fd_offset = mask & IBV_REG_MR_MASK_FD_OFFSET ? in->fd_offset : 0,
		.dmah = mask & IBV_REG_MR_MASK_DMAH ? in->dmah : NULL,
		.buf = mask & IBV_REG_MR_MASK_BUF ? in->buf : NULL,
	};
}

static int mr_ex_check_buf(const struct ibv_pd *pd, const struct ibv_mr_init_attr *attr)
{
	const struct ibv_buf *buf = attr->buf;
	uintptr_t at = (uintptr_t)attr->addr, base;

	if (!buf)
		return explain_null(verb, "buf");
	if (pd != buf->pd)
		return mr_ex_refuse(pd->context, "the buffer is of another protection domain");
	if (!(attr->comp_mask & IBV_REG_MR_MASK_ADDR) ||
	    attr->comp_mask & (IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET))
		return mr_ex_refuse(pd->context,
				    "a buffer goes with an address, and no descriptor");
	base = (uintptr_t)buf->addr;
	if (at < base || at - base > buf->size || attr->length > buf->size - (at - base)) {
		verbs_err(pd->context, "%s: %p, %zu bytes: the buffer has %zu from %p on", verb,
			  attr->addr, attr->length, buf->size, buf->addr);
		return -EINVAL;
	}
	if (buf->dmabuf_fd >= 0 && attr->comp_mask & IBV_REG_MR_MASK_IOVA)
		return mr_ex_refuse(pd->context,
				    "a buffer that is a dma-buf has its own addresses");
	return 0;
}

/* Replace the buffer in @attr by a range of its dma-buf, or by its address. */
static int mr_ex_open_buf(const struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	const struct ibv_buf *buf = attr->buf;
	int r = mr_ex_check_buf(pd, attr);

	if (r < 0)
		return r;
	attr->comp_mask &= ~(uint64_t)IBV_REG_MR_MASK_BUF;
	attr->buf = NULL;
	if (buf->dmabuf_fd < 0)
		return 0;
	attr->comp_mask &= ~(uint64_t)IBV_REG_MR_MASK_ADDR;
	attr->comp_mask |= IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_IOVA;
	attr->fd = buf->dmabuf_fd;
	attr->fd_offset = (uintptr_t)attr->addr - (uintptr_t)buf->addr;
	attr->iova = (uintptr_t)attr->addr;
	attr->addr = NULL;
	return 0;
}

/* Check that @attr has either an address, or a descriptor with offset and iova. */
static int mr_ex_check(struct ibv_context *ctx, struct ibv_mr_init_attr *attr)
{
	uint64_t mask = attr->comp_mask;
	bool addr = mask & IBV_REG_MR_MASK_ADDR, fd = mask & IBV_REG_MR_MASK_FD;

	if (addr == fd)
		return mr_ex_refuse(ctx, "either an address or a descriptor is needed");
	if (fd != !!(mask & IBV_REG_MR_MASK_FD_OFFSET))
		return mr_ex_refuse(ctx, "a descriptor and an offset go together");
	if (fd && !(mask & IBV_REG_MR_MASK_IOVA))
		return mr_ex_refuse(ctx, "a descriptor needs an iova");
	if (mask & IBV_REG_MR_MASK_DMAH && !attr->dmah)
		return explain_null(verb, "dmah");
	if (attr->dmah && verbs_is_foreign(ctx, attr->dmah->context))
		return mr_ex_refuse(ctx, "the DMA handle belongs to another context");
	if (!(mask & IBV_REG_MR_MASK_IOVA))
		attr->iova = (uintptr_t)attr->addr;
	return 0;
}

static int mr_ex_register(struct ibv_pd *pd, const struct ibv_mr_init_attr *attr,
			  struct ibv_mr **ret_mr)
{
	const struct verbs_reg_mr plain = {
		.pd = pd,
		.addr = attr->addr,
		.length = attr->length,
		.iova = attr->iova,
		.access = attr->access,
	};
	const struct verbs_reg_dmabuf_mr dmabuf = {
		.pd = pd,
		.offset = attr->fd_offset,
		.length = attr->length,
		.iova = attr->iova,
		.fd = attr->fd,
		.access = attr->access,
	};

	if (attr->dmah)
		return mr_register_ex(verb, &(struct verbs_reg_mr_ex){ .pd = pd, .attr = attr },
				      ret_mr);
	return attr->comp_mask & IBV_REG_MR_MASK_FD
		       ? verbs_mr_register_dmabuf(verb, &dmabuf, ret_mr)
		       : mr_register(verb, &plain, ret_mr);
}

static int mr_ex_reg(struct ibv_pd *pd, const struct ibv_mr_init_attr *in, struct ibv_mr **ret_mr)
{
	struct ibv_mr_init_attr attr;
	int r = 0;

	if (!pd || !in)
		return explain_null(verb, pd ? "mr_init_attr" : "pd");
	if (!comp_mask_ok(in->comp_mask, MR_EX_KNOWN)) {
		verbs_err(pd->context, "%s: comp_mask 0x%llx: 0x%llx are known", verb,
			  (unsigned long long)in->comp_mask, (unsigned long long)MR_EX_KNOWN);
		return -EOPNOTSUPP;
	}
	attr = mr_ex_known(in);
	if (attr.comp_mask & IBV_REG_MR_MASK_BUF)
		r = mr_ex_open_buf(pd, &attr);
	if (r == 0)
		r = mr_ex_check(pd->context, &attr);
	return r < 0 ? r : mr_ex_register(pd, &attr, ret_mr);
}

VERBS_EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *mr_init_attr)
{
	struct ibv_mr *mr = NULL;
	int r = mr_ex_reg(pd, mr_init_attr, &mr);

	return r < 0 ? ret_null(r) : mr;
}

VERBS_EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr,
					   size_t length, int access)
{
	struct ibv_mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR,
		.addr = addr,
		.buf = buf,
	};

	return ibv_reg_mr_ex(pd, &attr);
}
