/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check atomic operations, datagrams and groups, shared receive queues, and the results of
 * queries. */
#include <inttypes.h>

#include "rdma-conform/rules.h"

static bool is_atomic(const struct message *m)
{
	return m->step->operation == OP_FADD || m->step->operation == OP_CAS;
}

/* @a and @b are atomic operations of one side on one region. */
static bool same_target(const struct message *a, const struct message *b)
{
	return is_atomic(a) && is_atomic(b) && a->step->side == b->step->side &&
	       a->step->remote == b->step->remote;
}

/* The value that was set before @m in the word of @m. */
static bool word_set(const struct check *c, const struct message *m, uint64_t *ret_word)
{
	unsigned int count = 0;

	FOR_EACH_STEP(c, e, s)
	if (s->verb == VERB_SET && e->side != m->step->side &&
	    s->piece[0].region == m->step->remote && s->piece[0].offset == m->step->remote_offset &&
	    before(c, e, m->posted)) {
		*ret_word = s->x;
		count++;
	}
	return count == 1;
}

/* The completions of @m or of a later request of the queue confirm all of @m. */
static bool all_succeeded(const struct message *m)
{
	return released_by(m, CAUSE_COMPLETION) && !m->failed;
}

/* Return the word before and after the operations of @m, which follow those of the same queue.
 * Return false if one of them failed, or uses another queue. */
static bool word_at(const struct check *c, const struct message *m, uint64_t *ret_before,
		    uint64_t *ret_behind)
{
	uint64_t word;

	if (!word_set(c, m, &word))
		return false;
	for (unsigned int order = 0; order <= m->order; order++)
		FOR_EACH_MESSAGE(c, o)
		{
			if (!same_target(o, m) || o->order != order)
				continue;
			if (o->step->remote_offset != m->step->remote_offset ||
			    o->step->object != m->step->object || !all_succeeded(o))
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
	return m->accepted &&
	       !ANY(FOR_EACH_MESSAGE(c, o), o != m && same_target(o, m) && o->order > m->order);
}

/* Each atomic operation on the region ended before @e. */
static bool all_done(const struct check *c, const struct message *m, const struct event *e)
{
	return !ANY(FOR_EACH_MESSAGE(c, o),
		    same_target(o, m) && o->accepted && !finish_before(c, &o->released, e));
}

/* Check each read of the 8 bytes at @offset of @region after all atomic operations. */
static void word_is(struct check *c, const struct message *m, uint8_t side, uint8_t region,
		    uint32_t offset, uint64_t word)
{
	FOR_EACH_DONE(c, e, VERB_PEEK)
	{
		const struct piece *p = &step_of(c, e)->piece[0];

		if (e->side == side && p->region == region && p->offset == offset &&
		    all_done(c, m, e))
			keeps(c, e, e->done.value[0] == word,
			      "the word is %" PRIu64 " behind #%u, not %" PRIu64, e->done.value[0],
			      m->step->id, word);
	}
}

/* Additions have the same sum in any order, and may come from several queue pairs. */
RULE(atomic_sum)
{
	uint64_t word;

	if (s->operation != OP_FADD || !is_last(c, m) || !word_set(c, m, &word))
		return;
	FOR_EACH_MESSAGE(c, o)
	{
		if (!same_target(o, m))
			continue;
		if (o->step->remote_offset != m->step->remote_offset ||
		    o->step->operation != OP_FADD || !all_succeeded(o))
			return;
		word += o->accepted * o->step->x;
	}
	word_is(c, m, !s->side, s->remote, s->remote_offset, word);
}

RULE(compare_swap)
{
	uint64_t old, word;

	if (s->operation == OP_CAS && is_last(c, m) && word_at(c, m, &old, &word))
		word_is(c, m, !s->side, s->remote, s->remote_offset, word);
}

RULE(atomic_result)
{
	uint64_t old, word;

	if (is_atomic(m) && m->accepted && s->pieces && word_at(c, m, &old, &word))
		word_is(c, m, s->side, s->piece[0].region, s->piece[0].offset, old);
}

RULE(invalidate_told)
{
	uint32_t key = 0;

	if (!takes_receive(m) || !HAS(s, INVALIDATE) || !m->partner || m->accepted != 1)
		return;
	FOR_EACH_MESSAGE(c, bind)
	if (bind->step->operation == OP_BIND && bind->step->side != s->side &&
	    bind->step->mw == s->remote)
		key = bind->posted->done.value[4];
	if (key)
		keeps(c, m->partner_wc,
		      m->partner_wc->wc.wc_flags & IBV_WC_WITH_INV &&
			      m->partner_wc->wc.invalidated_rkey == key,
		      "the receive of #%u does not name key 0x%x", s->id, key);
}

/* The datagram that @wc received, by its immediate. */
static const struct message *datagram_of(const struct check *c, const struct event *wc)
{
	const struct message *r = message_of_wc(c, wc);
	const struct step *qp = r ? qp_step(c, wc->side, r->step->object) : NULL;

	if (!qp || !HAS(qp, UD) || is_send_side(r) || wc->wc.status)
		return NULL;
	return message_by_imm(c, wc);
}

RULE(datagram_source)
{
	const struct message *sent = datagram_of(c, e);
	const struct event *qp = sent ? made(c, !e->side, 'q', sent->step->object) : NULL;

	if (qp)
		keeps(c, e, e->wc.src_qp == qp->done.value[0],
		      "#%u came from queue pair 0x%x, and src_qp is 0x%x", sent->step->id,
		      (unsigned int)qp->done.value[0], e->wc.src_qp);
}

RULE(datagram_grh)
{
	if (datagram_of(c, e) && c->trial->offers[0].ethernet)
		keeps(c, e, e->wc.wc_flags & IBV_WC_GRH, "IBV_WC_GRH is not set");
}

/* Count the receives of @m. */
static unsigned int arrivals(const struct check *c, const struct message *m)
{
	unsigned int count = 0;

	FOR_EACH_WC(c, e)
	count += datagram_of(c, e) == m;
	return count;
}

RULE(wrong_qkey)
{
	if (message_denied(c, m) == DENIED_QKEY && m->successes)
		keeps(c, m->first, !arrivals(c, m), "datagram #%u of another Q_Key was received",
		      s->id);
}

RULE(datagram_too_long)
{
	if (message_denied(c, m) == DENIED_LENGTH)
		keeps(c, m->first, !m->successes, "a datagram of %" PRIu64 " bytes was sent",
		      step_length(s));
}

RULE(received_once)
{
	unsigned int count = arrivals(c, m);

	if (count)
		keeps(c, e, count <= m->accepted, "#%u was sent %u times and received %u times",
		      s->id, m->accepted, count);
}

/* At least one of several datagrams arrives, because each may be lost. The queue pair of the other
 * side was in the group all the time. */
RULE(group_delivers)
{
	const struct event *in = done_on(c, VERB_ATTACH, !s->side, 'q', s->object);
	const struct event *out = done_on(c, VERB_DETACH, !s->side, 'q', s->object);

	if (!HAS(s, MCAST) || m->successes < 8 || !in || !before(c, in, e) ||
	    (out && !before(c, m->last, out)))
		return;
	FOR_EACH_DONE(c, poll, VERB_POLL)
	if (poll->side != s->side && step_of(c, poll)->thread == s->thread)
		keeps(c, poll, arrivals(c, m), "none of %u datagrams of #%u came to the group",
		      m->successes, s->id);
}

RULE(group_left)
{
	const struct event *out = done_on(c, VERB_DETACH, !s->side, 'q', s->object);

	if (HAS(s, MCAST) && m->successes && out && before(c, out, e))
		keeps(c, m->first, !arrivals(c, m),
		      "#%u came to a queue pair that had left the group", s->id);
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

/* Count the receives of the shared queue of @e that are left. With @at_least, count only those that
 * are left at @e in any order of events. The result may be negative. */
static int receives_left(const struct check *c, const struct event *e, bool at_least)
{
	int left = 0;

	FOR_EACH_MESSAGE(c, m)
	{
		if (m->step->kind != 's' || m->step->side != e->side ||
		    m->step->object != step_of(c, e)->object)
			continue;
		if (!at_least || before(c, m->posted, e))
			left += m->accepted;
		if (!at_least || (m->last && !before(c, e, m->last)))
			left -= m->completions;
	}
	return left;
}

/* The argument is whether the limit was reached. Devices differ if too few receives are left when
 * the limit is set. */
RULE(limit_event)
{
	const struct event *armed =
		s->kind == 's' ? done_on(c, VERB_LIMIT, e->side, 's', s->object) : NULL;
	int limit = armed ? step_of(c, armed)->n : 0, left = receives_left(c, e, false);
	unsigned int events = events_of(c, e, IBV_EVENT_SRQ_LIMIT_REACHED, 's');

	if (armed && before(c, armed, e) && (left < limit) == c->rule->argument &&
	    receives_left(c, armed, true) >= limit)
		keeps(c, e, events == c->rule->argument,
		      "%d receives are left of a limit of %d, and %u events came", left, limit,
		      events);
}

RULE(last_wqe)
{
	const struct step *qp = s->kind == 'q' ? qp_step(c, e->side, s->object) : NULL;
	const struct event *err = qp ? done_on(c, VERB_MODIFY, e->side, 'q', s->object) : NULL;
	unsigned int events = events_of(c, e, IBV_EVENT_QP_LAST_WQE_REACHED, 'q');

	if (err && HAS(step_of(c, err), ERR) && before(c, err, e) && made(c, e->side, 's', qp->srq))
		keeps(c, e, events == 1, "%u events tell that the last receive was taken", events);
}

RULE(query_matches)
{
	const struct event *connected = done_on(c, VERB_CONNECT, e->side, 'q', s->object);
	const uint64_t *seen = e->done.value;
	unsigned int retries;

	if (e->done.error || !connected || !qp_confirms(c, e->side, s->object) ||
	    !before(c, connected, e) || seen[0] == IBV_QPS_RESET)
		return;
	retries = step_of(c, connected)->x ?: 7;
	keeps(c, e, seen[2] == seen[3] && seen[4] == retries,
	      "dest_qp_num is 0x%x and retry_cnt %u; 0x%x and %u were set", (unsigned int)seen[2],
	      (unsigned int)seen[4], (unsigned int)seen[3], retries);
}
