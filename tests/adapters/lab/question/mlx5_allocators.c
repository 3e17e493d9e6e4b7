/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The allocators of mlx5dv_set_context_attr() give the memory of every queue, and those of a parent
 * domain also each doorbell record. */
#include "tests/adapters/lab/scenario/script.h"

#include <stdlib.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

static int allocated, there;

static void *take(size_t size, void *data)
{
	void *p = NULL;

	must(data == &there, "the program's pointer");
	if (posix_memalign(&p, 4096, size))
		return NULL;
	allocated++;
	there++;
	return p;
}

static void give_back(void *p, void *data)
{
	there--;
	free(p);
}

/* @least: calls of the allocator for the object, without those for doorbell records. */
static void took(const char *what, int least)
{
	must(allocated >= least, what);
	allocated = 0;
}

static struct ibv_qp *qp_make(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .cap = { 128, 128, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	must(qp, "qp");
	return qp;
}

struct objects {
	struct ibv_cq *cq;
	struct ibv_qp *rc, *raw;
	struct ibv_srq *srq;
	struct ibv_wq *wq;
};

/* @cqs: domain of the completion queue; NULL: none */
static struct objects objects_make(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_pd *cqs,
				   void (*made)(const char *what, int least))
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 100,
					       .comp_mask = cqs ? IBV_CQ_INIT_ATTR_MASK_PD : 0,
					       .parent_domain = cqs };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 100, .max_sge = 1 } };
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 128, .max_sge = 1, .pd = pd
	};
	struct objects o = { .cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(ctx, &cq_attr)) };

	must(o.cq, "cq");
	made("a completion queue's ring and record", 2);
	o.rc = qp_make(pd, o.cq, IBV_QPT_RC);
	made("a queue pair's rings", 1);
	o.raw = qp_make(pd, o.cq, IBV_QPT_RAW_PACKET);
	made("both rings of a raw packet queue pair", 2);
	o.srq = ibv_create_srq(pd, &srq_attr);
	must(o.srq, "srq");
	made("a shared receive queue's ring", 1);
	wq_attr.cq = o.cq;
	o.wq = ibv_create_wq(ctx, &wq_attr);
	must(o.wq, "wq");
	made("a work queue's ring", 1);
	return o;
}

static void objects_end(const struct objects *o)
{
	must(!ibv_destroy_wq(o->wq) && !ibv_destroy_srq(o->srq) && !ibv_destroy_qp(o->raw) &&
		     !ibv_destroy_qp(o->rc) && !ibv_destroy_cq(o->cq),
	     "destroy");
}

/* ---- of a parent domain */

static int records, rings;
static bool library;

static void *parent_take(struct ibv_pd *pd, void *data, size_t size, size_t alignment,
			 uint64_t type)
{
	bool record = type == MLX5DV_RES_TYPE_DBR;
	void *p = NULL;

	must(data == &records, "the program's pointer");
	must(!record || (size == 8 && alignment == 8), "a doorbell record has 8 bytes");
	(*(record ? &records : &rings))++;
	if (library)
		return IBV_ALLOCATOR_USE_DEFAULT;
	must(!posix_memalign(&p, alignment, size), "memory");
	memset(p, 0xff, size);
	there++;
	return p;
}

static void parent_give_back(struct ibv_pd *pd, void *data, void *p, uint64_t type)
{
	there--;
	free(p);
}

static void one_record(const char *what, int least)
{
	must(records == 1 && rings > 0, what);
	records = rings = 0;
}

static void of_parent(struct ibv_context *ctx, struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = parent_take,
		.free = parent_give_back,
		.pd_context = &records,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &attr);
	struct mlx5dv_obj object = {};
	struct mlx5dv_cq cq;
	struct objects o;

	must(parent, "parent domain");
	o = objects_make(ctx, parent, parent, one_record);
	object.cq.in = o.cq;
	object.cq.out = &cq;
	must(!mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ) && !cq.dbrec[0] && !cq.dbrec[1],
	     "the program's memory is 0 at first");
	objects_end(&o);
	must(!there, "all memory goes back to the parent domain");
	library = true;
	o = objects_make(ctx, parent, parent, one_record);
	objects_end(&o);
	must(!ibv_dealloc_pd(parent), "end");
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct mlx5dv_ctx_allocators from = { take, give_back, &there };
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct objects o;

	must(pd, "pd");
	of_parent(ctx, pd);
	must(!mlx5dv_set_context_attr(ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &from), "set");
	o = objects_make(ctx, pd, NULL, took);
	objects_end(&o);
	must(!ibv_dealloc_pd(pd) && !ibv_close_device(ctx), "end");
	must(!there, "all memory goes back to the program");
	ibv_free_device_list(list);
	return 0;
}
