/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of packets. Departing packets pass through this path on their way to the UDP path.
 * Arriving packets are examined by the host, no matter whether they arrived by a socket of this
 * process or were forwarded by another process.
 */
#include "providers/uroce/fault/held.h"

enum {
	DAMAGE_SALT = 0x100, /* larger than every rule number */
};

struct uroce_fault_path {
	struct uroce_path path;
	struct uroce_path *inner;
	struct uroce_faults *faults;
};

/* The decision of the rules about a packet. Counters change only when it is applied. */
struct fate {
	const struct fault_rule *rule; /* NULL: none hits */
	uint32_t matched;	       /* bit for each rule that matched */
	uint32_t tries;		       /* number of earlier transmissions */
	uint64_t key;
};

static struct uroce_fault_path *to_fault(struct uroce_path *path)
{
	return (struct uroce_fault_path *)path;
}

/* --- deciding --- */

static bool is_request(const struct uroce_hdr *hdr)
{
	return hdr_flags(hdr) & PKT_REQUEST;
}

/*
 * Return a PSN relative to the first one. Requests count from the PSN of their sender, responses
 * from the PSN of the other side.
 */
static uint32_t psn_from_start(const struct uroce_qp *qp, enum direction direction,
			       const struct uroce_hdr *hdr)
{
	if (!qp)
		return hdr->psn;
	return (hdr->psn - (is_request(hdr) == (direction == OUTGOING) ? qp->sq_psn : qp->rq_psn)) &
	       PSN_MASK;
}

static uint32_t tries_before(const struct subject *s)
{
	const struct fault_side *side = &s->flow->side[s->direction];
	uint32_t slot = s->psn % FAULT_TRIES;
	bool request = is_request(s->hdr);

	return side->tries[request][slot].psn == s->psn ? side->tries[request][slot].count : 0;
}

static bool rule_is_for(const struct fault_rule *rule, const struct subject *s)
{
	return rule->kind < FAULT_VERB && rule->incoming == (s->direction == INCOMING) &&
	       (rule->opcodes[s->hdr->opcode / 64] >> s->hdr->opcode % 64 & 1) &&
	       (!rule->qp || rule->qp == s->flow->number) && s->psn >= rule->psn_first &&
	       s->psn <= rule->psn_last;
}

static bool rule_hits(const struct uroce_faults *faults, unsigned int i, const struct subject *s,
		      uint64_t key)
{
	const struct fault_rule *rule = &faults->rules[i];
	const struct fault_side *side = &s->flow->side[s->direction];
	uint32_t number = side->matched[i] + 1;

	if (rule->times && side->hits[i] >= rule->times)
		return false;
	if (rule->chance)
		return uroce_fault_chance(faults, i, key);
	return number == rule->nth || (rule->onward && number > rule->nth);
}

/* Decide about a packet: the first rule that applies counts. */
static struct fate fate_of(const struct subject *s)
{
	const struct uroce_faults *faults = s->faults;
	struct fate fate = { .tries = tries_before(s) };

	fate.key = (uint64_t)s->flow->number << 41 | (uint64_t)s->direction << 40 |
		   (uint64_t)s->hdr->opcode << 32 | s->psn;
	fate.key = uroce_fault_hash(faults, fate.tries, fate.key);
	for (unsigned int i = 0; i < faults->count; i++) {
		if (!rule_is_for(&faults->rules[i], s))
			continue;
		fate.matched |= 1u << i;
		if (!fate.rule && rule_hits(faults, i, s, fate.key))
			fate.rule = &faults->rules[i];
	}
	return fate;
}

static void trace(const struct subject *s, const struct fate *fate)
{
	log_debug("uroce: fault %s: qp #%u %s %s PSN +%u try %u", fate->rule->text, s->flow->number,
		  s->direction == INCOMING ? "in" : "out", uroce_opcodes[s->hdr->opcode].name,
		  s->psn, fate->tries + 1);
}

/* Count a packet after the decision, for the decisions about later packets. */
static void fate_apply(const struct subject *s, const struct fate *fate)
{
	const struct uroce_faults *faults = s->faults;
	struct fault_side *side = &s->flow->side[s->direction];
	uint32_t slot = s->psn % FAULT_TRIES;
	bool request = is_request(s->hdr);

	side->tries[request][slot].psn = s->psn;
	side->tries[request][slot].count = fate->tries + 1;
	for (unsigned int i = 0; i < faults->count; i++)
		side->matched[i] += fate->matched >> i & 1;
	if (!fate->rule)
		return;
	side->hits[fate->rule - faults->rules]++;
	trace(s, fate);
}

static bool is_held(const struct fate *fate)
{
	return fate->rule && (fate->rule->kind == FAULT_REORDER || fate->rule->kind == FAULT_DELAY);
}

/* --- outgoing --- */

static int send_inner(struct uroce_fault_path *fault, const struct uroce_av *av,
		      const struct uroce_tx *tx)
{
	atomic_store_explicit(&fault->path.pending, true, memory_order_relaxed);
	return fault->inner->ops->send(fault->inner, av, tx);
}

static int fate_send(struct uroce_fault_path *fault, const struct subject *s,
		     const struct fate *fate, const struct uroce_av *av, const struct uroce_tx *tx)
{
	struct uroce_tx damaged = *tx;
	int r;

	switch (fate->rule ? fate->rule->kind : FAULT_VERB) {
	case FAULT_DROP:
		return 0;
	case FAULT_DUPLICATE:
		r = send_inner(fault, av, tx);
		if (!r)
			send_inner(fault, av, tx);
		return r;
	case FAULT_REORDER:
	case FAULT_DELAY:
		return fault_hold_outgoing(s, fate->rule, fault->inner, av, tx);
	case FAULT_CORRUPT:
		damaged.damage = uroce_fault_hash(s->faults, DAMAGE_SALT, fate->key) | 1;
		return send_inner(fault, av, &damaged);
	default:
		return send_inner(fault, av, tx);
	}
}

static int flow_send(struct uroce_fault_path *fault, struct fault_flow *flow,
		     const struct uroce_av *av, const struct uroce_tx *tx)
{
	struct subject s = {
		.faults = fault->faults,
		.flow = flow,
		.direction = OUTGOING,
		.hdr = tx->hdr,
		.psn = psn_from_start(tx->qp, OUTGOING, tx->hdr),
	};
	struct fate fate = fate_of(&s);
	int r = fate_send(fault, &s, &fate, av, tx);

	if (r < 0)
		return r;
	fate_apply(&s, &fate);
	if (!is_held(&fate))
		fault_overtaken(s.faults, flow->number, OUTGOING);
	return 0;
}

static int fault_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	struct uroce_fault_path *fault = to_fault(path);
	struct uroce_faults *faults = fault->faults;
	int r;

	if (atomic_load_explicit(&faults->port_down, memory_order_relaxed))
		return 0;
	if (likely(tx->qp))
		return flow_send(fault, tx->qp->fault, av, tx);
	uroce_lock(&faults->others_lock);
	r = flow_send(fault, faults->others, av, tx);
	uroce_unlock(&faults->others_lock);
	return r;
}

static void fault_flush(struct uroce_path *path)
{
	struct uroce_path *inner = to_fault(path)->inner;

	atomic_store_explicit(&path->pending, false, memory_order_relaxed);
	if (inner->ops->flush)
		inner->ops->flush(inner);
}

static void fault_reroute(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn)
{
	struct uroce_path *inner = to_fault(path)->inner;

	inner->ops->reroute(inner, av, dest_qpn);
}

static const struct uroce_path_ops fault_ops = {
	.send = fault_send,
	.flush = fault_flush,
	.reroute = fault_reroute,
};

/* --- incoming --- */

static void fate_receive(const struct subject *s, const struct fate *fate, struct uroce_packet *pkt,
			 const union ibv_gid *sgid, uint64_t now)
{
	switch (fate->rule ? fate->rule->kind : FAULT_VERB) {
	case FAULT_DROP:
		return;
	case FAULT_REORDER:
	case FAULT_DELAY:
		fault_hold_incoming(s, fate->rule, pkt, sgid);
		return;
	case FAULT_DUPLICATE:
		fault_deliver(s->faults, pkt, sgid, now);
		break;
	default:
		break;
	}
	fault_deliver(s->faults, pkt, sgid, now);
}

void uroce_fault_receive(struct uroce_faults *faults, struct uroce_qp *qp, struct uroce_packet *pkt,
			 const union ibv_gid *sgid, uint64_t now)
{
	struct subject s = {
		.faults = faults,
		.flow = qp->fault,
		.direction = INCOMING,
		.hdr = &pkt->hdr,
	};
	struct fate fate;

	assert_held(&faults->host->progress_lock);
	uroce_lock(&qp->lock);
	s.psn = psn_from_start(qp, INCOMING, &pkt->hdr);
	uroce_unlock(&qp->lock);
	fate = fate_of(&s);
	if (atomic_load_explicit(&faults->port_down, memory_order_relaxed))
		return;
	pkt->fault_seen = true;
	fate_apply(&s, &fate);
	fate_receive(&s, &fate, pkt, sgid, now);
	if (!is_held(&fate))
		fault_overtaken(faults, s.flow->number, INCOMING);
}

/* --- life --- */

int uroce_fault_path_new(struct uroce_faults *faults, struct uroce_path *inner,
			 struct uroce_path **ret_path)
{
	struct uroce_fault_path *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return -ENOMEM;
	fault->path =
		(struct uroce_path){ .ops = &fault_ops, .host = inner->host, .name = "fault" };
	fault->inner = inner;
	fault->faults = faults;
	*ret_path = &fault->path;
	return 0;
}

/* Held packets are freed with the path. */
void uroce_fault_path_free(struct uroce_path *path)
{
	fault_held_forget(to_fault(path)->faults, to_fault(path)->inner);
	free(path);
}

int uroce_fault_qp_init(struct uroce_faults *faults, struct uroce_qp *qp)
{
	qp->fault = calloc(1, sizeof(*qp->fault));
	if (!qp->fault)
		return -ENOMEM;
	qp->fault->number = atomic_fetch_add(&faults->qps, 1) + 1;
	return 0;
}

void uroce_fault_qp_free(struct uroce_qp *qp)
{
	free(qp->fault);
	qp->fault = NULL;
}

void uroce_faults_free(struct uroce_faults *faults)
{
	fault_held_free(faults);
	free(faults->others);
	free(faults);
}
