/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: socket_churn COUNT
 *
 * Connect COUNT times, in turn to a port where no process listens and to one where a process does.
 * Each connect has the right result, and the heap of the client does not grow.
 */
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define HEAP_GROWTH_KB 1024 /* connections that have ended stay known for a moment */
/* The device touches its tables of queue pairs and its receives one after the other. */
#define RESIDENT_GROWTH_KB 8192

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int listener_open(struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*ret_address);

	*ret_address = loopback(0);
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, size) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &size) < 0)
		die("listener");
	return fd;
}

/* Serve until the pipe that names the port has no reader. */
static void serve(int names)
{
	struct sockaddr_in address;
	int listener = listener_open(&address);

	if (write(names, &address, sizeof(address)) != sizeof(address))
		die("write");
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char byte;

		if (fd < 0)
			die("accept");
		if (recv(fd, &byte, 1, 0) != 1 || send(fd, &byte, 1, 0) != 1)
			fprintf(stderr, "server: %s\n", strerror(errno));
		close(fd);
		if (byte == 'e')
			exit(0);
	}
}

static bool refused(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool good = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		    errno == ECONNREFUSED;

	if (!good)
		fprintf(stderr, "no refusal: %s\n", strerror(errno));
	close(fd);
	return good;
}

static bool accepted(const struct sockaddr_in *address, char byte)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool good = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
	char answer = 0;

	if (!good)
		fprintf(stderr, "stray refusal: %s\n", strerror(errno));
	good = good && send(fd, &byte, 1, 0) == 1 && recv(fd, &answer, 1, 0) == 1 && answer == byte;
	close(fd);
	return good;
}

struct use {
	long heap_kb, resident_kb;
};

static long resident_kb(void)
{
	char line[128];
	long kb = 0;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %ld", &kb);
	if (file)
		fclose(file);
	return kb;
}

/* A sanitizer has a heap of its own, which is not counted. */
static struct use use_now(void)
{
	struct mallinfo2 info = mallinfo2();

	return (struct use){ (info.uordblks + info.hblkhd) / 1024, resident_kb() };
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 10000, ends[2], failures = 0;
	/* Not a port that TCP gives to clients: a client of that port would connect to itself. */
	const struct sockaddr_in none = loopback(1);
	struct sockaddr_in server;
	struct use early = {}, late;

	if (pipe(ends) < 0)
		die("pipe");
	if (!fork()) {
		close(ends[0]);
		serve(ends[1]);
	}
	if (read(ends[0], &server, sizeof(server)) != sizeof(server))
		die("read");
	for (int i = 0; i < count; i++) {
		if (i == count / 4)
			early = use_now();
		failures += i % 2 ? !accepted(&server, 'x') : !refused(&none);
	}
	late = use_now();
	failures += !accepted(&server, 'e');
	printf("%d connects, %d failures; heap: %ld, then %ld KiB; resident: %ld, then %ld KiB\n",
	       count, failures, early.heap_kb, late.heap_kb, early.resident_kb, late.resident_kb);
	return failures || late.heap_kb > early.heap_kb + HEAP_GROWTH_KB ||
	       late.resident_kb > early.resident_kb + RESIDENT_GROWTH_KB;
}
