/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of the rules. The file "rules" has their texts, and the kind of things that each
 * function checks. */
#ifndef RDMA_CONFORM_RULES_H
#define RDMA_CONFORM_RULES_H

#include "rdma-conform/check.h"
#include "util/util.h"

/*
 * Look at one thing of the trial.
 * @e: a completion, the return of a step, or the return of the post of @m; NULL for a whole trial
 * @s: the step of @e or of @m
 * @m: the request, if it is one
 */
#define RULE(function)                                                              \
	void function(struct check *c, const struct event *e, const struct step *s, \
		      const struct message *m)

#define ROW(number, name, each, function, argument, sentence, source) RULE(function);
#include "table_rules.h"
#undef ROW

/* The argument of right_succeeds(). */
enum right {
	RIGHT_ANY,
	RIGHT_ON_DEMAND,
	RIGHT_STOPPED,
};

#endif
