/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/fake_device.h"

static char log_path[] = "/tmp/verbs-log-XXXXXX";
static char log_text[16384];
static int log_fd;

static void log_stop(void)
{
	close(log_fd);
	unlink(log_path);
}

void fake_log_start(void)
{
	log_fd = mkstemp(log_path);
	if (log_fd < 0)
		abort();
	setenv("VERBS_LOG_LEVEL", "1", 1);
	setenv("VERBS_LOG_FILE", log_path, 1);
	log_init();
	atexit(log_stop);
}

const char *fake_log_look(void)
{
	ssize_t n = pread(log_fd, log_text, sizeof(log_text) - 1, 0);

	log_text[n > 0 ? n : 0] = 0;
	return log_text;
}

const char *fake_log_take(void)
{
	fake_log_look();
	if (ftruncate(log_fd, 0))
		abort();
	return log_text;
}

static int called(struct ibv_context *ctx, enum fake_op op)
{
	fake_of(ctx)->calls[op]++;
	return fake_of(ctx)->result[op];
}

static int fake_open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	ctx->context.num_comp_vectors = 2;
	return 0;
}

static int fake_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			     struct ibv_device_attr_ex *ret_attr)
{
	*ret_attr = fake_of(ctx)->attr;
	return called(ctx, FAKE_QUERY_DEVICE);
}

static int fake_query_port(struct ibv_context *ctx, uint8_t port_num,
			   struct ibv_port_attr *ret_attr)
{
	int r = called(ctx, FAKE_QUERY_PORT);

	if (r < 0)
		return r;
	if (port_num != 1)
		return -EINVAL;
	*ret_attr = fake_of(ctx)->port;
	return 0;
}

static int fake_query_gid(struct ibv_context *ctx, uint8_t port_num, uint32_t index,
			  struct ibv_gid_entry *ret_entry)
{
	const struct fake_device *fake = fake_of(ctx);

	if (index >= ARRAY_SIZE(fake->gids) || !fake->gids[index].port_num)
		return -ENODATA;
	*ret_entry = fake->gids[index];
	return 0;
}

static int fake_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata)
{
	pd->handle = 7;
	return 0;
}

static int fake_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

static int fake_reg_mr(struct verbs_mr *mr, const struct verbs_reg_mr *in)
{
	struct fake_device *fake = fake_of(in->pd->context);

	fake->reg_mr = *in;
	mr->ibv_mr.lkey = 0x100;
	mr->ibv_mr.rkey = 0x200;
	return called(in->pd->context, FAKE_REG_MR);
}

static int fake_reg_dmabuf_mr(struct verbs_mr *mr, const struct verbs_reg_dmabuf_mr *in)
{
	return called(in->pd->context, FAKE_REG_DMABUF_MR);
}

static int fake_rereg_mr(struct verbs_mr *mr, const struct verbs_rereg_mr *in)
{
	return called(mr->ibv_mr.context, FAKE_REREG_MR);
}

static int fake_dereg_mr(struct verbs_mr *mr)
{
	return called(mr->ibv_mr.context, FAKE_DEREG_MR);
}

static int fake_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
			  struct ibv_sge *sg_list, uint32_t num_sge)
{
	return called(pd->context, FAKE_ADVISE_MR);
}

static int fake_alloc_mw(struct ibv_mw *mw, struct verbs_udata *udata)
{
	mw->rkey = 0x300;
	return called(mw->context, FAKE_ALLOC_MW);
}

static int fake_dealloc_mw(struct ibv_mw *mw)
{
	return called(mw->context, FAKE_DEALLOC_MW);
}

static int fake_create_cq(struct verbs_cq *cq, const struct verbs_create_cq *in)
{
	struct fake_device *fake = fake_of(cq->cq.context);

	fake->create_cq = *in;
	fake->cq_attr = *in->attr;
	cq->cq.cqe = in->attr->cqe + 1;
	return called(cq->cq.context, FAKE_CREATE_CQ);
}

static int fake_resize_cq(struct verbs_cq *cq, const struct verbs_resize_cq *in)
{
	int r = called(cq->cq.context, FAKE_RESIZE_CQ);

	if (!r)
		cq->cq.cqe = in->cqe;
	return r;
}

static int fake_modify_cq(struct verbs_cq *cq, struct ibv_modify_cq_attr *attr)
{
	return called(cq->cq.context, FAKE_MODIFY_CQ);
}

static int fake_destroy_cq(struct verbs_cq *cq)
{
	return called(cq->cq.context, FAKE_DESTROY_CQ);
}

static int fake_create_comp_channel(struct ibv_comp_channel *channel)
{
	channel->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return channel->fd < 0 ? -errno : 0;
}

static int fake_create_srq(struct verbs_srq *srq, const struct verbs_create_srq *in)
{
	int r = called(srq->srq.context, FAKE_CREATE_SRQ);

	fake_of(srq->srq.context)->srq_attr = *in->attr;
	srq->srq_num = 0x51;
	if (r < 0)
		return r;
	in->attr->attr.max_wr += 3;
	fake_of(srq->srq.context)->srq = in->attr->attr;
	return 0;
}

static int fake_modify_srq(struct verbs_srq *srq, const struct verbs_modify_srq *in)
{
	return called(srq->srq.context, FAKE_MODIFY_SRQ);
}

static int fake_query_srq(struct verbs_srq *srq, struct ibv_srq_attr *ret_attr)
{
	*ret_attr = fake_of(srq->srq.context)->srq;
	return called(srq->srq.context, FAKE_QUERY_SRQ);
}

static int fake_destroy_srq(struct verbs_srq *srq)
{
	return called(srq->srq.context, FAKE_DESTROY_SRQ);
}

static int fake_create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in)
{
	struct fake_device *fake = fake_of(qp->qp.context);
	int r = called(qp->qp.context, FAKE_CREATE_QP);

	fake->qp_attr = *in->attr;
	fake->state = IBV_QPS_RESET;
	if (r < 0)
		return r;
	qp->qp.qp_num = 0x12;
	in->attr->cap.max_send_wr++;
	if (in->extended)
		qp->comp_mask |= VERBS_QP_EX;
	return 0;
}

static int fake_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in)
{
	struct fake_device *fake = fake_of(qp->qp.context);
	int r = called(qp->qp.context, FAKE_MODIFY_QP);

	fake->modify_mask = in->mask;
	if (!r && in->mask & IBV_QP_STATE)
		fake->state = in->attr->qp_state;
	return r;
}

static int fake_query_qp(struct verbs_qp *qp, const struct verbs_query_qp *in)
{
	*in->ret_attr = (struct ibv_qp_attr){ .qp_state = fake_of(qp->qp.context)->state };
	*in->ret_init_attr = (struct ibv_qp_init_attr){ .qp_type = qp->qp.qp_type };
	return called(qp->qp.context, FAKE_QUERY_QP);
}

static int fake_destroy_qp(struct verbs_qp *qp)
{
	return called(qp->qp.context, FAKE_DESTROY_QP);
}

static int fake_open_xrcd(struct verbs_xrcd *xrcd, const struct verbs_open_xrcd *in)
{
	fake_of(xrcd->xrcd.context)->xrcd_attr = *in->attr;
	xrcd->handle = 0x61;
	return called(xrcd->xrcd.context, FAKE_OPEN_XRCD);
}

static int fake_close_xrcd(struct verbs_xrcd *xrcd)
{
	return called(xrcd->xrcd.context, FAKE_CLOSE_XRCD);
}

static int fake_open_qp(struct verbs_qp *qp, const struct verbs_open_qp *in)
{
	fake_of(qp->qp.context)->open_attr = *in->attr;
	qp->qp.qp_num = in->attr->qp_num;
	return called(qp->qp.context, FAKE_OPEN_QP);
}

static const struct verbs_ops fake_ops = {
	.open_context = fake_open_context,
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	.query_gid = fake_query_gid,
	.create_comp_channel = fake_create_comp_channel,
	.alloc_pd = fake_alloc_pd,
	.dealloc_pd = fake_dealloc_pd,
	.reg_mr = fake_reg_mr,
	.reg_dmabuf_mr = fake_reg_dmabuf_mr,
	.rereg_mr = fake_rereg_mr,
	.dereg_mr = fake_dereg_mr,
	.advise_mr = fake_advise_mr,
	.alloc_mw = fake_alloc_mw,
	.dealloc_mw = fake_dealloc_mw,
	.create_cq = fake_create_cq,
	.resize_cq = fake_resize_cq,
	.modify_cq = fake_modify_cq,
	.destroy_cq = fake_destroy_cq,
	.create_srq = fake_create_srq,
	.modify_srq = fake_modify_srq,
	.query_srq = fake_query_srq,
	.destroy_srq = fake_destroy_srq,
	.create_qp = fake_create_qp,
	.modify_qp = fake_modify_qp,
	.query_qp = fake_query_qp,
	.destroy_qp = fake_destroy_qp,
	.open_xrcd = fake_open_xrcd,
	.close_xrcd = fake_close_xrcd,
	.open_qp = fake_open_qp,
};

/* 192.0.2.(index + 1) as RoCE writes it, or fe80::1 at index 3. */
static struct ibv_gid_entry fake_gid(uint32_t index)
{
	struct ibv_gid_entry entry = { .gid_index = index,
				       .port_num = 1,
				       .gid_type = IBV_GID_TYPE_ROCE_V2 };

	if (index == 3) {
		entry.gid.raw[0] = 0xfe;
		entry.gid.raw[1] = 0x80;
		entry.gid.raw[15] = 1;
		return entry;
	}
	entry.gid.raw[10] = entry.gid.raw[11] = 0xff;
	entry.gid.raw[12] = 192;
	entry.gid.raw[14] = 2;
	entry.gid.raw[15] = index + 1;
	return entry;
}

void fake_device_init(struct fake_device *fake)
{
	*fake = (struct fake_device){
		.device = {
			.device = {
				.node_type = IBV_NODE_CA,
				.transport_type = IBV_TRANSPORT_IB,
				.name = "fake0",
			},
		},
		.provider = { .size = sizeof(fake->provider), .name = "fake" },
		.ops = fake_ops,
		.attr = {
			.orig_attr = {
				.max_mr_size = 1ULL << 40,
				.max_qp = 10,
				.max_qp_wr = 1000,
				.max_sge = 8,
				.max_cq = 10,
				.max_cqe = 4000,
				.max_qp_rd_atom = 16,
				.max_qp_init_rd_atom = 8,
				.max_srq = 5,
				.max_srq_wr = 500,
				.max_srq_sge = 4,
				.phys_port_cnt = 1,
			},
		},
		.port = {
			.state = IBV_PORT_ACTIVE,
			.max_mtu = IBV_MTU_4096,
			.active_mtu = IBV_MTU_1024,
			.gid_tbl_len = 16,
			.pkey_tbl_len = 1,
			.link_layer = IBV_LINK_LAYER_ETHERNET,
		},
		.gids = { fake_gid(0), fake_gid(1), {}, fake_gid(3) },
	};
	fake->provider.ops = &fake->ops;
	fake->device.provider = &fake->provider;
	atomic_store(&fake->device.refcount, 1);
}

struct ibv_context *fake_open(struct fake_device *fake)
{
	struct verbs_context *ctx;

	assert_int_equal(
		verbs_context_create(&fake->device, -1, &(struct verbs_open_context){}, &ctx), 0);
	return &ctx->context;
}

void fake_close(struct ibv_context *ctx)
{
	verbs_context_destroy(to_vctx(ctx));
}

int fake_setup(void **state)
{
	struct fake_device *fake = malloc(sizeof(*fake));

	if (!fake)
		return -1;
	fake_device_init(fake);
	*state = fake_open(fake);
	fake_log_take();
	return 0;
}

int fake_teardown(void **state)
{
	struct ibv_context *ctx = *state;
	struct fake_device *fake = fake_of(ctx);

	fake_close(ctx);
	free(fake);
	return 0;
}

struct ibv_pd *fake_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	assert_non_null(pd);
	return pd;
}
