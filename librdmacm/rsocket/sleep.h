/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Signal handlers that interrupt a call which sleeps. librspreload, which runs the handlers of the
 * program, includes this file; the symbols are private to the two libraries.
 */
#ifndef RSOCKET_SLEEP_H
#define RSOCKET_SLEEP_H

#include <signal.h>
#include <stdbool.h>

struct rs_sleep_calls {
	/*
	 * The calling thread is about to sleep. @mask: of the program's call, or NULL. Return: the
	 * mask for the system call that sleeps, or NULL.
	 */
	const sigset_t *(*begin)(const sigset_t *mask);
	void (*end)(void);
};

/* Call @calls around each system call that sleeps. They must stay valid. */
void rs_sleep_watch(const struct rs_sleep_calls *calls);

/*
 * A handler is about to run in a thread that sleeps. Give up what other threads wait for, so that
 * the handler may call the library, and need not return. @restarts: the handler has SA_RESTART.
 * Return: false: too many handlers have interrupted each other.
 */
bool rs_sleep_leave(bool restarts);
/* The handler has returned. */
void rs_sleep_return(void);

#endif
