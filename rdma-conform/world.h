/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two agents as processes, and the function that runs a program on both. */
#ifndef RDMA_CONFORM_WORLD_H
#define RDMA_CONFORM_WORLD_H

#include <sys/types.h>

#include "rdma-conform/agent.h"
#include "rdma-conform/check.h"

struct world_options {
	struct agent_options agent;
	const char *peer; /* host of the other side, or NULL for this host */
	const char *port; /* TCP port */
	int64_t user;	  /* user of side b's process, or -1 */
	bool one_process;
};

struct world {
	const struct world_options *options;
	pid_t child[2];
	int control[2];
	struct offer offer[2];
	bool runs;
	struct event *events;
};

/* Start the agents. Return 0 or a negative errno. */
int world_start(struct world *world, const struct world_options *options);
void world_stop(struct world *world);
/* Run @program. *@ret_trial is valid until the next call. Agents that died are started again. */
int world_run(struct world *world, const struct program *program, struct trial *ret_trial);
/* shrink.c: */
/* Return whether @program breaks @rule within @runs runs. *@ret_check: the check of the run that
 * broke the rule, or of the last run */
bool breaks(struct world *world, const struct program *program, const struct rule *rule,
	    unsigned int runs, struct check *ret_check, struct trial *ret_trial);
/*
 * Remove steps of @program as long as it still breaks @rule, for at most @limit ns. The speed of
 * programs differs in each run. Keep a step if the rule held in several runs without the step.
 * Return the percentage of runs that break the rule.
 */
unsigned int shrink(struct world *world, struct program *program, const struct rule *rule,
		    int64_t limit);
/* Be side b for controllers on other hosts. This does not return. */
int world_serve(const struct world_options *options);

#endif
