/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the daemon says, one line each. Device first, the errno's text last. Levels are syslog's.
 */
#ifndef RDMA_NDD_REPORT_H
#define RDMA_NDD_REPORT_H

#include <stdbool.h>
#include <syslog.h>

#include "util/util.h"

enum report_sink {
	REPORT_STDERR,	/* a terminal */
	REPORT_JOURNAL, /* stderr, each line with its level as systemd expects it */
	REPORT_SYSLOG,
	REPORT_NOWHERE, /* a fuzzer, which makes mistakes by the million */
};

/* @debug: LOG_DEBUG lines are written, too. Before the call lines go to stderr. */
void report_open(enum report_sink sink, bool debug);

void report(int level, const char *fmt, ...) _printf_(2, 3);

#endif
