/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A case's other process, and the words they exchange. */
#ifndef TESTS_LIB_RT_CHILD_H
#define TESTS_LIB_RT_CHILD_H

#include <sys/types.h>

#include "tests/lib/rt.h"

struct rt_child {
	pid_t pid;
	int socket;
};

/*
 * Runs run(socket, arg) in a child, which then ends with 0. The device must not be open yet. The
 * child is killed when the thread that calls this ends, as the whole process does at a failed
 * CHECK.
 */
struct rt_child rt_child_start(void (*run)(int socket, int arg), int arg);
/* Waits for its end, which must be a good one. */
void rt_child_finish(struct rt_child *child);
/* By SIGKILL; it is gone afterwards. */
void rt_child_kill(struct rt_child *child);

/*
 * In a child: it is killed when @parent ends, or at once if that has happened. To be called again
 * after a change of credentials, at which the kernel forgets it.
 */
void rt_child_bind(pid_t parent);

void rt_tell(int socket, uint32_t word);
uint32_t rt_hear(int socket);

#endif
