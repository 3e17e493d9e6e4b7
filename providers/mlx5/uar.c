/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registers. An older kernel makes registers for the context at once and chooses one for each QP. A
 * newer kernel makes a page of registers on demand, and this library chooses: the first QPs get a
 * register each, and the others share some.
 */
#include <string.h>
#include <sys/mman.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "libibverbs/uverbs/cmd.h"
#include "providers/mlx5/mlx5.h"

enum {
	PER_UAR = 2,	       /* registers of a UAR that queue pairs use */
	PER_UAR_INDEX = 4,     /* registers of a UAR in the kernel's numbering */
	DOORBELL_SIZE = 0x100, /* bytes between registers that take only doorbells */
	MMAP_CMD_SHIFT = 8,
};

static void bfreg_set(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg, char *uar,
		      unsigned int number, bool blueflame)
{
	uint32_t size = ctx->info.bf_reg_size / 2;
	uint32_t ds = blueflame && !ctx->no_requests_in_registers ? size / MLX_SEGMENT : 0;

	*bfreg = (struct mlx5_bfreg){
		.reg = uar + MLX5_BFREG_FIRST + (size_t)number * ctx->info.bf_reg_size,
		.size = size,
		.blueflame = blueflame && size,
		.bf_ds = ctx->inline_in_registers ? 0 : ds,
		.bf_inline_ds = ctx->inline_in_registers ? ds : 0,
	};
}

/* ---- chosen by the kernel */

static void static_set(struct mlx5_context *ctx, unsigned int page, unsigned int uar)
{
	for (unsigned int k = 0; k < PER_UAR; k++) {
		unsigned int n = (page * ctx->uars_per_page + uar) * PER_UAR_INDEX + k;
		unsigned int position = n / 2 + n % 2;
		struct mlx5_bfreg *bfreg = &ctx->bfregs[n];

		bfreg_set(ctx, bfreg, ctx->pages[page] + uar * MLX5_UAR_SIZE, k, n > 0);
		bfreg->index = n;
		bfreg->mmap_offset = (uint64_t)page * ctx->page_size;
		/* The first register takes only doorbells, by one store each. */
		if (!n)
			bfreg->size = 0;
		bfreg->shared = n && !ctx->single_threaded &&
				position < ctx->total_bfregs - ctx->low_latency_bfregs;
	}
}

static int static_open(struct mlx5_context *ctx)
{
	unsigned int per_page = ctx->uars_per_page * PER_UAR;

	ctx->total_bfregs = ctx->info.tot_bfregs;
	ctx->low_latency_bfregs = min_of(ctx->low_latency_bfregs, ctx->total_bfregs - 1);
	ctx->bfreg_count = ctx->total_bfregs / PER_UAR * PER_UAR_INDEX;
	ctx->bfregs = calloc(ctx->bfreg_count, sizeof(*ctx->bfregs));
	ctx->pages = calloc(max_of(ctx->total_bfregs / per_page, 1u), sizeof(*ctx->pages));
	if (!ctx->bfregs || !ctx->pages)
		return -ENOMEM;
	for (unsigned int page = 0; page < ctx->total_bfregs / per_page; page++) {
		off_t command = ctx->no_requests_in_registers ? MLX5_IB_MMAP_NC_PAGE
							      : MLX5_IB_MMAP_REGULAR_PAGE;
		off_t key = command << MMAP_CMD_SHIFT | page;
		void *p = mmap(NULL, ctx->page_size, PROT_WRITE, MAP_SHARED,
			       ctx->vctx.context.cmd_fd, key * ctx->page_size);

		if (p == MAP_FAILED)
			return -errno;
		ctx->pages[ctx->page_count++] = p;
		for (unsigned int uar = 0; uar < ctx->uars_per_page; uar++)
			static_set(ctx, page, uar);
	}
	if (!ctx->page_count)
		return -EPROTO;
	ctx->cq_uar = ctx->pages[0];
	return 0;
}

/* ---- made on demand */

static void page_destroy(struct mlx5_context *ctx, uint32_t handle)
{
	const struct uverbs_attr a[] = { uverbs_idr(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, handle) };

	uverbs_ioctl(&ctx->vctx.context, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, a,
		     ARRAY_SIZE(a), NULL);
}

static int page_make(struct mlx5_context *ctx, struct mlx5_uar_page *page,
		     enum mlx5_ib_uapi_uar_alloc_type type)
{
	uint64_t offset = 0;
	uint32_t length = 0;
	const struct uverbs_attr a[] = {
		uverbs_new_idr(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, &page->handle),
		uverbs_const(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, type),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length)),
		uverbs_out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page->page_id,
			   sizeof(page->page_id)),
	};
	int r = uverbs_ioctl(&ctx->vctx.context, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC,
			     a, ARRAY_SIZE(a), NULL);

	if (r < 0)
		return r;
	/* All UARs of the page must be mapped. */
	r = length < ctx->uars_per_page * MLX5_UAR_SIZE ? -EPROTO : 0;
	if (!r) {
		void *p = mmap(NULL, length, PROT_WRITE, MAP_SHARED, ctx->vctx.context.cmd_fd,
			       offset);

		r = p == MAP_FAILED ? -errno : 0;
		page->base = p;
	}
	if (r < 0) {
		page_destroy(ctx, page->handle);
		return r;
	}
	page->length = length;
	page->mmap_offset = offset;
	return 0;
}

/* Make a page. NULL with errno. The caller holds the lock once the context is open. */
static struct mlx5_uar_page *page_new(struct mlx5_context *ctx, uint32_t type)
{
	struct mlx5_uar_page *page = calloc(1, sizeof(*page));
	int r = page ? page_make(ctx, page, type) : -ENOMEM;

	if (r < 0) {
		free(page);
		errno = -r;
		return NULL;
	}
	LIST_INSERT_HEAD(&ctx->uar_pages, page, entry);
	return page;
}

/* Make a page on demand with a kernel that chooses the registers of queue pairs. */
static struct mlx5_uar_page *legacy_page_new(struct mlx5_context *ctx)
{
	unsigned int per_page = ctx->uars_per_page * PER_UAR, index = ctx->legacy_pages;
	uint64_t key = (uint64_t)MLX5_IB_MMAP_ALLOC_WC << MMAP_CMD_SHIFT | (index & 0xff) |
		       (uint64_t)(index >> 8) << 16;
	struct mlx5_uar_page *page;
	void *p;

	if (index >= ctx->info.num_dyn_bfregs / per_page) {
		errno = ENOMEM;
		return NULL;
	}
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	p = mmap(NULL, ctx->page_size, PROT_WRITE, MAP_SHARED, ctx->vctx.context.cmd_fd,
		 (off_t)key * ctx->page_size);
	if (p == MAP_FAILED) {
		int error = errno;

		free(page);
		errno = error;
		return NULL;
	}
	page->base = p;
	page->length = ctx->page_size;
	page->mmap_offset = key * ctx->page_size;
	page->page_id = index * per_page;
	page->legacy = true;
	ctx->legacy_pages++;
	LIST_INSERT_HEAD(&ctx->uar_pages, page, entry);
	return page;
}

/* Make a page and add its registers to @list. Return: their number; 0 with errno. */
static unsigned int list_grow(struct mlx5_context *ctx, struct mlx5_bfreg_list *list, bool shared)
{
	unsigned int count = ctx->uars_per_page * PER_UAR;
	struct mlx5_uar_page *page =
		ctx->bfregs ? legacy_page_new(ctx) : page_new(ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF);

	if (!page)
		return 0;
	page->bfregs = calloc(count, sizeof(*page->bfregs));
	if (!page->bfregs)
		return 0; /* the page stays allocated until the context is closed */
	for (unsigned int n = count; n-- > 0;) {
		struct mlx5_bfreg *bfreg = &page->bfregs[n];
		unsigned int uar = n / PER_UAR;

		bfreg_set(ctx, bfreg, page->base + uar * MLX5_UAR_SIZE, n % PER_UAR, true);
		bfreg->index = page->page_id + (page->legacy ? n : uar);
		bfreg->legacy = page->legacy;
		bfreg->mmap_offset = page->mmap_offset;
		bfreg->of_several = shared;
		bfreg->shared = shared && !ctx->single_threaded;
		SLIST_INSERT_HEAD(list, bfreg, entry);
	}
	return count;
}

static struct mlx5_bfreg *dedicated_take(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg;

	if (SLIST_EMPTY(&ctx->dedicated) && ctx->dedicated_count < ctx->low_latency_bfregs)
		ctx->dedicated_count += list_grow(ctx, &ctx->dedicated, false);
	bfreg = SLIST_FIRST(&ctx->dedicated);
	if (bfreg)
		SLIST_REMOVE_HEAD(&ctx->dedicated, entry);
	return bfreg;
}

static struct mlx5_bfreg *shared_take(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg, *best;

	if (ctx->shared_count < ctx->total_bfregs - ctx->low_latency_bfregs)
		ctx->shared_count += list_grow(ctx, &ctx->shared, true);
	best = SLIST_FIRST(&ctx->shared);
	SLIST_FOREACH(bfreg, &ctx->shared, entry)
		if (bfreg->users < best->users)
			best = bfreg;
	return best;
}

/* Return the uncached register. Without write combining no other register exists. The caller holds
 * the lock. */
static struct mlx5_bfreg *uncached_take(struct mlx5_context *ctx)
{
	if (!ctx->uncached_used && ctx->info.bf_reg_size && !ctx->no_requests_in_registers)
		verbs_warn(
			&ctx->vctx.context,
			"no page of registers for requests: %s. Doorbells go to an uncached page",
			strerror(errno));
	ctx->uncached_used = true;
	return &ctx->uncached;
}

struct mlx5_bfreg *mlx5_bfreg_get(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg = NULL;

	pthread_mutex_lock(&ctx->uar_lock);
	if (ctx->info.bf_reg_size && !ctx->no_requests_in_registers) {
		bfreg = dedicated_take(ctx);
		if (!bfreg)
			bfreg = shared_take(ctx);
	}
	if (!bfreg)
		bfreg = uncached_take(ctx);
	bfreg->users++;
	pthread_mutex_unlock(&ctx->uar_lock);
	return bfreg;
}

void mlx5_bfreg_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg)
{
	if (bfreg == &ctx->uncached)
		return;
	pthread_mutex_lock(&ctx->uar_lock);
	bfreg->users--;
	if (!bfreg->of_several)
		SLIST_INSERT_HEAD(&ctx->dedicated, bfreg, entry);
	pthread_mutex_unlock(&ctx->uar_lock);
}

/* ---- of thread domains */

struct mlx5_bfreg *mlx5_bfreg_get_alone(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg;

	pthread_mutex_lock(&ctx->uar_lock);
	if (SLIST_EMPTY(&ctx->of_threads))
		list_grow(ctx, &ctx->of_threads, false);
	bfreg = SLIST_FIRST(&ctx->of_threads);
	if (bfreg)
		SLIST_REMOVE_HEAD(&ctx->of_threads, entry);
	pthread_mutex_unlock(&ctx->uar_lock);
	return bfreg;
}

struct mlx5_bfreg *mlx5_bfreg_get_for_thread(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg = ctx->info.bf_reg_size ? mlx5_bfreg_get_alone(ctx) : NULL;

	if (bfreg || ctx->bfregs)
		return bfreg;
	pthread_mutex_lock(&ctx->uar_lock);
	bfreg = uncached_take(ctx);
	pthread_mutex_unlock(&ctx->uar_lock);
	return bfreg;
}

void mlx5_bfreg_put_alone(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg)
{
	if (bfreg == &ctx->uncached)
		return;
	pthread_mutex_lock(&ctx->uar_lock);
	SLIST_INSERT_HEAD(&ctx->of_threads, bfreg, entry);
	pthread_mutex_unlock(&ctx->uar_lock);
}

/*
 * Completion queues use a doorbell page that takes no requests. On a host without write combining
 * queue pairs use it, too.
 */
static int dynamic_open(struct mlx5_context *ctx)
{
	struct mlx5_uar_page *page = page_new(ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	int r = page ? 0 : -errno;

	if (!page)
		page = page_new(ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF);
	if (!page) {
		/* A kernel without write combining has no pages of the second kind. */
		r = errno == EOPNOTSUPP ? r : -errno;
		verbs_err(&ctx->vctx.context, "no page of doorbells: %s", strerror(-r));
		return r;
	}
	ctx->uncached = (struct mlx5_bfreg){
		.reg = page->base + MLX5_BFREG_FIRST,
		.index = page->page_id,
		.mmap_offset = page->mmap_offset,
	};
	ctx->cq_uar = page->base;
	ctx->cq_uar_page_id = page->page_id;
	ctx->cq_uar_offset = page->mmap_offset;
	return 0;
}

/* ---- of a program */

/*
 * Add the registers of a new uncached page to the list. They take only doorbells, and therefore
 * have no two halves that are used in turn.
 */
static void doorbells_grow(struct mlx5_context *ctx)
{
	unsigned int count = ctx->uars_per_page * PER_UAR_INDEX;
	struct mlx5_uar_page *page = page_new(ctx, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);

	if (!page)
		return;
	page->bfregs = calloc(count, sizeof(*page->bfregs));
	for (unsigned int n = page->bfregs ? count : 0; n-- > 0;) {
		struct mlx5_bfreg *bfreg = &page->bfregs[n];
		unsigned int uar = n / PER_UAR_INDEX;

		*bfreg = (struct mlx5_bfreg){
			.reg = page->base + uar * MLX5_UAR_SIZE + MLX5_BFREG_FIRST +
			       n % PER_UAR_INDEX * DOORBELL_SIZE,
			.index = page->page_id + uar,
			.mmap_offset = page->mmap_offset,
		};
		SLIST_INSERT_HEAD(&ctx->doorbells, bfreg, entry);
	}
}

struct mlx5_bfreg *mlx5_doorbell_get(struct mlx5_context *ctx)
{
	struct mlx5_bfreg *bfreg;

	pthread_mutex_lock(&ctx->uar_lock);
	if (SLIST_EMPTY(&ctx->doorbells))
		doorbells_grow(ctx);
	bfreg = SLIST_FIRST(&ctx->doorbells);
	if (bfreg)
		SLIST_REMOVE_HEAD(&ctx->doorbells, entry);
	pthread_mutex_unlock(&ctx->uar_lock);
	if (!bfreg)
		verbs_err(&ctx->vctx.context, "no page of doorbells: %s", strerror(errno));
	return bfreg;
}

void mlx5_doorbell_put(struct mlx5_context *ctx, struct mlx5_bfreg *bfreg)
{
	pthread_mutex_lock(&ctx->uar_lock);
	SLIST_INSERT_HEAD(&ctx->doorbells, bfreg, entry);
	pthread_mutex_unlock(&ctx->uar_lock);
}

static void page_free(struct mlx5_context *ctx, struct mlx5_uar_page *page)
{
	LIST_REMOVE(page, entry);
	munmap(page->base, page->length);
	if (!page->legacy)
		page_destroy(ctx, page->handle);
	free(page->bfregs);
	free(page);
}

int mlx5_uar_open(struct mlx5_context *ctx)
{
	int r;

	pthread_mutex_init(&ctx->uar_lock, NULL);
	LIST_INIT(&ctx->uar_pages);
	SLIST_INIT(&ctx->dedicated);
	SLIST_INIT(&ctx->shared);
	SLIST_INIT(&ctx->of_threads);
	SLIST_INIT(&ctx->doorbells);
	ctx->cq_uar_page_id = -1;
	if (!ctx->info.tot_bfregs)
		return dynamic_open(ctx);
	r = static_open(ctx);
	if (r < 0)
		verbs_err(&ctx->vctx.context, "cannot map the doorbells: %s", strerror(-r));
	return r;
}

void mlx5_uar_close(struct mlx5_context *ctx)
{
	for (unsigned int i = 0; i < ctx->page_count; i++)
		munmap(ctx->pages[i], ctx->page_size);
	free(ctx->pages);
	free(ctx->bfregs);
	while (!LIST_EMPTY(&ctx->uar_pages))
		page_free(ctx, LIST_FIRST(&ctx->uar_pages));
	pthread_mutex_destroy(&ctx->uar_lock);
}
