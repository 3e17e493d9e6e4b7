/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs and a thread domain on a host that maps no write-combining page. */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>

static struct ibv_qp *make(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 16, 16, 1, 1, 64 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(pd, &attr);
}

static void thread_domain(struct script *s)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td = ibv_alloc_td(s->context, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = s->pd, .td = td };
	struct ibv_pd *parent;
	struct ibv_qp *qp;

	if (!td && errno == EOPNOTSUPP)
		return; /* the device has none */
	must(td, "thread domain");
	parent = ibv_alloc_parent_domain(s->context, &attr);
	must(parent, "parent domain");
	qp = make(parent, s->send_cq);
	must(qp, "queue pair of a thread domain");
	must(!ibv_destroy_qp(qp) && !ibv_dealloc_pd(parent) && !ibv_dealloc_td(td), "destroy");
}

int main(void)
{
	enum {
		MANY = 40
	};
	struct ibv_qp *many[MANY];
	const struct ibv_qp_cap cap = { 16, 16, 1, 1, 64 };
	struct script s = { 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge;
	const struct ibv_wc wc = { .opcode = IBV_WC_SEND };

	script_open(&s);
	thread_domain(&s);
	for (int i = 0; i < MANY; i++) {
		many[i] = make(s.pd, s.send_cq);
		must(many[i], "queue pair");
	}
	for (int i = 0; i < MANY; i++)
		must(!ibv_destroy_qp(many[i]), "destroy qp");
	script_qp(&s, IBV_QPT_RC, &cap);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	sge = script_sge(&s, 0, 64);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	for (int i = 0; i < 5; i++) {
		wr.wr_id = 100 + i;
		must(!script_send(&s, &wr), "post");
		script_complete(&s, false, i, IBV_WR_SEND, wc);
	}
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
