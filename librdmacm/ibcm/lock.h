/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lock of this folder, the clock, random numbers, and children of fork(). */
#ifndef IBCM_LOCK_H
#define IBCM_LOCK_H

#include <stdbool.h>
#include <stdint.h>

void ibcm_lock(void);
bool ibcm_lock_try(void);
void ibcm_unlock(void);
/* Take and release the lock around fork(). @child: this process is the child, and its parent ran
 * the thread. */
void ibcm_lock_fork_begin(void);
void ibcm_lock_fork_end(bool child);
uint64_t ibcm_now(void);
uint32_t ibcm_random(void);
/*
 * Return whether this process was forked after the first use of a device. ibcm_child_refuse() logs
 * that and returns -EIO.
 */
bool ibcm_is_child(void);
int ibcm_child_refuse(void);

#endif
