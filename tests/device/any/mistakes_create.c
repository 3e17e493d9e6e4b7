/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes in creating domains, regions, device memory, channels and completion queues that are
 * not about sizes: unknown bits, parents that do not match, objects of another context. The
 * plain forms are in mistakes_object.c. */
#include <sys/resource.h>

#include "tests/lib/rt_mistake.h"

/* ---- thread and parent domains ---- */

static int td_comp_mask(struct rt_dev *dev)
{
	struct ibv_td_init_attr attr = { .comp_mask = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_alloc_td(dev->ctx, &attr));
}

static int parent(struct rt_dev *dev, struct ibv_parent_domain_init_attr attr)
{
	return RT_ERRNO_OF(ibv_alloc_parent_domain(dev->ctx, &attr));
}

static int parent_comp_mask(struct rt_dev *dev)
{
	return parent(dev, (struct ibv_parent_domain_init_attr){ .pd = dev->pd,
								 .comp_mask = RT_UNKNOWN_BIT });
}

static int parent_no_pd(struct rt_dev *dev)
{
	return parent(dev, (struct ibv_parent_domain_init_attr){});
}

static int parent_other_pd(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return parent(dev, (struct ibv_parent_domain_init_attr){ .pd = other.pd });
}

static int parent_other_td(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_td_init_attr attr = {};
	struct ibv_td *td = ibv_alloc_td(other.ctx, &attr);
	int r;

	if (!td)
		return errno;
	r = parent(dev, (struct ibv_parent_domain_init_attr){ .pd = dev->pd, .td = td });
	CHECK_OK(ibv_dealloc_td(td));
	return r;
}

static int parent_of_parent(struct rt_dev *dev)
{
	struct ibv_parent_domain_init_attr attr = { .pd = dev->pd };
	struct ibv_pd *first = ibv_alloc_parent_domain(dev->ctx, &attr);
	int r;

	if (!first)
		return errno;
	r = parent(dev, (struct ibv_parent_domain_init_attr){ .pd = first });
	CHECK_OK(ibv_dealloc_pd(first));
	return r;
}

static void *memory_give(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
			 uint64_t resource_type)
{
	return IBV_ALLOCATOR_USE_DEFAULT;
}

static int parent_half_allocator(struct rt_dev *dev)
{
	return parent(dev, (struct ibv_parent_domain_init_attr){
				   .pd = dev->pd,
				   .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS,
				   .alloc = memory_give });
}

/* ---- memory ---- */

static uint8_t memory[8192] __attribute__((aligned(4096)));

static int mr_ex(struct rt_dev *dev, struct ibv_mr_init_attr attr)
{
	attr.length = 4096;
	return RT_ERRNO_OF(ibv_reg_mr_ex(dev->pd, &attr));
}

static int mr_ex_comp_mask(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = 1ull << 63, .addr = memory });
}

static int mr_ex_nothing(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .addr = memory });
}

static int mr_ex_both(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = IBV_REG_MR_MASK_ADDR |
								  IBV_REG_MR_MASK_FD,
						     .addr = memory });
}

static int mr_ex_fd_alone(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = IBV_REG_MR_MASK_FD });
}

static int mr_ex_fd_no_iova(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = IBV_REG_MR_MASK_FD |
								  IBV_REG_MR_MASK_FD_OFFSET });
}

static int mr_ex_null_dmah(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = IBV_REG_MR_MASK_ADDR |
								  IBV_REG_MR_MASK_DMAH,
						     .addr = memory });
}

static int mr_ex_access(struct rt_dev *dev)
{
	return mr_ex(dev, (struct ibv_mr_init_attr){ .comp_mask = IBV_REG_MR_MASK_ADDR,
						     .addr = memory,
						     .access = IBV_ACCESS_REMOTE_WRITE });
}

static int buf_reg(struct rt_dev *dev, struct ibv_pd *pd, size_t length)
{
	struct ibv_buf *buf;
	void *p = ibv_alloc_buf(pd, 4096, &buf);
	int r;

	CHECK(p);
	r = RT_ERRNO_OF(ibv_reg_buf_mr(dev->pd, buf, p, length, 0));
	ibv_free_buf(buf);
	return r;
}

static int buf_large(struct rt_dev *dev)
{
	return buf_reg(dev, dev->pd, 4097);
}

static int buf_other_pd(struct rt_dev *dev)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);
	int r;

	CHECK(pd);
	r = buf_reg(dev, pd, 4096);
	CHECK_OK(ibv_dealloc_pd(pd));
	return r;
}

static int dmabuf_access(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_dmabuf_mr(dev->pd, 0, 4096, 0, 0, 1 << 15));
}

static int dmabuf_wraps(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_dmabuf_mr(dev->pd, UINT64_MAX, 4096, 0, 0, 0));
}

static int iova_wraps(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr_iova(dev->pd, memory, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE));
}

static int rereg_other_pd(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	_cleanup_buf_ struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);

	return ibv_rereg_mr(buf.mr, IBV_REREG_MR_CHANGE_PD, other.pd, NULL, 0, 0) ? errno : 0;
}

static int rereg_null_pd(struct rt_dev *dev)
{
	_cleanup_buf_ struct rt_buf buf = rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE);

	return ibv_rereg_mr(buf.mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0) ? errno : 0;
}

static int import_mr_unknown(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_import_mr(dev->pd, 0x7ffffff0));
}

/* ---- device memory, DMA handles ---- */

static int dm_comp_mask(struct rt_dev *dev)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_alloc_dm(dev->ctx, &attr));
}

static int dm_large(struct rt_dev *dev)
{
	struct ibv_alloc_dm_attr attr = { .length = dev->attr.max_dm_size + 1 };

	return RT_ERRNO_OF(ibv_alloc_dm(dev->ctx, &attr));
}

static int dm_align(struct rt_dev *dev)
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .log_align_req = 69 };

	return RT_ERRNO_OF(ibv_alloc_dm(dev->ctx, &attr));
}

static int dm_reg(struct ibv_pd *pd, struct ibv_context *ctx, size_t length, int access)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &attr);
	int r;

	if (!dm)
		return errno;
	r = RT_ERRNO_OF(ibv_reg_dm_mr(pd, dm, 0, length, access));
	CHECK_OK(ibv_free_dm(dm));
	return r;
}

static int dm_reg_not_zero_based(struct rt_dev *dev)
{
	return dm_reg(dev->pd, dev->ctx, 4096, IBV_ACCESS_LOCAL_WRITE);
}

static int dm_reg_large(struct rt_dev *dev)
{
	return dm_reg(dev->pd, dev->ctx, 4097, IBV_ACCESS_ZERO_BASED);
}

static int dm_reg_other(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return dm_reg(dev->pd, other.ctx, 4096, IBV_ACCESS_ZERO_BASED);
}

static int dmah_comp_mask(struct rt_dev *dev)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = RT_UNKNOWN_BIT };

	return RT_ERRNO_OF(ibv_alloc_dmah(dev->ctx, &attr));
}

/* ---- channels, CQs ---- */

/* There is no free descriptor; the log opened its own with the first line. */
static int channel_limit(struct rt_dev *dev)
{
	struct rlimit limit, less;
	union ibv_gid gid;
	int fd, r;

	CHECK(ibv_query_gid(dev->ctx, 99, 0, &gid));
	fd = dup(0);
	CHECK(fd >= 0);
	close(fd);
	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	less = limit;
	less.rlim_cur = fd;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &less));
	r = RT_ERRNO_OF(ibv_create_comp_channel(dev->ctx));
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	return r;
}

static int cq_other_channel(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(other.ctx);
	int r;

	CHECK(channel);
	r = RT_ERRNO_OF(ibv_create_cq(dev->ctx, 4, NULL, channel, 0));
	CHECK_OK(ibv_destroy_comp_channel(channel));
	return r;
}

static int cq_ex(struct rt_dev *dev, struct ibv_cq_init_attr_ex attr)
{
	return RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, &attr));
}

static int cq_ex_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, NULL));
}

static int cq_ex_zero(struct rt_dev *dev)
{
	return cq_ex(dev, (struct ibv_cq_init_attr_ex){});
}

static int cq_ex_vector(struct rt_dev *dev)
{
	return cq_ex(dev, (struct ibv_cq_init_attr_ex){ .cqe = 4, .comp_vector = 10000 });
}

static int cq_ex_no_parent(struct rt_dev *dev)
{
	return cq_ex(dev, (struct ibv_cq_init_attr_ex){ .cqe = 4,
							.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD });
}

static int cq_ex_plain_parent(struct rt_dev *dev)
{
	return cq_ex(dev, (struct ibv_cq_init_attr_ex){ .cqe = 4,
							.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
							.parent_domain = dev->pd });
}

static int cq_ex_other_parent(struct rt_dev *dev)
{
	_cleanup_other_ struct rt_other other = rt_other_open(dev);

	return cq_ex(dev, (struct ibv_cq_init_attr_ex){ .cqe = 4,
							.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
							.parent_domain = other.pd });
}

static int cq_modify_mask(struct rt_dev *dev)
{
	_cleanup_cq_ struct ibv_cq *cq = rt_cq_open(dev);
	struct ibv_modify_cq_attr attr = { .attr_mask = RT_UNKNOWN_BIT };

	return ibv_modify_cq(cq, &attr);
}

static const struct rt_mistake mistakes[] = {
	{ "td_comp_mask", td_comp_mask, EINVAL, "ibv_alloc_td: comp_mask 0x80000000",
	  RT_LACKS("ibv_alloc_td") },
	{ "parent_comp_mask", parent_comp_mask, EINVAL, "comp_mask 0x80000000: 0x7 are known",
	  RT_LACKS("ibv_alloc_parent_domain") },
	{ "parent_no_pd", parent_no_pd, EINVAL, "pd is NULL", RT_LACKS("ibv_alloc_parent_domain") },
	{ "parent_other_pd", parent_other_pd, EINVAL, "must be of this context",
	  RT_LACKS("ibv_alloc_parent_domain") },
	{ "parent_other_td", parent_other_td, EINVAL, "must be of this context",
	  RT_LACKS("ibv_alloc_td") },
	{ "parent_of_parent", parent_of_parent, EINVAL, "pd is a parent domain itself",
	  RT_LACKS("ibv_alloc_parent_domain") },
	{ "parent_half_allocator", parent_half_allocator, EINVAL, "free is NULL",
	  RT_LACKS("ibv_alloc_parent_domain") },

	{ "mr_ex_comp_mask", mr_ex_comp_mask, EOPNOTSUPP, "comp_mask 0x8000000000000000" },
	{ "mr_ex_nothing", mr_ex_nothing, EINVAL, "either an address or a descriptor" },
	{ "mr_ex_both", mr_ex_both, EINVAL, "either an address or a descriptor" },
	{ "mr_ex_fd_alone", mr_ex_fd_alone, EINVAL, "a descriptor and an offset go together" },
	{ "mr_ex_fd_no_iova", mr_ex_fd_no_iova, EINVAL, "a descriptor needs an iova" },
	{ "mr_ex_null_dmah", mr_ex_null_dmah, EINVAL, "dmah is NULL" },
	{ "mr_ex_access", mr_ex_access, EINVAL, "need LOCAL_WRITE" },
	{ "buf_large", buf_large, EINVAL, "4097 bytes: the buffer has 4096" },
	{ "buf_other_pd", buf_other_pd, EINVAL, "the buffer is of another protection domain" },
	{ "dmabuf_access", dmabuf_access, EINVAL, "unknown flag", RT_LACKS("ibv_reg_dmabuf_mr") },
	{ "dmabuf_wraps", dmabuf_wraps, EINVAL, "beyond the end of the address space",
	  RT_LACKS("ibv_reg_dmabuf_mr") },
	{ "iova_wraps", iova_wraps, EINVAL, "beyond the end of the address space" },
	{ "rereg_other_pd", rereg_other_pd, EINVAL, "belongs to another context",
	  RT_LACKS("ibv_rereg_mr") },
	{ "rereg_null_pd", rereg_null_pd, EINVAL, "CHANGE_PD needs a protection domain",
	  RT_LACKS("ibv_rereg_mr") },
	{ "import_mr_unknown", import_mr_unknown, ENOENT, "no such region in this context",
	  RT_LACKS("ibv_import_mr") },

	{ "dm_comp_mask", dm_comp_mask, EINVAL, "comp_mask 0x80000000", RT_LACKS("ibv_alloc_dm") },
	{ "dm_large", dm_large, EINVAL, "is above the device's max_dm_size",
	  RT_LACKS("ibv_alloc_dm") },
	{ "dm_align", dm_align, EINVAL, "aligned to 2^69", RT_LACKS("ibv_alloc_dm") },
	{ "dm_reg_not_zero_based", dm_reg_not_zero_based, EINVAL, "needs IBV_ACCESS_ZERO_BASED",
	  RT_LACKS("ibv_alloc_dm") },
	{ "dm_reg_large", dm_reg_large, EINVAL, "4097 bytes from 0 on: the device memory has 4096",
	  RT_LACKS("ibv_alloc_dm") },
	{ "dm_reg_other", dm_reg_other, EINVAL, "belongs to another context",
	  RT_LACKS("ibv_alloc_dm") },
	{ "dmah_comp_mask", dmah_comp_mask, EOPNOTSUPP, "comp_mask 0x80000000: 0x7 are known",
	  RT_LACKS("ibv_alloc_dmah") },

	{ "channel_limit", channel_limit, EMFILE, "raise the limit of open files" },
	{ "cq_other_channel", cq_other_channel, EBADF, "channel belongs to another context" },
	{ "cq_ex_null", cq_ex_null, EINVAL, "cq_attr is NULL" },
	{ "cq_ex_zero", cq_ex_zero, EINVAL, "cqe 0: a completion queue holds at least 1" },
	{ "cq_ex_vector", cq_ex_vector, EINVAL, "comp_vector 10000: the device has" },
	{ "cq_ex_no_parent", cq_ex_no_parent, EINVAL, "parent_domain is NULL" },
	{ "cq_ex_plain_parent", cq_ex_plain_parent, EINVAL, "not a parent domain" },
	{ "cq_ex_other_parent", cq_ex_other_parent, EINVAL, "of another context" },
	{ "cq_modify_mask", cq_modify_mask, EINVAL, "attr_mask 0x80000000",
	  RT_LACKS("ibv_modify_cq") },
};
RT_MISTAKES(mistakes)
