/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only output of the libraries.
 *
 * The function that first knows the cause of a failure logs it, once. The text starts with the
 * device and the object ("rxe0 qp 0x12: ..."), names the offending and the allowed value in words,
 * and ends with the error's text if there is one. errno survives every call.
 *
 * At level 0, the default, no line is written. At other levels lines go to VERBS_LOG_FILE if it
 * names a file or a FIFO of this user, or a character device (never a symbolic link). Otherwise
 * they go to stderr.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include <stdbool.h>

#include "util/util.h"

enum log_level {
	LOG_LEVEL_NONE,
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Read the environment. Called at the library's start and before the first line. */
void log_init(void);

/*
 * Return whether a line of this level would be printed. Call this before work that is done only for
 * the line.
 */
bool log_enabled(enum log_level level);

void log_print(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_err(...)   log_print(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...)  log_print(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_print(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Messages of the data path. Release builds do not contain them. */
#ifdef RDMA_DEBUG
#define log_data(...) log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)
#else
#define log_data(...)                                            \
	do {                                                     \
		if (0)                                           \
			log_print(LOG_LEVEL_DEBUG, __VA_ARGS__); \
	} while (0)
#endif

/*
 * Print a message that administrators search for ("libibverbs: Warning: ..."). It goes to the log
 * or, if there is no log, to stderr, because it is the only sign of a broken installation.
 */
void log_notice(const char *fmt, ...) _printf_(1, 2);

#endif
