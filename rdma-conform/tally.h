/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How many steps that ask the device were taken, and why the others were not. */
#ifndef RDMA_CONFORM_TALLY_H
#define RDMA_CONFORM_TALLY_H

#include "rdma-conform/check.h"

#define REFUSALS 64

struct refusal {
	uint8_t verb;
	uint16_t error; /* positive errno */
	uint64_t times;
};

struct tally {
	uint64_t taken, left_out, refused;
	uint64_t unlisted; /* refused, for which @refusals has no room */
	uint64_t requests, accepted; /* posts to send queues */
	uint64_t skips[SKIP_COUNT];
	struct refusal refusals[REFUSALS]; /* up to the first with no times */
};

/* Count the steps of @trial. */
void tally_add(struct tally *tally, const struct trial *trial);
/* Why so few steps were taken that the rules prove nothing, or NULL. */
const char *tally_doubt(const struct tally *tally);

#endif
