/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rdma-conform/rules.h"

/* The things that a function checks one by one: steps of a verb, or one of these. */
#define AS_EACH(name, text, ...) EACH_##text = VERB_##name,
enum each {
	VERBS(AS_EACH) EACH_trial,
	EACH_completion,
	EACH_message,
};

#define ROW(number, name, each, function, argument, sentence, source) \
	{ number, name, sentence, source, EACH_##each, function, argument },
static const struct rule rules[] = {
#include "table_rules.h"
};

const struct rule *rule_at(unsigned int index)
{
	return index < ARRAY_SIZE(rules) ? &rules[index] : NULL;
}

unsigned int rule_count(void)
{
	return ARRAY_SIZE(rules);
}

void exercised(struct check *c, unsigned int times)
{
	if (c->exercised)
		c->exercised[c->rule - rules] += times;
}

void rule_apply(struct check *c, const struct rule *rule)
{
	c->rule = rule;
	switch (rule->each) {
	case EACH_trial:
		rule->look(c, NULL, NULL, NULL);
		break;
	case EACH_completion:
		FOR_EACH_WC(c, e)
		if (message_of_wc(c, e))
			rule->look(c, e, message_of_wc(c, e)->step, message_of_wc(c, e));
		break;
	case EACH_message:
		FOR_EACH_MESSAGE(c, m)
		rule->look(c, m->posted, m->step, m);
		break;
	default:
		FOR_EACH_STEP(c, e, s)
		if (s->verb == rule->each)
			rule->look(c, e, s, s->id ? &c->messages[s->id] : NULL);
	}
}
