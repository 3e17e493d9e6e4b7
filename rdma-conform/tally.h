/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Count the steps that call the device and were taken, and the causes of the others. */
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
	uint64_t unlisted;	     /* refusals that do not fit into @refusals */
	uint64_t requests, accepted; /* posts to send queues */
	uint64_t skips[SKIP_COUNT];
	struct refusal refusals[REFUSALS]; /* ends with the first whose times are 0 */
};

/* Count the steps of @trial. */
void tally_add(struct tally *tally, const struct trial *trial);
/* Return why the run proves nothing because too few steps were taken, or NULL. */
const char *tally_doubt(const struct tally *tally);

#endif
