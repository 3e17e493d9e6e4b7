/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that post requests: by ibv_post_send(), in lists, and by the work request interface. */
#include <stdlib.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

#define NO_INDEX 255

static uint64_t wr_id(const struct agent *agent, uint8_t id)
{
	return (uint64_t)agent->program->number << 16 | id;
}

/* A deregistered region has no key, but its memory still exists: a request that names it has a
 * wrong key. */
static bool pieces_to_sges(struct agent *agent, const struct step *step, struct ibv_sge *sge)
{
	for (unsigned int i = 0; i < step->pieces; i++) {
		struct object *o = object_of(agent, 'r', step->piece[i].region);

		if (!o || !o->region.memory || step->piece[i].offset > o->region.length)
			return false;
		sge[i].addr = (uintptr_t)o->region.memory + step->piece[i].offset;
		sge[i].length = step->piece[i].length;
		sge[i].lkey = o->there ? o->region.mr->lkey : 0;
		if (!o->there || HAS(step, BAD_LKEY))
			sge[i].lkey ^= 0x00a5a500;
	}
	return true;
}

/* Return the region or window of the other side that @step names, or NULL if it does not exist. */
static const struct place *remote_of(const struct agent *agent, const struct step *step)
{
	const struct place *places = step->remote_window ? agent->other.mw : agent->other.region;

	return step->remote != NO_OBJECT && places[step->remote].there ? &places[step->remote]
								       : NULL;
}

static bool remote_find(struct agent *agent, const struct step *step, uint64_t *ret_address,
			uint32_t *ret_key)
{
	const struct place *place = remote_of(agent, step);

	if (!place)
		return false;
	*ret_address = place->address + step->remote_offset;
	*ret_key = place->key ^ (HAS(step, BAD_RKEY) ? 0x00a5a500 : 0);
	return true;
}

static bool fill_send(struct agent *agent, struct qp *qp, const struct step *step,
		      struct ibv_send_wr *wr)
{
	const struct place *window = step->remote_window ? remote_of(agent, step) : NULL;

	wr->opcode = HAS(step, IMM) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	if (HAS(step, IMM))
		wr->imm_data = htobe32(step->id);
	if (qp->qp->qp_type == IBV_QPT_UD) {
		wr->wr.ud.ah = HAS(step, MCAST) ? qp->group : qp->ah;
		wr->wr.ud.remote_qpn =
			HAS(step, MCAST) ? 0xffffff : agent->other.qp[step->object].number;
		wr->wr.ud.remote_qkey = program_qkey(agent->program) + HAS(step, BAD_QKEY);
		return wr->wr.ud.ah;
	}
	if (!HAS(step, INVALIDATE))
		return true;
	wr->opcode = IBV_WR_SEND_WITH_INV;
	wr->invalidate_rkey = window ? window->key : 0;
	return window;
}

static bool fill_atomic(struct agent *agent, const struct step *step, struct ibv_send_wr *wr)
{
	wr->opcode =
		step->operation == OP_CAS ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr->wr.atomic.compare_add = step->x;
	wr->wr.atomic.swap = step->y;
	return remote_find(agent, step, &wr->wr.atomic.remote_addr, &wr->wr.atomic.rkey);
}

static bool fill_bind(struct agent *agent, const struct step *step, struct ibv_send_wr *wr)
{
	struct object *r = object_there(agent, 'r', step->piece[0].region);
	struct object *w = object_there(agent, 'w', step->mw);

	if (!w || !step->pieces || !r)
		return false;
	wr->num_sge = 0;
	wr->opcode = IBV_WR_BIND_MW;
	wr->bind_mw.mw = w->mw.mw;
	wr->bind_mw.rkey = ibv_inc_rkey(w->mw.mw->rkey);
	wr->bind_mw.bind_info.mr = r->region.mr;
	wr->bind_mw.bind_info.addr = (uintptr_t)r->region.memory + step->piece[0].offset;
	wr->bind_mw.bind_info.length = step->piece[0].length;
	wr->bind_mw.bind_info.mw_access_flags = access_flags(step->words);
	w->mw.address = wr->bind_mw.bind_info.addr;
	return true;
}

static bool fill_operation(struct agent *agent, struct qp *qp, const struct step *step,
			   struct ibv_send_wr *wr)
{
	struct object *w;

	switch (step->operation) {
	case OP_SEND:
		return fill_send(agent, qp, step, wr);
	case OP_WRITE:
	case OP_READ:
		wr->opcode = step->operation == OP_READ ? IBV_WR_RDMA_READ
			     : HAS(step, IMM)		? IBV_WR_RDMA_WRITE_WITH_IMM
							: IBV_WR_RDMA_WRITE;
		wr->imm_data = HAS(step, IMM) ? htobe32(step->id) : 0;
		return remote_find(agent, step, &wr->wr.rdma.remote_addr, &wr->wr.rdma.rkey);
	case OP_FADD:
	case OP_CAS:
		return fill_atomic(agent, step, wr);
	case OP_BIND:
		return fill_bind(agent, step, wr);
	case OP_INV:
		w = object_there(agent, 'w', step->mw);
		wr->opcode = IBV_WR_LOCAL_INV;
		wr->invalidate_rkey = w ? w->mw.mw->rkey : 0;
		return w && w->mw.address; /* an unbound window has no key to invalidate */
	default:
		return false;
	}
}

/* More pieces than any queue pair accepts. */
static struct ibv_sge many[4096];

static bool request_fill(struct agent *agent, struct qp *qp, const struct step *step,
			 struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	*wr = (struct ibv_send_wr){
		.wr_id = wr_id(agent, step->id),
		.sg_list = sge,
		.num_sge = step->pieces,
		.send_flags = (HAS(step, SIGNALED) ? IBV_SEND_SIGNALED : 0) |
			      (HAS(step, FENCE) ? IBV_SEND_FENCE : 0) |
			      (HAS(step, SOLICITED) ? IBV_SEND_SOLICITED : 0) |
			      (HAS(step, INLINE) ? IBV_SEND_INLINE : 0),
	};
	if (HAS(step, LONG)) {
		wr->sg_list = many;
		wr->num_sge = ARRAY_SIZE(many);
	}
	return pieces_to_sges(agent, step, sge) && fill_operation(agent, qp, step, wr);
}

static void wr_begin(struct ibv_qp_ex *qp, struct qp *own, const struct ibv_send_wr *wr)
{
	qp->wr_id = wr->wr_id;
	qp->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, wr->imm_data);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	default:
		ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	}
	if (own->qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
}

static void wr_data(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buffers[SGES];

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		ibv_wr_set_sge_list(qp, wr->num_sge, wr->sg_list);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++)
		buffers[i] = (struct ibv_data_buf){ (void *)(uintptr_t)wr->sg_list[i].addr,
						    wr->sg_list[i].length };
	ibv_wr_set_inline_data_list(qp, wr->num_sge, buffers);
}

/* Count all requests or none, because the interface does not name the refused one. */
static int post_by_wr(struct qp *qp, struct ibv_send_wr *wr, unsigned int *ret_bad)
{
	int r;

	ibv_wr_start(qp->extended);
	for (; wr; wr = wr->next) {
		wr_begin(qp->extended, qp, wr);
		wr_data(qp->extended, wr);
	}
	r = ibv_wr_complete(qp->extended);
	*ret_bad = r ? 0 : NO_INDEX;
	return r;
}

static int post_list(struct qp *qp, struct chain *chain, unsigned int *ret_bad)
{
	struct ibv_send_wr *bad = NULL;
	bool by_wr = qp->extended;
	int r;

	for (unsigned int i = 0; i < chain->count; i++) {
		chain->wr[i].next = i + 1 < chain->count ? &chain->wr[i + 1] : NULL;
		/* Only these operations have an ibv_wr_*() call. */
		by_wr &= chain->wr[i].opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD;
	}
	if (by_wr)
		return post_by_wr(qp, chain->wr, ret_bad);
	r = ibv_post_send(qp->qp, chain->wr, &bad);
	*ret_bad = r && bad >= chain->wr && bad < chain->wr + chain->count ? bad - chain->wr
									   : NO_INDEX;
	return r;
}

/* Expect @count completions of @step more. */
static void expect(struct agent *agent, struct qp *qp, const struct step *step, int count)
{
	bool signaled = HAS(step, SIGNALED) || qp->signal_all;

	if (count > 0) /* the thread that polls reads it from the post on */
		agent->owner[step->id] = (struct owner){ step->object, false, signaled };
	qp->sending += signaled ? count : 0;
}

/* The new key of a window is valid as soon as the bind is posted, and the program must store it.
 * Return the key. */
static uint32_t bound(struct agent *agent, const struct step *step, bool accepted)
{
	struct object *w = object_there(agent, 'w', step->mw);

	if (step->operation != OP_BIND || !w)
		return 0;
	if (accepted)
		w->mw.mw->rkey = ibv_inc_rkey(w->mw.mw->rkey);
	return w->mw.mw->rkey;
}

static void chain_post(struct agent_thread *t, struct qp *qp)
{
	const struct step *steps = t->agent->program->step;
	struct chain *chain = t->chain;
	unsigned int bad;
	uint16_t at = t->step;
	int r;

	/* A completion may come before the call returns. */
	for (unsigned int i = 0; i < chain->count; i++)
		expect(t->agent, qp, &steps[chain->step[i]], 1);
	r = post_list(qp, chain, &bad);
	for (unsigned int i = 0; i < chain->count; i++) {
		bool refused = r && (bad == NO_INDEX || i >= bad);

		expect(t->agent, qp, &steps[chain->step[i]], refused ? -1 : 0);
		t->step = chain->step[i];
		log_values(t, refused ? r : 0, !refused, r ? bad : NO_INDEX, 0, i,
			   bound(t->agent, &steps[chain->step[i]], !refused));
	}
	t->step = at;
	chain->count = 0;
}

/* Post the same request @n times, and stop at the first refusal. */
static void post_repeated(struct agent_thread *t, struct qp *qp, const struct step *step)
{
	struct chain one = { .count = 1, .qp = step->object };
	unsigned int bad = NO_INDEX, accepted = 0;
	int r = 0;

	if (!request_fill(t->agent, qp, step, &one.wr[0], one.sge[0])) {
		log_skip(t, SKIP_REQUEST);
		return;
	}
	while (!r && accepted < step->n) {
		expect(t->agent, qp, step, 1);
		r = post_list(qp, &one, &bad);
		expect(t->agent, qp, step, r ? -1 : 0);
		accepted += !r;
	}
	log_values(t, r, accepted, bad);
}

void chain_leave_out(struct agent_thread *t)
{
	uint16_t at = t->step;

	for (unsigned int i = 0; t->chain && i < t->chain->count; i++) {
		t->step = t->chain->step[i];
		log_skip(t, SKIP_LIST);
	}
	if (t->chain)
		t->chain->count = 0;
	t->step = at;
}

static void post_chained(struct agent_thread *t, struct qp *qp, const struct step *step)
{
	struct chain *chain = t->chain ?: need(calloc(1, sizeof(*chain)));

	t->chain = chain;
	if (chain->qp != step->object)
		chain_leave_out(t);
	chain->qp = step->object;
	if (!request_fill(t->agent, qp, step, &chain->wr[chain->count], chain->sge[chain->count])) {
		log_skip(t, SKIP_REQUEST);
		return;
	}
	chain->step[chain->count++] = t->step;
	if (!HAS(step, MORE) || chain->count == CHAIN)
		chain_post(t, qp);
}

void step_post(struct agent_thread *t, const struct step *step, struct object *o)
{
	if (step->n > 1)
		post_repeated(t, &o->qp, step);
	else
		post_chained(t, &o->qp, step);
}

void step_recv(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_sge sge[SGES] = {};
	struct ibv_recv_wr wr = {
		.wr_id = wr_id(t->agent, step->id),
		.sg_list = sge,
		.num_sge = step->pieces,
	}, *bad;
	unsigned int accepted = 0;
	int r = 0;

	if (!pieces_to_sges(t->agent, step, sge)) {
		log_skip(t, SKIP_REQUEST);
		return;
	}
	t->agent->owner[step->id] =
		(struct owner){ step->kind == 's' ? NO_OBJECT : step->object, true, false };
	for (unsigned int i = 0; !r && i < (step->n ?: 1); i++) {
		if (step->kind == 'q')
			o->qp.receiving++;
		r = step->kind == 's' ? ibv_post_srq_recv(o->srq, &wr, &bad)
				      : ibv_post_recv(o->qp.qp, &wr, &bad);
		if (r && step->kind == 'q')
			o->qp.receiving--;
		accepted += !r;
	}
	log_done(t, r)->done.value[0] = accepted;
}
