/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/env.h"
#include "util/cancel.h"
#include "util/log.h"
#include "util/once.h"

static struct {
	struct once once;
	enum log_level level;
	int fd; /* -1: no output */
} sink = { .once = ONCE_INIT, .fd = -1 };

/*
 * Check a log file. A device such as /dev/null or a terminal stores no data that could belong to
 * another user.
 */
static int log_file_check(const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return 0;
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return -EINVAL;
	return st->st_uid == geteuid() ? 0 : -EPERM;
}

/*
 * Open a log file. The path is foreign input: it must not make the program append to another user's
 * file. Return: the descriptor or -errno.
 */
static int log_file_open(const char *path)
{
	_cleanup_close_ int fd =
		open(path,
		     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		     0600);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	r = log_file_check(&st);
	return r < 0 ? r : take_fd(&fd);
}

/* Parse a level: decimal, octal after 0, hexadecimal after 0x. */
static enum log_level log_level_parse(const char *text)
{
	char *end;
	long value = strtol(text, &end, 0);

	if (end == text || value < 0)
		return LOG_LEVEL_NONE;
	return min_of(value, (long)LOG_LEVEL_DEBUG);
}

static void log_file_use(const char *path)
{
	int r = log_file_open(path);

	if (r >= 0) {
		sink.fd = r;
		return;
	}
	log_notice("libibverbs: Warning: couldn't open log file '%s': %s%s; logging to stderr\n",
		   path, strerror(-r),
		   r == -ELOOP	 ? " (it is a symbolic link)"
		   : r == -EPERM ? " (it belongs to another user)"
				 : "");
}

/* Return the number of a standard stream for its path, which is a symbolic link. */
static int log_stream(const char *path)
{
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	return !strcmp(path, "/dev/stdout") ? STDOUT_FILENO : -1;
}

/* Return the level without VERBS_LOG_LEVEL. In strict mode errors are logged. */
static enum log_level level_default(void)
{
	const char *strict = env_get_filled(ENV_UROCE_STRICT);

	return strict && strcmp(strict, "0") ? LOG_LEVEL_ERR : LOG_LEVEL_NONE;
}

/* At level 0 there is no output, and the file is not opened. */
static void log_init_once(void)
{
	const char *level = env_get(ENV_VERBS_LOG_LEVEL);
	const char *path = env_get(ENV_VERBS_LOG_FILE);

	sink.level = level ? log_level_parse(level) : level_default();
	if (!sink.level)
		return;
	sink.fd = STDERR_FILENO;
	if (!path)
		return;
	if (log_stream(path) >= 0)
		sink.fd = log_stream(path);
	else
		log_file_use(path);
}

void log_init(void)
{
	once_run(&sink.once, log_init_once);
}

bool log_enabled(enum log_level level)
{
	log_init();
	return sink.fd >= 0 && level <= sink.level;
}

/*
 * Write a line. If the reader of a FIFO or of stderr has ended, only the log ends. The program gets
 * no SIGPIPE.
 */
static void line_write(int fd, const char *line, size_t length)
{
	const struct timespec no_wait = {};
	sigset_t broken_pipe, before, pending;
	/* The caller may hold a lock. */
	_cleanup_cancel_ int cancel = cancel_off();

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
	/* If a SIGPIPE was pending before, leave it to the program. */
	if (write(fd, line, length) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&broken_pipe, NULL, &no_wait);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * Replace characters that control a terminal or begin a line, because names and contents of files
 * are foreign input.
 */
static void controls_hide(char *line, int length)
{
	for (int i = 0; i < length; i++) {
		unsigned char c = line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			line[i] = '?';
	}
}

/* Write each line by one write(), so that lines of several threads and processes do not mix. */
static void log_write(int fd, const char *fmt, va_list args)
{
	char line[1024];
	int length = vsnprintf(line, sizeof(line) - 1, fmt, args);

	if (length < 0)
		return;
	if (length > (int)sizeof(line) - 2)
		length = sizeof(line) - 2;
	if (length && line[length - 1] == '\n')
		length--;
	controls_hide(line, length);
	line[length++] = '\n';
	line_write(fd, line, length);
}

void log_print(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	if (log_enabled(level)) {
		va_start(args, fmt);
		log_write(sink.fd, fmt, args);
		va_end(args);
	}
	errno = saved;
}

void log_notice(const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	log_write(sink.fd >= 0 ? sink.fd : STDERR_FILENO, fmt, args);
	va_end(args);
	errno = saved;
}
