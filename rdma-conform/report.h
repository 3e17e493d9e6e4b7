/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was found, as text, JSON or TAP. */
#ifndef RDMA_CONFORM_REPORT_H
#define RDMA_CONFORM_REPORT_H

#include "rdma-conform/tally.h"
#include "rdma-conform/world.h"

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_TAP,
};

struct finding {
	const struct rule *rule;
	uint64_t seed;
	char text[REPORT];
	char known[160];	     /* reason of a known deviation, or empty */
	char *program, *events;	     /* of the shortest program */
	unsigned int steps, percent; /* and how often it shows the fault */
	uint64_t times;		     /* programs that broke this rule */
};

struct report {
	enum format format;
	struct offer offer;
	uint64_t first_seed, programs;
	double seconds;
	uint64_t *exercised; /* by place in the table of rules */
	bool *wanted;
	bool some, replay; /* not all rules are wanted; the program is a given one */
	struct tally tally;
	struct finding findings[128];
	unsigned int finding_count;
};

/* The finding of @rule, made if there is none yet. */
struct finding *report_finding(struct report *report, const struct rule *rule, bool *ret_new);
/* Read a file of known deviations. Returns a negative errno. */
int known_read(const char *path);
/* The reason why @device is known to break @rule, or NULL. */
const char *known_reason(const char *device, const struct rule *rule);
void report_print(const struct report *report);
/* Findings that are not known deviations. */
unsigned int report_failures(const struct report *report);
/* Why a run without a failure proves nothing, or NULL. */
const char *report_doubt(const struct report *report);
void report_rules(FILE *to);
char *text_of_program(const struct program *program);
char *text_of_events(const struct trial *trial);

#endif
