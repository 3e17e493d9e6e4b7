/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The check of the arguments of vectored calls. */
#include <limits.h>
#include <sys/uio.h>

#include "librdmacm/rsocket/rs.h"

int rs_vector_check(const struct iovec *iov, int count)
{
	size_t total = 0;

	if (count < 0 || count > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > SSIZE_MAX - total)
			return -EINVAL;
		total += iov[i].iov_len;
	}
	return 0;
}
