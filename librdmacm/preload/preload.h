/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librspreload: sockets over RDMA for programs that use the C library's calls. Loaded by
 * LD_PRELOAD, it intercepts the socket calls of the C library.
 *
 *   real.c        the functions of the C library, and the mark of threads
 *   signal.c      signal handlers of the program
 *   number.c      high numbers for the descriptors of the RDMA libraries
 *   config.c      the choice of programs and sockets
 *   table.c       the table of descriptors
 *   descriptor.c  close(), dup(), fcntl(), ioctl()
 *   socket.c      from socket() to shutdown()
 *   option.c      options of sockets
 *   copy.c        options of a socket that takes the place of another one
 *   tcp.c         back to TCP, and to a second connect()
 *   entries.c     entries in epolls, when another socket takes the place
 *   transfer.c    reading and writing
 *   file.c        sendfile() and splice()
 *   stream.c      fdopen() and dprintf()
 *   position.c    fstat(), and calls with an offset
 *   wait.c        poll(), select() and epoll
 *   syscall.c     close() by syscall()
 *   relay.c       connections that a child uses: parent and children share a Unix domain socket
 *   datagram.c    datagram sockets that a child uses
 *   listener.c    listeners that children use
 *   child.c       children, which inherit RDMA sockets and cannot use them
 *   channel.c        the parent's service for children
 *   atfork.c      the handlers of pthread_atfork()
 *   exit.c        exit of a process whose connections are relayed
 *   inherited.c        the child's side of this service
 *   pass.c        messages with a descriptor
 *   fork.c        connections that use TCP until their first use, for servers that fork
 *
 * A call of the C library by the library of RDMA sockets must not be intercepted. Therefore RS()
 * marks the thread around each call of that library. In a marked thread each function here calls
 * the C library. A thread that a marked thread starts stays marked: these are the threads of
 * devices and of the connection manager.
 *
 * A descriptor of the program is the number of the RDMA socket itself, or a duplicate of it.
 */
#ifndef LIBRDMACM_PRELOAD_H
#define LIBRDMACM_PRELOAD_H

#include <errno.h>
#include <stdatomic.h>

#include <rdma/rsocket.h>

#include "librdmacm/preload/config.h"
#include "librdmacm/preload/copy.h"
#include "librdmacm/preload/datagram.h"
#include "librdmacm/preload/channel.h"
#include "librdmacm/preload/entries.h"
#include "librdmacm/preload/fd.h"
#include "librdmacm/preload/fork.h"
#include "librdmacm/preload/inherited.h"
#include "librdmacm/preload/mark.h"
#include "librdmacm/preload/number.h"
#include "librdmacm/preload/pass.h"
#include "librdmacm/preload/real.h"
#include "librdmacm/preload/share.h"
#include "librdmacm/preload/stream.h"
#include "librdmacm/preload/tcp.h"
#include "librdmacm/preload/transfer.h"
#include "librdmacm/preload/use.h"
#include "util/log.h"
#include "util/util.h"

#endif
