/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>

#include "rdma-doctor/cpulist.h"

bool cpulist_parse(const char *text, cpu_set_t *ret_set)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	while (*text && *text != '\n') {
		unsigned long first, last;
		char *end;

		if (*text < '0' || *text > '9')
			return false;
		first = last = strtoul(text, &end, 10);
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, &set);
		text = end + (*end == ',');
		if (*end && *end != ',' && *end != '\n')
			return false;
	}
	*ret_set = set;
	return true;
}

bool cpulist_overlap(const cpu_set_t *a, const cpu_set_t *b)
{
	cpu_set_t both;

	CPU_AND(&both, a, b);
	return CPU_COUNT(&both) > 0;
}
