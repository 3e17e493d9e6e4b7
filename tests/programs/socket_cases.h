/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cases of socket_cases, which use only the C library's functions. Each passes on the kernel's
 * sockets and, with librspreload, on RDMA sockets. */
#ifndef SOCKET_CASES_H
#define SOCKET_CASES_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define PATIENCE_MS 60000 /* how long a case waits for an event */

extern bool case_failed;

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

/* Each file has a list; the last row is empty. */
extern const struct case_row answer_cases[], attack_cases[], call_cases[], datagram_cases[],
	end_cases[], fallback_cases[], handler_cases[], inherit_cases[], share_cases[],
	share_datagram_cases[];

bool is_over_rdma(void); /* librspreload is loaded */
struct sockaddr_in loopback(int port);
int listener_open(struct sockaddr_in *ret_address);
struct ends ends_open(void);
void ends_close(struct ends *e);
bool expect(int fd, const char *text); /* check that exactly these bytes arrive */
bool is_at_end(int fd);
bool becomes(int fd, short events);
/* Return the status of the child, which has ended, or -1 if a signal killed it. */
int child_status(int pid);

#endif
