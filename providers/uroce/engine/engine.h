/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine: the transport of RoCE as a state machine of (queue pair, packet or work request,
 * time).
 *
 *   req.c req_packet.c requester: send WQEs become packets
 *   retry.c            requester: recovery after a loss
 *   req_direct.c       requester: operations that the path performs without packets
 *   congestion.c       requester: the window of packets on their way through a network
 *   comp.c             completer: acknowledgements and responses retire WQEs
 *   resp.c resp_check.c resp_duplicate.c answer.c
 *                      responder: request packets are checked, executed, answered
 *   due.c              owed acknowledgements, QPs that wait for room, timers
 *   xrc.c              the SRQ that an XRC packet names; handles that share a queue pair
 *   keys.c window.c    memory regions and windows by key
 *   cq_ring.c rwqe.c   pushing completions, taking receives
 *   qp_error.c explain.c refusal.c
 *                      the work of a failed QP, and the explanation of its error
 *
 * This header includes the public headers of the room: the limits of the device (limits.h), the
 * objects (object.h, cq.h, wqe.h, qp.h, key.h, keys.h), the functions of a queue pair
 * (transport.h), and the state of the process (state.h).
 *
 * The engine does no I/O and owns no thread. Packets leave by path/path.h; all other calls to its
 * owner go through struct engine_events. Time is a parameter. If it is 0, the caller has not read
 * the clock, and the engine reads it (base/clock.h) in the few cases in which it needs the time.
 *
 * Locks, in the order they are taken:
 *
 *   qp->lock             SQ and RQ, requester, responder, completer: a post, one packet
 *   srq->lock            SRQ ring: taking or posting receives
 *   the lock of a path   its send side: one packet, or one flush
 *   cq->lock             CQE ring, armed flags: push, poll
 *   strand's blocked_lock, pending_lock
 *                        QPs that wait for room; CQs whose channel was full
 *   keys->lock key table: registration; look-ups increment a counter instead
 *
 * No code holds two QP locks. A strand's acks, acks_urgent and pass counters are under the owner's
 * lock of that strand. This lock is taken before all of these, and the caller holds it when it
 * hands in packets of the strand's queue pairs. The pass of any strand fires timers.
 *
 * Threads: any, with the locks that each function names.
 *
 * Includes: path/path.h, wire, base. Included by: fault, host, verbs.
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
