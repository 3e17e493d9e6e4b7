/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declarations shared by path_fault.c, which decides about packets, and held.c, which keeps some of
 * them.
 */
#ifndef UROCE_FAULT_HELD_H
#define UROCE_FAULT_HELD_H

#include "providers/uroce/fault/fault.h"

enum direction {
	OUTGOING,
	INCOMING,
};

/* The properties of a packet that rules compare. */
struct subject {
	struct uroce_faults *faults;
	struct fault_flow *flow;
	enum direction direction;
	const struct uroce_hdr *hdr;
	uint32_t psn; /* relative to the first PSN of the QP */
};

/* Keep a copy of the packet until the condition of @rule is met. -EAGAIN: there is no memory. */
int fault_hold_outgoing(const struct subject *s, const struct fault_rule *rule,
			struct uroce_path *inner, const struct uroce_av *av,
			const struct uroce_tx *tx);
/* Keep an arriving packet in the same way. Without memory the packet is lost. */
void fault_hold_incoming(const struct subject *s, const struct fault_rule *rule,
			 const struct uroce_packet *pkt, const union ibv_gid *sgid);
/* Note that a packet of the flow was sent: packets that it had to overtake may leave. */
void fault_overtaken(struct uroce_faults *faults, uint32_t flow, enum direction direction);
/* Drop the held packets that were to leave by @inner. */
void fault_held_forget(struct uroce_faults *faults, const struct uroce_path *inner);
/* Free all held packets. No thread uses the faults any more. */
void fault_held_free(struct uroce_faults *faults);

/* Deliver a packet to the host. */
static inline void fault_deliver(struct uroce_faults *faults, struct uroce_packet *pkt,
				 const union ibv_gid *sgid, uint64_t now)
{
	faults->host->events->packet(faults->host, pkt, sgid, now);
}

#endif
