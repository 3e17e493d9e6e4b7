/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's VFIO: a container, a group and a device, whose descriptors the program has. */
#include <errno.h>
#include <unistd.h>
#include <linux/vfio.h>

#include "tests/adapters/lab/vfio/played.h"

enum {
	MAPS = 4096,
};

int container_fd = -1, group_fd = -1, device_fd = -1;
int vectors[VECTORS] = { -1, -1, -1, -1, -1, -1, -1, -1 };

static struct {
	uint64_t iova, size;
	uint8_t *at;
} maps[MAPS];
static unsigned int map_count;

uint8_t *memory_at(uint64_t iova)
{
	for (unsigned int i = 0; i < map_count; i++)
		if (iova >= maps[i].iova && iova - maps[i].iova < maps[i].size)
			return maps[i].at + (iova - maps[i].iova);
	return NULL;
}

static int failed(int error)
{
	errno = error;
	return -1;
}

static int memory_map(const struct vfio_iommu_type1_dma_map *map)
{
	if (fault == FAULT_BUSY || map_count == MAPS)
		return failed(ENOMEM);
	if (map->iova % 4096 || map->size % 4096 || map->vaddr % 4096 || !map->size)
		return failed(EINVAL);
	for (unsigned int i = 0; i < map_count; i++)
		if (map->iova < maps[i].iova + maps[i].size && maps[i].iova < map->iova + map->size)
			return failed(EEXIST);
	maps[map_count].iova = map->iova;
	maps[map_count].size = map->size;
	maps[map_count++].at = (uint8_t *)(uintptr_t)map->vaddr;
	return 0;
}

static int memory_unmap(const struct vfio_iommu_type1_dma_unmap *unmap)
{
	for (unsigned int i = 0; i < map_count; i++)
		if (maps[i].iova == unmap->iova && maps[i].size == unmap->size) {
			maps[i] = maps[--map_count];
			return 0;
		}
	return failed(EINVAL);
}

/* Describe the IOMMU. With the fault for it, add a list of addresses behind the struct. */
static int iommu_describe(struct vfio_iommu_type1_info *info)
{
	struct vfio_info_cap_header *cap = (void *)(info + 1);
	uint32_t size = sizeof(*info) + 2 * sizeof(*cap), room = info->argsz;

	info->flags = VFIO_IOMMU_INFO_PGSIZES;
	info->iova_pgsizes = 0x40201000;
	if (fault != FAULT_RANGES)
		return 0;
	info->flags |= VFIO_IOMMU_INFO_CAPS;
	info->argsz = size;
	info->cap_offset = sizeof(*info);
	if (room >= size) {
		*cap = (struct vfio_info_cap_header){ 77, 1, sizeof(*info) + sizeof(*cap) };
		cap[1] = (struct vfio_info_cap_header){ 78, 1, sizeof(*info) };
	}
	return 0;
}

static int vectors_set(const struct vfio_irq_set *set)
{
	const int *fds = (const int *)set->data;

	trace("vectors from %u, %u of them\n", set->start, set->count);
	if (set->index != VFIO_PCI_MSIX_IRQ_INDEX || set->start + set->count > VECTORS)
		return failed(EINVAL);
	for (unsigned int i = 0; i < set->count; i++) {
		if (vectors[set->start + i] >= 0)
			close(vectors[set->start + i]);
		vectors[set->start + i] = fds[i] < 0 ? -1 : dup(fds[i]);
	}
	return 0;
}

static int region_describe(struct vfio_region_info *info)
{
	bool config = info->index == VFIO_PCI_CONFIG_REGION_INDEX;

	trace("region %u\n", info->index);
	info->size = config ? CONFIG_SIZE : fault == FAULT_SMALL ? 4096 : BAR_SIZE;
	info->offset = config ? BAR_SIZE : 0;
	return 0;
}

static int device_open(const char *name)
{
	trace("device %s\n", name);
	device_fd = dup(group_fd);
	board_start();
	return device_fd;
}

static int of_container(unsigned long request, void *arg)
{
	switch (request) {
	case VFIO_GET_API_VERSION:
		return VFIO_API_VERSION;
	case VFIO_CHECK_EXTENSION:
		return (uintptr_t)arg == VFIO_TYPE1v2_IOMMU;
	case VFIO_SET_IOMMU:
		trace("iommu %lu\n", (unsigned long)(uintptr_t)arg);
		map_count = 0;
		return 0;
	case VFIO_IOMMU_GET_INFO:
		return iommu_describe(arg);
	case VFIO_IOMMU_MAP_DMA:
		return memory_map(arg);
	case VFIO_IOMMU_UNMAP_DMA:
		return memory_unmap(arg);
	}
	return failed(ENOTTY);
}

static int of_group(unsigned long request, void *arg)
{
	switch (request) {
	case VFIO_GROUP_GET_STATUS:
		((struct vfio_group_status *)arg)->flags = VFIO_GROUP_FLAGS_VIABLE;
		return 0;
	case VFIO_GROUP_SET_CONTAINER:
		board_look();
		trace("container\n");
		return *(int *)arg == container_fd ? 0 : failed(EBADF);
	case VFIO_GROUP_GET_DEVICE_FD:
		return device_open(arg);
	}
	return failed(ENOTTY);
}

static int of_device(unsigned long request, void *arg)
{
	switch (request) {
	case VFIO_DEVICE_GET_IRQ_INFO:
		((struct vfio_irq_info *)arg)->flags = VFIO_IRQ_INFO_EVENTFD;
		((struct vfio_irq_info *)arg)->count = fault == FAULT_NO_VECTORS ? 0 : VECTORS;
		return 0;
	case VFIO_DEVICE_SET_IRQS:
		return vectors_set(arg);
	case VFIO_DEVICE_GET_REGION_INFO:
		return region_describe(arg);
	}
	return failed(ENOTTY);
}

int bus_ioctl(int fd, unsigned long request, void *arg, bool *ret_known)
{
	int r;

	*ret_known = fd == container_fd || fd == group_fd || fd == device_fd;
	if (!*ret_known)
		return -1;
	board_lock(true);
	r = fd == container_fd ? of_container(request, arg)
	    : fd == group_fd   ? of_group(request, arg)
			       : of_device(request, arg);
	board_lock(false);
	return r;
}
