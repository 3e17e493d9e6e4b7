/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups of rules; a rule's number is its own for ever. */
#ifndef RDMA_CONFORM_RULES_H
#define RDMA_CONFORM_RULES_H

#include "rdma-conform/check.h"
#include "util/util.h"

extern const struct rule rules_memory[], rules_completion[], rules_process[];
extern const unsigned int rules_memory_count, rules_completion_count, rules_process_count;
extern const struct rule rules_request[];
extern const unsigned int rules_request_count;

#endif
