/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A second process of a case, and the words that both exchange. */
#ifndef TESTS_LIB_RT_CHILD_H
#define TESTS_LIB_RT_CHILD_H

#include <sys/types.h>

#include "tests/lib/rt.h"

struct rt_child {
	pid_t pid;
	int socket;
};

/* Run run(socket, arg) in a child, which then ends with 0. The device must not be open yet. The
 * child is killed if the calling thread ends, as the whole process does at a failed CHECK. */
struct rt_child rt_child_start(void (*run)(int socket, int arg), int arg);
/* Wait for the end of the child, which must exit with 0. */
void rt_child_finish(struct rt_child *child);
/* Kill the child by SIGKILL and wait for its end. */
void rt_child_kill(struct rt_child *child);

/* Called in a child: have the kernel kill it when @parent ends, or exit at once if @parent has
 * ended. Call it again after a change of credentials, which makes the kernel forget the request. */
void rt_child_bind(pid_t parent);

void rt_tell(int socket, uint32_t word);
uint32_t rt_hear(int socket);

#endif
