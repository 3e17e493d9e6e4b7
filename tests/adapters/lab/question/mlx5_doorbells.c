/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A page of the kernel has four registers that take only doorbells, and a program gets each. */
#include "tests/adapters/lab/scenario/script.h"

#include <infiniband/mlx5dv.h>

enum {
	PER_PAGE = 4,
	COUNT = 6,
	FIRST = 0x800, /* of the registers of a page */
	STEP = 0x100,
};

static struct mlx5dv_devx_uar *alloc(struct ibv_context *ctx)
{
	struct mlx5dv_devx_uar *uar =
		mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED);

	must(uar, "uar");
	return uar;
}

static size_t offset_of(const struct mlx5dv_devx_uar *uar)
{
	return (const char *)uar->reg_addr - (const char *)uar->base_addr;
}

int main(void)
{
	struct mlx5dv_devx_uar *uars[COUNT], *again;
	struct script s = { 0 };

	script_open(&s);
	for (int i = 0; i < COUNT; i++) {
		uars[i] = alloc(s.context);
		must(offset_of(uars[i]) == FIRST + (size_t)(i % PER_PAGE) * STEP, "place");
		must((uars[i]->page_id == uars[0]->page_id) == (i < PER_PAGE), "page");
		must((uars[i]->base_addr == uars[0]->base_addr) == (i < PER_PAGE), "address");
		must((uars[i]->mmap_off == uars[0]->mmap_off) == (i < PER_PAGE), "offset");
	}
	/* A register that is free is given out again, and the others stay. */
	mlx5dv_devx_free_uar(uars[2]);
	again = alloc(s.context);
	must(again->page_id == uars[0]->page_id && offset_of(again) == FIRST + 2 * STEP, "reuse");
	uars[2] = again;
	for (int i = 0; i < COUNT; i++)
		mlx5dv_devx_free_uar(uars[i]);
	script_close(&s);
	return 0;
}
