/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the daemon, one line each. The device is first, the text of the errno last. Levels
 * are those of syslog.
 */
#ifndef RDMA_NDD_REPORT_H
#define RDMA_NDD_REPORT_H

#include <stdbool.h>
#include <syslog.h>

#include "util/util.h"

enum report_sink {
	REPORT_STDERR,	/* a terminal */
	REPORT_JOURNAL, /* stderr; each line has its level in the form that systemd expects */
	REPORT_SYSLOG,
	REPORT_NOWHERE, /* no output, for a fuzzer that makes millions of mistakes */
};

/*
 * Choose the destination of messages. @debug: also write LOG_DEBUG lines. Before this call lines go
 * to stderr.
 */
void report_open(enum report_sink sink, bool debug);

void report(int level, const char *fmt, ...) _printf_(2, 3);

#endif
