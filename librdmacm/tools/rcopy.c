/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copy a file to another host over a stream of RDMA: the program and its client. */
#include <fcntl.h>
#include <netdb.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "rcopy.h"

static const char *port = "7427";

static const struct tool_option options[] = {
	{ 'p', TOOL_TEXT, &port, "PORT", "port number or service" },
	{},
};

static int stream = -1, file = -1;
static uint64_t file_size;

static int server_connect(const char *server)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info;
	int r = getaddrinfo(server, port, &hints, &info);

	if (r) {
		printf("getaddrinfo failed: %s\n", gai_strerror(r));
		return -1;
	}
	stream = rsocket(info->ai_family, SOCK_STREAM, 0);
	if (stream < 0)
		r = tool_open_error("", "rsocket failed");
	else if (rconnect(stream, info->ai_addr, info->ai_addrlen))
		r = tool_perror("", "rconnect failed");
	freeaddrinfo(info);
	return r;
}

static int answer_receive(enum rcopy_command command)
{
	struct rcopy_header header;
	int r = rcopy_receive_header(stream, &header);

	if (r < 0)
		return r;
	if (header.command == (command | RCOPY_ANSWER) && header.length == sizeof(header))
		return header.data <= INT32_MAX ? -(int)header.data : -EPROTO;
	printf("invalid length %u or answer 0x%x, not 0x%x\n", header.length, header.command,
	       command | RCOPY_ANSWER);
	return -EPROTO;
}

static int file_open(const char *path, uint32_t *ret_mode)
{
	struct stat stat;

	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	file_size = stat.st_size;
	*ret_mode = stat.st_mode;
	return 0;
}

static int open_ask(const char *name, uint32_t mode)
{
	size_t length = sizeof(struct rcopy_header) +
			(strlen(name) + RCOPY_NAME_ALIGN) / RCOPY_NAME_ALIGN * RCOPY_NAME_ALIGN;
	struct rcopy_header *header;
	int r;

	if (length > UINT16_MAX)
		return -ENAMETOOLONG;
	header = calloc(1, length);
	if (!header)
		return -ENOMEM;
	*header = (struct rcopy_header){ .command = RCOPY_OPEN, .length = length, .data = mode };
	memcpy(header + 1, name, strlen(name));
	r = rcopy_send(stream, header, length);
	free(header);
	return r < 0 ? r : answer_receive(RCOPY_OPEN);
}

static int both_open(const char *source, const char *destination)
{
	uint32_t mode = 0;
	int r;

	rcopy_say("opening...");
	r = file_open(source, &mode);
	return r < 0 ? r : open_ask(destination, mode);
}

static int bytes_send(void)
{
	uint8_t *piece = malloc(RCOPY_PIECE);
	int r = piece ? 0 : -ENOMEM;

	for (uint64_t left = file_size; left && r == 0;) {
		ssize_t n = read(file, piece, min_of(left, (uint64_t)RCOPY_PIECE));

		if (n <= 0)
			r = n < 0 ? -errno : -ENODATA; /* it got shorter */
		else
			r = rcopy_send(stream, piece, n);
		left -= max_of(n, (ssize_t)0);
	}
	free(piece);
	return r;
}

static int write_ask(void)
{
	const struct {
		struct rcopy_header header;
		uint64_t size;
	} command = {
		.header = { .command = RCOPY_WRITE, .length = sizeof(command) },
		.size = file_size,
	};
	int r;

	rcopy_say("transferring");
	r = rcopy_send(stream, &command, sizeof(command));
	rcopy_say("...");
	if (r == 0)
		r = bytes_send();
	/* A server that refuses more data has sent the reason before it ended the stream. */
	return r < 0 && r != -EPIPE ? r : answer_receive(RCOPY_WRITE);
}

static int close_ask(void)
{
	const struct rcopy_header header = { .command = RCOPY_CLOSE, .length = sizeof(header) };
	int r;

	rcopy_say("closing...");
	r = rcopy_send(stream, &header, sizeof(header));
	if (r == 0)
		r = answer_receive(RCOPY_CLOSE);
	if (r == 0)
		printf("done\n");
	return r;
}

static int file_copy(const char *source, const char *destination)
{
	struct timeval start, end;
	double us;
	int r = both_open(source, destination);

	gettimeofday(&start, NULL);
	if (r == 0)
		r = write_ask();
	gettimeofday(&end, NULL);
	if (r == 0)
		r = close_ask();
	us = (end.tv_sec - start.tv_sec) * 1e6 + (end.tv_usec - start.tv_usec);
	if (r == 0)
		printf("%lld bytes in %.2f seconds = %.2f Gb/sec\n", (long long)file_size, us / 1e6,
		       file_size * 8 / (1000 * us));
	return r;
}

static int client_run(const char *source, char *server)
{
	char *colon = strchr(server, ':');
	int r;

	if (colon)
		*colon = 0;
	r = server_connect(server);
	if (r)
		return r;
	r = file_copy(source, colon ? colon + 1 : source);
	rshutdown(stream, SHUT_RDWR);
	rclose(stream);
	if (r == 0)
		return 0;
	errno = -r;
	printf("\n");
	return tool_perror("", source);
}

int main(int argc, char **argv)
{
	int first;

	tool_start();
	first = tool_arguments_parse(options, " [SOURCE SERVER[:DESTINATION]]", 1, argc, argv);
	if (first == argc)
		return rcopy_serve(port);
	if (argc - first != 2)
		tool_mistake(1, "a file and a server are expected");
	return client_run(argv[first], argv[first + 1]);
}
