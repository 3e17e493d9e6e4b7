/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pipelines and preferences of domains. Queues of a parent domain with one pipeline use only this
 * pipeline, and lie in memory of the device only if the domain wants this. A device without such
 * memory refuses a domain that requires it. The test reads the rest in the trace.
 */
#include <errno.h>
#include <infiniband/ionic_dv.h>

#include "tests/adapters/lab/scenario/script.h"

static struct script s;

static struct ibv_pd *parent_make(uint8_t pipelines)
{
	struct ibv_parent_domain_init_attr attr = { .pd = s.pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(s.context, &attr);

	must(parent, "parent domain");
	must(ionic_dv_pd_get_udma_mask(parent) == ionic_dv_pd_get_udma_mask(s.pd), "inherited");
	must(!ionic_dv_pd_set_udma_mask(parent, pipelines), "pipelines");
	must(ionic_dv_pd_get_udma_mask(parent) == pipelines, "get");
	return parent;
}

static struct ibv_cq *cq_make(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = parent,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(s.context, &attr);

	must(cq, "cq");
	return ibv_cq_ex_to_cq(cq);
}

static struct ibv_qp *qp_make(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 4, 4, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(pd, &attr);
}

static void queues(struct ibv_pd *parent, struct ibv_cq *cq, const char *what)
{
	struct ibv_qp *qp;

	step("%s", what);
	qp = qp_make(parent, cq);
	must(qp && !ibv_destroy_qp(qp), what);
}

int main(void)
{
	uint8_t count, last;
	struct ibv_pd *parent;
	struct ibv_cq *cq;

	script_open(&s);
	count = ionic_dv_ctx_get_udma_count(s.context);
	last = 1 << (count - 1);
	must(ionic_dv_ctx_get_udma_mask(s.context) == 2 * last - 1, "mask");
	must(ionic_dv_pd_set_udma_mask(s.pd, 2 * last) == EINVAL, "too many");
	parent = parent_make(last);
	cq = cq_make(parent);
	queues(parent, cq, "default");
	must(!ionic_dv_pd_set_sqcmb(parent, false, true, true), "no sends");
	must(!ionic_dv_pd_set_rqcmb(parent, true, false, false), "receives");
	queues(parent, cq, "copied receives");
	must(ionic_dv_pd_set_rqcmb(parent, true, true, true) == (count > 1 ? 0 : EINVAL),
	     "express doorbells");
	must(!ionic_dv_pd_set_rqcmb(parent, true, false, true), "required");
	if (count > 1) {
		queues(parent, cq, "required");
		must(!ionic_dv_pd_set_udma_mask(parent, 1), "the other pipeline");
	}
	step("refused");
	must(!qp_make(parent, cq) && errno == (count > 1 ? EINVAL : ENOMEM), "refused");
	must(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(parent), "destroy");
	script_close(&s);
	return 0;
}
