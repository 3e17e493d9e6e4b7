/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects beside queues: memory of the device and a region of it, a region without memory, thread
 * and parent domains with a queue pair in them, the clock, an extended completion queue with times,
 * ECE, prefetching.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <stdlib.h>
#include <string.h>

enum {
	DM_BYTES = 256,
};

static void device_memory(struct script *s)
{
	struct ibv_alloc_dm_attr attr = { .length = DM_BYTES };
	const char text[16] = "sixteen letters";
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	char back[8];

	step("device memory");
	dm = ibv_alloc_dm(s->context, &attr);
	must(dm, "dm");
	must(!ibv_memcpy_to_dm(dm, 32, text, sizeof(text)), "copy to");
	must(!ibv_memcpy_from_dm(back, dm, 40, sizeof(back)), "copy from");
	must(!memcmp(back, text + 8, sizeof(back)), "what was copied");
	step("-> errno %d %d", ibv_memcpy_to_dm(dm, DM_BYTES - 4, text, 8),
	     ibv_memcpy_to_dm(dm, 2, text, 4));
	mr = ibv_reg_dm_mr(s->pd, dm, 64, 64,
			   IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE);
	must(mr, "region");
	step("-> lkey=0x%x rkey=0x%x", mr->lkey, mr->rkey);
	must(!ibv_dereg_mr(mr) && !ibv_free_dm(dm), "free");
}

static void nowhere(struct script *s)
{
	struct ibv_mr *mr;

	step("null region");
	mr = ibv_alloc_null_mr(s->pd);
	must(mr, "null region");
	step("-> lkey=0x%x", mr->lkey);
	must(!ibv_dereg_mr(mr), "dereg");
}

static void prefetch(struct script *s)
{
	struct ibv_sge sge[2] = { script_sge(s, 0, 64), script_sge(s, 4096, 4096) };

	step("advise");
	must(!ibv_advise_mr(s->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, sge, 2),
	     "advise");
}

/* A queue pair in the parent domain uses the thread domain's register. */
static void domains(struct script *s)
{
	static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct ibv_td *td = ibv_alloc_td(s->context, &(struct ibv_td_init_attr){ 0 });
	struct ibv_parent_domain_init_attr attr = { .pd = s->pd, .td = td };
	struct script inner = *s;
	struct ibv_sge sge = script_sge(s, 0, 32);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };

	step("thread domain");
	must(td, "thread domain");
	inner.pd = ibv_alloc_parent_domain(s->context, &attr);
	must(inner.pd, "parent domain");
	script_qp(&inner, IBV_QPT_RC, &cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&inner, state);
	for (int i = 0; i < 3; i++)
		script_send(&inner, &wr);
	script_qp_close(&inner);
	must(!ibv_dealloc_pd(inner.pd) && !ibv_dealloc_td(td), "domains");
}

static void clock_read(struct script *s)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int r;

	step("clock");
	r = ibv_query_rt_values_ex(s->context, &values);
	step("-> %d: %lld %ld", r, (long long)values.raw_clock.tv_sec, values.raw_clock.tv_nsec);
}

static void timed_cq(struct script *s)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 10,
		.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	};
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *cq;

	step("timed cq");
	cq = ibv_create_cq_ex(s->context, &attr);
	must(cq, "timed cq");
	step("-> %d", ibv_start_poll(cq, &poll));
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy timed cq");
}

static void ece(struct script *s)
{
	static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };
	struct ibv_ece options = { 0 };

	script_qp(s, IBV_QPT_RC, &cap);
	must(!ibv_query_ece(s->qp, &options), "query ece");
	step("-> ece 0x%x 0x%x", options.vendor_id, options.options);
	options.options = 0x10000001;
	must(!ibv_set_ece(s->qp, &options), "set ece");
	script_modify(s, IBV_QPS_INIT);
	script_modify(s, IBV_QPS_RTR);
	must(!ibv_query_ece(s->qp, &options), "query ece");
	step("-> ece 0x%x 0x%x", options.vendor_id, options.options);
	script_qp_close(s);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	device_memory(&s);
	nowhere(&s);
	prefetch(&s);
	domains(&s);
	clock_read(&s);
	timed_cq(&s);
	ece(&s);
	script_close(&s);
	return 0;
}
