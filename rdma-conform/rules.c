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
	c->exercised[c->rule - rules] += times;
}

static void look_at_completions(struct check *c)
{
	FOR_EACH_WC(c, e)
	{
		const struct message *m = message_of_wc(c, e);

		if (m)
			c->rule->look(c, e, m->step, m);
	}
}

static void look_at_steps(struct check *c)
{
	FOR_EACH_DONE(c, e, c->rule->each)
	{
		const struct step *s = step_of(c, e);

		c->rule->look(c, e, s, s->id ? &c->messages[s->id] : NULL);
	}
}

void rule_apply(struct check *c, const struct rule *rule)
{
	c->rule = rule;
	switch (rule->each) {
	case EACH_trial:
		rule->look(c, NULL, NULL, NULL);
		break;
	case EACH_completion:
		look_at_completions(c);
		break;
	case EACH_message:
		FOR_EACH_MESSAGE(c, m)
		rule->look(c, m->posted, m->step, m);
		break;
	default:
		look_at_steps(c);
	}
}
