/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Determine which requests a device must refuse, and why. */
#include "rdma-conform/check.h"

/* The registration of a region, or NULL if there is none or it changed. */
static const struct step *region_step(const struct check *c, uint8_t side, uint8_t region)
{
	const struct step *found = NULL;
	unsigned int count = 0;

	FOR_EACH_STEP(c, e, s)
	if (e->side == side && !e->done.error && s->kind == 'r' && s->object == region) {
		count++;
		found = s->verb == VERB_REGION ? s : found;
	}
	return count == 1 ? found : NULL;
}

static uint64_t access_needed(const struct step *s)
{
	return s->operation == OP_WRITE	 ? WORD(REMOTE_WRITE)
	       : s->operation == OP_READ ? WORD(REMOTE_READ)
					 : WORD(REMOTE_ATOMIC);
}

/* This request, of the same side or of the peer, invalidated the window. */
static bool invalidates(const struct message *m, uint8_t side, uint8_t window)
{
	const struct step *s = m->step;

	if (!is_send_side(m) || !m->accepted)
		return false;
	return (s->side == side && s->operation == OP_INV && s->mw == window) ||
	       (s->side != side && HAS(s, INVALIDATE) && s->remote_window && s->remote == window);
}

/* @first took effect before @second began: it completed before the post, or was posted earlier to
 * the same queue. */
static bool ordered(const struct check *c, const struct message *first,
		    const struct message *second)
{
	if (same_queue(first, second))
		return first->order < second->order;
	return first->successes && before(c, first->first, second->posted);
}

static enum denial window_denied(const struct check *c, const struct message *m)
{
	const struct step *s = m->step;
	const struct message *bind = NULL;

	if (may_be_gone(c, !s->side, 'w', s->remote, m->last))
		return DENIED_MAYBE;
	FOR_EACH_MESSAGE(c, o)
	if (o->step->operation == OP_BIND && o->step->side != s->side && o->step->mw == s->remote) {
		if (bind || !ordered(c, o, m))
			return DENIED_MAYBE;
		bind = o;
	}
	if (!bind)
		return DENIED_MAYBE;
	FOR_EACH_MESSAGE(c, o)
	if (o != m && invalidates(o, !s->side, s->remote) && !ordered(c, m, o))
		return ordered(c, o, m) ? DENIED_WINDOW_GONE : DENIED_MAYBE;
	if (s->remote_offset + step_length(s) > bind->step->piece[0].length)
		return DENIED_WINDOW_BOUNDS;
	return bind->step->words & access_needed(s) ? DENIED_NOT : DENIED_WINDOW_ACCESS;
}

static enum denial remote_denied(const struct check *c, const struct message *m)
{
	const struct step *s = m->step, *region = region_step(c, !s->side, s->remote);

	if (!region)
		return DENIED_NOT;
	if (s->remote_offset + step_length(s) > (region->n ?: 4096))
		return DENIED_BOUNDS;
	if (region->pd != NO_OBJECT && made(c, !s->side, 'p', region->pd))
		return DENIED_DOMAIN;
	if (!(region->words & access_needed(s)))
		return DENIED_ACCESS;
	if (s->operation >= OP_FADD && s->remote_offset % 8)
		return DENIED_UNALIGNED;
	return DENIED_NOT;
}

static enum denial local_denied(const struct check *c, const struct message *m)
{
	const struct step *qp = qp_step(c, m->step->side, m->step->object);

	if (HAS(m->step, LONG))
		return DENIED_PIECES;
	if (is_send_side(m) && qp && HAS(qp, UD) && step_length(m->step) > c->trial->offers[0].mtu)
		return DENIED_LENGTH;
	if (HAS(m->step, BAD_LKEY))
		return DENIED_LKEY;
	for (unsigned int i = 0; i < m->step->pieces && !HAS(m->step, INLINE); i++) {
		const struct step *s = region_step(c, m->step->side, m->step->piece[i].region);

		if (s && s->pd != NO_OBJECT && made(c, m->step->side, 'p', s->pd))
			return DENIED_LOCAL_DOMAIN;
		if (m->step->operation == OP_BIND && s && !HAS(s, MW_BIND))
			return DENIED_BIND;
	}
	return DENIED_NOT;
}

enum denial message_denied(const struct check *c, const struct message *m)
{
	enum denial denial = local_denied(c, m);

	if (denial || !is_send_side(m))
		return denial;
	if (HAS(m->step, BAD_QKEY))
		return DENIED_QKEY;
	if (HAS(m->step, BAD_RKEY))
		return DENIED_RKEY;
	if (m->step->operation < OP_WRITE || m->step->operation > OP_CAS)
		return DENIED_NOT;
	return m->step->remote_window ? window_denied(c, m) : remote_denied(c, m);
}
