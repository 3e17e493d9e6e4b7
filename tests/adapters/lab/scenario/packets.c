/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Raw packets of mana: sizes of queues, their direct attributes, doorbells, and refused
 * requests. */
#include "tests/adapters/lab/scenario/raw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/adapters/lab/scenario/script.h"

/* Check that an object was refused, and report the errno. */
static void none(const void *object, const char *what)
{
	int error = errno;

	must(!object, what);
	step("%s -> errno %d", what, error);
}

static const char *place(const void *at)
{
	static char text[32];

	if (!at)
		return "nowhere";
	snprintf(text, sizeof(text), "0x%zx", (size_t)((uintptr_t)at - SCRIPT_BUFFER));
	return text;
}

static void show_cq(struct ibv_cq *cq)
{
	struct manadv_cq out;
	struct manadv_obj obj = { .cq = { .in = cq, .out = &out } };

	memset(&out, 0x55, sizeof(out));
	must(!raw_init_obj(&obj, MANADV_OBJ_CQ), "show cq");
	step("cq at %s: %u, number 0x%x", place(out.buf), out.count, out.cq_id);
}

static void show_qp(struct ibv_qp *qp, void **ret_doorbells)
{
	struct manadv_qp out;
	struct manadv_obj obj = { .qp = { .in = qp, .out = &out } };

	memset(&out, 0x55, sizeof(out));
	must(!raw_init_obj(&obj, MANADV_OBJ_QP), "show qp");
	step("qp at %s: %u, 0x%x bytes, number 0x%x, vp offset 0x%x", place(out.sq_buf),
	     out.sq_count, out.sq_size, out.sq_id, out.tx_vp_offset);
	*ret_doorbells = out.db_page;
}

static void show_wq(struct ibv_wq *wq, void *doorbells)
{
	struct manadv_rwq out;
	struct manadv_obj obj = { .rwq = { .in = wq, .out = &out } };

	memset(&out, 0x55, sizeof(out));
	must(!raw_init_obj(&obj, MANADV_OBJ_RWQ), "show wq");
	must(!doorbells || out.db_page == doorbells, "one page of doorbells");
	step("wq at %s: %u, 0x%x bytes, number 0x%x", place(out.buf), out.count, out.size,
	     out.wq_id);
}

/* Ring as DPDK does: 64 bits at the offset of the kind of queue. */
static void ring(void *doorbells, size_t offset, uint64_t value)
{
	step("doorbell");
	*(volatile uint64_t *)((char *)doorbells + offset) = value;
}

static void sends(struct ibv_pd *pd, struct ibv_pd *domain, struct ibv_cq *cq)
{
	static const uint32_t caps[][2] = { { 1, 1 }, { 128, 1 }, { 100, 3 }, { 256, 30 } };
	void *doorbells;

	step("in a plain domain");
	none(raw_sender(pd, cq, 16, 2), "qp");
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		struct ibv_qp *qp;

		step("qp %u/%u", caps[i][0], caps[i][1]);
		qp = raw_sender(domain, cq, caps[i][0], caps[i][1]);
		must(qp, "qp");
		show_qp(qp, &doorbells);
		show_cq(cq);
		ring(doorbells, 0, 0x0000004000000000 | qp->qp_num);
		ring(doorbells, 0x800, 0x8000008000000400);
		step("modify");
		step("-> %d", ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT },
					    IBV_QP_STATE));
		step("destroy qp");
		must(!ibv_destroy_qp(qp), "destroy qp");
	}
}

static void receives(struct ibv_pd *pd, struct ibv_pd *domain, struct ibv_cq **cqs)
{
	struct ibv_wq *queues[RAW_QUEUES], *one;
	struct ibv_rwq_ind_table *table, *single;
	struct ibv_qp *qp;
	void *doorbells;

	for (uint32_t i = 0; i < RAW_QUEUES; i++) {
		step("wq %u", i);
		queues[i] = raw_queue(pd, cqs[i], i ? 256 : 200, i ? 15 : 1);
		must(queues[i], "wq");
	}
	step("tables");
	table = raw_table(pd->context, queues, 1);
	one = queues[1];
	single = raw_table(pd->context, &one, 0);
	must(table && single, "table");
	step("in a plain domain");
	none(raw_receiver(pd, table, RAW_KEY_BYTES), "qp");
	step("with a short key");
	none(raw_receiver(domain, table, RAW_KEY_BYTES - 1), "qp");
	for (int round = 0; round < 2; round++) {
		step("qp with a table of %d", round ? 1 : RAW_QUEUES);
		qp = raw_receiver(domain, round ? single : table, RAW_KEY_BYTES);
		must(qp, "qp");
		show_qp(qp, &doorbells);
		for (int i = 0; i < RAW_QUEUES; i++) {
			show_wq(queues[i], doorbells);
			show_cq(cqs[i]);
		}
		ring(doorbells, 0x400, 0x0000006003000010);
		step("destroy qp");
		must(!ibv_destroy_qp(qp), "destroy qp");
	}
	step("destroy tables and queues");
	must(!ibv_destroy_rwq_ind_table(single) && !ibv_destroy_rwq_ind_table(table),
	     "destroy table");
	for (int i = RAW_QUEUES; i--;)
		must(!ibv_destroy_wq(queues[i]), "destroy wq");
}

static void refusals(struct ibv_context *context, struct ibv_cq *cq)
{
	struct manadv_obj obj = { .cq = { .in = cq } };

	step("attribute 1 -> %d", raw_set_attr(context, 1, NULL));
	step("object 8 -> %d", raw_init_obj(&obj, MANADV_OBJ_CQ | 8));
}

/* Without memory of the program, a queue could only be one of RC, which the device does not have.
 */
static void without_memory(void)
{
	struct ibv_context *context = raw_open();

	must(context, "open");
	step("a queue without memory");
	none(ibv_create_cq(context, 64, NULL, NULL, 0), "cq");
	must(!ibv_close_device(context), "close");
}

int main(void)
{
	static const uint32_t sizes[] = { 1, 64, 65, 256 };
	enum {
		CQS = sizeof(sizes) / sizeof(sizes[0])
	};
	struct ibv_pd *pd, *domain;
	struct ibv_context *context;
	struct ibv_cq *cqs[CQS];

	step("open");
	context = raw_open();
	must(context, "open");
	raw_load();
	raw_memory(context, true);
	pd = ibv_alloc_pd(context);
	must(pd, "pd");
	domain = raw_domain(pd, RAW_PORT);
	must(domain, "parent domain");
	for (int i = 0; i < CQS; i++) {
		step("cq %u", sizes[i]);
		cqs[i] = ibv_create_cq(context, sizes[i], NULL, NULL, 0);
		must(cqs[i], "cq");
		show_cq(cqs[i]);
	}
	refusals(context, cqs[0]);
	sends(pd, domain, cqs[0]);
	receives(pd, domain, cqs + 2);
	step("close");
	for (int i = CQS; i--;)
		must(!ibv_destroy_cq(cqs[i]), "destroy cq");
	must(!ibv_dealloc_pd(domain) && !ibv_dealloc_pd(pd), "domains");
	must(!ibv_close_device(context), "close");
	without_memory();
	return 0;
}
