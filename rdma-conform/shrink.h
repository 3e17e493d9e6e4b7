/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RDMA_CONFORM_SHRINK_H
#define RDMA_CONFORM_SHRINK_H

#include "rdma-conform/world.h"

/* Return whether @program breaks @rule within @runs runs. *@ret_check is the check of that run, or
 * of the last one. */
bool breaks(struct world *world, const struct program *program, const struct rule *rule,
	    unsigned int runs, struct check *ret_check, struct trial *ret_trial);
/*
 * Remove steps of @program as long as it still breaks @rule, for at most @limit ns. The speed of
 * programs differs in each run: a step is needed if the rule held in several runs without it.
 * Return in how many of a hundred runs the rule was broken.
 */
unsigned int shrink(struct world *world, struct program *program, const struct rule *rule,
		    int64_t limit);

#endif
