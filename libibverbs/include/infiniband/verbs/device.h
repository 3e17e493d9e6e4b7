/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices: which there are, and what identifies them. */
#ifndef INFINIBAND_VERBS_DEVICE_H
#define INFINIBAND_VERBS_DEVICE_H

#include <infiniband/verbs/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of node of a device, in the order of the kernel. */
enum ibv_node_type {
	IBV_NODE_UNKNOWN = -1,
	IBV_NODE_CA = 1,
	IBV_NODE_SWITCH,
	IBV_NODE_ROUTER,
	IBV_NODE_RNIC,
	IBV_NODE_USNIC,
	IBV_NODE_USNIC_UDP,
	IBV_NODE_UNSPECIFIED,
};

enum ibv_transport_type {
	IBV_TRANSPORT_UNKNOWN = -1,
	IBV_TRANSPORT_IB = 0, /* InfiniBand and RoCE: the link layer of the port tells them apart */
	IBV_TRANSPORT_IWARP,
	IBV_TRANSPORT_USNIC,
	IBV_TRANSPORT_USNIC_UDP,
	IBV_TRANSPORT_UNSPECIFIED,
};

/* Sizes of the character arrays of struct ibv_device, with the terminating zero. */
enum {
	IBV_SYSFS_NAME_MAX = 64,
	IBV_SYSFS_PATH_MAX = 256
};

/* Two slots that never had a user; they keep the members behind them in their place. */
struct _ibv_device_ops {
	struct ibv_context *(*_dummy1)(struct ibv_device *device, int cmd_fd);
	void (*_dummy2)(struct ibv_context *context);
};

/**
 * struct ibv_device - a device as ibv_get_device_list() found it
 *
 * Owned by the library; programs only read it. Prefer ibv_get_device_name() to the name member.
 * @name: of the kernel's RDMA device, e.g. "rxe0"
 * @dev_name: of its verbs character device, e.g. "uverbs0"
 * @dev_path: the sysfs directory of the character device
 * @ibdev_path: the sysfs directory of the RDMA device
 */
struct ibv_device {
	struct _ibv_device_ops _ops;
	enum ibv_node_type node_type;
	enum ibv_transport_type transport_type;
	char name[IBV_SYSFS_NAME_MAX];
	char dev_name[IBV_SYSFS_NAME_MAX];
	char dev_path[IBV_SYSFS_PATH_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
};

/**
 * ibv_get_device_list() - the devices this process could open
 * @num_devices: their number; may be NULL
 *
 * Return: an array of devices that ends with NULL, to be given to ibv_free_device_list(); also
 * when there is none. NULL with errno EPERM (no permission), ENOSYS (no kernel support) or ENOMEM.
 */
struct ibv_device **ibv_get_device_list(int *num_devices);

/**
 * ibv_free_device_list() - give the list back
 *
 * A device of it stays valid only while it is open (or in another list).
 */
void ibv_free_device_list(struct ibv_device **list);

/**
 * Static linking: a program that is linked with libibverbs.a contains every provider. To link fewer
 * providers, name them before this header is included:
 *
 *   #define RDMA_STATIC_PROVIDERS rxe,uroce
 *
 * ibv_get_device_list() then refers to each of these providers, and the linker takes only these out
 * of their archives. "all" stands for every provider that the library was built with, "none" for no
 * provider. A program that links the shared library must not do this: it will not link.
 */
#ifdef RDMA_STATIC_PROVIDERS
struct verbs_device_ops;
extern const struct verbs_device_ops verbs_provider_bnxt_re;
extern const struct verbs_device_ops verbs_provider_cxgb4;
extern const struct verbs_device_ops verbs_provider_efa;
extern const struct verbs_device_ops verbs_provider_erdma;
extern const struct verbs_device_ops verbs_provider_hfi1verbs;
extern const struct verbs_device_ops verbs_provider_hns;
extern const struct verbs_device_ops verbs_provider_ionic;
extern const struct verbs_device_ops verbs_provider_ipathverbs;
extern const struct verbs_device_ops verbs_provider_irdma;
extern const struct verbs_device_ops verbs_provider_mana;
extern const struct verbs_device_ops verbs_provider_mlx4;
extern const struct verbs_device_ops verbs_provider_mlx5;
extern const struct verbs_device_ops verbs_provider_mthca;
extern const struct verbs_device_ops verbs_provider_ocrdma;
extern const struct verbs_device_ops verbs_provider_qedr;
extern const struct verbs_device_ops verbs_provider_rxe;
extern const struct verbs_device_ops verbs_provider_siw;
extern const struct verbs_device_ops verbs_provider_uroce;
extern const struct verbs_device_ops verbs_provider_vmw_pvrdma;
extern const struct verbs_device_ops verbs_provider_all;
extern const struct verbs_device_ops verbs_provider_none;

/* These two are in the static library only. The first takes a list of providers' addresses that
 * ends with NULL. */
void ibv_static_providers(void *unused, ...);
struct ibv_device **ibv_static_get_device_list(int *num_devices);

/* The preprocessor cannot loop over a list, so the list is padded with "none" to 19 names. */
#define _RDMA_STATIC_PREFIX(list)                                                              \
	_RDMA_STATIC_PREFIX_(list, none, none, none, none, none, none, none, none, none, none, \
			     none, none, none, none, none, none, none, none)
#define _RDMA_STATIC_PREFIX_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, ...)  \
	&verbs_provider_##a, &verbs_provider_##b, &verbs_provider_##c, &verbs_provider_##d, \
		&verbs_provider_##e, &verbs_provider_##f, &verbs_provider_##g,              \
		&verbs_provider_##h, &verbs_provider_##i, &verbs_provider_##j,              \
		&verbs_provider_##k, &verbs_provider_##l, &verbs_provider_##m,              \
		&verbs_provider_##n, &verbs_provider_##o, &verbs_provider_##p,              \
		&verbs_provider_##q, &verbs_provider_##r, &verbs_provider_##s

static inline struct ibv_device **__ibv_get_device_list(int *num_devices)
{
	ibv_static_providers(NULL, _RDMA_STATIC_PREFIX(RDMA_STATIC_PROVIDERS), NULL);
	return ibv_static_get_device_list(num_devices);
}
#define ibv_get_device_list(num_devices) __ibv_get_device_list(num_devices)
#endif

/**
 * ibv_get_device_name() - the kernel's name of the device
 *
 * Return: a string that lives as long as the device; NULL for no device.
 */
const char *ibv_get_device_name(struct ibv_device *device);

/**
 * ibv_get_device_index() - the kernel's number of the device; it survives renaming
 *
 * Return: the number; -1 if the kernel has no RDMA netlink, or if the device lives in user space.
 */
int ibv_get_device_index(struct ibv_device *device);

/**
 * ibv_get_device_guid() - the node GUID
 *
 * Return: the GUID in network order, 0 when it cannot be read.
 */
__be64 ibv_get_device_guid(struct ibv_device *device);

#ifdef __cplusplus
}
#endif

#endif
