/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "rdma-ndd/report.h"

static enum report_sink report_sink;
static int report_level = LOG_INFO;

void report_open(enum report_sink sink, bool debug)
{
	report_sink = sink;
	report_level = debug ? LOG_DEBUG : LOG_INFO;
	if (sink == REPORT_SYSLOG)
		openlog("rdma-ndd", LOG_PID, LOG_DAEMON);
}

void report(int level, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (level > report_level)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	switch (report_sink) {
	case REPORT_STDERR:
		fprintf(stderr, "rdma-ndd: %s\n", text);
		break;
	case REPORT_JOURNAL:
		fprintf(stderr, "<%d>%s\n", level, text);
		break;
	case REPORT_SYSLOG:
		syslog(level, "%s", text);
		break;
	case REPORT_NOWHERE:
		break;
	}
}
