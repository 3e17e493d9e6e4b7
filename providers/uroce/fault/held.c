/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Held packets, which wait for a time or until other packets of their QP have been sent. */
#include <string.h>

#include "providers/uroce/fault/held.h"

/* A held packet. */
struct fault_held {
	TAILQ_ENTRY(fault_held) entry;
	uint32_t flow; /* number of its QP */
	enum direction direction;
	uint32_t overtake; /* number of packets of its QP that must go first; 0: only time counts */
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
	/* If the thread sleeps without limit, wake it so that it releases the packet in time. */
	if (first && atomic_load_explicit(&engine->wakes_at, memory_order_relaxed))
		engine->events->wake(engine);
}

int fault_hold_outgoing(const struct subject *s, const struct fault_rule *rule,
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

void fault_hold_incoming(const struct subject *s, const struct fault_rule *rule,
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

/* Release a packet. Return: -EAGAIN: there was no room, and the packet stays held. */
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
	fault_deliver(faults, &held->pkt, held->has_sgid ? &held->sgid : NULL, uroce_now());
	return 0;
}

static void held_done(struct fault_held_list *list, struct fault_held *held)
{
	TAILQ_REMOVE(list, held, entry);
	free(held);
}

void fault_overtaken(struct uroce_faults *faults, uint32_t flow, enum direction direction)
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

void fault_held_forget(struct uroce_faults *faults, const struct uroce_path *inner)
{
	struct fault_held *held, *next;

	uroce_lock(&faults->lock);
	for (held = TAILQ_FIRST(&faults->held); held; held = next) {
		next = TAILQ_NEXT(held, entry);
		if (held->inner == inner)
			held_done(&faults->held, held);
	}
	uroce_unlock(&faults->lock);
}

void fault_held_free(struct uroce_faults *faults)
{
	struct fault_held *held;

	while ((held = TAILQ_FIRST(&faults->held)))
		held_done(&faults->held, held);
}
