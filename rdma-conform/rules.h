/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file "rules" has the text of the rules; these tables have their functions. */
#ifndef RDMA_CONFORM_RULES_H
#define RDMA_CONFORM_RULES_H

#include "rdma-conform/check.h"
#include "util/util.h"

struct judge {
	unsigned int number;
	void (*look)(struct check *c);
	unsigned int argument; /* of a function that serves several rules */
};

extern const char rules_text[];
extern const struct judge rules_memory[], rules_completion[], rules_process[];
extern const unsigned int rules_memory_count, rules_completion_count, rules_process_count;
extern const struct judge rules_request[], rules_denied[], rules_feature[];
extern const unsigned int rules_request_count, rules_denied_count, rules_feature_count;

#endif
