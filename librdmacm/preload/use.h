/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RDMA socket that a call uses. */
#ifndef LIBRDMACM_PRELOAD_USE_H
#define LIBRDMACM_PRELOAD_USE_H

#include <errno.h>

#include "librdmacm/preload/fd.h"
#include "librdmacm/preload/fork.h"
#include "librdmacm/preload/inherited.h"
#include "librdmacm/preload/share.h"
#include "librdmacm/rsocket/private.h"
#include "util/util.h"

/* As fd_socket(), for calls that use a connection. */
static inline int fd_use(int fd)
{
	int rs = fd_socket(fd);

	if (likely(rs > FD_ACTIVE))
		return rs;
	return rs <= FD_INHERITED  ? inherited_claim(fd)
	       : rs >= FD_CHANGING ? fork_change_over(fd)
				   : rs;
}

static inline bool fd_is_relayed(int kind)
{
	return kind <= FD_RELAYED && kind > FD_INHERITED;
}

/* As fd_socket(), for calls that query or set properties of a socket. */
static inline int fd_know(int fd)
{
	int rs = fd_socket(fd);

	return unlikely(rs <= FD_INHERITED) ? inherited_claim(fd) : rs;
}

/* Return whether the program has closed @fd, while the end of its RDMA socket still uses the
 * number. */
static inline bool fd_is_closing(int fd, int kind)
{
	return kind == FD_NONE && !preload_inside && unlikely(rs_is_closing(fd));
}

/* Return whether a call has failed because a child claimed the socket first. */
static inline bool call_has_missed(int fd, int rs)
{
	return rs >= 0 && errno == EBADF && relay_has_moved(fd, rs);
}

/*
 * Make a call for @fd: @ours if @rs, which the macro declares, is its RDMA socket, or @others. If a
 * child claims the socket meanwhile, the call fails with EBADF, and the macro makes it again.
 */
#define FD_CALL(fd, rs, ours, others)                                               \
	({                                                                          \
		int rs;                                                             \
		__typeof__(others) result_of_call_;                                 \
		do {                                                                \
			rs = fd_use(fd);                                            \
			if (fd_is_closing(fd, rs)) {                                \
				errno = EBADF;                                      \
				result_of_call_ = -1;                               \
				break;                                              \
			}                                                           \
			result_of_call_ = rs >= 0 ? (ours) : (others);              \
		} while (unlikely(result_of_call_ < 0) && call_has_missed(fd, rs)); \
		result_of_call_;                                                    \
	})

/* The same for one call that looks at @rs itself, and does not use the connection. */
#define FD_ASK(fd, rs, call)                                                        \
	({                                                                          \
		int rs, result_of_call_;                                            \
		do {                                                                \
			rs = fd_know(fd);                                           \
			result_of_call_ = (call);                                   \
		} while (unlikely(result_of_call_ < 0) && call_has_missed(fd, rs)); \
		result_of_call_;                                                    \
	})

#endif
