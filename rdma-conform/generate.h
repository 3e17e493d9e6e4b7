/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs from a seed. */
#ifndef RDMA_CONFORM_GENERATE_H
#define RDMA_CONFORM_GENERATE_H

#include "rdma-conform/event.h"

/* What could not be part of any program, because the device does not offer it. */
struct left_out {
	char what[64];
	uint64_t times;
};

/* Make the program of @seed for devices that offer @offer, the least of both sides. */
void generate(uint64_t seed, const struct offer *offer, struct program *ret_program);
/* Kinds of scenes and how often each was left out so far; ends with an empty one. */
const struct left_out *generate_left_out(void);

#endif
