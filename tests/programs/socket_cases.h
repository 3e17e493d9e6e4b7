/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cases of socket_cases, which use only the C library's functions. Each passes on the kernel's
 * sockets and, with librspreload, on RDMA sockets. */
#ifndef SOCKET_CASES_H
#define SOCKET_CASES_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define PATIENCE_MS 60000 /* how long a case waits for an event */

extern bool case_failed;
extern const char *case_skipped; /* why the case did not run; NULL: it ran */

/*
 * ThreadSanitizer delays signals, and does not follow a jump out of a handler. A program that was
 * not built with it cannot load a librspreload that was.
 */
#ifdef __SANITIZE_THREAD__
#define HAS_THREAD_SANITIZER true
#else
#define HAS_THREAD_SANITIZER false
#endif
#define SKIP_WITH_THREAD_SANITIZER(reason)       \
	do {                                     \
		if (HAS_THREAD_SANITIZER) {      \
			case_skipped = (reason); \
			return;                  \
		}                                \
	} while (0)

#define CHECK(truth)                                                                              \
	do {                                                                                      \
		if (!(truth)) {                                                                   \
			fprintf(stderr, "%s:%d: %s (errno %d: %s)\n", __func__, __LINE__, #truth, \
				errno, strerror(errno));                                          \
			case_failed = true;                                                       \
		}                                                                                 \
	} while (0)
#define CHECK_ERRNO(call, error)         \
	do {                             \
		errno = 0;               \
		CHECK((call) == -1);     \
		CHECK(errno == (error)); \
	} while (0)

struct ends {
	int listener, a, b; /* a connected, b was accepted */
	struct sockaddr_in address;
};

struct case_row {
	const char *name;
	void (*run)(void);
};

/* Each file has a list; the last row is empty. A name that ends with _by_itself is a program that
 * another case starts. It runs only if the command line names it. */
extern const struct case_row answer_cases[], attack_cases[], call_cases[], datagram_cases[],
	descriptor_cases[], end_cases[], fallback_cases[], file_cases[], handler_cases[],
	inherit_cases[], option_cases[], process_cases[], share_cases[], share_datagram_cases[],
	share_kill_cases[], signal_cases[], spent_cases[], stopped_cases[], thread_cases[],
	waiting_cases[];

bool is_over_rdma(void); /* librspreload is loaded */
struct sockaddr_in loopback(int port);
int listener_open(struct sockaddr_in *ret_address);
struct ends ends_open(void);
void ends_close(struct ends *e);
bool expect(int fd, const char *text); /* check that exactly these bytes arrive */
bool say(int fd, const char *text);
bool is_at_end(int fd);
bool is_quiet(int fd);	   /* neither data nor the end has arrived */
bool is_of_kernel(int fd); /* a socket of the kernel, even if fstat() reports something else */
bool becomes(int fd, short events);
int events_of(int epoll, int timeout); /* of its first entry; 0: none within the time, in ms */
int error_of(int fd);		       /* SO_ERROR */
int file_open(const char *text);       /* a file of this text that has no name */
/* Threads for a descriptor: they return whether the stream ended, or accept() failed. */
void *end_wait(void *fd);
void *accept_wait(void *fd);
/* Return the status of the child, which has ended, or -1 if a signal killed it. */
int child_status(int pid);
void child_end(void) __attribute__((noreturn)); /* end a child; a failed CHECK() in it counts */
uint8_t byte_at(size_t place);			/* the value of a byte at its place in a stream */

/* Start a client that returns all that it gets, and accept it at a. It ends with the connection.
 * If SOCKET_CASES_AGAIN is set, it connects a second time when told "again", and uses that
 * connection. */
pid_t echo_start(struct ends *e);
pid_t echo_fork(struct ends *e); /* one more client of that listener, not accepted yet */

#endif
