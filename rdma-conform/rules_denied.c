/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device must refuse, and with which status or errno. */
#include <errno.h>

#include "rdma-conform/rules.h"

static enum ibv_wc_status status_of(enum denial denial)
{
	switch (denial) {
	case DENIED_LKEY:
	case DENIED_LOCAL_DOMAIN:
		return IBV_WC_LOC_PROT_ERR;
	case DENIED_BIND:
		return IBV_WC_MW_BIND_ERR;
	case DENIED_UNALIGNED:
		return IBV_WC_REM_INV_REQ_ERR;
	default:
		return IBV_WC_REM_ACCESS_ERR;
	}
}

/* Check the status of a denied request, on a reliable connection that no other step disturbed. */
static void denied(struct check *c)
{
	enum ibv_wc_status status = status_of(c->rule->argument);

	FOR_EACH_MESSAGE(c, m)
	{
		const struct step *qp = qp_step(c, m->step->side, m->step->object);

		if (message_denied(c, m) == c->rule->argument && m->posted->done.error)
			exercised(c); /* by the post itself */
		if (!is_send_side(m) || !m->first || !qp || HAS(qp, UC) || HAS(qp, UD) ||
		    message_denied(c, m) != c->rule->argument ||
		    m->first->wc.status == IBV_WC_WR_FLUSH_ERR ||
		    !undisturbed(c, m->step->object, m->first))
			continue;
		keeps(c, m->first, m->first->wc.status == status,
		      "#%u ended with status %u, not %u", m->step->id, m->first->wc.status, status);
	}
}

/* A list is refused from its first wrong request on, and bad_wr names that one. */
static void too_many_pieces(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_POST)
	{
		if (!HAS(step_of(c, e), LONG))
			continue;
		keeps(c, e, e->done.error,
		      "#%u has more pieces than a queue pair takes, and was accepted",
		      step_of(c, e)->id);
	}
}

static void bad_wr(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_POST)
	{
		const struct step *s = step_of(c, e), *qp = qp_step(c, e->side, s->object);

		/* The interface ibv_wr_*() names no request. */
		if (!HAS(s, LONG) || !e->done.error || !qp || HAS(qp, WR_API))
			continue;
		keeps(c, e, e->done.value[1] == e->done.value[3],
		      "request %u of the list is wrong, and bad_wr names %u",
		      (unsigned int)e->done.value[3], (unsigned int)e->done.value[1]);
	}
}

static void bound_region(struct check *c)
{
	FOR_EACH_DONE(c, e, VERB_DESTROY)
	{
		const struct step *s = step_of(c, e);

		if (s->kind != 'r')
			continue;
		FOR_EACH_MESSAGE(c, m)
		{
			if (m->step->operation != OP_BIND || m->step->side != e->side ||
			    m->step->piece[0].region != s->object || !m->successes ||
			    !before(c, m->first, e) ||
			    done_on(c, VERB_DESTROY, e->side, 'w', m->step->mw))
				continue;
			FOR_EACH_MESSAGE(c, o)
			if ((o->step->operation == OP_INV || HAS(o->step, INVALIDATE)) &&
			    !before(c, e, o->posted))
				return;
			keeps(c, e, e->done.error, "region r%u went under its window w%u",
			      s->object, m->step->mw);
		}
	}
}

#define ANY_ERROR -1

static void probe(struct check *c)
{
	static const int wanted[PROBE_COUNT] = {
		[PROBE_CQ_LIMIT] = ANY_ERROR,  [PROBE_QP_LIMIT] = ANY_ERROR,
		[PROBE_SRQ_LIMIT] = ANY_ERROR, [PROBE_NO_WRITE] = ANY_ERROR,
		[PROBE_GID_INDEX] = ANY_ERROR, [PROBE_PD_BUSY] = EBUSY,
		[PROBE_SRQ_BUSY] = EBUSY,      [PROBE_MCAST_GID] = ANY_ERROR,
		[PROBE_DM_LIMIT] = ANY_ERROR,
	};

	FOR_EACH_DONE(c, e, VERB_TRY)
	{
		int r = e->done.error, want = wanted[c->rule->argument];

		if (step_of(c, e)->probe != c->rule->argument)
			continue;
		keeps(c, e, !(want == ANY_ERROR ? !r : r != want), "%s ended with errno %d",
		      probe_names[c->rule->argument], r);
	}
}

const struct judge rules_denied[] = {
	{ 37, denied, DENIED_RKEY },
	{ 38, denied, DENIED_LKEY },
	{ 52, denied, DENIED_BOUNDS },
	{ 53, denied, DENIED_ACCESS },
	{ 54, denied, DENIED_DOMAIN },
	{ 55, denied, DENIED_LOCAL_DOMAIN },
	{ 56, denied, DENIED_WINDOW_BOUNDS },
	{ 57, denied, DENIED_WINDOW_ACCESS },
	{ 58, denied, DENIED_WINDOW_GONE },
	{ 59, denied, DENIED_BIND },
	{ 60, denied, DENIED_UNALIGNED },
	{ 62, bound_region },
	{ 76, bad_wr },
	{ 77, too_many_pieces },
	{ 83, probe, PROBE_IMPORT },
	{ 84, probe, PROBE_CQ_LIMIT },
	{ 85, probe, PROBE_QP_LIMIT },
	{ 86, probe, PROBE_SRQ_LIMIT },
	{ 87, probe, PROBE_NO_WRITE },
	{ 88, probe, PROBE_GID_INDEX },
	{ 89, probe, PROBE_PD_BUSY },
	{ 90, probe, PROBE_SRQ_BUSY },
	{ 91, probe, PROBE_MCAST_GID },
	{ 92, probe, PROBE_DM_BYTES },
	{ 93, probe, PROBE_DM_LIMIT },
	{ 94, probe, PROBE_XRC_SEND },
	{ 95, probe, PROBE_CM_DATA },
	{ 96, probe, PROBE_CM_REJECT },
	{ 97, probe, PROBE_CM_LEAVE },
	{ 98, probe, PROBE_CANCEL },
};
const unsigned int rules_denied_count = ARRAY_SIZE(rules_denied);
