/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is asked of another process about its objects. owner->lock is held. */
#ifndef UROCE_IMPORT_ASK_H
#define UROCE_IMPORT_ASK_H

#include "providers/uroce/verbs/verbs.h"

/* Go to the owner by the @door, for good: *@ret_fd, the caller's. */
int uroce_import_visit(int door, int *ret_fd);
/* @ret_fd: the caller's, -1 for none. */
int uroce_import_ask(struct ibv_context *ctx, struct uroce_owner *owner,
		     struct import_ask *question, struct import_answer *ret, int *ret_fd);
/* Afterwards the owner may destroy it, so it is waited for; what cannot be told is given back with
 * the end of the visit. */
void uroce_import_give_back(struct ibv_context *ctx, struct uroce_owner *owner,
			    enum import_what what, uint32_t handle);

#endif
