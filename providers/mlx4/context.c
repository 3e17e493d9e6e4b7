/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opening: the registers, and the facts of the device. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "providers/kit/context.h"
#include "providers/mlx4/mlx4.h"

enum {
	PAGE_UAR = 0, /* offset in the device file, pages */
	PAGE_BF = 1,
	PAGE_CLOCK = 3,
	FW_DIGITS = 3,
	CQE_SIZE_MIN = 32,
	CQE_SIZE_MAX = 64,
	CQE_COUNT_MAX = 1 << 22,
	QP_WR_UNKNOWN = 65536, /* used if the kernel reports no limit */
	SGE_UNKNOWN = 64,
};

/* The answer of the kernel, old or new. */
struct context_info {
	uint32_t cqe_size;
	uint32_t bf_reg_size;
};

static int info_ask_old(struct mlx4_context *ctx, const struct verbs_open_context *in,
			struct context_info *ret_info)
{
	struct mlx4_ib_alloc_ucontext_resp_v3 resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_open_context open = *in;
	int r;

	open.udata = &udata;
	r = uverbs_open_context(&ctx->vctx, &open);
	if (!r)
		*ret_info = (struct context_info){ CQE_SIZE_MIN, resp.bf_reg_size };
	return r;
}

static int info_ask(struct mlx4_context *ctx, const struct verbs_open_context *in,
		    struct context_info *ret_info)
{
	struct mlx4_ib_alloc_ucontext_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	struct verbs_open_context open = *in;
	int r;

	if (to_vdev(ctx->vctx.context.device)->abi_version <=
	    MLX4_IB_UVERBS_NO_DEV_CAPS_ABI_VERSION)
		return info_ask_old(ctx, in, ret_info);
	open.udata = &udata;
	r = uverbs_open_context(&ctx->vctx, &open);
	if (!r)
		*ret_info = (struct context_info){
			resp.dev_caps & MLX4_USER_DEV_CAP_LARGE_CQE ? resp.cqe_size : CQE_SIZE_MIN,
			resp.bf_reg_size,
		};
	return r;
}

/* Check numbers of the kernel that sizes and addresses are computed from. */
static int info_check(struct mlx4_context *ctx, const struct context_info *info)
{
	bool bf_bad =
		info->bf_reg_size > ctx->page_size || info->bf_reg_size % (MLX4_BF_REGISTERS * 64);

	if ((info->cqe_size != CQE_SIZE_MIN && info->cqe_size != CQE_SIZE_MAX) || bf_bad) {
		verbs_err(&ctx->vctx.context,
			  "the kernel says: completions of %u bytes, a register of %u bytes",
			  info->cqe_size, info->bf_reg_size);
		return -EPROTO;
	}
	ctx->cqe_size = info->cqe_size;
	ctx->bf_size = info->bf_reg_size / MLX4_BF_REGISTERS;
	return 0;
}

static void *page_map(struct mlx4_context *ctx, unsigned int number)
{
	void *p = mmap(NULL, ctx->page_size, PROT_WRITE, MAP_SHARED, ctx->vctx.context.cmd_fd,
		       (off_t)number * ctx->page_size);

	return p == MAP_FAILED ? NULL : p;
}

static int registers_map(struct mlx4_context *ctx)
{
	struct ibv_context *ibctx = &ctx->vctx.context;

	ctx->uar = page_map(ctx, PAGE_UAR);
	if (!ctx->uar) {
		int r = -errno;

		verbs_err(ibctx, "cannot map the doorbells: %s", strerror(-r));
		return r;
	}
	if (!ctx->bf_size)
		return 0;
	ctx->bf = page_map(ctx, PAGE_BF);
	if (!ctx->bf) {
		verbs_warn(ibctx, "cannot map the register for requests, which is done without: %s",
			   strerror(errno));
		ctx->bf_size = 0;
	}
	return 0;
}

/* Query the device in the kernel, including the driver's own attributes. */
static int device_ask(struct ibv_context *ibctx, const struct verbs_query_device *in,
		      struct mlx4_uverbs_ex_query_device_resp *ret_resp,
		      struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_udata udata = { .out = ret_resp, .out_len = sizeof(*ret_resp) };
	struct verbs_query_device query = *in;
	uint64_t fw_ver = 0;
	int r;

	query.ret_fw_ver = &fw_ver;
	query.udata = &udata;
	r = uverbs_query_device(ibctx, &query, ret_attr);
	if (r < 0)
		return r;
	kit_context_print_fw(&ret_attr->orig_attr, fw_ver, FW_DIGITS);
	if (in->ret_fw_ver)
		*in->ret_fw_ver = fw_ver;
	return 0;
}

static void limits_set(struct mlx4_context *ctx, const struct ibv_device_attr *attr)
{
	ctx->max_qp_wr = attr->max_qp_wr > 0 ? attr->max_qp_wr : QP_WR_UNKNOWN;
	ctx->max_sge = attr->max_sge > 0 ? attr->max_sge : SGE_UNKNOWN;
	ctx->max_qp_wr = min_of(ctx->max_qp_wr, (uint32_t)QP_WR_UNKNOWN);
	ctx->max_sge = min_of(ctx->max_sge, (uint32_t)SGE_UNKNOWN);
	ctx->cqe_count_max = mlx_cq_count_max(attr->max_cqe, CQE_COUNT_MAX);
	ctx->atomics = attr->atomic_cap != IBV_ATOMIC_NONE;
	ctx->raw_checksums = attr->device_cap_flags & IBV_DEVICE_RAW_IP_CSUM;
	ctx->ud_checksums = attr->device_cap_flags & IBV_DEVICE_UD_IP_CSUM;
}

static void clock_map(struct mlx4_context *ctx, const struct mlx4_uverbs_ex_query_device_resp *resp)
{
	uint64_t key = (uint64_t)PAGE_CLOCK * ctx->page_size;

	ctx->clock_offset = resp->hca_core_clock_offset % ctx->page_size;
	if (!(resp->comp_mask & MLX4_IB_QUERY_DEV_RESP_MASK_CORE_CLOCK_OFFSET) ||
	    ctx->clock_offset % sizeof(__be32) ||
	    ctx->clock_offset > ctx->page_size - sizeof(uint64_t))
		return;
	if (kit_page_map(&ctx->vctx.context, key, ctx->page_size, PROT_READ, &ctx->clock) < 0)
		ctx->clock = (struct kit_page){};
}

int mlx4_port_ask(struct mlx4_context *ctx, unsigned int number, struct mlx4_port *ret_port)
{
	struct ibv_port_attr attr;
	struct mlx4_port *port;
	int r = 0;

	if (!number || number > MLX4_PORTS) {
		verbs_err(&ctx->vctx.context, "there is no port %u", number);
		return -EINVAL;
	}
	port = &ctx->ports[number - 1];
	pthread_mutex_lock(&ctx->port_lock);
	if (!port->known) {
		r = kit_context_port(&ctx->vctx.context, number, &attr);
		if (!r)
			*port = (struct mlx4_port){ attr.port_cap_flags, attr.flags,
						    attr.link_layer, true };
	}
	*ret_port = *port;
	pthread_mutex_unlock(&ctx->port_lock);
	return r;
}

static int facts_read(struct mlx4_context *ctx)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	struct mlx4_uverbs_ex_query_device_resp resp = {};
	struct ibv_device_attr_ex attr = {};
	const struct verbs_query_device query = {};
	int r = device_ask(ibctx, &query, &resp, &attr);

	if (r < 0) {
		verbs_err(ibctx, "cannot query the device: %s", strerror(-r));
		return r;
	}
	limits_set(ctx, &attr.orig_attr);
	ctx->max_inl_recv = resp.max_inl_recv_sz;
	clock_map(ctx, &resp);
	/* A port that does not answer is asked again when it is used. */
	for (unsigned int i = 1; i <= min_of(attr.orig_attr.phys_port_cnt, MLX4_PORTS); i++) {
		struct mlx4_port port;

		mlx4_port_ask(ctx, i, &port);
	}
	return 0;
}

int mlx4_open_context(struct verbs_context *vctx, const struct verbs_open_context *in)
{
	struct mlx4_context *ctx = (struct mlx4_context *)vctx;
	struct context_info info = {};
	int r;

	r = kit_context_check(vctx, in);
	if (r < 0)
		return r;
	ctx->page_size = sysconf(_SC_PAGESIZE);
	r = info_ask(ctx, in, &info);
	if (r < 0)
		return kit_context_refused(vctx, r);
	r = info_check(ctx, &info);
	if (r < 0)
		return r;
	dbrec_pool_init(&ctx->records, 64);
	ctx->records.allocator = &ctx->allocator;
	idtable_init(&ctx->qps);
	idtable_init(&ctx->xrc_srqs);
	pthread_mutex_init(&ctx->qp_lock, NULL);
	pthread_mutex_init(&ctx->port_lock, NULL);
	r = registers_map(ctx);
	if (!r)
		r = facts_read(ctx);
	if (r < 0)
		mlx4_close_context(vctx);
	return r;
}

void mlx4_close_context(struct verbs_context *vctx)
{
	struct mlx4_context *ctx = (struct mlx4_context *)vctx;

	kit_page_unmap(&ctx->clock);
	if (ctx->uar)
		munmap(ctx->uar, ctx->page_size);
	if (ctx->bf)
		munmap(ctx->bf, ctx->page_size);
	pthread_mutex_destroy(&ctx->port_lock);
	pthread_mutex_destroy(&ctx->qp_lock);
	idtable_destroy(&ctx->xrc_srqs);
	idtable_destroy(&ctx->qps);
	dbrec_pool_destroy(&ctx->records);
}

int mlx4_query_device(struct ibv_context *ibctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr)
{
	struct mlx4_uverbs_ex_query_device_resp resp = {};
	int r = device_ask(ibctx, in, &resp, ret_attr);

	if (r < 0)
		return r;
	ret_attr->rss_caps.rx_hash_fields_mask = resp.rss_caps.rx_hash_fields_mask;
	ret_attr->rss_caps.rx_hash_function = resp.rss_caps.rx_hash_function;
	ret_attr->tso_caps.max_tso = resp.tso_caps.max_tso;
	ret_attr->tso_caps.supported_qpts = resp.tso_caps.supported_qpts;
	return 0;
}

int mlx4_query_rt_values(struct ibv_context *ibctx, struct ibv_values_ex *values)
{
	struct mlx4_context *ctx = to_mctx(ibctx);

	return mlx_query_rt_values(
		ctx->clock.base ? (char *)ctx->clock.base + ctx->clock_offset : NULL, values);
}

int mlx4_alloc_pd(struct ibv_pd *pd, struct verbs_udata *unused)
{
	struct mlx4_ib_alloc_pd_resp resp = {};
	struct verbs_udata udata = { .out = &resp, .out_len = sizeof(resp) };
	int r = uverbs_alloc_pd(pd, &udata);

	if (!r)
		((struct mlx4_pd *)pd)->pdn = resp.pdn & 0xffffff;
	return r;
}
