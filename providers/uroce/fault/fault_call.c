/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules that count calls of a verb, or posts. */
#include "providers/uroce/fault/fault.h"

enum {
	POSTS_SALT = 0x200,
};

static bool number_hits(const struct uroce_faults *faults, unsigned int i, uint64_t salt,
			uint32_t number)
{
	const struct fault_rule *rule = &faults->rules[i];

	if (rule->time)
		return false;
	if (rule->chance)
		return uroce_fault_chance(faults, i, uroce_fault_hash(faults, salt, number));
	return number == rule->nth || (rule->onward && number > rule->nth);
}

/* Count a call that posted send requests, and fire the rules that it hits. A rule of QP_FATAL
 * counts the posts of its QP; another rule counts the posts of all QPs. */
void uroce_fault_posted(struct uroce_faults *faults, struct uroce_qp *qp,
			void (*fire)(const struct fault_rule *rule, struct uroce_qp *qp))
{
	uint32_t own = atomic_fetch_add(&qp->fault->posts, 1) + 1;
	uint32_t all = atomic_fetch_add(&faults->posts, 1) + 1;

	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];
		bool of_qp = rule->event == IBV_EVENT_QP_FATAL;

		if (rule->kind != FAULT_EVENT || (rule->qp && rule->qp != qp->fault->number))
			continue;
		if (number_hits(faults, i, POSTS_SALT + (of_qp ? qp->fault->number : 0),
				of_qp ? own : all))
			fire(rule, qp);
	}
}

static void trace_call(const struct fault_rule *rule, uint32_t number)
{
	log_debug("uroce: fault %s: call %u", rule->text, number);
}

int uroce_fault_call(struct uroce_faults *faults, enum fault_verb verb)
{
	uint32_t number = atomic_fetch_add(&faults->calls[verb], 1) + 1;

	/* On a dead device it is still possible to deregister regions. */
	if (atomic_load_explicit(&faults->dead, memory_order_relaxed) &&
	    verb != FAULT_VERB_dereg_mr)
		return -EIO;
	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];

		if (rule->kind != FAULT_VERB || rule->verb != verb ||
		    !number_hits(faults, i, verb, number))
			continue;
		trace_call(rule, number);
		return -rule->error;
	}
	return 0;
}
