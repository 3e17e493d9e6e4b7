/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verbs objects of a ping-pong: creation, connection and destruction. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs_more.h>

#include "libibverbs/tools/show.h"
#include "pingpong.h"

int pp_fail(int error, const char *fmt, ...)
{
	va_list args;

	error = abs(error);
	fflush(stdout);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	if (error)
		fprintf(stderr, ": %s", strerror(error));
	fputc('\n', stderr);
	return error ? -error : -EIO;
}

/* ---- device and port ---- */

static struct ibv_device *device_find(struct ibv_device **list, const char *name)
{
	if (!name)
		return list[0];
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), name))
			return *list;
	return NULL;
}

static int device_open(struct pp *pp)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *device;
	int r = 0;

	if (!list)
		return pp_fail(errno, "Failed to get IB devices list");
	device = device_find(list, pp->opt.device);
	if (!device && pp->opt.device)
		r = pp_fail(0, "IB device %s not found", pp->opt.device);
	else if (!device)
		r = pp_fail(0, "No IB devices found");
	if (device) {
		pp->context = ibv_open_device(device);
		if (!pp->context)
			r = pp_fail(errno, "Couldn't get context for %s", show_name(device));
	}
	ibv_free_device_list(list);
	return r;
}

static int gid_choose(struct pp *pp)
{
	uint32_t index;
	int r;

	if (pp->port.link_layer != IBV_LINK_LAYER_ETHERNET || pp->opt.gid_index >= 0)
		return 0;
	r = ibv_best_gid(pp->context, pp->opt.ib_port, NULL, &index);
	if (r)
		return pp_fail(r, "No GID for port %u: name one with -g", pp->opt.ib_port);
	pp->opt.gid_index = index;
	return 0;
}

static int port_look(struct pp *pp)
{
	bool ud = pp->program->type == IBV_QPT_UD;
	unsigned int mtu;
	int r = ibv_query_port(pp->context, pp->opt.ib_port, &pp->port);

	if (r && ud)
		return pp_fail(r, "Unable to query port info for port %u", pp->opt.ib_port);
	if (r)
		return pp_fail(r, "Couldn't get port info for port %u", pp->opt.ib_port);
	mtu = 128u << pp->port.active_mtu;
	if (ud && pp->opt.size > mtu)
		return pp_fail(0, "Requested size larger than port MTU (%u)", mtu);
	if (pp->port.link_layer != IBV_LINK_LAYER_ETHERNET && !pp->port.lid)
		return pp_fail(
			0, "Couldn't get local LID: is port %u up and a subnet manager running?",
			pp->opt.ib_port);
	return gid_choose(pp);
}

/* ---- device features that the options need ---- */

static int features_check_odp(struct pp *pp)
{
	const struct ibv_odp_caps *caps = &pp->device_attr.odp_caps;
	uint32_t needed = pp->program->odp_caps;
	uint32_t has = pp->program->type == IBV_QPT_XRC_SEND ? pp->device_attr.xrc_odp_caps
							     : caps->per_transport_caps.rc_odp_caps;

	if (!(caps->general_caps & IBV_ODP_SUPPORT) || (has & needed) != needed)
		return pp_fail(0, "The device isn't ODP capable or does not support %s with ODP",
			       pp->program->odp_needs);
	if (pp->opt.implicit_odp && !(caps->general_caps & IBV_ODP_SUPPORT_IMPLICIT))
		return pp_fail(0, "The device doesn't support implicit ODP");
	return 0;
}

static int features_check(struct pp *pp)
{
	const struct pp_options *opt = &pp->opt;
	bool odp = opt->odp || opt->implicit_odp;
	int r;

	if (!odp && !opt->timestamps && !opt->dm)
		return 0;
	r = ibv_query_device_ex(pp->context, NULL, &pp->device_attr);
	if (r)
		return pp_fail(r, "Couldn't query device for its features");
	if (odp && (r = features_check_odp(pp)))
		return r;
	if (opt->timestamps && !pp->device_attr.completion_timestamp_mask)
		return pp_fail(0, "The device isn't completion timestamp capable");
	if (opt->dm && !pp->device_attr.max_dm_size)
		return pp_fail(0, "Device doesn't support dm allocation");
	if (opt->dm && pp->device_attr.max_dm_size < pp->slot_size * pp->slot_count)
		return pp_fail(0, "Device memory is insufficient");
	return 0;
}

/* ---- memory ---- */

/* Allocate the domain. Only a parent domain can permit unprotected memory. */
static int pd_alloc(struct pp *pp)
{
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	};

	pp->pd = ibv_alloc_pd(pp->context);
	if (!pp->pd)
		return pp_fail(errno, "Couldn't allocate PD");
	if (!pp->opt.unprotected)
		return 0;
	attr.pd = pp->parent_of = take_ptr(&pp->pd);
	pp->pd = ibv_alloc_parent_domain(pp->context, &attr);
	return pp->pd ? 0 : pp_fail(errno, "Couldn't allocate parent domain");
}

static void *buffer_get(struct pp *pp, size_t page, size_t length)
{
	return pp->opt.unprotected ? ibv_alloc_buf(pp->pd, length, &pp->buf)
				   : aligned_alloc(page, length);
}

static int buffer_alloc(struct pp *pp)
{
	size_t page = sysconf(_SC_PAGESIZE), length;
	unsigned int recv_slots = pp->opt.num_qp > 1 ? pp->opt.rx_depth : 1;

	pp->slot_size = ROUND_UP(pp->opt.size + pp->program->grh, page);
	pp->slot_count = pp->opt.check ? pp->opt.num_qp + recv_slots : 1;
	pp->first_recv_slot = pp->opt.check ? pp->opt.num_qp : 0;
	if (__builtin_mul_overflow(pp->slot_size, pp->slot_count, &length))
		return pp_fail(ENOMEM, "Couldn't allocate work buf.");
	pp->buffer = buffer_get(pp, page, length);
	pp->shadow = malloc(pp->opt.size);
	pp->message = malloc(pp->opt.size);
	pp->scrubbed = malloc(pp->opt.size);
	pp->free_slots = calloc(pp->slot_count, sizeof(*pp->free_slots));
	if (!pp->buffer || !pp->shadow || !pp->message || !pp->scrubbed || !pp->free_slots)
		return pp_fail(ENOMEM, "Couldn't allocate work buf.");
	memset(pp->buffer, pp->program->plain, length);
	pp_data_fill(pp->message, pp->opt.size);
	pp_data_scrub(pp->scrubbed, pp->opt.size);
	for (unsigned int i = pp->first_recv_slot; i < pp->slot_count; i++)
		pp->free_slots[pp->free_count++] = i;
	return 0;
}

static int dm_register(struct pp *pp, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	pp->dm = ibv_alloc_dm(pp->context, &attr);
	if (!pp->dm)
		return pp_fail(errno, "Dev mem allocation failed");
	pp->mr = ibv_reg_dm_mr(pp->pd, pp->dm, 0, length,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
	return pp->mr ? 0 : pp_fail(errno, "Couldn't register MR");
}

static void buffer_prefetch(struct pp *pp, size_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pp->buffer,
			       .length = length,
			       .lkey = pp->mr->lkey };
	int r = ibv_advise_mr(pp->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			      IB_UVERBS_ADVISE_MR_FLAG_FLUSH, &sge, 1);

	if (r)
		fprintf(stderr, "Couldn't prefetch MR(%d). Continue anyway\n", r);
}

static int buffer_register(struct pp *pp)
{
	size_t length = pp->slot_size * pp->slot_count;
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;

	if (pp->opt.dm)
		return dm_register(pp, length);
	if (pp->opt.odp || pp->opt.implicit_odp)
		access |= IBV_ACCESS_ON_DEMAND;
	if (pp->buf)
		pp->mr = ibv_reg_buf_mr(pp->pd, pp->buf, pp->buffer, length, access);
	else
		pp->mr = pp->opt.implicit_odp ? ibv_reg_mr(pp->pd, NULL, SIZE_MAX, access)
					      : ibv_reg_mr(pp->pd, pp->buffer, length, access);
	if (!pp->mr)
		return pp_fail(errno, "Couldn't register MR");
	if (pp->opt.prefetch)
		buffer_prefetch(pp, length);
	return 0;
}

/* ---- queues ---- */

static int cq_create(struct pp *pp)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = pp->opt.rx_depth + pp->opt.num_qp,
		.channel = pp->channel,
		.wc_flags = pp->opt.timestamps ? IBV_WC_EX_WITH_COMPLETION_TIMESTAMP : 0,
		.comp_mask = pp->opt.unprotected ? IBV_CQ_INIT_ATTR_MASK_PD : 0,
		.parent_domain = pp->opt.unprotected ? pp->pd : NULL,
	};
	struct ibv_cq_ex *cq_ex;

	if (pp->opt.timestamps || pp->opt.unprotected) {
		cq_ex = ibv_create_cq_ex(pp->context, &attr);
		pp->cq = cq_ex ? ibv_cq_ex_to_cq(cq_ex) : NULL;
		pp->cq_ex = pp->opt.timestamps ? cq_ex : NULL;
	} else {
		pp->cq = ibv_create_cq(pp->context, attr.cqe, NULL, pp->channel, 0);
	}
	return pp->cq ? 0 : pp_fail(errno, "Couldn't create CQ");
}

static int srq_create(struct pp *pp)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = pp->opt.rx_depth, .max_sge = 1 } };

	pp->srq = ibv_create_srq(pp->pd, &attr);
	return pp->srq ? 0 : pp_fail(errno, "Couldn't create SRQ");
}

struct ibv_qp_init_attr pp_qp_init_attr(const struct pp *pp)
{
	return (struct ibv_qp_init_attr){
		.send_cq = pp->cq,
		.recv_cq = pp->cq,
		.srq = pp->srq,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = pp->srq ? 0 : pp->opt.rx_depth,
			.max_send_sge = 1,
			.max_recv_sge = pp->srq ? 0 : 1,
		},
		.qp_type = pp->program->type,
	};
}

int pp_qps_create(struct pp *pp)
{
	for (unsigned int i = 0; i < pp->opt.num_qp; i++) {
		struct ibv_qp_init_attr attr = pp_qp_init_attr(pp);

		pp->qps[i].qp = ibv_create_qp(pp->pd, &attr);
		if (pp->qps[i].qp)
			continue;
		return pp->program->many_qps ? pp_fail(errno, "Couldn't create QP[%u]", i)
					     : pp_fail(errno, "Couldn't create QP");
	}
	return 0;
}

/* Return "QP", or "QP[3]" if there are several. */
static const char *qp_name(const struct pp *pp, unsigned int i, char *buffer, size_t size)
{
	if (!pp->program->many_qps)
		return "QP";
	snprintf(buffer, size, "QP[%u]", i);
	return buffer;
}

static int qp_modify(struct pp *pp, unsigned int i, struct ibv_qp_attr *attr, int mask,
		     const char *state)
{
	char name[16];
	int r = ibv_modify_qp(pp->qps[i].qp, attr, mask);

	return r ? pp_fail(r, "Failed to modify %s to %s", qp_name(pp, i, name, sizeof(name)),
			   state)
		 : 0;
}

static int qp_to_init(struct pp *pp, unsigned int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = pp->opt.ib_port,
		.qkey = PP_UD_QKEY,
	};
	int last = pp->program->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	return qp_modify(pp, i, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last,
			 "INIT");
}

static void inline_choose(struct pp *pp)
{
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;

	pp->send_flags = IBV_SEND_SIGNALED;
	if (!pp->opt.dm && !ibv_query_qp(pp->qps[0].qp, &attr, IBV_QP_CAP, &init_attr) &&
	    init_attr.cap.max_inline_data >= pp->opt.size)
		pp->send_flags |= IBV_SEND_INLINE;
}

static int queues_create(struct pp *pp)
{
	int r;

	if (pp->opt.events) {
		pp->channel = ibv_create_comp_channel(pp->context);
		if (!pp->channel)
			return pp_fail(errno, "Couldn't create completion channel");
	}
	r = cq_create(pp);
	if (!r && pp->program->many_qps)
		r = srq_create(pp);
	if (!r)
		r = pp->program->create_qps(pp);
	if (r)
		return r;
	inline_choose(pp);
	for (unsigned int i = 0; i < pp->opt.num_qp && !r; i++)
		r = qp_to_init(pp, i);
	return r;
}

int pp_open(struct pp *pp)
{
	int r = device_open(pp);

	if (!r)
		r = port_look(pp);
	if (!r)
		r = pd_alloc(pp);
	if (!r)
		r = buffer_alloc(pp);
	if (!r)
		r = features_check(pp);
	if (!r)
		r = buffer_register(pp);
	return r ? r : queues_create(pp);
}

/* ---- connecting ---- */

bool pp_has_gid(const struct pp_dest *dest)
{
	static const union ibv_gid none;

	return memcmp(&dest->gid, &none, sizeof(none));
}

struct ibv_ah_attr pp_remote_ah_attr(const struct pp *pp, unsigned int i)
{
	const struct pp_dest *remote = &pp->qps[i].remote;
	struct ibv_ah_attr attr = {
		.dlid = remote->lid,
		.sl = pp->opt.sl,
		.port_num = pp->opt.ib_port,
	};

	if (pp_has_gid(remote) && pp->opt.gid_index >= 0) {
		attr.is_global = 1;
		attr.grh = (struct ibv_global_route){
			.dgid = remote->gid,
			.sgid_index = pp->opt.gid_index,
			.hop_limit = PP_HOP_LIMIT,
		};
	}
	return attr;
}

int pp_qp_connect(struct pp *pp, unsigned int i)
{
	bool rc = pp->program->type == IBV_QPT_RC;
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp->opt.mtu,
		.dest_qp_num = pp->qps[i].remote.qpn,
		.rq_psn = pp->qps[i].remote.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = pp_remote_ah_attr(pp, i),
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = pp->qps[i].local.psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN, r;

	if (rc) {
		rtr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_MAX_QP_RD_ATOMIC;
	}
	r = qp_modify(pp, i, &rtr, rtr_mask, "RTR");
	return r ? r : qp_modify(pp, i, &rts, rts_mask, "RTS");
}

/* ---- work ---- */

int pp_post_recv(struct pp *pp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 1 }, *bad;

	return pp->srq ? ibv_post_srq_recv(pp->srq, &wr, &bad)
		       : ibv_post_recv(pp->qps[0].qp, &wr, &bad);
}

int pp_post_send(struct pp *pp, unsigned int i, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = PP_SEND,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = pp->send_flags,
	};
	struct ibv_send_wr *bad;

	if (pp->qps[i].ah) {
		wr.wr.ud.ah = pp->qps[i].ah;
		wr.wr.ud.remote_qpn = pp->qps[i].remote.qpn;
		wr.wr.ud.remote_qkey = PP_UD_QKEY;
	}
	return ibv_post_send(pp->qps[i].qp, &wr, &bad);
}

/* ---- destruction ---- */

/* Print a failure to destroy an object. The first failure becomes the result. */
static void closed(int *result, int error, const char *what)
{
	if (!error)
		return;
	error = pp_fail(error, "Couldn't %s", what);
	if (!*result)
		*result = error;
}

int pp_close(struct pp *pp)
{
	int r = 0;

	for (unsigned int i = 0; i < pp->opt.num_qp; i++) {
		if (pp->qps[i].qp)
			closed(&r, ibv_destroy_qp(pp->qps[i].qp), "destroy QP");
		if (pp->qps[i].ah)
			closed(&r, ibv_destroy_ah(pp->qps[i].ah), "destroy AH");
	}
	if (pp->srq)
		closed(&r, ibv_destroy_srq(pp->srq), "destroy SRQ");
	if (pp->cq)
		closed(&r, ibv_destroy_cq(pp->cq), "destroy CQ");
	if (pp->mr)
		closed(&r, ibv_dereg_mr(pp->mr), "deregister MR");
	if (pp->dm)
		closed(&r, ibv_free_dm(pp->dm), "free DM");
	if (pp->buf)
		ibv_free_buf(pp->buf);
	else
		free(pp->buffer);
	if (pp->pd)
		closed(&r, ibv_dealloc_pd(pp->pd), "deallocate PD");
	if (pp->parent_of)
		closed(&r, ibv_dealloc_pd(pp->parent_of), "deallocate PD");
	if (pp->channel)
		closed(&r, ibv_destroy_comp_channel(pp->channel), "destroy completion channel");
	if (pp->context && ibv_close_device(pp->context))
		closed(&r, errno, "release context");
	if (pp->tcp > 0)
		close(pp->tcp);
	free(pp->shadow);
	free(pp->message);
	free(pp->scrubbed);
	free(pp->free_slots);
	return r;
}
