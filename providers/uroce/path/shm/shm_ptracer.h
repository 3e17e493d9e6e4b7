/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Yama. Where kernel.yama.ptrace_scope is 1, as many distributions have it, the memory of a process
 * is its ancestors' to read and that of one other process, and its descendants, which it names.
 */
#ifndef UROCE_SHM_PTRACER_H
#define UROCE_SHM_PTRACER_H

#include <stdbool.h>
#include <sys/types.h>

/* The process @pid, which connects, may read our memory from here on, if that can be had. */
void shm_ptracer_allow(pid_t pid);

struct shm_process {
	pid_t parent;
	pid_t session;
};

/* Who a process is: false if it is not there. */
typedef bool shm_process_fn(pid_t pid, struct shm_process *ret);

/*
 * Whom @self names so that @peer is among them and who is there already, by @now, stays: @peer, or
 * the nearest ancestor of both that belongs to the session of @self, such as the program that
 * started all of them. @now, 0 for nobody: where nothing is to be changed, for @peer needs nothing
 * or such an ancestor does not exist.
 */
pid_t shm_ptracer_choose(pid_t self, pid_t now, pid_t peer, shm_process_fn *query);

#endif
