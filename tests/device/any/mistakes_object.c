/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes with devices, regions, windows, completion queues, shared receive queues and addresses.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/lib/rt_mistake.h"

/* ---- device ---- */

static int open_null(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_open_device(NULL));
}

static int port_9(struct rt_dev *dev)
{
	struct ibv_port_attr attr;

	return ibv_query_port(dev->ctx, 99, &attr);
}

static int port_0(struct rt_dev *dev)
{
	struct ibv_port_attr attr;

	return ibv_query_port(dev->ctx, 0, &attr);
}

static int gid_beyond(struct rt_dev *dev)
{
	union ibv_gid gid;

	return ibv_query_gid(dev->ctx, dev->port_num, 1000000, &gid) ? errno : 0;
}

static int pkey_beyond(struct rt_dev *dev)
{
	__be16 pkey;

	return ibv_query_pkey(dev->ctx, dev->port_num, 1000000, &pkey) ? errno : 0;
}

/* ---- PD, MR, MW ---- */

static int pd_busy(struct rt_dev *dev)
{
	_cleanup_buf_ struct rt_buf buf = rt_buf_alloc(dev, 4096, 0);

	return ibv_dealloc_pd(dev->pd);
}

static uint8_t memory[8192] __attribute__((aligned(4096)));

static int mr_remote_without_local(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, memory, 4096, IBV_ACCESS_REMOTE_WRITE));
}

static int mr_unknown_access(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, memory, 4096, 1 << 15));
}

static int mr_wraps(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, memory, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
}

static int mr_unmapped(struct rt_dev *dev)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE));
}

static int mr_read_only(struct rt_dev *dev)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, p, 4096, IBV_ACCESS_LOCAL_WRITE));
}

static int mr_null_pd(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_reg_mr(NULL, memory, 4096, IBV_ACCESS_LOCAL_WRITE));
}

/* As an ordinary user, to whom the limit applies. */
static int mr_memlock(struct rt_dev *dev)
{
	static const struct rlimit none = {};

	CHECK_OK(setrlimit(RLIMIT_MEMLOCK, &none));
	if (setuid(RT_NOBODY))
		rt_skip("only root can become an ordinary user (%m)");
	return RT_ERRNO_OF(ibv_reg_mr(dev->pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE));
}

static int rereg_nothing(struct rt_dev *dev)
{
	_cleanup_buf_ struct rt_buf buf = rt_buf_alloc(dev, 4096, 0);

	return ibv_rereg_mr(buf.mr, 0, NULL, NULL, 0, 0) ? errno : 0;
}

static int mw_type(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_alloc_mw(dev->pd, 7));
}

static int mw_bind_zero_based(struct rt_dev *dev)
{
	_cleanup_pair_ struct rt_pair pair = rt_pair_open(dev, NULL);
	_cleanup_buf_ struct rt_buf buf =
		rt_buf_alloc(dev, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(dev->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {
		.bind_info = { .mr = buf.mr,
			       .addr = (uintptr_t)buf.p,
			       .length = 4096,
			       .mw_access_flags = IBV_ACCESS_ZERO_BASED },
	};
	int r;

	if (!mw)
		rt_skip("the device has no memory windows");
	r = ibv_bind_mw(pair.a.qp, mw, &bind);
	CHECK_OK(ibv_dealloc_mw(mw));
	return r;
}

/* ---- CQ ---- */

static int cq_zero(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_cq(dev->ctx, 0, NULL, NULL, 0));
}

static int cq_large(struct rt_dev *dev)
{
	int cqe = dev->attr.orig_attr.max_cqe + 1;

	return RT_ERRNO_OF(ibv_create_cq(dev->ctx, cqe, NULL, NULL, 0));
}

static int cq_vector(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_create_cq(dev->ctx, 1, NULL, NULL, 10000));
}

static int cq_ex_flags(struct rt_dev *dev)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .wc_flags = 1ULL << 40 };

	return RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, &attr));
}

static int cq_ex_comp_mask(struct rt_dev *dev)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = 1u << 31 };

	return RT_ERRNO_OF(ibv_create_cq_ex(dev->ctx, &attr));
}

static int cq_resize(struct rt_dev *dev, int cqe)
{
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 10, NULL, NULL, 0);
	int r;

	CHECK(cq);
	r = ibv_resize_cq(cq, cqe);
	CHECK_OK(ibv_destroy_cq(cq));
	return r;
}

static int cq_resize_zero(struct rt_dev *dev)
{
	return cq_resize(dev, 0);
}

static int cq_resize_large(struct rt_dev *dev)
{
	return cq_resize(dev, dev->attr.orig_attr.max_cqe + 1);
}

static int cq_busy(struct rt_dev *dev)
{
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);

	return ibv_destroy_cq(side.cq);
}

static int channel_busy(struct rt_dev *dev)
{
	struct rt_options options = { .channel = true };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &options, NULL);

	return ibv_destroy_comp_channel(side.channel);
}

/* ---- SRQ ---- */

static int srq_large(struct rt_dev *dev)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = dev->attr.orig_attr.max_srq_wr + 1, .max_sge = 1 },
	};

	return RT_ERRNO_OF(ibv_create_srq(dev->pd, &attr));
}

static int srq_sges(struct rt_dev *dev)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 1, .max_sge = dev->attr.orig_attr.max_srq_sge + 1 },
	};

	return RT_ERRNO_OF(ibv_create_srq(dev->pd, &attr));
}

static int srq_modify(struct rt_dev *dev, struct ibv_srq_attr attr, int mask)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 10, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(dev->pd, &init);
	int r;

	if (!srq && errno == EOPNOTSUPP)
		rt_skip("the device has no shared receive queues");
	CHECK(srq);
	r = ibv_modify_srq(srq, &attr, mask);
	CHECK_OK(ibv_destroy_srq(srq));
	return r;
}

static int srq_limit(struct rt_dev *dev)
{
	return srq_modify(dev, (struct ibv_srq_attr){ .srq_limit = 100000 }, IBV_SRQ_LIMIT);
}

static int srq_too_many_sges(struct rt_dev *dev)
{
	struct rt_options options = { .srq = true };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &options, NULL);
	struct ibv_sge list[1000] = {};
	struct ibv_recv_wr wr = { .sg_list = list, .num_sge = 1000 }, *bad_wr;

	return ibv_post_srq_recv(side.srq, &wr, &bad_wr);
}

/* ---- AH, multicast ---- */

static int ah_create(struct rt_dev *dev, void (*spoil)(struct ibv_ah_attr *attr))
{
	struct rt_address self = { .gid = dev->gid };
	struct ibv_ah_attr attr = rt_ah_attr(dev, &self);

	if (dev->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		rt_skip("the port is not RoCE");
	spoil(&attr);
	return RT_ERRNO_OF(ibv_create_ah(dev->pd, &attr));
}

static void spoil_ah_grh(struct ibv_ah_attr *attr)
{
	attr->is_global = 0;
}

static int ah_no_grh(struct rt_dev *dev)
{
	return ah_create(dev, spoil_ah_grh);
}

static void spoil_ah_port_num(struct ibv_ah_attr *attr)
{
	attr->port_num = 99;
}

static int ah_port(struct rt_dev *dev)
{
	return ah_create(dev, spoil_ah_port_num);
}

static int mcast_not_ud(struct rt_dev *dev)
{
	static const union ibv_gid group = { .raw = { 0xff, 0x0e } };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, NULL, NULL);

	return ibv_attach_mcast(side.qp, &group, 0);
}

static int mcast_not_group(struct rt_dev *dev)
{
	struct rt_options ud = { .type = IBV_QPT_UD };
	_cleanup_side_ struct rt_side side = rt_side_open(dev, &ud, NULL);

	return ibv_attach_mcast(side.qp, &dev->gid, 0);
}

/* ---- not there ---- */

static int import_device(struct rt_dev *dev)
{
	return RT_ERRNO_OF(ibv_import_device(dev->ctx->async_fd));
}

static const struct rt_mistake mistakes[] = {
	{ "open_null", open_null, EINVAL, "NULL" },
	{ "port_9", port_9, EINVAL, "port 99 does not exist: the device has ports 1 to" },
	{ "port_0", port_0, EINVAL, "port 0 does not exist" },
	{ "gid_beyond", gid_beyond, EINVAL, "GID index 1000000: the table has" },
	{ "pkey_beyond", pkey_beyond, EINVAL, "P_Key index 1000000: the table has" },
	{ "pd_busy", pd_busy, EBUSY, "other objects still use it" },
	{ "mr_remote_without_local", mr_remote_without_local, EINVAL, "need LOCAL_WRITE" },
	{ "mr_unknown_access", mr_unknown_access, EINVAL, "unknown flag" },
	{ "mr_wraps", mr_wraps, EINVAL, "beyond the end of the address space" },
	{ "mr_unmapped", mr_unmapped, EFAULT, "nothing is mapped at", .kernel_only = true },
	{ "mr_read_only", mr_read_only, EFAULT, "not writable", .kernel_only = true },
	{ "mr_null_pd", mr_null_pd, EINVAL, "pd is NULL" },
	{ "mr_memlock", mr_memlock, EPERM, "RLIMIT_MEMLOCK is 0 bytes", .kernel_only = true,
	  .or_else = ENOMEM /* siw returns this */ },
	{ "rereg_nothing", rereg_nothing, EINVAL, "flags must be some of",
	  RT_LACKS("ibv_rereg_mr") },
	{ "mw_type", mw_type, EINVAL, "neither IBV_MW_TYPE_1 nor IBV_MW_TYPE_2",
	  RT_LACKS("ibv_alloc_mw") },
	{ "mw_bind_zero_based", mw_bind_zero_based, EINVAL, "ZERO_BASED needs a type 2 window" },
	{ "cq_zero", cq_zero, EINVAL, "cqe 0: a completion queue holds at least 1" },
	{ "cq_large", cq_large, EINVAL, "is above the device's max_cqe" },
	{ "cq_vector", cq_vector, EINVAL, "comp_vector 10000: the device has" },
	{ "cq_ex_flags", cq_ex_flags, EOPNOTSUPP, "wc_flags: bits 0x10000000000 are not known" },
	{ "cq_ex_comp_mask", cq_ex_comp_mask, EOPNOTSUPP, "comp_mask: bits" },
	{ "cq_resize_zero", cq_resize_zero, EINVAL, "cqe 0: a completion queue holds",
	  RT_LACKS("ibv_resize_cq") },
	{ "cq_resize_large", cq_resize_large, EINVAL, "is above the device's max_cqe",
	  RT_LACKS("ibv_resize_cq") },
	{ "cq_busy", cq_busy, EBUSY, "other objects still use it" },
	{ "channel_busy", channel_busy, EBUSY, "CQs still use it" },
	{ "srq_large", srq_large, EINVAL, "is above the device's max_srq_wr" },
	{ "srq_sges", srq_sges, EINVAL, "is above the device's max_srq_sge" },
	{ "srq_limit", srq_limit, EINVAL, "srq_limit 100000 is above the queue's max_wr" },
	{ "srq_too_many_sges", srq_too_many_sges, EINVAL, "1000 scatter/gather entries" },
	{ "ah_no_grh", ah_no_grh, EINVAL, "RoCE needs is_global = 1", RT_LACKS("ibv_create_ah") },
	{ "ah_port", ah_port, EINVAL, "port 99 does not exist", RT_LACKS("ibv_create_ah") },
	{ "mcast_not_ud", mcast_not_ud, EINVAL, "only a UD QP has multicast groups",
	  RT_LACKS("ibv_attach_mcast") },
	{ "mcast_not_group", mcast_not_group, EINVAL, "is not a multicast GID" },
	{ "import_device", import_device, EINVAL, "it is not the cmd_fd of an RDMA device" },
};
RT_MISTAKES(mistakes)
