/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#include "tool_stream.h"

/* The buffers get twice this size: a call of 1 MiB fits into either half of the peer's buffer. */
#define BUFFER_DEFAULT (1 << 20)
#define SYNC_SIZE      16
#define SIZE_FIRST     6 /* number of sizes, powers of two, that are measured */
#define SIZE_LAST      22
#define UNSET	       (-1)

struct tool_stream tool_stream = {
	.inline_size = 64,
	.wanted_iterations = UNSET,
	.wanted_count = UNSET,
	.port = "7471",
};

#define t    tool_stream
#define CALL TOOL_STREAM_CALL

static bool is_custom, all_sizes;
static char name[16] = "custom";
static int listener = -1;
static pid_t child;

static int option_set(int level, int option, int value)
{
	return CALL(setsockopt, t.fd, level, option, &value, sizeof(value));
}

/* ---- output ---- */

static void result_print(const struct timeval *start, const struct timeval *end)
{
	double us = (end->tv_sec - start->tv_sec) * 1e6 + (end->tv_usec - start->tv_usec);
	long long total = 2ll * t.iterations * t.transfer_count * t.transfer_size;
	char size[48], count[48], rounds[48], all[48];

	printf("%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%11.2f\n", name,
	       tool_size_text(t.transfer_size, size), tool_count_text(t.transfer_count, count),
	       tool_count_text(t.iterations, rounds), tool_size_text(total, all), us / 1e6,
	       total * 8 / (1000 * us), us / t.iterations / (2.0 * t.transfer_count));
}

/* ---- moving ---- */

static int ready_wait(int of, short events)
{
	struct pollfd p = { .fd = of, .events = events };
	int r;

	do
		r = CALL(poll, &p, 1, 0);
	while (r == 0);
	return r < 0 || p.revents & (POLLERR | POLLHUP) ? -1 : 0;
}

int tool_stream_wait(short events)
{
	return t.mode & STREAM_ASYNC ? ready_wait(t.fd, events) : 0;
}

bool tool_stream_would_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

int tool_stream_flags(void)
{
	return t.mode & STREAM_BLOCKING && !(t.mode & STREAM_NONBLOCKING) ? MSG_WAITALL
									  : MSG_DONTWAIT;
}

void tool_stream_fill(uint8_t *bytes, int size)
{
	static uint8_t next;

	for (int i = 0; i < size; i++)
		bytes[i] = next++;
}

int tool_stream_send(int size)
{
	ssize_t n;

	if (t.mode & STREAM_VERIFY)
		tool_stream_fill(t.bytes, size);
	for (int done = 0; done<size; done += n> 0 ? n : 0) {
		if (tool_stream_wait(POLLOUT))
			return -1;
		n = CALL(send, t.fd, t.bytes + done, size - done,
			 tool_stream_flags() & MSG_DONTWAIT);
		if (n <= 0 && !tool_stream_would_wait())
			return tool_perror("", "rsend");
	}
	return 0;
}

int tool_stream_verify(const uint8_t *bytes, int size)
{
	static uint8_t next;
	static long long total;

	for (int i = 0; i < size; i++, total++) {
		if (bytes[i] == next++)
			continue;
		printf("data verification failed byte %lld\n", total);
		return -1;
	}
	return 0;
}

int tool_stream_receive(int size)
{
	ssize_t n;

	for (int done = 0; done<size; done += n> 0 ? n : 0) {
		if (tool_stream_wait(POLLIN))
			return -1;
		n = CALL(recv, t.fd, t.bytes + done, size - done, tool_stream_flags());
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (n < 0 && !tool_stream_would_wait()))
			return tool_perror("", "rrecv");
	}
	return t.mode & STREAM_VERIFY ? tool_stream_verify(t.bytes, size) : 0;
}

int tool_stream_exchange(int size, int count)
{
	int r = 0;

	for (int i = 0; i < count && !r; i++)
		r = t.server ? tool_stream_send(size) : tool_stream_receive(size);
	for (int i = 0; i < count && !r; i++)
		r = t.server ? tool_stream_receive(size) : tool_stream_send(size);
	return r;
}

/* Execute one measurement between two times. */
static int measure(void)
{
	struct timeval start, end;
	int r = t.prepare ? t.prepare() : 0;

	if (!r)
		r = tool_stream_exchange(SYNC_SIZE, 1);
	gettimeofday(&start, NULL);
	for (int i = 0; i < t.iterations && !r; i++)
		r = t.iterate();
	gettimeofday(&end, NULL);
	if (!r)
		result_print(&start, &end);
	if (!r && t.finish)
		r = t.finish();
	return r;
}

/* ---- connecting ---- */

static void keep_alive(void)
{
	int on = 0, seconds = 0;
	socklen_t size = sizeof(on);

	if (option_set(SOL_SOCKET, SO_KEEPALIVE, 1) ||
	    option_set(IPPROTO_TCP, TCP_KEEPIDLE, t.keep_seconds))
		tool_perror("", "rsetsockopt SO_KEEPALIVE");
	if (!CALL(getsockopt, t.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size))
		printf("Keepalive: %s\n", on ? "ON" : "OFF");
	if (!CALL(getsockopt, t.fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &size))
		printf("  time: %i\n", seconds);
}

/* @bandwidth: send no data inline */
static void options_set(bool bandwidth)
{
	int size = t.buffer_size ? t.buffer_size : BUFFER_DEFAULT;

	option_set(SOL_SOCKET, SO_SNDBUF, size);
	option_set(SOL_SOCKET, SO_RCVBUF, size);
	option_set(IPPROTO_TCP, TCP_NODELAY, 1);
	if (tool_stream_flags() & MSG_DONTWAIT)
		CALL(fcntl, t.fd, F_SETFL, O_NONBLOCK);
	if (!(t.mode & STREAM_SOCKETS) && !is_custom)
		option_set(SOL_RDMA, RDMA_INLINE, bandwidth ? 0 : t.inline_size);
	if (t.mappings)
		option_set(SOL_RDMA, RDMA_IOMAPSIZE, t.mappings);
	if (t.keep_seconds)
		keep_alive();
}

struct address {
	struct sockaddr_storage name;
	socklen_t size;
};

static int address_by_cm(const char *node, bool passive, struct address *ret)
{
	struct tool_names names = { .prefix = "",
				    .destination = passive ? NULL : node,
				    .source = passive ? node : NULL,
				    .service = t.port,
				    .family = t.family,
				    .port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;
	int r = tool_address(&names, &info);

	if (r)
		return r;
	ret->size = passive ? info->ai_src_len : info->ai_dst_len;
	memcpy(&ret->name, passive ? info->ai_src_addr : info->ai_dst_addr, ret->size);
	rdma_freeaddrinfo(info);
	return 0;
}

static int address_find(const char *node, bool passive, struct address *ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_family = t.family == AF_IB ? AF_UNSPEC : t.family,
				  .ai_flags = (passive ? AI_PASSIVE : 0) |
					      (t.family ? AI_NUMERICHOST : 0) },
			*info;
	int r;

	if (t.mode & STREAM_RESOLVE || t.family == AF_IB)
		return address_by_cm(node, passive, ret);
	r = getaddrinfo(node, t.port, &hints, &info);
	if (r) {
		printf("getaddrinfo: %s\n", gai_strerror(r));
		return r;
	}
	ret->size = info->ai_addrlen;
	memcpy(&ret->name, info->ai_addr, info->ai_addrlen);
	freeaddrinfo(info);
	return 0;
}

static int server_listen(void)
{
	struct address address;
	int r = address_find(t.local, true, &address);

	if (r)
		return r;
	t.fd = listener = CALL(socket, address.name.ss_family, SOCK_STREAM, 0);
	if (t.fd < 0)
		return tool_open_error("", "rsocket");
	if (option_set(SOL_SOCKET, SO_REUSEADDR, 1))
		return tool_perror("", "rsetsockopt SO_REUSEADDR");
	if (CALL(bind, t.fd, (struct sockaddr *)&address.name, address.size))
		return tool_perror("", "rbind");
	return CALL(listen, t.fd, 1) ? tool_perror("", "rlisten") : 0;
}

static int server_accept(bool bandwidth)
{
	t.fd = listener;
	options_set(bandwidth);
	do {
		if (t.mode & STREAM_ASYNC && ready_wait(listener, POLLIN))
			return tool_perror("", "rpoll");
		t.fd = CALL(accept, listener, NULL, NULL);
	} while (t.fd < 0 && tool_stream_would_wait());
	if (t.fd < 0)
		return tool_perror("", "raccept");
	child = t.mode & STREAM_FORK ? fork() : 0;
	if (!child)
		options_set(bandwidth);
	return 0;
}

static int connect_finish(void)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (ready_wait(t.fd, POLLOUT))
		return tool_perror("", "rpoll");
	if (CALL(getsockopt, t.fd, SOL_SOCKET, SO_ERROR, &error, &size))
		return -1;
	errno = error;
	return error ? tool_perror("", "async rconnect") : 0;
}

static int client_connect(bool bandwidth)
{
	struct address address, own = {};
	int r = address_find(t.server, false, &address);

	if (!r && t.local)
		r = address_find(t.local, true, &own);
	if (r)
		return r;
	t.fd = CALL(socket, address.name.ss_family, SOCK_STREAM, 0);
	if (t.fd < 0)
		return tool_open_error("", "rsocket");
	options_set(bandwidth);
	if (t.local && CALL(bind, t.fd, (struct sockaddr *)&own.name, own.size))
		return tool_perror("", "rbind");
	if (!CALL(connect, t.fd, (struct sockaddr *)&address.name, address.size))
		return 0;
	return errno == EINPROGRESS ? connect_finish() : tool_perror("", "rconnect");
}

#define PARTING_MS 1000

/*
 * Wait for the client. A client of the distribution treats a hang-up as an error, even if data
 * comes before it.
 */
static void client_await(void)
{
	struct pollfd p = { .fd = t.fd, .events = POLLIN };

	CALL(poll, &p, 1, PARTING_MS);
}

static void disconnect(void)
{
	if (child) {
		waitpid(child, NULL, 0);
	} else {
		if (!t.server)
			client_await();
		CALL(shutdown, t.fd, SHUT_RDWR);
	}
	CALL(close, t.fd);
}

/* ---- measurements ---- */

static int size_measure(int size, bool bandwidth)
{
	char text[48];

	snprintf(name, sizeof(name), "%.10s_%s", tool_size_text(size, text),
		 bandwidth ? "bw" : "lat");
	t.transfer_size = size;
	t.iterations = bandwidth ? 1 : tool_transfers(size);
	t.transfer_count = bandwidth ? tool_transfers(size) : 1;
	return measure();
}

static int sizes_measure(bool bandwidth)
{
	static const int usual[] = { 1 << 6, 1 << 12, 1 << 16, 1 << 20 };
	int r = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(usual) && !all_sizes && !r; i++)
		r = size_measure(usual[i], bandwidth);
	for (int i = SIZE_FIRST; i <= SIZE_LAST && all_sizes && !r; i++) {
		r = size_measure(1 << i, bandwidth);
		if (!r && i > SIZE_FIRST)
			r = size_measure(3 << (i - 1), bandwidth);
	}
	return r;
}

static int connection_run(bool bandwidth)
{
	int r = t.server ? client_connect(bandwidth) : server_accept(bandwidth);

	if (!r && !child)
		r = is_custom ? measure() : sizes_measure(bandwidth);
	if (t.fd >= 0)
		disconnect();
	return r;
}

static int run(void)
{
	int r = t.server ? 0 : server_listen();

	if (r)
		return r;
	printf("%-10s%-8s%-8s%-8s%-8s%8s %10s%13s\n", "name", "bytes", "xfers", "iters", "total",
	       "time", "Gb/sec", "usec/xfer");
	r = connection_run(false);
	if (!r && !is_custom)
		r = connection_run(true);
	return r;
}

static void arguments_apply(void)
{
	all_sizes = t.wanted_size && !strcasecmp(t.wanted_size, "all");
	is_custom = t.wanted_iterations != UNSET || t.wanted_count != UNSET ||
		    (t.wanted_size && !all_sizes);
	t.iterations = t.wanted_iterations == UNSET ? 1 : t.wanted_iterations;
	t.transfer_count = t.wanted_count == UNSET ? 1000 : t.wanted_count;
	t.transfer_size = t.wanted_size && !all_sizes ? atoi(t.wanted_size) : 1000;
	if (t.transfer_size < 1)
		tool_mistake(1, "-S %s: a number from 1, or all, is expected", t.wanted_size);
}

int tool_stream_run(const struct tool_option *options, int argc, char **argv)
{
	size_t size;
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	arguments_apply();
	size = max_of(is_custom ? t.transfer_size : 3 << (SIZE_LAST - 1), SYNC_SIZE);
	t.bytes = calloc(1, size);
	if (!t.bytes)
		return tool_perror("", "malloc");
	r = run();
	free(t.bytes);
	return r;
}
