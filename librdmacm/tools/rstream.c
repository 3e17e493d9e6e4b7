/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ping-pong over a stream, of RDMA or of TCP. */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#include "tool.h"

#define BUFFER_DEFAULT (1 << 19)
#define SYNC_SIZE      16
#define SIZE_FIRST     6 /* powers of two of sizes that are measured */
#define SIZE_LAST      22
#define UNSET	       (-1)

enum mode {
	MODE_SOCKETS = 1 << 0,
	MODE_ASYNC = 1 << 1,
	MODE_BLOCKING = 1 << 2,
	MODE_FORK = 1 << 3,
	MODE_NONBLOCKING = 1 << 4,
	MODE_RESOLVE = 1 << 5,
	MODE_VERIFY = 1 << 6,
};

static const struct tool_word modes[] = {
	{ "sockets", MODE_SOCKETS },
	{ "socket", MODE_SOCKETS },
	{ "s", MODE_SOCKETS },
	{ "async", MODE_ASYNC },
	{ "a", MODE_ASYNC },
	{ "blocking", MODE_BLOCKING },
	{ "block", MODE_BLOCKING },
	{ "b", MODE_BLOCKING },
	{ "fork", MODE_FORK | MODE_SOCKETS },
	{ "f", MODE_FORK | MODE_SOCKETS },
	{ "nonblocking", MODE_NONBLOCKING },
	{ "nonblock", MODE_NONBLOCKING },
	{ "n", MODE_NONBLOCKING },
	{ "resolve", MODE_RESOLVE },
	{ "r", MODE_RESOLVE },
	{ "verify", MODE_VERIFY },
	{ "v", MODE_VERIFY },
	{},
};

static int mode, buffer_size, inline_size = 64, keep_seconds;
static int wanted_iterations = UNSET, wanted_count = UNSET, iterations, transfer_count,
	   transfer_size;
static const char *wanted_size, *server, *local, *port = "7471";
static int family;

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &server, "ADDRESS", "be the client of the server there" },
	{ 'b', TOOL_TEXT, &local, "ADDRESS", "the local address" },
	{ 'f', TOOL_WORD, &family, "FORMAT", "addresses are: name, ip, ipv6 or gid",
	  .words = tool_address_formats },
	{ 'B', TOOL_NUMBER, &buffer_size, "BYTES", "size of the network buffers", 1, 1 << 28 },
	{ 'i', TOOL_NUMBER, &inline_size, "BYTES", "sent without a copy in registered memory", 0,
	  65534 },
	{ 'I', TOOL_NUMBER, &wanted_iterations, "COUNT", "iterations", 1, INT32_MAX },
	{ 'C', TOOL_NUMBER, &wanted_count, "COUNT", "messages each way in an iteration", 1,
	  INT32_MAX },
	{ 'S', TOOL_TEXT, &wanted_size, "BYTES", "size of a message, or all" },
	{ 'p', TOOL_TEXT, &port, "PORT", "port number or service" },
	{ 'k', TOOL_NUMBER, &keep_seconds, "SECONDS", "keep the connection alive", 1, 32767 },
	{ 'T', TOOL_WORDS, &mode, "MODE",
	  "s|sockets, a|async, b|blocking, f|fork, n|nonblocking, r|resolve, v|verify",
	  .words = modes },
	{},
};

static bool is_custom, all_sizes;
static char name[16] = "custom";
static int fd, listener = -1;
static pid_t child;
static uint8_t *bytes;

/* One call of either kind of sockets. */
#define CALL(call, ...) (mode & MODE_SOCKETS ? call(__VA_ARGS__) : r##call(__VA_ARGS__))

static int option_set(int level, int option, int value)
{
	return CALL(setsockopt, fd, level, option, &value, sizeof(value));
}

/* ---- what is said ---- */

static const char *size_text(long long size, char text[48])
{
	static const char letters[] = { 0, 'k', 'm', 'g' };
	int unit = size >= 1 << 30 ? 3 : size >= 1 << 20 ? 2 : size >= 1 << 10 ? 1 : 0;
	long long base = 1ll << 10 * unit, tenths = size % base * 10 / base;

	if (size / base < 10 && tenths)
		snprintf(text, 48, "%lld.%lld%c", size / base, tenths, letters[unit]);
	else
		snprintf(text, 48, "%lld%c", size / base, letters[unit]);
	return text;
}

static const char *count_text(int count, char text[48])
{
	static const char letters[] = { 0, 'k', 'm', 'b' };
	int unit = 0;

	for (; count >= 1000 && unit < 3; unit++)
		count /= 1000;
	snprintf(text, 48, "%d%c", count, letters[unit]);
	return text;
}

static void result_print(const struct timeval *start, const struct timeval *end)
{
	double us = (end->tv_sec - start->tv_sec) * 1e6 + (end->tv_usec - start->tv_usec);
	long long total = 2ll * iterations * transfer_count * transfer_size;
	char size[48], count[48], rounds[48], all[48];

	printf("%-10s%-8s%-8s%-8s%-8s%8.2fs%10.2f%11.2f\n", name, size_text(transfer_size, size),
	       count_text(transfer_count, count), count_text(iterations, rounds),
	       size_text(total, all), us / 1e6, total * 8 / (1000 * us),
	       us / iterations / (2.0 * transfer_count));
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

static bool is_full_or_empty(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

static int flags(void)
{
	return mode & MODE_BLOCKING && !(mode & MODE_NONBLOCKING) ? MSG_WAITALL : MSG_DONTWAIT;
}

static int transfer_send(int size)
{
	static uint8_t next;
	ssize_t n;

	for (int i = 0; i < size && mode & MODE_VERIFY; i++)
		bytes[i] = next++;
	for (int done = 0; done<size; done += n> 0 ? n : 0) {
		if (mode & MODE_ASYNC && ready_wait(fd, POLLOUT))
			return -1;
		n = CALL(send, fd, bytes + done, size - done, flags() & MSG_DONTWAIT);
		if (n <= 0 && !is_full_or_empty())
			return tool_perror("", "rsend");
	}
	return 0;
}

static int bytes_verify(int size)
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

static int transfer_receive(int size)
{
	ssize_t n;

	for (int done = 0; done<size; done += n> 0 ? n : 0) {
		if (mode & MODE_ASYNC && ready_wait(fd, POLLIN))
			return -1;
		n = CALL(recv, fd, bytes + done, size - done, flags());
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (n < 0 && !is_full_or_empty()))
			return tool_perror("", "rrecv");
	}
	return mode & MODE_VERIFY ? bytes_verify(size) : 0;
}

/* The client sends first. */
static int both_ways(int size, int count)
{
	int r = 0;

	for (int i = 0; i < count && !r; i++)
		r = server ? transfer_send(size) : transfer_receive(size);
	for (int i = 0; i < count && !r; i++)
		r = server ? transfer_receive(size) : transfer_send(size);
	return r;
}

static int measure(void)
{
	struct timeval start, end;
	int r = both_ways(SYNC_SIZE, 1);

	gettimeofday(&start, NULL);
	for (int i = 0; i < iterations && !r; i++)
		r = both_ways(transfer_size, transfer_count);
	gettimeofday(&end, NULL);
	if (!r)
		result_print(&start, &end);
	return r;
}

/* ---- connecting ---- */

static void keep_alive(void)
{
	int on = 0, seconds = 0;
	socklen_t size = sizeof(on);

	if (option_set(SOL_SOCKET, SO_KEEPALIVE, 1) ||
	    option_set(IPPROTO_TCP, TCP_KEEPIDLE, keep_seconds))
		tool_perror("", "rsetsockopt SO_KEEPALIVE");
	if (!CALL(getsockopt, fd, SOL_SOCKET, SO_KEEPALIVE, &on, &size))
		printf("Keepalive: %s\n", on ? "ON" : "OFF");
	if (!CALL(getsockopt, fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &size))
		printf("  time: %i\n", seconds);
}

/* @bandwidth: nothing is sent inline. */
static void options_set(bool bandwidth)
{
	int size = buffer_size ? buffer_size : BUFFER_DEFAULT;

	option_set(SOL_SOCKET, SO_SNDBUF, size);
	option_set(SOL_SOCKET, SO_RCVBUF, size);
	option_set(IPPROTO_TCP, TCP_NODELAY, 1);
	if (flags() & MSG_DONTWAIT)
		CALL(fcntl, fd, F_SETFL, O_NONBLOCK);
	if (!(mode & MODE_SOCKETS) && !is_custom)
		option_set(SOL_RDMA, RDMA_INLINE, bandwidth ? 0 : inline_size);
	if (keep_seconds)
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
				    .service = port,
				    .family = family,
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
				  .ai_family = family == AF_IB ? AF_UNSPEC : family,
				  .ai_flags = (passive ? AI_PASSIVE : 0) |
					      (family ? AI_NUMERICHOST : 0) },
			*info;
	int r;

	if (mode & MODE_RESOLVE || family == AF_IB)
		return address_by_cm(node, passive, ret);
	r = getaddrinfo(node, port, &hints, &info);
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
	int r = address_find(local, true, &address);

	if (r)
		return r;
	fd = listener = CALL(socket, address.name.ss_family, SOCK_STREAM, 0);
	if (fd < 0)
		return tool_perror("", "rsocket");
	if (option_set(SOL_SOCKET, SO_REUSEADDR, 1))
		return tool_perror("", "rsetsockopt SO_REUSEADDR");
	if (CALL(bind, fd, (struct sockaddr *)&address.name, address.size))
		return tool_perror("", "rbind");
	return CALL(listen, fd, 1) ? tool_perror("", "rlisten") : 0;
}

static int server_accept(bool bandwidth)
{
	fd = listener;
	options_set(bandwidth);
	do {
		if (mode & MODE_ASYNC && ready_wait(listener, POLLIN))
			return tool_perror("", "rpoll");
		fd = CALL(accept, listener, NULL, NULL);
	} while (fd < 0 && is_full_or_empty());
	if (fd < 0)
		return tool_perror("", "raccept");
	child = mode & MODE_FORK ? fork() : 0;
	if (!child)
		options_set(bandwidth);
	return 0;
}

static int connect_finish(void)
{
	int error = 0;
	socklen_t size = sizeof(error);

	if (ready_wait(fd, POLLOUT))
		return tool_perror("", "rpoll");
	if (CALL(getsockopt, fd, SOL_SOCKET, SO_ERROR, &error, &size))
		return -1;
	errno = error;
	return error ? tool_perror("", "async rconnect") : 0;
}

static int client_connect(bool bandwidth)
{
	struct address address, own = {};
	int r = address_find(server, false, &address);

	if (!r && local)
		r = address_find(local, true, &own);
	if (r)
		return r;
	fd = CALL(socket, address.name.ss_family, SOCK_STREAM, 0);
	if (fd < 0)
		return tool_perror("", "rsocket");
	options_set(bandwidth);
	if (local && CALL(bind, fd, (struct sockaddr *)&own.name, own.size))
		return tool_perror("", "rbind");
	if (!CALL(connect, fd, (struct sockaddr *)&address.name, address.size))
		return 0;
	return errno == EINPROGRESS ? connect_finish() : tool_perror("", "rconnect");
}

static void disconnect(void)
{
	if (child)
		waitpid(child, NULL, 0);
	else
		CALL(shutdown, fd, SHUT_RDWR);
	CALL(close, fd);
}

/* ---- what is measured ---- */

static int transfers_of(int size)
{
	return size >= 1 << 20 ? 100 : size >= 1 << 16 ? 1000 : size >= 1 << 10 ? 10000 : 100000;
}

static int size_measure(int size, bool bandwidth)
{
	char text[48];

	snprintf(name, sizeof(name), "%.10s_%s", size_text(size, text), bandwidth ? "bw" : "lat");
	transfer_size = size;
	iterations = bandwidth ? 1 : transfers_of(size);
	transfer_count = bandwidth ? transfers_of(size) : 1;
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
	int r = server ? client_connect(bandwidth) : server_accept(bandwidth);

	if (!r && !child)
		r = is_custom ? measure() : sizes_measure(bandwidth);
	if (fd >= 0)
		disconnect();
	return r;
}

static int run(void)
{
	int r = server ? 0 : server_listen();

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
	all_sizes = wanted_size && !strcasecmp(wanted_size, "all");
	is_custom =
		wanted_iterations != UNSET || wanted_count != UNSET || (wanted_size && !all_sizes);
	iterations = wanted_iterations == UNSET ? 1 : wanted_iterations;
	transfer_count = wanted_count == UNSET ? 1000 : wanted_count;
	transfer_size = wanted_size && !all_sizes ? atoi(wanted_size) : 1000;
	if (transfer_size < 1)
		tool_mistake(1, "-S %s: a number from 1, or all, is expected", wanted_size);
}

int main(int argc, char **argv)
{
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	arguments_apply();
	bytes = malloc(max_of(is_custom ? transfer_size : 3 << (SIZE_LAST - 1), SYNC_SIZE));
	if (!bytes)
		return tool_perror("", "malloc");
	r = run();
	free(bytes);
	return r;
}
