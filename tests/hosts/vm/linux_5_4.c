/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes a newer kernel answer as Linux 5.4 does, as far as this tree calls it. Loaded before a
 * program's libraries, it refuses newer methods as the kernel refuses an unknown method. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

/* Return whether Linux 5.4 has this method. Of the methods that this tree uses, it has the commands
 * of the struct form, and those below. */
static bool known_to_5_4(const struct ib_uverbs_ioctl_hdr *hdr)
{
	switch (hdr->object_id) {
	case UVERBS_OBJECT_DEVICE:
		return hdr->method_id == UVERBS_METHOD_INVOKE_WRITE ||
		       hdr->method_id == UVERBS_METHOD_QUERY_PORT;
	case UVERBS_OBJECT_MR:
		return hdr->method_id == UVERBS_METHOD_ADVISE_MR;
	default:
		return false;
	}
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == RDMA_VERBS_IOCTL && !known_to_5_4(arg)) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, arg);
}
