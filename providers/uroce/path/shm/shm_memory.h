/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of another process, as the kernel copies it: whether it may be, and whether that pays. */
#ifndef UROCE_SHM_MEMORY_H
#define UROCE_SHM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether the memory of @pid can be read from here, and has the SHM_LINE bytes of @token at @probe.
 */
bool shm_memory_readable(pid_t pid, uint64_t probe, const uint8_t *token);

/*
 * Whether the kernel's copies are so slow that two of a process's own, into a ring and out of it,
 * are faster. So it is on emulated processors, to which the kernel's one instruction is a loop over
 * bytes. Measured at the first call, which takes some tens of microseconds.
 */
bool shm_memory_slow(void);
/* The judgement alone: nanoseconds that the kernel and this process took to copy @bytes. */
bool shm_memory_judge(uint64_t kernel, uint64_t own, uint32_t bytes);

#endif
