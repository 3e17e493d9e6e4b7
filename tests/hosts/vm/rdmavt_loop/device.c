// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The device and its port: start reading here. */
#include <linux/module.h>
#include <linux/pci.h>
#include <rdma/ib_mad.h>

#include "loop.h"

static char *as = "hfi1";
module_param(as, charp, 0444);

static struct loop *the_loop;

static int query_port_state(struct rvt_dev_info *rdi, u32 port, struct ib_port_attr *attr)
{
	attr->lid = LOOP_LID;
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->gid_tbl_len = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_QDR;
	attr->max_vl_num = 1;
	attr->max_mtu = attr->active_mtu = IB_MTU_4096;
	return 0;
}

static int get_guid_be(struct rvt_dev_info *rdi, struct rvt_ibport *port, int index, __be64 *guid)
{
	*guid = container_of(rdi, struct loop, rdi)->guid;
	return index ? -EINVAL : 0;
}

static int shut_down_port(struct rvt_dev_info *rdi, u32 port)
{
	return 0;
}

static void cap_mask_chg(struct rvt_dev_info *rdi, u32 port)
{
}

static int check_ah(struct ib_device *device, struct rdma_ah_attr *attr)
{
	return rdma_ah_get_sl(attr) > 15 ? -EINVAL : 0;
}

static void notify_new_ah(struct ib_device *device, struct rdma_ah_attr *attr, struct rvt_ah *ah)
{
	ah->vl = 0;
	ah->log_pmtu = ilog2(LOOP_MTU);
}

static struct pci_dev *get_pci_dev(struct rvt_dev_info *rdi)
{
	return container_of(rdi, struct loop, rdi)->pci;
}

static int modify_device(struct ib_device *device, int mask, struct ib_device_modify *attr)
{
	return -EOPNOTSUPP;
}

static const struct attribute_group *no_groups[] = { NULL };

static struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.port_groups = no_groups,
	.modify_device = modify_device,
};

/* The limits of both drivers, as they are with their default parameters. */
static void set_limits(struct ib_device_attr *props, bool hfi1)
{
	props->vendor_id = 0x1175;
	props->vendor_part_id = hfi1 ? 0x24f0 : 0x7322;
	props->hw_ver = 2;
	props->fw_ver = hfi1 ? 1ull << 32 | 27 << 16 : 0;
	props->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR |
				  IB_DEVICE_SHUTDOWN_PORT | IB_DEVICE_SYS_IMAGE_GUID |
				  IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_PORT_ACTIVE_EVENT |
				  IB_DEVICE_SRQ_RESIZE;
	props->page_size_cap = PAGE_SIZE;
	props->max_mr_size = U64_MAX;
	props->max_mr = 65535;
	props->max_pd = props->max_ah = 0xffff;
	props->max_qp = hfi1 ? 32768 : 16384;
	props->max_qp_wr = 0x3fff;
	props->max_send_sge = props->max_recv_sge = props->max_sge_rd = 0x60;
	props->max_cq = 0x1ffff;
	props->max_cqe = hfi1 ? 0x2fffff : 0x2ffff;
	props->max_srq = 1024;
	props->max_srq_wr = 0x1ffff;
	props->max_srq_sge = 128;
	props->max_qp_rd_atom = 16;
	props->max_qp_init_rd_atom = 255;
	props->atomic_cap = IB_ATOMIC_GLOB;
	props->max_pkeys = 1;
	props->max_mcast_grp = 16384;
	props->max_mcast_qp_attach = 16;
	props->max_total_mcast_qp_attach = 16 * 16384;
}

static void set_parameters(struct rvt_driver_params *dparms)
{
	dparms->lkey_table_size = 16;
	dparms->qp_table_size = 256;
	dparms->qpn_start = 1;
	dparms->qpn_inc = 1;
	dparms->qos_shift = 1;
	dparms->qpn_res_start = dparms->qpn_res_end = 0x656b78;
	dparms->psn_mask = dparms->psn_modify_mask = 0xffffff;
	dparms->psn_shift = 8;
	dparms->max_rdma_atomic = 16;
	dparms->nports = dparms->npkeys = 1;
	dparms->node = numa_node_id();
	dparms->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	dparms->max_mad_size = IB_MGMT_MAD_SIZE;
	dparms->sge_copy_mode = RVT_SGE_COPY_MEMCPY;
}

static void set_port_functions(struct rvt_driver_provided *f)
{
	f->get_pci_dev = get_pci_dev;
	f->query_port_state = query_port_state;
	f->get_guid_be = get_guid_be;
	f->shut_down_port = shut_down_port;
	f->cap_mask_chg = cap_mask_chg;
	f->check_ah = check_ah;
	f->notify_new_ah = notify_new_ah;
}

static void port_init(struct loop *loop)
{
	spin_lock_init(&loop->port.lock);
	loop->port.mcast_tree = RB_ROOT;
	loop->port.gid_prefix = cpu_to_be64(0xfe80000000000000ull);
	loop->port.sm_lid = LOOP_LID;
	loop->port.rc_acks = alloc_percpu(u64);
	loop->port.rc_qacks = alloc_percpu(u64);
	loop->port.rc_delayed_comp = alloc_percpu(u64);
	loop->pkeys[0] = 0xffff;
	rvt_init_port(&loop->rdi, &loop->port, 0, loop->pkeys);
}

static void loop_free(struct loop *loop)
{
	free_percpu(loop->port.rc_acks);
	free_percpu(loop->port.rc_qacks);
	free_percpu(loop->port.rc_delayed_comp);
	if (loop->senders)
		destroy_workqueue(loop->senders);
	pci_dev_put(loop->pci);
	rvt_dealloc_device(&loop->rdi);
}

static int __init loop_init(void)
{
	struct rvt_dev_info *rdi = rvt_alloc_device(sizeof(struct loop), 1);
	bool hfi1 = !strcmp(as, "hfi1");
	struct loop *loop = container_of(rdi, struct loop, rdi);
	int error = -ENOMEM;

	if (!rdi)
		return -ENOMEM;
	loop->pci = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, NULL);
	loop->senders = alloc_workqueue("rdmavt_loop", WQ_UNBOUND | WQ_HIGHPRI, 0);
	loop->guid = cpu_to_be64(0x0011750000000001ull);
	rvt_set_ibdev_name(rdi, "%s%d", hfi1 ? "hfi1_" : "qib", 0);
	rdi->ibdev.node_guid = rdi->dparms.props.sys_image_guid = loop->guid;
	rdi->ibdev.phys_port_cnt = 1;
	strscpy(rdi->ibdev.node_desc, as, sizeof(rdi->ibdev.node_desc));
	set_limits(&rdi->dparms.props, hfi1);
	set_parameters(&rdi->dparms);
	set_port_functions(&rdi->driver_f);
	loop_set_qp_functions(rdi, hfi1);
	port_init(loop);
	device_ops.driver_id = hfi1 ? RDMA_DRIVER_HFI1 : RDMA_DRIVER_QIB;
	ib_set_device_ops(&rdi->ibdev, &device_ops);
	if (loop->pci && loop->senders)
		error = rvt_register_device(rdi);
	if (error) {
		loop_free(loop);
		return error;
	}
	the_loop = loop;
	return 0;
}

static void __exit loop_exit(void)
{
	rvt_unregister_device(&the_loop->rdi);
	loop_free(the_loop);
}

module_init(loop_init);
module_exit(loop_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("RDMA devices of rdmavt that send to themselves");
