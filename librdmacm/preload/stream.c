/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stdio on a socket. The C library reads and writes by internal calls, therefore the stream of an
 * RDMA socket gets its own functions.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

static ssize_t stream_read(void *cookie, char *bytes, size_t size)
{
	return read((int)(intptr_t)cookie, bytes, size);
}

/* Return: the bytes written; fewer than @size mean an error. */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
	ssize_t n;
	size_t done = 0;

	while (done < size) {
		n = write((int)(intptr_t)cookie, bytes + done, size - done);
		if (n < 0)
			break;
		done += n;
	}
	return done;
}

static int stream_close(void *cookie)
{
	return close((int)(intptr_t)cookie);
}

static FILE *stream_open(int fd, const char *mode)
{
	const cookie_io_functions_t functions = {
		.read = stream_read,
		.write = stream_write,
		.close = stream_close,
	};
	FILE *stream = fopencookie((void *)(intptr_t)fd, mode, functions);

#ifdef __GLIBC__
	/* For fileno(). The stream itself does not use it. */
	if (stream)
		stream->_fileno = fd;
#endif
	return stream;
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
	return fd_use(fd) < 0 ? real()->fdopen(fd, mode) : stream_open(fd, mode);
}

/* ---- dprintf() ---- */

static int print(int fd, const char *format, va_list args)
{
	char *text;
	int length, error;

	if (fd_use(fd) < 0)
		return real()->vdprintf(fd, format, args);
	length = vasprintf(&text, format, args);
	if (length < 0)
		return -1;
	if (stream_write((void *)(intptr_t)fd, text, length) != length)
		length = -1;
	error = errno;
	free(text);
	errno = error;
	return length;
}

EXPORT int vdprintf(int fd, const char *format, va_list args)
{
	return print(fd, format, args);
}

EXPORT int dprintf(int fd, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = print(fd, format, args);
	va_end(args);
	return length;
}

/* @flag: the level of checks. A format that the C library would refuse is not detected here. */
int __vdprintf_chk(int fd, int flag, const char *format, va_list args);
int __dprintf_chk(int fd, int flag, const char *format, ...);

EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list args)
{
	(void)flag;
	return print(fd, format, args);
}

EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
	va_list args;
	int length;

	(void)flag;
	va_start(args, format);
	length = print(fd, format, args);
	va_end(args);
	return length;
}

void stream_standard(int fd)
{
#ifdef __GLIBC__
	static atomic_flag done[] = { ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT, ATOMIC_FLAG_INIT };
	FILE **stream = fd == STDIN_FILENO ? &stdin : fd == STDOUT_FILENO ? &stdout : &stderr;
	FILE *own;

	if (fd > STDERR_FILENO || atomic_flag_test_and_set(&done[fd]))
		return;
	own = stream_open(fd, fd == STDIN_FILENO ? "r" : "w");
	if (!own)
		return;
	if (fd == STDERR_FILENO)
		setvbuf(own, NULL, _IONBF, 0);
	fflush(*stream);
	*stream = own;
#else
	(void)fd;
#endif
}
