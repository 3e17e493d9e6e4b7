/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies by the kernel to or from memory of another process: whether they are possible and fast. */
#ifndef UROCE_SHM_MEMORY_H
#define UROCE_SHM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Return whether this process can read the memory of @pid, and the SHM_LINE bytes at @probe there
 * equal @token.
 */
bool shm_memory_readable(pid_t pid, uint64_t probe, const uint8_t *token);

/*
 * Return whether two copies by processes, into a ring and out of it, are faster than one copy by
 * the kernel. This is true on emulated processors, which run the kernel's one copy instruction as a
 * loop over bytes. The first call measures, which takes some tens of microseconds.
 */
bool shm_memory_slow(void);
/* Decide the same from two measured times to copy @bytes. @kernel, @own: ns. */
bool shm_memory_judge(uint64_t kernel, uint64_t own, uint32_t bytes);

#endif
