/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdma-conform/rules.h"

static const struct {
	const struct rule *rules;
	const unsigned int *count;
} groups[] = {
	{ rules_memory, &rules_memory_count },
	{ rules_completion, &rules_completion_count },
	{ rules_process, &rules_process_count },
	{ rules_request, &rules_request_count },
};

const struct rule *rule_at(unsigned int index)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(groups); i++) {
		if (index < *groups[i].count)
			return &groups[i].rules[index];
		index -= *groups[i].count;
	}
	return NULL;
}

unsigned int rule_count(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(groups); i++)
		count += *groups[i].count;
	return count;
}
