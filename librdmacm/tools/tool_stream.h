/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs share that measure streams: rstream and riostream. Their options, the
 * connection, messages over it, the series of sizes and the lines that say how long it took.
 *
 * A program is one test at a time, so there is one @tool_stream.
 */
#ifndef LIBRDMACM_TOOLS_TOOL_STREAM_H
#define LIBRDMACM_TOOLS_TOOL_STREAM_H

#include <sys/socket.h>

#include <rdma/rsocket.h>

#include "tool.h"

enum tool_stream_mode {
	STREAM_SOCKETS = 1 << 0, /* of TCP */
	STREAM_ASYNC = 1 << 1,
	STREAM_BLOCKING = 1 << 2,
	STREAM_FORK = 1 << 3,
	STREAM_NONBLOCKING = 1 << 4,
	STREAM_RESOLVE = 1 << 5,
	STREAM_VERIFY = 1 << 6,
};

struct tool_stream {
	/* What the arguments say. */
	int mode; /* enum tool_stream_mode */
	int buffer_size, inline_size, keep_seconds;
	int wanted_iterations, wanted_count; /* -1: not said */
	const char *wanted_size, *server, *local, *port;
	int family;

	/* What the program is: each function returns 0, or -1 after it has said what failed. */
	int (*prepare)(void); /* before both sides start; may be NULL */
	int (*iterate)(void);
	int (*finish)(void); /* may be NULL */
	int mappings;	     /* that the peer may make */

	/* The measurement under way. */
	int iterations, transfer_count, transfer_size;
	int fd;
	uint8_t *bytes; /* the longest message fits */
};

extern struct tool_stream tool_stream;

/* Rows of a program's options; -T and its words are the program's own. */
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

/* The whole program. Return: its exit code. */
int tool_stream_run(const struct tool_option *options, int argc, char **argv);

/* One call of either kind of sockets. */
#define TOOL_STREAM_CALL(call, ...) \
	(tool_stream.mode & STREAM_SOCKETS ? call(__VA_ARGS__) : r##call(__VA_ARGS__))

/* The functions below return 0, or -1 after they have said what failed. */

/* Of send() and recv(). */
int tool_stream_flags(void);
/* Until the stream has that, which a mode that polls asks before each call. */
int tool_stream_wait(short events);
/* After a call that failed: it would have had to wait. */
bool tool_stream_would_wait(void);
int tool_stream_send(int size);
int tool_stream_receive(int size);
/* So many messages each way; the client sends first. */
int tool_stream_exchange(int size, int count);
/* The bytes of messages that are checked: each stands for the one after the one before. */
void tool_stream_fill(uint8_t *bytes, int size);
int tool_stream_verify(const uint8_t *bytes, int size);

#endif
