/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mana on a hostile kernel: queues in memory of the program, and their direct attributes. With RC,
 * on a hostile device as well.
 */
#include "tests/fuzz/devices/session.h"

#include <infiniband/manadv.h>

enum {
	PAGE = 4096,
	QUEUES = 4,
	TABLE_LOG_MAX = 8, /* more than an answer has room for */
	KEY_BYTES = 40,
	MEMORY_MAX = 1 << 20,
	NEVER = 0xff,
};

static struct {
	struct ibv_pd *domain;
	struct ibv_wq *wqs[QUEUES];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *receiver;
	int pieces;	      /* of memory that was given and not taken back */
	unsigned fails_after; /* pieces until there is none */
} mine;

static void *memory_alloc(size_t size, void *data)
{
	void *memory;

	MUST(data == &mine && size >= PAGE && size % PAGE == 0);
	if (size > MEMORY_MAX || (mine.fails_after != NEVER && !mine.fails_after--))
		return NULL;
	memory = aligned_alloc(PAGE, size);
	MUST(memory);
	memset(memory, 0x5a, size);
	mine.pieces++;
	return memory;
}

static void memory_free(void *memory, void *data)
{
	MUST(data == &mine);
	if (!memory)
		return;
	mine.pieces--;
	free(memory);
}

static void mana_open(struct session *s)
{
	struct manadv_ctx_allocators from = { memory_alloc, memory_free, &mine };
	struct ibv_parent_domain_init_attr attr = {
		.pd = s->pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.pd_context = (void *)(uintptr_t)(input_u8(s->in) % 4 ? 1 : input_u8(s->in)),
	};

	mine.fails_after = input_u8(s->in);
	if (device == &device_mana_rc)
		return; /* its queues belong to the library */
	if (mine.fails_after == 1)
		from.free = NULL; /* refused */
	manadv_set_context_attr(s->context, MANADV_CTX_ATTR_BUF_ALLOCATORS, &from);
	mine.domain = ibv_alloc_parent_domain(s->context, &attr);
}

static struct ibv_qp *create_qp(struct session *s, struct ibv_qp_init_attr_ex *attr)
{
	attr->qp_type = IBV_QPT_RAW_PACKET;
	attr->srq = NULL;
	attr->pd = mine.domain ?: s->pd;
	attr->comp_mask = IBV_QP_INIT_ATTR_PD;
	return ibv_create_qp_ex(s->context, attr);
}

static void create_wq(struct session *s)
{
	uint8_t at = input_u8(s->in) % QUEUES;
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = input_u16(s->in),
		.max_sge = input_u8(s->in),
		.pd = s->pd,
		.cq = s->cq[input_u8(s->in) % 2],
	};
	struct ibv_recv_wr wr = { 0 }, *bad;

	if (mine.table)
		return;
	if (mine.wqs[at])
		MUST(!ibv_destroy_wq(mine.wqs[at]));
	mine.wqs[at] = ibv_create_wq(s->context, &attr);
	if (mine.wqs[at])
		MUST(ibv_post_wq_recv(mine.wqs[at], &wr, &bad) && bad == &wr);
}

static void table_destroy(void)
{
	MUST(!mine.receiver || !ibv_destroy_qp(mine.receiver));
	MUST(!mine.table || !ibv_destroy_rwq_ind_table(mine.table));
	mine.receiver = NULL;
	mine.table = NULL;
}

static void create_table(struct session *s)
{
	struct ibv_wq *members[1 << TABLE_LOG_MAX];
	struct ibv_rwq_ind_table_init_attr attr = {
		.log_ind_tbl_size = input_u8(s->in) % (TABLE_LOG_MAX + 1),
		.ind_tbl = members,
	};

	table_destroy();
	for (size_t i = 0; i < (size_t)1 << attr.log_ind_tbl_size; i++) {
		members[i] = mine.wqs[input_u8(s->in) % QUEUES];
		if (!members[i])
			return;
	}
	mine.table = ibv_create_rwq_ind_table(s->context, &attr);
}

static void create_receiver(struct session *s)
{
	uint8_t key[KEY_BYTES] = { 0 }, how = input_u8(s->in);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     (how & 1 ? 0 : IBV_QP_INIT_ATTR_RX_HASH),
		.pd = how & 2 || !mine.domain ? s->pd : mine.domain,
		.rwq_ind_tbl = mine.table,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = how & 4 ? input_u8(s->in) : KEY_BYTES,
				  .rx_hash_key = how & 8 ? NULL : key },
	};

	if (!mine.table || mine.receiver)
		return;
	mine.receiver = ibv_create_qp_ex(s->context, &attr);
}

/* Access a returned queue up to its last byte, which must be memory. */
static void touch(void *memory, uint32_t bytes)
{
	if (memory && bytes)
		((volatile uint8_t *)memory)[bytes - 1] = 1;
}

static void show(struct session *s)
{
	struct manadv_rwq rwq = { 0 };
	struct manadv_qp qp = { 0 };
	struct manadv_cq cq = { 0 };
	struct manadv_obj obj = {
		.qp = { s->qp[input_u8(s->in) % SESSION_QPS], &qp },
		.cq = { s->cq[input_u8(s->in) % 2], &cq },
		.rwq = { mine.wqs[input_u8(s->in) % QUEUES], &rwq },
	};
	uint64_t types = input_u8(s->in);

	if (!obj.qp.in)
		types &= ~(uint64_t)MANADV_OBJ_QP;
	if (!obj.rwq.in)
		types &= ~(uint64_t)MANADV_OBJ_RWQ;
	if (manadv_init_obj(&obj, types))
		return;
	touch(qp.sq_buf, qp.sq_size);
	touch(rwq.buf, rwq.size);
	touch(cq.buf, cq.count * 64);
	if (qp.db_page)
		*(volatile uint64_t *)((char *)qp.db_page + 0x800) = 1;
}

static void step(struct session *s)
{
	static void (*const all[])(struct session * s) = { create_wq, create_table, create_receiver,
							   show };

	all[input_u8(s->in) % (sizeof(all) / sizeof(all[0]))](s);
}

static void mana_close(struct session *s)
{
	table_destroy();
	for (int i = 0; i < QUEUES; i++)
		MUST(!mine.wqs[i] || !ibv_destroy_wq(mine.wqs[i]));
	for (int i = 0; i < SESSION_QPS; i++) {
		MUST(!s->qp[i] || !ibv_destroy_qp(s->qp[i]));
		s->qp[i] = NULL;
	}
	MUST(!mine.domain || !ibv_dealloc_pd(mine.domain));
	for (int i = 0; i < 2; i++) {
		MUST(!s->cq[i] || !ibv_destroy_cq(s->cq[i]));
		s->cq[i] = NULL;
	}
	MUST(!mine.pieces);
	memset(&mine, 0, sizeof(mine));
}

const struct played played = {
	.devices = { &device_mana, &device_mana_rc },
	.open = mana_open,
	.step = step,
	.close = mana_close,
	.create_qp = create_qp,
};
