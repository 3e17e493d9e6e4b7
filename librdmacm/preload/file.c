/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between a socket and a file or a pipe: sendfile() and splice(). */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

#define FILE_PIECE 65536 /* bytes of a file that one step copies */

/* ---- sendfile ---- */

static ssize_t file_read(int file, void *bytes, size_t size, const off64_t *offset)
{
	return offset ? pread64(file, bytes, size, *offset) : real()->read(file, bytes, size);
}

/* Go back in the file, so that the next read returns the bytes that were not sent. */
static int file_go_back(int file, off64_t count)
{
	return count && lseek64(file, -count, SEEK_CUR) < 0 ? -1 : 0;
}

static ssize_t file_send_by(uint8_t *piece, int rs, int file, off64_t *offset, size_t size)
{
	size_t sent = 0;
	ssize_t n, done;

	while (sent < size) {
		n = file_read(file, piece, min_of(size - sent, (size_t)FILE_PIECE), offset);
		if (n <= 0)
			return sent ? (ssize_t)sent : n;
		done = RS_SLEEPY(rsend(rs, piece, n, 0));
		if (offset)
			*offset += max_of(done, (ssize_t)0);
		else if (file_go_back(file, n - max_of(done, (ssize_t)0)) < 0)
			return -1;
		if (done < 0)
			return sent ? (ssize_t)sent : -1;
		sent += done;
		if (done < n)
			break;
	}
	return sent;
}

/* Allocate the buffer for each call: a thread-local one would come out of the stack of each thread.
 */
static uint8_t *piece_new(void)
{
	uint8_t *piece = malloc(FILE_PIECE);

	if (!piece)
		errno = ENOMEM;
	return piece;
}

/* As in the kernel, the file must have a position. splice() is for pipes. */
static bool is_sendable(int file)
{
	if (lseek64(file, 0, SEEK_CUR) >= 0)
		return true;
	if (errno == ESPIPE)
		errno = EINVAL;
	return false;
}

static ssize_t file_send(int rs, int file, off64_t *offset, size_t size)
{
	uint8_t *piece = is_sendable(file) ? piece_new() : NULL;
	ssize_t n;

	if (!piece)
		return -1;
	pthread_cleanup_push(free, piece);
	n = file_send_by(piece, rs, file, offset, size);
	pthread_cleanup_pop(1);
	return send_signal(rs, n, 0);
}

EXPORT ssize_t sendfile64(int fd, int file, off64_t *offset, size_t size)
{
	return FD_CALL(fd, rs, file_send(rs, file, offset, size),
		       real()->sendfile64(fd, file, offset, size));
}

EXPORT ssize_t sendfile(int fd, int file, off_t *offset, size_t size)
{
	off64_t wide = offset ? *offset : 0;
	ssize_t n;

	if (fd_use(fd) < 0)
		return real()->sendfile(fd, file, offset, size);
	n = sendfile64(fd, file, offset ? &wide : NULL, size);
	if (offset)
		*offset = wide;
	return n;
}

/* ---- splice ---- */

/* Return the bytes that a writable pipe takes in one write, or -1 if it is no pipe. */
static int pipe_room(int pipe)
{
	int capacity = real()->fcntl(pipe, F_GETPIPE_SZ, NULL), filled = 0;

	if (capacity < 0 || real()->ioctl(pipe, FIONREAD, &filled) < 0) {
		errno = EINVAL;
		return -1;
	}
	return filled ? PIPE_BUF : capacity;
}

static bool pipe_takes(int pipe, bool waits)
{
	struct pollfd p = { .fd = pipe, .events = POLLOUT };
	int r = real()->poll(&p, 1, waits ? -1 : 0);

	if (r == 0)
		errno = EAGAIN;
	return r > 0;
}

/*
 * Copy from the socket to the pipe, then consume the bytes that the pipe took. As with the kernel's
 * sockets, only the socket's own flags decide whether the socket waits.
 */
static ssize_t socket_to_pipe(uint8_t *piece, int fd, int pipe, size_t size, bool waits)
{
	ssize_t n;
	int room;

	waits = waits && !(real()->fcntl(pipe, F_GETFL, NULL) & O_NONBLOCK);
	if (pipe_room(pipe) < 0 || !pipe_takes(pipe, waits))
		return -1;
	room = pipe_room(pipe);
	size = min_of(size, (size_t)FILE_PIECE);
	size = min_of(size, (size_t)room);
	n = recv(fd, piece, size, MSG_PEEK);
	if (n > 0)
		n = real()->write(pipe, piece, n);
	return n > 0 ? recv(fd, piece, n, MSG_WAITALL) : n;
}

/* Send a copy of the pipe's data, then consume the bytes that were sent. */
static ssize_t pipe_to_socket(uint8_t *piece, int fd, int pipe, size_t size, bool waits)
{
	int copy[2];
	ssize_t n;

	if (pipe_room(pipe) < 0 || pipe2(copy, O_CLOEXEC) < 0)
		return -1;
	n = tee(pipe, copy[1], min_of(size, (size_t)FILE_PIECE), waits ? 0 : SPLICE_F_NONBLOCK);
	if (n > 0)
		n = real()->read(copy[0], piece, n);
	if (n > 0)
		n = send(fd, piece, n, 0);
	if (n > 0)
		n = real()->read(pipe, piece, n);
	real()->close(copy[0]);
	real()->close(copy[1]);
	return n;
}

EXPORT ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,
		      unsigned int flags)
{
	int rs_from = fd_use(from), rs_to = fd_use(to);
	bool waits = !(flags & SPLICE_F_NONBLOCK);
	uint8_t *piece;
	ssize_t n;

	if (rs_from < 0 && rs_to < 0)
		return real()->splice(from, from_offset, to, to_offset, size, flags);
	if (from_offset || to_offset) {
		errno = (rs_from >= 0 ? to_offset : from_offset) ? ESPIPE : EINVAL;
		return -1;
	}
	if (!size)
		return 0;
	piece = piece_new();
	if (!piece)
		return -1;
	pthread_cleanup_push(free, piece);
	n = rs_from >= 0 ? socket_to_pipe(piece, from, to, size, waits)
			 : pipe_to_socket(piece, to, from, size, waits);
	pthread_cleanup_pop(1);
	return n;
}
