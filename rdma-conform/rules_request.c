/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check that correct requests succeed and wrong ones fail as they must. Check states, sizes,
 * atomics and events. */
#include <errno.h>
#include <inttypes.h>

#include "rdma-conform/rules.h"

/* The requests of a queue pair, by side. */
struct traffic {
	unsigned int sends[2], receives[2]; /* @sends: only those that consume a receive */
	uint64_t longest[2], shortest[2];   /* bytes: longest send, shortest receive */
	bool right;			    /* no request must be denied, and each message fits */
};

static struct traffic traffic_of(const struct check *c, uint8_t number)
{
	struct traffic t = { .shortest = { UINT64_MAX, UINT64_MAX }, .right = true };

	FOR_EACH_MESSAGE(c, m)
	if (m->step->object == number) {
		uint64_t length = step_length(m->step);
		uint8_t side = m->step->side;

		if (is_send_side(m)) {
			t.sends[side] += takes_receive(m) ? m->accepted : 0;
			if (m->step->operation == OP_SEND)
				t.longest[side] = max_of(t.longest[side], length);
		} else {
			t.receives[side] += m->step->kind == 'q' ? m->accepted : 0;
			t.shortest[side] = min_of(t.shortest[side], length);
		}
		t.right &= !message_denied(c, m) && (is_send_side(m) || !m->partner ||
						     length >= step_length(m->partner->step));
	}
	return t;
}

/* Return whether each message has a receive, and each receive is long enough for each message. */
static bool receives_suffice(const struct traffic *t)
{
	return t->sends[0] <= t->receives[1] && t->sends[1] <= t->receives[0] &&
	       t->longest[0] <= t->shortest[1] && t->longest[1] <= t->shortest[0];
}

static bool on_demand(const struct check *c, uint8_t side, uint8_t region)
{
	const struct event *e = made(c, side, 'r', region);

	return e && HAS(step_of(c, e), ON_DEMAND);
}

static bool right_concerns(const struct check *c, const struct step *s)
{
	if (c->rule->argument == RIGHT_ON_DEMAND)
		return on_demand(c, !s->side, s->remote) ||
		       (s->pieces && on_demand(c, s->side, s->piece[0].region));
	return c->rule->argument != RIGHT_STOPPED || done_on(c, VERB_STOP, 0, 0, NO_OBJECT) ||
	       done_on(c, VERB_STOP, 1, 0, NO_OBJECT);
}

RULE(right_succeeds)
{
	struct traffic t = traffic_of(c, s->object);

	if (s->kind == 'q' && undisturbed(c, s->object, e) && t.right && receives_suffice(&t) &&
	    right_concerns(c, s))
		keeps(c, e, !e->wc.status,
		      "#%u failed with status %u and nothing was wrong with it", s->id,
		      e->wc.status);
}

RULE(short_receive)
{
	if (is_send_side(m) || !m->first || m->first->wc.status != IBV_WC_LOC_LEN_ERR ||
	    (s->kind == 'q' && !qp_confirms(c, s->side, s->object)))
		return;
	FOR_EACH_MESSAGE(c, send)
	if (is_send_side(send) && send->step->object == s->object && send->failed &&
	    send->failed->wc.status != IBV_WC_WR_FLUSH_ERR && !message_denied(c, send))
		keeps(c, send->failed, send->failed->wc.status == IBV_WC_REM_INV_REQ_ERR,
		      "#%u was too long for receive #%u and has status %u", send->step->id, s->id,
		      send->failed->wc.status);
}

RULE(too_long)
{
	if (m->partner && !is_send_side(m) && m->partner->step->operation == OP_SEND)
		keeps(c, m->partner_wc, step_length(m->partner->step) <= step_length(s),
		      "receive #%u of %" PRIu64 " bytes succeeded with #%u of %" PRIu64, s->id,
		      step_length(s), m->partner->step->id, step_length(m->partner->step));
}

/* Before @e no step connected its queue pair or moved it to another state. */
static bool still_reset(const struct check *c, const struct event *e)
{
	return !ANY(FOR_EACH_STEP(c, d, s), d != e && d->side == e->side &&
						    s->object == step_of(c, e)->object &&
						    (s->verb == VERB_CONNECT ||
						     (s->verb == VERB_MODIFY && !d->done.error)) &&
						    !before(c, e, d));
}

RULE(post_in_reset)
{
	if (s->kind == 'q' && still_reset(c, e))
		keeps(c, e, e->done.error, "#%u was accepted by a queue pair in RESET", s->id);
}

RULE(illegal_move)
{
	if (HAS(s, RTS) && still_reset(c, e))
		keeps(c, e, e->done.error, "a queue pair moved from RESET to RTS");
}

/* A request of the queue pair had no completion when @e happened, and may have failed. */
static bool may_have_failed(const struct check *c, const struct event *e)
{
	return ANY(FOR_EACH_MESSAGE(c, m),
		   m->accepted && m->step->kind == 'q' && m->step->side == e->side &&
			   m->step->object == step_of(c, e)->object && before(c, m->posted, e) &&
			   (m->completions < m->accepted || !before(c, m->last, e)));
}

/* Return the state after a step. @state: the state before it */
static int state_after(const struct step *s, const struct event *e, int state)
{
	/* The calls of a connection move to INIT, RTR and RTS. value[0] names the call that failed,
	 * and the calls before it succeeded. */
	if (s->verb == VERB_CONNECT)
		return e->done.error ? max_of(state, (int)e->done.value[0] - 1) : IBV_QPS_RTS;
	return s->verb == VERB_MODIFY && !e->done.error ? (int)e->done.value[0] : state;
}

/* The steps of the same thread determine the state. */
RULE(state_is)
{
	int state = IBV_QPS_RESET;

	if (e->done.error)
		return;
	for (const struct event *d = c->trial->events; d < e; d++) {
		const struct step *other = step_of(c, d);

		if (d->side != e->side || d->thread != e->thread || !other)
			continue;
		if (d->kind == EVENT_WC && d->wc.status)
			state = IBV_QPS_ERR;
		else if (d->kind == EVENT_DONE && other->object == s->object)
			state = state_after(other, d, state);
	}
	if (e->done.value[0] == IBV_QPS_ERR && may_have_failed(c, e))
		return;
	keeps(c, e, e->done.value[0] == state, "the queue pair is in state %" PRIu64 ", not %d",
	      e->done.value[0], state);
}

RULE(busy)
{
	for (unsigned int i = 0; s->kind == 'c' && i < OBJECTS; i++) {
		const struct step *qp = qp_step(c, e->side, i);

		if (qp && (qp->cq == s->object || qp->cq2 == s->object) &&
		    !done_on(c, VERB_DESTROY, e->side, 'q', i))
			keeps(c, e, e->done.error == EBUSY,
			      "a completion queue with a queue pair was destroyed: errno %u",
			      (unsigned int)e->done.error);
	}
}

RULE(resized)
{
	keeps(c, e, e->done.error || e->done.value[0] >= s->n,
	      "%" PRIu64 " entries were asked for, and it has %" PRIu64, s->n, e->done.value[0]);
}

RULE(sizes)
{
	FOR_EACH_DONE(c, qp, VERB_QP)
	{
		const struct step *asked = step_of(c, qp);
		const uint64_t *has = qp->done.value;

		if (!qp->done.error)
			keeps(c, qp,
			      has[1] >= asked->n && (has[4] || has[2] >= asked->x) &&
				      has[3] >= asked->y,
			      "the queue pair is smaller than was asked for");
	}
	FOR_EACH_DONE(c, cq, VERB_CQ)
	resized(c, cq, step_of(c, cq), NULL);
}

RULE(queue_depth)
{
	if (s->n >= 2 && (s->kind != 'q' || undisturbed(c, s->object, e)))
		keeps(c, e, !e->done.error, "a queue refused request %" PRIu64 " of %" PRIu64,
		      e->done.value[0] + 1, s->n);
}

RULE(not_ready)
{
	const struct event *connected = done_on(c, VERB_CONNECT, e->side, 'q', s->object);
	struct traffic t = traffic_of(c, s->object);

	if (takes_receive(m) && s->n >= 2 && e->wc.status != IBV_WC_WR_FLUSH_ERR && connected &&
	    !step_of(c, connected)->y && undisturbed(c, s->object, e) &&
	    t.receives[!e->side] < t.sends[e->side] && qp_confirms(c, s->side, s->object))
		keeps(c, e, e->wc.status == IBV_WC_RNR_RETRY_EXC_ERR,
		      "#%u found no receive and has status %u", s->id, e->wc.status);
}

/* The queue pair of the scene of @e has ended. */
static bool ended(const struct check *c, const struct event *e)
{
	const struct event *moved = done_on(c, VERB_MODIFY, e->side, 'q', e->thread);
	const struct event *gone = done_on(c, VERB_DESTROY, e->side, 'q', e->thread);

	return (moved && before(c, moved, e)) || (gone && before(c, gone, e));
}

RULE(late_atomic)
{
	const struct event *first = NULL;

	FOR_EACH_DONE(c, peek, VERB_PEEK)
	{
		if (first && first->side == peek->side && first->thread == peek->thread &&
		    step_of(c, first)->piece[0].region == step_of(c, peek)->piece[0].region)
			keeps(c, peek, first->done.value[0] == peek->done.value[0],
			      "the word changed from %" PRIu64 " to %" PRIu64
			      " after its queue pair had ended",
			      first->done.value[0], peek->done.value[0]);
		if (ended(c, peek))
			first = peek;
	}
}

/* A request of queue pair @number asks the other side for an event. */
static bool solicited(const struct check *c, uint8_t number)
{
	return ANY(FOR_EACH_MESSAGE(c, m),
		   is_send_side(m) && m->step->object == number && HAS(m->step, SOLICITED));
}

RULE(solicited_only)
{
	const struct event *armed = done_on(c, VERB_ARM, e->side, 'c', s->object);
	uint8_t number = s->object / 2;

	if (armed && HAS(step_of(c, armed), SOLICITED) && !solicited(c, number) &&
	    undisturbed(c, number, e) && traffic_of(c, number).right)
		keeps(c, e, !e->done.value[0], "an event came, and no message asked for one");
}

/* The thread of @e polled a completion after it. */
static bool polled_behind(const struct check *c, const struct event *e)
{
	return ANY(FOR_EACH_WC(c, wc),
		   wc > e && wc->side == e->side && wc->thread == e->thread && wc->step > e->step);
}

RULE(armed_event)
{
	const struct event *last = NULL;

	FOR_EACH_DONE(c, event, VERB_EVENT)
	{
		const struct step *wait = step_of(c, event);
		const struct event *armed = done_on(c, VERB_ARM, event->side, 'c', wait->object);
		bool again = last && last->side == event->side &&
			     step_of(c, last)->object == wait->object;
		bool came = event->done.value[0];

		if (!armed || !undisturbed(c, wait->object / 2, event) ||
		    !before(c, armed, event) ||
		    (HAS(step_of(c, armed), SOLICITED) && !solicited(c, wait->object / 2)))
			continue;
		keeps(c, event, !event->done.error, "the event names another completion queue");
		keeps(c, event, !again || !came,
		      "a completion queue that was armed once had two events");
		keeps(c, event, again || wait->x || came || !polled_behind(c, event),
		      "a completion came to an armed completion queue, and no event");
		last = event;
	}
}
