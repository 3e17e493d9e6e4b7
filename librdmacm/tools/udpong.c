/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ping-pong of datagrams, over RDMA or UDP. The server answers messages that request an answer and
 * counts the others, for up to 256 clients. Datagrams get lost: the client repeats a message that
 * has got no answer.
 */
#include <endian.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <rdma/rsocket.h>

#include "tool.h"

#define BUFFER_DEFAULT (1 << 19)
#define MESSAGE_MAX    2040 /* limit of datagrams over RDMA */
#define CONTROL_SIZE   16
/* ms after which a message without an answer is repeated at the start */
#define ANSWER_SLOW_MS	1000
#define ANSWER_QUICK_MS 1
#define PATIENCE_S	30
#define UNSET		(-1)

enum mode {
	MODE_SOCKETS = 1 << 0, /* use UDP sockets */
	MODE_ASYNC = 1 << 1,
	MODE_BLOCKING = 1 << 2,
	MODE_NONBLOCKING = 1 << 3,
	MODE_ECHO = 1 << 4,
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
	{ "nonblocking", MODE_NONBLOCKING },
	{ "nonblock", MODE_NONBLOCKING },
	{ "n", MODE_NONBLOCKING },
	{ "echo", MODE_ECHO },
	{ "e", MODE_ECHO },
	{},
};

/* The purpose of a message. The numbers are on the wire. */
enum op {
	OP_LOGIN, /* request a number for the client */
	OP_START, /* request to count from 0 */
	OP_DATA,  /* to be counted */
	OP_ECHO,  /* request to count this message and send it back */
	OP_END,	  /* request the number of counted messages */
};

struct message {
	uint8_t op;
	uint8_t client;
	uint8_t number; /* number of the message that is answered */
	uint8_t reserved;
	uint32_t count; /* big-endian */
	uint8_t bytes[MESSAGE_MAX - 8];
};

static int mode, buffer_size, wanted_count = UNSET, wanted_size = UNSET;
static const char *server, *local, *port = "7174";

static const struct tool_option options[] = {
	{ 's', TOOL_TEXT, &server, "ADDRESS", "be the client of the server there" },
	{ 'b', TOOL_TEXT, &local, "ADDRESS", "the local address" },
	{ 'B', TOOL_NUMBER, &buffer_size, "BYTES", "size of the network buffers", 1, 1 << 28 },
	{ 'C', TOOL_NUMBER, &wanted_count, "COUNT", "messages of a test", 1, INT32_MAX },
	{ 'S', TOOL_NUMBER, &wanted_size, "BYTES", "size of a message", CONTROL_SIZE, MESSAGE_MAX },
	{ 'p', TOOL_TEXT, &port, "PORT", "port number or service" },
	{ 'T', TOOL_WORDS, &mode, "MODE", "s|sockets, a|async, b|blocking, n|nonblocking, e|echo",
	  .words = modes },
	{},
};

static int fd = -1;
static struct message out, in;

/* The present test. */
static char name[16] = "custom";
static int size = 1000, count = 1000;
static bool is_echo;

/* Call the function of sockets, or the function of RDMA sockets. */
#define CALL(call, ...) (mode & MODE_SOCKETS ? call(__VA_ARGS__) : r##call(__VA_ARGS__))

/* ---- moving ---- */

static int flags(void)
{
	return mode & MODE_BLOCKING && !(mode & MODE_NONBLOCKING) ? 0 : MSG_DONTWAIT;
}

static bool would_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* Wait before a call in a mode that polls. */
static int ready_wait(short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	if (!(mode & MODE_ASYNC))
		return 0;
	do
		r = CALL(poll, &p, 1, -1);
	while (r == 0);
	return r < 0 ? tool_perror("", "rpoll") : 0;
}

/* @to: destination; NULL: the connected peer */
static int message_send(const struct message *m, size_t length, const struct sockaddr *to,
			socklen_t to_size)
{
	ssize_t n;

	do {
		if (ready_wait(POLLOUT))
			return -1;
		n = CALL(sendto, fd, m, length, flags(), to, to_size);
	} while (n < 0 && would_wait() && sched_yield() == 0);
	return n < 0 ? tool_perror("", "rsend") : 0;
}

/* ---- the server ---- */

static uint32_t counts[256];

/* Handle a message. Return: whether it must be sent back. */
static bool message_serve(struct message *m, const struct sockaddr_storage *from, socklen_t length)
{
	static uint8_t next_client;
	char host[NI_MAXHOST];

	switch (m->op) {
	case OP_LOGIN:
		if (!getnameinfo((const struct sockaddr *)from, length, host, sizeof(host), NULL, 0,
				 NI_NUMERICHOST))
			printf("client login from %s\n", host);
		m->client = next_client++;
		counts[m->client] = 0;
		return true;
	case OP_START:
		counts[m->client] = 0;
		return true;
	case OP_ECHO:
		counts[m->client]++;
		return true;
	case OP_END:
		m->count = htobe32(counts[m->client]);
		return true;
	default:
		counts[m->client]++;
		return false;
	}
}

static int server_run(void)
{
	struct sockaddr_storage from;

	for (;;) {
		socklen_t length = sizeof(from);
		ssize_t n;

		if (ready_wait(POLLIN))
			return -1;
		n = CALL(recvfrom, fd, &in, sizeof(in), flags(), (struct sockaddr *)&from, &length);
		if (n < 0 && !would_wait())
			return tool_perror("", "rrecv");
		if (n < 0)
			sched_yield(); /* the client may be waiting for this processor */
		/* A shorter message does not come from a client. */
		if (n >= CONTROL_SIZE && message_serve(&in, &from, length) &&
		    message_send(&in, n, (struct sockaddr *)&from, length))
			return -1;
	}
}

/* ---- the client ---- */

/*
 * Wait for the answer. Late answers to repeated messages are no reason to send more. Return: 1: it
 * is the answer to @out; 0: there was none; -1.
 */
static int answer_wait(size_t length, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;
	int r;

	for (;;) {
		r = CALL(poll, &p, 1, timeout_ms);
		if (r <= 0)
			return r < 0 ? tool_perror("", "rpoll") : 0;
		n = CALL(recv, fd, &in, sizeof(in), MSG_DONTWAIT);
		if (n < 0 && !would_wait())
			return tool_perror("", "rrecv");
		if (n == (ssize_t)length && in.op == out.op && in.number == out.number)
			return 1;
	}
}

static int64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Send @out until the answer arrives. */
static int ask(enum op op, size_t length, int timeout_ms)
{
	int64_t end = 0;
	int r = 0;

	out.op = op;
	out.number++;
	while (r == 0) {
		if (message_send(&out, length, NULL, 0))
			return -1;
		r = answer_wait(length, timeout_ms);
		if (r == 0 && !end)
			end = now_s() + PATIENCE_S;
		if (r == 0 && now_s() > end) {
			printf("no answer from the server\n");
			return -1;
		}
	}
	return r < 0 ? -1 : 0;
}

static void result_print(const struct timeval *start, const struct timeval *end)
{
	double us = (end->tv_sec - start->tv_sec) * 1e6 + (end->tv_usec - start->tv_usec);
	int transfers = is_echo ? count * 2 : (int)be32toh(in.count);
	long long total = (long long)transfers * size;
	char size_text[48], count_text[48], all[48];

	printf("%-10s%-8s%-8s%-8s%8.2fs%10.2f%11.2f\n", name, tool_size_text(size, size_text),
	       tool_count_text(transfers, count_text), tool_size_text(total, all), us / 1e6,
	       total * 8 / (1000 * us), transfers ? us / transfers : 0.0);
}

/* Check that the returned bytes are the sent ones. */
static int echo_verify(void)
{
	if (!memcmp(in.bytes, out.bytes, size - offsetof(struct message, bytes)))
		return 0;
	printf("data verification failed\n");
	return -1;
}

static int transfer(void)
{
	if (is_echo)
		return ask(OP_ECHO, size, ANSWER_QUICK_MS) ? -1 : echo_verify();
	out.op = OP_DATA;
	return message_send(&out, size, NULL, 0);
}

static int measure(void)
{
	struct timeval start, end;
	int r = ask(OP_START, CONTROL_SIZE, ANSWER_SLOW_MS);

	gettimeofday(&start, NULL);
	for (int i = 0; i < count && !r; i++)
		r = transfer();
	if (!r)
		r = ask(OP_END, CONTROL_SIZE, ANSWER_QUICK_MS);
	gettimeofday(&end, NULL);
	if (!r)
		result_print(&start, &end);
	return r;
}

static int sizes_measure(bool bandwidth)
{
	static const int sizes[] = { 64, 128, 192, 256, 384, 512, 768, 1024, 1536 };
	int r = 0;

	is_echo = !bandwidth;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes) && !r; i++) {
		char text[48];

		size = sizes[i];
		count = tool_transfers(size) / (bandwidth ? 1 : 10);
		snprintf(name, sizeof(name), "%.10s_%s", tool_size_text(size, text),
			 bandwidth ? "bw" : "lat");
		r = measure();
	}
	return r;
}

static int client_run(void)
{
	int r;

	printf("%-10s%-8s%-8s%-8s%8s %10s%13s\n", "name", "bytes", "xfers", "total", "time",
	       "Gb/sec", "usec/xfer");
	for (size_t i = 0; i < sizeof(out.bytes); i++)
		out.bytes[i] = i * 7;
	r = ask(OP_LOGIN, CONTROL_SIZE, ANSWER_SLOW_MS);
	if (r)
		return r;
	out.client = in.client;
	if (wanted_count != UNSET || wanted_size != UNSET) {
		is_echo = mode & MODE_ECHO;
		return measure();
	}
	r = sizes_measure(false);
	return r ? r : sizes_measure(true);
}

/* ---- the socket ---- */

static int option_set(int option, int value)
{
	return CALL(setsockopt, fd, SOL_SOCKET, option, &value, sizeof(value));
}

static int address_find(const char *node, int flag, struct addrinfo **ret_info)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM, .ai_flags = flag };
	int r = getaddrinfo(node, flag && server ? NULL : port, &hints, ret_info);

	if (r)
		printf("getaddrinfo: %s\n", gai_strerror(r));
	return r ? -1 : 0;
}

static int socket_open(int family)
{
	int bytes = buffer_size ? buffer_size : BUFFER_DEFAULT;

	fd = CALL(socket, family, SOCK_DGRAM, 0);
	if (fd < 0)
		return tool_perror("", "rsocket");
	option_set(SO_SNDBUF, bytes);
	option_set(SO_RCVBUF, bytes);
	if (flags() & MSG_DONTWAIT)
		CALL(fcntl, fd, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Bind the server's socket. If a local address was given, also bind the client's socket. */
static int local_bind(void)
{
	struct addrinfo *info;
	int r = address_find(local, AI_PASSIVE, &info);

	if (r)
		return r;
	if (fd < 0)
		r = socket_open(info->ai_family);
	if (!r && CALL(bind, fd, info->ai_addr, info->ai_addrlen))
		r = tool_perror("", "rbind");
	freeaddrinfo(info);
	return r;
}

static int server_connect(void)
{
	struct addrinfo *info;
	int r = address_find(server, 0, &info);

	if (r)
		return r;
	r = socket_open(info->ai_family);
	if (!r && local)
		r = local_bind();
	if (!r && CALL(connect, fd, info->ai_addr, info->ai_addrlen))
		r = tool_perror("", "rconnect");
	freeaddrinfo(info);
	return r;
}

int main(int argc, char **argv)
{
	int r;

	tool_start();
	tool_options_parse(options, 1, argc, argv);
	count = wanted_count == UNSET ? count : wanted_count;
	size = wanted_size == UNSET ? size : wanted_size;
	r = server ? server_connect() : local_bind();
	if (!r)
		r = server ? client_run() : server_run();
	if (fd >= 0)
		CALL(close, fd);
	return r;
}
