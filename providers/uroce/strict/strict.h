/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strict mode, UROCE_STRICT of uroce(7): check how a program uses the verbs, and write a line about
 * each fault. A context in strict mode has its own table of operations, which check and then call
 * the operations below. Without the variable no function of this room runs.
 *
 * - strict.c: the mode, and the table of a context.
 * - report.c: the lines, and the summary at the exit of the process.
 * - site.c: the call of the program that led to an operation.
 * - record.c: the objects of the process, each with the call that made it.
 * - object.c: operations that make or end an object.
 * - region.c: the memory of scatter/gather entries.
 * - queue.c: requests from their post to the poll of their completion.
 * - post.c, poll.c: operations of the data path.
 * - error.c: errors that the program ignores.
 * - datagram.c: dropped datagrams, and room for the GRH.
 * - content.c, written.c: changes of the memory of requests.
 * - room.c: entries of the send queue.
 * - immediate.c: the byte order of immediate data.
 * - inherited.c: use after a fork.
 * - attributes.c: attributes without the effect that the program expects.
 * - watch.c, waits.c, silent.c, left.c, unready.c: a thread that finds waits in vain.
 *
 * Locks: strict_cq.poll, then strict_qp.send or a queue's recv, then the locks of the rooms below.
 * UROCE_LEAF_STRICT protects the records and the requests; no other lock is waited for under it.
 * The lock of watch.c is taken before it, and held during a look.
 *
 * Threads: the application's threads, and that of watch.c. Includes: verbs. Included by: uroce.c.
 */
#ifndef UROCE_STRICT_H
#define UROCE_STRICT_H

#include "providers/uroce/verbs/verbs.h"

/*
 * Put the checks before the operations @ops of the context if UROCE_STRICT asks for it. -EINVAL:
 * unknown value, which is logged.
 */
int uroce_strict_open(struct uroce_context *ctx, const struct verbs_ops *ops);
/* Undo uroce_strict_open() for a context whose opening failed. */
void uroce_strict_undo(struct uroce_context *ctx);

#endif
