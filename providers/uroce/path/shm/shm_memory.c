/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/uroce/path/shm/shm.h"
#include "providers/uroce/path/shm/shm_memory.h"

enum {
	SAMPLE = 32768, /* bytes */
	ROUNDS = 5,	/* the shortest time counts, because a thread may lose its processor */
	SLOW_RATE = 1,	/* bytes per ns: the kernel's copies are fast enough at this rate */
	SLOW_RATIO = 4, /* factor to the duration of the process's own copies */
};

bool shm_memory_readable(pid_t pid, uint64_t probe, const uint8_t *token)
{
	uint8_t bytes[SHM_LINE];
	struct iovec local = { bytes, sizeof(bytes) },
		     remote = { (void *)(uintptr_t)probe, sizeof(bytes) };

	/* Pid 0: the peer is in a PID namespace that is not visible from here. */
	return pid > 0 && process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(bytes) &&
	       !memcmp(bytes, token, sizeof(bytes));
}

bool shm_memory_judge(uint64_t kernel, uint64_t own, uint32_t bytes)
{
	return kernel > bytes / SLOW_RATE && kernel > SLOW_RATIO * own;
}

static uint64_t copy_time(int (*copy)(void *to, const void *from, size_t length), uint8_t *memory)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = uroce_now();

		if (copy(memory, memory + SAMPLE, SAMPLE) < 0)
			return 0; /* the kernel forbids this way of copying, so it will not be used
				   */
		best = min_of(best, uroce_now() - start);
	}
	return best;
}

static bool measure(void)
{
	uint8_t *memory = calloc(2, SAMPLE);
	uint64_t kernel, own;
	bool slow;

	if (!memory)
		return false;
	memset(memory, 1, 2 * SAMPLE); /* allocate the pages */
	own = copy_time(uroce_copy, memory);
	kernel = copy_time(uroce_copy_kernel, memory);
	free(memory);
	slow = shm_memory_judge(kernel, own, SAMPLE);
	log_debug("uroce: %d bytes take the kernel %" PRIu64 " ns to copy and this process %" PRIu64
		  ": large messages on this host are %s",
		  SAMPLE, kernel, own, slow ? "packets" : "copied once, by the kernel");
	return slow;
}

bool shm_memory_slow(void)
{
	enum {
		UNKNOWN,
		FAST,
		SLOW
	};
	static atomic_int known = UNKNOWN; /* two threads may both measure, with the same result */
	int state = atomic_load_explicit(&known, memory_order_relaxed);

	if (state == UNKNOWN) {
		state = measure() ? SLOW : FAST;
		atomic_store_explicit(&known, state, memory_order_relaxed);
	}
	return state == SLOW;
}
