/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "providers/uroce/base/call.h"
#include "util/log.h"

int uroce_call_failed(const char *name)
{
	int error = errno;

	if (uroce_call_is_denied(error))
		log_err("uroce: the system call %s() is not permitted here (%s), and uroce needs it: "
			"permit it in the filter of system calls (seccomp) of the container or service",
			name, strerror(error));
	return -error;
}
