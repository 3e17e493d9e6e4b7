/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "util/errno_name.h"
#include "util/util.h"

#ifdef RDMA_HAVE_STRERRORNAME
const char *errno_name(int error)
{
	return strerrorname_np(error);
}
#else
/* Names for C libraries without strerrorname_np(): the errors of kernel and network. */
const char *errno_name(int error)
{
#define NAME(error) [error] = #error
	static const char *const names[] = {
		NAME(EPERM),	    NAME(ENOENT),	   NAME(EINTR),	     NAME(EIO),
		NAME(ENXIO),	    NAME(E2BIG),	   NAME(EBADF),	     NAME(EAGAIN),
		NAME(ENOMEM),	    NAME(EACCES),	   NAME(EFAULT),     NAME(EBUSY),
		NAME(EEXIST),	    NAME(ENODEV),	   NAME(ENOTDIR),    NAME(EINVAL),
		NAME(ENFILE),	    NAME(EMFILE),	   NAME(ENOTTY),     NAME(EFBIG),
		NAME(ENOSPC),	    NAME(EPIPE),	   NAME(EDOM),	     NAME(ERANGE),
		NAME(EDEADLK),	    NAME(ENAMETOOLONG),	   NAME(ENOLCK),     NAME(ENOSYS),
		NAME(ENOMSG),	    NAME(ENODATA),	   NAME(ETIME),	     NAME(EPROTO),
		NAME(EBADMSG),	    NAME(EOVERFLOW),	   NAME(ELIBBAD),    NAME(ENOTSOCK),
		NAME(EMSGSIZE),	    NAME(EPROTONOSUPPORT), NAME(EOPNOTSUPP), NAME(EAFNOSUPPORT),
		NAME(EADDRINUSE),   NAME(EADDRNOTAVAIL),   NAME(ENETDOWN),   NAME(ENETUNREACH),
		NAME(ENETRESET),    NAME(ECONNABORTED),	   NAME(ECONNRESET), NAME(ENOBUFS),
		NAME(EISCONN),	    NAME(ENOTCONN),	   NAME(ETIMEDOUT),  NAME(ECONNREFUSED),
		NAME(EHOSTDOWN),    NAME(EHOSTUNREACH),	   NAME(EALREADY),   NAME(EINPROGRESS),
		NAME(ESTALE),	    NAME(EREMOTEIO),	   NAME(EDQUOT),     NAME(ECANCELED),
		NAME(EKEYREJECTED),
	};
#undef NAME

	return error > 0 && error < ARRAY_SIZE(names) ? names[error] : NULL;
}
#endif
