/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interfaces and addresses that come and go. Call these functions without the lock. */
#ifndef IBCM_INTERFACES_H
#define IBCM_INTERFACES_H

#include <stdbool.h>

/*
 * Update the list of devices from the present interfaces and addresses. This costs one system call
 * if there was no change.
 */
void ibcm_interfaces_follow(void);
/* Do this for the first time, before the list of devices is read. */
void ibcm_interfaces_begin(void);
/* Do this in the thread, which also opens new devices for listeners on any address. */
void ibcm_interfaces_serve(void);
/* Return whether such a listener waits for ibcm_interfaces_serve(). */
bool ibcm_interfaces_wanted(void);
/* Return a descriptor that is readable after a change; -1: the system does not report changes. */
int ibcm_interfaces_fd(void);
/* Take and release the lock around fork(), before all other locks. */
void ibcm_interfaces_fork_begin(void);
void ibcm_interfaces_fork_end(void);

#endif
