/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Last words to the peers, sent after this process was killed. */
#ifndef IBCM_GUARD_H
#define IBCM_GUARD_H

#include <stdbool.h>

struct ibcm_id;

/*
 * Start to guard a connection. Call before the first message to its peer, and without the lock.
 * Return: whether a guardian will send its last word when this process is killed. The last word is
 * kept up to date.
 */
bool ibcm_guard_begin(const struct ibcm_id *iid);
/* Update the last word after any step, or drop it at the end. Under the lock. */
void ibcm_guard_update(struct ibcm_id *iid);
void ibcm_guard_end(struct ibcm_id *iid);

#endif
