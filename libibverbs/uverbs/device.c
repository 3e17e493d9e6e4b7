/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

/* Ask for an event descriptor of this process, because a context that another process opened
 * reports its asynchronous events to that process. */
static int context_import(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	uint64_t core_support = 0;
	uint32_t vectors = 0;
	const struct uverbs_attr query[] = {
		uverbs_out(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors)),
		uverbs_out(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core_support,
			   sizeof(core_support)),
	};
	const struct uverbs_attr events[] = {
		uverbs_new_fd(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, &ctx->context.async_fd),
	};
	int r = uverbs_ioctl(&ctx->context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     query, ARRAY_SIZE(query), in->udata);

	if (r < 0)
		return r;
	ctx->context.num_comp_vectors = vectors;
	return uverbs_ioctl(&ctx->context, UVERBS_OBJECT_ASYNC_EVENT,
			    UVERBS_METHOD_ASYNC_EVENT_ALLOC, events, ARRAY_SIZE(events), NULL);
}

int uverbs_open_context(struct verbs_context *ctx, const struct verbs_open_context *in)
{
	struct ib_uverbs_get_context_resp resp = {};
	struct ib_uverbs_get_context cmd = {};
	int r;

	if (in->imported)
		return context_import(ctx, in);
	r = uverbs_write(&ctx->context, IB_USER_VERBS_CMD_GET_CONTEXT, &cmd, sizeof(cmd), &resp,
			 sizeof(resp), in->udata);
	if (r < 0)
		return r;
	ctx->context.async_fd = resp.async_fd;
	ctx->context.num_comp_vectors = resp.num_comp_vectors;
	return 0;
}

static void device_attr_fill(struct ibv_device_attr *attr,
			     const struct ib_uverbs_query_device_resp *resp)
{
	*attr = (struct ibv_device_attr){
		.node_guid = resp->node_guid,
		.sys_image_guid = resp->sys_image_guid,
		.max_mr_size = resp->max_mr_size,
		.page_size_cap = resp->page_size_cap,
		.vendor_id = resp->vendor_id,
		.vendor_part_id = resp->vendor_part_id,
		.hw_ver = resp->hw_ver,
		.max_qp = resp->max_qp,
		.max_qp_wr = resp->max_qp_wr,
		.device_cap_flags = resp->device_cap_flags,
		.max_sge = resp->max_sge,
		.max_sge_rd = resp->max_sge_rd,
		.max_cq = resp->max_cq,
		.max_cqe = resp->max_cqe,
		.max_mr = resp->max_mr,
		.max_pd = resp->max_pd,
		.max_qp_rd_atom = resp->max_qp_rd_atom,
		.max_ee_rd_atom = resp->max_ee_rd_atom,
		.max_res_rd_atom = resp->max_res_rd_atom,
		.max_qp_init_rd_atom = resp->max_qp_init_rd_atom,
		.max_ee_init_rd_atom = resp->max_ee_init_rd_atom,
		.atomic_cap = resp->atomic_cap,
		.max_ee = resp->max_ee,
		.max_rdd = resp->max_rdd,
		.max_mw = resp->max_mw,
		.max_raw_ipv6_qp = resp->max_raw_ipv6_qp,
		.max_raw_ethy_qp = resp->max_raw_ethy_qp,
		.max_mcast_grp = resp->max_mcast_grp,
		.max_mcast_qp_attach = resp->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = resp->max_total_mcast_qp_attach,
		.max_ah = resp->max_ah,
		.max_fmr = resp->max_fmr,
		.max_map_per_fmr = resp->max_map_per_fmr,
		.max_srq = resp->max_srq,
		.max_srq_wr = resp->max_srq_wr,
		.max_srq_sge = resp->max_srq_sge,
		.max_pkeys = resp->max_pkeys,
		.local_ca_ack_delay = resp->local_ca_ack_delay,
		.phys_port_cnt = resp->phys_port_cnt,
	};
}

static void device_attr_ex_fill(struct ibv_device_attr_ex *attr,
				const struct ib_uverbs_ex_query_device_resp *resp)
{
	device_attr_fill(&attr->orig_attr, &resp->base);
	attr->odp_caps.general_caps = resp->odp_caps.general_caps;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		resp->odp_caps.per_transport_caps.rc_odp_caps;
	attr->odp_caps.per_transport_caps.uc_odp_caps =
		resp->odp_caps.per_transport_caps.uc_odp_caps;
	attr->odp_caps.per_transport_caps.ud_odp_caps =
		resp->odp_caps.per_transport_caps.ud_odp_caps;
	attr->xrc_odp_caps = resp->xrc_odp_caps;
	attr->completion_timestamp_mask = resp->timestamp_mask;
	attr->hca_core_clock = resp->hca_core_clock;
	attr->device_cap_flags_ex = resp->device_cap_flags_ex;
	attr->rss_caps.supported_qpts = resp->rss_caps.supported_qpts;
	attr->rss_caps.max_rwq_indirection_tables = resp->rss_caps.max_rwq_indirection_tables;
	attr->rss_caps.max_rwq_indirection_table_size =
		resp->rss_caps.max_rwq_indirection_table_size;
	attr->max_wq_type_rq = resp->max_wq_type_rq;
	attr->raw_packet_caps = resp->raw_packet_caps;
	attr->tm_caps = (struct ibv_tm_caps){
		.max_rndv_hdr_size = resp->tm_caps.max_rndv_hdr_size,
		.max_num_tags = resp->tm_caps.max_num_tags,
		.flags = resp->tm_caps.flags,
		.max_ops = resp->tm_caps.max_ops,
		.max_sge = resp->tm_caps.max_sge,
	};
	attr->cq_mod_caps = (struct ibv_cq_moderation_caps){
		.max_cq_count = resp->cq_moderation_caps.max_cq_moderation_count,
		.max_cq_period = resp->cq_moderation_caps.max_cq_moderation_period,
	};
	attr->max_dm_size = resp->max_dm_size;
}

static char *number_print(char *p, unsigned int n)
{
	if (n >= 10)
		p = number_print(p, n / 10);
	*p++ = '0' + n % 10;
	return p;
}

/* Print the version as three 16-bit numbers, as for most devices. Other providers print it
 * themselves. */
static void fw_ver_print(struct ibv_device_attr *attr, uint64_t fw_ver)
{
	char *p = number_print(attr->fw_ver, (fw_ver >> 32) & 0xffff);

	*p++ = '.';
	p = number_print(p, (fw_ver >> 16) & 0xffff);
	*p++ = '.';
	p = number_print(p, fw_ver & 0xffff);
	*p = '\0';
}

int uverbs_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
			struct ibv_device_attr_ex *ret_attr)
{
	struct ib_uverbs_ex_query_device_resp resp = {};
	struct ib_uverbs_ex_query_device cmd = {
		.comp_mask = in->input ? in->input->comp_mask : 0,
	};
	int r = uverbs_write(ctx, IB_USER_VERBS_CMD_QUERY_DEVICE | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			     &cmd, sizeof(cmd), &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	device_attr_ex_fill(ret_attr, &resp);
	fw_ver_print(&ret_attr->orig_attr, resp.base.fw_ver);
	if (in->ret_fw_ver)
		*in->ret_fw_ver = resp.base.fw_ver;
	return 0;
}

int uverbs_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr)
{
	struct ib_uverbs_query_port_resp_ex resp = {};
	const struct ib_uverbs_query_port_resp *p = &resp.legacy_resp;
	struct uverbs_attr a[] = {
		uverbs_const(UVERBS_ATTR_QUERY_PORT_PORT_NUM, port_num),
		uverbs_out(UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp)),
	};
	int r = uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, a, ARRAY_SIZE(a),
			     NULL);

	if (r < 0)
		return r;
	*ret_attr = (struct ibv_port_attr){
		.state = p->state,
		.max_mtu = p->max_mtu,
		.active_mtu = p->active_mtu,
		.gid_tbl_len = p->gid_tbl_len,
		.port_cap_flags = p->port_cap_flags,
		.max_msg_sz = p->max_msg_sz,
		.bad_pkey_cntr = p->bad_pkey_cntr,
		.qkey_viol_cntr = p->qkey_viol_cntr,
		.pkey_tbl_len = p->pkey_tbl_len,
		.lid = p->lid,
		.sm_lid = p->sm_lid,
		.lmc = p->lmc,
		.max_vl_num = p->max_vl_num,
		.sm_sl = p->sm_sl,
		.subnet_timeout = p->subnet_timeout,
		.init_type_reply = p->init_type_reply,
		.active_width = p->active_width,
		.active_speed = p->active_speed,
		.phys_state = p->phys_state,
		.link_layer = p->link_layer,
		.flags = p->flags,
		.port_cap_flags2 = resp.port_cap_flags2,
		.active_speed_ex = resp.active_speed_ex,
	};
	return 0;
}

int uverbs_query_port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *ret_speed)
{
	const struct uverbs_attr a[] = {
		uverbs_const(UVERBS_ATTR_QUERY_PORT_SPEED_PORT_NUM, port_num),
		uverbs_out(UVERBS_ATTR_QUERY_PORT_SPEED_RESP, ret_speed, sizeof(*ret_speed)),
	};

	int r = uverbs_ioctl(ctx, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT_SPEED, a,
			     ARRAY_SIZE(a), NULL);

	return r == -EPROTONOSUPPORT ? -EOPNOTSUPP : r; /* the kernel is older than the method */
}

int uverbs_create_comp_channel(struct ibv_comp_channel *channel)
{
	struct ib_uverbs_create_comp_channel_resp resp = {};
	struct ib_uverbs_create_comp_channel cmd = {};
	int r = uverbs_write(channel->context, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &cmd,
			     sizeof(cmd), &resp, sizeof(resp), NULL);

	if (r < 0)
		return r;
	channel->fd = resp.fd;
	return 0;
}
