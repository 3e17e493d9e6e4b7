/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What path_fault.c, which decides about packets, and held.c, which keeps some, share. */
#ifndef UROCE_FAULT_HELD_H
#define UROCE_FAULT_HELD_H

#include "providers/uroce/fault/fault.h"

enum direction {
	OUTGOING,
	INCOMING,
};

/* A packet as the rules see it. */
struct subject {
	struct uroce_faults *faults;
	struct fault_flow *flow;
	enum direction direction;
	const struct uroce_hdr *hdr;
	uint32_t psn; /* from the QP's first */
};

/* Keep a copy of it until what @rule says has come to pass. -EAGAIN: there is no memory. */
int fault_hold_outgoing(const struct subject *s, const struct fault_rule *rule,
			struct uroce_path *inner, const struct uroce_av *av,
			const struct uroce_tx *tx);
/* The same; without memory it is lost. */
void fault_hold_incoming(const struct subject *s, const struct fault_rule *rule,
			 const struct uroce_packet *pkt, const union ibv_gid *sgid);
/* A packet of the flow went by: those it was to overtake may go. */
void fault_overtaken(struct uroce_faults *faults, uint32_t flow, enum direction direction);
/* What was to leave by @inner will not. */
void fault_held_forget(struct uroce_faults *faults, const struct uroce_path *inner);
/* Nobody uses the faults any more. */
void fault_held_free(struct uroce_faults *faults);

/* It goes on to the host. */
static inline void fault_deliver(struct uroce_faults *faults, struct uroce_packet *pkt,
				 const union ibv_gid *sgid, uint64_t now)
{
	faults->host->events->packet(faults->host, pkt, sgid, now);
}

#endif
