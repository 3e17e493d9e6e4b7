/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/once.h"

#define PAUSE 100000 /* ns between two checks of a thread that waits for another one */

static atomic_int known; /* number of this process; 0: ask the kernel */

static void forget(void)
{
	atomic_store(&known, 0);
}

/* Return the number of this process. The kernel is asked once in a process. */
static pid_t process(void)
{
	pid_t pid = atomic_load(&known);

	if (pid)
		return pid;
	/* If the process forks before the number is stored, the child has none. */
	pthread_atfork(NULL, NULL, forget);
	pid = getpid();
	atomic_store(&known, pid);
	return pid;
}

void once_run_first(struct once *once, void (*init)(void))
{
	static const struct timespec pause = { .tv_nsec = PAUSE };
	_cleanup_cancel_ int cancel = cancel_off();
	pid_t pid = process();

	for (;;) {
		int state = atomic_load_explicit(&once->state, memory_order_acquire);

		if (state == ONCE_DONE)
			return;
		if (state == pid)
			nanosleep(&pause, NULL);
		else if (atomic_compare_exchange_strong(&once->state, &state, pid))
			break;
	}
	init();
	once_done(once);
}
