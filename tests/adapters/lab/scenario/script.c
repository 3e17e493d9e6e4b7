/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void step(const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (lab_step)
		lab_step("%s", text);
	else
		puts(text);
}

void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

void script_open(struct script *s)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	void *buffer = mmap((void *)SCRIPT_BUFFER, SCRIPT_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	must(buffer == (void *)SCRIPT_BUFFER, "buffer");
	if (lab_name)
		lab_name(buffer, SCRIPT_BYTES, "buffer");
	for (int i = 0; i < SCRIPT_BYTES; i++)
		((uint8_t *)buffer)[i] = i * 7;
	must(list && list[0], "device");
	step("open");
	s->context = ibv_open_device(list[0]);
	must(s->context, "open");
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->context);
	must(s->pd, "pd");
	s->mr = ibv_reg_mr(s->pd, buffer, SCRIPT_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	must(s->mr, "mr");
	s->channel = ibv_create_comp_channel(s->context);
	must(s->channel, "channel");
	step("cq 100 and 255");
	s->send_cq = ibv_create_cq(s->context, 100, NULL, s->channel, 0);
	s->recv_cq = ibv_create_cq(s->context, 255, NULL, NULL, 1);
	must(s->send_cq && s->recv_cq, "cq");
}

void script_close(struct script *s)
{
	step("close");
	must(!ibv_destroy_cq(s->recv_cq) && !ibv_destroy_cq(s->send_cq), "destroy cq");
	must(!ibv_destroy_comp_channel(s->channel), "destroy channel");
	must(!ibv_dereg_mr(s->mr) && !ibv_dealloc_pd(s->pd), "mr and pd");
	must(!ibv_close_device(s->context), "close");
}

void script_qp(struct script *s, enum ibv_qp_type type, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.srq = s->srq,
		.cap = *cap,
		.qp_type = type,
	};

	step("qp type=%d send=%u/%u receive=%u/%u inline=%u", type, cap->max_send_wr,
	     cap->max_send_sge, cap->max_recv_wr, cap->max_recv_sge, cap->max_inline_data);
	s->qp = ibv_create_qp(s->pd, &attr);
	must(s->qp, "qp");
	step("-> send=%u/%u receive=%u/%u inline=%u", attr.cap.max_send_wr, attr.cap.max_send_sge,
	     attr.cap.max_recv_wr, attr.cap.max_recv_sge, attr.cap.max_inline_data);
	s->sends = s->receives = 0;
	s->max_inline = attr.cap.max_inline_data;
}

void script_qp_close(struct script *s)
{
	step("destroy qp");
	must(!ibv_destroy_qp(s->qp), "destroy qp");
}

void script_modify(struct script *s, enum ibv_qp_state state)
{
	bool ud = s->qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qkey = 0x11111111,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = 0x55,
		.rq_psn = 0x123,
		.sq_psn = 0x456,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.ah_attr = { .port_num = 1,
			     .is_global = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE;

	step("modify to %d", state);
	switch (state) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
		break;
	case IBV_QPS_RTR:
		mask |= ud ? 0
			   : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	case IBV_QPS_RTS:
		mask |= IBV_QP_SQ_PSN | (ud ? 0
					    : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							 IBV_QP_MAX_QP_RD_ATOMIC);
		break;
	default:
		break;
	}
	must(!ibv_modify_qp(s->qp, &attr, mask), "modify");
}

struct ibv_sge script_sge(const struct script *s, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){ .addr = SCRIPT_BUFFER + offset,
				 .length = length,
				 .lkey = s->mr->lkey };
}

int script_send(struct script *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int count = 0, r;

	for (struct ibv_send_wr *each = wr; each; each = each->next)
		count++;
	step("post_send opcode=%d sges=%d flags=0x%x list=%d", wr->opcode, wr->num_sge,
	     wr->send_flags, count);
	r = ibv_post_send(s->qp, wr, &bad);
	if (r)
		step("-> errno %d", r);
	for (; wr != bad; wr = wr->next)
		s->sends++;
	return r;
}

struct ibv_send_wr script_request(const struct script *s, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, int sges, unsigned flags)
{
	struct ibv_send_wr wr = {
		.wr_id = 0x2000 + s->sends,
		.opcode = opcode,
		.send_flags = flags,
		.sg_list = sge,
		.num_sge = sges,
		.wr.rdma = { 0x100000000 + SCRIPT_REMOTE, SCRIPT_RKEY },
	};

	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htonl(0x01020304);
	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = SCRIPT_RKEY;
	return wr;
}

void script_post(struct script *s, struct ibv_send_wr *wr)
{
	if (!script_send(s, wr) && wr->send_flags & IBV_SEND_SIGNALED)
		script_complete(s, false, s->sends - 1, wr->opcode,
				(struct ibv_wc){ .byte_len = 8 });
}

int script_recv(struct script *s, int sges, uint32_t length)
{
	struct ibv_recv_wr wr = { .wr_id = 0x1000 + s->receives, .num_sge = sges }, *bad;
	struct ibv_sge sge[8];
	int r;

	for (int i = 0; i < sges; i++)
		sge[i] = script_sge(s, 0x100 * i, length);
	wr.sg_list = sge;
	step("post_recv sges=%d length=%u", sges, length);
	r = s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad);
	if (r)
		step("-> errno %d", r);
	else
		s->receives++;
	return r;
}

void script_complete(struct script *s, bool receive, uint32_t index, enum ibv_wr_opcode sent_as,
		     struct ibv_wc wc)
{
	struct ibv_cq *cq = receive ? s->recv_cq : s->send_cq;
	const struct lab_completion completion = {
		.cq = cq->handle,
		.qp = s->qp->handle,
		.receive = receive,
		.sent_as = sent_as,
		.index = index,
		.wc = wc,
	};

	must(lab_complete && !lab_complete(&completion), "complete");
	script_poll(cq);
}

void script_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };
	int n = ibv_poll_cq(cq, 1, &wc);

	if (n != 1)
		step("poll -> %d", n);
	else if (wc.status)
		step("poll -> wr_id=0x%llx status=%d vendor=0x%x", (unsigned long long)wc.wr_id,
		     wc.status, wc.vendor_err);
	else
		step("poll -> wr_id=0x%llx opcode=%d bytes=%u imm=0x%x flags=0x%x src=0x%x",
		     (unsigned long long)wc.wr_id, wc.opcode,
		     wc.opcode & IBV_WC_RECV ? wc.byte_len : 0,
		     wc.wc_flags & IBV_WC_WITH_IMM ? wc.imm_data : 0, wc.wc_flags, wc.src_qp);
}

void script_connect(struct script *s, const struct ibv_qp_cap *cap)
{
	script_qp(s, IBV_QPT_RC, cap);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		script_modify(s, state);
}

void script_receives(struct script *s, int rounds, int sges, int too_many)
{
	uint32_t posted = 0;

	for (int round = 0; round < rounds; round++) {
		for (; posted < 8u * (round + 1); posted++)
			script_recv(s, posted % sges, 128);
		for (uint32_t i = posted - 8; i < posted; i++)
			script_complete(
				s, true, i, 0,
				(struct ibv_wc){ .opcode = i % 3 == 2 ? IBV_WC_RECV_RDMA_WITH_IMM
								      : IBV_WC_RECV,
						 .byte_len = 24 + i,
						 .wc_flags = i % 3 ? IBV_WC_WITH_IMM : 0,
						 .imm_data = htonl(0xdeadbeef) });
	}
	script_recv(s, too_many, 128);
	while (!script_recv(s, 1, 64))
		;
}
