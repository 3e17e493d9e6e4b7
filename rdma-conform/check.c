/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rdma-conform/check.h"

void keeps(struct check *c, const struct event *at, bool kept, const char *format, ...)
{
	va_list args;

	exercised(c, 1);
	if (kept || c->broken_count == BROKEN)
		return;
	va_start(args, format);
	vsnprintf(c->broken[c->broken_count].text, REPORT, format, args);
	va_end(args);
	c->broken[c->broken_count].rule = c->rule;
	c->broken[c->broken_count++].at = at;
}

bool before(const struct check *c, const struct event *a, const struct event *b)
{
	if (a->side == b->side && a->thread == b->thread)
		return a < b;
	/* A sync that one side missed does not order events. */
	if (a->side != b->side && (c->trial->ended[0] || c->trial->ended[1]))
		return false;
	return a->epoch < b->epoch;
}

const struct step *step_of(const struct check *c, const struct event *e)
{
	return e->step < c->trial->program->count ? &c->trial->program->step[e->step] : NULL;
}

const struct message *message_of_wc(const struct check *c, const struct event *wc)
{
	const struct message *m = &c->messages[wc->wc.wr_id & 0xff];

	if (wc->wc.wr_id >> 8 != (uint64_t)c->trial->program->number << 8 || !m->step ||
	    m->step->side != wc->side)
		return NULL;
	return m;
}

const struct message *message_by_imm(const struct check *c, const struct event *wc)
{
	const struct message *m = &c->messages[be32toh(wc->wc.imm_data) & 0xff];

	if (!(wc->wc.wc_flags & IBV_WC_WITH_IMM) || !m->step || !takes_receive(m) ||
	    m->step->side == wc->side)
		return NULL;
	return m;
}

bool same_queue(const struct message *a, const struct message *b)
{
	return a->step->side == b->step->side && a->step->verb == b->step->verb &&
	       a->step->object == b->step->object && a->step->kind == b->step->kind &&
	       a->posted->thread == b->posted->thread;
}

const struct event *done_on(const struct check *c, enum verb verb, uint8_t side, char kind,
			    uint8_t number)
{
	FOR_EACH_ON(c, e, verb, side, number)
	if (step_of(c, e)->kind == kind)
		return e;
	return NULL;
}

bool may_be_gone(const struct check *c, uint8_t side, char kind, uint8_t number,
		 const struct event *e)
{
	const struct event *gone = done_on(c, VERB_DESTROY, side, kind, number);

	return gone && !(e && before(c, e, gone));
}

const struct event *made(const struct check *c, uint8_t side, char kind, uint8_t number)
{
	static const char makes[VERB_COUNT] = {
		[VERB_QP] = 'q',     [VERB_CQ] = 'c', [VERB_SRQ] = 's',
		[VERB_REGION] = 'r', [VERB_PD] = 'p', [VERB_MW] = 'w'
	};

	FOR_EACH_STEP(c, e, s)
	if (e->side == side && !e->done.error && makes[s->verb] == kind && s->object == number)
		return e;
	return NULL;
}

const struct step *qp_step(const struct check *c, uint8_t side, uint8_t number)
{
	const struct event *e = made(c, side, 'q', number);

	return e ? step_of(c, e) : NULL;
}

bool qp_reliable(const struct check *c, uint8_t side, uint8_t number)
{
	const struct step *s = qp_step(c, side, number);

	return s && !HAS(s, UD) && !HAS(s, UC);
}

bool qp_confirms(const struct check *c, uint8_t side, uint8_t number)
{
	return qp_reliable(c, side, number) && !c->trial->offers[0].iwarp;
}

bool undisturbed(const struct check *c, uint8_t number, const struct event *e)
{
	if (c->trial->ended[0] || c->trial->ended[1] || !done_on(c, VERB_CONNECT, 0, 'q', number) ||
	    !done_on(c, VERB_CONNECT, 1, 'q', number))
		return false;
	return !ANY(FOR_EACH_STEP(c, d, s),
		    !d->done.error && !before(c, e, d) &&
			    (s->verb == VERB_REREG || s->verb == VERB_KILL ||
			     (s->verb == VERB_DESTROY && s->kind == 'r') ||
			     (s->verb == VERB_CONNECT && s->object == number && s->n) ||
			     ((s->verb == VERB_MODIFY || s->verb == VERB_ACCESS ||
			       s->verb == VERB_DESTROY) &&
			      s->kind == 'q' && s->object == number)));
}

bool is_send_side(const struct message *m)
{
	return m->step && m->step->verb == VERB_POST;
}

bool takes_receive(const struct message *m)
{
	return is_send_side(m) && (m->step->operation == OP_SEND ||
				   (m->step->operation == OP_WRITE && HAS(m->step, IMM)));
}

void check_trial(struct check *c, const struct trial *trial, const bool *wanted, uint64_t *counters)
{
	memset(c, 0, sizeof(*c));
	c->trial = trial;
	c->exercised = counters;
	index_messages(c);
	index_writers(c);
	/* A process that died has not recorded what it wrote. */
	if (!trial->ended[0] && !trial->ended[1])
		judge_memory(c);
	for (unsigned int i = 0; rule_at(i); i++)
		if (!wanted || wanted[i])
			rule_apply(c, rule_at(i));
}
