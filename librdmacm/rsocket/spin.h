/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long a thread polls before it sleeps, and when it offers its processor: spin.c. */
#ifndef LIBRDMACM_RSOCKET_SPIN_H
#define LIBRDMACM_RSOCKET_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "librdmacm/rsocket/default.h"

/* How threads that wait for a socket poll before they sleep. */
struct rs_spin {
	uint64_t ns;	       /* time to poll before sleep */
	unsigned int vain;     /* polls since the last one with news or the last yield */
	unsigned int patience; /* limit of @vain; at this limit the processor is offered */
	bool yielded;	       /* the processor was offered before this poll */
	/* number of next waits that sleep at once, because other threads ran for long */
	unsigned int crowded;
	/* number of next waits that sleep without a last offer of the processor */
	unsigned int untaken;
};

/* Return how long a waiter polls before it sleeps, unless the socket has learned another time. */
static inline uint64_t rs_spin_ns(void)
{
	return rs_defaults()->spin_us * 1000ull;
}

/* With @lock of the socket held: */
void rs_spin_init(struct rs_spin *spin);
/* Learn whether a poll found something. Return: offer the processor now, without the lock. */
bool rs_spin_looked(struct rs_spin *spin, bool found);
/* Learn that the processor was offered and came back after @ns, with that many messages. */
void rs_spin_offered(struct rs_spin *spin, uint64_t ns, unsigned int messages);
/* Return whether to skip the offer, because no other thread ran at the last ones. */
bool rs_spin_is_vain(struct rs_spin *spin);
/* Return whether to poll at all before sleep. Called once for each wait. */
bool rs_spin_begin(struct rs_spin *spin);
/* Learn that a wait ended after @ns, by polling or by sleep. */
void rs_spin_learn(struct rs_spin *spin, uint64_t ns, bool slept);

#endif
