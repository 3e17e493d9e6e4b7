/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device of a PCI address, if VFIO owns it and mlx5 serves it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/function.h"
#include "util/sysfs.h"

enum {
	VENDOR = 0x15b3,
};

/* The device ids of mlx5.driver: CMakeLists.txt. */
static const uint16_t models[] = { MLX5_MODELS };

static bool model_is_known(uint64_t vendor, uint64_t model)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(models); i++)
		if (vendor == VENDOR && model == models[i])
			return true;
	return false;
}

/* Write the address with all digits, as the kernel does. */
static int address_parse(const char *text, char *ret_name, size_t size)
{
	unsigned int segment, bus, slot, function;
	char rest;

	if (sscanf(text, "%x:%x:%x.%u%c", &segment, &bus, &slot, &function, &rest) != 4 ||
	    bus > 0xff || slot > 0x1f || function > 7) {
		log_err("mlx5dv_get_vfio_device_list: '%s' is no PCI address like 0000:3b:00.0",
			text);
		return -EINVAL;
	}
	snprintf(ret_name, size, "%04x:%02x:%02x.%u", segment, bus, slot, function);
	return 0;
}

static int number_read(const char *name, const char *file, uint64_t *ret_value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", sysfs_root(), name, file);
	return sysfs_read_u64(AT_FDCWD, path, 0, ret_value);
}

static int model_check(const char *name)
{
	uint64_t vendor = 0, model = 0;
	int r = number_read(name, "vendor", &vendor);

	if (!r)
		r = number_read(name, "device", &model);
	if (r < 0) {
		log_err("mlx5 %s: there is no such PCI device: %s", name, strerror(-r));
		return r;
	}
	if (model_is_known(vendor, model))
		return 0;
	log_err("mlx5 %s: vendor 0x%x, device 0x%x is no adapter of mlx5", name,
		(unsigned int)vendor, (unsigned int)model);
	return -ENODEV;
}

/* Read the number of the IOMMU group, whose descriptor is /dev/vfio/NUMBER. */
static int group_read(const char *name, unsigned int *ret_group)
{
	char path[256], target[256], node[64];
	const char *last;
	struct stat st;
	ssize_t length;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/iommu_group", sysfs_root(), name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0) {
		log_err("mlx5 %s: it has no IOMMU group: %s: enable the IOMMU", name,
			strerror(errno));
		return -errno;
	}
	target[length] = 0;
	last = strrchr(target, '/');
	if (sscanf(last ? last + 1 : target, "%u", ret_group) != 1)
		return -EPROTO;
	snprintf(node, sizeof(node), "/dev/vfio/%u", *ret_group);
	if (stat(node, &st) < 0) {
		log_err("mlx5 %s: %s: %s: bind the device to vfio-pci", name, node,
			strerror(errno));
		return -errno;
	}
	return 0;
}

static int device_find(const struct mlx5dv_vfio_context_attr *attr, struct vfio_device *device)
{
	struct ibv_device *d = &device->vdev.device;
	int r = address_parse(attr->pci_name, d->name, sizeof(d->name));

	if (!r)
		r = model_check(d->name);
	if (!r)
		r = group_read(d->name, &device->group);
	if (r < 0)
		return r;
	d->node_type = IBV_NODE_CA;
	d->transport_type = IBV_TRANSPORT_IB;
	device->link_down = attr->flags & MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN;
	device->vdev.provider = &vfio_provider;
	device->vdev.driver_id = RDMA_DRIVER_MLX5;
	device->vdev.index = -1;
	atomic_init(&device->vdev.refcount, 1);
	return 0;
}

static int attr_check(const struct mlx5dv_vfio_context_attr *attr)
{
	if (comp_mask_ok(attr->comp_mask, 0) &&
	    comp_mask_ok(attr->flags, MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN))
		return 0;
	log_err("mlx5dv_get_vfio_device_list: flags 0x%x (0x%x is possible), comp_mask 0x%llx "
		"(no bit is defined yet)",
		attr->flags, MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN,
		(unsigned long long)attr->comp_mask);
	return -EOPNOTSUPP;
}

MLX5DV_EXPORT struct ibv_device **mlx5dv_get_vfio_device_list(struct mlx5dv_vfio_context_attr *attr)
{
	_cleanup_free_ struct vfio_device *device = NULL;
	struct ibv_device **list;
	int r = attr_check(attr);

	if (r < 0)
		return mlx5dv_fail(r);
	device = calloc(1, sizeof(*device));
	if (!device)
		return mlx5dv_fail(-ENOMEM);
	r = device_find(attr, device);
	if (r < 0)
		return mlx5dv_fail(r);
	list = calloc(2, sizeof(*list));
	if (!list)
		return mlx5dv_fail(-ENOMEM);
	list[0] = &take_ptr(&device)->vdev.device;
	return list;
}
