/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check which requests complete, how often, in which order, and with which values. */
#include "rdma-conform/rules.h"

static bool signaled(const struct check *c, const struct message *m)
{
	const struct step *qp = qp_step(c, m->step->side, m->step->object);

	return HAS(m->step, SIGNALED) || (qp && HAS(qp, SIGNAL_ALL));
}

/* A drain of the completion queue of @m that began after @m and ended in time. */
static const struct event *drained(const struct check *c, const struct message *m)
{
	const struct step *qp = qp_step(c, m->step->side, m->step->object);

	FOR_EACH_DONE(c, e, VERB_DRAIN)
	if (qp && e->side == m->step->side && step_of(c, e)->object == qp->cq &&
	    before(c, m->posted, e))
		return e;
	return NULL;
}

RULE(completes)
{
	const struct event *end;

	if (!is_send_side(m) || !signaled(c, m) || !m->accepted)
		return;
	end = drained(c, m);
	if (!end || (m->completions < m->accepted &&
		     (released_by(m, CAUSE_RESET) || released_by(m, CAUSE_DESTROY))))
		return;
	keeps(c, end, m->completions >= m->accepted,
	      "#%u was posted %u times and completed %u times", s->id, m->accepted, m->completions);
}

RULE(completes_once)
{
	if (m->completions)
		keeps(c, m->last, m->completions <= m->accepted,
		      "#%u was accepted %u times and completed %u times", s->id, m->accepted,
		      m->completions);
}

RULE(unsignaled_is_silent)
{
	if (is_send_side(m) && !signaled(c, m) && m->accepted)
		keeps(c, m->first, !m->successes,
		      "#%u is not signaled and has a completion with success", s->id);
}

RULE(known_request)
{
	FOR_EACH_WC(c, wc)
	keeps(c, wc, message_of_wc(c, wc), "wr_id 0x%llx was never posted here",
	      (unsigned long long)wc->wc.wr_id);
}

/* Completions that one thread polled are in the order of the posts to one queue. The argument is
 * the verb that posts. */
RULE(order)
{
	const struct message *last[OBJECTS] = {};

	FOR_EACH_WC(c, wc)
	{
		const struct message *this = message_of_wc(c, wc), **place;

		if (!this || this->step->kind != 'q' || this->step->verb != c->rule->argument)
			continue;
		place = &last[this->step->object];
		if (*place && same_queue(*place, this) && (*place)->last->thread == wc->thread)
			keeps(c, wc, this->order >= (*place)->order,
			      "#%u completed behind #%u, which was posted later", this->step->id,
			      (*place)->step->id);
		*place = this;
	}
}

RULE(queue_number)
{
	const struct event *qp = s->kind == 'q' ? made(c, e->side, 'q', s->object) : NULL;

	if (qp)
		keeps(c, e, e->wc.qp_num == qp->done.value[0],
		      "#%u is of queue pair 0x%x, the completion says 0x%x", s->id,
		      (unsigned int)qp->done.value[0], e->wc.qp_num);
}

static enum ibv_wc_opcode wc_opcode(const struct message *m)
{
	static const enum ibv_wc_opcode opcodes[OP_COUNT] = {
		[OP_SEND] = IBV_WC_SEND,      [OP_WRITE] = IBV_WC_RDMA_WRITE,
		[OP_READ] = IBV_WC_RDMA_READ, [OP_FADD] = IBV_WC_FETCH_ADD,
		[OP_CAS] = IBV_WC_COMP_SWAP,  [OP_BIND] = IBV_WC_BIND_MW,
		[OP_INV] = IBV_WC_LOCAL_INV,
	};

	if (is_send_side(m))
		return opcodes[m->step->operation];
	return m->partner->step->operation == OP_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

RULE(opcode)
{
	if (!e->wc.status && (is_send_side(m) || m->partner))
		keeps(c, e, e->wc.opcode == wc_opcode(m), "the opcode of #%u is %u, not %u", s->id,
		      e->wc.opcode, wc_opcode(m));
}

/* A receive that was posted once and received a known message. */
static bool took_message(const struct message *m)
{
	return !is_send_side(m) && m->partner && m->accepted == 1;
}

RULE(recv_length)
{
	uint32_t length;

	if (!took_message(m))
		return;
	length = step_length(m->partner->step);
	if (HAS(qp_step(c, m->partner->step->side, m->partner->step->object), UD))
		length += 40;
	keeps(c, m->partner_wc, m->partner_wc->wc.byte_len == length,
	      "byte_len of receive #%u is %u, the message #%u has %u", s->id,
	      m->partner_wc->wc.byte_len, m->partner->step->id, length);
}

RULE(immediate)
{
	bool has, must;

	if (!took_message(m))
		return;
	must = HAS(m->partner->step, IMM);
	has = m->partner_wc->wc.wc_flags & IBV_WC_WITH_IMM;
	keeps(c, m->partner_wc, has == must, "IBV_WC_WITH_IMM is %sset at receive #%u",
	      has ? "" : "not ", s->id);
	if (has && must)
		keeps(c, m->partner_wc, be32toh(m->partner_wc->wc.imm_data) == m->partner->step->id,
		      "the immediate of #%u arrived as 0x%x", m->partner->step->id,
		      be32toh(m->partner_wc->wc.imm_data));
}

RULE(flush_last)
{
	const struct event *failed[2][OBJECTS][2] = {};

	FOR_EACH_WC(c, wc)
	{
		const struct message *this = message_of_wc(c, wc);
		const struct event **place;

		if (!this || this->step->kind != 'q')
			continue;
		place = &failed[wc->side][this->step->object][is_send_side(this)];
		if (*place && (*place)->thread == wc->thread)
			keeps(c, wc, wc->wc.status == IBV_WC_WR_FLUSH_ERR,
			      "#%u has status %u behind a request of its queue that failed",
			      this->step->id, wc->wc.status);
		if (wc->wc.status && !*place)
			*place = wc;
	}
}
