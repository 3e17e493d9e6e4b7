/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong over a stream, of RDMA or of TCP. */
#include "tool_stream.h"

static const struct tool_word modes[] = {
	{ "sockets", STREAM_SOCKETS },
	{ "socket", STREAM_SOCKETS },
	{ "s", STREAM_SOCKETS },
	{ "async", STREAM_ASYNC },
	{ "a", STREAM_ASYNC },
	{ "blocking", STREAM_BLOCKING },
	{ "block", STREAM_BLOCKING },
	{ "b", STREAM_BLOCKING },
	{ "fork", STREAM_FORK | STREAM_SOCKETS },
	{ "f", STREAM_FORK | STREAM_SOCKETS },
	{ "nonblocking", STREAM_NONBLOCKING },
	{ "nonblock", STREAM_NONBLOCKING },
	{ "n", STREAM_NONBLOCKING },
	{ "resolve", STREAM_RESOLVE },
	{ "r", STREAM_RESOLVE },
	{ "verify", STREAM_VERIFY },
	{ "v", STREAM_VERIFY },
	{},
};

static const struct tool_option options[] = {
	TOOL_STREAM_OPTIONS,
	{ 'k', TOOL_NUMBER, &tool_stream.keep_seconds, "SECONDS", "keep the connection alive", 1,
	  32767 },
	{ 'T', TOOL_WORDS, &tool_stream.mode, "MODE",
	  "s|sockets, a|async, b|blocking, f|fork, n|nonblocking, r|resolve, v|verify",
	  .words = modes },
	{},
};

static int iterate(void)
{
	return tool_stream_exchange(tool_stream.transfer_size, tool_stream.transfer_count);
}

int main(int argc, char **argv)
{
	tool_stream.iterate = iterate;
	return tool_stream_run(options, argc, argv);
}
