/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The door of this folder, the user-space connection manager. A file that others call has a header
 * of its name, and this header has the operations of the backend.
 *
 *   mad.c, state*.c  messages and states, pure
 *   lock.c           the lock, the clock
 *   wake.c           what wakes the thread
 *   device.c         devices in use
 *   table.c          communication ids, and connections by the ids of peers; deadlines
 *   share.c          the limit of identifiers for each host
 *   answered.c       requests that were answered and get no other answer
 *   listen.c         listeners
 *   local.c, path.c  addresses of this host; paths to others
 *   interfaces.c     interfaces and addresses that come and go
 *   port.c           ports and their owners, also in other processes
 *   guard.c          messages out after this process was killed
 *   send.c           messages out
 *   probe.c          messages out that a host without a receiver refuses
 *   event.c          channels, and the events in them
 *   pending.c        requests that wait for a listener
 *   id.c             identifiers, and the results of a step
 *   request.c        requests in
 *   dispatch.c       messages in
 *   loop.c           the thread
 *   addr.c, attr.c, mcast.c, wait.c, channel.c, ibcm.c  operations of the backend
 *
 * A file calls only files above it in this list, and its neighbours in a line:
 * tests/contract/rooms/ibcm.plan.
 *
 * One lock protects everything: ibcm_lock(). Operations of the provider are called under it. The
 * core is not called under it, but memory of an identifier is read and written.
 */
#ifndef IBCM_IBCM_H
#define IBCM_IBCM_H

#include <stdbool.h>
#include <sys/socket.h>

struct cm_channel;
struct cm_id;
struct cm_qp_attr;

/* Operations of the backend; ibcm.c has their table. */

/* addr.c */
bool ibcm_serves(const struct sockaddr *addr);
int ibcm_bind_addr(struct cm_id *id, const struct sockaddr *addr);
int ibcm_resolve_addr(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		      int timeout_ms);
int ibcm_resolve_route(struct cm_id *id, int timeout_ms);
int ibcm_query_addr(struct cm_id *id);

/* attr.c */
int ibcm_init_qp_attr(struct cm_id *id, struct cm_qp_attr *attrs, int count);

/* channel.c */
int ibcm_open_channel(struct cm_channel *ch, int *ret_fd);
/* Close the channel, and end its identifiers. */
void ibcm_close_channel(struct cm_channel *ch);

/* wait.c */
/* Wait until there may be an event. Any number of threads may wait. */
int ibcm_wait_event(struct cm_channel *ch);

#endif
