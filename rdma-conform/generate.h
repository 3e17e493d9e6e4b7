/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Generate programs from a seed. */
#ifndef RDMA_CONFORM_GENERATE_H
#define RDMA_CONFORM_GENERATE_H

#include "rdma-conform/event.h"

/* Parts that are left out of all programs, because the device does not support them. */
struct left_out {
	char what[64];
	uint64_t times;
};

/* Generate the program of @seed for devices with the features @offer, the common ones of both
 * sides. @threads: the threads of a side, or 0 for 1 to 3. */
void generate(uint64_t seed, unsigned int threads, const struct offer *offer,
	      struct program *ret_program);
/* Kinds of scenes, and how often each was left out so far. The list ends with an empty one. */
const struct left_out *generate_left_out(void);

#endif
