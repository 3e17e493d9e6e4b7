/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "librdmacm/preload/preload.h"

__thread int preload_inside;

void preload_leave(void *unused)
{
	(void)unused;
	preload_exit();
}

/*
 * Return the table of real functions. The first call fills it, because libraries call before a
 * constructor could.
 */
const struct real *real(void)
{
	static struct real table;
	static atomic_bool ready;

	if (likely(atomic_load_explicit(&ready, memory_order_acquire)))
		return &table;
#define F(type, name, arguments) table.name = (__typeof__(table.name))dlsym(RTLD_NEXT, #name);
	REAL_FUNCTIONS(F)
#undef F
	/* Pairs with the load above. Two threads that come here write the same. */
	atomic_store_explicit(&ready, true, memory_order_release);
	return &table;
}

struct start {
	void *(*function)(void *);
	void *arg;
};

static void *marked_start(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	preload_inside = 1;
	signals_block(); /* a deferred handler would wait for ever */
	return start.function(start.arg);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
			  void *arg)
{
	struct start *start;
	int r;

	if (!preload_inside)
		return real()->pthread_create(thread, attr, function, arg);
	start = malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (struct start){ function, arg };
	r = real()->pthread_create(thread, attr, marked_start, start);
	if (r)
		free(start);
	return r;
}
