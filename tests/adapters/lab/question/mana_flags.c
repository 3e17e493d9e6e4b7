/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Create senders, work queues and receivers of raw packets with each flag there could be. A flag is
 * refused, or the trace has it in the kernel's request before the line that says that it is taken.
 */
#include "tests/adapters/lab/scenario/raw.h"
#include "tests/adapters/lab/scenario/script.h"

static struct ibv_pd *pd, *domain;
static struct ibv_cq *cq;
static struct ibv_rwq_ind_table *table;
static int plain; /* objects without flags */

static void queue_pair(uint32_t flag, uint32_t more, bool receives)
{
	uint8_t key[RAW_KEY_BYTES] = {};
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = receives ? NULL : cq,
		.recv_cq = receives ? NULL : cq,
		.cap = { .max_send_wr = receives ? 0 : 16, .max_send_sge = receives ? 0 : 1 },
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | more |
			     (flag ? IBV_QP_INIT_ATTR_CREATE_FLAGS : 0) |
			     (receives ? IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE : 0),
		.pd = domain,
		.create_flags = flag,
		.rwq_ind_tbl = receives ? table : NULL,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = RAW_KEY_BYTES,
				  .rx_hash_key = key },
	};
	struct ibv_qp *qp = ibv_create_qp_ex(pd->context, &attr);

	must(!qp || !more, "a comp_mask that does not exist is refused");
	if (!qp)
		return;
	step("queue pair of type %d has flag 0x%x", attr.qp_type, flag);
	plain += !flag;
	must(!ibv_destroy_qp(qp), "destroy qp");
}

static void work_queue(uint32_t flag)
{
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 16,
		.max_sge = 1,
		.pd = pd,
		.cq = cq,
		.comp_mask = flag ? IBV_WQ_INIT_ATTR_FLAGS : 0,
		.create_flags = flag,
	};
	struct ibv_wq *wq = ibv_create_wq(pd->context, &attr);

	if (!wq)
		return;
	step("work queue has flag 0x%x", flag);
	plain += !flag;
	must(!ibv_destroy_wq(wq), "destroy wq");
}

static void each_flag(void)
{
	for (int receives = 0; receives < 2; receives++) {
		queue_pair(0, 0, receives);
		queue_pair(0, 1u << 20, receives);
		for (int bit = 0; bit < 32; bit++)
			queue_pair(1u << bit, 0, receives);
	}
	work_queue(0);
	for (int bit = 0; bit < 32; bit++)
		work_queue(1u << bit);
	must(plain == 3, "a sender, a receiver and a work queue");
}

int main(void)
{
	struct ibv_context *context = raw_open();
	struct ibv_wq *queues[1];

	must(context, "open");
	raw_load();
	raw_memory(context, false);
	pd = ibv_alloc_pd(context);
	domain = pd ? raw_domain(pd, RAW_PORT) : NULL;
	must(domain, "domain");
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	must(cq, "cq");
	queues[0] = raw_queue(pd, cq, 16, 1);
	must(queues[0], "wq");
	table = raw_table(context, queues, 0);
	must(table, "table");
	each_flag();
	must(!ibv_destroy_rwq_ind_table(table) && !ibv_destroy_wq(queues[0]), "destroy");
	must(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(domain) && !ibv_dealloc_pd(pd), "destroy");
	must(!ibv_close_device(context), "close");
	return 0;
}
