/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The allocators of mlx5dv_set_context_attr() give the memory of every queue. */
#include "tests/devices/scenario/script.h"

#include <stdlib.h>
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

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list ? ibv_open_device(list[0]) : NULL;
	struct mlx5dv_ctx_allocators from = { take, give_back, &there };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 100, .max_sge = 1 } };
	struct ibv_wq_init_attr wq_attr = { .wq_type = IBV_WQT_RQ, .max_wr = 128, .max_sge = 1 };
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *rc, *raw;
	struct ibv_srq *srq;
	struct ibv_wq *wq;

	must(ctx && !mlx5dv_set_context_attr(ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &from), "set");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 100, NULL, NULL, 0);
	must(pd && cq, "cq");
	took("a completion queue's ring and record", 2);
	rc = qp_make(pd, cq, IBV_QPT_RC);
	took("a queue pair's rings", 1);
	raw = qp_make(pd, cq, IBV_QPT_RAW_PACKET);
	took("both rings of a raw packet queue pair", 2);
	srq = ibv_create_srq(pd, &srq_attr);
	must(srq, "srq");
	took("a shared receive queue's ring", 1);
	wq_attr.pd = pd;
	wq_attr.cq = cq;
	wq = ibv_create_wq(ctx, &wq_attr);
	must(wq, "wq");
	took("a work queue's ring", 1);
	must(!ibv_destroy_wq(wq) && !ibv_destroy_srq(srq) && !ibv_destroy_qp(raw) &&
		     !ibv_destroy_qp(rc) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) &&
		     !ibv_close_device(ctx),
	     "destroy");
	must(!there, "all memory goes back to the program");
	ibv_free_device_list(list);
	return 0;
}
