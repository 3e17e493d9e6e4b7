/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A device of this process: shared by its contexts; what it can do and how its port is. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/host/interface.h"
#include "providers/uroce/verbs/ops.h"
#include "providers/uroce/path/udp/path_udp.h"
#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/host/thread.h"

enum {
	/* IPv6 + UDP + longest BTH with extensions + ICRC: what the kernel's device reserves too.
	 */
	PACKET_OVERHEAD = 40 + 8 + UROCE_HEADER_MAX + ICRC_LEN,
	PORT_PHYS_LINK_UP = 5,
	PORT_PHYS_DISABLED = 3,
	CLOCK_KHZ = 1000000, /* timestamps are nanoseconds */
};

static struct uroce_dev *ctx_dev(struct ibv_context *ctx)
{
	return ((struct uroce_context *)to_vctx(ctx))->dev;
}

/* --- life --- */

static int dev_interface(struct uroce_dev *dev)
{
	struct uroce_interface i;
	int r = uroce_interface_query(dev->netdev, &i);

	if (r < 0)
		return r;
	dev->ifindex = i.index;
	dev->link_mtu = i.mtu;
	dev->link_up = i.up || i.loopback;
	dev->is_loopback = i.loopback;
	memcpy(dev->mac, i.mac, sizeof(dev->mac));
	dev->speed = i.speed;
	dev->width = i.width;
	return 0;
}

static void dev_free(struct uroce_dev *dev)
{
	uroce_counters_log(dev);
	if (dev->wire && dev->wire != dev->udp)
		uroce_fault_path_free(dev->wire);
	if (dev->udp)
		uroce_udp_close(dev);
	uroce_gsi_free(dev->gsi);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

static int dev_new(struct uroce_host *host, const struct verbs_device *device,
		   struct uroce_dev **ret_dev)
{
	struct uroce_dev *dev = calloc(1, sizeof(*dev));
	int r;

	if (!dev)
		return -ENOMEM;
	pthread_mutex_init(&dev->lock, NULL);
	dev->host = host;
	snprintf(dev->name, sizeof(dev->name), "%s", device->device.name);
	for (unsigned int i = 0; i < UROCE_GID_MAX; i++)
		dev->gids[i].socket = -1;
	r = if_indextoname(device->private_data, dev->netdev) ? dev_interface(dev) : -ENODEV;
	if (!r)
		r = uroce_udp_open(dev);
	if (!r) {
		dev->wire = dev->udp;
		if (host->faults && host->faults->packets)
			r = uroce_fault_path_new(dev, dev->udp, &dev->wire);
	}
	if (!r)
		r = uroce_gids_refresh(dev);
	if (r < 0) {
		log_err("%s: interface %s cannot be used: %s", dev->name, dev->netdev,
			strerror(-r));
		dev_free(dev);
		return r;
	}
	*ret_dev = dev;
	return 0;
}

static int dev_find(struct uroce_host *host, const struct verbs_device *device,
		    struct uroce_dev **ret_dev)
{
	struct uroce_dev *dev;
	int r;

	LIST_FOREACH(dev, &host->devices, entry) {
		if (strcmp(dev->name, device->device.name))
			continue;
		*ret_dev = dev;
		return 0;
	}
	r = dev_new(host, device, &dev);
	if (r < 0)
		return r;
	uroce_lock(&host->progress_lock);
	LIST_INSERT_HEAD(&host->devices, dev, entry);
	uroce_unlock(&host->progress_lock);
	*ret_dev = dev;
	return 0;
}

int uroce_dev_get(const struct verbs_device *device, struct uroce_dev **ret_dev)
{
	_cleanup_close_ int turn = uroce_shm_turn_take();
	struct uroce_host *host;
	struct uroce_dev *dev;
	int r = uroce_host_get(&host);

	if (r < 0)
		return r;
	pthread_mutex_lock(&host->lock);
	r = dev_find(host, device, &dev);
	if (!r) {
		dev->refs++;
		*ret_dev = dev;
	}
	pthread_mutex_unlock(&host->lock);
	if (r < 0)
		uroce_host_put(host);
	return r;
}

void uroce_dev_put(struct uroce_dev *dev)
{
	struct uroce_host *host = dev->host;

	pthread_mutex_lock(&host->lock);
	if (--dev->refs == 0 && host->pid == getpid()) {
		uroce_lock(&host->progress_lock);
		LIST_REMOVE(dev, entry);
		uroce_unlock(&host->progress_lock);
		dev_free(dev);
	}
	pthread_mutex_unlock(&host->lock);
	uroce_host_put(host);
}

/* --- what it can do --- */

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
			    IBV_DEVICE_MEM_WINDOW_TYPE_2B,
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

/* Bits of device_cap_flags_ex that verbs.h has no name for. */
#define CAP_FLUSH_GLOBAL     (1ull << 38)
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE     (1ull << 40)

#define ODP_RC                                                                 \
	(IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE | \
	 IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV)

int uroce_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		       struct ibv_device_attr_ex *ret_attr)
{
	struct verbs_device *device = to_vdev(ctx->device);

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

static enum ibv_mtu mtu_of_link(uint32_t link_mtu)
{
	enum ibv_mtu mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && (128u << mtu) + PACKET_OVERHEAD > link_mtu)
		mtu--;
	return mtu;
}

uint32_t uroce_dev_mtu(const struct uroce_dev *dev)
{
	return 128u << mtu_of_link(dev->link_mtu);
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

int uroce_query_port(struct ibv_context *ctx, uint8_t port_num, struct ibv_port_attr *ret_attr)
{
	struct uroce_dev *dev = ctx_dev(ctx);
	bool up = port_up(dev);

	if (port_num != 1)
		return -EINVAL;
	*ret_attr = (struct ibv_port_attr){
		.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.phys_state = up ? PORT_PHYS_LINK_UP : PORT_PHYS_DISABLED,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = mtu_of_link(dev->link_mtu),
		.gid_tbl_len = gids_used(dev),
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = UROCE_MAX_MSG_SIZE,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
		.active_speed = dev->speed,
		.active_width = dev->width,
	};
	return 0;
}

int uroce_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;

	values->comp_mask = 0;
	if (wanted & IBV_VALUES_MASK_RAW_CLOCK) {
		clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}
