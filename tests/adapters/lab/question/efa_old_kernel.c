/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The driver of an old kernel answers with fewer bytes. It names neither the largest batch nor the
 * smallest ring, and its completion queues raise no events. Post one batch of many requests, and
 * complete its last one. The trace shows ring and doorbell.
 */
#include "tests/adapters/lab/scenario/script.h"

#include <errno.h>

enum {
	SMALL = 3,
	MANY = 100,
};

static struct ibv_qp *queue_pair(struct script *s, uint32_t requests)
{
	const struct ibv_qp_cap cap = { requests, 4, 1, 1, 0 };

	script_qp(s, IBV_QPT_UD, &cap);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
	return s->qp;
}

static void post_batch(struct script *s, struct ibv_ah *ah)
{
	struct ibv_sge sge = script_sge(s, 0, 64);
	struct ibv_send_wr wr[MANY], *bad;

	for (int i = 0; i < MANY; i++) {
		wr[i] = (struct ibv_send_wr){
			.next = i < MANY - 1 ? &wr[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { .ah = ah, .remote_qpn = 0x66, .remote_qkey = 0x11111111 },
		};
	}
	step("a batch");
	must(!ibv_post_send(s->qp, wr, &bad), "post");
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr ah_attr = { .port_num = 1, .is_global = 1 };
	const struct ibv_wc wc = { .opcode = IBV_WC_SEND };
	struct script s = { 0 };
	struct ibv_qp *small;
	static char buffer[4096];
	struct ibv_ah *ah;

	s.context = list ? ibv_open_device(list[0]) : NULL;
	must(s.context, "open");
	s.pd = ibv_alloc_pd(s.context);
	s.mr = ibv_reg_mr(s.pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	s.channel = ibv_create_comp_channel(s.context);
	must(!ibv_create_cq(s.context, MANY, NULL, s.channel, 0) && errno == EOPNOTSUPP,
	     "no completion queue raises events");
	must(!ibv_destroy_comp_channel(s.channel), "channel");
	s.send_cq = s.recv_cq = ibv_create_cq(s.context, MANY, NULL, NULL, 0);
	must(s.send_cq && ibv_req_notify_cq(s.send_cq, 0) == EOPNOTSUPP, "cq");
	ah = ibv_create_ah(s.pd, &ah_attr);
	must(ah, "ah");
	small = queue_pair(&s, SMALL);
	queue_pair(&s, MANY);
	post_batch(&s, ah);
	s.sends = 1;
	script_complete(&s, false, 0, IBV_WR_SEND, wc);
	must(!ibv_destroy_qp(small), "destroy");
	script_qp_close(&s);
	must(!ibv_destroy_ah(ah) && !ibv_destroy_cq(s.send_cq) && !ibv_dereg_mr(s.mr) &&
		     !ibv_dealloc_pd(s.pd) && !ibv_close_device(s.context),
	     "close");
	ibv_free_device_list(list);
	return 0;
}
