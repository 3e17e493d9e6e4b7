/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parts that rstream and riostream share, which measure streams: options, the connection, messages
 * over it, the series of sizes, and the printed lines with the times.
 *
 * A program runs one test at a time, so there is one @tool_stream.
 */
#ifndef LIBRDMACM_TOOLS_TOOL_STREAM_H
#define LIBRDMACM_TOOLS_TOOL_STREAM_H

#include <sys/socket.h>

#include <rdma/rsocket.h>

#include "tool.h"

enum tool_stream_mode {
	STREAM_SOCKETS = 1 << 0, /* use TCP sockets */
	STREAM_ASYNC = 1 << 1,
	STREAM_BLOCKING = 1 << 2,
	STREAM_FORK = 1 << 3,
	STREAM_NONBLOCKING = 1 << 4,
	STREAM_RESOLVE = 1 << 5,
	STREAM_VERIFY = 1 << 6,
};

struct tool_stream {
	/* Values of the arguments. */
	int mode; /* enum tool_stream_mode */
	int buffer_size, inline_size, keep_seconds;
	int wanted_iterations, wanted_count; /* -1: not said */
	const char *wanted_size, *server, *local, *port;
	int family;

	/*
	 * The operations of the program. Each function returns 0, or -1 after it has logged the
	 * failure.
	 */
	int (*prepare)(void); /* before both sides start; may be NULL */
	int (*iterate)(void);
	int (*finish)(void); /* may be NULL */
	int mappings;	     /* number of mappings that the peer may make */

	/* The present measurement. */
	int iterations, transfer_count, transfer_size;
	int fd;
	uint8_t *bytes; /* buffer with room for the longest message */
};

extern struct tool_stream tool_stream;

/* Rows of a program's options. -T and its words belong to the program. */
#define TOOL_STREAM_OPTIONS                                                                      \
	{ 's', TOOL_TEXT, &tool_stream.server, "ADDRESS", "be the client of the server there" }, \
		{ 'b', TOOL_TEXT, &tool_stream.local, "ADDRESS", "the local address" },          \
		{ 'f',                                                                           \
		  TOOL_WORD,                                                                     \
		  &tool_stream.family,                                                           \
		  "FORMAT",                                                                      \
		  "addresses are: name, ip, ipv6 or gid",                                        \
		  .words = tool_address_formats },                                               \
		{ 'B',                                                                           \
		  TOOL_NUMBER,                                                                   \
		  &tool_stream.buffer_size,                                                      \
		  "BYTES",                                                                       \
		  "size of the network buffers",                                                 \
		  1,                                                                             \
		  1 << 28 },                                                                     \
		{ 'i',                                                                           \
		  TOOL_NUMBER,                                                                   \
		  &tool_stream.inline_size,                                                      \
		  "BYTES",                                                                       \
		  "sent without a copy in registered memory",                                    \
		  0,                                                                             \
		  65534 },                                                                       \
		{ 'I', TOOL_NUMBER, &tool_stream.wanted_iterations, "COUNT", "iterations",       \
		  1,   INT32_MAX },                                                              \
		{ 'C',                                                                           \
		  TOOL_NUMBER,                                                                   \
		  &tool_stream.wanted_count,                                                     \
		  "COUNT",                                                                       \
		  "messages each way in an iteration",                                           \
		  1,                                                                             \
		  INT32_MAX },                                                                   \
		{ 'S', TOOL_TEXT, &tool_stream.wanted_size, "BYTES",                             \
		  "size of a message, or all" },                                                 \
	{                                                                                        \
		'p', TOOL_TEXT, &tool_stream.port, "PORT", "port number or service"              \
	}

/* Run the whole program. Return: its exit code. */
int tool_stream_run(const struct tool_option *options, int argc, char **argv);

/* Make one call of either kind of sockets. */
#define TOOL_STREAM_CALL(call, ...) \
	(tool_stream.mode & STREAM_SOCKETS ? call(__VA_ARGS__) : r##call(__VA_ARGS__))

/* The functions below return 0, or -1 after they have logged the failure. */

/* Return the flags of send() and recv(). */
int tool_stream_flags(void);
/* Wait for events of the stream. A mode that polls does this before each call. */
int tool_stream_wait(short events);
/* Return whether a failed call would have had to wait. */
bool tool_stream_would_wait(void);
int tool_stream_send(int size);
int tool_stream_receive(int size);
/* Exchange @count messages of @size bytes each way. The client sends first. */
int tool_stream_exchange(int size, int count);
/* Fill a message with bytes that are checked: each byte is the previous one plus one. */
void tool_stream_fill(uint8_t *bytes, int size);
int tool_stream_verify(const uint8_t *bytes, int size);

#endif
