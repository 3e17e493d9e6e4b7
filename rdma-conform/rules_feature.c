/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Atomic operations, datagrams and groups, shared receive queues, and what queries answer. */
#include <inttypes.h>

#include "rdma-conform/rules.h"

static bool same_word(const struct message *a, const struct message *b)
{
	return a->step->side == b->step->side && a->step->object == b->step->object &&
	       a->step->remote == b->step->remote &&
	       a->step->remote_offset == b->step->remote_offset;
}

static bool is_atomic(const struct message *m)
{
	return m->step->operation == OP_FADD || m->step->operation == OP_CAS;
}

/* The value that was set before @m in the word of @m. */
static bool word_set(const struct check *c, const struct message *m, uint64_t *ret_word)
{
	unsigned int count = 0;

	FOR_EACH_DONE(c, e, VERB_SET)
	{
		const struct step *s = step_of(c, e);

		if (e->side == m->step->side || s->piece[0].region != m->step->remote ||
		    s->piece[0].offset != m->step->remote_offset || !before(c, e, m->posted))
			continue;
		*ret_word = s->x;
		count++;
	}
	return count == 1;
}

/* The word before and behind the operations of @m, which follow those of the same queue. False:
 * one of them failed, or runs in another queue. */
static bool word_at(const struct check *c, const struct message *m, uint64_t *ret_before,
		    uint64_t *ret_behind)
{
	uint64_t word;

	if (!word_set(c, m, &word))
		return false;
	for (unsigned int order = 0; order <= m->order; order++)
		FOR_EACH_MESSAGE(c, o)
		{
			if (!is_atomic(o) || o->step->remote != m->step->remote ||
			    o->step->side != m->step->side || o->order != order)
				continue;
			if (!same_word(o, m) || o->successes != o->accepted || o->failed)
				return false;
			for (unsigned int i = 0; i < o->accepted; i++) {
				*ret_before = word;
				if (o->step->operation == OP_FADD)
					word += o->step->x;
				else if (word == o->step->x)
					word = o->step->y;
			}
		}
	*ret_behind = word;
	return true;
}

static bool is_last(const struct check *c, const struct message *m)
{
	FOR_EACH_MESSAGE(c, o)
	if (o != m && is_atomic(o) && o->step->remote == m->step->remote &&
	    o->step->side == m->step->side && o->order > m->order)
		return false;
	return true;
}

/* Look for a read of the 8 bytes at @piece of @side behind all of @m. */
static void word_is(struct check *c, const struct message *m, uint8_t side, uint8_t region,
		    uint32_t offset, uint64_t word)
{
	FOR_EACH_DONE(c, e, VERB_PEEK)
	{
		const struct piece *p = &step_of(c, e)->piece[0];

		if (e->side != side || p->region != region || p->offset != offset || !m->last ||
		    !before(c, m->last, e))
			continue;
		keeps(c, e, e->done.value[0] == word,
		      "the word is %" PRIu64 " behind #%u, not %" PRIu64, e->done.value[0],
		      m->step->id, word);
	}
}

/* The argument is the operation that comes last. */
static void atomic_word(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		uint64_t old, word;

		if (m->step->operation == c->rule->argument && m->accepted && is_last(c, m) &&
		    word_at(c, m, &old, &word))
			word_is(c, m, !m->step->side, m->step->remote, m->step->remote_offset,
				word);
	}
}

static void atomic_result(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		uint64_t old, word;

		if (is_atomic(m) && m->accepted && m->step->pieces && word_at(c, m, &old, &word))
			word_is(c, m, m->step->side, m->step->piece[0].region,
				m->step->piece[0].offset, old);
	}
}

static void invalidate_told(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		uint32_t key = 0;

		if (!takes_receive(m) || !HAS(m->step, INVALIDATE) || !m->partner ||
		    m->accepted != 1)
			continue;
		FOR_EACH_MESSAGE(c, bind)
		if (bind->step->operation == OP_BIND && bind->step->side != m->step->side &&
		    bind->step->mw == m->step->remote)
			key = bind->posted->done.value[4];
		if (!key)
			continue;
		keeps(c, m->partner_wc,
		      !(!(m->partner_wc->wc.flags & IBV_WC_WITH_INV) ||
			m->partner_wc->wc.imm != be32toh(key)),
		      "the receive of #%u does not name key 0x%x", m->step->id, key);
	}
}

/* The datagram that @wc received, by its immediate. */
static const struct message *datagram_of(const struct check *c, const struct event *wc)
{
	const struct message *r = message_of_wc(c, wc), *m = &c->messages[wc->wc.imm & 0xff];
	const struct step *qp = r ? qp_step(c, wc->side, r->step->object) : NULL;

	if (!qp || !HAS(qp, UD) || is_send_side(r) || wc->wc.status ||
	    !(wc->wc.flags & IBV_WC_WITH_IMM) || !m->step || !takes_receive(m) ||
	    m->step->side == wc->side)
		return NULL;
	return m;
}

static void datagram_source(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = datagram_of(c, e);
		const struct event *qp = m ? made(c, !e->side, 'q', m->step->object) : NULL;

		if (!qp)
			continue;
		keeps(c, e, e->wc.src_qp == qp->done.value[0],
		      "#%u came from queue pair 0x%x, and src_qp is 0x%x", m->step->id,
		      (unsigned int)qp->done.value[0], e->wc.src_qp);
	}
}

static void datagram_grh(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		if (!datagram_of(c, e) || !c->trial->offers[0].ethernet)
			continue;
		keeps(c, e, e->wc.flags & IBV_WC_GRH, "IBV_WC_GRH is not set");
	}
}

/* Count the receives of @m. */
static unsigned int arrivals(const struct check *c, const struct message *m)
{
	unsigned int count = 0;

	FOR_EACH_WC(c, e)
	count += datagram_of(c, e) == m;
	return count;
}

static void wrong_qkey(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		if (message_denied(c, m) != DENIED_QKEY || !m->successes)
			continue;
		keeps(c, m->first, !arrivals(c, m), "datagram #%u of another Q_Key was received",
		      m->step->id);
	}
}

static void datagram_too_long(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		if (message_denied(c, m) != DENIED_LENGTH)
			continue;
		keeps(c, m->first, !m->successes, "a datagram of %" PRIu64 " bytes was sent",
		      step_length(m->step));
	}
}

static void received_once(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		unsigned int count = arrivals(c, m);

		if (!count)
			continue;
		keeps(c, m->posted, count <= m->accepted,
		      "#%u was sent %u times and received %u times", m->step->id, m->accepted,
		      count);
	}
}

/* Whether the queue pair of the other side was in the group all the time, or at no time any more.
 */
static bool in_group(const struct check *c, const struct message *m, bool *ret_left)
{
	const struct event *in = done_on(c, VERB_ATTACH, !m->step->side, 'q', m->step->object);
	const struct event *out = done_on(c, VERB_DETACH, !m->step->side, 'q', m->step->object);

	*ret_left = out && before(c, out, m->posted);
	return in && before(c, in, m->posted) && (!out || (m->last && before(c, m->last, out)));
}

/* Of several datagrams one at least arrives: any may be lost. */
static void group_delivers(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		bool left;

		if (!HAS(m->step, MCAST) || m->successes < 8 || !in_group(c, m, &left))
			continue;
		FOR_EACH_DONE(c, e, VERB_POLL)
		{
			if (e->side == m->step->side || step_of(c, e)->thread != m->step->thread)
				continue;
			keeps(c, e, arrivals(c, m), "none of %u datagrams of #%u came to the group",
			      m->successes, m->step->id);
		}
	}
}

static void group_left(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		bool left;

		in_group(c, m, &left);
		if (!HAS(m->step, MCAST) || !m->successes || !left)
			continue;
		keeps(c, m->first, !arrivals(c, m),
		      "#%u came to a queue pair that had left the group", m->step->id);
	}
}

static unsigned int events_of(const struct check *c, const struct event *until,
			      enum ibv_event_type type, char kind)
{
	unsigned int count = 0;

	FOR_EACH_EVENT(c, e)
	count += e->kind == EVENT_ASYNC && e->side == until->side && e->async.type == type &&
		 e->async.kind == kind && e->async.object == step_of(c, until)->object;
	return count;
}

/* How many receives a shared queue was given before it was armed, and how many were taken before
 * @e. */
static unsigned int receives_left(const struct check *c, const struct event *e)
{
	unsigned int posted = 0, taken = 0;

	FOR_EACH_MESSAGE(c, m)
	if (m->step->kind == 's' && m->step->side == e->side &&
	    m->step->object == step_of(c, e)->object)
		posted += m->accepted;
	FOR_EACH_WC(c, w)
	{
		const struct message *m = message_of_wc(c, w);

		taken += m && m->step->kind == 's' && w->side == e->side &&
			 m->step->object == step_of(c, e)->object;
	}
	return posted - taken;
}

/* The argument is whether the limit was reached. */
static void limit_event(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_ASYNC)
	{
		const struct step *s = step_of(c, e), *limit;
		const struct event *armed =
			s->kind == 's' ? done_on(c, VERB_LIMIT, e->side, 's', s->object) : NULL;
		unsigned int left, events;

		if (!armed || !before(c, armed, e))
			continue;
		limit = step_of(c, armed);
		left = receives_left(c, e);
		if ((left < limit->n) != c->rule->argument)
			continue;
		events = events_of(c, e, IBV_EVENT_SRQ_LIMIT_REACHED, 's');
		keeps(c, e, events == c->rule->argument,
		      "%u receives are left of a limit of %u, and %u events came", left,
		      (unsigned int)limit->n, events);
	}
}

static void last_wqe(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_ASYNC)
	{
		const struct step *s = step_of(c, e);
		const struct step *qp = s->kind == 'q' ? qp_step(c, e->side, s->object) : NULL;
		const struct event *err =
			qp ? done_on(c, VERB_MODIFY, e->side, 'q', s->object) : NULL;
		unsigned int events;

		if (!err || !HAS(step_of(c, err), ERR) || !before(c, err, e) ||
		    !made(c, e->side, 's', qp->srq))
			continue;
		events = events_of(c, e, IBV_EVENT_QP_LAST_WQE_REACHED, 'q');
		keeps(c, e, events == 1, "%u events tell that the last receive was taken", events);
	}
}

static void query_matches(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_QUERY)
	{
		const struct event *connected =
			done_on(c, VERB_CONNECT, e->side, 'q', step_of(c, e)->object);
		const struct step *qp = qp_step(c, e->side, step_of(c, e)->object);
		unsigned int retries;

		if (e->done.error || !connected || !qp || HAS(qp, UD) || HAS(qp, UC) ||
		    !before(c, connected, e) || e->done.value[0] == IBV_QPS_RESET)
			continue;
		retries = step_of(c, connected)->x ?: 7;
		keeps(c, e, !(e->done.value[2] != e->done.value[3] || e->done.value[4] != retries),
		      "dest_qp_num is 0x%x and retry_cnt %u; 0x%x and %u were set",
		      (unsigned int)e->done.value[2], (unsigned int)e->done.value[4],
		      (unsigned int)e->done.value[3], retries);
	}
}

const struct judge rules_feature[] = {
	{ 49, atomic_word, OP_FADD }, { 61, invalidate_told },	 { 63, atomic_result },
	{ 64, atomic_word, OP_CAS },  { 65, datagram_source },	 { 66, datagram_grh },
	{ 67, wrong_qkey },	      { 68, datagram_too_long }, { 69, received_once },
	{ 70, group_delivers },	      { 71, group_left },	 { 72, limit_event, 1 },
	{ 73, limit_event, 0 },	      { 74, last_wqe },		 { 78, query_matches },
};
const unsigned int rules_feature_count = ARRAY_SIZE(rules_feature);
