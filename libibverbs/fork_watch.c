/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks around fork(). A child does not have the threads of its parent, so a lock that one of them
 * holds at the fork would stay locked in the child. Therefore fork() first takes all locks that
 * belong to no object, in the order in which a list of devices takes them. Handlers of
 * pthread_atfork() run in the order of their registration, which is that of the first uses. The
 * providers therefore register none, and the handlers here call them.
 */
#include <pthread.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/library.h"
#include "util/once.h"

static struct once watching = ONCE_INIT;
static struct verbs_fork *first; /* under the lock of the device list */

void verbs_fork_add(struct verbs_fork *fork)
{
	for (struct verbs_fork *known = first; known; known = known->next)
		if (known == fork)
			return;
	fork->next = first;
	first = fork;
}

static void fork_begin(void)
{
	verbs_registry_hold(true);
	for (struct verbs_fork *fork = first; fork; fork = fork->next)
		fork->begin();
	disc_linked_hold(true);
	fork_guard_hold(true);
}

static void fork_end(bool child)
{
	fork_guard_hold(false);
	disc_linked_hold(false);
	for (struct verbs_fork *fork = first; fork; fork = fork->next)
		fork->end(child);
	verbs_registry_hold(false);
}

static void fork_parent(void)
{
	fork_end(false);
}

static void fork_child(void)
{
	/* The thread that registered these handlers may not have noted it yet. */
	once_done(&watching);
	fork_end(true);
}

static void watch(void)
{
	pthread_atfork(fork_begin, fork_parent, fork_child);
}

void verbs_fork_watch(void)
{
	once_run(&watching, watch);
}
