/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Print the findings as text, JSON or TAP. */
#ifndef RDMA_CONFORM_REPORT_H
#define RDMA_CONFORM_REPORT_H

#include "rdma-conform/world.h"

#define ERRNOS 256 /* a larger errno counts as the last one */

/* Counts of steps that call the device: steps that were taken, and causes why other steps were not.
 */
struct tally {
	uint64_t taken, left_out, refused;
	uint64_t requests, accepted; /* posts to send queues */
	uint64_t skips[SKIP_COUNT];
	unsigned int refusals[VERB_COUNT][ERRNOS]; /* by positive errno */
};

struct finding {
	const struct rule *rule;
	uint64_t seed;
	char text[REPORT];
	char known[160];	     /* reason of a known deviation, or empty */
	char *program, *events;	     /* of the shortest program */
	unsigned int steps, percent; /* its steps, and the percentage of runs that show the fault */
	uint64_t times, last;	     /* number of programs that broke this rule, and the last one */
};

struct report {
	struct offer offer;
	uint64_t first_seed, programs;
	double seconds;
	uint64_t *exercised; /* counters by index in the table of rules */
	bool *wanted;
	bool some, replay; /* not all rules are wanted; the program was given */
	struct tally tally;
	struct finding findings[256];
	unsigned int finding_count;
};

/* Count the steps of @trial. */
void tally_add(struct tally *tally, const struct trial *trial);
/* Return the finding of @rule, which @program broke. Create it if there is none yet. Findings that
 * are known deviations are separate ones. */
struct finding *report_finding(struct report *report, const struct rule *rule,
			       const struct program *program, bool *ret_new);
/* Read a file of known deviations. Return a negative errno. */
int known_read(const char *path);
void report_text(const struct report *report);
void report_json(const struct report *report);
void report_tap(const struct report *report);
/* Return the number of findings that are not known deviations. */
unsigned int report_failures(const struct report *report);
/* Return why a run without a failure proves nothing, or NULL. */
const char *report_doubt(const struct report *report);
void report_rules(FILE *to);
/* Print a program, the events of a trial, or both. Each may be NULL. text_of() returns this text.
 */
void trial_print(FILE *to, const struct program *program, const struct trial *trial);
char *text_of(const struct program *program, const struct trial *trial);

#endif
