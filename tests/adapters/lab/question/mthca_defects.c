/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of other releases of this provider, which a provider must not repeat. */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <errno.h>

enum {
	ENTRY = 32, /* bytes of a completion */
	OP_SEND = 0x0a,
	IS_SEND = 0x80,
	ERROR_SEND = 0xff,
	SYNDROME_QP_OP = 0x02,
	NO_SUCH_QPN = 0x777,
};

static const struct ibv_qp_cap cap = { 4, 4, 1, 1, 0 };

static void entry(const struct ibv_cq *cq, uint32_t qpn, uint32_t syndrome, uint32_t wqe,
		  uint32_t last)
{
	const uint32_t cqe[ENTRY / 4] = { htonl(qpn), 0,	  0, 0, htonl(syndrome << 24), 0,
					  htonl(wqe), htonl(last) };

	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
}

/* A full completion queue can be resized, and keeps its entries. */
static void full_queue(struct script *s)
{
	struct ibv_cq *first = s->send_cq;
	struct ibv_wc wc[4];

	s->send_cq = ibv_create_cq(s->context, 1, NULL, NULL, 0);
	must(s->send_cq && s->send_cq->cqe == 1, "cq");
	script_connect(s, &cap);
	for (int i = 0; i < 2; i++) {
		struct ibv_sge sge = script_sge(s, 0, 8);
		struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);

		must(!script_send(s, &wr), "send");
		/* Slots of 64 bytes, behind those of four receives. */
		entry(s->send_cq, s->qp->qp_num, 0, (4 + i) * 64, OP_SEND << 24 | IS_SEND << 16);
	}
	must(!ibv_resize_cq(s->send_cq, 10), "resize");
	must(ibv_poll_cq(s->send_cq, 4, wc) == 2 && wc[1].wr_id == 0x2001, "both completions");
	script_qp_close(s);
	must(!ibv_destroy_cq(s->send_cq), "destroy cq");
	s->send_cq = first;
}

/* An atomic with more entries than fit into its slot is refused, although other requests may have
 * this number. */
static void long_atomic(struct script *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge[2] = { script_sge(s, 0, 8), script_sge(s, 8, 8) };
	struct ibv_send_wr wr;

	script_connect(s, &cap);
	must(!ibv_query_qp(s->qp, &attr, IBV_QP_CAP, &init) && init.cap.max_send_sge == 2, "caps");
	wr = script_request(s, IBV_WR_ATOMIC_FETCH_AND_ADD, sge, 2, IBV_SEND_SIGNALED);
	must(script_send(s, &wr) == EINVAL, "an atomic of two entries");
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_INLINE;
	must(script_send(s, &wr) == EINVAL, "an atomic with inline data");
	wr.opcode = IBV_WR_RDMA_READ;
	must(script_send(s, &wr) == EINVAL, "a read with inline data");
	script_qp_close(s);
}

/* The request behind a refused one is linked to the request before it. */
static void refused_request(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 8);
	struct ibv_send_wr wr = script_request(s, IBV_WR_LOCAL_INV, &sge, 1, IBV_SEND_SIGNALED);

	script_connect(s, &cap);
	must(script_send(s, &wr) == EINVAL, "an opcode");
	wr.opcode = IBV_WR_SEND;
	step("behind a refused request");
	must(!script_send(s, &wr), "send");
	script_qp_close(s);
}

/* A completion of an unknown queue pair hides no others, and a failure prints nothing. */
static void unknown_queue_pair(struct script *s)
{
	struct ibv_sge sge = script_sge(s, 0, 8);
	struct ibv_send_wr wr = script_request(s, IBV_WR_SEND, &sge, 1, IBV_SEND_SIGNALED);
	struct ibv_wc wc[4];

	script_connect(s, &cap);
	must(!script_send(s, &wr) && !script_send(s, &wr), "send");
	entry(s->send_cq, s->qp->qp_num, 0, 4 * 64, OP_SEND << 24 | IS_SEND << 16);
	entry(s->send_cq, NO_SUCH_QPN, 0, 4 * 64, OP_SEND << 24 | IS_SEND << 16);
	entry(s->send_cq, s->qp->qp_num, SYNDROME_QP_OP, 5 * 64, (uint32_t)ERROR_SEND << 24);
	must(ibv_poll_cq(s->send_cq, 4, wc) == 2, "two completions");
	must(!wc[0].status && wc[1].status == IBV_WC_LOC_QP_OP_ERR, "their statuses");
	script_qp_close(s);
}

/* A queue pair with an SRQ refuses receives, because they would never complete. */
static void shared_receives(struct script *s)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_sge sge = script_sge(s, 0, 8);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad = NULL;

	s->srq = ibv_create_srq(s->pd, &attr);
	must(s->srq, "srq");
	script_connect(s, &cap);
	must(ibv_post_recv(s->qp, &wr, &bad) > 0 && bad == &wr, "a receive beside the SRQ");
	script_qp_close(s);
	must(!ibv_destroy_srq(s->srq), "destroy srq");
	s->srq = NULL;
}

/* Attributes of an address that do not fit into their bits are refused, and so are sizes. Each
 * refusal sets errno. */
static void values(struct script *s)
{
	static const struct ibv_ah_attr all[] = {
		{ .port_num = 0, .dlid = 1 },
		{ .port_num = 1 },
		{ .port_num = 1, .dlid = 1, .sl = 16 },
		{ .port_num = 1, .dlid = 1, .static_rate = 4 },
	};
	struct ibv_qp_init_attr init = {
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.cap = { 1 << 17, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ibv_ah_attr attr = all[i];

		errno = 0;
		must(!ibv_create_ah(s->pd, &attr) && errno == EINVAL, "an address");
	}
	errno = 0;
	must(!ibv_create_qp(s->pd, &init) && errno == EINVAL, "the size of a queue pair");
	errno = 0;
	must(!ibv_create_cq(s->context, 131073, NULL, NULL, 0) && errno == EINVAL, "a large cq");
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	full_queue(&s);
	long_atomic(&s);
	refused_request(&s);
	unknown_queue_pair(&s);
	shared_receives(&s);
	values(&s);
	script_close(&s);
	return 0;
}
