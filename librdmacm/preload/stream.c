/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stdio on a socket: the C library reads and writes by calls of its own, so the stream of an RDMA
 * socket gets functions.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

static ssize_t stream_read(void *cookie, char *bytes, size_t size)
{
	return read((int)(intptr_t)cookie, bytes, size);
}

/* Return: 0 says that it failed. */
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
	/* What fileno() says; nothing else looks at it. */
	if (stream)
		stream->_fileno = fd;
#endif
	return stream;
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
	return fd_use(fd) < 0 ? real()->fdopen(fd, mode) : stream_open(fd, mode);
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
