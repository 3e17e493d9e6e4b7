/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions to another process about its objects. Under owner->lock, except uroce_import_visit().
 */
#ifndef UROCE_IMPORT_ASK_H
#define UROCE_IMPORT_ASK_H

#include "providers/uroce/verbs/verbs.h"

/*
 * Send one end of a new socket to the owner through @sock. *@ret_fd: the other end, on which the
 * caller asks the owner and which the caller closes.
 */
int uroce_import_visit(int sock, int *ret_fd);
/*
 * Ask the owner a question and wait for the answer. *@ret_fd: a descriptor that the caller closes,
 * or -1.
 */
int uroce_import_ask(struct ibv_context *ctx, struct uroce_owner *owner,
		     struct import_ask *question, struct import_answer *ret, int *ret_fd);
/*
 * Give an object back, and wait until the owner knows that it may destroy the object. If the owner
 * does not answer, the object is given back at the end of the visit.
 */
void uroce_import_give_back(struct ibv_context *ctx, struct uroce_owner *owner,
			    enum import_what what, uint32_t handle);

#endif
