/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues: rings that the device fills, in memory that the kernel maps for it. */
#include "libibverbs/uverbs/cmd.h"
#include "providers/efa/cqe.h"

enum {
	CQE_COUNT_MAX = 1 << 24,
	DB_EVENT_SHIFT = 29, /* position of the event count, two bits */
	DB_EVENT_MASK = 3,
	DB_ARM_SHIFT = 31,
};

static int cq_refuse(struct ibv_context *ctx, const char *what, unsigned long long value, int r)
{
	verbs_err(ctx, "ibv_create_cq: %s 0x%llx: not supported by this device", what, value);
	return r;
}

static int cq_check_dv(struct efa_context *ctx, const struct efadv_cq_init_attr *dv)
{
	struct ibv_context *ibctx = &ctx->vctx.context;

	if ((dv->wc_flags & EFADV_WC_EX_WITH_SGID &&
	     !efa_can(ctx, EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID)) ||
	    (dv->wc_flags & EFADV_WC_EX_WITH_IS_UNSOLICITED &&
	     !efa_can(ctx, EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV)) ||
	    !comp_mask_ok(dv->wc_flags, EFADV_WC_EX_WITH_SGID | EFADV_WC_EX_WITH_IS_UNSOLICITED))
		return cq_refuse(ibctx, "efadv: wc_flags", dv->wc_flags, -EOPNOTSUPP);
	if (!comp_mask_ok(dv->flags, EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF) ||
	    (dv->flags && !efa_can(ctx, EFA_QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM)))
		return cq_refuse(ibctx, "efadv: flags", dv->flags, -EOPNOTSUPP);
	return 0;
}

static int cq_check(struct efa_context *ctx, const struct verbs_create_cq *in)
{
	const struct ibv_cq_init_attr_ex *attr = in->attr;
	const struct efadv_cq_init_attr *dv = in->dv;
	struct ibv_context *ibctx = &ctx->vctx.context;

	if (!comp_mask_ok(attr->wc_flags, IBV_WC_STANDARD_FLAGS))
		return cq_refuse(ibctx, "wc_flags", attr->wc_flags, -EOPNOTSUPP);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !comp_mask_ok(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return cq_refuse(ibctx, "flags", attr->flags, -EOPNOTSUPP);
	if (attr->channel && !efa_can(ctx, EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS))
		return cq_refuse(ibctx, "a completion channel, caps", ctx->caps.device_caps,
				 -EOPNOTSUPP);
	if (attr->cqe > CQE_COUNT_MAX)
		return cq_refuse(ibctx, "cqe", attr->cqe, -EINVAL);
	return dv ? cq_check_dv(ctx, dv) : 0;
}

static bool is_external(const struct efadv_cq_init_attr *dv)
{
	return dv && dv->flags & EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF;
}

static int cq_create(struct efa_cq *cq, const struct verbs_create_cq *in,
		     struct efa_ibv_create_cq_resp *ret_resp)
{
	struct efa_context *ctx = to_ectx(cq->vcq.cq.context);
	const struct efadv_cq_init_attr *dv = in->dv;
	bool external = is_external(dv), sgid = dv && dv->wc_flags & EFADV_WC_EX_WITH_SGID;
	const struct uverbs_attr memory[] = {
		uverbs_fd(UVERBS_ATTR_CREATE_CQ_BUFFER_FD, external ? dv->ext_mem_dmabuf.fd : -1),
		uverbs_u64(UVERBS_ATTR_CREATE_CQ_BUFFER_OFFSET,
			   external ? dv->ext_mem_dmabuf.offset : 0),
		uverbs_u64(UVERBS_ATTR_CREATE_CQ_BUFFER_LENGTH,
			   external ? dv->ext_mem_dmabuf.length : 0),
	};
	struct efa_ibv_create_cq cmd = {
		.cq_entry_size = cq->stride,
		.num_sub_cqs = ctx->info.sub_cqs_per_cq,
		.flags = (in->attr->channel ? EFA_CREATE_CQ_WITH_COMPLETION_CHANNEL : 0) |
			 (sgid ? EFA_CREATE_CQ_WITH_SGID : 0) |
			 (efa_has_wide_ids(ctx) ? EFA_CREATE_CQ_WITH_SQ_COMP_64_BIT_REQ_ID : 0),
	};
	struct verbs_udata udata = {
		.in = &cmd,
		.in_len = sizeof(cmd),
		.out = ret_resp,
		.out_len = sizeof(*ret_resp),
		.attrs = memory,
		.attr_count = external ? ARRAY_SIZE(memory) : 0,
	};
	struct ibv_cq_init_attr_ex attr = *in->attr;
	struct verbs_create_cq request = *in;

	attr.cqe = round_up_pow2(attr.cqe);
	request.attr = &attr;
	request.udata = &udata;
	return uverbs_create_cq(&cq->vcq, &request);
}

/* Map the ring, or use the memory of the program. */
static int ring_map(struct efa_cq *cq, const struct efadv_cq_init_attr *dv,
		    const struct efa_ibv_create_cq_resp *resp)
{
	struct ibv_context *ibctx = cq->vcq.cq.context;
	uint32_t count = cq->vcq.cq.cqe;
	uint64_t needed = (uint64_t)count * cq->stride * cq->sub_count;
	int r;

	if (!count || count > CQE_COUNT_MAX || count & (count - 1)) {
		verbs_err(ibctx, "cq %u: the kernel granted %u entries, no power of 2",
			  cq->vcq.cq.handle, count);
		return -EPROTO;
	}
	if (is_external(dv)) {
		cq->ring = (const char *)dv->ext_mem_dmabuf.buffer;
		if (!cq->ring || dv->ext_mem_dmabuf.length >= needed)
			return 0;
		return cq_refuse(ibctx, "efadv: the memory's length", dv->ext_mem_dmabuf.length,
				 -EINVAL);
	}
	if (resp->q_mmap_size < needed || resp->q_mmap_size > SIZE_MAX) {
		verbs_err(ibctx, "cq %u: the kernel made %llu bytes, %llu are needed",
			  cq->vcq.cq.handle, (unsigned long long)resp->q_mmap_size,
			  (unsigned long long)needed);
		return -EPROTO;
	}
	r = kit_page_map(ibctx, resp->q_mmap_key, resp->q_mmap_size, PROT_READ, &cq->ring_page);
	cq->ring = cq->ring_page.base;
	return r;
}

/* Set up the parts. If the program supplied memory that is not mapped here, it polls that memory
 * itself, and the parts here stay empty. */
static void subs_set(struct efa_cq *cq)
{
	static const uint32_t nothing[EFA_CQE_LARGE / sizeof(uint32_t)];
	size_t size = (size_t)cq->vcq.cq.cqe * cq->stride;
	const char *ring = cq->ring;

	for (uint32_t i = 0; i < cq->sub_count; i++) {
		struct efa_sub_cq *sub = &cq->subs[i];

		sub->next = &cq->subs[(i + 1) % cq->sub_count];
		sub->at = sub->ring = ring ?: (const char *)nothing;
		sub->end = sub->ring + size;
		sub->phase = CQE_PHASE;
		ring = ring ? ring + size : NULL;
	}
	cq->next = cq->subs;
}

static int doorbell_map(struct efa_cq *cq, const struct efa_ibv_create_cq_resp *resp)
{
	struct ibv_context *ibctx = cq->vcq.cq.context;
	int r;

	if (!(resp->comp_mask & EFA_CREATE_CQ_RESP_DB_OFF))
		return 0;
	r = kit_page_map(ibctx, resp->db_mmap_key, to_ectx(ibctx)->page_size, PROT_WRITE,
			 &cq->doorbell_page);
	if (r < 0)
		return r;
	cq->doorbell = kit_page_register(&cq->doorbell_page, resp->db_off);
	cq->deaf = false;
	if (cq->doorbell)
		return 0;
	verbs_err(ibctx, "cq %u: the kernel says the doorbell is at %u of a page",
		  cq->vcq.cq.handle, resp->db_off);
	return -EPROTO;
}

static void cq_unmap(struct efa_cq *cq)
{
	kit_page_unmap(&cq->doorbell_page);
	kit_page_unmap(&cq->ring_page);
	free(cq->subs);
}

/*
 * Return the size of entries. Only large entries have the GID of the sender and the length of RDMA
 * writes beyond 64 KiB. Programs that read ids of 64 bits expect large entries. Small entries are
 * enough for other devices.
 */
static uint32_t entry_size(const struct efa_context *ctx, const struct efadv_cq_init_attr *dv)
{
	bool sgid = dv && dv->wc_flags & EFADV_WC_EX_WITH_SGID;

	return sgid || efa_has_wide_ids(ctx) || efa_can(ctx, EFA_QUERY_DEVICE_CAPS_RDMA_WRITE)
		       ? EFA_CQE_LARGE
		       : EFA_CQE_SMALL;
}

int efa_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in)
{
	struct efa_context *ctx = to_ectx(vcq->cq.context);
	const struct efadv_cq_init_attr *dv = in->dv;
	struct efa_cq *cq = to_ecq(&vcq->cq);
	struct efa_ibv_create_cq_resp resp = {};
	int r = cq_check(ctx, in);

	if (r < 0)
		return r;
	cq->stride = entry_size(ctx, dv);
	cq->doorbell = &cq->nowhere;
	cq->deaf = true;
	cq->last_qpn = EFA_QPNS;
	cq->subs = calloc(ctx->info.sub_cqs_per_cq, sizeof(*cq->subs));
	if (!cq->subs)
		return -ENOMEM;
	cq->sub_count = ctx->info.sub_cqs_per_cq;
	r = cq_create(cq, in, &resp);
	if (r < 0) {
		free(cq->subs);
		return r;
	}
	r = ring_map(cq, dv, &resp);
	if (!r)
		r = doorbell_map(cq, &resp);
	if (r < 0) {
		uverbs_destroy_cq(vcq);
		cq_unmap(cq);
		return r;
	}
	subs_set(cq);
	if (in->extended)
		efa_cq_ex_set_slots(cq, in->attr->wc_flags, dv ? dv->wc_flags : 0);
	return 0;
}

int efa_destroy_cq(struct verbs_cq *vcq)
{
	int r = uverbs_destroy_cq(vcq);

	if (!r)
		cq_unmap(to_ecq(&vcq->cq));
	return r;
}

void efa_cq_event(struct verbs_cq *vcq)
{
	struct efa_cq *cq = to_ecq(&vcq->cq);

	cq->events = (cq->events + (1u << DB_EVENT_SHIFT)) & DB_EVENT_MASK << DB_EVENT_SHIFT;
}

int efa_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct efa_cq *cq = to_ecq(ibcq);

	/* The device has no solicited events, and a queue without a doorbell has no events. */
	if (unlikely(solicited_only | cq->deaf))
		return EOPNOTSUPP;
	cq_ring(cq, 1u << DB_ARM_SHIFT);
	return 0;
}
