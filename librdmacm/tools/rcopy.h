/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copying a file over a stream. Each command has a header, and the answer is a header, too. Numbers
 * have the byte order of the hosts, which must be the same.
 *
 *   OPEN   @data: the file's mode; behind the header its name, padded with zeros
 *   WRITE  behind the header the number of bytes (64 bits), and then those
 *   CLOSE
 *
 * An answer has the upper bit in its command, and in @data 0 or an errno.
 */
#ifndef LIBRDMACM_TOOLS_RCOPY_H
#define LIBRDMACM_TOOLS_RCOPY_H

#include <sys/socket.h>

#include <rdma/rsocket.h>

#include "tool.h"

enum rcopy_command {
	RCOPY_OPEN = 1,
	RCOPY_CLOSE,
	RCOPY_WRITE,
	RCOPY_ANSWER = 0x80,
};

struct rcopy_header {
	uint8_t version; /* 0 */
	uint8_t command;
	uint16_t length; /* bytes of the command: the header, and a name or a number behind it */
	uint32_t data;
	uint64_t id; /* equal in command and answer */
};

#define RCOPY_PIECE	 (1 << 20) /* bytes of a file that are read or written by one call */
#define RCOPY_NAME_ALIGN 8

/* The functions return 0 or a negative errno; the end of the stream is -ECONNRESET. */
int rcopy_send(int fd, const void *bytes, size_t size);
int rcopy_receive(int fd, void *bytes, size_t size);
int rcopy_receive_header(int fd, struct rcopy_header *ret_header);

/* Print a part of a line. */
void rcopy_say(const char *fmt, ...) _printf_(1, 2);

/* Serve clients until an error. Return: the program's exit code. */
int rcopy_serve(const char *port);

#endif
