/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tag matching: the list of a shared receive queue changes, and completions of each kind. */
#include "tests/adapters/lab/scenario/script.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/tm_types.h>

enum {
	TAGS = 5,
	SRQ_USER = 0, /* the number by which completions name the SRQ */
	RESP_SEND = MLX5_CQE_RESP_SEND,
	NO_PACKET = MLX5_CQE_NO_PACKET,
	INLINE_64 = 8,
};

/* What completions report. */
enum {
	CONSUMED = 1,
	EXPECTED,
	UNEXPECTED,
	NO_TAG,
	APPENDED,
	REMOVED,
	NOTHING,
	CONSUMED_RNDV = 9,
	MESSAGE,
	MESSAGE_RNDV,
};

static struct ibv_cq_ex *cq;
static uint32_t handles[3 * TAGS];
static int added;

static void make(struct script *s, uint32_t max_ops)
{
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 100,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO,
	};
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 6, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = s->pd,
		.tm_cap = { .max_num_tags = TAGS, .max_ops = max_ops },
	};
	uint32_t number;

	step("extended cq");
	cq = ibv_create_cq_ex(s->context, &cq_attr);
	must(cq, "cq_ex");
	step("srq with tags");
	attr.cq = ibv_cq_ex_to_cq(cq);
	s->srq = ibv_create_srq_ex(s->context, &attr);
	must(s->srq, "srq");
	must(!ibv_get_srq_num(s->srq, &number), "number");
	step("-> %u/%u", attr.attr.max_wr, attr.attr.max_sge);
}

static struct ibv_ops_wr add(const struct script *s, struct ibv_sge *sge, int flags)
{
	struct ibv_ops_wr op = {
		.wr_id = 0x5000 + added,
		.opcode = IBV_WR_TAG_ADD,
		.flags = flags,
		.tm = { .unexpected_cnt = added,
			.add = { .recv_wr_id = 0x6000 + added,
				 .sg_list = sge,
				 .num_sge = !!sge,
				 .tag = 0x1122334455667700 + added,
				 .mask = ~0xffull } },
	};

	if (sge)
		*sge = script_sge(s, 0x100 * added, 0x80);
	added++;
	return op;
}

static void post(struct script *s, struct ibv_ops_wr *op, const char *what)
{
	struct ibv_ops_wr *bad = NULL, *first = op;
	unsigned index = 0;
	int r;

	step("%s", what);
	r = ibv_post_srq_ops(s->srq, op, &bad);
	for (struct ibv_ops_wr *at = first; r && at != bad; at = at->next)
		index++;
	if (r)
		step("-> %d at %u", r, index);
}

static void post_add(struct script *s, int flags, bool empty)
{
	struct ibv_sge sge;
	int index = added % (3 * TAGS);
	struct ibv_ops_wr op = add(s, empty ? NULL : &sge, flags);

	post(s, &op, empty ? "add without memory" : "add");
	handles[index] = op.tm.handle;
	step("handle %u", op.tm.handle);
}

static void post_del(struct script *s, uint32_t handle, int flags)
{
	struct ibv_ops_wr op = {
		.wr_id = 0x7000 + handle,
		.opcode = IBV_WR_TAG_DEL,
		.flags = flags,
		.tm.handle = handle,
	};

	post(s, &op, "delete");
}

static void post_sync(struct script *s, int flags)
{
	struct ibv_ops_wr op = {
		.wr_id = 0x8000,
		.opcode = IBV_WR_TAG_SYNC,
		.flags = flags,
		.tm.unexpected_cnt = 3,
	};

	post(s, &op, "sync");
}

static void post_list(struct script *s)
{
	struct ibv_sge sge[2];
	struct ibv_ops_wr ops[3] = { add(s, &sge[0], 0), add(s, &sge[1], IBV_OPS_SIGNALED) };

	ops[0].next = &ops[1];
	ops[1].next = &ops[2];
	ops[2] = (struct ibv_ops_wr){ .opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_SIGNALED };
	post(s, ops, "add, add, sync");
	step("handles %u %u", ops[0].tm.handle, ops[1].tm.handle);
}

static void poll(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc_tm_info info;
	int r = ibv_start_poll(cq, &attr);

	if (r) {
		step("poll -> %d", r);
		return;
	}
	ibv_wc_read_tm_info(cq, &info);
	step("poll -> wr_id=0x%lx status=%d opcode=%d flags=0x%x bytes=%u qp=0x%x tag=0x%lx "
	     "priv=0x%x",
	     cq->wr_id, cq->status, ibv_wc_read_opcode(cq), ibv_wc_read_wc_flags(cq),
	     ibv_wc_read_byte_len(cq), ibv_wc_read_qp_num(cq), info.tag, info.priv);
	ibv_end_poll(cq);
}

/* A change of the list has taken effect, or not. */
static void changed(uint8_t app_op, bool good, uint16_t count)
{
	struct mlx5_cqe64 e = {
		.tm_cqe = { .success = htobe32(good ? MLX5_TMC_SUCCESS : 0),
			    .hw_phase_cnt = htobe16(count) },
		.srqn_uidx = htobe32(SRQ_USER),
		.app = 1,
		.app_op = app_op,
		.sop_drop_qpn = htobe32(0x77),
		.op_own = NO_PACKET << 4,
	};

	must(!lab_entry(cq->handle, &e, sizeof(e)), "entry");
	poll();
}

/* A message was received. @where: a receive of the list or of the queue */
static void received(unsigned opcode, uint8_t app_op, uint16_t where, uint32_t length)
{
	struct mlx5_cqe64 e = {
		.srqn_uidx = htobe32(SRQ_USER),
		.app = 1,
		.app_op = app_op,
		.app_info = htobe16(where),
		.byte_cnt = htobe32(length),
		.sop_drop_qpn = htobe32(0x99),
		.wqe_counter = htobe16(where),
		.op_own = opcode << 4,
	};

	e.tmh = (struct ibv_tmh){ .opcode = IBV_TMH_EAGER,
				  .app_ctx = htobe32(0xabcd0000 + where),
				  .tag = htobe64(0x1122334455667700 + where) };
	must(!lab_entry(cq->handle, &e, sizeof(e)), "entry");
	poll();
}

/* All receives of the list are in use, and each kind of message arrives. */
static void use(struct script *s)
{
	step("each kind of message");
	received(RESP_SEND, MESSAGE, handles[0], 24);
	received(NO_PACKET, CONSUMED, handles[1], 0);
	received(RESP_SEND, EXPECTED, handles[1], 0x80);
	received(RESP_SEND, MESSAGE_RNDV, handles[2], 40);
	received(RESP_SEND, CONSUMED_RNDV, 3, 40);
	received(RESP_SEND, EXPECTED, 3, 40);
	received(RESP_SEND, MESSAGE, 3, 40); /* the entry is free now */
	received(RESP_SEND, UNEXPECTED, 0, 48);
	received(RESP_SEND, NO_TAG, 1, 16);
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	make(&s, 8);
	for (int i = 0; i < 4; i++)
		script_recv(&s, 1, 64);
	post_add(&s, 0, false);
	post_add(&s, IBV_OPS_SIGNALED, false);
	changed(APPENDED, true, 0);
	post_add(&s, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC, true);
	changed(APPENDED, true, 1); /* the device counts 1 message, the program 2 */
	post_list(&s);
	changed(APPENDED, true, 2);
	changed(NOTHING, true, 2);
	post_add(&s, 0, false); /* the list is full */
	use(&s);
	post_del(&s, 4, IBV_OPS_SIGNALED);
	changed(REMOVED, true, 2);
	for (int i = 0; i < 7; i++) {
		post_add(&s, IBV_OPS_SIGNALED, i == 3);
		changed(APPENDED, true, 2);
		post_del(&s, handles[(added - 1) % (3 * TAGS)], i % 2 ? IBV_OPS_SIGNALED : 0);
		if (i % 2)
			changed(REMOVED, true, 2);
	}
	post_add(&s, IBV_OPS_SIGNALED, false);
	post_del(&s, handles[(added - 1) % (3 * TAGS)], IBV_OPS_SIGNALED);
	changed(APPENDED, true, 2);
	changed(REMOVED, false, 2);
	received(RESP_SEND, MESSAGE, handles[(added - 1) % (3 * TAGS)], 8);
	post_sync(&s, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC);
	changed(NOTHING, true, 3);
	step("destroy srq");
	must(!ibv_destroy_srq(s.srq), "destroy srq");
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "destroy cq");
	script_close(&s);
	return 0;
}
