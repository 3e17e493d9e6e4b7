/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The context, and the attributes of the device. */
#include "tests/adapters/lab/shim/handlers.h"
#include "tests/adapters/lab/shim/shim.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/model/model.h"
#include "tests/adapters/lab/shim/trace.h"

enum {
	GID_TYPE_ROCE_V2 = 2,
	MAX_DATAGRAM = 4096 - 16
};

/* Attributes of a plain large device; in run mode the backend's limits replace them. */
static const struct ibv_device_attr plain_device = {
	.max_mr_size = ~0ull,
	.page_size_cap = 0xfffff000,
	.max_qp = 1 << 17,
	.max_qp_wr = 32768,
	.device_cap_flags = 0x21361c36,
	.max_sge = 30,
	.max_sge_rd = 30,
	.max_cq = 1 << 16,
	.max_cqe = (1 << 22) - 1,
	.max_mr = 1 << 20,
	.max_pd = 1 << 15,
	.max_qp_rd_atom = 16,
	.max_res_rd_atom = 1 << 18,
	.max_qp_init_rd_atom = 16,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_mw = 1 << 20,
	.max_ah = 1 << 20,
	.max_srq = 1 << 16,
	.max_srq_wr = 32767,
	.max_srq_sge = 31,
	.max_pkeys = 128,
	.local_ca_ack_delay = 16,
};

int context_open(struct command *c)
{
	trace_line("GET_CONTEXT");
	command_trace(REQUEST_CONTEXT, c);
	if (model_on())
		model_open();
	return device->get_context(c);
}

int handle_get_context(struct command *c)
{
	struct ib_uverbs_get_context_resp response = { .num_comp_vectors = COMP_VECTORS };
	int fd, r = context_open(c);

	if (!r)
		r = event_async_new(&fd);
	if (r)
		return r;
	response.async_fd = fd;
	command_answer(c, &response, sizeof(response));
	return 0;
}

int context_attributes(struct command *c, struct ibv_device_attr *ret)
{
	int r;

	*ret = plain_device;
	if (model_on())
		model_query_device(ret);
	ret->vendor_id = device->vendor_id;
	ret->vendor_part_id = device->part_id;
	ret->phys_port_cnt = 1;
	r = device->query_device(ret, c);
	if (host_is("all-capabilities")) {
		ret->device_cap_flags |= IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
					 IBV_DEVICE_XRC | IBV_DEVICE_MANAGED_FLOW_STEERING;
		ret->max_mw = 64;
		ret->max_srq = 64;
		ret->max_srq_wr = ret->max_srq_wr ?: 64;
		ret->max_srq_sge = ret->max_srq_sge ?: 1;
		ret->max_mcast_grp = ret->max_mcast_qp_attach = ret->max_total_mcast_qp_attach = 8;
	}
	return r;
}

/* Capabilities of the extended query that drivers of adapters report, whether or not a provider
 * serves them. */
static void all_capabilities(struct ib_uverbs_ex_query_device_resp *ret)
{
	ret->tm_caps = (struct ib_uverbs_tm_caps){
		.max_rndv_hdr_size = 64,
		.max_num_tags = 127,
		.flags = 1,
		.max_ops = 8192,
		.max_sge = 30,
	};
	ret->cq_moderation_caps.max_cq_moderation_count = 0xffff;
	ret->cq_moderation_caps.max_cq_moderation_period = 0xfff;
	ret->rss_caps.supported_qpts = 1u << IBV_QPT_RAW_PACKET;
	ret->rss_caps.max_rwq_indirection_tables = 16;
	ret->rss_caps.max_rwq_indirection_table_size = 64;
	ret->max_wq_type_rq = 64;
	ret->max_dm_size = ret->max_dm_size ?: 4096;
}

static struct ib_uverbs_query_device_resp device_response(const struct ibv_device_attr *a)
{
	return (struct ib_uverbs_query_device_resp){
		.fw_ver = host_is("new-firmware") ? 0x001000230001 : 0x0010002303f4,
		.node_guid = htobe64(0x020000fffe000001),
		.sys_image_guid = htobe64(0x020000fffe000001),
		.max_mr_size = a->max_mr_size,
		.page_size_cap = a->page_size_cap,
		.vendor_id = a->vendor_id,
		.vendor_part_id = a->vendor_part_id,
		.hw_ver = a->hw_ver,
		.max_qp = a->max_qp,
		.max_qp_wr = a->max_qp_wr,
		.device_cap_flags = a->device_cap_flags,
		.max_sge = a->max_sge,
		.max_sge_rd = a->max_sge_rd,
		.max_cq = a->max_cq,
		.max_cqe = a->max_cqe,
		.max_mr = a->max_mr,
		.max_pd = a->max_pd,
		.max_qp_rd_atom = a->max_qp_rd_atom,
		.max_res_rd_atom = a->max_res_rd_atom,
		.max_qp_init_rd_atom = a->max_qp_init_rd_atom,
		.atomic_cap = a->atomic_cap,
		.max_mw = a->max_mw,
		.max_mcast_grp = a->max_mcast_grp,
		.max_mcast_qp_attach = a->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = a->max_total_mcast_qp_attach,
		.max_ah = a->max_ah,
		.max_srq = a->max_srq,
		.max_srq_wr = a->max_srq_wr,
		.max_srq_sge = a->max_srq_sge,
		.max_pkeys = a->max_pkeys,
		.local_ca_ack_delay = a->local_ca_ack_delay,
		.phys_port_cnt = a->phys_port_cnt,
	};
}

int handle_query_device(struct command *c)
{
	struct ib_uverbs_query_device_resp response;
	struct ibv_device_attr attr;
	int r;

	trace_line("QUERY_DEVICE");
	r = context_attributes(c, &attr);
	response = device_response(&attr);
	command_answer(c, &response, sizeof(response));
	return r;
}

int handle_query_device_ex(struct command *c)
{
	struct ib_uverbs_ex_query_device_resp response = { 0 };
	struct ibv_device_attr attr;
	int r;

	trace_line("QUERY_DEVICE extended");
	r = context_attributes(c, &attr);
	response.base = device_response(&attr);
	response.device_cap_flags_ex = attr.device_cap_flags;
	if (device->query_device_ex)
		device->query_device_ex(&response);
	if (host_is("all-capabilities"))
		all_capabilities(&response);
	response.response_length = c->out_len < sizeof(response) ? c->out_len : sizeof(response);
	command_answer(c, &response, sizeof(response));
	return r;
}

void context_port(struct ib_uverbs_query_port_resp *ret)
{
	struct ibv_port_attr a = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = 2,
		.port_cap_flags = 0x04010000,
		.max_msg_sz = 1u << 30,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = 5,
	};

	if (model_on())
		model_query_port(&a);
	if (device->short_numbers) {
		a.max_msg_sz = MAX_DATAGRAM;
		a.gid_tbl_len = 1;
	}
	*ret = (struct ib_uverbs_query_port_resp){
		.port_cap_flags = a.port_cap_flags & ~device->lacks,
		.max_msg_sz = a.max_msg_sz,
		.gid_tbl_len = a.gid_tbl_len,
		.pkey_tbl_len = a.pkey_tbl_len,
		.state = a.state,
		.max_mtu = a.max_mtu,
		.active_mtu = a.active_mtu,
		.max_vl_num = a.max_vl_num,
		.active_width = a.active_width,
		.active_speed = a.active_speed,
		.phys_state = a.phys_state,
		.link_layer = device->link_layer,
		/* Programs check whether there is one, although paths are found by GIDs. */
		.lid = device->link_layer == IBV_LINK_LAYER_INFINIBAND,
	};
}

int handle_query_port(struct command *c)
{
	const struct ib_uverbs_query_port *q = c->in;
	struct ib_uverbs_query_port_resp response;

	trace_line("QUERY_PORT port=%u", q->port_num);
	if (q->port_num != 1)
		return EINVAL;
	context_port(&response);
	command_answer(c, &response, sizeof(response));
	return 0;
}

int context_gid(uint32_t index, struct ib_uverbs_gid_entry *ret)
{
	static const uint8_t plain[2][16] = {
		{ 0xfe, 0x80, [8] = 2, [11] = 0xff, 0xfe, [15] = 1 },
		{ [10] = 0xff, 0xff, 10, 0, 0, 1 },
	};
	union ibv_gid gid;
	const char *type;
	int r;

	*ret = (struct ib_uverbs_gid_entry){ .gid_index = index,
					     .port_num = 1,
					     .gid_type = GID_TYPE_ROCE_V2 };
	if (model_on()) {
		r = model_query_gid(device->gid_base + index, &gid, &type, &ret->netdev_ifindex);
		if (r)
			return r;
		if (device->short_numbers) {
			if (index)
				return ENODATA;
			gid.raw[2] = model_host_number();
		}
		memcpy(ret->gid, gid.raw, sizeof(gid.raw));
		return 0;
	}
	if (index >= 2)
		return ENODATA;
	memcpy(ret->gid, plain[index], sizeof(plain[index]));
	return 0;
}

int handle_create_channel(struct command *c)
{
	struct ib_uverbs_create_comp_channel_resp response;
	int fd, r = event_channel_new(&fd);

	trace_line("CREATE_COMP_CHANNEL");
	if (r)
		return r;
	response.fd = fd;
	command_answer(c, &response, sizeof(response));
	return 0;
}
