/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SRD, which only efa has: batches, lists, receives of several buffers, and refused requests. */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <infiniband/efadv.h>

/* Bytes of the attributes that all releases know. */
#define ATTR_SIZE 16

static void create(struct script *s)
{
	struct efadv_qp_init_attr srd = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.cap = { 20, 10, 2, 3, 32 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = s->pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	void *library = dlopen("libefa.so.1", RTLD_NOW);
	__typeof__(efadv_create_qp_ex) *call;

	must(library, "libefa");
	call = (__typeof__(call))dlsym(library, "efadv_create_qp_ex");
	must(call, "efadv_create_qp_ex");
	step("srd 20/2, 10/3");
	s->qp = call(s->context, &attr, &srd, ATTR_SIZE);
	must(s->qp, "qp");
	step("-> %u, %u", attr.cap.max_send_wr, attr.cap.max_recv_wr);
}

static void build(struct ibv_qp_ex *ex, struct ibv_ah *ah, const struct script *s, int i)
{
	struct ibv_sge list[2] = { script_sge(s, 0x100 * i, 60 + i), script_sge(s, 0x40, 9) };
	static uint8_t text[32] = "some words";
	struct ibv_data_buf bufs[2] = { { text, 7 }, { text + 3, 5 } };

	ex->wr_id = 0x3000 + i;
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (i % 2)
		ibv_wr_send_imm(ex, htonl(0x01020304 + i));
	else
		ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, 0x60 + i, 0x22222222);
	switch (i % 4) {
	case 0:
		ibv_wr_set_sge(ex, list[0].lkey, list[0].addr, list[0].length);
		break;
	case 1:
		ibv_wr_set_sge_list(ex, 2, list);
		break;
	case 2:
		ibv_wr_set_inline_data(ex, text, 3 * i);
		break;
	default:
		ibv_wr_set_inline_data_list(ex, 2, bufs);
	}
}

static void batch(struct script *s, struct ibv_ah *ah, int count)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);
	int r;

	must(ex, "qp_ex");
	step("batch of %d", count);
	ibv_wr_start(ex);
	for (int i = 0; i < count; i++)
		build(ex, ah, s, i);
	r = ibv_wr_complete(ex);
	step("-> %d", r);
	for (int i = 0; i < count && !r; i++) {
		script_complete(s, false, 0, IBV_WR_SEND, (struct ibv_wc){ .opcode = IBV_WC_SEND });
	}
}

/* Requests that were built before are forgotten, with their ids. */
static void batches_of_no_use(struct script *s, struct ibv_ah *ah)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(s->qp);

	step("abort");
	ibv_wr_start(ex);
	build(ex, ah, s, 0);
	build(ex, ah, s, 1);
	ibv_wr_abort(ex);
	step("unsignalled");
	ibv_wr_start(ex);
	build(ex, ah, s, 0);
	ex->wr_flags = 0;
	ibv_wr_send(ex);
	step("-> %d", ibv_wr_complete(ex));
}

static void list(struct script *s, struct ibv_ah *ah)
{
	struct ibv_sge sge = script_sge(s, 0x80, 24);
	struct ibv_send_wr wr[5];

	for (int i = 0; i < 5; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = 0x4000 + i,
			.next = i < 4 ? &wr[i + 1] : NULL,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED | (i == 2 ? IBV_SEND_INLINE : 0),
			.sg_list = &sge,
			.num_sge = 1,
			.wr.ud = { .ah = ah, .remote_qpn = 0x70, .remote_qkey = 1 },
		};
	}
	wr[4].send_flags = 0;
	script_send(s, wr);
	for (int i = 0; i < 2; i++)
		script_complete(
			s, false, 0, IBV_WR_SEND,
			(struct ibv_wc){ .opcode = IBV_WC_SEND,
					 .status = i ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_SUCCESS });
}

static void receives(struct script *s)
{
	for (int i = 0; i < 11; i++)
		script_recv(s, 1 + i % 3, 100 + i);
	for (int i = 0; i < 3; i++)
		script_complete(s, true, i, 0,
				(struct ibv_wc){ .opcode = IBV_WC_RECV,
						 .byte_len = 7 * i,
						 .src_qp = 0x77,
						 .status = i == 2 ? IBV_WC_LOC_LEN_ERR : 0 });
	script_recv(s, 3, 50);
}

int main(void)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.hop_limit = 1 };
	struct script s = { 0 };
	struct ibv_ah *ah;

	script_open(&s);
	create(&s);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(&s, state);
	ah = ibv_create_ah(s.pd, &attr);
	must(ah, "ah");
	batch(&s, ah, 4);
	batches_of_no_use(&s, ah);
	batch(&s, ah, 1);
	list(&s, ah);
	receives(&s);
	step("destroy");
	must(!ibv_destroy_ah(ah), "destroy ah");
	script_qp_close(&s);
	script_close(&s);
	return 0;
}
