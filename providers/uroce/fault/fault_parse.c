/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsing of UROCE_FAULTS, word by word. An unknown word is refused with a message that lists the
 * permitted words.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "providers/uroce/fault/fault.h"
#include "util/env.h"
#include "util/errno_name.h"

enum {
	ERRNO_MAX = 134,
	REORDER_BY = 3,
	REORDER_MAX = 5000000, /* ns */
	DELAY = 10000000,      /* ns */
};

struct parser {
	char *message;
	struct fault_rule *rule;
};

static const char *const packet_faults[] = {
	[FAULT_DROP] = "drop",	 [FAULT_DUPLICATE] = "duplicate", [FAULT_REORDER] = "reorder",
	[FAULT_DELAY] = "delay", [FAULT_CORRUPT] = "corrupt",
};

static const char *const verbs[] = {
#define X(verb) [FAULT_VERB_##verb] = #verb,
	FAULT_VERBS(X)
#undef X
};

static const struct {
	const char *name;
	enum ibv_event_type type;
} events[] = {
	{ "port_err", IBV_EVENT_PORT_ERR },	    { "port_active", IBV_EVENT_PORT_ACTIVE },
	{ "gid_change", IBV_EVENT_GID_CHANGE },	    { "qp_fatal", IBV_EVENT_QP_FATAL },
	{ "device_fatal", IBV_EVENT_DEVICE_FATAL },
};

/*
 * Words for kinds of packets. A word matches the packets whose name in the opcode table contains
 * the text ("RC write first" contains " write ", "RC atomic write" does not).
 */
static const struct {
	const char *name, *text;
} packet_words[] = {
	{ "send", "send" },
	{ "write", " write " },
	{ "read", "read request" },
	{ "read_response", "read response" },
	{ "atomic", "compare and swap" },
	{ "atomic", "fetch and add" },
	{ "atomic_ack", "atomic acknowledge" },
	{ "atomic_write", "atomic write" },
	{ "flush", "flush" },
	{ "ack", "RC acknowledge" },
	{ "first", "first" },
	{ "middle", "middle" },
	{ "last", "last" },
	{ "only", "only" },
};

/* --- messages about mistakes --- */

static int _printf_(2, 3) refuse(struct parser *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(p->message, FAULT_TEXT, fmt, args);
	va_end(args);
	return -EINVAL;
}

static void names_add(char *list, size_t size, const char *name)
{
	size_t length = strlen(list);

	snprintf(list + length, size - length, "%s%s", length ? ", " : "", name);
}

static int refuse_fault(struct parser *p, const char *word)
{
	char list[FAULT_TEXT] = "";

	for (int i = 0; i < ARRAY_SIZE(packet_faults); i++)
		names_add(list, sizeof(list), packet_faults[i]);
	for (int i = 0; i < ARRAY_SIZE(events); i++)
		names_add(list, sizeof(list), events[i].name);
	for (int i = 0; i < ARRAY_SIZE(verbs); i++)
		names_add(list, sizeof(list), verbs[i]);
	return refuse(p, "'%s' is no fault: seed, %s are", word, list);
}

static int refuse_condition(struct parser *p, const char *word)
{
	char list[FAULT_TEXT] = "";

	for (int i = 0; i < ARRAY_SIZE(packet_words); i++)
		if (!i || strcmp(packet_words[i].name, packet_words[i - 1].name))
			names_add(list, sizeof(list), packet_words[i].name);
	return refuse(
		p,
		"'%s' in '%s' is no condition: in, out, psn=N or psn=N-M, qp=N, times=N, by=N "
		"(reorder), time=NUMBERus, ms or s (reorder, delay), an opcode as 0x04, %s are",
		word, p->rule->text, list);
}

/* --- numbers --- */

static bool number_read(const char *text, uint32_t *ret, const char **ret_end)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || value > UINT32_MAX)
		return false;
	*ret = value;
	*ret_end = end;
	return true;
}

static bool number_whole(const char *text, uint32_t *ret)
{
	const char *end;

	return number_read(text, ret, &end) && !*end;
}

static bool time_read(const char *text, uint64_t *ret)
{
	uint32_t value;
	const char *end;

	if (!number_read(text, &value, &end))
		return false;
	if (!strcmp(end, "us"))
		*ret = value * 1000ull;
	else if (!strcmp(end, "ms"))
		*ret = value * 1000000ull;
	else if (!strcmp(end, "s"))
		*ret = value * 1000000000ull;
	else
		return false;
	return true;
}

/* Read a percentage, such as "2%" or "0.5%", as parts of 2^32. */
static bool percent_read(const char *text, uint64_t *ret)
{
	double value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	if (strcmp(end, "%") || !(value > 0 && value <= 100))
		return false;
	*ret = max_of((uint64_t)(value / 100 * 4294967296.0), (uint64_t)1);
	return true;
}

/* Read N, N+ or N%. For events also read a time. */
static int amount_read(struct parser *p, const char *text)
{
	struct fault_rule *rule = p->rule;
	const char *end;

	if (percent_read(text, &rule->chance))
		return 0;
	if (rule->kind == FAULT_EVENT && time_read(text, &rule->time) && rule->time)
		return 0;
	if (number_read(text, &rule->nth, &end) && rule->nth) {
		rule->onward = *end == '+';
		if (!end[rule->onward])
			return 0;
	}
	return refuse(
		p,
		"'%s' in '%s': how often is N (the N-th), N+ (from the N-th on) or a percentage "
		"such as 2%%%s",
		text, rule->text, rule->kind == FAULT_EVENT ? ", or when, such as 100ms" : "");
}

/* --- conditions --- */

static void opcode_allow(struct fault_rule *rule, unsigned int opcode)
{
	rule->opcodes[opcode / 64] |= 1ull << opcode % 64;
}

static bool opcodes_of(struct fault_rule *rule, const char *word)
{
	bool found = false;
	uint32_t opcode;

	if (word[0] == '0' && number_whole(word, &opcode) && opcode < 256 &&
	    uroce_opcodes[opcode].flags) {
		opcode_allow(rule, opcode);
		return true;
	}
	for (int i = 0; i < ARRAY_SIZE(packet_words); i++) {
		if (strcmp(packet_words[i].name, word))
			continue;
		for (int o = 0; o < 256; o++) {
			const char *name = uroce_opcodes[o].name;

			if (name && strstr(name, packet_words[i].text))
				opcode_allow(rule, o);
		}
		found = true;
	}
	return found;
}

static bool psn_read(struct fault_rule *rule, const char *text)
{
	const char *end;

	if (!number_read(text, &rule->psn_first, &end))
		return false;
	rule->psn_last = rule->psn_first;
	if (*end == '-' && !number_read(end + 1, &rule->psn_last, &end))
		return false;
	return !*end && rule->psn_first <= rule->psn_last && rule->psn_last <= PSN_MASK;
}

/* Return the text behind "NAME=" in @word, or NULL. */
static const char *value_of(const char *word, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && word[length] == '=' ? word + length + 1 : NULL;
}

static bool condition_apply(struct fault_rule *rule, const char *word)
{
	const char *value;

	if (!strcmp(word, "in") || !strcmp(word, "out")) {
		rule->incoming = *word == 'i';
		return true;
	}
	if ((value = value_of(word, "psn")))
		return psn_read(rule, value);
	if ((value = value_of(word, "qp")))
		return number_whole(value, &rule->qp) && rule->qp;
	if ((value = value_of(word, "times")))
		return number_whole(value, &rule->times) && rule->times;
	if ((value = value_of(word, "by")))
		return rule->kind == FAULT_REORDER && number_whole(value, &rule->by) && rule->by;
	if ((value = value_of(word, "time")))
		return (rule->kind == FAULT_REORDER || rule->kind == FAULT_DELAY) &&
		       time_read(value, &rule->delay) && rule->delay;
	return opcodes_of(rule, word);
}

static int packet_rule(struct parser *p, char *conditions)
{
	struct fault_rule *rule = p->rule;
	char *word;

	rule->psn_last = PSN_MASK;
	rule->by = REORDER_BY;
	rule->delay = rule->kind == FAULT_DELAY ? DELAY : REORDER_MAX;
	while (conditions && (word = strsep(&conditions, ",")))
		if (!condition_apply(rule, word))
			return refuse_condition(p, word);
	if (rule->kind == FAULT_CORRUPT && rule->incoming)
		return refuse(
			p,
			"'in' in '%s': a packet is damaged by who sends it; drop=...:in is what a "
			"damaged one comes to",
			rule->text);
	if (!(rule->opcodes[0] | rule->opcodes[1] | rule->opcodes[2] | rule->opcodes[3]))
		memset(rule->opcodes, 0xff, sizeof(rule->opcodes));
	return 0;
}

static int verb_rule(struct parser *p, const char *error)
{
	struct fault_rule *rule = p->rule;

	for (int i = 1; error && i < ERRNO_MAX; i++) {
		const char *name = errno_name(i);

		if (!name || strcmp(name, error))
			continue;
		rule->error = i;
		return 0;
	}
	return refuse(p, "'%s' in '%s': after the colon comes the error, such as ENOMEM",
		      error ? error : "", rule->text);
}

static int event_rule(struct parser *p, const char *condition)
{
	struct fault_rule *rule = p->rule;
	const char *value = condition ? value_of(condition, "qp") : NULL;

	if (!condition)
		return 0;
	if (rule->event == IBV_EVENT_QP_FATAL && value && number_whole(value, &rule->qp) &&
	    rule->qp)
		return 0;
	return refuse(p, "'%s' in '%s' is no condition: qp=N of qp_fatal is the only one",
		      condition, rule->text);
}

/* --- rules --- */

static bool kind_find(struct fault_rule *rule, const char *name)
{
	for (int i = 0; i < ARRAY_SIZE(packet_faults); i++)
		if (!strcmp(packet_faults[i], name)) {
			rule->kind = i;
			return true;
		}
	for (int i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i], name)) {
			rule->kind = FAULT_VERB;
			rule->verb = i;
			return true;
		}
	for (int i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, name)) {
			rule->kind = FAULT_EVENT;
			rule->event = events[i].type;
			return true;
		}
	return false;
}

static int seed_read(struct parser *p, const char *text, uint64_t *ret_seed)
{
	uint32_t seed;

	if (!text || !number_whole(text, &seed))
		return refuse(p, "'%s': the seed is a number from 0 to %u", text ? text : "",
			      UINT_MAX);
	*ret_seed = seed;
	return 0;
}

/* "NAME=AMOUNT:REST" */
static int rule_read(struct parser *p, char *text)
{
	char *rest = text, *name = strsep(&rest, "="), *amount = strsep(&rest, ":");
	int r;

	if (!kind_find(p->rule, name))
		return refuse_fault(p, name);
	r = amount_read(p, amount ? amount : "");
	if (r < 0)
		return r;
	if (p->rule->kind == FAULT_VERB)
		return verb_rule(p, rest);
	return p->rule->kind == FAULT_EVENT ? event_rule(p, rest) : packet_rule(p, rest);
}

static void faults_sum_up(struct uroce_faults *faults, const struct fault_rule *rule)
{
	if (rule->kind < FAULT_VERB || rule->event == IBV_EVENT_PORT_ERR)
		faults->packets = true;
	if (rule->time)
		atomic_fetch_add(&faults->events_left, 1);
}

int uroce_faults_parse(const char *text, struct uroce_faults *ret, char *message)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *word;
	struct parser p = { .message = message };
	int r = 0;

	if (!copy)
		return -ENOMEM;
	while (!r && (word = strsep(&rest, "; \t\n"))) {
		if (!*word)
			continue;
		if (!strncmp(word, "seed=", 5) || !strcmp(word, "seed")) {
			r = seed_read(&p, word[4] ? word + 5 : NULL, &ret->seed);
			continue;
		}
		if (ret->count == FAULT_RULES)
			return refuse(&p, "'%s' is one rule too many: %u are possible", word,
				      FAULT_RULES);
		p.rule = &ret->rules[ret->count];
		snprintf(p.rule->text, sizeof(p.rule->text), "%s", word);
		r = rule_read(&p, word);
		if (!r)
			faults_sum_up(ret, &ret->rules[ret->count++]);
	}
	return r;
}

/* --- from the environment --- */

static void say_refused(const char *message)
{
	log_init();
	log_notice(
		"uroce: Error: UROCE_FAULTS: %s. Nothing is opened, for a test without its faults would "
		"pass for the wrong reason; see uroce(7)",
		message);
}

int uroce_faults_new(struct uroce_faults **ret_faults)
{
	const char *text = env_get_filled(ENV_UROCE_FAULTS);
	_cleanup_free_ struct uroce_faults *faults = NULL;
	char message[FAULT_TEXT];
	int r;

	*ret_faults = NULL;
	if (!text)
		return 0;
	faults = calloc(1, sizeof(*faults));
	if (!faults)
		return -ENOMEM;
	TAILQ_INIT(&faults->held);
	faults->start = uroce_now();
	r = uroce_faults_parse(text, faults, message);
	if (r == -EINVAL)
		say_refused(message);
	if (!r)
		faults->others = calloc(1, sizeof(*faults->others));
	if (!r && !faults->others)
		r = -ENOMEM;
	if (!r)
		*ret_faults = take_ptr(&faults);
	return r;
}

/* --- chance --- */

/*
 * Mix bits by the finalizer of splitmix64: every bit of the input affects every bit of the output.
 */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t uroce_fault_hash(const struct uroce_faults *faults, uint64_t salt, uint64_t key)
{
	return mix(mix(mix(faults->seed) ^ salt) ^ key);
}

bool uroce_fault_chance(const struct uroce_faults *faults, unsigned int rule, uint64_t key)
{
	return uroce_fault_hash(faults, rule, key) >> 32 < faults->rules[rule].chance;
}
