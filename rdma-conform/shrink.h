/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RDMA_CONFORM_SHRINK_H
#define RDMA_CONFORM_SHRINK_H

#include "rdma-conform/world.h"

/* Does @program break @rule within @runs runs? *@ret_check is that run's, or the last one's. */
bool breaks(struct world *world, const struct program *program, const struct rule *rule,
	    unsigned int runs, struct check *ret_check, struct trial *ret_trial);
/*
 * Leave out steps of @program as long as it still breaks @rule, for @limit ns at most. Programs run
 * at different speeds: a step is needed when the rule held in several runs without it. Returns in
 * how many of a hundred runs the rule broke.
 */
unsigned int shrink(struct world *world, struct program *program, const struct rule *rule,
		    int64_t limit);

#endif
