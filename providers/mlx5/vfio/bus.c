/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The function in the kernel's VFIO: its registers and its interrupts. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/vfio.h>

#include "providers/kit/mmio.h"
#include "providers/mlx5/vfio/function.h"

enum {
	PCI_COMMAND = 4,	   /* offset in the config space */
	PCI_COMMAND_ENABLED = 0x6, /* answers to reads of its memory, and writes to memory */
};

static int failed(struct vfio_context *v, const char *what)
{
	int r = errno ? -errno : -EIO;

	verbs_err(&v->vctx.context, "%s: %s", what, strerror(-r));
	return r;
}

static int container_open(struct vfio_context *v)
{
	int version;

	v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (v->container < 0)
		return failed(v, "cannot open /dev/vfio/vfio");
	version = ioctl(v->container, VFIO_GET_API_VERSION);
	if (version != VFIO_API_VERSION) {
		verbs_err(&v->vctx.context, "the kernel's VFIO has version %d, not %d", version,
			  VFIO_API_VERSION);
		return -EINVAL;
	}
	if (ioctl(v->container, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) > 0)
		return 0;
	verbs_err(&v->vctx.context, "the kernel's VFIO has no IOMMU of type 1, version 2");
	return -EINVAL;
}

static int group_open(struct vfio_context *v, const struct vfio_device *device)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char node[64];

	snprintf(node, sizeof(node), "/dev/vfio/%u", device->group);
	v->group = open(node, O_RDWR | O_CLOEXEC);
	if (v->group < 0)
		return failed(v, errno == EBUSY ? "another process uses the IOMMU group"
						: "cannot open the IOMMU group");
	if (ioctl(v->group, VFIO_GROUP_GET_STATUS, &status) < 0)
		return failed(v, "cannot read the state of the IOMMU group");
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		verbs_err(&v->vctx.context,
			  "IOMMU group %u has devices with drivers: bind all of them to vfio-pci",
			  device->group);
		return -EINVAL;
	}
	if (ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container) < 0)
		return failed(v, "cannot put the IOMMU group into a container");
	if (ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		return failed(v, "cannot use the IOMMU");
	v->fd = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, device->vdev.device.name);
	return v->fd < 0 ? failed(v, "cannot open the device") : 0;
}

int vfio_bus_vectors(struct vfio_context *v, unsigned int start, unsigned int count, const int *fds)
{
	size_t size = sizeof(struct vfio_irq_set) + count * sizeof(*fds);
	_cleanup_free_ struct vfio_irq_set *set = calloc(1, size);

	if (!set)
		return -ENOMEM;
	set->argsz = size;
	set->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
	set->index = VFIO_PCI_MSIX_IRQ_INDEX;
	set->start = start;
	set->count = count;
	memcpy(set->data, fds, count * sizeof(*fds));
	return ioctl(v->fd, VFIO_DEVICE_SET_IRQS, set) < 0 ? -errno : 0;
}

static int vectors_open(struct vfio_context *v)
{
	struct vfio_irq_info info = { .argsz = sizeof(info), .index = VFIO_PCI_MSIX_IRQ_INDEX };
	int r;

	if (ioctl(v->fd, VFIO_DEVICE_GET_IRQ_INFO, &info) < 0)
		return failed(v, "cannot query the interrupts");
	if (!(info.flags & VFIO_IRQ_INFO_EVENTFD) || !info.count || info.count > VFIO_VECTORS_MAX) {
		verbs_err(&v->vctx.context, "%u MSI-X vectors (1 to %d are possible), flags 0x%x",
			  info.count, VFIO_VECTORS_MAX, info.flags);
		return -EINVAL;
	}
	v->vectors = malloc(info.count * sizeof(*v->vectors));
	if (!v->vectors)
		return -ENOMEM;
	memset(v->vectors, 0xff, info.count * sizeof(*v->vectors));
	v->vector_count = info.count;
	v->vectors[0] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->vectors[0] < 0)
		return failed(v, "cannot make an event descriptor");
	r = vfio_bus_vectors(v, 0, v->vector_count, v->vectors);
	if (r < 0)
		verbs_err(&v->vctx.context, "cannot enable the interrupts: %s", strerror(-r));
	return r;
}

static int registers_map(struct vfio_context *v)
{
	struct vfio_region_info info = { .argsz = sizeof(info),
					 .index = VFIO_PCI_BAR0_REGION_INDEX };

	if (ioctl(v->fd, VFIO_DEVICE_GET_REGION_INFO, &info) < 0)
		return failed(v, "cannot query BAR 0");
	if (info.size < VFIO_REGS_END || info.size > SIZE_MAX) {
		verbs_err(&v->vctx.context, "BAR 0 has %llu bytes, at least %d are necessary",
			  (unsigned long long)info.size, VFIO_REGS_END);
		return -EINVAL;
	}
	v->bar = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, info.offset);
	if (v->bar == MAP_FAILED) {
		v->bar = NULL;
		return failed(v, "cannot map BAR 0");
	}
	v->bar_size = info.size;
	return 0;
}

int vfio_bus_enable(struct vfio_context *v)
{
	struct vfio_region_info info = { .argsz = sizeof(info),
					 .index = VFIO_PCI_CONFIG_REGION_INDEX };
	__le16 command = htole16(PCI_COMMAND_ENABLED);

	if (ioctl(v->fd, VFIO_DEVICE_GET_REGION_INFO, &info) < 0)
		return failed(v, "cannot query the config space");
	if (pwrite(v->fd, &command, sizeof(command), info.offset + PCI_COMMAND) !=
		    sizeof(command) ||
	    pread(v->fd, &command, sizeof(command), info.offset + PCI_COMMAND) != sizeof(command))
		return failed(v, "cannot enable the function in its config space");
	return 0;
}

int vfio_bus_open(struct vfio_context *v)
{
	int r = container_open(v);

	if (!r)
		r = group_open(v, (struct vfio_device *)v->vctx.context.device);
	if (!r)
		r = vectors_open(v);
	return r < 0 ? r : registers_map(v);
}

void vfio_bus_close(struct vfio_context *v)
{
	if (v->bar)
		munmap(v->bar, v->bar_size);
	cleanup_close(&v->fd);
	cleanup_close(&v->group);
	cleanup_close(&v->container);
	for (unsigned int i = 0; i < v->vector_count; i++)
		cleanup_close(&v->vectors[i]);
	free(v->vectors);
}

uint32_t vfio_reg_read(const struct vfio_context *v, unsigned int offset)
{
	return be32toh(*(const volatile uint32_t *)(v->bar + offset));
}

void vfio_reg_write(struct vfio_context *v, unsigned int offset, uint32_t value)
{
	mmio_write_32(v->bar + offset, htobe32(value));
}
