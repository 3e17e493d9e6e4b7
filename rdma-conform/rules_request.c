/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Right requests succeed, wrong ones fail as they must; states, sizes, atomics and events. */
#include <errno.h>
#include <inttypes.h>

#include "rdma-conform/rules.h"

static bool receives_suffice(const struct check *c, uint8_t side, uint8_t number)
{
	unsigned int sends = 0, receives = 0;

	FOR_EACH_MESSAGE(c, m)
	{
		if (m->step->kind != 'q' || m->step->object != number)
			continue;
		if (m->step->side == side)
			sends += takes_receive(m) ? m->accepted : 0;
		else
			receives += is_send_side(m) ? 0 : m->accepted;
	}
	return receives >= sends;
}

static bool fits(const struct check *c, uint8_t number)
{
	FOR_EACH_MESSAGE(c, m)
	if (m->step->object == number &&
	    (!message_sound(c, m) || (m->partner && !is_send_side(m) &&
				      step_length(m->step) < step_length(m->partner->step))))
		return false;
	return true;
}

/* The shortest receive is long enough for the longest send of the other side. */
static bool receives_fit(const struct check *c, uint8_t number)
{
	for (unsigned int side = 0; side < 2; side++) {
		uint64_t longest = 0, shortest = UINT64_MAX;

		FOR_EACH_MESSAGE(c, m)
		{
			if (m->step->object != number)
				continue;
			if (m->step->side == side && is_send_side(m) &&
			    m->step->operation == OP_SEND && step_length(m->step) > longest)
				longest = step_length(m->step);
			if (m->step->side != side && !is_send_side(m) &&
			    step_length(m->step) < shortest)
				shortest = step_length(m->step);
		}
		if (longest > shortest)
			return false;
	}
	return true;
}

enum right {
	RIGHT_ANY,
	RIGHT_ON_DEMAND,
	RIGHT_STOPPED,
};

static bool on_demand(const struct check *c, uint8_t side, uint8_t region)
{
	const struct event *e = made(c, side, 'r', region);

	return e && HAS(step_of(c, e), ON_DEMAND);
}

static bool right_concerns(const struct check *c, const struct message *m)
{
	switch (c->rule->argument) {
	case RIGHT_ON_DEMAND:
		return on_demand(c, !m->step->side, m->step->remote) ||
		       (m->step->pieces && on_demand(c, m->step->side, m->step->piece[0].region));
	case RIGHT_STOPPED:
		FOR_EACH_DONE(c, e, VERB_STOP)
		return true;
		return false;
	default:
		return true;
	}
}

static void right_succeeds(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);
		uint8_t number = m ? m->step->object : NO_OBJECT;

		if (!m || m->step->kind != 'q' || !undisturbed(c, number, e) || !fits(c, number) ||
		    !receives_fit(c, number) || !receives_suffice(c, 0, number) ||
		    !receives_suffice(c, 1, number) || !right_concerns(c, m))
			continue;
		keeps(c, e, !e->wc.status,
		      "#%u failed with status %u and nothing was wrong with it", m->step->id,
		      e->wc.status);
	}
}

static void short_receive(struct check *c)
{
	FOR_EACH_MESSAGE(c, r)
	{
		if (is_send_side(r) || !r->first || r->first->wc.status != IBV_WC_LOC_LEN_ERR)
			continue;
		exercised(c);
		FOR_EACH_MESSAGE(c, m)
		if (is_send_side(m) && m->step->object == r->step->object && m->failed &&
		    m->failed->wc.status != IBV_WC_REM_INV_REQ_ERR &&
		    m->failed->wc.status != IBV_WC_WR_FLUSH_ERR && message_sound(c, m))
			broken(c, m->failed, "#%u was too long for receive #%u and has status %u",
			       m->step->id, r->step->id, m->failed->wc.status);
	}
}

static void too_long(struct check *c)
{
	FOR_EACH_MESSAGE(c, r)
	{
		if (!r->partner || is_send_side(r) || r->partner->step->operation != OP_SEND)
			continue;
		keeps(c, r->partner_wc, step_length(r->partner->step) <= step_length(r->step),
		      "receive #%u of %" PRIu64 " bytes succeeded with #%u of %" PRIu64,
		      r->step->id, step_length(r->step), r->partner->step->id,
		      step_length(r->partner->step));
	}
}

/* The queue pair of the side was connected before @e, or moved to another state. */
static bool still_reset(const struct check *c, const struct event *e)
{
	FOR_EACH_EVENT(c, d)
	{
		const struct step *s = step_of(c, d);

		if (d != e && d->kind == EVENT_DONE && s && d->side == e->side &&
		    s->object == step_of(c, e)->object &&
		    (s->verb == VERB_CONNECT || (s->verb == VERB_MODIFY && !d->done.error)) &&
		    !before(c, e, d))
			return false;
	}
	return true;
}

static void state_of_posts(struct check *c, enum verb verb)
{
	FOR_EACH_DONE(c, e, verb)
	{
		if (step_of(c, e)->kind != 'q' || !still_reset(c, e))
			continue;
		keeps(c, e, e->done.error, "#%u was accepted by a queue pair in RESET",
		      step_of(c, e)->id);
	}
}

static void send_in_reset(struct check *c)
{
	state_of_posts(c, VERB_POST);
}

static void recv_in_reset(struct check *c)
{
	state_of_posts(c, VERB_RECV);
}

static void illegal_move(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_MODIFY)
	{
		if (!HAS(step_of(c, e), RTS) || !still_reset(c, e))
			continue;
		keeps(c, e, e->done.error, "a queue pair moved from RESET to RTS");
	}
}

/* The last step of the same thread that set the state. */
static void state_is(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_QUERY)
	{
		int state = IBV_QPS_RESET;

		FOR_EACH_EVENT(c, d)
		{
			const struct step *s = step_of(c, d);

			if (d >= e || d->side != e->side || d->thread != e->thread || !s)
				continue;
			if (d->kind == EVENT_WC && d->wc.status)
				state = IBV_QPS_ERR;
			if (d->kind != EVENT_DONE || d->done.error ||
			    s->object != step_of(c, e)->object)
				continue;
			if (s->verb == VERB_CONNECT)
				state = IBV_QPS_RTS;
			else if (s->verb == VERB_MODIFY)
				state = d->done.value[0];
		}
		if (e->done.error)
			continue;
		keeps(c, e, e->done.value[0] == state,
		      "the queue pair is in state %" PRIu64 ", not %d", e->done.value[0], state);
	}
}

static void busy(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_DESTROY)
	{
		const struct step *s = step_of(c, e), *qp;

		if (s->kind != 'c')
			continue;
		for (unsigned int i = 0; i < OBJECTS; i++) {
			qp = qp_step(c, e->side, i);
			if (!qp || (qp->cq != s->object && qp->cq2 != s->object) ||
			    done_on(c, VERB_DESTROY, e->side, 'q', i))
				continue;
			keeps(c, e, e->done.error == EBUSY,
			      "a completion queue with a queue pair was destroyed: errno %u",
			      (unsigned int)e->done.error);
		}
	}
}

static void sizes(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_QP)
	{
		const struct step *s = step_of(c, e);

		if (e->done.error)
			continue;
		keeps(c, e,
		      !(e->done.value[1] < s->n || (!e->done.value[4] && e->done.value[2] < s->x) ||
			e->done.value[3] < s->y),
		      "the queue pair is smaller than was asked for");
	}
	FOR_EACH_DONE(c, e, VERB_CQ)
	{
		keeps(c, e, !(!e->done.error && e->done.value[0] < step_of(c, e)->n),
		      "the completion queue is smaller than was asked for");
	}
}

static void resized(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_RESIZE)
	{
		keeps(c, e, !(!e->done.error && e->done.value[0] < step_of(c, e)->n),
		      "%" PRIu64 " entries were asked for, and it has %" PRIu64, step_of(c, e)->n,
		      e->done.value[0]);
	}
}

static void queue_depth(struct check *c)
{
	FOR_EACH_DONE(c, e, c->rule->argument)
	{
		const struct step *s = step_of(c, e);

		if (s->n < 2 || (s->kind == 'q' && !undisturbed(c, s->object, e)))
			continue;
		keeps(c, e, !e->done.error, "a queue refused request %" PRIu64 " of %" PRIu64,
		      e->done.value[0] + 1, s->n);
	}
}

static void not_ready(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);
		const struct event *connected =
			m ? done_on(c, VERB_CONNECT, e->side, 'q', m->step->object) : NULL;

		if (!m || !takes_receive(m) || e->wc.status == IBV_WC_WR_FLUSH_ERR || !connected ||
		    step_of(c, connected)->y || !undisturbed(c, m->step->object, e) ||
		    receives_suffice(c, e->side, m->step->object) || m->step->n < 2)
			continue;
		keeps(c, e, e->wc.status == IBV_WC_RNR_RETRY_EXC_ERR,
		      "#%u found no receive and has status %u", m->step->id, e->wc.status);
	}
}

static void late_atomic(struct check *c)
{
	const struct event *first = NULL;

	FOR_EACH_DONE(c, e, VERB_PEEK)
	{
		bool left = false;

		for (unsigned int i = 0; i < OBJECTS && !left; i++) {
			const struct event *moved = done_on(c, VERB_MODIFY, e->side, 'q', i);
			const struct event *gone = done_on(c, VERB_DESTROY, e->side, 'q', i);

			left = i == e->thread &&
			       ((moved && before(c, moved, e)) || (gone && before(c, gone, e)));
		}
		if (first && first->side == e->side && first->thread == e->thread &&
		    step_of(c, first)->piece[0].region == step_of(c, e)->piece[0].region) {
			keeps(c, e, first->done.value[0] == e->done.value[0],
			      "the word changed from %" PRIu64 " to %" PRIu64
			      " after its queue pair had ended",
			      first->done.value[0], e->done.value[0]);
		}
		if (left)
			first = e;
	}
}

/* A request of queue pair @number asks the other side for an event. */
static bool solicited(const struct check *c, uint8_t number)
{
	FOR_EACH_MESSAGE(c, m)
	if (is_send_side(m) && m->step->object == number && HAS(m->step, SOLICITED))
		return true;
	return false;
}

static void solicited_only(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_EVENT)
	{
		uint8_t cq = step_of(c, e)->object;
		const struct event *armed = done_on(c, VERB_ARM, e->side, 'c', cq);

		if (!armed || !HAS(step_of(c, armed), SOLICITED) || solicited(c, cq / 2) ||
		    !undisturbed(c, cq / 2, e) || !fits(c, cq / 2))
			continue;
		keeps(c, e, !(e->done.value[0]), "an event came, and no message asked for one");
	}
}

static void armed_event(struct check *c)
{
	const struct event *last = NULL;

	FOR_EACH_DONE(c, e, VERB_EVENT)
	{
		const struct event *armed =
			done_on(c, VERB_ARM, e->side, 'c', step_of(c, e)->object);
		bool again = last && last->side == e->side &&
			     step_of(c, last)->object == step_of(c, e)->object;

		if (!armed || !undisturbed(c, step_of(c, e)->object / 2, e) ||
		    !before(c, armed, e) ||
		    (HAS(step_of(c, armed), SOLICITED) && !solicited(c, step_of(c, e)->object / 2)))
			continue;
		exercised(c);
		if (e->done.error)
			broken(c, e, "the event names another completion queue");
		else if (again && e->done.value[0])
			broken(c, e, "a completion queue that was armed once had two events");
		else if (!again && !step_of(c, e)->x && !e->done.value[0])
			FOR_EACH_WC(c, w)
		if (w > e && w->side == e->side && w->thread == e->thread && w->step > e->step) {
			broken(c, e,
			       "a completion came to an armed completion queue, and no event");
			break;
		}
		last = e;
	}
}

const struct judge rules_request[] = {
	{ 36, right_succeeds, RIGHT_ANY },
	{ 81, right_succeeds, RIGHT_ON_DEMAND },
	{ 82, right_succeeds, RIGHT_STOPPED },
	{ 39, short_receive },
	{ 40, too_long },
	{ 41, send_in_reset },
	{ 42, recv_in_reset },
	{ 43, illegal_move },
	{ 44, state_is },
	{ 45, busy },
	{ 46, sizes },
	{ 47, queue_depth, VERB_POST },
	{ 75, queue_depth, VERB_RECV },
	{ 48, not_ready },
	{ 50, late_atomic },
	{ 51, armed_event },
	{ 79, solicited_only },
	{ 80, resized },
};
const unsigned int rules_request_count = ARRAY_SIZE(rules_request);
