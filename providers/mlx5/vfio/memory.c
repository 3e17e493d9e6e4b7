/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the program, mapped for the function: regions, and umems of the firmware's objects. */
#include "providers/mlx5/direct/direct.h"
#include "providers/mlx5/vfio/function.h"

enum {
	KEY_LOCAL_READ = 1 << 10,
	KEY_LOCAL_WRITE = 1 << 11,
	KEY_REMOTE_READ = 1 << 12,
	KEY_REMOTE_WRITE = 1 << 13,
	KEY_ATOMIC = 1 << 14,
	KEY_WRITES_IN_ANY_ORDER = 1 << 18,
	KEY_TRANSLATED = 1 << 8,
	KEY_READS_IN_ANY_ORDER = 1 << 6, /* of word 0x48 */

	CREATE_MKEY_SIZE = 0x110,
	CREATE_UMEM_SIZE = 0x30,
	PAGE_READ = 1,
	PAGE_WRITE = 2,
};

#define DEVICE_PAGE_MAX (1ull << 31)
#define WASTE_MAX	(1ull << 30)
#define REGION_ACCESS                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING)
#define UMEM_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

int vfio_alloc_pd(struct ibv_pd *pd, struct verbs_udata *unused)
{
	return vfio_command_word(to_vfio(pd->context), VFIO_OP_ALLOC_PD, 0,
				 &((struct mlx5_pd *)pd)->pdn);
}

int vfio_dealloc_pd(struct ibv_pd *pd)
{
	return vfio_command_word(to_vfio(pd->context), VFIO_OP_DEALLOC_PD,
				 ((struct mlx5_pd *)pd)->pdn, NULL);
}

/* Return the pages of the IOMMU that hold the memory. */
static void pages_around(const struct vfio_context *v, const void *addr, uint64_t length,
			 char **ret_addr, uint64_t *ret_size)
{
	uintptr_t start = (uintptr_t)addr & ~(uintptr_t)(v->page_size - 1);

	*ret_addr = (char *)start;
	*ret_size = ROUND_UP((uintptr_t)addr + length - start, v->page_size);
}

/*
 * Return the page size that the key has: the smallest for which one page is enough, as long as that
 * takes few addresses more than the region has.
 */
static uint64_t region_page(uint64_t start, uint64_t length, uint64_t least)
{
	uint64_t page = least, last = start + length - 1;

	while (page < DEVICE_PAGE_MAX && (start ^ last) & ~(page - 1))
		page *= 2;
	while (page / 2 >= length && page / 2 >= least && page - length > WASTE_MAX)
		page /= 2;
	return page;
}

static uint32_t region_access(int access)
{
	return KEY_LOCAL_READ | KEY_TRANSLATED |
	       (access & IBV_ACCESS_LOCAL_WRITE ? KEY_LOCAL_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_READ ? KEY_REMOTE_READ : 0) |
	       (access & IBV_ACCESS_REMOTE_WRITE ? KEY_REMOTE_WRITE : 0) |
	       (access & IBV_ACCESS_REMOTE_ATOMIC ? KEY_ATOMIC : 0) |
	       (access & IBV_ACCESS_RELAXED_ORDERING ? KEY_WRITES_IN_ANY_ORDER : 0);
}

/* Write the command that makes the key. @page: its page size; @count: number of pages */
static void mkey_fill(uint32_t *in, const struct verbs_reg_mr *reg, const struct vfio_map *map,
		      uint64_t page, uint64_t count, uint8_t key)
{
	uint32_t octwords = (count + 1) / 2;

	fw_set(in, 0, MLX5_FW_CREATE_MKEY << 16);
	fw_set(in, 0xc, 1u << 31);
	fw_set(in, 0x10, region_access(reg->access));
	fw_set(in, 0x14, 0xffffff00 | key);
	fw_set(in, 0x1c, ((struct mlx5_pd *)verbs_pd_protection(reg->pd))->pdn);
	fw_set_64(in, 0x20, reg->iova);
	fw_set_64(in, 0x28, reg->length);
	fw_set(in, 0x44, octwords);
	fw_set(in, 0x48, __builtin_ctzll(page));
	fw_set(in, 0x48, reg->access & IBV_ACCESS_RELAXED_ORDERING ? KEY_READS_IN_ANY_ORDER : 0);
	fw_set(in, 0x60, octwords);
	for (uint64_t i = 0; i < count; i++)
		fw_set_64(in, CREATE_MKEY_SIZE + i * 8,
			  (map->start + i * page) | PAGE_READ | PAGE_WRITE);
}

static int mkey_make(struct vfio_context *v, struct vfio_mr *mr, const struct verbs_reg_mr *in,
		     uint64_t page)
{
	uint64_t count = (in->iova + in->length - 1) / page - in->iova / page + 1;
	size_t size = CREATE_MKEY_SIZE + ROUND_UP(count, 2) * 8;
	uint8_t key = atomic_fetch_add(&v->next_key, 1);
	_cleanup_free_ uint32_t *command = calloc(1, size);
	uint32_t out[FW_HEAD / 4] = {};
	int r;

	if (!command)
		return -ENOMEM;
	mkey_fill(command, in, &mr->map, page, count, key);
	r = vfio_command(v, command, size, out, sizeof(out));
	if (!r)
		mr->vmr.ibv_mr.lkey = mr->vmr.ibv_mr.rkey = fw_get(out, 8) << 8 | key;
	return r;
}

static int region_check(const struct vfio_context *v, const struct verbs_reg_mr *in)
{
	if (in->access & ~REGION_ACCESS) {
		verbs_err(in->pd->context, "ibv_reg_mr: access 0x%x (0x%x is possible)", in->access,
			  REGION_ACCESS);
		return -EOPNOTSUPP;
	}
	if (((uintptr_t)in->addr ^ in->iova) & (v->page_size - 1)) {
		verbs_err(in->pd->context,
			  "ibv_reg_mr_iova: the address %p and 0x%llx differ within a page of "
			  "%llu bytes",
			  in->addr, (unsigned long long)in->iova, (unsigned long long)v->page_size);
		return -EOPNOTSUPP;
	}
	return in->length && in->iova + in->length - 1 >= in->iova ? 0 : -EINVAL;
}

int vfio_reg_mr(struct verbs_mr *vmr, const struct verbs_reg_mr *in)
{
	struct vfio_context *v = to_vfio(in->pd->context);
	struct vfio_mr *mr = (struct vfio_mr *)vmr;
	struct vfio_place place;
	uint64_t size;
	char *addr;
	int r = region_check(v, in);

	if (r < 0)
		return r;
	place.align = region_page(in->iova, in->length, v->page_size);
	pages_around(v, in->addr, in->length, &addr, &size);
	place.skip = in->iova & (place.align - 1) & ~(v->page_size - 1);
	place.span = place.skip + size;
	if (verbs_dontfork_range(in->addr, in->length))
		return -errno;
	r = vfio_map(v, addr, size, &place, &mr->map);
	if (!r)
		r = mkey_make(v, mr, in, place.align);
	if (r < 0) {
		vfio_unmap(v, &mr->map);
		verbs_dofork_range(in->addr, in->length);
	}
	return r;
}

int vfio_dereg_mr(struct verbs_mr *vmr)
{
	struct vfio_mr *mr = (struct vfio_mr *)vmr;
	struct vfio_context *v = to_vfio(vmr->ibv_mr.context);
	int r = vfio_command_word(v, VFIO_OP_DESTROY_MKEY, vmr->ibv_mr.lkey >> 8, NULL);

	if (r < 0)
		return r;
	vfio_unmap(v, &mr->map);
	verbs_dofork_range(vmr->ibv_mr.addr, vmr->ibv_mr.length);
	return 0;
}

/* ---- umems */

static int umem_check(struct ibv_context *ctx, const struct mlx5dv_devx_umem_in *in, uint64_t page)
{
	uint32_t writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	if (in->comp_mask) {
		verbs_err(ctx, "umem: comp_mask 0x%llx: a device of VFIO has no DMA buffers",
			  (unsigned long long)in->comp_mask);
		return -EOPNOTSUPP;
	}
	if (in->access & ~UMEM_ACCESS) {
		verbs_err(ctx, "umem: access 0x%x (0x%x is possible)", in->access, UMEM_ACCESS);
		return -EOPNOTSUPP;
	}
	if ((in->access & writes) == IBV_ACCESS_REMOTE_WRITE) {
		verbs_err(ctx, "umem: REMOTE_WRITE without LOCAL_WRITE");
		return -EINVAL;
	}
	if (!in->size || (uintptr_t)in->addr + in->size < in->size)
		return -EINVAL;
	if (in->pgsz_bitmap & page)
		return 0;
	verbs_err(ctx, "umem: the page of 0x%llx bytes is not among those of 0x%llx",
		  (unsigned long long)page, (unsigned long long)in->pgsz_bitmap);
	return -EOPNOTSUPP;
}

static int umem_command(struct vfio_context *v, struct mlx5_umem *umem, uint32_t access,
			uint64_t page, uint64_t count)
{
	size_t size = CREATE_UMEM_SIZE + count * 8;
	_cleanup_free_ uint32_t *in = calloc(1, size);
	uint32_t out[FW_HEAD / 4] = {};
	uint64_t rights = PAGE_READ | (access & IBV_ACCESS_LOCAL_WRITE ? PAGE_WRITE : 0);
	int r;

	if (!in)
		return -ENOMEM;
	fw_set(in, 0, VFIO_OP_CREATE_UMEM << 16);
	fw_set(in, 0x20, __builtin_ctzll(page) - 12);
	fw_set(in, 0x24, (uintptr_t)umem->addr & (v->page_size - 1));
	fw_set_64(in, 0x28, count);
	for (uint64_t i = 0; i < count; i++)
		fw_set_64(in, CREATE_UMEM_SIZE + i * 8, (umem->map->iova + i * page) | rights);
	r = vfio_command(v, in, size, out, sizeof(out));
	if (!r)
		umem->dv.umem_id = umem->handle = fw_get(out, 8) & 0xffffff;
	return r;
}

int mlx5_vfio_umem_make(struct mlx5_umem *umem, const struct mlx5dv_devx_umem_in *in)
{
	struct vfio_context *v = to_vfio(umem->context);
	struct vfio_place place;
	uint64_t size, page, whole;
	char *addr;
	int r;

	pages_around(v, in->addr, in->size, &addr, &size);
	for (whole = v->page_size; whole < size;)
		whole *= 2;
	page = min_of(whole, (uint64_t)DEVICE_PAGE_MAX);
	r = umem_check(umem->context, in, page);
	if (r < 0)
		return r;
	umem->map = calloc(1, sizeof(*umem->map));
	if (!umem->map)
		return -ENOMEM;
	place = (struct vfio_place){ .align = page, .span = whole };
	r = vfio_map(v, addr, size, &place, umem->map);
	if (!r)
		r = umem_command(v, umem, in->access, page, whole / page);
	if (r < 0) {
		vfio_unmap(v, umem->map);
		free(umem->map);
		umem->map = NULL;
	}
	return r;
}

int mlx5_vfio_umem_free(struct mlx5_umem *umem)
{
	struct vfio_context *v = to_vfio(umem->context);
	uint32_t in[CREATE_UMEM_SIZE / 4] = {}, out[FW_HEAD / 4] = {};
	int r;

	fw_set(in, 0, VFIO_OP_DESTROY_UMEM << 16);
	fw_set(in, 8, umem->handle);
	r = vfio_command(v, in, sizeof(in), out, sizeof(out));
	if (r < 0)
		return r;
	vfio_unmap(v, umem->map);
	free(umem->map);
	umem->map = NULL;
	return 0;
}
