/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines about faults, and the calls that caused them. */
#ifndef UROCE_STRICT_REPORT_H
#define UROCE_STRICT_REPORT_H

#include "libibverbs/provider.h"

/* The rules of strict mode. report.c has their text. */
enum strict_rule {
	STRICT_RULE_REGION,
	STRICT_RULE_RANGE,
	STRICT_RULE_ACCESS,
	STRICT_RULE_DOMAIN,
	STRICT_RULE_OLD_KEY,
	STRICT_RULE_DEREG,
	STRICT_RULE_DESTROY,
	STRICT_RULE_EVENTS,
	STRICT_RULE_ERROR,
	STRICT_RULE_GRH,
	STRICT_RULE_QKEY,
	STRICT_RULE_NUMBER,
	STRICT_RULE_EARLY,
	STRICT_RULE_MTU,
	STRICT_RULE_TIMEOUT,
	STRICT_RULE_BITS,
	STRICT_RULE_OVERFLOW,
	STRICT_RULE_SIGNAL,
	STRICT_RULE_SILENT,
	STRICT_RULE_CONTENT,
	STRICT_RULE_RECEIVE,
	STRICT_RULE_LEFT,
	STRICT_RULE_ARM,
	STRICT_RULE_CHANNEL,
	STRICT_RULE_IMMEDIATE,
	STRICT_RULE_FORK,
	STRICT_RULE_LEAK,
	STRICT_RULES,
};

/* A call of the program. */
struct strict_site {
	const void *address; /* NULL: unknown */
	bool by_cm;	     /* made through librdmacm */
};

/* Return the innermost call outside of the libraries of this project. */
struct strict_site strict_site_here(void);
/* Write "program+0x12 (main)" into @text. It is empty if the call is unknown. */
void strict_site_text(const struct strict_site *site, char *text, size_t size);

enum {
	STRICT_SITE_TEXT = 256,
};

/*
 * Write a line about a fault. The formatted text names the object and the call. The rule, its man
 * page and the program's call follow. Abort the process if UROCE_STRICT=abort. Call it without the
 * lock of the records.
 */
void strict_fault(enum strict_rule rule, const struct ibv_context *ctx, const char *format, ...)
	_printf_(3, 4);

/* Whether this is the thread of watch.c, which no call of the program leads to. */
extern __thread bool strict_watching;

/* Set whether a fault aborts the process. */
void strict_abort_set(bool aborts);

/* Numbers of the summary. */
enum strict_count {
	STRICT_COUNT_OBJECTS,
	STRICT_COUNT_REQUESTS,
	STRICT_COUNT_COMPLETIONS,
	STRICT_COUNTS,
};
void strict_count(enum strict_count count);
/* Begin to count anew, in a forked child. */
void strict_counts_reset(void);
/* Write the summary of this process. */
void strict_summary(void);

#endif
