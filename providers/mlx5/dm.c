/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of the adapter: the kernel allocates it, and this process maps it. */
#include <string.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/mlx5/dm.h"
#include "providers/mlx5/mlx5.h"

enum {
	MMAP_CMD_SHIFT = 8,
	WORD = 4, /* bytes of one access to the memory of the adapter */
};

static int refuse(const struct mlx5_dm *dm, const char *verb, uint64_t offset, size_t length,
		  int error)
{
	verbs_err(dm->vdm.dm.context, "%s: dm %u: %zu bytes from %llu on: %s", verb,
		  dm->vdm.dm.handle, length, (unsigned long long)offset,
		  error == EFAULT ? "it has less" : "both are multiples of 4");
	errno = error;
	return error;
}

/* Check a range. Return: 0 or a positive errno for the program. */
static int range_check(const struct mlx5_dm *dm, const char *verb, uint64_t offset, size_t length)
{
	if (offset > dm->vdm.length || length > dm->vdm.length - offset)
		return refuse(dm, verb, offset, length, EFAULT);
	if (offset % WORD || length % WORD)
		return refuse(dm, verb, offset, length, EINVAL);
	return 0;
}

static int copy_to(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct mlx5_dm *dm = (struct mlx5_dm *)ibdm;
	int r = range_check(dm, "ibv_memcpy_to_dm", offset, length);
	volatile uint32_t *to;

	if (r)
		return r;
	to = (void *)(dm->bytes + offset);
	for (size_t i = 0; i < length / WORD; i++) {
		uint32_t word;

		memcpy(&word, (const char *)from + i * WORD, WORD);
		to[i] = word;
	}
	return 0;
}

static int copy_from(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct mlx5_dm *dm = (struct mlx5_dm *)ibdm;
	int r = range_check(dm, "ibv_memcpy_from_dm", offset, length);
	const volatile uint32_t *from;

	if (r)
		return r;
	from = (void *)(dm->bytes + offset);
	for (size_t i = 0; i < length / WORD; i++) {
		uint32_t word = from[i];

		memcpy((char *)to + i * WORD, &word, WORD);
	}
	return 0;
}

int mlx5_dm_map(struct mlx5_dm *dm, uint64_t start, uint16_t page_index, size_t length)
{
	struct mlx5_context *ctx = to_mctx(dm->vdm.dm.context);
	uint64_t key = (uint64_t)MLX5_IB_MMAP_DEVICE_MEM << MMAP_CMD_SHIFT | (page_index & 0xff) |
		       (uint64_t)(page_index >> 8) << 16;
	size_t within = start % ctx->page_size;
	int r = kit_page_map(&ctx->vctx.context, key * ctx->page_size,
			     ROUND_UP(within + length, (size_t)ctx->page_size),
			     PROT_READ | PROT_WRITE, &dm->page);

	if (r < 0)
		return r;
	dm->mmap_offset = key * ctx->page_size;
	dm->remote_va = start;
	dm->bytes = (char *)dm->page.base + within;
	dm->vdm.dm.memcpy_to_dm = copy_to;
	dm->vdm.dm.memcpy_from_dm = copy_from;
	return 0;
}

void mlx5_dm_unmap(struct mlx5_dm *dm)
{
	kit_page_unmap(&dm->page);
	for (unsigned int i = 0; i < dm->op_count; i++)
		kit_page_unmap(&dm->op_pages[i]);
	free(dm->op_pages);
}

/*
 * Return whether the memory has a type that only the adapter can access, unlike memory of
 * ibv_alloc_dm().
 */
static bool is_hidden(const struct mlx5dv_alloc_dm_attr *dv)
{
	return dv && dv->type != MLX5DV_DM_TYPE_MEMIC;
}

int mlx5_alloc_dm(struct verbs_dm *vdm, const struct verbs_alloc_dm *in)
{
	struct mlx5_dm *dm = (struct mlx5_dm *)vdm;
	const struct mlx5dv_alloc_dm_attr *dv = in->dv;
	struct verbs_alloc_dm request = *in;
	uint16_t page_index = 0;
	uint64_t start = 0;
	const struct uverbs_attr attrs[] = {
		uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &start, sizeof(start)),
		is_hidden(dv) ? uverbs_const(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, dv->type)
			      : uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page_index,
					   sizeof(page_index)),
	};
	struct verbs_udata udata = { .attrs = attrs, .attr_count = ARRAY_SIZE(attrs) };
	int r;

	request.udata = &udata;
	r = uverbs_alloc_dm(vdm, &request);
	if (r < 0)
		return r;
	dm->remote_va = start;
	if (is_hidden(dv))
		return 0;
	r = mlx5_dm_map(dm, start, page_index, in->attr->length);
	if (r < 0)
		uverbs_free_dm(vdm);
	return r;
}

int mlx5_dm_export_dmabuf_fd(struct verbs_dm *vdm)
{
	struct mlx5_dm *dm = (struct mlx5_dm *)vdm;

	/* Memory that only the adapter accesses has no page to export. */
	return dm->page.base ? uverbs_export_dmabuf(vdm->dm.context, dm->mmap_offset) : -EOPNOTSUPP;
}

int mlx5_free_dm(struct verbs_dm *vdm)
{
	struct mlx5_dm *dm = (struct mlx5_dm *)vdm;
	int r = uverbs_free_dm(vdm);

	if (!r)
		mlx5_dm_unmap(dm);
	return r;
}
