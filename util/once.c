/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <time.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/once.h"

#define PAUSE 100000 /* ns between two checks of a thread that waits for another one */

void once_run_first(struct once *once, void (*init)(void))
{
	static const struct timespec pause = { .tv_nsec = PAUSE };
	_cleanup_cancel_ int cancel = cancel_off();
	pid_t pid = getpid();

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
