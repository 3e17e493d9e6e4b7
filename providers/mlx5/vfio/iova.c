/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of the function: free ranges, and memory with an address. */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/vfio.h>

#include "providers/mlx5/vfio/function.h"

/* Addresses that a kernel accepts if it lists none: all below 2^39, except those of interrupts. */
static const struct vfio_range old_ranges[] = {
	{ 0x10000, 0xfedfffff },
	{ 0xfef00000, (1ull << 39) - 1 },
};

/* ---- free addresses; the caller holds the lock */

static struct vfio_range *range_new(uint64_t start, uint64_t last)
{
	struct vfio_range *range = malloc(sizeof(*range));

	if (range) {
		range->start = start;
		range->last = last;
	}
	return range;
}

/* Join a range with its next neighbour if there is no gap. */
static void range_join(struct vfio_range *range)
{
	struct vfio_range *next = range ? LIST_NEXT(range, entry) : NULL;

	if (!next || range->last + 1 != next->start)
		return;
	range->last = next->last;
	LIST_REMOVE(next, entry);
	free(next);
}

static int range_add(struct vfio_context *v, uint64_t start, uint64_t last)
{
	struct vfio_range *range = range_new(start, last), *before = NULL, *r;

	if (!range)
		return -ENOMEM;
	LIST_FOREACH(r, &v->free, entry) {
		if (r->start > start)
			break;
		before = r;
	}
	if (before)
		LIST_INSERT_AFTER(before, range, entry);
	else
		LIST_INSERT_HEAD(&v->free, range, entry);
	range_join(range);
	range_join(before);
	return 0;
}

/* Take @span addresses from @start on out of a range that has them. */
static int range_cut(struct vfio_range *range, uint64_t start, uint64_t span)
{
	uint64_t last = start + span - 1;
	struct vfio_range *rest;

	if (start > range->start && last < range->last) {
		rest = range_new(last + 1, range->last);
		if (!rest)
			return -ENOMEM;
		LIST_INSERT_AFTER(range, rest, entry);
		range->last = start - 1;
	} else if (start > range->start) {
		range->last = start - 1;
	} else if (last < range->last) {
		range->start = last + 1;
	} else {
		LIST_REMOVE(range, entry);
		free(range);
	}
	return 0;
}

static int addresses_take(struct vfio_context *v, const struct vfio_place *place,
			  uint64_t *ret_start)
{
	struct vfio_range *range;
	uint64_t start;

	LIST_FOREACH(range, &v->free, entry) {
		start = (range->start + place->align - 1) & ~(place->align - 1);
		if (start < range->start || start > range->last ||
		    range->last - start < place->span - 1)
			continue;
		*ret_start = start;
		return range_cut(range, start, place->span);
	}
	return -ENOSPC;
}

/* ---- memory */

static void addresses_put(struct vfio_context *v, const struct vfio_map *map)
{
	pthread_mutex_lock(&v->iova_lock);
	if (range_add(v, map->start, map->start + map->span - 1) < 0)
		verbs_warn(&v->vctx.context, "no memory to note 0x%llx free addresses",
			   (unsigned long long)map->span);
	pthread_mutex_unlock(&v->iova_lock);
}

static int dma_map(struct vfio_context *v, const struct vfio_map *map)
{
	struct vfio_iommu_type1_dma_map dma = {
		.argsz = sizeof(dma),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)map->addr,
		.iova = map->iova,
		.size = map->size,
	};
	int r = ioctl(v->container, VFIO_IOMMU_MAP_DMA, &dma) < 0 ? -errno : 0;

	if (r < 0)
		verbs_err(&v->vctx.context, "cannot map %zu bytes for the device: %s%s", map->size,
			  strerror(-r), r == -ENOMEM ? ": raise the limit (ulimit -l)" : "");
	return r;
}

int vfio_map(struct vfio_context *v, void *addr, size_t size, const struct vfio_place *place,
	     struct vfio_map *ret_map)
{
	struct vfio_map map = { .addr = addr, .size = size, .span = place->span };
	int r;

	pthread_mutex_lock(&v->iova_lock);
	r = addresses_take(v, place, &map.start);
	pthread_mutex_unlock(&v->iova_lock);
	if (r < 0) {
		verbs_err(&v->vctx.context, "no address for 0x%llx bytes: %s",
			  (unsigned long long)place->span, strerror(-r));
		return r;
	}
	map.iova = map.start + place->skip;
	r = dma_map(v, &map);
	if (r < 0)
		addresses_put(v, &map);
	else
		*ret_map = map;
	return r;
}

void vfio_unmap(struct vfio_context *v, struct vfio_map *map)
{
	struct vfio_iommu_type1_dma_unmap dma = {
		.argsz = sizeof(dma),
		.iova = map->iova,
		.size = map->size,
	};

	if (!map->size)
		return;
	/* The function may still use the addresses after a failure, so they are not free. */
	if (ioctl(v->container, VFIO_IOMMU_UNMAP_DMA, &dma) < 0)
		verbs_err(&v->vctx.context, "cannot unmap %zu bytes of the device: %s", map->size,
			  strerror(errno));
	else
		addresses_put(v, map);
	*map = (struct vfio_map){};
}

int vfio_buffer_make(struct vfio_context *v, size_t size, uint64_t align, struct vfio_map *ret_map)
{
	size_t length = ROUND_UP(size, v->page_size);
	const struct vfio_place place = { max_of(align, v->page_size), 0, length };
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	if (addr == MAP_FAILED)
		return -errno;
	/* A child process would take the pages away from the function. */
	r = madvise(addr, length, MADV_DONTFORK) < 0 ? -errno
						     : vfio_map(v, addr, length, &place, ret_map);
	if (r < 0)
		munmap(addr, length);
	return r;
}

void vfio_buffer_free(struct vfio_context *v, struct vfio_map *map)
{
	const struct vfio_map old = *map;

	if (!old.size)
		return;
	vfio_unmap(v, map);
	munmap(old.addr, old.size);
}

/* ---- what the IOMMU supports */

/* Read the description, which has capabilities behind its struct. */
static int info_read(struct vfio_context *v, struct vfio_iommu_type1_info **ret_info)
{
	_cleanup_free_ struct vfio_iommu_type1_info *info = NULL;
	uint32_t size = sizeof(*info), next;

	for (int i = 0; i < 2; i++) {
		free(info);
		info = calloc(1, size);
		if (!info)
			return -ENOMEM;
		info->argsz = size;
		if (ioctl(v->container, VFIO_IOMMU_GET_INFO, info) < 0)
			return -errno;
		next = info->argsz;
		info->argsz = min_of(next, size);
		if (next <= size)
			break;
		size = next;
	}
	*ret_info = take_ptr(&info);
	return 0;
}

/* Return the list of usable addresses; NULL: the kernel has none. */
static const struct vfio_iommu_type1_info_cap_iova_range *
ranges_find(const struct vfio_iommu_type1_info *info)
{
	const struct vfio_info_cap_header *cap;
	uint32_t at = info->flags & VFIO_IOMMU_INFO_CAPS ? info->cap_offset : 0;

	/* The offsets rise, therefore the loop ends. */
	for (uint32_t end = 0; at > end && at <= info->argsz - sizeof(*cap); at = cap->next) {
		cap = (const void *)((const char *)info + at);
		if (cap->id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE &&
		    info->argsz - at >= sizeof(struct vfio_iommu_type1_info_cap_iova_range))
			return (const void *)cap;
		end = at;
	}
	return NULL;
}

static int ranges_fill(struct vfio_context *v, const struct vfio_iommu_type1_info *info)
{
	const struct vfio_iommu_type1_info_cap_iova_range *list = ranges_find(info);
	uint64_t room =
		list ? (info->argsz - ((const char *)list - (const char *)info) - sizeof(*list)) /
				sizeof(list->iova_ranges[0])
		     : 0;
	int r = 0;

	for (unsigned int i = 0; !r && list && i < min_of(list->nr_iovas, room); i++)
		if (list->iova_ranges[i].start < list->iova_ranges[i].end)
			r = range_add(v, list->iova_ranges[i].start, list->iova_ranges[i].end);
	for (unsigned int i = 0; !r && !list && i < ARRAY_SIZE(old_ranges); i++)
		r = range_add(v, old_ranges[i].start, old_ranges[i].last);
	return r;
}

int vfio_iova_open(struct vfio_context *v)
{
	_cleanup_free_ struct vfio_iommu_type1_info *info = NULL;
	uint64_t sizes;
	int r = info_read(v, &info);

	if (r < 0) {
		verbs_err(&v->vctx.context, "cannot query the IOMMU: %s", strerror(-r));
		return r;
	}
	sizes = info->flags & VFIO_IOMMU_INFO_PGSIZES ? info->iova_pgsizes & ~(VFIO_PAGE - 1ull)
						      : 0;
	v->page_size = sizes ? sizes & -sizes : VFIO_PAGE;
	return ranges_fill(v, info);
}

void vfio_iova_close(struct vfio_context *v)
{
	struct vfio_range *range;

	while ((range = LIST_FIRST(&v->free))) {
		LIST_REMOVE(range, entry);
		free(range);
	}
}
