/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-conform/rules.h"

#define RULES 128

static const struct {
	const struct judge *judges;
	const unsigned int *count;
} groups[] = {
	{ rules_memory, &rules_memory_count },	 { rules_completion, &rules_completion_count },
	{ rules_process, &rules_process_count }, { rules_request, &rules_request_count },
	{ rules_denied, &rules_denied_count },	 { rules_feature, &rules_feature_count },
};

static struct rule rules[RULES];
static unsigned int count;

static const struct judge *judge_of(unsigned int number)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(groups); i++)
		for (unsigned int j = 0; j < *groups[i].count; j++)
			if (groups[i].judges[j].number == number)
				return &groups[i].judges[j];
	abort(); /* a line of the file "rules" without a function */
}

static char *field(char **text)
{
	char *begin = *text, *end = strstr(begin, " | ");

	if (end)
		*end = '\0';
	*text = end ? end + 3 : NULL;
	return begin;
}

static void rules_read(void)
{
	char *text = strdup(rules_text), *line;

	while (text && (line = strsep(&text, "\n"))) {
		struct rule *r = &rules[count];
		const struct judge *judge;

		if (!*line || *line == '#' || count == RULES)
			continue;
		r->number = atoi(field(&line));
		r->name = field(&line);
		r->sentence = field(&line);
		r->source = field(&line);
		judge = judge_of(r->number);
		r->look = judge->look;
		r->argument = judge->argument;
		count++;
	}
}

const struct rule *rule_at(unsigned int index)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, rules_read);
	return index < count ? &rules[index] : NULL;
}

unsigned int rule_count(void)
{
	rule_at(0);
	return count;
}
