/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Mistakes of other releases of this provider, which a provider must not repeat. */
#include "tests/adapters/lab/scenario/script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum {
	ENTRY = 32, /* bytes of a completion */
	RECEIVED = 1 << 1,
	INVALIDATED = 1 << 3,
	ROOM = 4,
};

static const struct ibv_qp_cap cap = { ROOM, 1, 2, 1, 16 };

/* Write an entry for the queue pair with this number, from 1 on; 0: for none. */
static void entry(const struct ibv_cq *cq, uint32_t qp, uint32_t first, uint32_t flags)
{
	uint32_t cqe[ENTRY / 4] = { htole32(first), 0, htole32(qp), 0, htole32(SCRIPT_RKEY) };

	cqe[7] = htole32(flags << 16);
	must(lab_entry && !lab_entry(cq->handle, cqe, sizeof(cqe)), "entry");
}

static int post(struct script *s, enum ibv_wr_opcode opcode, int sges, unsigned flags)
{
	struct ibv_sge sge[2] = { script_sge(s, 0, 8), script_sge(s, 8, 8) };
	struct ibv_send_wr wr = script_request(s, opcode, sge, sges, flags | IBV_SEND_SIGNALED);

	return script_send(s, &wr);
}

/* Refused requests take no room in the queue. */
static void refused(struct script *s)
{
	struct ibv_wc wc[ROOM];

	must(post(s, IBV_WR_LOCAL_INV, 0, 0) == EINVAL, "unknown operation");
	must(post(s, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0) == EINVAL, "atomic of two entries");
	must(post(s, IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE) == EINVAL, "read with inline data");
	must(post(s, IBV_WR_SEND, -1, 0) == EINVAL, "negative number of entries");
	must(post(s, IBV_WR_SEND, 2, IBV_SEND_INLINE) == 0, "inline data as granted");
	for (int i = 1; i < ROOM; i++)
		must(!post(s, IBV_WR_SEND, 1, 0), "room");
	must(post(s, IBV_WR_SEND, 1, 0) == ENOMEM, "full");
	entry(s->send_cq, 1, ROOM, 0);
	must(ibv_poll_cq(s->send_cq, ROOM, wc) == ROOM, "all complete");
}

/* An entry of no queue pair hides no others. */
static void nobody(struct script *s)
{
	struct ibv_wc wc;

	must(!post(s, IBV_WR_SEND, 1, 0), "send");
	entry(s->send_cq, 0, ROOM + 1, 0);
	entry(s->send_cq, 1, ROOM + 1, 0);
	must(ibv_poll_cq(s->send_cq, 1, &wc) == 1 && !wc.status, "entry of nobody");
}

/* A queue of one receive has room for one, and an invalidated key is reported. */
static void receives(struct script *s)
{
	struct ibv_wc wc;

	must(!script_recv(s, 1, 64) && script_recv(s, 1, 64) == ENOMEM, "one receive");
	entry(s->recv_cq, 1, 0, RECEIVED | INVALIDATED);
	must(ibv_poll_cq(s->recv_cq, 1, &wc) == 1 && wc.wc_flags == IBV_WC_WITH_INV &&
		     wc.invalidated_rkey == SCRIPT_RKEY,
	     "invalidated key");
}

/* A queue pair goes to RESET from RTS, and works again. */
static void again(struct script *s)
{
	struct ibv_wc wc;

	must(!post(s, IBV_WR_SEND, 1, 0), "send");
	script_modify(s, IBV_QPS_RESET);
	must(post(s, IBV_WR_SEND, 1, 0) == EINVAL, "RESET");
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		script_modify(s, to);
	must(!post(s, IBV_WR_SEND, 1, 0), "send");
	entry(s->send_cq, 1, 1, 0);
	must(ibv_poll_cq(s->send_cq, 1, &wc) == 1 && !wc.status, "works again");
}

/* Completions of a queue pair that was destroyed are gone. */
static void destroyed(struct script *s)
{
	struct ibv_wc wc;

	must(!post(s, IBV_WR_SEND, 1, 0) && !script_recv(s, 1, 64), "send and receive");
	entry(s->send_cq, 1, 2, 0);
	entry(s->recv_cq, 1, 0, RECEIVED);
	script_qp_close(s);
	must(!ibv_poll_cq(s->send_cq, 1, &wc) && !ibv_poll_cq(s->recv_cq, 1, &wc), "gone");
}

int main(void)
{
	struct script s = { 0 };

	script_open(&s);
	script_connect(&s, &cap);
	refused(&s);
	nobody(&s);
	receives(&s);
	again(&s);
	destroyed(&s);
	script_close(&s);
	return 0;
}
