/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long to look for what somebody waits for. To sleep costs both sides: the CQ is armed, the
 * kernel wakes somebody, an event is taken. To look costs the processor, which may be the one that
 * the peer needs. Each socket learns both: how soon its peer answers, and whether what it waits for
 * is there as soon as others have run. On a crowded machine these others are not the peer, and run
 * for milliseconds; the kernel lets those run first who slept. A peer that streams runs as long,
 * but leaves more than one message. Nor does the kernel give the processor to everybody: a peer
 * that was busy for long waits while the one who slept has it, until that sleeps again.
 */
#include "librdmacm/rsocket/rs.h"

#define LONGER	      8	 /* times the usual: the most that is looked for */
#define SHORTER	      16 /* the usual by this: the least */
#define PATIENCE_MAX  64
#define TAKEN_NS      3000ull /* an offer that nobody takes is over sooner */
#define UNTAKEN_WAITS 4	      /* until it is tried again */
#define CROWDED_NS    1000000ull
#define CROWDED_WAITS 256 /* until it is tried again */

void rs_spin_init(struct rs_spin *spin)
{
	*spin = (struct rs_spin){ .ns = rs_spin_ns(), .patience = PATIENCE_MAX };
}

bool rs_spin_looked(struct rs_spin *spin, bool found)
{
	if (spin->yielded && found)
		spin->patience = 1; /* others had to run first */
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
