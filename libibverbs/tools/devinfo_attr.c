/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/tools/devinfo.h"
#include "libibverbs/tools/json.h"
#include "libibverbs/tools/show.h"
#include "util/file.h"

#define DEVICE(member, tabs, style) SHOW_ROW(ibv_device_attr, member, tabs, style, NULL)
static const struct show_row id_rows[] = {
	DEVICE(vendor_id, "\t\t\t", SHOW_HEX_4),
	DEVICE(vendor_part_id, "\t\t\t", SHOW_DEC),
	DEVICE(hw_ver, "\t\t\t\t", SHOW_HEX_UPPER),
};

static const struct show_row port_count_rows[] = {
	DEVICE(phys_port_cnt, "\t\t\t", SHOW_DEC),
};

static const struct show_row size_rows[] = {
	DEVICE(max_mr_size, "\t\t\t", SHOW_HEX),      DEVICE(page_size_cap, "\t\t\t", SHOW_HEX),
	DEVICE(max_qp, "\t\t\t\t", SHOW_DEC),	      DEVICE(max_qp_wr, "\t\t\t", SHOW_DEC),
	DEVICE(device_cap_flags, "\t\t", SHOW_HEX_8),
};

static const struct show_row limit_rows[] = {
	DEVICE(max_sge, "\t\t\t", SHOW_DEC),
	DEVICE(max_sge_rd, "\t\t\t", SHOW_DEC),
	DEVICE(max_cq, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_cqe, "\t\t\t", SHOW_DEC),
	DEVICE(max_mr, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_pd, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_qp_rd_atom, "\t\t\t", SHOW_DEC),
	DEVICE(max_ee_rd_atom, "\t\t\t", SHOW_DEC),
	DEVICE(max_res_rd_atom, "\t\t", SHOW_DEC),
	DEVICE(max_qp_init_rd_atom, "\t\t", SHOW_DEC),
	DEVICE(max_ee_init_rd_atom, "\t\t", SHOW_DEC),
	SHOW_ROW(ibv_device_attr, atomic_cap, "\t\t\t", SHOW_DEC, show_atomic_cap),
	DEVICE(max_ee, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_rdd, "\t\t\t", SHOW_DEC),
	DEVICE(max_mw, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_raw_ipv6_qp, "\t\t", SHOW_DEC),
	DEVICE(max_raw_ethy_qp, "\t\t", SHOW_DEC),
	DEVICE(max_mcast_grp, "\t\t\t", SHOW_DEC),
	DEVICE(max_mcast_qp_attach, "\t\t", SHOW_DEC),
	DEVICE(max_total_mcast_qp_attach, "\t", SHOW_DEC),
	DEVICE(max_ah, "\t\t\t\t", SHOW_DEC),
	DEVICE(max_fmr, "\t\t\t", SHOW_DEC),
};

static const struct show_row fmr_rows[] = {
	DEVICE(max_map_per_fmr, "\t\t", SHOW_DEC),
};

static const struct show_row srq_count_rows[] = {
	DEVICE(max_srq, "\t\t\t", SHOW_DEC),
};

static const struct show_row srq_rows[] = {
	DEVICE(max_srq_wr, "\t\t\t", SHOW_DEC),
	DEVICE(max_srq_sge, "\t\t\t", SHOW_DEC),
};

static const struct show_row pkey_rows[] = {
	DEVICE(max_pkeys, "\t\t\t", SHOW_DEC),
};

static const struct show_row last_rows[] = {
	DEVICE(local_ca_ack_delay, "\t\t", SHOW_DEC),
};

static const struct show_flag cap_flags[] = {
	{ IBV_DEVICE_RESIZE_MAX_WR, "RESIZE_MAX_WR" },
	{ IBV_DEVICE_BAD_PKEY_CNTR, "BAD_PKEY_CNTR" },
	{ IBV_DEVICE_BAD_QKEY_CNTR, "BAD_QKEY_CNTR" },
	{ IBV_DEVICE_RAW_MULTI, "RAW_MULTI" },
	{ IBV_DEVICE_AUTO_PATH_MIG, "AUTO_PATH_MIG" },
	{ IBV_DEVICE_CHANGE_PHY_PORT, "CHANGE_PHY_PORT" },
	{ IBV_DEVICE_UD_AV_PORT_ENFORCE, "UD_AV_PORT_ENFORCE" },
	{ IBV_DEVICE_CURR_QP_STATE_MOD, "CURR_QP_STATE_MOD" },
	{ IBV_DEVICE_SHUTDOWN_PORT, "SHUTDOWN_PORT" },
	{ IBV_DEVICE_INIT_TYPE, "INIT_TYPE" },
	{ IBV_DEVICE_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT" },
	{ IBV_DEVICE_SYS_IMAGE_GUID, "SYS_IMAGE_GUID" },
	{ IBV_DEVICE_RC_RNR_NAK_GEN, "RC_RNR_NAK_GEN" },
	{ IBV_DEVICE_SRQ_RESIZE, "SRQ_RESIZE" },
	{ IBV_DEVICE_N_NOTIFY_CQ, "N_NOTIFY_CQ" },
	{ IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW" },
	{ IBV_DEVICE_UD_IP_CSUM, "UD_IP_CSUM" },
	{ IBV_DEVICE_XRC, "XRC" },
	{ IBV_DEVICE_MEM_MGT_EXTENSIONS, "MEM_MGT_EXTENSIONS" },
	{ IBV_DEVICE_MEM_WINDOW_TYPE_2A, "MEM_WINDOW_TYPE_2A" },
	{ IBV_DEVICE_MEM_WINDOW_TYPE_2B, "MEM_WINDOW_TYPE_2B" },
	{ IBV_DEVICE_RC_IP_CSUM, "RC_IP_CSUM" },
	{ IBV_DEVICE_RAW_IP_CSUM, "RAW_IP_CSUM" },
	{ IBV_DEVICE_MANAGED_FLOW_STEERING, "MANAGED_FLOW_STEERING" },
};

static const struct show_flag cap_flags_ex[] = {
	{ IBV_DEVICE_RAW_SCATTER_FCS, "RAW_SCATTER_FCS" },
	{ IBV_DEVICE_PCI_WRITE_END_PADDING, "PCI_WRITE_END_PADDING" },
	{ IBV_DEVICE_CC_DMA_BOUNCE, "CC_DMA_BOUNCE" },
};

static const struct show_flag odp_general[] = {
	{ IBV_ODP_SUPPORT, "ODP_SUPPORT" },
	{ IBV_ODP_SUPPORT_IMPLICIT, "ODP_SUPPORT_IMPLICIT" },
};

static const struct show_flag odp_transport[] = {
	{ IBV_ODP_SUPPORT_SEND, "SUPPORT_SEND" },
	{ IBV_ODP_SUPPORT_RECV, "SUPPORT_RECV" },
	{ IBV_ODP_SUPPORT_WRITE, "SUPPORT_WRITE" },
	{ IBV_ODP_SUPPORT_READ, "SUPPORT_READ" },
	{ IBV_ODP_SUPPORT_ATOMIC, "SUPPORT_ATOMIC" },
	{ IBV_ODP_SUPPORT_SRQ_RECV, "SUPPORT_SRQ" },
	{ IBV_ODP_SUPPORT_FLUSH, "SUPPORT_FLUSH" },
	{ IBV_ODP_SUPPORT_ATOMIC_WRITE, "SUPPORT_ATOMIC_WRITE" },
};

static const struct show_flag raw_packet[] = {
	{ IBV_RAW_PACKET_CAP_CVLAN_STRIPPING, "C-VLAN stripping offload" },
	{ IBV_RAW_PACKET_CAP_SCATTER_FCS, "Scatter FCS offload" },
	{ IBV_RAW_PACKET_CAP_IP_CSUM, "IP csum offload" },
	{ IBV_RAW_PACKET_CAP_DELAY_DROP, "Delay drop" },
};

/* Bits that are shown here. */
#define RAW_PACKET_KNOWN                                                       \
	(IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_SCATTER_FCS | \
	 IBV_RAW_PACKET_CAP_IP_CSUM | IBV_RAW_PACKET_CAP_DELAY_DROP)

static const struct show_flag qp_types[] = {
	{ 1 << IBV_QPT_RAW_PACKET, "SUPPORT_RAW_PACKET" },
	{ 1 << IBV_QPT_UD, "SUPPORT_UD" },
};

static const struct show_flag paced_qp_types[] = {
	{ 1 << IBV_QPT_RAW_PACKET, "SUPPORT_RAW_PACKET" },
	{ 1 << IBV_QPT_UD, "SUPPORT_UD" },
	{ 1 << IBV_QPT_RC, "SUPPORT_RC" },
};

static const struct show_flag comp_cntr_ops[] = {
	{ IBV_QP_ATTACH_COMP_CNTR_OP_SEND, "QP_ATTACH_SEND" },
	{ IBV_QP_ATTACH_COMP_CNTR_OP_RECV, "QP_ATTACH_RECV" },
	{ IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ, "QP_ATTACH_RDMA_READ" },
	{ IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ, "QP_ATTACH_REMOTE_RDMA_READ" },
	{ IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE, "QP_ATTACH_RDMA_WRITE" },
	{ IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE, "QP_ATTACH_REMOTE_RDMA_WRITE" },
};

static const struct show_flag tag_matching[] = {
	{ IBV_TM_CAP_RC, "IBV_TM_CAP_RC" },
};

static const struct show_flag rx_hash_functions[] = {
	{ IBV_RX_HASH_FUNC_TOEPLITZ, "TOEPLITZ" },
};

static const struct show_flag rx_hash_fields[] = {
	{ IBV_RX_HASH_SRC_IPV4, "SRC_IPV4" },	      { IBV_RX_HASH_DST_IPV4, "DST_IPV4" },
	{ IBV_RX_HASH_SRC_IPV6, "SRC_IPV6" },	      { IBV_RX_HASH_DST_IPV6, "DST_IPV6" },
	{ IBV_RX_HASH_SRC_PORT_TCP, "SRC_PORT_TCP" }, { IBV_RX_HASH_DST_PORT_TCP, "DST_PORT_TCP" },
	{ IBV_RX_HASH_SRC_PORT_UDP, "SRC_PORT_UDP" }, { IBV_RX_HASH_DST_PORT_UDP, "DST_PORT_UDP" },
	{ IBV_RX_HASH_IPSEC_SPI, "IPSEC_SPI" },	      { IBV_RX_HASH_INNER, "INNER" },
};

static const char *guid_text(__be64 guid, char text[20])
{
	uint64_t g = be64toh(guid);

	snprintf(text, 20, "%04x:%04x:%04x:%04x", (unsigned int)(g >> 48) & 0xffff,
		 (unsigned int)(g >> 32) & 0xffff, (unsigned int)(g >> 16) & 0xffff,
		 (unsigned int)g & 0xffff);
	return text;
}

/* Read the name of the board from sysfs. Mostly devices of Mellanox have it. */
static bool board_id(const struct ibv_device *device, char *text, size_t size)
{
	char path[320];
	int r;

	snprintf(path, sizeof(path), "%s/board_id", device->ibdev_path);
	r = file_read_text(AT_FDCWD, path, text, size);
	if (r <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static void identity_text(const struct devinfo *info)
{
	const struct ibv_device *device = info->ctx->device;
	const struct ibv_device_attr *attr = &info->attr.orig_attr;
	char text[256];

	printf("hca_id:\t%s\n", show_name(device));
	printf("\ttransport:\t\t\t%s (%d)\n", show_transport(device->transport_type),
	       device->transport_type);
	if (attr->fw_ver[0])
		printf("\tfw_ver:\t\t\t\t%s\n", attr->fw_ver);
	printf("\tnode_guid:\t\t\t%s\n", guid_text(attr->node_guid, text));
	printf("\tsys_image_guid:\t\t\t%s\n", guid_text(attr->sys_image_guid, text));
	ROWS_TEXT(id_rows, "\t", attr);
	if (board_id(device, text, sizeof(text)))
		printf("\tboard_id:\t\t\t%s\n", text);
	ROWS_TEXT(port_count_rows, "\t", attr);
}

static void odp_text(const struct ibv_device_attr_ex *attr)
{
	const struct {
		const char *name;
		uint32_t caps;
	} transports[] = {
		{ "rc", attr->odp_caps.per_transport_caps.rc_odp_caps },
		{ "uc", attr->odp_caps.per_transport_caps.uc_odp_caps },
		{ "ud", attr->odp_caps.per_transport_caps.ud_odp_caps },
		{ "xrc", attr->xrc_odp_caps },
	};

	printf("\tgeneral_odp_caps:\n");
	FLAGS_TEXT(odp_general, attr->odp_caps.general_caps);
	for (int i = 0; i < ARRAY_SIZE(transports); i++) {
		printf("\t%s_odp_caps:\n", transports[i].name);
		if (!transports[i].caps)
			printf("\t\t\t\t\tNO SUPPORT\n");
		FLAGS_TEXT(odp_transport, transports[i].caps);
	}
}

static void clock_text(const struct ibv_device_attr_ex *attr)
{
	if (attr->completion_timestamp_mask)
		printf("\tcompletion timestamp_mask:\t\t\t0x%016" PRIx64 "\n",
		       attr->completion_timestamp_mask);
	else
		printf("\tcompletion_timestamp_mask not supported\n");
	if (attr->hca_core_clock)
		printf("\thca_core_clock:\t\t\t%" PRIu64 "kHZ\n", attr->hca_core_clock);
	else
		printf("\tcore clock not supported\n");
}

static void supported_qp_text(uint32_t types)
{
	printf("\t\tsupported_qp:\n");
	FLAGS_TEXT(qp_types, types);
}

static void offload_text(const struct ibv_device_attr_ex *attr)
{
	if (attr->raw_packet_caps) {
		printf("\traw packet caps:\n");
		FLAGS_TEXT(raw_packet, attr->raw_packet_caps & RAW_PACKET_KNOWN);
	}
	printf("\tdevice_cap_flags_ex:\t\t0x%" PRIX64 "\n", attr->device_cap_flags_ex);
	FLAGS_TEXT(cap_flags_ex, attr->device_cap_flags_ex & ~(uint64_t)UINT32_MAX);
	printf("\ttso_caps:\n\t\tmax_tso:\t\t\t%d\n", attr->tso_caps.max_tso);
	if (attr->tso_caps.max_tso)
		supported_qp_text(attr->tso_caps.supported_qpts);
	printf("\trss_caps:\n"
	       "\t\tmax_rwq_indirection_tables:\t\t\t%u\n"
	       "\t\tmax_rwq_indirection_table_size:\t\t\t%u\n"
	       "\t\trx_hash_function:\t\t\t\t0x%x\n"
	       "\t\trx_hash_fields_mask:\t\t\t\t0x%" PRIX64 "\n",
	       attr->rss_caps.max_rwq_indirection_tables,
	       attr->rss_caps.max_rwq_indirection_table_size, attr->rss_caps.rx_hash_function,
	       attr->rss_caps.rx_hash_fields_mask);
	if (attr->rss_caps.supported_qpts)
		supported_qp_text(attr->rss_caps.supported_qpts);
	printf("\tmax_wq_type_rq:\t\t\t%u\n", attr->max_wq_type_rq);
}

static void pacing_text(const struct ibv_packet_pacing_caps *caps)
{
	printf("\tpacket_pacing_caps:\n"
	       "\t\tqp_rate_limit_min:\t%ukbps\n"
	       "\t\tqp_rate_limit_max:\t%ukbps\n",
	       caps->qp_rate_limit_min, caps->qp_rate_limit_max);
	if (!caps->qp_rate_limit_max)
		return;
	printf("\t\tsupported_qp:\n");
	FLAGS_TEXT(paced_qp_types, caps->supported_qpts);
}

static void comp_cntr_text(const struct devinfo *info)
{
	struct ibv_comp_cntr_caps caps = { 0 };

	if (ibv_query_comp_cntr_caps(info->ctx, &caps))
		return;
	printf("\tmax_comp_cntr:\t\t\t%u\n", caps.max_counters);
	printf("\tcomp_cntr_caps:\n");
	FLAGS_TEXT(comp_cntr_ops, caps.supported_qp_attach_ops);
}

static void tag_matching_text(const struct ibv_tm_caps *caps)
{
	if (!caps->max_num_tags) {
		printf("\ttag matching not supported\n");
		return;
	}
	printf("\tmax_rndv_hdr_size:\t\t%u\n"
	       "\tmax_num_tags:\t\t\t%u\n"
	       "\tmax_ops:\t\t\t%u\n"
	       "\tmax_sge:\t\t\t%u\n"
	       "\tflags:\n",
	       caps->max_rndv_hdr_size, caps->max_num_tags, caps->max_ops, caps->max_sge);
	FLAGS_TEXT(tag_matching, caps->flags & IBV_TM_CAP_RC);
}

static void attr_text(const struct devinfo *info)
{
	const struct ibv_device_attr *attr = &info->attr.orig_attr;

	ROWS_TEXT(size_rows, "\t", attr);
	FLAGS_TEXT(cap_flags, attr->device_cap_flags);
	ROWS_TEXT(limit_rows, "\t", attr);
	if (attr->max_fmr)
		ROWS_TEXT(fmr_rows, "\t", attr);
	ROWS_TEXT(srq_count_rows, "\t", attr);
	if (attr->max_srq)
		ROWS_TEXT(srq_rows, "\t", attr);
	ROWS_TEXT(pkey_rows, "\t", attr);
	comp_cntr_text(info);
	ROWS_TEXT(last_rows, "\t", attr);
}

static void attr_ex_text(const struct devinfo *info)
{
	const struct ibv_device_attr_ex *attr = &info->attr;

	odp_text(attr);
	clock_text(attr);
	offload_text(attr);
	pacing_text(&attr->packet_pacing_caps);
	tag_matching_text(&attr->tm_caps);
	if (attr->cq_mod_caps.max_cq_count && attr->cq_mod_caps.max_cq_period)
		printf("\n\tcq moderation caps:\n"
		       "\t\tmax_cq_count:\t%u\n"
		       "\t\tmax_cq_period:\t%u us\n\n",
		       attr->cq_mod_caps.max_cq_count, attr->cq_mod_caps.max_cq_period);
	if (attr->max_dm_size)
		printf("\tmaximum available device memory:\t%" PRIu64 "Bytes\n\n",
		       attr->max_dm_size);
	printf("\tnum_comp_vectors:\t\t%d\n", info->ctx->num_comp_vectors);
}

void devinfo_attr_text(const struct devinfo *info, bool verbose)
{
	identity_text(info);
	if (!verbose)
		return;
	attr_text(info);
	attr_ex_text(info);
}

static void identity_json(const struct devinfo *info)
{
	const struct ibv_device *device = info->ctx->device;
	const struct ibv_device_attr *attr = &info->attr.orig_attr;
	char text[256];

	json_string("name", device->name);
	json_string("uverbs", device->dev_name);
	json_string("transport", show_transport(device->transport_type));
	json_string("fw_ver", attr->fw_ver);
	json_string("node_guid", guid_text(attr->node_guid, text));
	json_string("sys_image_guid", guid_text(attr->sys_image_guid, text));
	ROWS_JSON(id_rows, attr);
	if (board_id(device, text, sizeof(text)))
		json_string("board_id", text);
	ROWS_JSON(port_count_rows, attr);
}

/* Write 0 for the limits of a device without counters. */
static void comp_cntr_json(const struct devinfo *info)
{
	struct ibv_comp_cntr_caps caps = { 0 };

	if (ibv_query_comp_cntr_caps(info->ctx, &caps))
		memset(&caps, 0, sizeof(caps));
	json_number("max_comp_cntr", caps.max_counters);
	FLAGS_JSON("comp_cntr_caps", comp_cntr_ops, caps.supported_qp_attach_ops);
}

static void attr_json(const struct devinfo *info)
{
	const struct ibv_device_attr *attr = &info->attr.orig_attr;

	ROWS_JSON(size_rows, attr);
	FLAGS_JSON("device_cap", cap_flags, attr->device_cap_flags);
	ROWS_JSON(limit_rows, attr);
	ROWS_JSON(fmr_rows, attr);
	ROWS_JSON(srq_count_rows, attr);
	ROWS_JSON(srq_rows, attr);
	ROWS_JSON(pkey_rows, attr);
	comp_cntr_json(info);
	ROWS_JSON(last_rows, attr);
}

static void attr_ex_json(const struct devinfo *info)
{
	const struct ibv_device_attr_ex *attr = &info->attr;

	FLAGS_JSON("general_odp_caps", odp_general, attr->odp_caps.general_caps);
	FLAGS_JSON("rc_odp_caps", odp_transport, attr->odp_caps.per_transport_caps.rc_odp_caps);
	FLAGS_JSON("uc_odp_caps", odp_transport, attr->odp_caps.per_transport_caps.uc_odp_caps);
	FLAGS_JSON("ud_odp_caps", odp_transport, attr->odp_caps.per_transport_caps.ud_odp_caps);
	FLAGS_JSON("xrc_odp_caps", odp_transport, attr->xrc_odp_caps);
	json_number("completion_timestamp_mask", attr->completion_timestamp_mask);
	json_number("hca_core_clock_khz", attr->hca_core_clock);
	json_number("device_cap_flags_ex", attr->device_cap_flags_ex);
	FLAGS_JSON("device_cap_ex", cap_flags_ex,
		   attr->device_cap_flags_ex & ~(uint64_t)UINT32_MAX);
	FLAGS_JSON("raw_packet_caps", raw_packet, attr->raw_packet_caps);
	json_number("max_tso", attr->tso_caps.max_tso);
	FLAGS_JSON("tso_supported_qp", qp_types, attr->tso_caps.supported_qpts);
	json_number("max_rwq_indirection_tables", attr->rss_caps.max_rwq_indirection_tables);
	json_number("max_rwq_indirection_table_size",
		    attr->rss_caps.max_rwq_indirection_table_size);
	FLAGS_JSON("rx_hash_function", rx_hash_functions, attr->rss_caps.rx_hash_function);
	FLAGS_JSON("rx_hash_fields", rx_hash_fields, attr->rss_caps.rx_hash_fields_mask);
	FLAGS_JSON("rss_supported_qp", qp_types, attr->rss_caps.supported_qpts);
	json_number("max_wq_type_rq", attr->max_wq_type_rq);
	json_number("qp_rate_limit_min_kbps", attr->packet_pacing_caps.qp_rate_limit_min);
	json_number("qp_rate_limit_max_kbps", attr->packet_pacing_caps.qp_rate_limit_max);
	FLAGS_JSON("qp_rate_limit_supported_qp", paced_qp_types,
		   attr->packet_pacing_caps.supported_qpts);
	json_number("max_num_tags", attr->tm_caps.max_num_tags);
	FLAGS_JSON("tag_matching", tag_matching, attr->tm_caps.flags);
	json_number("max_cq_count", attr->cq_mod_caps.max_cq_count);
	json_number("max_cq_period_us", attr->cq_mod_caps.max_cq_period);
	json_number("max_dm_size", attr->max_dm_size);
	json_number("num_comp_vectors", info->ctx->num_comp_vectors);
}

void devinfo_attr_json(const struct devinfo *info)
{
	identity_json(info);
	attr_json(info);
	attr_ex_json(info);
}
