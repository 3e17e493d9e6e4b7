/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets over RDMA: the header of this folder. Included by the files of this folder only. They use
 * the public calls of librdmacm and libibverbs, and of the verbs core verbs_post_write_copy() and
 * verbs_qp_end_waits(). The files are on floors, and tests/contract/rooms/rsocket.plan has the
 * order: a file calls files of its own floor and of floors below. Two calls lead upwards by
 * pointers of the socket: the destruction of a file, and the work of the service thread.
 *
 *   wire.c          the wire format of a stream; pure
 *   credit.c        the permission to send: memory and numbers of messages; pure
 *   clock.c         the clock of waits
 *   state.c         failures of a socket
 *   vector.c        the check of vectored calls
 *   channel.c       the channel to the connection manager
 *   default.c       defaults of new sockets, from /etc/rdma/rsocket
 *   table.c         the table from a descriptor to its socket or poller, and references to them
 *   fork.c          the locks of this library during fork()
 *   cancel.c        threads that are cancelled, or interrupted by a signal handler
 *   waiter.c        threads that wait for the thread that sleeps
 *   rouse.c         ending the sleep of threads that wait for a socket
 *   service.c       the thread that accepts connections and keeps them alive
 *   keep.c          what this thread does for a connection
 *   post.c          posting of requests
 *   end.c           messages that end a connection
 *   buffer.c        memory, queues and queue pair of a connection
 *   mapping.c       mappings: memory that the peer writes to by offset
 *   iomap.c         the calls for mappings
 *   complete.c      completions and credits
 *   handshake.c     the states from a socket to a connection, at both ends
 *   event.c         the events of a socket, whether stream or datagram
 *   wait.c          waiting for completions and credits
 *   turn.c          the order of senders, and of receivers
 *   spin.c          how long a thread polls before it sleeps, and when it offers its processor
 *   option_row.c    the table of options
 *   option_value.c  values of options that a program has set
 *   option.c        the calls that set and get options
 *   kernel_option.c options without a meaning for RDMA, which the kernel checks
 *   control.c       flags and requests of descriptors
 *   socket.c        creation and destruction of a socket
 *   name.c          names of a socket and of its peer
 *   connect.c       the calls that bind and connect
 *   listener.c      the readiness of a listener
 *   accept.c        listening, and the queue of accepted connections
 *   send.c          sending
 *   receive.c       receiving
 *   shutdown.c      shutting down
 *   close.c         the end of a socket
 *   closing.c       numbers that the program has closed and that the kernel still has open
 *   linger.c        closed sockets that still have data to deliver
 *   lingering.c     their number, and the wait for them at exit
 *   leave.c         sockets that are open when the process exits
 *   move.c          other numbers for a socket
 *   revents.c       the events that poll() reports
 *   poll.c          rpoll() and rselect()
 *   epoll.c         repoll
 *   watch.c         the sockets of a poller
 *   ready.c         the sockets that each wait of a poller polls
 *   datagram.h      datagram sockets, and the list of their files
 *
 * Locks, in the order in which they are taken:
 *   send_turn   one sender at a time: the free part of the send buffer
 *   recv_turn   one receiver at a time: the filled part of the receive buffer
 *   lock        everything else of the socket: state, CQ, credits, queue; never held in a system
 *               call that waits
 * A call finds a socket in the table and takes a reference. Therefore rclose() by another thread
 * does not free the socket under the call.
 *
 * Threads: the service thread (service.c), and one thread for each closed socket whose peer does
 * not take the remaining data yet. A thread that waits for a socket also takes the completions and
 * the events of the socket. If several threads wait, one sleeps in the kernel (@sleeper) and wakes
 * the others.
 *
 * The public descriptor is an epoll of the descriptors of the connection manager and of the
 * completion channel. The epoll is readable if a descriptor has an event, which does not always
 * mean POLLIN for the socket.
 */
#ifndef RSOCKET_RS_H
#define RSOCKET_RS_H

#include "librdmacm/rsocket/buffer.h"
#include "librdmacm/rsocket/call.h"
#include "librdmacm/rsocket/complete.h"
#include "librdmacm/rsocket/credit.h"
#include "librdmacm/rsocket/datagram_calls.h"
#include "librdmacm/rsocket/default.h"
#include "librdmacm/rsocket/end.h"
#include "librdmacm/rsocket/handshake.h"
#include "librdmacm/rsocket/listener.h"
#include "librdmacm/rsocket/mapping.h"
#include "librdmacm/rsocket/option.h"
#include "librdmacm/rsocket/revents.h"
#include "librdmacm/rsocket/room.h"
#include "librdmacm/rsocket/send.h"
#include "librdmacm/rsocket/service.h"
#include "librdmacm/rsocket/socket.h"
#include "librdmacm/rsocket/spin.h"
#include "librdmacm/rsocket/table.h"
#include "librdmacm/rsocket/turn.h"
#include "librdmacm/rsocket/vector.h"
#include "librdmacm/rsocket/wait.h"
#include "librdmacm/rsocket/watch.h"
#include "librdmacm/rsocket/wire.h"

#endif
