/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which requests complete, how often, in which order, and what their completions say. */
#include "rdma-conform/rules.h"

static bool signaled(const struct check *c, const struct message *m)
{
	const struct step *qp =
		m->step->kind == 'q' ? qp_step(c, m->step->side, m->step->object) : NULL;

	return HAS(m->step, SIGNALED) || (qp && HAS(qp, SIGNAL_ALL));
}

static uint8_t cq_of(const struct check *c, const struct message *m)
{
	const struct step *qp = qp_step(c, m->step->side, m->step->object);

	if (!qp)
		return NO_OBJECT;
	return is_send_side(m) || qp->cq2 == NO_OBJECT ? qp->cq : qp->cq2;
}

/* A drain of the completion queue of @m that came behind @m and ended in time. */
static const struct event *drained(const struct check *c, const struct message *m)
{
	FOR_EACH_DONE(c, e, VERB_DRAIN)
	{
		const struct step *s = step_of(c, e);

		if (e->side == m->step->side && s->object == cq_of(c, m) && before(c, m->posted, e))
			return e;
	}
	return NULL;
}

static bool vanished(const struct check *c, const struct message *m)
{
	for (unsigned int i = 0; i < m->releases; i++)
		if (m->released[i].cause == CAUSE_RESET || m->released[i].cause == CAUSE_DESTROY)
			return true;
	return false;
}

static void completes(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		const struct event *end;

		if (!is_send_side(m) || !signaled(c, m) || !m->accepted)
			continue;
		end = drained(c, m);
		if (!end || (vanished(c, m) && m->completions < m->accepted))
			continue;
		keeps(c, end, m->completions >= m->accepted,
		      "#%u was posted %u times and completed %u times", m->step->id, m->accepted,
		      m->completions);
	}
}

static void completes_once(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		if (!m->completions)
			continue;
		keeps(c, m->last, m->completions <= m->accepted,
		      "#%u was accepted %u times and completed %u times", m->step->id, m->accepted,
		      m->completions);
	}
}

static void unsignaled_is_silent(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		if (!is_send_side(m) || signaled(c, m) || !m->accepted)
			continue;
		keeps(c, m->first, !m->successes,
		      "#%u is not signaled and has a completion with success", m->step->id);
	}
}

static void known_request(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		keeps(c, e, message_of_wc(c, e), "wr_id 0x%llx was never posted here",
		      (unsigned long long)e->wc.wr_id);
	}
}

static bool same_queue(const struct message *a, const struct message *b)
{
	return a->step->verb == b->step->verb && a->step->object == b->step->object &&
	       a->step->kind == b->step->kind && a->posted->thread == b->posted->thread;
}

/* Completions of one thread's polling, in the order of the posts of one queue. */
static void order_of(struct check *c, bool receives)
{
	const struct message *last[OBJECTS] = {};

	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e), **place;

		if (!m || m->step->kind != 'q' || is_send_side(m) == receives)
			continue;
		place = &last[m->step->object];
		if (*place && same_queue(*place, m) && (*place)->last->side == e->side &&
		    (*place)->last->thread == e->thread) {
			keeps(c, e, m->order >= (*place)->order,
			      "#%u completed behind #%u, which was posted later", m->step->id,
			      (*place)->step->id);
		}
		*place = m;
	}
}

static void send_order(struct check *c)
{
	order_of(c, false);
}

static void recv_order(struct check *c)
{
	order_of(c, true);
}

static void queue_number(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);
		const struct event *qp =
			m && m->step->kind == 'q' ? made(c, e->side, 'q', m->step->object) : NULL;

		if (!qp)
			continue;
		keeps(c, e, e->wc.qp_num == qp->done.value[0],
		      "#%u is of queue pair 0x%x, the completion says 0x%x", m->step->id,
		      (unsigned int)qp->done.value[0], e->wc.qp_num);
	}
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
	return m->partner && m->partner->step->operation == OP_WRITE ? IBV_WC_RECV_RDMA_WITH_IMM
								     : IBV_WC_RECV;
}

static void opcode(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);

		if (!m || e->wc.status || (!is_send_side(m) && !m->partner))
			continue;
		keeps(c, e, e->wc.opcode == wc_opcode(m), "the opcode of #%u is %u, not %u",
		      m->step->id, e->wc.opcode, wc_opcode(m));
	}
}

static void recv_length(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		uint32_t length;

		if (is_send_side(m) || !m->partner || m->accepted != 1)
			continue;
		length = step_length(m->partner->step);
		if (HAS(qp_step(c, m->partner->step->side, m->partner->step->object), UD))
			length += 40;
		keeps(c, m->partner_wc, m->partner_wc->wc.length == length,
		      "byte_len of receive #%u is %u, the message #%u has %u", m->step->id,
		      m->partner_wc->wc.length, m->partner->step->id, length);
	}
}

static void immediate(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		bool has, must;

		if (is_send_side(m) || !m->partner || m->accepted != 1)
			continue;
		must = HAS(m->partner->step, IMM);
		has = m->partner_wc->wc.flags & IBV_WC_WITH_IMM;
		exercised(c);
		if (has != must)
			broken(c, m->partner_wc, "IBV_WC_WITH_IMM is %sset at receive #%u",
			       has ? "" : "not ", m->step->id);
		else if (must && m->partner_wc->wc.imm != m->partner->step->id)
			broken(c, m->partner_wc, "the immediate of #%u arrived as 0x%x",
			       m->partner->step->id, m->partner_wc->wc.imm);
	}
}

static void flush_last(struct check *c)
{
	const struct event *failed[2][OBJECTS][2] = {};

	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);
		const struct event **place;

		if (!m || m->step->kind != 'q')
			continue;
		place = &failed[e->side][m->step->object][is_send_side(m)];
		if (*place && (*place)->thread == e->thread) {
			exercised(c);
			if (!e->wc.status)
				broken(c, e,
				       "#%u succeeded behind a request of its queue that failed",
				       m->step->id);
			else if (e->wc.status != IBV_WC_WR_FLUSH_ERR)
				broken(c, e,
				       "#%u has status %u behind a request of its queue that failed",
				       m->step->id, e->wc.status);
		}
		if (e->wc.status && !*place)
			*place = e;
	}
}

const struct judge rules_completion[] = {
	{ 21, completes },     { 22, completes_once }, { 23, unsignaled_is_silent },
	{ 24, known_request }, { 25, send_order },     { 26, recv_order },
	{ 27, queue_number },  { 28, opcode },	       { 29, recv_length },
	{ 30, immediate },     { 31, flush_last },
};
const unsigned int rules_completion_count = ARRAY_SIZE(rules_completion);
