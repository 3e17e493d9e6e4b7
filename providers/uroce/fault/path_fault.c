/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of packets. What leaves passes through a path of its own on its way to the UDP path; what
 * arrives is looked at by the host, where it does not matter whether it came by a socket of this
 * process or was passed on by another one.
 */
#include <string.h>

#include "providers/uroce/fault/fault.h"

enum {
	DAMAGE_SALT = 0x100, /* beyond every rule number */
};

enum direction {
	OUTGOING,
	INCOMING,
};

struct uroce_fault_path {
	struct uroce_path path;
	struct uroce_path *inner;
	struct uroce_faults *faults;
};

/* A packet that waits. */
struct fault_held {
	TAILQ_ENTRY(fault_held) entry;
	uint32_t flow; /* number of its QP */
	enum direction direction;
	uint32_t overtake; /* packets of its QP that go first; 0: only time counts */
	uint64_t due;
	/* outgoing */
	struct uroce_path *inner;
	struct uroce_av av;
	/* incoming */
	struct uroce_packet pkt;
	union ibv_gid sgid, dgid;
	uint8_t grh[GRH_LEN];
	bool has_sgid;
	/* both */
	struct uroce_hdr hdr;
	uint32_t length;
	uint8_t payload[];
};

/* A packet as the rules see it. */
struct subject {
	struct uroce_faults *faults;
	struct fault_flow *flow;
	enum direction direction;
	const struct uroce_hdr *hdr;
	uint32_t psn; /* from the QP's first */
};

/* What the rules say about a packet; nothing is counted until it is settled. */
struct fate {
	const struct fault_rule *rule; /* NULL: none hits */
	uint32_t matched;	       /* bit per rule that was for it */
	uint32_t tries;		       /* times it was sent before */
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

/* Requests count from the PSN of the side that sends them, responses from that of the other. */
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

/* The first rule that hits decides. */
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

/* The packet has met its fate: that counts for those to come. */
static void fate_settle(const struct subject *s, const struct fate *fate)
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

/* --- holding --- */

static struct fault_held *held_new(const struct subject *s, const struct fault_rule *rule,
				   uint32_t length)
{
	struct fault_held *held = calloc(1, sizeof(*held) + length);

	if (!held)
		return NULL;
	held->flow = s->flow->number;
	held->direction = s->direction;
	held->overtake = rule->kind == FAULT_REORDER ? rule->by : 0;
	held->due = uroce_now() + rule->delay;
	held->hdr = *s->hdr;
	held->length = length;
	return held;
}

static void held_add(struct uroce_faults *faults, struct fault_held *held)
{
	struct uroce_engine *engine = faults->engine;
	bool first;

	uroce_lock(&faults->lock);
	first = TAILQ_EMPTY(&faults->held);
	TAILQ_INSERT_TAIL(&faults->held, held, entry);
	uroce_unlock(&faults->lock);
	/* A thread that sleeps without limit must come to release it. */
	if (first && atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}

static int hold_outgoing(const struct subject *s, const struct fault_rule *rule,
			 struct uroce_path *inner, const struct uroce_av *av,
			 const struct uroce_tx *tx)
{
	struct fault_held *held = held_new(s, rule, tx->length);
	uint8_t *p;

	if (!held)
		return -EAGAIN;
	held->inner = inner;
	held->av = *av;
	p = held->payload;
	for (int i = 0; i < tx->iovcnt; i++) {
		int r = uroce_copy(p, tx->iov[i].iov_base, tx->iov[i].iov_len);

		if (r < 0) {
			free(held);
			return r;
		}
		p += tx->iov[i].iov_len;
	}
	held_add(s->faults, held);
	return 0;
}

static void hold_incoming(const struct subject *s, const struct fault_rule *rule,
			  const struct uroce_packet *pkt, const union ibv_gid *sgid)
{
	struct fault_held *held = held_new(s, rule, pkt->payload.length);

	if (!held)
		return; /* lost, then */
	held->pkt = *pkt;
	held->pkt.payload.data = held->payload;
	memcpy(held->payload, pkt->payload.data, pkt->payload.length);
	if (sgid)
		held->sgid = *sgid;
	held->has_sgid = sgid;
	if (pkt->dgid) {
		held->dgid = *pkt->dgid;
		held->pkt.dgid = &held->dgid;
	}
	if (pkt->grh) {
		memcpy(held->grh, pkt->grh, sizeof(held->grh));
		held->pkt.grh = held->grh;
	}
	held_add(s->faults, held);
}

static void deliver(struct uroce_faults *faults, struct uroce_packet *pkt,
		    const union ibv_gid *sgid, uint64_t now)
{
	faults->host->events->packet(faults->host, pkt, sgid, now);
}

/* Return: -EAGAIN when there was no room for it; it then stays. */
static int held_release(struct uroce_faults *faults, struct fault_held *held)
{
	struct iovec iov = { held->payload, held->length };
	struct uroce_tx tx = { .hdr = &held->hdr,
			       .iov = &iov,
			       .iovcnt = held->length ? 1 : 0,
			       .length = held->length };

	if (held->direction == OUTGOING)
		return held->inner->ops->send(held->inner, &held->av, &tx);
	held->pkt.fault_seen = true;
	deliver(faults, &held->pkt, held->has_sgid ? &held->sgid : NULL, uroce_now());
	return 0;
}

static void held_done(struct fault_held_list *list, struct fault_held *held)
{
	TAILQ_REMOVE(list, held, entry);
	free(held);
}

/* A packet of the flow went by: those it was to overtake may go. */
static void overtaken(struct uroce_faults *faults, uint32_t flow, enum direction direction)
{
	struct fault_held_list go = TAILQ_HEAD_INITIALIZER(go);
	struct fault_held *held, *next;

	uroce_lock(&faults->lock);
	for (held = TAILQ_FIRST(&faults->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (held->flow != flow || held->direction != direction || !held->overtake ||
		    --held->overtake)
			continue;
		TAILQ_REMOVE(&faults->held, held, entry);
		TAILQ_INSERT_TAIL(&go, held, entry);
	}
	uroce_unlock(&faults->lock);
	while ((held = TAILQ_FIRST(&go))) {
		TAILQ_REMOVE(&go, held, entry);
		if (held_release(faults, held) == -EAGAIN) {
			held->due = 0;
			held_add(faults, held);
		} else {
			free(held);
		}
	}
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
		return hold_outgoing(s, fate->rule, fault->inner, av, tx);
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
	fate_settle(&s, &fate);
	if (!is_held(&fate))
		overtaken(s.faults, flow->number, OUTGOING);
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

static void fault_doubt(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn)
{
	struct uroce_path *inner = to_fault(path)->inner;

	inner->ops->doubt(inner, av, dest_qpn);
}

static const struct uroce_path_ops fault_ops = {
	.send = fault_send,
	.flush = fault_flush,
	.doubt = fault_doubt,
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
		hold_incoming(s, fate->rule, pkt, sgid);
		return;
	case FAULT_DUPLICATE:
		deliver(s->faults, pkt, sgid, now);
		break;
	default:
		break;
	}
	deliver(s->faults, pkt, sgid, now);
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
	fate_settle(&s, &fate);
	fate_receive(&s, &fate, pkt, sgid, now);
	if (!is_held(&fate))
		overtaken(faults, s.flow->number, INCOMING);
}

/* --- time --- */

void uroce_fault_run(struct uroce_faults *faults, uint64_t now)
{
	struct fault_held *held, *next;
	struct fault_held_list go = TAILQ_HEAD_INITIALIZER(go);

	assert_held(&faults->host->progress_lock);
	uroce_lock(&faults->lock);
	for (held = TAILQ_FIRST(&faults->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (held->due > now)
			continue;
		TAILQ_REMOVE(&faults->held, held, entry);
		TAILQ_INSERT_TAIL(&go, held, entry);
	}
	uroce_unlock(&faults->lock);
	while ((held = TAILQ_FIRST(&go)) && held_release(faults, held) != -EAGAIN)
		held_done(&go, held);
	uroce_lock(&faults->lock);
	TAILQ_CONCAT(&faults->held, &go, entry);
	uroce_unlock(&faults->lock);
}

bool uroce_fault_waiting(struct uroce_faults *faults)
{
	bool waiting;

	uroce_lock(&faults->lock);
	waiting = !TAILQ_EMPTY(&faults->held);
	uroce_unlock(&faults->lock);
	return waiting || atomic_load_explicit(&faults->events_left, memory_order_relaxed);
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

/* What it holds does not outlive it. */
void uroce_fault_path_free(struct uroce_path *path)
{
	struct uroce_faults *faults = to_fault(path)->faults;
	struct fault_held *held, *next;

	uroce_lock(&faults->lock);
	for (held = TAILQ_FIRST(&faults->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (held->inner == to_fault(path)->inner)
			held_done(&faults->held, held);
	}
	uroce_unlock(&faults->lock);
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
	struct fault_held *held;

	while ((held = TAILQ_FIRST(&faults->held)))
		held_done(&faults->held, held);
	free(faults->others);
	free(faults);
}
