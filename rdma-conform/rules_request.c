/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Right requests succeed, wrong ones fail as they must; states, sizes, atomics and events. */
#include <errno.h>
#include <inttypes.h>

#include "rdma-conform/rules.h"

/* Nothing the program did can be the cause of a failure that was seen at @e. */
static bool undisturbed(const struct check *c, uint8_t number, const struct event *e)
{
	if (c->trial->ended[0] || c->trial->ended[1])
		return false;
	FOR_EACH_EVENT(c, d)
	{
		const struct step *s = step_of(c, d);

		if (d->kind != EVENT_DONE || !s || d->done.error || before(c, e, d))
			continue;
		if (s->verb == VERB_REREG || s->verb == VERB_KILL ||
		    (s->verb == VERB_DESTROY && s->kind == 'r') ||
		    ((s->verb == VERB_MODIFY || s->verb == VERB_ACCESS ||
		      s->verb == VERB_DESTROY) &&
		     s->object == number))
			return false;
	}
	return true;
}

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

static void right_succeeds(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);
		uint8_t number = m ? m->step->object : NO_OBJECT;

		if (!m || m->step->kind != 'q' || !undisturbed(c, number, e) || !fits(c, number) ||
		    !receives_fit(c, number) || !receives_suffice(c, 0, number) ||
		    !receives_suffice(c, 1, number))
			continue;
		exercised(c);
		if (e->wc.status)
			broken(c, e, "#%u failed with status %u and nothing was wrong with it",
			       m->step->id, e->wc.status);
	}
}

static void status_of(struct check *c, uint32_t word, enum ibv_wc_status status)
{
	FOR_EACH_MESSAGE(c, m)
	{
		const struct step *qp = qp_step(c, m->step->side, m->step->object);

		if (!is_send_side(m) || !(m->step->words & word) || !m->first || !qp ||
		    HAS(qp, UC) || HAS(qp, UD) || m->first->wc.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		exercised(c);
		if (m->first->wc.status != status)
			broken(c, m->first, "#%u ended with status %u, not %u", m->step->id,
			       m->first->wc.status, status);
	}
}

static void wrong_rkey(struct check *c)
{
	status_of(c, WORD(BAD_RKEY), IBV_WC_REM_ACCESS_ERR);
}

static void wrong_lkey(struct check *c)
{
	status_of(c, WORD(BAD_LKEY), IBV_WC_LOC_PROT_ERR);
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
		exercised(c);
		if (step_length(r->partner->step) > step_length(r->step))
			broken(c, r->partner_wc,
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
		exercised(c);
		if (!e->done.error)
			broken(c, e, "#%u was accepted by a queue pair in RESET",
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
		exercised(c);
		if (!e->done.error)
			broken(c, e, "a queue pair moved from RESET to RTS");
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
		exercised(c);
		if (e->done.value[0] != state)
			broken(c, e, "the queue pair is in state %" PRIu64 ", not %d",
			       e->done.value[0], state);
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
			exercised(c);
			if (e->done.error != EBUSY)
				broken(c, e,
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
		exercised(c);
		if (e->done.value[1] < s->n || (!e->done.value[4] && e->done.value[2] < s->x) ||
		    e->done.value[3] < s->y)
			broken(c, e, "the queue pair is smaller than was asked for");
	}
	FOR_EACH_DONE(c, e, VERB_CQ)
	{
		exercised(c);
		if (!e->done.error && e->done.value[0] < step_of(c, e)->n)
			broken(c, e, "the completion queue is smaller than was asked for");
	}
}

static void queue_depth(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_POST)
	{
		const struct step *s = step_of(c, e);

		if (s->n < 2 || !undisturbed(c, s->object, e))
			continue;
		exercised(c);
		if (e->done.error)
			broken(c, e, "a queue of %" PRIu64 " refused the request behind %" PRIu64,
			       qp_step(c, e->side, s->object)->n, e->done.value[0]);
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
		exercised(c);
		if (e->wc.status != IBV_WC_RNR_RETRY_EXC_ERR)
			broken(c, e, "#%u found no receive and has status %u", m->step->id,
			       e->wc.status);
	}
}

static void atomic_sum(struct check *c)
{
	FOR_EACH_MESSAGE(c, m)
	{
		if (m->step->operation != OP_FADD || m->successes != m->accepted || m->failed)
			continue;
		FOR_EACH_DONE(c, set, VERB_SET)
		FOR_EACH_DONE(c, e, VERB_PEEK)
		{
			const struct step *s = step_of(c, e);
			uint64_t sum = step_of(c, set)->x + m->step->x * m->successes;

			if (e->side == m->step->side || set->side != e->side || !m->last ||
			    !before(c, m->last, e) || s->piece[0].region != m->step->remote ||
			    s->piece[0].offset != m->step->remote_offset ||
			    step_of(c, set)->piece[0].region != m->step->remote)
				continue;
			exercised(c);
			if (e->done.value[0] != sum)
				broken(c, e,
				       "the word is %" PRIu64
				       " after additions that make it %" PRIu64,
				       e->done.value[0], sum);
		}
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
			exercised(c);
			if (first->done.value[0] != e->done.value[0])
				broken(c, e,
				       "the word changed from %" PRIu64 " to %" PRIu64
				       " after its queue pair had ended",
				       first->done.value[0], e->done.value[0]);
		}
		if (left)
			first = e;
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

		if (!armed || !undisturbed(c, step_of(c, e)->object / 2, e) || !before(c, armed, e))
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

const struct rule rules_request[] = {
	{ 36, "right-succeeds", "A request with which nothing is wrong succeeds.",
	  "IBTA vol. 1, 10.8.2", right_succeeds },
	{ 37, "wrong-rkey", "A request with a wrong remote key ends with IBV_WC_REM_ACCESS_ERR.",
	  "IBTA vol. 1, 10.10.2.5; ibv_wc_status(7)", wrong_rkey },
	{ 38, "wrong-lkey", "A request with a wrong local key ends with IBV_WC_LOC_PROT_ERR.",
	  "IBTA vol. 1, 10.10.2.5; ibv_wc_status(7)", wrong_lkey },
	{ 39, "short-receive",
	  "A message too long for its receive ends with IBV_WC_REM_INV_REQ_ERR at the sender.",
	  "IBTA vol. 1, 9.7.5.2.6; ibv_wc_status(7)", short_receive },
	{ 40, "too-long", "A receive succeeds only with a message that fits.",
	  "IBTA vol. 1, 9.7.5.2.6", too_long },
	{ 41, "send-in-reset", "A queue pair in RESET refuses send requests.", "ibv_post_send(3)",
	  send_in_reset },
	{ 42, "recv-in-reset", "A queue pair in RESET refuses receive requests.",
	  "ibv_post_recv(3)", recv_in_reset },
	{ 43, "illegal-move", "A queue pair does not move from RESET to RTS.", "ibv_modify_qp(3)",
	  illegal_move },
	{ 44, "state",
	  "The state of a queue pair is the one it was moved to, or ERR after a failed request.",
	  "IBTA vol. 1, 10.3.1; ibv_query_qp(3)", state_is },
	{ 45, "busy", "A completion queue with queue pairs is not destroyed.", "ibv_create_cq(3)",
	  busy },
	{ 46, "sizes", "Queues are at least as large as was asked for.",
	  "ibv_create_qp(3); ibv_create_cq(3)", sizes },
	{ 47, "queue-depth", "A send queue takes as many requests as was asked for.",
	  "ibv_create_qp(3)", queue_depth },
	{ 48, "not-ready",
	  "Without a receive and without retries a send ends with IBV_WC_RNR_RETRY_EXC_ERR.",
	  "IBTA vol. 1, 9.7.5.2.8; ibv_wc_status(7)", not_ready },
	{ 49, "atomic-sum", "Additions that succeeded are all in the word, each once.",
	  "IBTA vol. 1, 9.4.5", atomic_sum },
	{ 50, "late-atomic", "After the end of its queue pair no atomic operation changes a word.",
	  "IBTA vol. 1, 10.3.1.6", late_atomic },
	{ 51, "armed-event", "A completion queue that was armed has one event for a completion.",
	  "ibv_req_notify_cq(3)", armed_event },
};
const unsigned int rules_request_count = ARRAY_SIZE(rules_request);
