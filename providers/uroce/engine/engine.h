/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine: RoCE's transport as a state machine of (queue pair, packet or work request, time).
 *
 *   req.c req_packet.c requester: send WQEs become packets
 *   retry.c            what it does after a loss
 *   req_direct.c       what it has the path do without a packet
 *   congestion.c       how much the requester may have on its way through a network
 *   comp.c             completer: acknowledgements and responses retire WQEs
 *   resp.c resp_check.c resp_duplicate.c answer.c
 *                      responder: request packets are checked, executed, answered
 *   due.c              acknowledgements that are owed, QPs that wait for room, timers
 *   xrc.c              the SRQ that an XRC packet names; handles that share a queue pair
 *   keys.c window.c    memory regions and windows by key
 *   cq_ring.c rwqe.c   completions pushed, receives taken
 *   qp_error.c explain.c
 *                      what becomes of the work when a QP fails, and why, in words
 *
 * This header includes the others of the room that are for everyone: what the device promises
 * (limits.h), the objects (object.h, cq.h, wqe.h, qp.h, key.h, keys.h), what is done with a queue
 * pair (transport.h), and what is one for the process (state.h).
 *
 * It does no I/O and owns no thread. Packets leave by path/path.h; what else it wants of its owner
 * goes through struct engine_events. Time is a parameter: where it is 0 nobody has looked at the
 * clock, and the engine does (base/clock.h) in those few cases in which it needs to know.
 *
 * Locks, in the order they are taken:
 *
 *   qp->lock             SQ and RQ, requester, responder, completer: a post, one packet
 *   srq->lock            SRQ ring: taking or posting receives
 *   a path's own lock    its send side: one packet, or one flush
 *   cq->lock             CQE ring, armed flags: push, poll
 *   strand's blocked_lock, pending_lock
 *                        QPs that wait for room; CQs whose channel was full
 *   keys->lock           key table: registration; look-ups count themselves in instead
 *
 * No code holds two QP locks. acks, acks_urgent and the passes of a strand are under the lock that
 * its owner has for it, which is taken before all of these and held by whoever hands in packets of
 * its queue pairs. Timers are fired by any strand's pass. Threads: any, with the locks as said at
 * each function. Includes: path/path.h, wire, base. Included by: fault, host, verbs.
 */
#ifndef UROCE_ENGINE_H
#define UROCE_ENGINE_H

#include "providers/uroce/engine/cq.h"
#include "providers/uroce/engine/cq_ring.h"
#include "providers/uroce/engine/key.h"
#include "providers/uroce/engine/keys.h"
#include "providers/uroce/engine/limits.h"
#include "providers/uroce/engine/object.h"
#include "providers/uroce/engine/qp.h"
#include "providers/uroce/engine/state.h"
#include "providers/uroce/engine/transport.h"
#include "providers/uroce/engine/wqe.h"

#endif
