/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Check the requests that a device must refuse, and their status or errno. */
#include <errno.h>

#include "rdma-conform/rules.h"

/* Expected status by reason of the denial. Reasons that are not in the table expect
 * IBV_WC_REM_ACCESS_ERR. */
static const enum ibv_wc_status statuses[DENIED_COUNT] = {
	[DENIED_LKEY] = IBV_WC_LOC_PROT_ERR,
	[DENIED_LOCAL_DOMAIN] = IBV_WC_LOC_PROT_ERR,
	[DENIED_BIND] = IBV_WC_MW_BIND_ERR,
	[DENIED_UNALIGNED] = IBV_WC_REM_INV_REQ_ERR,
};

/* Check the status of a denied request, on a reliable connection that no other step disturbed. The
 * argument is the reason. */
RULE(denied)
{
	enum ibv_wc_status status = statuses[c->rule->argument] ?: IBV_WC_REM_ACCESS_ERR;

	if (message_denied(c, m) != c->rule->argument)
		return;
	if (e->done.error)
		exercised(c, 1); /* by the post itself */
	if (is_send_side(m) && m->first && qp_confirms(c, s->side, s->object) &&
	    m->first->wc.status != IBV_WC_WR_FLUSH_ERR && undisturbed(c, s->object, m->first))
		keeps(c, m->first, m->first->wc.status == status,
		      "#%u ended with status %u, not %u", s->id, m->first->wc.status, status);
}

/* A list is refused from its first wrong request on, and bad_wr points to this request. */
RULE(too_many_pieces)
{
	if (HAS(s, LONG))
		keeps(c, e, e->done.error,
		      "#%u has more pieces than a queue pair takes, and was accepted", s->id);
}

RULE(bad_wr)
{
	const struct step *qp = qp_step(c, e->side, s->object);

	/* The interface ibv_wr_*() does not name the refused request. */
	if (HAS(s, LONG) && e->done.error && qp && !HAS(qp, WR_API))
		keeps(c, e, e->done.value[1] == e->done.value[3],
		      "request %u of the list is wrong, and bad_wr names %u",
		      (unsigned int)e->done.value[3], (unsigned int)e->done.value[1]);
}

/* Another request may have bound the window to another region before @e. */
static bool invalidated(const struct check *c, const struct event *e)
{
	return ANY(FOR_EACH_MESSAGE(c, m),
		   (m->step->operation == OP_INV || HAS(m->step, INVALIDATE)) &&
			   !before(c, e, m->posted));
}

RULE(bound_region)
{
	if (s->kind != 'r')
		return;
	FOR_EACH_MESSAGE(c, bind)
	if (bind->step->operation == OP_BIND && bind->step->side == e->side &&
	    bind->step->piece[0].region == s->object && bind->successes &&
	    before(c, bind->first, e) && !may_be_gone(c, e->side, 'w', bind->step->mw, e) &&
	    !invalidated(c, e))
		keeps(c, e, e->done.error, "region r%u went under its window w%u", s->object,
		      bind->step->mw);
}

#define AS_WANTED(name, text, wanted) [PROBE_##name] = wanted,
RULE(probe)
{
	static const int wanted[PROBE_COUNT] = { PROBES(AS_WANTED) };
	int r = e->done.error, want = wanted[c->rule->argument];

	if (s->probe == c->rule->argument)
		keeps(c, e, want == ANY_ERROR ? r : r == want, "%s ended with errno %d",
		      probe_names[s->probe], r);
}
