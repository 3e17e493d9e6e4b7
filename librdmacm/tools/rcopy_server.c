/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receive files that clients send, one after another. Lengths and names from clients are checked.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rcopy.h"

static int stream = -1, file = -1;
static uint8_t *piece;

static int answer(const struct rcopy_header *command, int error)
{
	const struct rcopy_header header = {
		.command = command->command | RCOPY_ANSWER,
		.length = sizeof(header),
		.data = error,
		.id = command->id,
	};

	return rcopy_send(stream, &header, sizeof(header));
}

static void file_close(void)
{
	if (file >= 0)
		close(file);
	file = -1;
}

/* Open a regular file only, because pipes block and devices act. Use only the permission bits of
 * @mode. */
static int file_open(const char *path, uint32_t mode)
{
	struct stat stat;

	file = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode & 0777);
	if (file < 0)
		return -errno;
	if (fstat(file, &stat) < 0 || ftruncate(file, 0) < 0)
		return -errno;
	return S_ISREG(stat.st_mode) ? 0 : -EINVAL;
}

static int name_receive(size_t size, char name[PATH_MAX])
{
	int r;

	if (!size || size > PATH_MAX)
		return -ENAMETOOLONG;
	r = rcopy_receive(stream, name, size);
	return r < 0 || memchr(name, 0, size) ? r : -EINVAL;
}

static int command_open(const struct rcopy_header *header)
{
	char name[PATH_MAX];
	int r;

	rcopy_say("opening: ");
	if (file >= 0) {
		printf("a file is open already\n");
		return -EBUSY;
	}
	r = name_receive(header->length - sizeof(*header), name);
	if (r == 0) {
		rcopy_say("%s, ", name);
		r = file_open(name, header->data);
	}
	if (r < 0)
		printf("%s\n", strerror(-r));
	return r;
}

static int piece_write(size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(file, piece + done, size - done);

		if (n < 0)
			return -errno;
		done += n;
	}
	return 0;
}

static int bytes_take(uint64_t size)
{
	int r = 0;

	while (size && r == 0) {
		size_t most = min_of(size, (uint64_t)RCOPY_PIECE);

		r = rcopy_receive(stream, piece, most);
		if (r == 0)
			r = piece_write(most);
		size -= most;
	}
	return r;
}

static int command_write(const struct rcopy_header *header)
{
	uint64_t size;
	int r;

	rcopy_say("transferring");
	if (file < 0 || header->length != sizeof(*header) + sizeof(size)) {
		printf("...%s\n", file < 0 ? "no file is open" : "invalid length");
		return -EINVAL;
	}
	r = rcopy_receive(stream, &size, sizeof(size));
	if (r < 0)
		return r;
	rcopy_say("...%lld bytes...", (long long)size);
	if (size > INT64_MAX)
		r = -EFBIG;
	else if (size)
		r = -posix_fallocate(file, 0, size); /* report a full disk at once */
	if (r == 0)
		r = bytes_take(size);
	if (r < 0)
		printf("%s\n", strerror(-r));
	return r;
}

static int command_run(const struct rcopy_header *header)
{
	switch (header->command) {
	case RCOPY_OPEN:
		return command_open(header);
	case RCOPY_WRITE:
		return command_write(header);
	case RCOPY_CLOSE:
		rcopy_say("closing...");
		file_close();
		return 0;
	default:
		return -EINVAL;
	}
}

/* Serve a client until a command fails or the client ends the stream. */
static void client_serve(void)
{
	struct rcopy_header header;
	int r = 0;

	while (r == 0 && rcopy_receive_header(stream, &header) == 0) {
		r = command_run(&header);
		if (answer(&header, -r) < 0)
			break;
		if (header.command == RCOPY_CLOSE)
			printf("done\n");
	}
	file_close();
}

static int server_listen(const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM }, *info;
	int on = 1, r = getaddrinfo(NULL, port, &hints, &info), listener;

	if (r) {
		printf("getaddrinfo failed: %s\n", gai_strerror(r));
		return -1;
	}
	listener = rsocket(info->ai_family, SOCK_STREAM, 0);
	if (listener < 0)
		tool_open_error("", "rsocket failed");
	else if (rsetsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		r = tool_perror("", "rsetsockopt failed");
	else if (rbind(listener, info->ai_addr, info->ai_addrlen))
		r = tool_perror("", "rbind failed");
	else if (rlisten(listener, 1))
		r = tool_perror("", "rlisten failed");
	freeaddrinfo(info);
	return r ? r : listener;
}

static const char *address_text(const struct sockaddr_storage *address, char text[INET6_ADDRSTRLEN])
{
	const void *bytes = address->ss_family == AF_INET6
				    ? (void *)&((struct sockaddr_in6 *)address)->sin6_addr
				    : (void *)&((struct sockaddr_in *)address)->sin_addr;

	return inet_ntop(address->ss_family, bytes, text, INET6_ADDRSTRLEN) ?: "";
}

int rcopy_serve(const char *port)
{
	int listener = server_listen(port);

	piece = malloc(RCOPY_PIECE);
	if (listener < 0 || !piece)
		return -1;
	for (;;) {
		struct sockaddr_storage address = {};
		socklen_t size = sizeof(address);
		char text[INET6_ADDRSTRLEN];

		rcopy_say("waiting for connection...");
		stream = raccept(listener, (struct sockaddr *)&address, &size);
		if (stream < 0)
			return tool_perror("", "raccept failed");
		printf("client: %s\n", address_text(&address, text));
		client_serve();
		rshutdown(stream, SHUT_RDWR);
		rclose(stream);
	}
}
