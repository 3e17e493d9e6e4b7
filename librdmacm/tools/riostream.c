/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ping-pong by writes into the memory that the peer has mapped for a stream. A message has arrived
 * when its last byte has arrived. That byte is a number that both sides count, because they take
 * turns.
 */
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tool_stream.h"

#define t	  tool_stream
#define VERIFY	  (1 << 16) /* bytes that are written; the content of messages is not checked */
#define LOOKS	  1000	    /* checks of the last byte, of which one also checks the peer */
#define NO_NUMBER 0xff	    /* value before the first message */

static const struct tool_word modes[] = {
	{ "async", STREAM_ASYNC },
	{ "a", STREAM_ASYNC },
	{ "blocking", STREAM_BLOCKING },
	{ "block", STREAM_BLOCKING },
	{ "b", STREAM_BLOCKING },
	{ "nonblocking", STREAM_NONBLOCKING },
	{ "nonblock", STREAM_NONBLOCKING },
	{ "n", STREAM_NONBLOCKING },
	{ "verify", VERIFY },
	{ "v", VERIFY },
	{},
};

static const struct tool_option options[] = {
	TOOL_STREAM_OPTIONS,
	{ 'T', TOOL_WORDS, &tool_stream.mode, "MODE",
	  "a|async, b|blocking, n|nonblocking, v|verify", .words = modes },
	{},
};

static uint8_t *window; /* memory that this side writes from, and that the peer writes to */
static uint8_t number;	/* number of the next message of either side */

static int prepare(void)
{
	window = malloc(t.transfer_size);
	if (!window)
		return tool_perror("", "malloc");
	number = 0;
	memset(window, NO_NUMBER, t.transfer_size);
	/* The peer may place messages in the memory that it maps. */
	memset(t.bytes, NO_NUMBER, t.transfer_size);
	if (riomap(t.fd, window, t.transfer_size, PROT_WRITE, 0, 0) == -1)
		return tool_perror("", "riomap");
	return 0;
}

static int finish(void)
{
	int r = riounmap(t.fd, window, t.transfer_size);

	if (r)
		tool_perror("", "riounmap");
	free(window);
	window = NULL;
	return r;
}

static int window_write(void)
{
	size_t done = 0, size = t.transfer_size;
	ssize_t n;

	while (done < size) {
		if (tool_stream_wait(POLLOUT))
			return -1;
		n = riowrite(t.fd, window + done, size - done, done, tool_stream_flags());
		if (n > 0)
			done += n;
		else if (!tool_stream_would_wait())
			return tool_perror("", "riowrite");
	}
	return 0;
}

/* Write all messages of a turn. The last write has the number. */
static int windows_write(void)
{
	int r = 0;

	for (int i = 0; i < t.transfer_count - 1 && !r; i++)
		r = window_write();
	if (t.mode & VERIFY)
		tool_stream_fill(window, t.transfer_size - 1);
	window[t.transfer_size - 1] = number++;
	return r ? r : window_write();
}

/*
 * Return whether the peer is still connected, because a peer that has ended writes no more
 * messages.
 */
static bool peer_is_there(void)
{
	struct pollfd p = { .fd = t.fd, .events = POLLIN };

	sched_yield();
	return rpoll(&p, 1, 0) <= 0 || !(p.revents & (POLLERR | POLLHUP));
}

static bool has_arrived(void)
{
	return __atomic_load_n(&window[t.transfer_size - 1], __ATOMIC_ACQUIRE) == number;
}

static int window_await(void)
{
	for (unsigned int looks = 1; !has_arrived(); looks++) {
		if (looks % LOOKS || peer_is_there() || has_arrived())
			continue;
		errno = ECONNRESET;
		return tool_perror("", "the peer's write");
	}
	number++;
	return t.mode & VERIFY ? tool_stream_verify(window, t.transfer_size - 1) : 0;
}

static int iterate(void)
{
	int r = t.server ? windows_write() : window_await();

	if (r)
		return r;
	return t.server ? window_await() : windows_write();
}

int main(int argc, char **argv)
{
	t.mappings = 1;
	t.prepare = prepare;
	t.iterate = iterate;
	t.finish = finish;
	return tool_stream_run(options, argc, argv);
}
