/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Device and port attributes. */
#include <stdio.h>
#include <time.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/verbs/verbs.h"
#include "util/cancel.h"

enum {
	PORT_PHYS_LINK_UP = 5,
	PORT_PHYS_DISABLED = 3,
	CLOCK_KHZ = 1000000, /* timestamps are nanoseconds */
};

static const struct ibv_device_attr device_attr = {
	.max_mr_size = UINT64_MAX,
	.page_size_cap = 0xfffff000,
	.vendor_id = UROCE_VENDOR_ID,
	.vendor_part_id = UROCE_VENDOR_PART,
	.hw_ver = 1,
	.max_qp = UROCE_MAX_QP,
	.max_qp_wr = UROCE_MAX_WR,
	.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_SHUTDOWN_PORT |
			    IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
			    IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
			    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
			    IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC,
	.max_sge = UROCE_MAX_SGE,
	.max_sge_rd = UROCE_MAX_SGE,
	.max_cq = UROCE_MAX_CQ,
	.max_cqe = UROCE_MAX_CQE,
	.max_mr = UROCE_MAX_KEYS / 2,
	.max_pd = 1 << 20,
	.max_qp_rd_atom = UROCE_MAX_RD_ATOMIC,
	.max_res_rd_atom = UROCE_MAX_RD_ATOMIC * UROCE_MAX_QP,
	.max_qp_init_rd_atom = UROCE_MAX_RD_ATOMIC,
	.atomic_cap = IBV_ATOMIC_HCA,
	.max_mw = UROCE_MAX_KEYS / 2,
	.max_mcast_grp = 1024,
	.max_mcast_qp_attach = UROCE_MAX_MCAST_QP,
	.max_total_mcast_qp_attach = 1024 * UROCE_MAX_MCAST_QP,
	.max_ah = 1 << 20,
	.max_srq = UROCE_MAX_SRQ,
	.max_srq_wr = UROCE_MAX_WR,
	.max_srq_sge = UROCE_MAX_SGE,
	.max_pkeys = 1,
	.local_ca_ack_delay = 0,
	.phys_port_cnt = 1,
};

/* Bits of device_cap_flags_ex without a name in verbs.h. */
#define CAP_FLUSH_GLOBAL     (1ull << 38)
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE     (1ull << 40)

#define ODP_RC                                                                      \
	(IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |      \
	 IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV | \
	 IBV_ODP_SUPPORT_FLUSH | IBV_ODP_SUPPORT_ATOMIC_WRITE)

int uroce_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		       struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_device *device = to_vdev(ctx->device);
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	*ret_attr = (struct ibv_device_attr_ex){
		.orig_attr = device_attr,
		.odp_caps = {
			.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			.per_transport_caps = {
				.rc_odp_caps = ODP_RC,
				.uc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE,
				.ud_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV,
			},
		},
		.xrc_odp_caps = ODP_RC,
		.max_dm_size = UROCE_MAX_DM,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = CLOCK_KHZ,
		.device_cap_flags_ex = device_attr.device_cap_flags | CAP_FLUSH_GLOBAL | CAP_FLUSH_PERSISTENT |
				       CAP_ATOMIC_WRITE,
		.phys_port_cnt_ex = 1,
	};
	ret_attr->orig_attr.node_guid = device->node_guid;
	ret_attr->orig_attr.sys_image_guid = device->node_guid;
	snprintf(ret_attr->orig_attr.fw_ver, sizeof(ret_attr->orig_attr.fw_ver), "1.0.0");
	return 0;
}

static unsigned int gids_used(struct uroce_dev *dev)
{
	unsigned int used = 1;

	pthread_mutex_lock(&dev->lock);
	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		if (dev->gids[i].valid)
			used = i + 1;
	pthread_mutex_unlock(&dev->lock);
	return used;
}

static bool port_up(const struct uroce_dev *dev)
{
	const struct uroce_faults *faults = dev->host->faults;

	return dev->link_up && !(unlikely(faults) && atomic_load(&faults->port_down));
}

/* The counters of all queue pairs are added up only if there is something to add. */
static uint32_t qkey_violations(struct uroce_dev *dev)
{
	struct uroce_qp_counters counters;

	if (!atomic_load_explicit(&dev->host->engine.qkey_wrong, memory_order_relaxed))
		return 0;
	uroce_counters_of_dev(dev, &counters);
	return counters.wrong_qkey;
}

int uroce_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr)
{
	_cleanup_cancel_ int cancel = cancel_off();
	struct uroce_dev *dev = ctx_dev(ctx);
	int r = uroce_host_check(dev->host);
	bool up = port_up(dev);

	if (r < 0)
		return r;
	if (port_num != 1)
		return -EINVAL;
	*ret_attr = (struct ibv_port_attr){
		.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.phys_state = up ? PORT_PHYS_LINK_UP : PORT_PHYS_DISABLED,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = uroce_dev_active_mtu(dev),
		.gid_tbl_len = gids_used(dev),
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = UROCE_MAX_MSG_SIZE,
		.qkey_viol_cntr = qkey_violations(dev),
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
		.active_speed = dev->speed,
		.active_width = dev->width,
	};
	return 0;
}

/*
 * Speed of a lane in units of 100 Mbit/s, by bit number of the speed code, and number of lanes, by
 * bit number of the width code.
 */
static const uint16_t speed_of_bit[] = { 25, 50, 100, 100, 140, 250, 500, 1000 };
static const uint8_t lanes_of_bit[] = { 1, 4, 8, 12, 2 };

int uroce_query_port_speed(struct ibv_context *ctx, uint32_t port_num, uint64_t *ret_speed)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	unsigned int speed = __builtin_ctz(dev->speed | 1u << 31);
	unsigned int width = __builtin_ctz(dev->width | 1u << 31);
	int r = uroce_host_check(dev->host);

	if (r < 0)
		return r;
	if (port_num != 1)
		return -EINVAL;
	if (speed >= ARRAY_SIZE(speed_of_bit) || width >= ARRAY_SIZE(lanes_of_bit))
		return -EOPNOTSUPP;
	*ret_speed = (uint64_t)speed_of_bit[speed] * lanes_of_bit[width];
	return 0;
}

int uroce_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;
	int r = uroce_host_check(ctx_host(ctx));

	if (r < 0)
		return r;
	values->comp_mask = 0;
	if (wanted & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}
