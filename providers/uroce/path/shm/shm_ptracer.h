/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Yama. If kernel.yama.ptrace_scope is 1, as in many distributions, only ancestors of a process may
 * read its memory. The process can name one other process. That process and its descendants may
 * then also read the memory.
 */
#ifndef UROCE_SHM_PTRACER_H
#define UROCE_SHM_PTRACER_H

#include <stdbool.h>
#include <sys/types.h>

/* Let the process @pid, which connects, read memory of this process from here on, if possible. */
void shm_ptracer_allow(pid_t pid);

struct shm_process {
	pid_t parent;
	pid_t session;
};

/* Read parent and session of a process. Return: false if the process does not exist. */
typedef bool shm_process_fn(pid_t pid, struct shm_process *ret);

/*
 * Return the process that @self has to name. @peer must be able to read its memory, and the
 * processes that @now admits must keep that right. The result is @peer, or the nearest common
 * ancestor in the session of @self, such as the program that started all of them. @now is the
 * process named so far; 0: none. Return @now if nothing has to be changed, or if there is no such
 * ancestor.
 */
pid_t shm_ptracer_choose(pid_t self, pid_t now, pid_t peer, shm_process_fn *query);

#endif
