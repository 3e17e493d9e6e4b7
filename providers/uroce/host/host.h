/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The header of this room for other rooms. Everything that is shared by several QPs: the engine,
 * the devices and the contexts of a process. Files of the room include the header of each noun
 * instead.
 *
 * - struct uroce_host: one per process. It has the process's slot among the processes of this host,
 *   the QP numbers, the engine, the progress thread and the rings of shared memory.
 * - struct uroce_dev: one per network interface in use, with GIDs, UDP path and port state.
 * - struct uroce_context: one per ibv_open_device().
 *
 * Files, each with a header of its name if others call it; tests/contract/rooms/host.plan lists
 * them on floors:
 *
 * - host.c, process.c, device.c, interface.c, mtu.c: create and destroy these three.
 * - interface_list.c: chooses the interfaces that have a device.
 * - progress.c, poller.c, thread.c: receive passes, by pollers and by the progress thread.
 * - watch.c, watch_ready.c: the descriptors that the thread waits for, and what it does then.
 * - receive.c: brings a packet to its QP.
 * - short_way.c: short way of the most frequent send.
 * - gid.c, address_list.c, av.c, mcast.c: addresses, that is GIDs, address vectors and groups.
 * - xrc.c: XRC domains, and SRQs by number.
 * - qpn.c, qp_find.c: QP numbers, and QPs by number.
 * - former.c: the end of peers.
 * - show.c: shows peers the state of QPs and regions.
 * - counters.c: packet counters of QPs and devices.
 * - gsi.c, gsi_pass.c, gsi_route.c, gsi_send.c, gsi_path.c, service.c: QP1.
 * - forward.c: datagrams for other processes of this host.
 * - import.c, import_message.c: objects of other processes.
 * - guardian.c, spawn.c: the program that sends last messages after this process was killed.
 * - event.c, fault_event.c, engine_events.c: asynchronous events, events that a fault rule raises,
 *   and upcalls of the engine.
 *
 * Progress. uroce_progress() is the only receiver. Pollers call it when their CQ is empty. Received
 * packets are divided into strands by the number of the destination QP, so that pollers of CQs of
 * different strands do not wait for each other. Sockets, timers and packets without a QP belong to
 * the first strand. A thread takes a strand by trylock and makes its pass. A poller visits the
 * strands of its CQ's QPs first, and other strands only if no other thread polls them.
 *
 * Threads that change the lists of a pass wait for a lock: for progress_lock, which is the lock of
 * the first strand, to change sockets, devices or groups; for the locks of all strands to remove a
 * peer or a QP.
 *
 * The progress thread has two states:
 *
 * - asleep: no poller was seen for a tick. The thread waits in epoll for every socket and for its
 *   wake-up descriptor. Peers ring that descriptor because the board says "sleeping".
 * - watching: pollers are active. The thread leaves packets to them and only checks once a tick
 *   whether they are still active.
 *
 * An idle process therefore costs no processor time, and a busy poller is never disturbed.
 *
 * Locks, in the order in which they are taken:
 *
 * - the_lock (host.c): the host of this process.
 * - host->xrc_lock: handles of XRC receive QPs.
 * - host->lock: lists of devices and of XRC domains, numbers of QPs and SRQs.
 * - dev->lock: GID table, contexts, multicast groups.
 * - host->guardian_lock: start of the guardian.
 * - progress_lock and the locks of the other strands: the receive side, one pass of a strand.
 *   path_host_stop() (path/path.h) takes all of them.
 * - gsi->lock (gsi.c): received MADs. UROCE_LEAF_SERVICES (service.c): services on the board.
 * - the locks of the engine: qp->lock first, see engine/engine.h.
 * - watches->lock (watch.c): watched descriptors. ctx->event_lock: writers of a context's pipe.
 *
 * Threads: the application's threads, and one progress thread that thread.c starts.
 *
 * Includes: every room below. Included by: verbs, uroce.c.
 */
#ifndef UROCE_HOST_H
#define UROCE_HOST_H

#include "providers/uroce/host/av.h"
#include "providers/uroce/host/counters.h"
#include "providers/uroce/host/device.h"
#include "providers/uroce/host/event.h"
#include "providers/uroce/host/short_way.h"
#include "providers/uroce/host/gid.h"
#include "providers/uroce/host/gsi_ops.h"
#include "providers/uroce/host/guardian.h"
#include "providers/uroce/host/interface_list.h"
#include "providers/uroce/host/mcast.h"
#include "providers/uroce/host/objects.h"
#include "providers/uroce/host/poller.h"
#include "providers/uroce/host/process.h"
#include "providers/uroce/host/progress.h"
#include "providers/uroce/host/qpn.h"
#include "providers/uroce/host/show.h"
#include "providers/uroce/host/thread.h"
#include "providers/uroce/host/xrc.h"

#endif
