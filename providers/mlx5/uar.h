/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Registers of the adapter for doorbells, and the pages that hold them. */
#ifndef MLX5_UAR_H
#define MLX5_UAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "providers/mlx/mlx.h"

struct mlx5_context;

enum {
	MLX5_UAR_SIZE = 4096,	  /* bytes; a page of the system holds one or several */
	MLX5_BFREG_FIRST = 0x800, /* offset in a UAR, bytes */
	MLX5_BFREGS_MAX = 512,	  /* registers of a context */
};

/*
 * A register for the doorbells of send queues: two halves, used in turn. @size: bytes of a half; 0:
 * the register has only one half, which takes doorbells but no requests
 */
struct mlx5_bfreg {
	char *reg;
	uint32_t size;
	uint32_t offset; /* offset of the next half: 0 or size */
	uint32_t bf_ds;	 /* largest request that can be written into it, in units of 16 bytes */
	uint32_t bf_inline_ds; /* the same for a request with inline data, used if bf_ds is 0 */
	bool of_several;       /* several queue pairs use it */
	bool shared;	       /* several threads use it: lock is needed */
	bool blueflame;	       /* requests can be written into it */
	bool legacy;	       /* made on demand by a kernel that chooses other registers itself */
	/* the kernel's number of its page, or of the register if the kernel chooses */
	uint32_t index;
	unsigned int users;
	uint64_t mmap_offset; /* offset to map the page */
	struct spinlock lock;
	SLIST_ENTRY(mlx5_bfreg) entry;
};
SLIST_HEAD(mlx5_bfreg_list, mlx5_bfreg);

/* A page of registers that the kernel made on demand. */
struct mlx5_uar_page {
	LIST_ENTRY(mlx5_uar_page) entry;
	char *base;
	size_t length;
	uint64_t mmap_offset;
	uint32_t handle;
	bool legacy; /* made without a handle */
	uint32_t page_id;
	struct mlx5_bfreg *bfregs;
};

/* uar.c: registers of the context, and of one QP. NULL: no register is available. */
int mlx5_uar_open(struct mlx5_context *ctx);
void mlx5_uar_close(struct mlx5_context *ctx);
struct mlx5_bfreg *mlx5_bfreg_get(struct mlx5_context *ctx);
void mlx5_bfreg_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);
/* Return a register for the exclusive use of the program. NULL with errno. */
struct mlx5_bfreg *mlx5_bfreg_get_alone(struct mlx5_context *ctx);
/*
 * Return a register for a thread domain. NULL: the kernel chooses the registers for the queue pairs
 * of the domain, as for all others.
 */
struct mlx5_bfreg *mlx5_bfreg_get_for_thread(struct mlx5_context *ctx);
void mlx5_bfreg_put_alone(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);
/* Return an uncached register for the exclusive use of the program. Only for a kernel that makes
 * pages on demand. NULL with errno, which is logged. */
struct mlx5_bfreg *mlx5_doorbell_get(struct mlx5_context *ctx);
void mlx5_doorbell_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg);

#endif
