/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "util/once.h"

void once_run_first(struct once *once, void (*init)(void))
{
	pthread_mutex_lock(&once->lock);
	if (!atomic_load_explicit(&once->done, memory_order_relaxed)) {
		init();
		/* release: pairs with once_run() */
		atomic_store_explicit(&once->done, true, memory_order_release);
	}
	pthread_mutex_unlock(&once->lock);
}
