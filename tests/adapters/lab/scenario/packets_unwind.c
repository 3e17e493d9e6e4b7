/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As unwind.c, with the objects of raw packets. */
#include "tests/adapters/lab/scenario/raw.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/adapters/lab/scenario/script.h"

static void say(const char *what, const void *object)
{
	if (!object)
		printf("%s: %s\n", what, strerror(errno));
}

/* Query the objects, even if the driver refused them. */
static void look(struct ibv_qp *qp, struct ibv_wq *wq, struct ibv_cq *cq)
{
	struct manadv_qp shown_qp;
	struct manadv_cq shown_cq;
	struct manadv_rwq shown_wq;
	struct manadv_obj obj = { { qp, &shown_qp }, { cq, &shown_cq }, { wq, &shown_wq } };

	must(!raw_init_obj(&obj, MANADV_OBJ_QP | MANADV_OBJ_CQ | MANADV_OBJ_RWQ), "look");
}

static void with_queues(struct ibv_pd *domain, struct ibv_cq *cq, struct ibv_wq **queues)
{
	struct ibv_rwq_ind_table *table = raw_table(domain->context, queues, 1);
	struct ibv_qp *sender = raw_sender(domain, cq, 32, 2), *receiver = NULL;

	say("table", table);
	say("sender", sender);
	if (table) {
		receiver = raw_receiver(domain, table, RAW_KEY_BYTES);
		say("receiver", receiver);
	}
	if (sender)
		look(sender, queues[0], cq);
	if (receiver)
		look(receiver, queues[1], cq);
	if (receiver && ibv_destroy_qp(receiver))
		say("destroy receiver", NULL);
	if (sender && ibv_destroy_qp(sender))
		say("destroy sender", NULL);
	if (table && ibv_destroy_rwq_ind_table(table))
		say("destroy table", NULL);
}

static void with_cq(struct ibv_pd *pd, struct ibv_pd *domain, struct ibv_cq *cq)
{
	struct ibv_wq *queues[RAW_QUEUES] = { raw_queue(pd, cq, 16, 1), raw_queue(pd, cq, 64, 2) };

	say("wq", queues[0]);
	say("wq", queues[1]);
	if (queues[0] && queues[1])
		with_queues(domain, cq, queues);
	for (int i = 0; i < RAW_QUEUES; i++)
		if (queues[i] && ibv_destroy_wq(queues[i]))
			say("destroy wq", NULL);
}

static void with_domain(struct ibv_pd *pd, struct ibv_pd *domain)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(pd->context);
	struct ibv_cq *cq = ibv_create_cq(pd->context, 100, NULL, channel, 0);

	say("channel", channel);
	say("cq", cq);
	if (cq)
		with_cq(pd, domain, cq);
	if (cq && ibv_destroy_cq(cq))
		say("destroy cq", NULL);
	if (channel)
		ibv_destroy_comp_channel(channel);
}

static void with_context(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context), *domain = pd ? raw_domain(pd, RAW_PORT) : NULL;

	say("pd", pd);
	if (domain)
		with_domain(pd, domain);
	if (domain)
		ibv_dealloc_pd(domain);
	if (pd)
		ibv_dealloc_pd(pd);
}

int main(void)
{
	struct ibv_context *context;

	context = raw_open();
	say("device", context);
	if (!context)
		return 0;
	raw_load();
	raw_memory(context, false);
	with_context(context);
	ibv_close_device(context);
	if (!raw_memory_left())
		return 0;
	printf("%d pieces of memory did not come back\n", raw_memory_left());
	return 1;
}
