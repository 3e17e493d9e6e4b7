/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long a thread polls before it sleeps. Sleep costs both sides: arming the CQ, a wake-up by the
 * kernel, and taking the event. Polling costs the processor, which may be the one that the peer
 * needs.
 *
 * Each socket measures two facts: the time until its peer answers, and whether the awaited event
 * has come after other threads have run. On a crowded machine the other threads are not the peer,
 * and they run for milliseconds, because the kernel prefers threads that slept. A peer that streams
 * runs as long, but leaves more than one message. The kernel may also ignore that this thread
 * yields: a peer that was busy for long does not run until this thread sleeps again.
 */
#include "librdmacm/rsocket/rs.h"

#define LONGER	      8	 /* longest time to poll: this many times the usual time */
#define SHORTER	      16 /* shortest time to poll: the usual time divided by this */
#define PATIENCE_MAX  64
#define TAKEN_NS      3000ull /* ns: in a shorter offer no other thread ran */
#define UNTAKEN_WAITS 4	      /* waits after which the offer is tried again */
#define CROWDED_NS    1000000ull
#define CROWDED_WAITS 256 /* waits after which polling is tried again */

void rs_spin_init(struct rs_spin *spin)
{
	*spin = (struct rs_spin){ .ns = rs_spin_ns(), .patience = PATIENCE_MAX };
}

bool rs_spin_looked(struct rs_spin *spin, bool found)
{
	if (spin->yielded && found)
		spin->patience = 1; /* the processor must be offered at first */
	else if (spin->yielded)
		spin->patience = min_of(spin->patience * 2, (unsigned int)PATIENCE_MAX);
	spin->yielded = false;
	if (found || ++spin->vain < spin->patience) {
		spin->vain = found ? 0 : spin->vain;
		return false;
	}
	spin->vain = 0;
	spin->yielded = true;
	return true;
}

void rs_spin_offered(struct rs_spin *spin, uint64_t ns, unsigned int messages)
{
	if (ns < TAKEN_NS && !messages)
		spin->untaken = UNTAKEN_WAITS;
	if (ns < CROWDED_NS || messages > 1)
		return;
	spin->crowded = CROWDED_WAITS;
	spin->patience = PATIENCE_MAX;
	spin->yielded = false;
}

bool rs_spin_is_vain(struct rs_spin *spin)
{
	if (!spin->untaken)
		return false;
	spin->untaken--;
	spin->yielded = false;
	return true;
}

bool rs_spin_begin(struct rs_spin *spin)
{
	if (!spin->crowded)
		return rs_spin_ns();
	spin->crowded--;
	return false;
}

void rs_spin_learn(struct rs_spin *spin, uint64_t ns, bool slept)
{
	uint64_t usual = rs_spin_ns();

	if (!slept || ns < usual * LONGER / 2)
		spin->ns = max_of(usual, min_of(ns * 2, usual * LONGER));
	else
		spin->ns = max_of(spin->ns / 2, usual / SHORTER);
}
