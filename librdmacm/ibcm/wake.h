/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptors and times that wake the thread. */
#ifndef IBCM_WAKE_H
#define IBCM_WAKE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	IBCM_WAKE_MAX = 16
};

int ibcm_wake_open(void);
void ibcm_wake_close(void);
/* Let the thread wake when @fd is readable, or when it has an error. */
int ibcm_wake_watch(int fd, void *what);
int ibcm_wake_watch_errors(int fd, void *what);
/*
 * Call before @fd is closed. Otherwise the watch would stay, because a forked child has the
 * descriptor, too.
 */
void ibcm_wake_unwatch(int fd);
/* Wait in the thread. Return: the number of descriptors in @ready, each by its @what. */
int ibcm_wake_wait(void *ready[IBCM_WAKE_MAX], int timeout_ms);
/* Set the time in ns at which the thread wakes without a signal; 0: the thread is awake. Under the
 * lock. */
void ibcm_wake_set(uint64_t at);
/*
 * Wake the thread to check deadlines. ibcm_wake_by() does nothing if the thread wakes before
 * @deadline (0: never).
 */
void ibcm_wake(void);
void ibcm_wake_by(uint64_t deadline);

#endif
